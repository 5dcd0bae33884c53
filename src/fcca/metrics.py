"""Metrics: compression and inconsistency of a discretized table, and fidelity to a black box."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from fcca.tables import check_weights

__all__ = ["compression_rate", "fidelity", "inconsistency_rate"]


def _row_groups(B: Any) -> NDArray[np.int64]:
    """Return a group number for each row of B; equal rows form a group."""
    B = check_array(B, dtype=None, ensure_min_features=0, ensure_all_finite=False)
    if B.shape[1] == 0:
        return np.zeros(len(B), dtype=np.int64)
    if B.dtype.kind in "biuf" and bool(np.all((B == 0) | (B == 1))):
        packed = np.ascontiguousarray(np.packbits(B.astype(bool), axis=1))
        keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        return np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return np.unique(B, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def compression_rate(B: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the share of rows that repeat an earlier row.

    This share is ``1 - number of distinct rows / number of rows``.

    Parameters
    ----------
    B : array-like of shape (n_rows, n_columns)
        A discretized table.
    sample_weight : array-like of shape (n_rows,), optional
        Number of rows that each row stands for. Rows with weight 0 are left out.

    Returns
    -------
    float

    Examples
    --------
    >>> from fcca.metrics import compression_rate
    >>> compression_rate([[0, 1], [0, 1], [1, 1], [0, 1]])
    0.5
    """
    groups = _row_groups(B)
    weight = check_weights(sample_weight, len(groups))
    return float(1 - len(np.unique(groups[weight > 0])) / weight.sum())


def inconsistency_rate(B: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the smallest error rate that a classifier on B can have.

    Equal rows of B form a group. A classifier predicts the same class for the whole group, at best its most frequent label.
    The inconsistency is the share of rows whose label differs from the most frequent label in their group.

    Parameters
    ----------
    B : array-like of shape (n_rows, n_columns)
        A discretized table.
    y : array-like of shape (n_rows,)
        Labels, or the predictions of the black box.
    sample_weight : array-like of shape (n_rows,), optional
        A row with weight 2 counts as two identical rows.

    Returns
    -------
    float

    Examples
    --------
    >>> from fcca.metrics import inconsistency_rate
    >>> inconsistency_rate([[0], [0], [0], [1]], ["a", "a", "b", "b"])
    0.25
    """
    groups = _row_groups(B)
    labels = np.unique(column_or_1d(y), return_inverse=True)[1]
    check_consistent_length(groups, labels)
    weight = check_weights(sample_weight, len(groups))
    n_labels = labels.max() + 1
    table = np.bincount(groups * n_labels + labels, weights=weight, minlength=(groups.max() + 1) * n_labels)
    held = table.reshape(-1, n_labels)
    # Group by group, so that a consistent table has a rate of exactly 0.
    return float((held.sum(axis=1) - held.max(axis=1)).sum() / weight.sum())


def fidelity(surrogate: ArrayLike, target: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the share of rows on which a surrogate model and its black box agree.

    Parameters
    ----------
    surrogate : array-like of shape (n_rows,)
        Classes that the surrogate, for example a small tree, predicts.
    target : array-like of shape (n_rows,)
        Classes that the black box predicts for the same rows.
    sample_weight : array-like of shape (n_rows,), optional
        A row with weight 2 counts as two identical rows.

    Returns
    -------
    float

    Examples
    --------
    >>> from fcca.metrics import fidelity
    >>> fidelity([1, 0, 1, 1], [1, 0, 0, 1])
    0.75
    """
    left, right = column_or_1d(surrogate), column_or_1d(target)
    check_consistent_length(left, right)
    agree = left == right
    return float(np.average(agree, weights=check_weights(sample_weight, len(agree))))
