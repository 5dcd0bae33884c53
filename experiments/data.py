"""The folds of a data set as the paper uses them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler

from fcca import datasets

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """Rows to learn from, rows held out, and rows that are in no fold."""

    dataset: str
    number: int
    feature_names: tuple[str, ...]
    X: Floats
    y: NDArray[np.generic]
    held_out: tuple[Floats, NDArray[np.generic]]
    external: tuple[Floats, NDArray[np.generic]] | None
    note: str
    p1: float  # upper end of the confidence band

    @property
    def test(self) -> tuple[Floats, NDArray[np.generic]]:
        """Where the paper measures accuracy: on external rows where there are any, else on the held-out fold."""
        return self.held_out if self.external is None else self.external


@lru_cache(maxsize=2)
def _dataset(name: str) -> datasets.Dataset:
    return datasets.load(name)


def load_fold(name: str, number: int) -> Fold:
    """One of the paper's five folds, features scaled to [0, 1] by the rows of all folds as in the authors' code."""
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
