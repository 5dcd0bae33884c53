"""Compiles rules for some points, after everything that can be checked without a search has been checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca._columns import Columns
from fcca.constraints import _lookup
from fcca.constraints._limits import Bools, Floats, Implication, Limits, LinearRule
from fcca.constraints._lookup import refuse
from fcca.constraints._rules import (
    Allowed,
    Bounds,
    Constraint,
    Cost,
    Decreasing,
    Fillable,
    Forbidden,
    Grid,
    Immutable,
    Implies,
    Increasing,
    Integer,
    Linear,
    MaxChanges,
    OneHot,
    Rule,
)

# Sums of columns round; a rule is kept where it is missed by no more than this share of the largest that its parts can be.
TOLERANCE = 1e-12
OWN_RANGE = ((np.fmin.reduce, np.inf), (np.fmax.reduce, -np.inf))
FINEST_STEP = 1e-9  # of the range: below that a grid says nothing
USE_ALLOWED = "Use Allowed or Forbidden for categories."


def compile_rules(
    rules: Iterable[Constraint],
    columns: Columns,
    box_low: Floats,
    box_high: Floats,
    table: Floats,
    *,
    is_binary: Bools | None = None,
) -> Limits:
    """Rules as bounds, grids, costs and rows for the points of a table.

    Parameters
    ----------
    rules : iterable of Constraint
    columns : Columns
        What the columns are called, and which of them hold categories.
    box_low, box_high : ndarray of shape (n_features,)
        Smallest and largest training values.
    table : ndarray of shape (n_points, n_features)
        The points, categories as codes.
    is_binary : ndarray of shape (n_features,), optional
        Which columns hold 0 and 1 only; judged by the box where it is not given.

    Returns
    -------
    Limits

    Raises
    ------
    InvalidInputError
        Where a rule does not fit the columns or contradicts another one.
    """
    return _Compiler(_lookup.check_rules(rules), columns, box_low, box_high, table, is_binary).limits()


def limits_for(limits: Limits | None, points: NDArray[np.integer[Any]], frozen: Bools | None = None) -> Limits | None:
    """The limits of some of the points, in this order, in which more features may not move."""
    if limits is None:
        return None if frozen is None else Limits(frozen=frozen)
    mine = limits.of_points(points)
    both = mine.frozen if frozen is None else frozen if mine.frozen is None else mine.frozen | frozen
    return replace(mine, frozen=both)


class _Compiler:
    """Takes in one rule after the other."""

    def __init__(
        self,
        rules: Sequence[Constraint],
        columns: Columns,
        box_low: Floats,
        box_high: Floats,
        table: Floats,
        is_binary: Bools | None,
    ) -> None:
        self.rules = rules
        self.columns = columns
        self.table = table
        n = len(columns)
        # A change stays in the box, which contains the point itself.
        with np.errstate(invalid="ignore"):
            self.box_low = np.fmin(box_low, np.fmin.reduce(table, axis=0, initial=np.inf))
            self.box_high = np.fmax(box_high, np.fmax.reduce(table, axis=0, initial=-np.inf))
        self.is_binary = np.isin(box_low, (0, 1)) & np.isin(box_high, (0, 1)) if is_binary is None else is_binary
        self.training_box = box_low, box_high
        self.low, self.high = np.full(table.shape, -np.inf), np.full(table.shape, np.inf)
        # Bounds that hold for all points alike, with the rule that sets each end.
        self.least: list[tuple[float, Constraint | None]] = [(-np.inf, None)] * n
        self.most: list[tuple[float, Constraint | None]] = [(np.inf, None)] * n
        self.frozen = np.zeros(table.shape, dtype=np.bool_)
        self.step, self.origin = np.zeros(n), np.zeros(n)
        self.weight = np.ones(n)
        self.fillable = np.zeros(n, dtype=np.bool_)
        self.by_column: dict[tuple[str, int], Constraint] = {}
        self.max_changes: int | None = None
        self.moves: dict[int, Floats] = {}
        self.groups: list[tuple[int, ...]] = []
        self.linear: list[LinearRule] = []
        self.implications: list[Implication] = []
        self.between: list[tuple[Constraint, tuple[int, ...]]] = []  # rules between columns, and which these are

    def limits(self) -> Limits:
        take_in = {
            Immutable: self._immutable,
            Increasing: self._direction,
            Decreasing: self._direction,
            Bounds: self._bounds,
            Grid: self._grid,
            Integer: self._integer,
            Cost: self._cost,
            Fillable: self._fillable,
            Forbidden: self._forbidden,
            Allowed: self._allowed,
            MaxChanges: self._max_changes,
            OneHot: self._one_hot,
            Implies: self._implies,
        }
        sums = [rule for rule in self.rules if isinstance(rule, Linear | Rule)]
        for rule in self.rules:
            if not isinstance(rule, Linear | Rule):
                take_in[type(rule)](rule)  # type: ignore[operator]
        for rule in sums:  # after the bounds, which they may contradict
            for one in rule.linear if isinstance(rule, Rule) else [rule]:
                self._sum(rule, one)
        self._check_allowed_and_forbidden()
        for j in np.flatnonzero(self.step):
            self._check_grid(int(j))
        self.frozen |= self.low > self.high
        self._close_groups()
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

    def _only(self, what: str, j: int, rule: Constraint) -> Constraint | None:
        """The first rule of a kind about a column; None where this is the first."""
        first = self.by_column.setdefault((what, j), rule)
        return None if first is rule else first

    # --- one column at a time ---------------------------------------------------------------------------------------------

    def _immutable(self, rule: Immutable) -> None:
        for name in rule.names:
            self.frozen[:, _lookup.position(rule, name, self.columns)] = True

    def _fillable(self, rule: Fillable) -> None:
        for name in rule.names:
            self.fillable[_lookup.position(rule, name, self.columns)] = True

    def _direction(self, rule: Increasing | Decreasing) -> None:
        for name in rule.names:
            j = _lookup.number(rule, name, self.columns, USE_ALLOWED)
            other = self.by_column.get(("falls" if isinstance(rule, Increasing) else "rises", j))
            if other is not None:
                refuse(rule, f"column {name!r} could neither rise nor fall, by {other!r}. Use Immutable if that is meant.")
            self.by_column["rises" if isinstance(rule, Increasing) else "falls", j] = rule
            own = self.table[:, j]
            if isinstance(rule, Increasing):
                self.low[:, j] = np.fmax(self.low[:, j], own)  # of a missing value there is neither rise nor fall
            else:
                self.high[:, j] = np.fmin(self.high[:, j], own)

    def _bounds(self, rule: Bounds) -> None:
        j = _lookup.number(rule, rule.name, self.columns, USE_ALLOWED)
        ends = (rule.low, rule.high) if rule.by is None else rule.by
        low, high = (-np.inf if ends[0] is None else ends[0]), (np.inf if ends[1] is None else ends[1])
        if rule.by is not None or rule.relative:
            own = self.table[:, j]
            unit = np.abs(own) if rule.relative else np.ones(len(own))
            with np.errstate(invalid="ignore"):  # infinity times 0
                lows = own + low * unit if np.isfinite(low) else np.full(len(own), -np.inf)
                highs = own + high * unit if np.isfinite(high) else np.full(len(own), np.inf)
            self.low[:, j], self.high[:, j] = np.fmax(self.low[:, j], lows), np.fmin(self.high[:, j], highs)
            return
        if low > self.box_high[j] or high < self.box_low[j]:
            refuse(
                rule,
                f"the data have {rule.name!r} from {self.training_box[0][j]:g} to {self.training_box[1][j]:g}, and a change "
                "stays in that range: the bounds leave nothing of it. Use Immutable if that is meant.",
            )
        if low > self.least[j][0]:
            self.least[j] = (low, rule)
        if high < self.most[j][0]:
            self.most[j] = (high, rule)
        if self.least[j][0] > self.most[j][0]:
            other = self.most[j][1] if self.least[j][1] is rule else self.least[j][1]
            refuse(rule, f"contradicts {other!r}: nothing is within both.")
        self.low[:, j], self.high[:, j] = np.maximum(self.low[:, j], low), np.minimum(self.high[:, j], high)

    def _grid(self, rule: Grid) -> None:
        self._set_grid(rule, rule.name, rule.step, rule.origin)

    def _integer(self, rule: Integer) -> None:
        for name in rule.names:
            self._set_grid(rule, name, 1.0, 0.0)

    def _set_grid(self, rule: Constraint, name: str, step: float, origin: float) -> None:
        j = _lookup.number(rule, name, self.columns, USE_ALLOWED)
        other = self._only("grid", j, rule)
        if other is not None and (self.step[j], self.origin[j]) != (step, origin):
            refuse(rule, f"{other!r} is another grid for column {name!r}. Give one that both are meant to be.")
        self.step[j], self.origin[j] = step, origin

    def _check_grid(self, j: int) -> None:
        low, high = max(self.least[j][0], self.box_low[j]), min(self.most[j][0], self.box_high[j])
        step, origin = self.step[j], self.origin[j]
        nearest = math.floor((low - origin) / step) if np.isfinite(low) else 0
        if np.isfinite(low) and np.isfinite(high):
            finest = max(FINEST_STEP * (self.box_high[j] - self.box_low[j]), 8 * np.spacing(max(abs(low), abs(high))))
            if step < finest:
                refuse(self.by_column["grid", j], f"a step of {step:g} is finer than this column can be told apart by. The "
                                                  "smallest of use here is "
                                                  f"{finest:.1g}; leave the grid out.")  # fmt: skip
            values = [origin + (nearest + k) * step for k in range(-1, 4)]
            if not any(low <= value <= high for value in values):
                refuse(
                    self.by_column["grid", j], f"no value of the grid is between {low:g} and {high:g}, where a change stays."
                )

    def _cost(self, rule: Cost) -> None:
        j = _lookup.position(rule, rule.name, self.columns)
        other = self._only("cost", j, rule)
        if other is not None and self.weight[j] != rule.weight:
            refuse(rule, f"{other!r} says otherwise. Give one of them.")
        self.weight[j] = rule.weight

    # --- categories -------------------------------------------------------------------------------------------------------

    def _table_of_moves(self, j: int) -> Floats:
        categories = self.columns[j].categories
        assert categories is not None
        return self.moves.setdefault(j, np.ones((len(categories), len(categories))))

    def _forbidden(self, rule: Forbidden) -> None:
        j = _lookup.category(rule, rule.name, self.columns)
        for start, end in rule.pairs:
            codes = [_lookup.code_of(rule, j, self.columns, label) for label in (start, end)]
            if codes[0] == codes[1]:
                refuse(rule, f"{start!r} to {end!r} is no move.")
            self._table_of_moves(j)[codes[0], codes[1]] = np.inf

    def _allowed(self, rule: Allowed) -> None:
        j = _lookup.category(rule, rule.name, self.columns)
        other = self._only("allowed", j, rule)
        if other is not None and other != rule:
            refuse(rule, f"{other!r} lists the moves of column {rule.name!r} already. Put all of them into one rule.")
        moves = self._table_of_moves(j)
        allowed = np.eye(len(moves), dtype=np.bool_)
        for start, ends in rule.moves:
            code = _lookup.code_of(rule, j, self.columns, start)
            for end in ends:
                allowed[code, _lookup.code_of(rule, j, self.columns, end)] = True
        moves[~allowed] = np.inf

    def _check_allowed_and_forbidden(self) -> None:
        for rule in self.rules:
            if not isinstance(rule, Allowed):
                continue
            j = _lookup.category(rule, rule.name, self.columns)
            for start, ends in rule.moves:
                for end in ends:
                    pair = [_lookup.code_of(rule, j, self.columns, label) for label in (start, end)]
                    if pair[0] != pair[1] and np.isinf(self.moves[j][pair[0], pair[1]]):
                        refuse(rule, f"the move from {start!r} to {end!r} is forbidden by another rule. Remove one of them.")

    # --- several columns at once ------------------------------------------------------------------------------------------

    def _max_changes(self, rule: MaxChanges) -> None:
        self.max_changes = rule.n if self.max_changes is None else min(rule.n, self.max_changes)

    def _one_hot(self, rule: OneHot) -> None:
        group = []
        for name in rule.names:
            j = _lookup.number(rule, name, self.columns, "A column of categories has one of them by itself.")
            other = self._only("group", j, rule)
            if other is not None and other != rule:
                refuse(rule, f"column {name!r} is in {other!r} already.")
            if not self.is_binary[j]:
                refuse(rule, f"column {name!r} has other values than 0 and 1 in the data.")
            group.append(j)
        if tuple(group) not in self.groups:
            self.groups.append(tuple(group))

    def _close_groups(self) -> None:
        """What a member may not become is said by ``frozen`` alone, and all members weigh the same."""
        for group in self.groups:
            members = list(group)
            rule = self.by_column["group", members[0]]
            for between, features in self.between:
                for j in set(features) & set(members):
                    refuse(
                        between,
                        f"column {self.columns.names[j]!r} is in {rule!r}, whose columns switch together. Make one column "
                        "of categories of them, or leave it out of this rule.",
                    )
            if len(set(self.weight[members].tolist())) > 1:
                refuse(rule, f"a switch is one change with one cost, but the columns have {_listed(self.weight[members])}. "
                             "Give all of them the same Cost.")  # fmt: skip
            for j in members:
                own = self.table[:, j]
                other = 1 - own
                low, high = np.fmin(self.training_box[0][j], own), np.fmax(self.training_box[1][j], own)
                step = self.step[j]
                off_grid = False if step == 0 else np.rint((other - self.origin[j]) / step) * step + self.origin[j] != other
                with np.errstate(invalid="ignore"):
                    inside = (other >= np.fmax(low, self.low[:, j])) & (other <= np.fmin(high, self.high[:, j]))
                # A value that is neither 0 nor 1 has to go: it must be able to.
                self.frozen[:, j] |= np.isin(own, (0, 1)) & (~inside | off_grid)

    def _implies(self, rule: Implies) -> None:
        one, other = rule.directions
        j, then = (_lookup.number(rule, name, self.columns, "Categories do not rise.") for name in rule.columns)
        self.implications.append(Implication(j, one.rises, then, other.rises))
        self.between.append((rule, (j, then)))

    def _sum(self, rule: Constraint, linear: Linear) -> None:
        """Σ a·x ≤ upper; ``rule`` is what it was written as."""
        coefficients = {
            _lookup.number(rule, name, self.columns, "Sums are of numbers."): a for name, a in linear.coefficients
        }
        index, factor = list(coefficients), np.array(list(coefficients.values()))
        # A value that does not move may be outside the bounds.
        own_low, own_high = (bound(self.table[:, index], axis=0, initial=end) for bound, end in OWN_RANGE)
        least = np.fmin(np.maximum(self.box_low[index], [self.least[j][0] for j in index]), own_low)
        most = np.fmax(np.minimum(self.box_high[index], [self.most[j][0] for j in index]), own_high)
        largest = np.abs(factor) * np.fmax(np.abs(self.box_low[index]), np.abs(self.box_high[index]))
        # One value, or two compared with each other, do not round.
        exact = bool((np.abs(factor) == 1).all()) and (len(index) == 1 or (len(index) == 2 and linear.upper == 0))
        upper = linear.upper + (0.0 if exact else TOLERANCE * float(abs(linear.upper) + largest.sum()))
        smallest_sum = float(np.where(factor > 0, factor * least, factor * most).sum())
        if smallest_sum > upper:
            refuse(rule, "no values within the range of the data and the bounds satisfy it. Check columns and units.")
        self.linear.append(LinearRule(coefficients, upper))
        self.between.append((rule, tuple(index)))


def _listed(weights: Floats) -> str:
    return "weights of " + ", ".join(f"{weight:g}" for weight in weights)
