"""Whether rows keep rules, judged from the rows themselves: nothing here looks at what rules are compiled to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import singledispatch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca._columns import Columns
from fcca.constraints import _lookup
from fcca.constraints._limits import Bools, Floats
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

ROUNDING = 1e-12  # of a grid, in steps and in shares of the value
SUM_ROUNDING = 1e-9  # of a sum, in shares of its parts


class Change:
    """Rows before and after."""

    def __init__(self, columns: Columns, before: Floats, after: Floats) -> None:
        self.columns = columns
        self.before, self.after = before, after
        self.was_missing, self.is_missing = np.isnan(before), np.isnan(after)
        self.moved: Bools = (before != after) & ~(self.was_missing & self.is_missing)

    def at(self, rule: Constraint, name: str) -> int:
        """Position of a column."""
        return _lookup.position(rule, name, self.columns)


def holds(rules: Iterable[Constraint], columns: Columns, before: Floats, after: Floats) -> Bools:
    """Whether rows that were changed keep all rules.

    Parameters
    ----------
    rules : iterable of Constraint
    columns : Columns
    before, after : ndarray of shape (n_rows, n_features)
        The rows as they were and as they are, categories as codes.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    given = _lookup.check_rules(rules)
    before, after = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    change = Change(columns, before, after)
    kept = ~_any(change.is_missing & ~change.was_missing)  # a value does not go missing
    fillable = {name for rule in given if isinstance(rule, Fillable) for name in rule.names}
    closed = [j for j, name in enumerate(columns.names) if name not in fillable]
    kept &= ~_any((change.was_missing & ~change.is_missing)[:, closed])
    groups = [[change.at(rule, name) for name in rule.names] for rule in set(given) if isinstance(rule, OneHot)]
    for rule in given:
        kept &= _n_changes(change, groups) <= rule.n if isinstance(rule, MaxChanges) else _kept(rule, change)
    return kept


def _any(table: Bools) -> Bools:
    """In which rows there is one."""
    found: Bools = np.logical_or.reduce(table, axis=1)
    return found


def _n_changes(change: Change, groups: list[list[int]]) -> NDArray[np.int64]:
    alone = np.ones(change.moved.shape[1], dtype=np.bool_)
    n = np.zeros(len(change.moved), dtype=np.int64)
    for group in groups:
        alone[group] = False
        n += _any(change.moved[:, group])
    n += change.moved[:, alone].sum(axis=1)
    return n


@singledispatch
def _kept(rule: Constraint, change: Change) -> Bools:
    """Whether each row keeps one rule."""
    raise NotImplementedError(type(rule).__name__)


@_kept.register
def _(rule: Immutable, change: Change) -> Bools:
    return ~_any(change.moved[:, [change.at(rule, name) for name in rule.names]])


@_kept.register(Cost)
@_kept.register(Fillable)  # what may not be filled in is seen from all of them together
def _(rule: Constraint, change: Change) -> Bools:
    return np.ones(len(change.moved), dtype=np.bool_)


@_kept.register
def _(rule: Increasing, change: Change) -> Bools:
    at = [change.at(rule, name) for name in rule.names]
    return ~_any(change.after[:, at] < change.before[:, at])


@_kept.register
def _(rule: Decreasing, change: Change) -> Bools:
    at = [change.at(rule, name) for name in rule.names]
    return ~_any(change.after[:, at] > change.before[:, at])


@_kept.register
def _(rule: Bounds, change: Change) -> Bools:
    j = change.at(rule, rule.name)
    before, after = change.before[:, j], change.after[:, j]
    if rule.by is not None:
        low, high = rule.by
        # Relative to the value, as it was computed: the difference itself would round.
        below = np.zeros(len(after), dtype=np.bool_) if low is None else after < before + low
        above = np.zeros(len(after), dtype=np.bool_) if high is None else after > before + high
    else:
        unit, start = (np.abs(before), before) if rule.relative else (np.ones(len(after)), np.zeros(len(after)))
        below = np.zeros(len(after), dtype=np.bool_) if rule.low is None else after < start + rule.low * unit
        above = np.zeros(len(after), dtype=np.bool_) if rule.high is None else after > start + rule.high * unit
    return ~(change.moved[:, j] & (below | above))


def _on_grid(x: Floats, step: float, origin: float) -> Bools:
    nearest = origin + np.rint((x - origin) / step) * step
    near: Bools = np.abs(x - nearest) <= ROUNDING * (step + np.abs(x))
    return near | np.isnan(x)


@_kept.register
def _(rule: Grid, change: Change) -> Bools:
    j = change.at(rule, rule.name)
    return ~change.moved[:, j] | _on_grid(change.after[:, j], rule.step, rule.origin)


@_kept.register
def _(rule: Integer, change: Change) -> Bools:
    at = [change.at(rule, name) for name in rule.names]
    return ~_any(change.moved[:, at] & ~_on_grid(change.after[:, at], 1.0, 0.0))


@_kept.register
def _(rule: Forbidden, change: Change) -> Bools:
    j = change.at(rule, rule.name)
    kept = np.ones(len(change.moved), dtype=np.bool_)
    for pair in rule.pairs:
        start, end = (_lookup.code_of(rule, j, change.columns, label) for label in pair)
        kept &= ~((change.before[:, j] == start) & (change.after[:, j] == end))
    return kept


@_kept.register
def _(rule: Allowed, change: Change) -> Bools:
    j = change.at(rule, rule.name)
    kept: Bools = ~change.moved[:, j] | change.was_missing[:, j]
    for label, labels in rule.moves:
        start = _lookup.code_of(rule, j, change.columns, label)
        ends = [_lookup.code_of(rule, j, change.columns, end) for end in labels]
        kept |= (change.before[:, j] == start) & np.isin(change.after[:, j], ends)
    return kept


def _is_one_hot(values: Floats) -> Bools:
    one: Bools = ((values == 0) | (values == 1)).all(axis=1) & (values.sum(axis=1) == 1)
    return one


@_kept.register
def _(rule: OneHot, change: Change) -> Bools:
    at = [change.at(rule, name) for name in rule.names]
    return ~_any(change.moved[:, at]) | _is_one_hot(change.after[:, at])


def _is_kept_sum(rule: Linear, values: Floats) -> Bools:
    factors = np.array([a for _, a in rule.coefficients])
    room = SUM_ROUNDING * (abs(rule.upper) + np.abs(values * factors).sum(axis=1))
    kept: Bools = ~((values * factors).sum(axis=1) > rule.upper + room)
    return kept


@_kept.register
def _(rule: Linear, change: Change) -> Bools:
    at = [change.at(rule, name) for name in rule.columns]
    return ~_any(change.moved[:, at]) | _is_kept_sum(rule, change.after[:, at])


@_kept.register
def _(rule: Rule, change: Change) -> Bools:
    kept: Bools = np.logical_and.reduce([_kept(one, change) for one in rule.linear])
    return kept


@_kept.register
def _(rule: Implies, change: Change) -> Bools:
    went = []
    for direction in rule.directions:
        j = change.at(rule, direction.name)
        before, after = change.before[:, j], change.after[:, j]
        went.append(after > before if direction.rises else after < before)
    return ~went[0] | went[1]


# --- rows that nobody has changed ---------------------------------------------------------------------------------------


def broken_by(rules: Iterable[Constraint], columns: Columns, table: Floats) -> pd.DataFrame:
    """Which rules rows break as they are: bounds, grids, groups and sums. A search leaves that alone until it moves.

    Parameters
    ----------
    rules : iterable of Constraint
    columns : Columns
    table : ndarray of shape (n_rows, n_features)
        Categories as codes.

    Returns
    -------
    DataFrame
        ``row`` (position), ``rule`` and ``why``.
    """
    found = [
        (int(row), repr(rule), why(int(row)))
        for rule in _lookup.check_rules(rules)
        for broken, why in _broken(rule, columns, table)
        for row in np.flatnonzero(broken)
    ]
    found.sort(key=lambda line: line[0])
    frame = pd.DataFrame(found, columns=["row", "rule", "why"])
    return frame.astype({"row": np.int64, "rule": "string", "why": "string"})


def _broken(rule: Constraint, columns: Columns, table: Floats) -> Iterator[tuple[Bools, Callable[[int], str]]]:
    """Rows that break a rule as they are, and what to say of each."""
    if isinstance(rule, Bounds) and rule.by is None and not rule.relative:
        x = table[:, _lookup.position(rule, rule.name, columns)]
        low, high = rule.low, rule.high
        if low is not None:
            yield x < low, lambda row: f"{rule.name} is {x[row]:g}, below {low:g}"
        if high is not None:
            yield x > high, lambda row: f"{rule.name} is {x[row]:g}, above {high:g}"
    elif isinstance(rule, Grid | Integer):
        for name in rule.columns:
            yield _off_grid(rule, name, table[:, _lookup.position(rule, name, columns)])
    elif isinstance(rule, OneHot):
        values = table[:, [_lookup.position(rule, name, columns) for name in rule.names]]
        yield ~_is_one_hot(values), lambda row: "the columns are " + ", ".join(f"{value:g}" for value in values[row])
    elif isinstance(rule, Linear):
        yield _too_large(rule, columns, table)
    elif isinstance(rule, Rule):
        for one in rule.linear:
            yield _too_large(one, columns, table)


def _off_grid(rule: Grid | Integer, name: str, x: Floats) -> tuple[Bools, Callable[[int], str]]:
    step, origin = (rule.step, rule.origin) if isinstance(rule, Grid) else (1.0, 0.0)
    return ~_on_grid(x, step, origin), lambda row: f"{name} is {x[row]:g}, not on the grid"


def _too_large(rule: Linear, columns: Columns, table: Floats) -> tuple[Bools, Callable[[int], str]]:
    values = table[:, [_lookup.position(rule, name, columns) for name in rule.columns]]

    def why(row: int) -> str:
        shown = ", ".join(f"{name} is {x:g}" for name, x in zip(rule.columns, values[row], strict=True))
        return f"{shown}: the sum is above {rule.upper:g}"

    return ~_is_kept_sum(rule, values), why
