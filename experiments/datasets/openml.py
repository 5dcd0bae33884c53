"""Download data sets from OpenML with scikit-learn."""

from __future__ import annotations

from http.client import HTTPException

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from experiments.datasets.catalog import Entry, OpenMLSource
from experiments.datasets.csv_tables import LABEL, check_classes, check_features
from experiments.datasets.dataset import Dataset
from fcca.exceptions import FCCAError, InvalidInputError


class DownloadError(FCCAError, OSError):
    """Raised if OpenML cannot be reached or returns another data set."""


def load_openml(name: str, entry: Entry, source: OpenMLSource) -> Dataset:
    """Download a data set, or read it from scikit-learn's cache, and prepare it for the study."""
    origin = f"OpenML {source.id}"
    X, target = _frames(_fetch(source))
    if target.isna().any():
        raise InvalidInputError(f"{origin}: {int(target.isna().sum())} row(s) have no class.")
    X = X.drop(columns=[column for column in source.ignored if column in X.columns])
    if source.columns is not None:
        X = _renamed(X, source.columns, origin)
    try:
        X = X.astype({column: np.float64 for column in X.columns if column not in entry.categorical})
    except ValueError as error:
        raise InvalidInputError(f"{origin}: features must be numbers ({error}).") from error
    X = source.features(X)
    X = _renamed(X, source.names or tuple(map(str, X.columns)), origin, entry.features)
    y = source.label(target).loc[X.index].astype(np.int64).rename(LABEL).reset_index(drop=True)
    X = check_features(X.reset_index(drop=True), entry.categorical, origin)
    # OpenML never changes the data of an id. So the data set is complete, whatever its size.
    remarks = [source.note] if source.note else []
    if len(X) != entry.rows:
        remarks.append(f"{len(X):,} rows instead of the expected {entry.rows:,}")
    return Dataset(name, X, check_classes(y, origin), origin, True, entry.note(X, remarks), entry.paper)


def _fetch(source: OpenMLSource) -> Bunch:
    try:
        # "liac-arff" also reads sparse files, and returns classes as strings. The pandas parser fails on numbers (1.9.1).
        bunch = fetch_openml(data_id=source.id, as_frame="auto", parser="liac-arff")
    except (OSError, HTTPException, EOFError, ValueError) as error:
        raise DownloadError(f"OpenML {source.id} could not be downloaded: {str(error) or type(error).__name__}.") from error
    found = str(bunch.details["name"])
    if found.lower() != source.name.lower():
        raise DownloadError(f"OpenML {source.id} is {found!r}, expected {source.name!r}.")
    return bunch


def _frames(bunch: Bunch) -> tuple[pd.DataFrame, pd.Series]:
    """Return features and target as pandas objects. For sparse files, scikit-learn returns a matrix and an array."""
    if isinstance(bunch.data, pd.DataFrame):
        return bunch.data, bunch.target
    return pd.DataFrame(bunch.data.toarray(), columns=bunch.feature_names), pd.Series(bunch.target)


def _renamed(X: pd.DataFrame, columns: tuple[str, ...], origin: str, expected: int | None = None) -> pd.DataFrame:
    expected = len(columns) if expected is None else expected
    if X.shape[1] != expected or len(columns) != expected:
        raise InvalidInputError(
            f"{origin} has {X.shape[1]} feature(s), expected {expected}. Put a CSV file into FCCA_DATA instead."
        )
    return X.set_axis(list(columns), axis=1)
