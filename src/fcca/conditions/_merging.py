"""Merge thresholds that are close to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def leaders(threshold: Floats, count: Floats, tolerance: float) -> NDArray[np.int64]:
    """Find the threshold that each threshold is merged into: its leader.

    The threshold with the largest count becomes a leader. All thresholds whose distance to it is below the tolerance are
    merged into it. This repeats with the remaining thresholds. In the end, no two leaders are closer to each other than
    the tolerance.

    Parameters
    ----------
    threshold : ndarray of shape (n,)
        The sorted thresholds of one column.
    count : ndarray of shape (n,)
        How many counterfactuals cross each threshold.
    tolerance : float
        Smallest distance between two thresholds that are not merged. 0 merges nothing.

    Returns
    -------
    ndarray of shape (n,)
        The position of the leader of each threshold. A leader is merged into itself.
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
