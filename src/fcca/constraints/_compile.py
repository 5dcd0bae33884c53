"""Compile rules into :class:`Limits`, arrays that the searches use.

The arrays hold bounds, costs and grids. They apply to the rows to be changed, which are called points. Each rule adds its
limits to the arrays in :meth:`Constraint.compile`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fcca.constraints._constraint import Constraint, check_rules
from fcca.constraints._limits import Bools, Floats, Implication, Limits, LinearRule
from fcca.tables import Columns


def compile_rules(
    rules: Iterable[Constraint],
    columns: Columns,
    box_low: Floats,
    box_high: Floats,
    table: Floats,
    *,
    is_binary: Bools | None = None,
) -> Limits:
    """Compile rules into limits for the points (rows) of a table.

    Parameters
    ----------
    rules : iterable of Constraint
    columns : Columns
        Names and categories of the columns.
    box_low, box_high : ndarray of shape (n_features,)
        Smallest and largest training value of each column.
    table : ndarray of shape (n_points, n_features)
        The points. Categories are given as codes.
    is_binary : ndarray of shape (n_features,), optional
        True for columns that hold only 0 and 1. By default, the columns whose smallest and largest training values are
        0 or 1.

    Returns
    -------
    Limits

    Raises
    ------
    InvalidInputError
        If a rule does not fit the columns, or contradicts another rule.
    """
    given = check_rules(rules)
    limits = LimitsBuilder(columns, box_low, box_high, table, is_binary)
    for rule in given:
        rule.compile(limits)
    for rule in given:
        rule.finish(limits)
    return limits.build()


class LimitsBuilder:
    """Collects the limits that all rules set, and builds a :class:`Limits` from them.

    The builder also has the attributes of :class:`Limits`, but none of its arrays is None.

    Attributes
    ----------
    columns : Columns
    table : ndarray of shape (n_points, n_features)
        The points. Categories are given as codes.
    training_low, training_high : ndarray of shape (n_features,)
        Smallest and largest training value of each column.
    box_low, box_high : ndarray of shape (n_features,)
        Smallest and largest value among the training values and the points. A change stays between these values.
    is_binary : ndarray of shape (n_features,)
        True for columns that hold only 0 and 1.
    least, most : list of (float, Constraint or None)
        For each column, the tightest lower and upper bound that applies to all points, with the rule that sets it.
    between : list of (Constraint, tuple of int)
        Rules that relate several columns, with the positions of these columns.
    """

    def __init__(self, columns: Columns, low: Floats, high: Floats, table: Floats, is_binary: Bools | None) -> None:
        self.columns, self.table = columns, table
        self.training_low, self.training_high = low, high
        with np.errstate(invalid="ignore"):
            self.box_low = np.fmin(low, np.fmin.reduce(table, axis=0, initial=np.inf))
            self.box_high = np.fmax(high, np.fmax.reduce(table, axis=0, initial=-np.inf))
        self.is_binary = np.isin(low, (0, 1)) & np.isin(high, (0, 1)) if is_binary is None else is_binary
        n = len(columns)
        self.low, self.high = np.full(table.shape, -np.inf), np.full(table.shape, np.inf)
        self.least: list[tuple[float, Constraint | None]] = [(-np.inf, None)] * n
        self.most: list[tuple[float, Constraint | None]] = [(np.inf, None)] * n
        self.frozen = np.zeros(table.shape, dtype=np.bool_)
        self.step, self.origin = np.zeros(n), np.zeros(n)
        self.weight = np.ones(n)
        self.fillable = np.zeros(n, dtype=np.bool_)
        self.max_changes: int | None = None
        self.moves: dict[int, Floats] = {}
        self.groups: list[tuple[int, ...]] = []
        self.linear: list[LinearRule] = []
        self.implications: list[Implication] = []
        self.between: list[tuple[Constraint, tuple[int, ...]]] = []
        self._first: dict[tuple[str, int], Constraint] = {}

    def earlier(self, subject: str, j: int, rule: Constraint) -> Constraint | None:
        """Return the first rule on the same property of column ``j``, or None.

        ``subject`` names the property, such as "grid" or "cost". A rule calls this method to find an earlier rule that it
        may contradict. If there is no earlier rule, ``rule`` is stored as the first one, and the result is None.
        """
        first = self._first.setdefault((subject, j), rule)
        return None if first is rule else first

    def bound(self, j: int, low: Floats | float, high: Floats | float) -> None:
        """Tighten the bounds of column ``j`` to ``low`` and ``high``.

        NaN means no bound.
        """
        self.low[:, j], self.high[:, j] = np.fmax(self.low[:, j], low), np.fmin(self.high[:, j], high)

    def moves_of(self, j: int) -> Floats:
        """Return the cost factors of changes between the categories of column ``j``.

        The array has one row per old category and one column per new category. Rules modify the array in place. A factor
        of infinity forbids the change.
        """
        n = len(self.columns[j].categories or ())
        return self.moves.setdefault(j, np.ones((n, n)))

    def build(self) -> Limits:
        """Return the limits. An array that restricts nothing is replaced with None."""
        self.frozen |= self.low > self.high
        bounded = np.isfinite(self.low).any() or np.isfinite(self.high).any()
        return Limits(
            low=self.low if bounded else None,
            high=self.high if bounded else None,
            frozen=self.frozen if self.frozen.any() else None,
            step=self.step if self.step.any() else None,
            origin=self.origin if self.step.any() else None,
            weight=self.weight if (self.weight != 1).any() else None,
            max_changes=self.max_changes,
            moves=self.moves,
            fillable=self.fillable if self.fillable.any() else None,
            groups=tuple(self.groups),
            linear=tuple(self.linear),
            implications=tuple(dict.fromkeys(self.implications)),
        )
