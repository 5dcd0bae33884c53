"""The training rows or their statistics, for searches that use more than cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.tables import Special

Floats = NDArray[np.float64]


@dataclass
class TrainingValues:
    """The training rows or, if the rows are not in memory, statistics of them.

    Attributes
    ----------
    chunks : list of ndarray, or None
        The rows, in one or more arrays. None if the rows are not in memory.
    medians : dict of int to float
        The median of each numeric column, by position. Used if the rows are not in memory.
    codes : dict of int to ndarray
        The codes that occur in each column of categories, by position. Used if the rows are not in memory.
    special : mapping of int to ndarray
        Special values of numeric columns, by position. Medians ignore them.
    """

    chunks: list[Floats] | None = field(default_factory=list)
    medians: dict[int, float] = field(default_factory=dict)
    codes: dict[int, Floats] = field(default_factory=dict)
    special: Special = field(default_factory=dict)

    def rows(self) -> Sequence[Floats]:
        """Return the training rows, in chunks.

        Raise an InvalidInputError if the rows are not in memory.
        """
        if self.chunks is None:
            raise InvalidInputError(
                "The rows came in chunks. But all rows are required at once for plausibility, and for rules that involve "
                "several columns (sums, implications, one-hot groups). Omit these rules and plausibility, or pass all rows "
                "to fit."
            )
        return self.chunks

    def column(self, j: int) -> Floats:
        """Return the training values of column ``j``."""
        return np.concatenate([chunk[:, j] for chunk in self.rows()])

    def distinct(self, j: int) -> Floats:
        """Return the sorted, distinct training values of column ``j``, without missing values."""
        if self.chunks is None and j in self.codes:
            return self.codes[j]
        column = self.column(j)
        return np.unique(column[~np.isnan(column)])

    def median(self, j: int) -> float:
        """Return the median of column ``j``, ignoring missing and special values."""
        if self.chunks is None and j in self.medians:
            return self.medians[j]
        column = self.column(j)
        return float(np.nanmedian(column[~np.isin(column, self.special[j])] if j in self.special else column))

    def without_rows(self) -> TrainingValues:
        """Return a copy with the medians and codes, without the rows."""
        return TrainingValues(None, dict(self.medians), dict(self.codes), self.special)
