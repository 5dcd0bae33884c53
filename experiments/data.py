"""The folds of a data set as the paper uses them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler

from experiments import datasets
from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """One fold: training rows, held-out rows, and external rows that are in no fold."""

    dataset: str
    number: int
    feature_names: tuple[str, ...]
    X: Floats
    y: NDArray[np.generic]
    held_out: tuple[Floats, NDArray[np.generic]]
    external: tuple[Floats, NDArray[np.generic]] | None
    note: str
    p1: float  # rows predicted with a higher probability get no counterfactual

    @property
    def test(self) -> tuple[Floats, NDArray[np.generic]]:
        """The rows on which the paper measures accuracy: the external rows, or the held-out rows if there are none."""
        return self.held_out if self.external is None else self.external


@lru_cache(maxsize=2)
def _dataset(name: str) -> datasets.Dataset:
    data = datasets.load(name)
    missing = [str(column) for column in data.X.columns if data.X[column].isna().any()]
    unsuitable = {"categories": data.categorical, "missing values": missing}
    for what, columns in unsuitable.items():
        if columns:
            raise InvalidInputError(
                f"{name} has {what} in {', '.join(columns[:5])}. The study needs numeric columns without missing values."
            )
    if data.y.nunique() != 2:
        raise InvalidInputError(f"{name} has {data.y.nunique()} classes, but the study needs two.")
    return data


@lru_cache
def data_digest(name: str) -> str:
    """Return a digest of the rows and the metadata of a data set."""
    data = _dataset(name)
    hashed = pd.util.hash_pandas_object(data.X.assign(label=data.y.to_numpy()), index=False).to_numpy()
    return hashlib.sha256(hashed.tobytes() + repr((data.note, data.complete, data.paper)).encode()).hexdigest()


def load_fold(name: str, number: int) -> Fold:
    """Load one of the paper's five folds.

    As in the authors' code, the features are scaled to [0, 1] by the rows of all folds.
    """
    data = _dataset(name)
    fold = data.folds()[number]
    raw, y = data.X.to_numpy(dtype=np.float64), data.y.to_numpy()
    scaler = MinMaxScaler().fit(raw[np.concatenate([fold.training, fold.held_out])])
    X = scaler.transform(raw)
    return Fold(
        dataset=name,
        number=number,
        feature_names=tuple(str(column) for column in data.X.columns),
        X=np.ascontiguousarray(X[fold.training]),
        y=y[fold.training],
        held_out=(X[fold.held_out], y[fold.held_out]),
        external=(X[fold.external], y[fold.external]) if len(fold.external) else None,
        note=data.note,
        p1=data.paper.p1 if data.paper is not None else 1.0,
    )
