"""Training values beyond the cells: medians, categories and the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]


@dataclass
class TrainingValues:
    """References to the training rows, or their statistics.

    Attributes
    ----------
    chunks : list of ndarray, or None
        The rows; None if they are not kept.
    medians : dict of int to float
        Medians of columns of numbers, if rows are not kept.
    codes : dict of int to ndarray
        Codes that occur in columns of categories, if rows are not kept.
    """

    chunks: list[Floats] | None = field(default_factory=list)
    medians: dict[int, float] = field(default_factory=dict)
    codes: dict[int, Floats] = field(default_factory=dict)

    def rows(self) -> Sequence[Floats]:
        """Return the rows, in chunks."""
        if self.chunks is None:
            raise InvalidInputError(
                "Rules between columns (sums, implications, one-hot groups) and plausibility need all rows at once, but the "
                "rows came in chunks, which are not kept. Leave out these rules and plausibility, or use fit."
            )
        return self.chunks

    def column(self, j: int) -> Floats:
        """Return all values of a column."""
        return np.concatenate([chunk[:, j] for chunk in self.rows()])

    def distinct(self, j: int) -> Floats:
        """Return the distinct values of a column, sorted, without missing values."""
        if self.chunks is None and j in self.codes:
            return self.codes[j]
        column = self.column(j)
        return np.unique(column[~np.isnan(column)])

    def median(self, j: int) -> float:
        """Compute the median of a column of numbers, without missing values."""
        if self.chunks is None and j in self.medians:
            return self.medians[j]
        return float(np.nanmedian(self.column(j)))

    def without_rows(self) -> TrainingValues:
        """Copy the statistics without the rows."""
        return TrainingValues(None, dict(self.medians), dict(self.codes))
