"""Compute distances from the rows again, independently of the statistics that the search uses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fcca.certificates._evidence import Evidence, Floats

N_BINS = 1024  # bins of a column's range, part of the definition of category_distance="auto"


@dataclass
class NumericColumn:
    """The values of a numeric column that are neither missing nor special, with the weights of their rows."""

    values: Floats
    weights: Floats

    @property
    def width(self) -> float:
        """Largest minus smallest value; 0 if there are no values."""
        return float(np.ptp(self.values)) if len(self.values) else 0.0

    def deviation(self) -> float:
        """Compute the median absolute deviation from the median.

        If it is 0, return the mean absolute deviation instead.
        """
        away = np.abs(self.values - _median(self.values, self.weights))
        return _median(away, self.weights) or float(np.average(away, weights=self.weights))

    def ranks(self) -> tuple[Floats, Floats]:
        """Return the distinct values and their weighted mid-ranks, scaled to [0, 1]."""
        order = np.argsort(self.values, kind="stable")
        values, weights = self.values[order], self.weights[order]
        distinct = np.unique(values)
        upto = np.concatenate([[0.0], np.cumsum(weights)])
        first, last = np.searchsorted(values, distinct, "left"), np.searchsorted(values, distinct, "right")
        middle = (upto[first] + upto[last]) / 2
        return distinct, (middle - middle[0]) / (middle[-1] - middle[0])

    def binned(self) -> tuple[Floats, Floats]:
        """Divide the range of the values into bins of equal width.

        Return the indices of the bins, scaled to [0, 1], and the total weight of the values in each bin.
        """
        share = (self.values - self.values.min()) / self.width
        bins = np.minimum((share * N_BINS).astype(np.int64), N_BINS - 1)
        weights: Floats = np.bincount(bins, self.weights, minlength=N_BINS).astype(np.float64)
        return np.arange(N_BINS) / (N_BINS - 1), weights


@dataclass
class RecomputedDistances:
    """Distances between values, computed from the stated parameters and the rows.

    Attributes
    ----------
    columns : list of NumericColumn
        One per column; without values for a column of categories.
    scale : str or dict of int to float
        The parameter ``scale``. A dict maps the positions of some columns to their units of distance.
    unordered : float
        Distance of a change that has no direction, such as from one category to another.
    """

    columns: list[NumericColumn]
    scale: str | dict[int, float]
    unordered: float = 1.0
    _units: dict[int, float] = field(default_factory=dict)
    _ranks: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Evidence) -> RecomputedDistances:
        """Compute the units of distance from the evidence of a verification."""
        search, is_category = given.stated.parameters.search, given.columns.is_category
        columns = []
        for j in range(given.table.shape[1]):
            known = np.isfinite(given.ordinary[:, j]) & ~is_category[j]
            columns.append(NumericColumn(given.table[known, j], given.weight[known]))
        scale = search["scale"]
        if isinstance(scale, dict):
            scale = {given.stated.columns.index(name): unit for name, unit in scale.items()}
        distances = cls(columns, scale)
        groups = any(rule.group for rule in given.stated.parameters.rules)
        if search["category_distance"] != "auto":
            distances.unordered = search["category_distance"]
        elif groups or given.special or is_category.any() or np.isnan(given.table).any():
            distances.unordered = distances.mean_of_pairs()
        return distances

    def between(self, j: int, origin: float, landing: float) -> float:
        """Compute the distance between two values of the numeric column ``j``.

        It is infinite if the column has a single value in the training rows.
        """
        if self.scale == "rank" and self.columns[j].width > 0:
            if j not in self._ranks:
                self._ranks[j] = self.columns[j].ranks()
            before, after = np.interp([origin, landing], *self._ranks[j])
            return float(abs(after - before))
        if j not in self._units:
            self._units[j] = self._unit(j)
        return abs(landing - origin) / self._units[j] if self._units[j] > 0 else np.inf

    def _unit(self, j: int) -> float:
        """Return the unit of distance of column ``j``; 0 if the column has a single value."""
        width = self.columns[j].width
        if not width > 0 or self.scale == "range":
            return width
        return self.scale.get(j, width) if isinstance(self.scale, dict) else self.columns[j].deviation() or width

    def mean_of_pairs(self) -> float:
        """Compute the mean distance between two values of the same numeric column.

        The mean is over all pairs of rows and all numeric columns with at least two values. It is rounded to two
        significant digits. If there are no such columns, return 1.
        """
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
        # The mean of |a - b| over all pairs is twice the mean of a·(share below a - share above a).
        share = weights / weights.sum()
        upto = np.cumsum(share)
        return float(2 * factor * (share * places * (upto - share - (1 - upto))).sum())


def _median(values: Floats, weights: Floats) -> float:
    """Compute the weighted median of some values.

    If exactly half of the weight lies at or below a value, this value and the next larger one are averaged.
    """
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order]) / weights.sum()
    lower, upper = np.argmax(upto >= 0.5 - 1e-12), np.argmax(upto > 0.5 + 1e-12)
    return float(values[order][lower]) / 2 + float(values[order][upper]) / 2
