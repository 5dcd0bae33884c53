"""Data sets by name, from wherever they are."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as bundled

from fcca.datasets._arff import read_arff
from fcca.datasets._catalog import CATALOG, Entry, OpenMLSource
from fcca.datasets._dataset import Dataset
from fcca.datasets._errors import DatasetNotFoundError, DownloadError
from fcca.datasets._openml import OpenMLFile, fetch
from fcca.datasets._tables import LABEL, LAYOUT, SUFFIXES, check_classes, check_features, read_table
from fcca.exceptions import InvalidInputError

TIMEOUT = 20.0
NAME = re.compile(r"\w[\w.-]*")

#: scikit-learn's own: how to load it, what it is about, and what class 1 means.
BUNDLED = {
    "breast_cancer": (bundled.load_breast_cancer, "Cell nuclei of breast tumours", "benign"),
    "digits": (bundled.load_digits, "Handwritten digits, 8 by 8 pixels", ""),
    "iris": (bundled.load_iris, "Iris flowers, three species", ""),
    "wine": (bundled.load_wine, "Wines of three growers", ""),
}


def names() -> list[str]:
    """Names that :func:`load` can find a source for: a file in FCCA_DATA, scikit-learn, or OpenML.

    Examples
    --------
    >>> from fcca.datasets import names
    >>> {"boston", "breast_cancer", "magic"} <= set(names())
    True
    """
    online = [name for name, entry in CATALOG.items() if entry.openml is not None]
    folder = data_folder()
    files = (
        []
        if folder is None
        else [_stem(path) for path in folder.iterdir() if path.is_file() and NAME.fullmatch(_stem(path))]
    )
    return sorted({*online, *BUNDLED, *files})


def load(name: str, *, download: bool = True, timeout: float = TIMEOUT) -> Dataset:
    """Load a data set by name.

    Looked for, in this order: ``<name>.csv`` or ``<name>.csv.gz`` in the folder that the environment variable FCCA_DATA
    names; scikit-learn's bundled data; OpenML, whose files are kept in the folder FCCA_CACHE (by default where the
    platform keeps caches) and downloaded once. FCCA_OPENML names a mirror of OpenML's JSON interface.

    Parameters
    ----------
    name : str
        One of :func:`names`, or the name of any CSV file in FCCA_DATA.
    download : bool, default=True
        Whether OpenML may be asked for what is neither a file nor in the cache.
    timeout : float, default=20
        Seconds to wait for OpenML's next bytes, three times before giving up.

    Returns
    -------
    Dataset
        With ``X``, ``y``, where they come from, and a ``note`` where they are not all of the original.

    Raises
    ------
    DatasetNotFoundError
        Where no source has it; the message says which file to put where.
    InvalidInputError
        Where a file is damaged or not laid out as expected.

    Examples
    --------
    >>> from fcca.datasets import load
    >>> cancer = load("breast_cancer")
    >>> cancer.rows, cancer.features, cancer.positive
    (569, 30, 'benign')
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInputError(
            f"A data set is named by letters, digits, _, - and ., got {name!r}. Paths are given by FCCA_DATA."
        )
    if not timeout > 0:
        raise InvalidInputError(f"timeout must be a positive number of seconds, got {timeout!r}.")
    folder = data_folder()
    entry = CATALOG.get(name)
    path = _file(folder, name)
    if path is not None:
        X, y = read_table(path, entry.categorical if entry else ())
        return _from_file(name, X, y, path, entry)
    if name in BUNDLED:
        return _from_scikit_learn(name)
    if entry is not None and entry.openml is not None:
        try:
            file = fetch(entry.openml.id, entry.openml.name, timeout=timeout, download=download)
        except DownloadError as error:
            raise DatasetNotFoundError(
                f"{name} is in no file and not to be had from OpenML: {error}. {_what_to_do(name, folder, entry)}"
            ) from error
        return _from_openml(name, file, entry, entry.openml)
    if entry is not None:
        raise DatasetNotFoundError(f"{name} is in no file, and it is not on OpenML. {_what_to_do(name, folder, entry)}")
    known = sorted({*CATALOG, *names()})
    near = difflib.get_close_matches(name, known, n=1)
    raise DatasetNotFoundError(
        f"No data set is called {name!r}. {f'Did you mean {near[0]!r}? ' if near else ''}"
        f"Known ones: {', '.join(known)}. {_what_to_do(name, folder, None)}"
    )


def data_folder() -> Path | None:
    """Folder that FCCA_DATA names; None where it is not set."""
    named = os.environ.get("FCCA_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise InvalidInputError(
            f"FCCA_DATA={named} is not a folder. Set it to the one that holds the CSV files, or unset it."
        )
    return folder


def _stem(path: Path) -> str:
    """Name of the data set in a file; empty for files of other kinds."""
    return next((path.name.removesuffix(suffix) for suffix in SUFFIXES if path.name.endswith(suffix)), "")


def _file(folder: Path | None, name: str) -> Path | None:
    if folder is None:
        return None
    return next((path for suffix in SUFFIXES if (path := folder / f"{name}{suffix}").is_file()), None)


def _what_to_do(name: str, folder: Path | None, entry: Entry | None) -> str:
    place = f"in {folder}" if folder else "in a folder, set the environment variable FCCA_DATA to that folder,"
    size = f" (the original: {entry.rows:,} rows, {entry.features} features)" if entry else ""
    meaning = f" Label 1 means: {entry.positive}." if entry and entry.positive else ""
    again = " and load it again" if folder else " and load again"
    return f"To use a file, put {name}.csv or {name}.csv.gz{size} {place}{again}. {LAYOUT}{meaning}"


def _from_file(name: str, X: pd.DataFrame, y: pd.Series, path: Path, entry: Entry | None) -> Dataset:
    remarks = []
    complete = entry is None or len(X) >= entry.rows
    if entry is not None and not complete:
        known = entry.parts.get(len(X))
        remarks.append(f"{len(X):,} of the original's {entry.rows:,} rows{f' ({known})' if known else ''}")
    return _described(name, X, y, LABEL, str(path), entry, complete, remarks)


def _from_openml(name: str, file: OpenMLFile, entry: Entry, source: OpenMLSource) -> Dataset:
    table = read_arff(file.path)
    if file.target not in table.columns:
        raise InvalidInputError(f"{file.path} lacks the column {file.target!r}, which OpenML calls the target.")
    target = table[file.target]
    if target.isna().any():
        raise InvalidInputError(f"{file.path}: {int(target.isna().sum())} row(s) have no {file.target!r}, OpenML's target.")
    unused = {file.target, *file.ignored, *source.ignored}
    X = table.loc[:, [column for column in table.columns if column not in unused]]
    if source.columns is not None:
        X = _renamed(X, source.columns, file)
    numeric = [column for column in X.columns if column not in entry.categorical]
    try:
        X = X.assign(**{column: pd.to_numeric(X[column]) for column in numeric})
    except ValueError as error:
        raise InvalidInputError(f"{file.path}: features must be numbers ({error}).") from error
    X = source.features(X)
    X = _renamed(X, source.names or tuple(map(str, X.columns)), file, entry.features)
    y = source.label(target).loc[X.index].astype(np.int64).rename(LABEL).reset_index(drop=True)
    X = check_features(X.reset_index(drop=True), entry.categorical, file.path)
    # What OpenML has under a number never changes: it is the original, whatever its size.
    remarks = [source.note] if source.note else []
    if len(X) != entry.rows:
        remarks.append(f"{len(X):,} rows where {entry.rows:,} were expected")
    y = check_classes(y, file.path)
    return _described(name, X, y, file.target, f"OpenML {source.id}", entry, True, remarks)


def _renamed(X: pd.DataFrame, columns: tuple[str, ...], file: OpenMLFile, expected: int | None = None) -> pd.DataFrame:
    expected = len(columns) if expected is None else expected
    if X.shape[1] != expected or len(columns) != expected:
        raise InvalidInputError(
            f"{file.path} gives {X.shape[1]} feature(s) where {expected} are expected: OpenML's file has changed. "
            "Put a CSV file into FCCA_DATA instead."
        )
    return X.set_axis(list(columns), axis=1)


def _described(
    name: str,
    X: pd.DataFrame,
    y: pd.Series,
    target_name: str,
    source: str,
    entry: Entry | None,
    complete: bool,
    remarks: list[str],
) -> Dataset:
    paper = entry.paper if entry else None
    if paper is not None and (len(X), X.shape[1]) != (paper.rows, paper.features):
        remarks = [*remarks, f"the paper's Table 1 prints n = {paper.rows:,}, m = {paper.features}"]
    return Dataset(
        name=name,
        X=X,
        y=y,
        target_name=target_name,
        positive=entry.positive if entry else "",
        source=source,
        complete=complete,
        note="; ".join(remarks),
        description=entry.description if entry else "",
        original_rows=entry.rows if entry else None,
        paper=paper,
    )


def _from_scikit_learn(name: str) -> Dataset:
    loader, description, positive = BUNDLED[name]
    bunch = loader(as_frame=True)
    y = bunch.target.astype(np.int64)
    return Dataset(
        name=name,
        X=bunch.data,
        y=y,
        target_name=str(y.name),
        positive=positive,
        source="scikit-learn",
        complete=True,
        note="",
        description=description,
        original_rows=len(y),
        paper=None,
    )
