"""Labels of training rows, one class per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class HardLabels:
    """One class per row.

    Attributes
    ----------
    label : ndarray of shape (n_rows,)
        Positions of the classes.
    weight : ndarray of shape (n_rows,)
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
        """Weight of all rows."""
        return float(self.weight.sum())

    def class_weights(self, rows: NDArray[np.intp]) -> Floats:
        """Sum the weight of each class in some rows."""
        found = np.bincount(self.label[rows], weights=self.weight[rows], minlength=self.n_classes)
        return found.astype(np.float64, copy=False)
