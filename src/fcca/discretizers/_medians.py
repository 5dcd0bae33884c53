"""Exact medians of columns that are read in several passes.

Each pass finds further bits of the two values in the middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Prefix = NDArray[np.uint64]

BITS = 16  # found by one pass
N_PASSES = 64 // BITS
TOP = np.uint64(1) << np.uint64(63)


@dataclass(frozen=True)
class DigitCounts:
    """Counts of the next digit, per column and middle value. Two objects can be added with ``+``.

    Attributes
    ----------
    count : ndarray of shape (n_columns, 2, 2**BITS)
    """

    count: NDArray[np.int64]

    @classmethod
    def of(cls, columns: list[Floats], prefix: Prefix, at: int) -> DigitCounts:
        """Count the digits of some values.

        Parameters
        ----------
        columns : list of ndarray
            Values of each column, none missing.
        prefix : ndarray of shape (n_columns, 2)
            The bits of the two middle values that are known so far.
        at : int
            Number of the pass.
        """
        count = np.zeros((len(prefix), 2, 2**BITS), dtype=np.int64)
        shift = np.uint64(64 - BITS * (at + 1))
        for k, x in enumerate(columns):
            key = ordered_keys(x)
            for rank in range(2):
                mine = key if at == 0 else key[key >> (shift + np.uint64(BITS)) == prefix[k, rank]]
                digit = (mine >> shift) & np.uint64(2**BITS - 1)
                count[k, rank] = np.bincount(digit.astype(np.int64), minlength=2**BITS)
        return cls(count)

    def __add__(self, other: DigitCounts) -> DigitCounts:
        return DigitCounts(self.count + other.count)


def medians(columns: list[int], one_pass: Callable[[Prefix, int], DigitCounts]) -> dict[int, float]:
    """Compute the medians of columns.

    Parameters
    ----------
    columns : list of int
    one_pass : callable
        Takes the bits known so far and the number of the pass, and returns the sum of the digit counts over all rows.
    """
    prefix = np.zeros((len(columns), 2), dtype=np.uint64)
    left = np.zeros((len(columns), 2), dtype=np.int64)  # ranks among the values that begin with the prefix
    for at in range(N_PASSES):
        count = one_pass(prefix, at).count
        if at == 0:
            n = count[:, 0].sum(axis=1)
            left[:] = np.stack([(n - 1) // 2, n // 2], axis=1)
        upto = np.cumsum(count, axis=2)
        digit = (upto <= left[:, :, None]).sum(axis=2)
        below = np.take_along_axis(upto - count, digit[:, :, None], axis=2)[:, :, 0]
        left -= below
        prefix = (prefix << np.uint64(BITS)) | digit.astype(np.uint64)
    low, high = floats_of(prefix).T
    with np.errstate(over="ignore"):  # as in np.median
        middle = np.where(low == high, low, (low + high) / 2)
    return dict(zip(columns, middle.tolist(), strict=True))


def ordered_keys(x: Floats) -> Prefix:
    """Convert floats to whole numbers with the same order."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    return np.where(bits & TOP, ~bits, bits | TOP)


def floats_of(key: Prefix) -> Floats:
    """Convert the results of :func:`ordered_keys` back to floats."""
    return np.where(key & TOP, key ^ TOP, ~key).view(np.float64)
