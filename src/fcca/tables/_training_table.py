"""The training rows with their labels and weights, without rows of weight 0."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, column_or_1d

from fcca.exceptions import InvalidInputError
from fcca.tables._weights import check_weights

Floats = NDArray[np.float64]


class TrainingTable(NamedTuple):
    """The training rows with their labels and weights, without rows of weight 0.

    Attributes
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Labels.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights. None if no weights were given.
    rows : ndarray of shape (n_rows,)
        Positions of these rows in the table that was given to ``fit``.
    """

    X: Any
    y: NDArray[Any]
    sample_weight: Floats | None
    rows: NDArray[np.int64]  # positions in the table given to fit


def weighted_rows(X: Any, y: Any, sample_weight: ArrayLike | None) -> TrainingTable:
    """Check X, y and the weights, and remove rows with weight 0.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        Labels.
    sample_weight : array-like of shape (n_rows,) or None
    """
    try:
        y = column_or_1d(y)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y must be a list of labels, one for each row of X: {error}") from error
    try:
        n_rows = _num_samples(X)
    except TypeError as error:
        raise InvalidInputError(f"X must be a table of rows and columns, got {type(X).__name__}.") from error
    if n_rows != len(y):
        raise InvalidInputError(f"X and y must have the same number of rows ({n_rows} and {len(y)}).")
    if sample_weight is None:
        return TrainingTable(X, y, None, np.arange(len(y)))
    weight = check_weights(sample_weight, len(y))
    kept = np.flatnonzero(weight > 0)
    if len(kept) == len(y):
        return TrainingTable(X, y, weight, kept)
    return TrainingTable(_safe_indexing(X, kept), y[kept], weight[kept], kept)
