"""Answers of a fitted estimator for Dask tables, computed where the rows are, when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from fcca._weights import check_weights
from fcca.dask._pieces import DaskPieces
from fcca.dask._tables import Table, broadcast
from fcca.exceptions import InvalidInputError
from fcca.streaming._stages import Rows


def answered(X: Any, estimator: Any, method: str, like: pd.DataFrame | pd.Series[Any]) -> Any:
    """What a method of an estimator answers: a frame or Series for a frame, an array for an array.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array
    estimator : fitted estimator
    method : str
        Its name; it takes rows.
    like : DataFrame or Series
        Without rows, of the type and the names of the answers.
    """
    Table.of_parts(X)  # refuses what is not chunked by rows
    packed = broadcast((estimator, method, like))
    if not isinstance(X, da.Array):
        return X.map_partitions(_of_frame, packed, meta=like)
    nothing = like.to_numpy()
    if like.ndim == 1:
        return da.blockwise(_of_array, "i", X, "ij", packed, None, meta=nothing, dtype=nothing.dtype, concatenate=True)
    return da.blockwise(
        *(_of_array, "ik", X, "ij", packed, None),
        new_axes={"k": like.shape[1]},
        meta=nothing,
        dtype=nothing.dtype,
        concatenate=True,
    )


def _of_array(X: Any, packed: tuple[Any, str, Any]) -> NDArray[Any]:
    estimator, method, like = packed
    nothing: NDArray[Any] = like.to_numpy()
    return np.asarray(getattr(estimator, method)(X), dtype=nothing.dtype) if X.shape[0] else nothing


def _of_frame(X: pd.DataFrame, packed: tuple[Any, str, Any]) -> Any:
    values, (_, _, like) = _of_array(X, packed), packed
    if like.ndim == 1:
        return pd.Series(values, index=X.index, dtype=like.dtype, name=like.name)
    return pd.DataFrame(values, index=X.index, columns=like.columns)


@dataclass(frozen=True)
class _Right:
    """The weight of the rows that are answered right, and of all."""

    right: float
    every: float

    def __add__(self, other: _Right) -> _Right:
        return _Right(self.right + other.right, self.every + other.every)


def accuracy(pieces: DaskPieces, classifier: Any) -> float:
    """Share of the rows, or of their weight, that a classifier answers with their label."""
    found = pieces.sum("Answers", _right, classifier)
    if not found.every:
        raise InvalidInputError("There is nothing to score: the table has no row, or none of a weight above 0.")
    if not np.isfinite(found.every):
        raise InvalidInputError("sample_weight is too large: its sum overflows. Divide it by its mean.")
    return found.right / found.every


def _right(rows: Rows, classifier: Any) -> _Right:
    weight = check_weights(rows.sample_weight, rows.X.shape[0], may_all_be_0=True)
    counted = np.flatnonzero(weight > 0)
    if not len(counted):
        return _Right(0.0, 0.0)
    answers = classifier.predict(_safe_indexing(rows.X, counted))
    return _Right(float(weight[counted][answers == rows.y[counted]].sum()), float(weight[counted].sum()))
