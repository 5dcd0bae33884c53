"""Compute exact medians of columns by several passes over a table.

A column with an even number of values has two middle values, the lower and the upper median; its median is their mean.
Floats are converted to 64-bit whole numbers with the same order. Each pass finds the next 16 bits (one digit) of the lower
and the upper median. To do so, it counts the next digits of the values that begin with the bits found so far.
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
    """Counts of the next digits, for one pass of a median search.

    There are counts for the lower and for the upper median of each column. Only values that begin with the bits found so
    far for this median are counted. The sum ``a + b`` of two objects counts the values of both.

    Attributes
    ----------
    count : ndarray of shape (n_columns, 2, 2**BITS)
        How often each next digit (a number of ``BITS`` bits) occurs. The second axis is lower and upper median.
    """

    count: NDArray[np.int64]

    @classmethod
    def of(cls, columns: list[Floats], prefix: Prefix, at: int) -> DigitCounts:
        """Count the next digits of the values of each column.

        A digit consists of ``BITS`` bits of the whole number that a float is converted to.

        Parameters
        ----------
        columns : list of ndarray
            The values of each column, without missing values.
        prefix : ndarray of shape (n_columns, 2)
            The bits of the lower and the upper median that earlier passes found.
        at : int
            Index of the pass, from 0.
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
    """Compute the exact median of each column by several passes over a table.

    Parameters
    ----------
    columns : list of int
        Positions of the columns in the table.
    one_pass : callable
        ``one_pass(prefix, at)`` reads the table once and returns the :class:`DigitCounts` of all rows. See
        :meth:`DigitCounts.of` for its arguments.

    Returns
    -------
    dict of int to float
        The median of each column.
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
    """Convert floats to 64-bit whole numbers with the same order."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    return np.where(bits & TOP, ~bits, bits | TOP)


def floats_of(key: Prefix) -> Floats:
    """Convert the results of :func:`ordered_keys` back to floats."""
    return np.where(key & TOP, key ^ TOP, ~key).view(np.float64)
