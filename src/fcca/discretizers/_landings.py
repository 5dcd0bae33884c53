"""Compact storage for the thresholds of a linear model, before similar ones are merged.

A landing is the value that a changed feature takes. A linear model has no cuts, so the landings serve as thresholds. Almost
every row has a different landing, so there are many thresholds until similar ones are merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca.conditions import leaders
from fcca.exceptions import InvalidInputError
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]

MOST_LANDINGS = 25_000_000  # each needs 20 bytes, and another 20 bytes during sorting


@dataclass(frozen=True)
class LandingCounts:
    """Thresholds of a linear model with counts, before similar thresholds are merged.

    The sum ``a + b`` of two objects adds the counts of equal conditions.

    Attributes
    ----------
    others : ThresholdTable
        The conditions on categories and on missing values.
    feature, threshold, count : ndarray of shape (n_thresholds,)
        The distinct conditions ``x > threshold``, sorted by feature and threshold. The thresholds are landings of
        counterfactuals.
    """

    others: ThresholdTable
    feature: NDArray[np.int32]
    threshold: Floats
    count: Floats

    @classmethod
    def of(cls, table: ThresholdTable) -> LandingCounts:
        """Store the conditions of a threshold table compactly."""
        is_cut = table.kind == "cut"
        return cls(table.select(~is_cut), table.feature[is_cut], table.threshold[is_cut], table.count[is_cut])

    def __len__(self) -> int:
        return len(self.others) + len(self.feature)

    def __add__(self, other: LandingCounts) -> LandingCounts:
        feature = np.concatenate([self.feature, other.feature])
        threshold = np.concatenate([self.threshold, other.threshold])
        count = np.concatenate([self.count, other.count])
        order = np.lexsort((threshold, feature))
        feature, threshold, count = feature[order], threshold[order], count[order]
        first = np.ones(len(feature), dtype=bool)
        first[1:] = (np.diff(feature) != 0) | (np.diff(threshold) != 0)
        if first.sum() > MOST_LANDINGS:
            raise InvalidInputError(
                f"The counterfactuals of this linear classifier end at more than {MOST_LANDINGS:,} different values. All "
                "are kept in memory until similar values are merged. Narrow the range from p0 to p1, or pass fewer rows."
            )
        sums = np.add.reduceat(count, np.flatnonzero(first)) if len(count) else count
        return LandingCounts(self.others + other.others, feature[first], threshold[first], sums)

    def merged(self, tolerance: Floats) -> ThresholdTable:
        """Merge thresholds of a feature that are closer together than ``tolerance[feature]``.

        The result is the same as with :meth:`ThresholdTable.merged`.
        """
        kept: list[NDArray[np.int64]] = []
        sums: list[Floats] = []
        for j in np.unique(self.feature):
            begin, end = np.searchsorted(self.feature, [j, j + 1])
            leader = leaders(self.threshold[begin:end], self.count[begin:end], float(tolerance[j]))
            own = np.unique(leader)
            kept.append(own + begin)
            sums.append(np.bincount(np.searchsorted(own, leader), weights=self.count[begin:end]).astype(np.float64))
        names, columns = self.others.feature_names, self.others.columns
        at = np.concatenate([*kept, np.empty(0, dtype=np.int64)])
        cuts, _ = ThresholdTable.from_counts(
            names, self.feature[at], self.threshold[at], np.concatenate([*sums, np.empty(0)]), columns=columns
        )
        return cuts + self.others if len(self.others) else cuts
