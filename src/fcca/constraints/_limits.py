"""Compiled rules: bounds, grids, costs and sums for some points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class LinearRule:
    """A sum ``Σ coefficient · x <= upper``, which applies once one of its features moves."""

    coefficients: dict[int, float]
    upper: float


@dataclass(frozen=True)
class Implication:
    """If ``feature`` moves up (or down), ``then_feature`` must move up (or down)."""

    feature: int
    rises: bool
    then_feature: int
    then_rises: bool


@dataclass(frozen=True)
class Limits:
    """Rules compiled for some points.

    Attributes
    ----------
    low, high : ndarray of shape (n_points, n_features) or None
        Bounds of a number that moves; infinite if there is no bound.
    frozen : ndarray of shape (n_points, n_features) or None
        Values that may not move.
    step, origin : ndarray of shape (n_features,) or None
        A number moves to ``origin + k · step`` for a whole k; a step of 0 means no grid.
    weight : ndarray of shape (n_features,) or None
        Factor on the cost of moving a feature.
    max_changes : int or None
        Largest number of features that move; a group counts as one.
    moves : dict of int to ndarray of shape (n_categories, n_categories)
        For a column of categories, the factor on the cost of a move from one category (row) to another (column). Infinite
        for a forbidden move.
    fillable : ndarray of shape (n_features,) or None
        Columns whose missing values may be filled in.
    groups : tuple of tuples of int
        One-hot columns: exactly one of them is 1, and a switch is one change.
    linear : tuple of LinearRule
    implications : tuple of Implication
    """

    low: Floats | None = None
    high: Floats | None = None
    frozen: Bools | None = None
    step: Floats | None = None
    origin: Floats | None = None
    weight: Floats | None = None
    max_changes: int | None = None
    moves: dict[int, Floats] = field(default_factory=dict)
    fillable: Bools | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    linear: tuple[LinearRule, ...] = ()
    implications: tuple[Implication, ...] = ()

    @property
    def has_rules_between(self) -> bool:
        """True if there are rules between columns.

        A group does not count as one.
        """
        return self.max_changes is not None or bool(self.linear or self.implications)

    @property
    def columns_between(self) -> frozenset[int]:
        """Positions of the columns in sums and implications."""
        of_sums = {j for rule in self.linear for j in rule.coefficients}
        return frozenset(of_sums | {j for rule in self.implications for j in (rule.feature, rule.then_feature)})

    def without_rules_between(self) -> Limits:
        """Drop the rules between columns."""
        return replace(self, max_changes=None, linear=(), implications=())

    def may_fill(self, j: int) -> bool:
        """Return True if a missing value of the column may be filled in."""
        return self.fillable is not None and bool(self.fillable[j])

    def grid(self, j: int) -> tuple[float, float] | None:
        """Return the step and the origin of a column's grid, or None."""
        if self.step is None or self.origin is None or not self.step[j] > 0:
            return None
        return float(self.step[j]), float(self.origin[j])

    def of_points(self, points: NDArray[Any]) -> Limits:
        """Return the limits of some of the points, in this order."""

        def taken(values: Any) -> Any:
            return None if values is None else values[points]

        return replace(self, low=taken(self.low), high=taken(self.high), frozen=taken(self.frozen))


def limits_for(limits: Limits | None, points: NDArray[np.integer[Any]], frozen: Bools | None = None) -> Limits | None:
    """Return the limits of some of the points, with further values frozen."""
    if limits is None:
        return None if frozen is None else Limits(frozen=frozen)
    mine = limits.of_points(points)
    both = mine.frozen if frozen is None else frozen if mine.frozen is None else mine.frozen | frozen
    return replace(mine, frozen=both)
