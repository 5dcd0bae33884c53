"""Measure how much several selections from the same set of items agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Floats = NDArray[np.float64]
Choices = NDArray[np.bool_]


def agreement(chosen: Choices) -> tuple[float, float]:
    """Estimate the stability of several selections, and the variance of this estimate.

    The measure was proposed by Nogueira, Sechidis and Brown. It is 1 if all selections are equal, and about 0 if they agree
    only by chance. It is NaN for a single selection, and if every selection contains all items or none.

    Parameters
    ----------
    chosen : ndarray of bool, shape (n_selections, n_items)
        Whether each selection contains each item.

    Returns
    -------
    stability, variance : float

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown: On the stability of feature selection algorithms. Journal of Machine Learning
    Research 18 (174), 2018: Definition 4 and Corollary 9.
    """
    z = chosen.astype(np.float64)
    m, d = z.shape
    frequency, size = z.mean(axis=0), z.sum(axis=1)
    mean_share = float(frequency.mean()) if d else 0.0  # the paper's k̄/d
    spread = mean_share * (1 - mean_share)
    if m < 2 or spread <= 0:
        return float("nan"), float("nan")
    value = 1 - float((m / (m - 1) * frequency * (1 - frequency)).mean()) / spread
    share = size / d
    part = (z @ frequency) / d - share * mean_share + value / 2 * (2 * mean_share * share - share - mean_share + 1)
    part /= spread
    return value, float(4 / m**2 * np.square(part - part.mean()).sum())


def interval(value: float, variance: float, level: float) -> tuple[float, float]:
    """Compute an approximate confidence interval for a stability value, clipped to [-1, 1].

    Parameters
    ----------
    value, variance : float
        Result of :func:`agreement`.
    level : float
        Confidence level, such as 0.95.
    """
    reach = float(norm.ppf(0.5 + level / 2)) * float(np.sqrt(variance))
    return max(-1.0, value - reach), min(1.0, value + reach)


def mean_jaccard(chosen: Choices) -> float:
    """Compute the mean Jaccard index over all pairs of selections.

    The index of two selections is the number of items in both, divided by the number of items in at least one of them.
    ``chosen`` is as in :func:`agreement`.
    """
    z = chosen.astype(np.float64)
    if len(z) < 2:
        return float("nan")
    common = z @ z.T
    size = np.diag(common)
    either = size[:, None] + size[None, :] - common
    shares = np.divide(common, either, out=np.ones_like(common), where=either > 0)
    return float(shares[np.triu_indices(len(z), 1)].mean())
