"""Find exact cuts and boundaries in spite of rounding.

Classifiers round numbers before they compare them with a threshold. An exact cut is the largest float64 that passes this
comparison. An exact boundary is the largest score for which the first class is predicted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def largest_float64_below_float32_cut(threshold: Floats) -> Floats:
    """Find the largest float64 ``x`` with ``float32(x) <= threshold``, for each threshold.

    The cast rounds ``x`` to the nearest float32. So ``x`` may lie above the threshold, up to the midpoint between two
    neighbouring float32 numbers. The midpoint itself is rounded to the neighbour whose last bit is 0. The upper neighbour of
    the largest float32 is taken to be ``2**128``. Cuts at the largest float32 and at infinity are supported, because
    libraries use them to separate missing values.
    """
    with np.errstate(over="ignore"):
        below = threshold.astype(np.float32)
        below = np.where(below.astype(np.float64) > threshold, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
        low, high = (np.clip(side.astype(np.float64), -(2.0**128), 2.0**128) for side in (below, above))
        half_way = low + (high - low) / 2
        passes = half_way.astype(np.float32) <= below
    return np.where(below == np.inf, np.inf, np.where(passes, half_way, np.nextafter(half_way, -np.inf)))


def _to_ordinal(x: Floats) -> NDArray[np.int64]:
    """Map float64 numbers to integers, so that neighbouring numbers differ by 1."""
    bits = x.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _from_ordinal(ordinal: NDArray[np.int64]) -> Floats:
    bits = np.where(ordinal < 0, np.int64(-(2**63)) - ordinal, ordinal)
    return bits.view(np.float64)


def largest_passing(passes: Callable[[Floats], NDArray[np.bool_]], n: int) -> Floats:
    """Find, for each of ``n`` tests, the largest float64 that passes it.

    The method is bisection, for all tests at the same time.

    Parameters
    ----------
    passes : callable
        Accepts an array with one float64 per test, and returns True for each float64 that passes its test. If a float64
        passes a test, all smaller ones must pass it.
    n : int
        Number of tests.

    Returns
    -------
    ndarray of shape (n,)
        One float64 per test. It is -inf if no finite float64 passes, and the largest finite float64 if all of them pass.
    """
    largest = np.finfo(np.float64).max
    low = np.full(n, _to_ordinal(np.array([-largest]))[0])
    high = np.full(n, _to_ordinal(np.array([largest]))[0])
    nothing = ~passes(_from_ordinal(low))
    everything = passes(_from_ordinal(high))
    while np.any(high - 1 > low):
        middle = low // 2 + high // 2 + (low % 2 + high % 2) // 2
        ok = passes(_from_ordinal(middle))
        low, high = np.where(ok, middle, low), np.where(ok, high, middle)
    return np.where(nothing, -np.inf, np.where(everything, largest, _from_ordinal(low)))


def last_score_of_first_class(answers_first: Callable[[Floats], NDArray[np.bool_]]) -> float:
    """Find the largest score for which a classifier predicts the first class.

    This is the boundary of a model with one output.

    Parameters
    ----------
    answers_first : callable
        Accepts an array of scores, and returns True for each score for which the first class is predicted.
    """
    with np.errstate(over="ignore", under="ignore"):
        return float(largest_passing(answers_first, 1)[0])
