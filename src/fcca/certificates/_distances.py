"""Distances recomputed from the rows, without the statistics of the search."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fcca.certificates._evidence import Floats, Material

N_BINS = 1024  # of a column's range, in the definition of a category distance of "auto"


@dataclass
class ColumnOfNumbers:
    """The values of a column of numbers that are not missing, and the weights of their rows."""

    values: Floats
    weights: Floats

    @property
    def width(self) -> float:
        """Range of the values; 0 without any."""
        return float(np.ptp(self.values)) if len(self.values) else 0.0

    def deviation(self) -> float:
        """Median absolute deviation; where that is 0, the mean one."""
        away = np.abs(self.values - _median(self.values, self.weights))
        return _median(away, self.weights) or float(np.average(away, weights=self.weights))

    def ranks(self) -> tuple[Floats, Floats]:
        """Distinct values, and the weight below each with half of that at it, scaled to [0, 1]."""
        order = np.argsort(self.values, kind="stable")
        values, weights = self.values[order], self.weights[order]
        distinct = np.unique(values)
        upto = np.concatenate([[0.0], np.cumsum(weights)])
        first, last = np.searchsorted(values, distinct, "left"), np.searchsorted(values, distinct, "right")
        middle = (upto[first] + upto[last]) / 2
        return distinct, (middle - middle[0]) / (middle[-1] - middle[0])

    def binned(self) -> tuple[Floats, Floats]:
        """Places of equal bins of the range, from 0 to 1, and the weight in each."""
        share = (self.values - self.values.min()) / self.width
        bins = np.minimum((share * N_BINS).astype(np.int64), N_BINS - 1)
        weights: Floats = np.bincount(bins, self.weights, minlength=N_BINS).astype(np.float64)
        return np.arange(N_BINS) / (N_BINS - 1), weights


@dataclass
class Measure:
    """Units of distance, by the certificate's parameters and the rows.

    Attributes
    ----------
    columns : list of ColumnOfNumbers
        Without values for categories.
    scale : str or dict of int to float
        Units by column, where they are given.
    unordered : float
        Distance of a change that has no direction.
    """

    columns: list[ColumnOfNumbers]
    scale: str | dict[int, float]
    unordered: float = 1.0
    _units: dict[int, float] = field(default_factory=dict)
    _ranks: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Material) -> Measure:
        """Measure the rows of a certificate."""
        search, is_category = given.stated.parameters.search, given.columns.is_category
        columns = []
        for j in range(given.table.shape[1]):
            known = np.isfinite(given.table[:, j]) & ~is_category[j]
            columns.append(ColumnOfNumbers(given.table[known, j], given.weight[known]))
        scale = search["scale"]
        if isinstance(scale, dict):
            scale = {given.stated.columns.index(name): unit for name, unit in scale.items()}
        measure = cls(columns, scale)
        groups = any(rule.group for rule in given.stated.parameters.rules)
        if search["category_distance"] != "auto":
            measure.unordered = search["category_distance"]
        elif groups or is_category.any() or np.isnan(given.table).any():
            measure.unordered = measure.mean_of_pairs()
        return measure

    def between(self, j: int, origin: float, landing: float) -> float:
        """Distance of two values of a column of numbers; infinite where it has one value."""
        if self.scale == "rank" and self.columns[j].width > 0:
            if j not in self._ranks:
                self._ranks[j] = self.columns[j].ranks()
            before, after = np.interp([origin, landing], *self._ranks[j])
            return float(abs(after - before))
        if j not in self._units:
            self._units[j] = self._unit(j)
        return abs(landing - origin) / self._units[j] if self._units[j] > 0 else np.inf

    def _unit(self, j: int) -> float:
        """Return the unit of distance of a column; 0 where it has one value."""
        width = self.columns[j].width
        if not width > 0 or self.scale == "range":
            return width
        return self.scale.get(j, width) if isinstance(self.scale, dict) else self.columns[j].deviation() or width

    def mean_of_pairs(self) -> float:
        """Mean distance of two rows in a column of numbers, to two digits; 1 without such a column."""
        means = [self._mean_of_pairs(j) for j, column in enumerate(self.columns) if column.width > 0]
        return float(f"{np.mean(means):.2g}") if means else 1.0

    def _mean_of_pairs(self, j: int) -> float:
        column = self.columns[j]
        if self.scale == "rank":
            distinct, places = column.ranks()
            weights: Floats = np.bincount(np.searchsorted(distinct, column.values), column.weights).astype(np.float64)
            factor = 1.0
        else:
            places, weights = column.binned()
            factor = column.width / self._unit(j)
        # Of numbers in order, the mean of |a - b| is twice that of a·(share below a - share above a).
        share = weights / weights.sum()
        upto = np.cumsum(share)
        return float(2 * factor * (share * places * (upto - share - (1 - upto))).sum())


def _median(values: Floats, weights: Floats) -> float:
    """Median of weighted values: the mean of both in the middle where half of the weight ends between them."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order]) / weights.sum()
    lower, upper = np.argmax(upto >= 0.5 - 1e-12), np.argmax(upto > 0.5 + 1e-12)
    return float(values[order][lower]) / 2 + float(values[order][upper]) / 2
