"""Rules between columns as linear constraints of a program: MaxChanges, sums and implications.

In the program, every possible value of a column or one-hot group has an indicator, which is 1 if this value is chosen. So
every rule is a linear constraint on these indicators. In the code, a column or one-hot group is called a unit, a possible
value is called a place, and a constraint is called a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fcca.constraints import Limits, LinearRule
from fcca.milp._highs import ROW_SCALE
from fcca.milp._places import Places

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

# The presolve of HiGHS loses solutions that satisfy a row by less than its tolerance of 1e-6. So rows are relaxed by this
# amount. A check afterwards finds solutions that break the original row.
ROOM = 1e-4


class SumRow(NamedTuple):
    """The constraint ``values @ places + relief * extra <= most`` for a rule on a sum.

    ``places`` has one indicator per possible value of each column, which is 1 if this value is chosen. ``extra`` is a
    variable that relaxes the constraint if the row breaks the rule before any change. ``extra`` can be 1 only if all columns
    and one-hot groups in ``stays`` keep their current values. Otherwise it is 0.
    """

    values: Floats
    most: float
    relief: float = 0.0
    stays: tuple[int, ...] = ()  # columns and groups; if empty, the constraint has no extra variable


@dataclass(frozen=True)
class RulesBetween:
    """Rules between columns, and the constraints that express them for one row.

    Attributes
    ----------
    limits : Limits
        Rules, compiled for the rows.
    sums : tuple of SumRow
        The constraints for rules on sums, which :meth:`of` adds for one row.
    """

    limits: Limits
    sums: tuple[SumRow, ...] = ()

    @property
    def columns(self) -> frozenset[int]:
        """The columns that occur in rules on sums and in implications."""
        return self.limits.columns_between

    def broken(self, x0: Floats, x: Floats, n_changes: int) -> tuple[int, ...] | None:
        """Return the columns of the first rule that a change breaks; None if it breaks none.

        If the rule is ``MaxChanges``, all changed columns are returned.

        Parameters
        ----------
        x0, x : ndarray of shape (n_features,)
            The row before and after the change.
        n_changes : int
            Number of changed columns, where a one-hot group counts as one.
        """
        moved = ~((x == x0) | (np.isnan(x) & np.isnan(x0)))
        limits = self.limits
        if limits.max_changes is not None and n_changes > limits.max_changes:
            return tuple(np.flatnonzero(moved).tolist())
        for implied in limits.implications:
            one, other = implied.feature, implied.then_feature
            if _goes(x0[one], x[one], implied.rises) and not _goes(x0[other], x[other], implied.then_rises):
                return one, other
        for rule in limits.linear:
            total = 0.0
            for j, factor in rule.coefficients.items():
                total += factor * x[j]
            if moved[list(rule.coefficients)].any() and total > rule.upper:  # False if a value is missing
                return tuple(rule.coefficients)
        return None

    # --- as rows ----------------------------------------------------------------------------------------------------------

    def of(self, places: Places) -> RulesBetween:
        """Copy the rules and add the constraints on sums for one row."""
        sums = (_sum_row(rule, places) for rule in self.limits.linear)
        return replace(self, sums=tuple(row for row in sums if row is not None))

    @property
    def n_columns(self) -> int:
        """Number of extra variables that relax constraints on sums."""
        return sum(bool(row.stays) for row in self.sums)

    def rows(self, places: Places) -> tuple[csr_array, csr_array, Floats]:
        """Return all rules as constraints ``matrix @ places + others @ extra <= most``.

        Returns ``matrix``, ``others`` and ``most``. In the formula, ``places`` has one indicator per possible value of each
        column, which is 1 if this value is chosen. ``extra`` holds the variables that relax constraints on sums.
        """
        is_move = np.ones(len(places.cost))
        is_move[places.own] = 0.0
        lines: list[tuple[Floats, Floats, float]] = []
        nothing = np.zeros(self.n_columns)
        if self.limits.max_changes is not None:
            lines.append((is_move, nothing, float(self.limits.max_changes)))
        for rule in self.limits.implications:
            calls = _moving(places, rule.feature, rule.rises) - _moving(places, rule.then_feature, rule.then_rises)
            lines.append((calls, nothing, 0.0))
        column = 0
        for row in self.sums:
            own = nothing.copy()
            if row.stays:
                own[column] = row.relief
                for u in row.stays:  # the extra variable is at most the indicator of the current value
                    at, one = np.zeros(len(places.cost)), nothing.copy()
                    at[places.own[u]], one[column] = -1.0, 1.0
                    lines.append((at, one, 0.0))
                column += 1
            lines.append((row.values, own, row.most))
        matrix = np.array([values for values, _, _ in lines]).reshape(len(lines), len(places.cost))
        others = np.array([own for _, own, _ in lines]).reshape(len(lines), self.n_columns)
        return csr_array(matrix), csr_array(others), np.array([most for _, _, most in lines], dtype=np.float64)


def _goes(before: float, after: float, rises: bool) -> bool:
    """Return True if a value changes in the given direction.

    ``rises`` is True for a rise, and False for a fall. The result is False if ``before`` or ``after`` is missing.
    """
    return bool(after > before if rises else after < before)


def _moving(places: Places, j: int, rises: bool) -> Floats:
    """Mark the possible values of column ``j`` that are above its current value.

    Returns one number per possible value of all columns: 1 for the marked values, 0 for all others. If ``rises`` is False,
    the values below the current one are marked instead.
    """
    found = np.zeros(len(places.cost))
    value, span = places.held(j)
    if span is not None:
        with np.errstate(invalid="ignore"):
            found[span] = value > places.x0[j] if rises else value < places.x0[j]
    return found


def _sum_row(rule: LinearRule, places: Places) -> SumRow | None:
    """Build the constraint for one rule on a sum; None if no change can break the rule.

    The rule applies if one of its columns changes and none of their values is missing. If the unchanged row satisfies the
    rule, the constraint always applies. If the unchanged row breaks the rule, an extra variable relaxes the constraint as
    long as no column of the rule changes. The constraint is also relaxed while one of the values is missing.
    """
    values, own_sum, largest = np.zeros(len(places.cost)), 0.0, 0.0
    units, missing = [], []
    for j, factor in rule.coefficients.items():
        held, span = places.held(j)
        part, is_missing = np.where(np.isnan(held), 0.0, factor * held), bool(np.isnan(places.x0[j]))
        if span is None and is_missing:
            return None
        own = 0.0 if is_missing else factor * float(places.x0[j])
        own_sum += own
        largest += float(part.max())
        if span is not None:
            u, _ = places.unit_of[j]
            units.append(u)
            missing += [u] if is_missing else []
            values[span] += part - own  # differences, so that small steps of large numbers are not lost
    if not units or largest <= rule.upper:
        return None
    relief = 0.0
    if missing:
        values[places.own[missing]] -= largest - rule.upper
    elif own_sum > rule.upper:
        relief = rule.upper - own_sum
    unit = ROW_SCALE / max(float(np.abs(values).max()), abs(relief), 1e-300)
    most = (rule.upper - own_sum) * unit + ROOM
    return SumRow(values * unit, most, relief * unit, tuple(units) if relief else ())
