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

    Attributes
    ----------
    middles : list of ndarray
        By column: the midpoints between neighbouring values.
    rank : ndarray of shape (n_rows, n_columns)
        Position of each value among the distinct values of its column.
    """

    middles: list[Floats]
    rank: NDArray[np.int32]

    @classmethod
    def of(cls, X: NDArray[Any]) -> NumericColumns:
        """Rank the values of each column."""
        rank, by_column = np.empty(X.shape, dtype=np.int32), []
        for j in range(X.shape[1]):
            values, rank[:, j] = np.unique(X[:, j], return_inverse=True)
            by_column.append(middles(values))
        return cls(by_column, rank)

    @property
    def n_thresholds(self) -> int:
        """Number of thresholds at which the columns can be split."""
        return sum(len(middle) for middle in self.middles)

    def threshold(self, column: int, rank_left: int, rank_right: int) -> float:
        """Return the threshold in the middle between two values that a node separates.

        Parameters
        ----------
        column : int
        rank_left, rank_right : int
            Ranks of the largest value on the left and of the smallest value on the right. No row of the node has a value
            between them, but other rows may. The threshold is a midpoint of the whole column.
        """
        between = self.middles[column][rank_left:rank_right]
        return float(between[np.abs(between - (between[0] / 2 + between[-1] / 2)).argmin()])
