"""Confidence intervals for shares, from a stratified random sample.

The rows of each class are in random order, and the sample holds the first rows of each class. Suppose that K rows of the
table cross a condition. The number of them in the sample is a sum of hypergeometric variables, one per class. Each of these
has the distribution of a sum of independent 0/1 variables (Vatutin and Mikhailov, 1982), at most one per crossing row. So
the total has this form, too. By Hoeffding (1956), its tails at a distance of at least 1 from the mean are not heavier than
those of the binomial distribution with K trials and the same mean. An interval holds every K that these tails do not rule
out. It is valid for any number of crossing rows in each class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Counts = NDArray[np.int64]
Bools = NDArray[np.bool_]


def count_intervals(
    found: Counts, sampled: Counts, sizes: Counts, level: float, n_unfinished: int = 0
) -> tuple[Counts, Counts]:
    """Compute confidence intervals for the numbers of rows in a table that cross conditions.

    Parameters
    ----------
    found : ndarray of int
        For each condition, how many rows of the sample cross it.
    sampled, sizes : ndarray of int
        For each class, its number of rows in the sample and in the table.
    level : float
        Probability that a single interval does not hold the true number.
    n_unfinished : int, default=0
        Rows of the sample whose search did not finish. They may cross any condition.

    Returns
    -------
    low, high : ndarray of int
    """
    n, total = int(sampled.sum()), int(sizes.sum())
    values, inverse = np.unique(found, return_inverse=True)
    least = float((sampled / sizes).min())
    excess = sampled / sizes - least

    def most_expected(K: Counts) -> NDArray[np.float64]:
        """Bound the mean from above: no class has more than K crossing rows, nor more rows than its size."""
        most: NDArray[np.float64] = least * K + (excess * np.minimum(sizes, K[:, None])).sum(axis=1)
        return most

    def too_many(K: Counts, x: Counts) -> Bools:  # P(at most x in the sample) is below level / 2
        ruled_out: Bools = (x <= least * K - 1) & (binom.cdf(x, K, least) < level / 2)
        return ruled_out

    def enough(K: Counts, x: Counts) -> Bools:  # P(at least x in the sample) is not below level / 2
        mean = most_expected(K)
        possible: Bools = (x < mean + 1) | (binom.sf(x - 1, K, np.minimum(mean / np.maximum(K, 1), 1.0)) >= level / 2)
        return possible

    seen = np.minimum(values + n_unfinished, n)
    low = _first(enough, values, values + total - n, values)
    high = _first(too_many, seen + 1, seen + total - n + 1, seen) - 1
    return low[inverse], high[inverse]


def _first(holds: Callable[[Counts, Counts], Bools], low: Counts, high: Counts, x: Counts) -> Counts:
    """Find the smallest K from ``low`` to ``high`` for which ``holds(K, x)``, by bisection; ``high`` if there is none."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high) // 2
        is_so = holds(middle, x)
        high = np.where((low < high) & is_so, middle, high)
        low = np.where((low < high) & ~is_so, middle + 1, low)
    return high
