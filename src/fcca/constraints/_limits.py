"""Limits: rules compiled into arrays that the searches use.

The arrays hold bounds, costs and grids.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class LinearRule:
    """The rule ``Σ coefficient · x <= upper``.

    Coefficients are given by column position. The rule restricts only counterfactuals that change one of these columns.
    """

    coefficients: dict[int, float]
    upper: float


@dataclass(frozen=True)
class Implication:
    """The rule that one column must rise or fall whenever another column does.

    The rule applies if the column ``feature`` rises, or falls if ``rises`` is False. Then the column ``then_feature`` must
    rise, or fall if ``then_rises`` is False. Columns are given by position.
    """

    feature: int
    rises: bool
    then_feature: int
    then_rises: bool


@dataclass(frozen=True)
class Limits:
    """Rules compiled into arrays for given points (rows).

    None means that no rule of this kind restricts the points.

    Attributes
    ----------
    low, high : ndarray of shape (n_points, n_features) or None
        Smallest and largest value of a number after a change; infinite if there is no bound.
    frozen : ndarray of shape (n_points, n_features) or None
        True for values that may not change.
    step, origin : ndarray of shape (n_features,) or None
        A number may only change to ``origin + k · step`` for a whole number k. A step of 0 means no grid.
    weight : ndarray of shape (n_features,) or None
        Factor on the cost of changing a column.
    max_changes : int or None
        Largest number of columns that may change. A one-hot group counts as one column.
    moves : dict of int to ndarray of shape (n_categories, n_categories)
        For a column of categories, the factor on the cost of a change from one category (row) to another (column).
        Infinite for a forbidden change.
    fillable : ndarray of shape (n_features,) or None
        True for columns whose missing values may be filled in.
    groups : tuple of tuples of int
        Positions of the columns of each one-hot group. Exactly one column of a group is 1. Setting another one to 1
        counts as one change.
    linear : tuple of LinearRule
        Weighted sums of columns with an upper limit.
    implications : tuple of Implication
        Columns that must rise or fall if another column does.
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
        """True if a rule relates several columns.

        Such rules are MaxChanges, sums and implications. One-hot groups are not included.
        """
        return self.max_changes is not None or bool(self.linear or self.implications)

    @property
    def columns_between(self) -> frozenset[int]:
        """Positions of the columns in sums and implications."""
        of_sums = {j for rule in self.linear for j in rule.coefficients}
        return frozenset(of_sums | {j for rule in self.implications for j in (rule.feature, rule.then_feature)})

    def without_rules_between(self) -> Limits:
        """Return the limits without MaxChanges, sums and implications."""
        return replace(self, max_changes=None, linear=(), implications=())

    def may_fill(self, j: int) -> bool:
        """Return True if missing values of column ``j`` may be filled in."""
        return self.fillable is not None and bool(self.fillable[j])

    def grid(self, j: int) -> tuple[float, float] | None:
        """Return the step and the origin of the grid of column ``j``.

        Return None if the column has no grid.
        """
        if self.step is None or self.origin is None or not self.step[j] > 0:
            return None
        return float(self.step[j]), float(self.origin[j])

    def of_points(self, points: NDArray[Any]) -> Limits:
        """Return the limits of the points at the positions ``points``."""

        def taken(values: Any) -> Any:
            return None if values is None else values[points]

        return replace(self, low=taken(self.low), high=taken(self.high), frozen=taken(self.frozen))


def limits_for(limits: Limits | None, points: NDArray[np.integer[Any]], frozen: Bools | None = None) -> Limits | None:
    """Return the limits of the points at the positions ``points``.

    ``frozen`` marks further values that may not change, in addition to ``limits.frozen``.
    """
    if limits is None:
        return None if frozen is None else Limits(frozen=frozen)
    mine = limits.of_points(points)
    both = mine.frozen if frozen is None else frozen if mine.frozen is None else mine.frozen | frozen
    return replace(mine, frozen=both)
