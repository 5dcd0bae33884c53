"""Soft labels: each row has a probability of every class, instead of one label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Units of weight in a row of weight 1. Sums of whole units are exact, and the search computes them as integers.
UNITS = 16


@dataclass(frozen=True)
class SoftLabels:
    """Soft labels: a probability of every class for each row, rounded to multiples of 1/16.

    Attributes
    ----------
    weight : ndarray of shape (n_rows, n_classes)
        Weight of each class in each row, multiplied by 16. The entries of a row with weight 1 are integers that sum to 16.
    n_rows : ndarray of shape (n_rows,)
        Number of identical rows that each row represents.
    """

    weight: Floats
    n_rows: Counts
    label: ClassVar[None] = None
    units: ClassVar[float] = float(UNITS)

    @classmethod
    def of(cls, probability: Floats, sample_weight: Floats | None = None) -> SoftLabels:
        """Round probabilities to multiples of 1/16 that still sum to 1 in each row.

        Parameters
        ----------
        probability : ndarray of shape (n_rows, n_classes)
            Class probabilities, for example of a black box.
        sample_weight : ndarray of shape (n_rows,), optional
        """
        exact = np.round(probability * UNITS, 6)  # removes differences in the last digits, which come from rounding
        whole = np.floor(exact)
        left = (UNITS - whole.sum(axis=1)).astype(np.int64)
        rank = np.argsort(np.argsort(whole - exact, axis=1, kind="stable"), axis=1, kind="stable")
        weight = whole + (rank < left[:, None])
        if sample_weight is not None:
            weight = weight * sample_weight[:, None]
        return cls(weight, np.ones(len(weight), dtype=np.int64))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.weight.shape[1])

    @property
    def total(self) -> float:
        """Total weight of all rows."""
        return float(self.weight.sum() / UNITS)

    def class_weights(self, rows: NDArray[np.intp]) -> Floats:
        """Sum the weight of each class over the rows at the positions ``rows``."""
        found: Floats = self.weight[rows].sum(axis=0) / UNITS
        return found

    def rows(self, kept: NDArray[np.bool_] | NDArray[np.intp]) -> SoftLabels:
        """Return the soft labels of the rows in ``kept``, a mask or an array of positions."""
        return SoftLabels(self.weight[kept], self.n_rows[kept])

    def times(self, factor: Floats) -> SoftLabels:
        """Multiply the weight of each class by its entry in ``factor``."""
        return replace(self, weight=self.weight * factor)
