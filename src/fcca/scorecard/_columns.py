"""The bins of one column of a scorecard, with their coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.conditions import label_in_words
from fcca.tables import UNKNOWN, Column
from fcca.utils import plain

Floats = NDArray[np.float64]

HALF_A_ROW = 0.5


@dataclass(frozen=True, eq=False)
class ScorecardColumn:
    """The bins of one column, with their coefficients and training weights.

    The bins of a numeric column are the intervals between neighbouring cuts, then one bin per special value, then the
    missing values. The bins of a column of categories are groups of categories, then the missing values, then the unknown
    categories.

    Attributes
    ----------
    feature : int
        Position of the column in the table.
    cuts : tuple of float
        Thresholds between the intervals, ascending.
    special : tuple of float
        Special values of a numeric column.
    groups : tuple of tuple of int
        Category codes of each group; empty for a numeric column.
    coefficient : ndarray of shape (n_bins,)
        What each bin adds to the log-odds of the second class. The weighted mean over the numbers, or the known categories,
        is 0. A bin without training rows has 0.
    weight : ndarray of shape (n_bins, 2)
        Training weight of each class in each bin.
    """

    feature: int
    cuts: tuple[float, ...]
    special: tuple[float, ...]
    groups: tuple[tuple[int, ...], ...]
    coefficient: Floats
    weight: Floats

    @property
    def is_category(self) -> bool:
        """True for a column of categories."""
        return bool(self.groups)

    @property
    def n_ordinary(self) -> int:
        """Number of intervals, or of groups of categories."""
        return len(self.groups) if self.is_category else len(self.cuts) + 1

    @property
    def missing(self) -> int:
        """Position of the bin of missing values."""
        return self.n_ordinary + len(self.special)

    @property
    def n_bins(self) -> int:
        """Number of bins, with and without training rows."""
        return self.missing + 1 + self.is_category

    @property
    def in_training(self) -> NDArray[np.bool_]:
        """Mask of the bins with training rows."""
        found: NDArray[np.bool_] = self.weight.sum(axis=1) > 0
        return found

    def place(self, values: Floats) -> NDArray[np.intp]:
        """Return the position of the bin of each encoded value."""
        is_missing = np.isnan(values)
        if self.is_category:
            n = sum(map(len, self.groups))
            group_of = np.full(n + 1, self.missing + 1)
            for at, codes in enumerate(self.groups):
                group_of[list(codes)] = at
            place = group_of[np.where(is_missing | (values == UNKNOWN), n, values).astype(np.intp)]
        else:
            place = np.searchsorted(self.cuts, values, side="left")
            for at, value in enumerate(self.special):
                place[values == value] = self.n_ordinary + at
        return np.where(is_missing, self.missing, place)

    def bins(self, column: Column) -> list[str]:
        """Return the names of all bins, such as ``20 < x ≤ 30``, without the name of the column."""
        if self.is_category:
            labels = [[label_in_words((column.categories or ())[code]) for code in codes] for codes in self.groups]
            return [*(", ".join(group) for group in labels), "missing", "unknown category"]
        special = [f"is {plain(value)}" for value in self.special]
        return [*_intervals(self.cuts), *special, "missing"]

    def woe(self, total: Floats) -> Floats:
        """Compute the weight of evidence of each bin, for classes with the training weights ``total``.

        It is the log-odds of the first class in the bin minus its log-odds in the whole table. In a bin without a row of a
        class, half a row of this class is assumed. If less than one row is expected there, it is half of that. So the sign
        is right even if the class is rare. A bin without training rows has 0.
        """
        expected = np.outer(self.weight.sum(axis=1), total / total.sum())
        assumed = np.where(expected > 0, np.minimum(1.0, expected), 1.0) * HALF_A_ROW
        weight = np.where(self.weight > 0, self.weight, assumed)
        found = np.log(weight[:, 0] / total[0]) - np.log(weight[:, 1] / total[1])
        return np.where(self.in_training, found, 0.0)

    def information_value(self, total: Floats) -> Floats:
        """Compute what each bin adds to the information value of the column."""
        share = self.weight / total
        found: Floats = (share[:, 0] - share[:, 1]) * self.woe(total)
        return found


def _intervals(cuts: tuple[float, ...]) -> list[str]:
    if not cuts:
        return ["any number"]
    inner = [f"{plain(low)} < x ≤ {plain(high)}" for low, high in pairwise(cuts)]
    return [f"≤ {plain(cuts[0])}", *inner, f"> {plain(cuts[-1])}"]


def numbered_groups(member: NDArray[Any]) -> tuple[tuple[int, ...], ...]:
    """Group categories that are in the same sets.

    Parameters
    ----------
    member : ndarray of bool, shape (n_categories, n_sets)
    """
    groups: dict[tuple[bool, ...], list[int]] = {}
    for code, line in enumerate(member.tolist()):
        groups.setdefault(tuple(line), []).append(code)
    return tuple(tuple(codes) for codes in groups.values())
