"""Hard labels: each training row has one class, in contrast to soft labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class HardLabels:
    """Labels of the training rows, with one class per row.

    Attributes
    ----------
    label : ndarray of shape (n_rows,)
        Class of each row, as a position in the sorted classes.
    weight : ndarray of shape (n_rows,)
        Weight of each row.
    n_rows : ndarray of shape (n_rows,)
        Number of equal rows that each row stands for.
    n_classes : int
    """

    label: NDArray[np.int32]
    weight: Floats
    n_rows: Counts
    n_classes: int
    units: ClassVar[float] = 1.0

    @property
    def total(self) -> float:
        """Total weight of all rows."""
        return float(self.weight.sum())

    def class_weights(self, rows: NDArray[np.intp]) -> Floats:
        """Sum the weights of each class over the rows at the positions ``rows``."""
        found = np.bincount(self.label[rows], weights=self.weight[rows], minlength=self.n_classes)
        return found.astype(np.float64, copy=False)
