"""The random order in which rows are searched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

SEED = 0
#: Weights that make more units than this, and more than there are rows, get no order: it would need too much memory.
MOST_UNITS = 2**22
#: Up to this number, floats hold all whole numbers.
LARGEST_WEIGHT = 2.0**53


@dataclass(frozen=True)
class RowOrder:
    """Rows in a fixed random order.

    A row of weight 2 is two units, as if it stood in the table twice, and a unit is drawn like a row. The units of each
    class are in random order. The sample of size ``n`` is the share ``n / n_units`` of the units of each class, rounded up:
    those that come first. So a smaller sample is the beginning of a larger one. The units are sorted by their values before
    they are shuffled, so the order of the rows in the table does not matter.

    Attributes
    ----------
    row : ndarray of shape (n_units,)
        The rows of the units, in the order in which they are drawn.
    sizes : ndarray of shape (n_classes,)
        Number of units of each class.
    weight : float
        Weight of a unit.
    """

    row: Longs
    sizes: Longs
    weight: float

    @classmethod
    def of(cls, X: Floats, classes: NDArray[np.int32], weight: Floats | None = None) -> RowOrder | None:
        """Draw the order of encoded rows.

        Returns None if the weights are not whole numbers, or are too large.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        classes : ndarray of shape (n_rows,)
            The predicted class of each row, as a number.
        weight : ndarray of shape (n_rows,), optional
        """
        unit, copies = 1.0, np.ones(len(X), dtype=np.int64)
        if weight is not None and len(weight):
            if (weight != np.floor(weight)).any() or weight.max() > LARGEST_WEIGHT:
                return None
            copies = weight.astype(np.int64)
            unit = float(np.gcd.reduce(copies))
            copies //= int(unit)
            if copies.max() > MOST_UNITS:
                return None
        if copies.sum() > max(MOST_UNITS, len(X)):
            return None
        by_value = np.lexsort((copies, *X.T[::-1], classes))
        row = np.repeat(by_value, copies[by_value])
        _, stratum, sizes = np.unique(classes[row], return_inverse=True, return_counts=True)
        # Raw bits, because numpy may change how its generators compute permutations from them.
        shuffled = np.lexsort((np.random.PCG64(SEED).random_raw(len(row)), stratum))
        rank = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        # The unit of rank r in a class of size m is in the samples of more than r * n_units / m units.
        drawn = np.argsort(rank * (len(row) / sizes[stratum[shuffled]]), kind="stable")
        return cls(row[shuffled[drawn]], sizes.astype(np.int64), unit)

    def exchanged(self, X: Floats, classes: NDArray[np.int32], drawn: NDArray[np.bool_]) -> RowOrder:
        """Exchange equal rows, so that among these the rows in ``drawn`` come first.

        The order of equal rows depends on the order of the table, and one sample of them is as random as another. Rows
        are equal if their values, their class and their number of units are.

        Parameters
        ----------
        X, classes : as in :meth:`of`
        drawn : ndarray of shape (n_rows,)
        """
        n = len(X)
        copies, first = np.bincount(self.row, minlength=n), np.full(n, len(self.row))
        np.minimum.at(first, self.row, np.arange(len(self.row)))
        keys = (*X.T[::-1], classes, copies)
        now, wanted = np.lexsort((first, *keys)), np.lexsort((first, ~drawn, *keys))
        instead = np.empty(n, dtype=np.int64)
        instead[now] = wanted
        return RowOrder(instead[self.row], self.sizes, self.weight)

    @property
    def n_units(self) -> int:
        """Number of units of all rows."""
        return len(self.row)

    def sampled(self, n: int) -> Longs:
        """Return the number of units of each class in the sample of size ``n``."""
        return -(-n * self.sizes // self.n_units)

    def rows(self, n: int, after: int = 0) -> Longs:
        """Return the rows in the sample of size ``n``, sorted, without those in the sample of size ``after``."""
        begin, end = int(self.sampled(after).sum()), int(self.sampled(n).sum())
        return np.setdiff1d(self.row[begin:end], self.row[:begin])

    def weights(self, n: int, n_rows: int) -> Floats:
        """Return the sampled weight of each of the ``n_rows`` rows."""
        end = int(self.sampled(n).sum())
        return self.weight * np.bincount(self.row[:end], minlength=n_rows).astype(np.float64)
