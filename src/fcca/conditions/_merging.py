"""Merge thresholds that are close to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def leaders(threshold: Floats, count: Floats, tolerance: float) -> NDArray[np.int64]:
    """Find the threshold of a column that absorbs each threshold.

    The threshold crossed most often absorbs all thresholds closer than the tolerance. This repeats with the remaining
    thresholds. In the end, no two thresholds are closer together than the tolerance. Returns one position per threshold.

    Parameters
    ----------
    threshold : ndarray of shape (n,)
        Sorted.
    count : ndarray of shape (n,)
    tolerance : float
    """
    leader_of = np.arange(len(threshold))
    if not tolerance > 0:
        return leader_of
    is_open = np.ones(len(threshold), dtype=bool)
    # The thresholds are sorted, so only neighbours are compared.
    begin = np.searchsorted(threshold, threshold - 2 * tolerance)
    end = np.searchsorted(threshold, threshold + 2 * tolerance, side="right")
    for leader in np.argsort(-count, kind="stable").tolist():
        if is_open[leader]:
            reach = slice(begin[leader], end[leader])
            near = (np.abs(threshold[reach] - threshold[leader]) < tolerance) & is_open[reach]
            near[leader - begin[leader]] = True
            leader_of[reach][near] = leader
            is_open[reach][near] = False
    return leader_of
