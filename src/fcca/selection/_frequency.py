"""Selection of the conditions that counterfactuals cross most often, as in the paper."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.thresholds import ThresholdTable


def most_frequent(table: ThresholdTable, Q: float, most: int | None = None) -> NDArray[np.bool_]:
    """Mark the conditions whose count is at least the Q-quantile of all counts.

    Parameters
    ----------
    table : ThresholdTable
        Conditions with their counts: how many counterfactuals cross each condition.
    Q : float
        Granularity, from 0 (all conditions) to 1 (only those with the largest count).
    most : int, optional
        Mark at most this many conditions, those with the largest counts. Of conditions with equal counts, those that come
        first in the table are marked.

    Returns
    -------
    ndarray of bool, shape (n_conditions,)
        True for the marked conditions.
    """
    if not (isinstance(Q, Real) and 0 <= Q <= 1):
        raise InvalidInputError(f"Q must be between 0 and 1, got {Q!r}.")
    if len(table) == 0:
        return np.zeros(0, dtype=bool)
    keep: NDArray[np.bool_] = table.count >= np.quantile(table.count, Q)
    if most is not None:
        keep[np.argsort(-table.count, kind="stable")[most:]] = False
    return keep
