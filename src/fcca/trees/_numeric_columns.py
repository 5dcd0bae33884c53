"""Numeric columns as the search on raw columns reads them: by the ranks of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.trees._columns import middles

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumericColumns:
    """The columns of a table by the ranks of their values.

    A column with missing values is listed twice. In the first copy, missing values have the rank of the smallest value, so
    every split sends them to the left. In the second copy, they have the largest rank, so every split sends them to the
    right, and a split can separate them from all values.

    Attributes
    ----------
    feature : ndarray of shape (n_copies,)
        Position in the table.
    missing_right : ndarray of shape (n_copies,)
        Whether this is the copy with missing values on the right.
    middles : list of ndarray
        By copy: the midpoints between neighbouring values.
    rank : ndarray of shape (n_rows, n_copies)
        Position of each value among the distinct values of its column.
    """

    feature: NDArray[np.int32]
    missing_right: NDArray[np.bool_]
    middles: list[Floats]
    rank: NDArray[np.int32]

    @classmethod
    def of(cls, X: NDArray[Any]) -> NumericColumns:
        """Rank the values of each column."""
        feature: list[int] = []
        missing_right: list[bool] = []
        by_copy: list[Floats] = []
        ranks: list[NDArray[np.intp]] = []
        for j in range(X.shape[1]):
            values, rank = np.unique(X[:, j], return_inverse=True)  # NaN comes last
            n_values = len(values) - int(np.isnan(values[-1]))
            copies = [rank] if n_values == len(values) else [np.where(rank == n_values, 0, rank), rank]
            feature += [j] * len(copies)
            missing_right += [False, True][: len(copies)]
            by_copy += [middles(values[:n_values])] * len(copies)
            ranks += copies
        table = np.column_stack(ranks).astype(np.int32)
        return cls(np.array(feature, dtype=np.int32), np.array(missing_right), by_copy, table)

    @property
    def n_thresholds(self) -> int:
        """Number of thresholds at which the columns can be split."""
        return sum(len(middle) for middle, again in zip(self.middles, self.missing_right, strict=True) if not again)

    def threshold(self, copy: int, rank_left: int, rank_right: int) -> float:
        """Return the threshold in the middle between two values that a node separates; NaN if it separates missing values.

        Parameters
        ----------
        copy : int
        rank_left, rank_right : int
            Ranks of the largest value on the left and of the smallest value on the right. No row of the node has a value
            between them, but other rows may. The threshold is a midpoint of the whole column.
        """
        middles = self.middles[copy]
        if rank_right > len(middles):  # missing values
            return np.nan
        between = middles[rank_left:rank_right]
        return float(between[np.abs(between - (between[0] / 2 + between[-1] / 2)).argmin()])
