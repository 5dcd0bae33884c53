"""Soft labels: each row has a share in every class, instead of one label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Units of weight in a row of weight 1. Sums of whole units are exact, and the search computes them as integers.
UNITS = 16
#: A mixture of labels and probabilities consists of so many parts.
PARTS = 4
#: Number of rows for which labels and probabilities get the same share of the mixture.
EVEN_ROWS = 5_000


@dataclass(frozen=True)
class SoftLabels:
    """Soft labels: a share in every class for each row, such as the class probabilities of a black box.

    Attributes
    ----------
    weight : ndarray of shape (n_rows, n_classes)
        Weight of each class in each row, multiplied by ``units``. The entries of a row with weight 1 are integers.
    n_rows : ndarray of shape (n_rows,)
        Number of identical rows that each row represents.
    units : float
        Sum of the entries of a row with weight 1.
    """

    weight: Floats
    n_rows: Counts
    units: float = float(UNITS)
    label: ClassVar[None] = None

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
        return float(self.weight.sum() / self.units)

    def class_weights(self, rows: NDArray[np.intp]) -> Floats:
        """Sum the weight of each class over the rows at the positions ``rows``."""
        found: Floats = self.weight[rows].sum(axis=0) / self.units
        return found

    def rows(self, kept: NDArray[np.bool_] | NDArray[np.intp]) -> SoftLabels:
        """Return the soft labels of the rows in ``kept``, a mask or an array of positions."""
        return replace(self, weight=self.weight[kept], n_rows=self.n_rows[kept])

    def times(self, factor: Floats) -> SoftLabels:
        """Multiply the weight of each class by its entry in ``factor``."""
        return replace(self, weight=self.weight * factor)

    def mixed(self, label: NDArray[np.integer[Any]], weight: Floats | None) -> SoftLabels:
        """Mix probabilities with the labels of the same rows.

        The probabilities have one to four quarters of the mixture, so sums stay whole: the share
        5,000 / (5,000 + training weight), rounded to quarters. With many rows, a leaf can be estimated well from its labels
        alone.

        Parameters
        ----------
        label : ndarray of int of shape (n_rows,)
            Class of each row, as a position among the columns of ``weight``.
        weight : ndarray of shape (n_rows,) or None
            Weight of each row. None means 1.
        """
        each = np.ones(len(label)) if weight is None else weight
        total = float(f"{each.sum():.9g}")  # its last digits depend on the order of the rows
        share = Fraction(max(1, round(PARTS * EVEN_ROWS / (EVEN_ROWS + total))), PARTS)
        parts, whole = share.numerator, share.denominator
        mixture = parts * self.weight
        mixture[np.arange(len(label)), label] += (whole - parts) * self.units * each
        return replace(self, weight=mixture, units=whole * self.units)
