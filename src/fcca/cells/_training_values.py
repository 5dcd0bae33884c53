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
    """The training rows, kept by reference, or some statistics if rows are not kept.

    Attributes
    ----------
    pieces : list of ndarray, or None
        The rows; None where they are not kept.
    medians : dict of int to float
        Of columns of numbers, where the rows are not kept.
    codes : dict of int to ndarray
        Of columns of categories, the codes that occur, where the rows are not kept.
    """

    pieces: list[Floats] | None = field(default_factory=list)
    medians: dict[int, float] = field(default_factory=dict)
    codes: dict[int, Floats] = field(default_factory=dict)

    def rows(self) -> Sequence[Floats]:
        """The rows, in pieces."""
        if self.pieces is None:
            raise InvalidInputError(
                "These counterfactuals need all rows at once, but the rows came in pieces, which are not kept: rules "
                "between columns (sums, implications, one-hot groups) and plausibility do. Leave them out, or use fit."
            )
        return self.pieces

    def column(self, j: int) -> Floats:
        """All values of a column."""
        return np.concatenate([piece[:, j] for piece in self.rows()])

    def distinct(self, j: int) -> Floats:
        """The distinct values of a column, sorted, without the missing ones."""
        if self.pieces is None and j in self.codes:
            return self.codes[j]
        column = self.column(j)
        return np.unique(column[~np.isnan(column)])

    def median(self, j: int) -> float:
        """The median of a column of numbers, without the missing ones."""
        if self.pieces is None and j in self.medians:
            return self.medians[j]
        return float(np.nanmedian(self.column(j)))

    def without_rows(self) -> TrainingValues:
        """Copy the statistics without the rows."""
        return TrainingValues(None, dict(self.medians), dict(self.codes))
