"""Compute the unit of distance of each column from parameters and training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Cells, Distances
from fcca.counterfactuals._problem import LARGEST, Scale
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.tables import Special
from fcca.utils import close_to

Floats = NDArray[np.float64]

#: Number of bins of a histogram, which gives the mean distance between two rows.
N_BINS = 1024
#: Maximum number of distinct values that are kept per column if rows come in chunks (16 MB).
MOST_DISTINCT = 2**20
FARTHEST = 1e90  # in units of distance; its square times the largest lambda does not overflow
# Ranks and medians are rounded to multiples of this, so that the order of summation does not matter.
ROUNDING = 2.0**-40


# --- statistics -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ValueCounts:
    """Distinct values of each numeric column, with the weight of their rows.

    The sum ``a + b`` of two objects counts the rows of both.

    Attributes
    ----------
    values, weights : tuple of ndarray
        One array per column: the sorted distinct values that are not missing, and the sum of the weights of the rows with
        each value. The arrays of a column of categories are empty.
    """

    values: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    @classmethod
    def of(cls, X: Floats, is_number: Sequence[bool], weight: Floats | None) -> ValueCounts:
        """Sum the weights of the rows of X by value, for each numeric column."""
        each = np.ones(len(X)) if weight is None else weight
        found = [
            _counted(x, each) if counts else _counted(x[:0], each[:0]) for x, counts in zip(X.T, is_number, strict=True)
        ]
        return cls(tuple(values for values, _ in found), tuple(weights for _, weights in found))

    def __add__(self, other: ValueCounts) -> ValueCounts:
        both = zip(self.values, other.values, self.weights, other.weights, strict=True)
        found = [_counted(np.concatenate([a, b]), np.concatenate([v, w])) for a, b, v, w in both]
        if any(len(values) > MOST_DISTINCT for values, _ in found):
            raise InvalidInputError(
                f"A column has more than {MOST_DISTINCT:,} distinct values, too many to store if rows come in chunks. All "
                "distinct values are required for scale='mad', for scale='rank' and, in partial_fit, for "
                "category_distance='auto'. Instead, pass the units of the columns, such as scale={'income': 1000}, and "
                "category_distance as a number."
            )
        return ValueCounts(tuple(values for values, _ in found), tuple(weights for _, weights in found))


def _counted(x: Floats, weight: Floats) -> tuple[Floats, Floats]:
    known = ~np.isnan(x)
    values, at = np.unique(x[known] + 0.0, return_inverse=True)  # + 0.0 turns -0.0 into 0.0
    weights: Floats = np.bincount(at.ravel(), weights=weight[known], minlength=len(values)).astype(np.float64)
    return values, weights


@dataclass(frozen=True)
class BinCounts:
    """Histograms of the numeric columns, from the smallest to the largest value.

    The sum ``a + b`` of two objects counts the rows of both.

    Attributes
    ----------
    weights : ndarray of shape (n_features, N_BINS)
        Sum of the weights of the rows in each bin. All bins of a column have the same width.
    """

    weights: Floats

    @classmethod
    def of(cls, X: Floats, low: Floats, high: Floats, weight: Floats | None) -> BinCounts:
        """Compute the histograms of the columns of X between ``low`` and ``high``.

        A column that is constant or has no range (NaN) gets zeros.
        """
        weights = np.zeros((len(low), N_BINS))
        for j in np.flatnonzero(high > low).tolist():
            weights[j] = _binned(X[:, j], float(low[j]), float(high[j]), weight)
        return cls(weights)

    @classmethod
    def of_values(cls, counted: ValueCounts, low: Floats, high: Floats) -> BinCounts:
        """Compute the histograms from the distinct values of each column."""
        weights = np.zeros((len(low), N_BINS))
        for j, (values, weight) in enumerate(zip(counted.values, counted.weights, strict=True)):
            if high[j] > low[j] and len(values):
                weights[j] = _binned(values, float(low[j]), float(high[j]), weight)
        return cls(weights)

    def __add__(self, other: BinCounts) -> BinCounts:
        return BinCounts(self.weights + other.weights)

    def mean_distances(self) -> Floats:
        """Compute the mean distance between two rows in each column.

        The distance is a share of the column's range. It is NaN for a column without a range.
        """
        total = self.weights.sum(axis=1, keepdims=True)
        upto = np.cumsum(self.weights, axis=1) / np.where(total > 0, total, np.nan)
        mean: Floats = 2 * (upto * (1 - upto)).sum(axis=1) / (N_BINS - 1)
        return mean


def _binned(x: Floats, low: float, high: float, weight: Floats | None) -> Floats:
    known = ~np.isnan(x)
    share = (x[known] / 2 - low / 2) / (high / 2 - low / 2)  # halves, because their difference is always finite
    at = np.clip(share * N_BINS, 0, N_BINS - 1).astype(np.intp)
    return np.bincount(at, weights=None if weight is None else weight[known], minlength=N_BINS).astype(np.float64)


# --- distances ------------------------------------------------------------------------------------------------------------


def check_columns_of_scale(scale: Scale, names: Sequence[str], is_number: Sequence[bool]) -> None:
    """Check that a mapping given as ``scale`` names only numeric columns."""
    if isinstance(scale, str):
        return
    for name in scale:
        if name not in names:
            raise InvalidInputError(f"scale gives a unit for the unknown column {name!r}. {close_to(name, names)}")
        if not is_number[list(names).index(name)]:
            raise InvalidInputError(
                f"scale gives a unit for {name!r}, but this column holds categories. Set category_distance, the distance "
                "between two categories, instead. To change the cost of one column, use the rule fcca.constraints.Cost."
            )


def check_not_far(table: Floats, cells: Cells, names: Sequence[str], is_number: Sequence[bool]) -> None:
    """Check that no row is so far from the training range that costs overflow."""
    low, high, distances = cells.box_low, cells.box_high, cells.distances
    with np.errstate(over="ignore", invalid="ignore"):
        unit = np.where(high > low, high - low, 1.0)
        if distances is not None and distances.unit is not None:
            unit = np.fmin(unit, distances.unit)
        away = np.fmax(low - table, table - high) / unit
        far = np.argwhere(~(away < FARTHEST) & ~np.isnan(table) & np.array(is_number))
    if len(far):
        row, column = far[0]
        raise InvalidInputError(
            f"Row {row} has {names[column]} = {table[row, column]:g}, more than {FARTHEST:g} units of distance away from "
            f"the data ({low[column]:g} to {high[column]:g}). Check the units."
        )


def check_scale_of_model(scale: Scale, *, is_linear: bool) -> None:
    """Check that ``scale="rank"`` is not used with a linear classifier."""
    if scale == "rank" and is_linear:
        raise UnsupportedModelError(
            "scale='rank' is supported only for classifiers made of trees. For a linear classifier, fcca cannot minimize "
            "the costs, because distances in ranks are not linear in the values. Use 'range', 'mad' or a mapping of columns "
            "to units."
        )


def check_special_of_model(special: Special | None, *, is_linear: bool) -> None:
    """Check that special values are not used with a linear classifier."""
    if special and is_linear:
        raise UnsupportedModelError(
            "special_values are supported only for classifiers made of trees. A linear classifier multiplies a special "
            "value by its coefficient, like any number. Replace special values by missing values (NaN), or use a "
            "classifier made of trees."
        )


def measured(
    scale: Scale,
    category_distance: float | str,
    cells: Cells,
    names: Sequence[str],
    *,
    values: ValueCounts | None = None,
    bins: BinCounts | None = None,
) -> Distances:
    """Compute the units of distance of all columns.

    Parameters
    ----------
    scale, category_distance
        As in :class:`CounterfactualProblem`. The category distance "auto" is computed from ``values`` or ``bins``. If both
        are None, it is 1.
    cells : Cells
        Cells with statistics of the training rows. They give the range of each column.
    names : sequence of str
        Names of the columns.
    values : ValueCounts, optional
        Distinct values of the training rows. Required for the scales "mad" and "rank".
    bins : BinCounts, optional
        Histograms of the training rows.
    """
    low, high = cells.box_low, cells.box_high
    distances = Distances()
    if not isinstance(scale, str):
        distances = Distances(_named_units(scale, names, low, high))
    elif scale == "mad":
        assert values is not None
        distances = Distances(_deviations(values, low, high))
    elif scale == "rank":
        assert values is not None
        distances = Distances(ranks=tuple(map(_ranks, values.values, values.weights)))
    if not isinstance(category_distance, str):
        return replace(distances, unordered=float(category_distance))
    if bins is None and values is not None:
        bins = BinCounts.of_values(values, low, high)
    return replace(distances, unordered=_typical_distance(distances, bins, values, low, high))


def _width(low: Floats, high: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.where(high > low, np.minimum(high - low, np.finfo(np.float64).max), 1.0)


def _named_units(scale: Mapping[str, float], names: Sequence[str], low: Floats, high: Floats) -> Floats:
    width = _width(low, high)
    unit = np.array([float(scale.get(name, width[j])) for j, name in enumerate(names)])
    for j in np.flatnonzero(width / unit > LARGEST).tolist():
        raise InvalidInputError(
            f"scale gives the unit {unit[j]:g} for {names[j]!r}, but the range of this column is {width[j]:g}. Distances "
            "would be too large to compute. Give a larger unit."
        )
    return unit


def _deviations(counted: ValueCounts, low: Floats, high: Floats) -> Floats:
    """Compute the median absolute deviation of each numeric column.

    If it is 0, the mean absolute deviation is used instead. Columns that are constant or have no values get 1.
    """
    unit = _width(low, high)
    for j, (values, weights) in enumerate(zip(counted.values, counted.weights, strict=True)):
        if len(values) < 2:
            continue
        away = np.abs(values - _median(values, weights))
        order = np.argsort(away, kind="stable")
        median = _median(away[order], weights[order])
        mean = float(np.average(away, weights=weights))
        unit[j] = next((found for found in (median, mean) if unit[j] / LARGEST < found < np.inf), unit[j])
    return unit


def _median(values: Floats, weights: Floats) -> float:
    """Compute the weighted median of sorted values.

    If the cumulative weight is exactly one half at some value, the median is the mean of this value and the next.
    """
    upto = np.round(np.cumsum(weights) / weights.sum() / ROUNDING) * ROUNDING
    lower, upper = np.searchsorted(upto, 0.5, side="left"), np.searchsorted(upto, 0.5, side="right")
    return float(values[lower]) / 2 + float(values[min(int(upper), len(values) - 1)]) / 2


def _ranks(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Compute the ranks of sorted values, scaled from 0 to 1.

    Rows with equal values get the mean of their ranks. Returns the values and their ranks; both are empty for a column with
    fewer than two distinct values.
    """
    if len(values) < 2:
        return values[:0], weights[:0]
    middle = np.cumsum(weights) - weights / 2
    ranks = (middle - middle[0]) / (middle[-1] - middle[0])
    rounded: Floats = np.round(ranks / ROUNDING) * ROUNDING
    return values, rounded


def _typical_distance(
    distances: Distances, bins: BinCounts | None, values: ValueCounts | None, low: Floats, high: Floats
) -> float:
    """Compute the category distance "auto".

    For each numeric column that is not constant, compute the mean distance between two training rows. The result is the
    mean over these columns, or 1 if there are none. It is rounded to two digits, so that it does not depend on the order of
    summation.
    """
    if bins is None:
        return 1.0
    if distances.ranks is not None:
        assert values is not None
        by_column = np.array([_mean_rank_distance(r, w) for (_, r), w in zip(distances.ranks, values.weights, strict=True)])
    else:
        by_column = bins.mean_distances()
        if distances.unit is not None:
            by_column = by_column * (_width(low, high) / distances.unit)
    known = by_column[~np.isnan(by_column)]
    return float(f"{known.mean():.2g}") if len(known) else 1.0


def _mean_rank_distance(ranks: Floats, weights: Floats) -> float:
    if len(ranks) < 2:
        return np.nan
    upto = np.cumsum(weights)[:-1] / weights.sum()
    return float(2 * (upto * (1 - upto) * np.diff(ranks)).sum())
