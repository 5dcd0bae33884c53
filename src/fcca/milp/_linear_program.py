"""The mixed-integer program for the counterfactual of one row of a linear model.

The variables of the program describe the change of the row. A binary variable, called a switch, is 1 if a change is made:
a number changes, a category is entered, a missing number is filled in, or a one-hot group gets another pattern. A
continuous variable is the distance of a number from the start of its change. On a grid, the number of steps is written in
binary digits, one variable each. So every variable except a distance is 0 or 1. In the code, variables are called columns,
and constraints are called rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.milp._linear_task import Task

Floats = NDArray[np.float64]
Terms = list[tuple[int, float]]

NONE = -1


class Leg(NamedTuple):
    """The possible changes of a number in one direction."""

    sign: int
    switch: int  # the binary variable that is 1 if such a change is made; NONE if none is needed
    start: float  # the value at amount 0
    border: float  # the value at the largest amount
    amount: tuple[tuple[int, float], ...]  # columns and factors that sum to the distance, or to the steps on a grid
    grid: tuple[float, float, int] | None  # step, origin and the number of steps at the start

    def size(self, x: Floats) -> float:
        """Return the amount of the change in a solution ``x``.

        The amount is a distance, or a number of steps on a grid.
        """
        return float(sum(x[column] * factor for column, factor in self.amount))

    def value(self, amount: float, largest: float, unit: float) -> float:
        """Return the new value of the number after a change by ``amount``.

        ``largest`` is the largest possible amount. Without a grid, ``unit`` is the number by which an amount of 1 changes
        the value.
        """
        if self.grid is not None:
            step, origin, first = self.grid
            return origin + (first + self.sign * round(amount)) * step
        if amount >= largest:
            return self.border
        low, high = min(self.start, self.border), max(self.start, self.border)
        return min(max(self.start + self.sign * unit * amount, low), high)


@dataclass
class ChangeColumns:
    """The variables of the program that describe one change.

    The change is that of a number, a category or a one-hot group.
    """

    columns: list[int]
    switches: list[int]  # at most one is 1, and then the change is made; empty for a number that needs no switch
    feature: int = NONE  # only for numbers
    legs: list[Leg] = field(default_factory=list)
    shared: bool = False  # True if one switch allows both directions; the number moves by their difference
    landings: dict[int, list[tuple[int, float]]] = field(default_factory=dict)  # by switch, for categories and groups


def grid_ends(step: float, origin: float, low: float, high: float) -> tuple[int, int]:
    """Return the indices of the first and last grid value in an interval.

    The grid value with index ``k`` is ``origin + k * step``, computed in floats. The result is the smallest and the largest
    whole number ``k`` for which this float lies between ``low`` and ``high``. If there is none, the first index is larger
    than the last.
    """
    first, last = math.ceil((low - origin) / step) - 1, math.floor((high - origin) / step) + 1
    while origin + first * step < low:
        first += 1
    while origin + last * step > high:
        last -= 1
    return first, last


class LinearProgram:
    """The mixed-integer program of one row.

    It minimizes ``cost @ x`` subject to ``rows @ x <= upper_side`` and ``openings @ x <= 0``.

    Parameters
    ----------
    task : Task
        Model, costs and rules.
    i : int
        Index of the row in ``task.limits``, which holds the rules for every row.
    row : ndarray of shape (n_features,)
        The values of the row, with NaN for missing values.

    Attributes
    ----------
    cost, upper : ndarray of shape (n_columns,)
        Cost and largest value of each variable of the program; the smallest value is 0.
    integral : ndarray of shape (n_columns,)
        Mask of the binary variables.
    gain : ndarray of shape (n_columns, n_outputs)
        Effect of each variable on the scores.
    switch : ndarray of shape (n_columns,)
        For each continuous variable, the index of its switch: a binary variable that must be 1 unless the continuous one
        is 0. The index is -1 if there is no switch.
    openings : ndarray of shape (n_openings, n_columns)
        Constraints ``openings @ x <= 0`` that set a continuous variable to 0 unless its switch is 1.
    rows, upper_side, size : ndarray
        All other constraints ``rows @ x <= upper_side``. For each constraint, ``size`` is a bound on the sum of its absolute
        terms, to estimate rounding errors. It is 0 for constraints with whole coefficients on binary variables,
        which have no rounding errors.
    units : list of ChangeColumns
        The numbers, categories and one-hot groups that can change.
    """

    def __init__(self, task: Task, i: int, row: Floats) -> None:
        self.task, self.row = task, row
        limits, m = task.limits, task.model.n_features
        with np.errstate(invalid="ignore"):
            self.low, self.high = np.fmin(task.box_low, row), np.fmax(task.box_high, row)
        self.low = self.low if limits.low is None else np.maximum(self.low, limits.low[i])
        self.high = self.high if limits.high is None else np.minimum(self.high, limits.high[i])
        self.frozen = np.zeros(m, dtype=np.bool_) if limits.frozen is None else limits.frozen[i]
        self.units: list[ChangeColumns] = []
        self._columns: list[tuple[float, float, bool, int]] = []
        self._gain: list[Floats] = []
        self._openings: list[Terms] = []
        self._rows: list[tuple[Terms, float, float]] = []
        self._change: dict[int, Terms] = {}  # by feature, the difference to its current value, or to 0 if missing
        self._moved: dict[int, list[int]] = {}  # by feature, variables that sum to 1 if the feature changes
        self._goes: dict[tuple[int, bool], list[int]] = {}  # the same for a rise (True) or a fall (False)
        self._leg: dict[tuple[int, bool], Leg] = {}
        self._broken = [rule for rule in limits.linear if self._sum_at(rule.coefficients) > rule.upper]
        self._watched = {j for rule in self._broken for j in rule.coefficients}
        for j in range(m):
            if self.frozen[j] or j in task.grouped:
                continue
            if j in task.model.effects:
                self._add_categories(j)
            elif np.isnan(row[j]):
                self._add_missing(j)
            else:
                self._add_number(j)
        for group in limits.groups:
            self._add_group(group)
        self._add_rules()
        self._finish()

    # --- columns ------------------------------------------------------------------------------------------------------

    def _column(self, cost: float, gain: Floats, upper: float = 1.0, *, integral: bool = True, switch: int = NONE) -> int:
        self._columns.append((cost, upper, integral, switch))
        self._gain.append(gain)
        return len(self._columns) - 1

    def _add_amount(
        self, j: int, sign: int, start: float, border: float, steps: int | None, price: float, switch: int
    ) -> tuple[tuple[int, float], ...]:
        """Add the variables that measure a change in one direction.

        Without a grid, one variable is the distance. On a grid, there is one variable per binary digit of the number of
        steps. Returns each variable with its factor in the amount of the change.
        """
        slope, unit = self.task.model.coef[:, j] * sign, float(self.task.width[j])
        if steps is None:
            span = abs(border - start) / unit
            if not span > 0:
                return ()
            column = self._column(price, slope * unit, span, integral=False, switch=switch)
            self._change[j].append((column, sign * unit))
            return ((column, 1.0),)
        step, _ = self.task.limits.grid(j) or (0.0, 0.0)
        digits = []
        for digit in range(steps.bit_length()):
            length = step * 2.0**digit
            column = self._column(price * length / unit, slope * length)
            self._change[j].append((column, sign * length))
            digits.append((column, 2.0**digit))
        if digits:
            self._rows.append(([*digits, (switch, -float(steps))], 0.0, 0.0))
        return tuple(digits)

    def _add_number(self, j: int) -> None:
        task, x0 = self.task, float(self.row[j])
        low, high = float(self.low[j]), float(self.high[j])
        if not low <= high:
            return
        weight = float(task.weight[j])
        fixed, price = task.lambda0 * weight, float(task.per_range[j]) * weight
        grid, nothing = task.limits.grid(j), np.zeros(task.model.n_outputs)
        # Each direction has its own switch if a move cannot be arbitrarily small, or if its direction matters.
        apart = grid is not None or j in task.directed or low > x0 or high < x0
        switched = fixed > 0 or task.limits.max_changes is not None or j in self._watched
        unit = ChangeColumns([], [], j, shared=not apart)
        self._change[j] = []
        shared = self._column(fixed, nothing) if switched and not apart else NONE
        for sign in (1, -1):
            start, border = (max(low, x0), high) if sign > 0 else (min(high, x0), low)
            if not (border - x0) * sign > 0:
                continue
            switch, steps, place = shared, None, None
            if grid is not None:
                beyond = math.nextafter(x0, sign * math.inf)
                near = max(start, beyond) if sign > 0 else min(start, beyond)
                first, last = grid_ends(*grid, min(near, border), max(near, border))
                if first > last:
                    continue
                k, steps = (first, last - first) if sign > 0 else (last, last - first)
                place = (*grid, k)
                start = grid[1] + k * grid[0]
            if apart:
                away = abs(start - x0) / float(task.width[j])
                switch = self._column(fixed + price * away, task.model.coef[:, j] * (start - x0))
                self._change[j].append((switch, start - x0))
                unit.switches.append(switch)
                self._goes[j, sign > 0] = [switch]
            amount = self._add_amount(j, sign, start, border, steps, price, switch)
            leg = Leg(sign, switch, start, border, amount, place)
            unit.legs.append(leg)
            self._leg[j, sign > 0] = leg
        if shared != NONE:
            unit.switches.append(shared)
        self._open(unit)

    def _add_missing(self, j: int) -> None:
        """Add the variables of the change that fills in a missing number ``j``."""
        task = self.task
        low, high = float(self.low[j]), float(self.high[j])
        if not task.limits.may_fill(j) or not low <= high:
            return
        start = min(max(task.median(j), low), high)
        grid, first, last, k = task.limits.grid(j), 0, 0, 0
        if grid is not None:
            first, last = grid_ends(*grid, low, high)
            if first > last:
                return
            k = min(max(round((start - grid[1]) / grid[0]), first), last)
            start = grid[1] + k * grid[0]
        price = task.unordered_price(j)
        switch = self._column(price, task.model.coef[:, j] * (start - task.model.centre[j]) - task.missing[j])
        unit = ChangeColumns([], [switch], j, shared=True)
        self._change[j] = [(switch, start)]
        for sign, border, steps in ((1, high, last - k), (-1, low, k - first)):
            amount = self._add_amount(j, sign, start, border, None if grid is None else steps, 0.0, switch)
            unit.legs.append(Leg(sign, switch, start, border, amount, None if grid is None else (*grid, k)))
        self._open(unit)

    def _add_categories(self, j: int) -> None:
        unit = ChangeColumns([], [])
        for code, cost, gain in self.task.category_moves(j, float(self.row[j])):
            switch = self._column(cost, gain)
            unit.switches.append(switch)
            unit.landings[switch] = [(j, float(code))]
        self._moved[j] = unit.switches
        self._open(unit)

    def _add_group(self, group: tuple[int, ...]) -> None:
        task = self.task
        price = task.unordered_price(group[0])
        held = self.row[list(group)]
        unit = ChangeColumns([], [])
        for at in range(len(group)):
            entered = np.arange(len(group)) == at
            changed = [(j, float(new)) for j, new, old in zip(group, entered, held, strict=True) if new != old]
            box = [(min(task.box_low[j], self.row[j]), max(task.box_high[j], self.row[j])) for j, _ in changed]
            barred = any(self.frozen[j] or np.isnan(self.row[j]) for j, _ in changed)
            if (
                not changed
                or barred
                or not all(low <= new <= high for (_, new), (low, high) in zip(changed, box, strict=True))
            ):
                continue
            gain = np.sum([task.model.coef[:, j] * (new - self.row[j]) for j, new in changed], axis=0)
            switch = self._column(price, gain)
            unit.switches.append(switch)
            unit.landings[switch] = changed
            for j, new in changed:
                self._change.setdefault(j, []).append((switch, new - float(self.row[j])))
                self._moved.setdefault(j, []).append(switch)
                self._goes.setdefault((j, new > self.row[j]), []).append(switch)
        self._open(unit)

    def _open(self, unit: ChangeColumns) -> None:
        """Add a number, a category or a one-hot group (``unit``) to the program.

        This adds two kinds of constraints: at most one switch of ``unit`` is 1, and the distances of a change are 0 unless
        its switch is 1.
        """
        unit.columns = [*unit.switches, *(column for leg in unit.legs for column, _ in leg.amount)]
        if not unit.columns:
            return
        self.units.append(unit)
        if unit.feature != NONE:
            self._moved[unit.feature] = unit.switches
        if len(unit.switches) > 1:
            self._rows.append(([(switch, 1.0) for switch in unit.switches], 1.0, 0.0))
        by_switch: dict[int, Terms] = {}
        for leg in unit.legs:
            for column, _ in leg.amount:
                _, upper, integral, switch = self._columns[column]
                if not integral and switch != NONE:
                    by_switch.setdefault(switch, []).append((column, 1.0 / upper))
        self._openings += [[*terms, (switch, -1.0)] for switch, terms in by_switch.items()]

    # --- rules --------------------------------------------------------------------------------------------------------

    def _sum_at(self, coefficients: dict[int, float]) -> float:
        """Compute the sum of a rule for the unchanged row.

        The sum is NaN if a value is missing.
        """
        return float(sum(a * self.row[j] for j, a in coefficients.items()))

    def _add_rules(self) -> None:
        limits = self.task.limits
        if limits.max_changes is not None:
            switches = [(switch, 1.0) for unit in self.units for switch in unit.switches]
            self._rows.append((switches, float(limits.max_changes), 0.0))
        for rule in limits.linear:
            self._add_sum(rule.coefficients, rule.upper)
        for implication in limits.implications:
            self._add_implication(
                (implication.feature, implication.rises), (implication.then_feature, implication.then_rises)
            )

    def _add_sum(self, coefficients: dict[int, float], upper: float) -> None:
        terms = [(column, a * change) for j, a in coefficients.items() for column, change in self._change.get(j, ())]
        missing = [j for j in coefficients if np.isnan(self.row[j])]
        if not terms or any(not self._moved.get(j) for j in missing):
            return  # no column can move, or a value stays missing
        present = {j: a for j, a in coefficients.items() if j not in missing}
        held = self._sum_at(present)
        size = abs(upper) + sum(abs(a * self.row[j]) for j, a in present.items())
        size += sum(abs(factor) * self._columns[column][1] for column, factor in terms)
        if missing:
            # The constraint applies only if all missing values are filled in.
            most = held + sum(max(0.0, factor) * self._columns[column][1] for column, factor in terms) - upper
            if most > 0:
                filled = [(column, most) for j in missing for column in self._moved[j]]
                self._rows.append(([*terms, *filled], upper - held + most * len(missing), size))
        elif held <= upper:
            self._rows.append((terms, upper - held, size))
        else:
            # The unchanged row breaks the rule. The constraint applies only if a feature of the rule moves.
            for j in coefficients:
                moved = [(column, held - upper) for column in self._moved.get(j, ())]
                if moved:
                    self._rows.append(([*terms, *moved], 0.0, size))

    def _add_implication(self, cause: tuple[int, bool], effect: tuple[int, bool]) -> None:
        """Add the constraints of an implication between two numbers.

        If the first number changes in a given direction, the second one must change in a given direction. ``cause`` and
        ``effect`` describe this: each is a pair of the column and the direction, True for rising and False for falling. The
        second number must change at least to its next training value.
        """
        moved = self._goes.get(cause, [])
        if not moved:
            return
        then = [(column, -1.0) for column in self._goes.get(effect, [])]
        self._rows.append(([*((column, 1.0) for column in moved), *then], 0.0, 0.0))
        leg = self._leg.get(effect)
        if leg is None or leg.grid is not None or not leg.amount:
            return
        j, x0 = effect[0], float(self.row[effect[0]])
        values = self.task.values(j)
        beyond = values[values > x0] if leg.sign > 0 else -values[values < x0][::-1]
        nearest = leg.sign * float(beyond[0]) if len(beyond) else leg.border
        nearest = min(nearest, leg.border) if leg.sign > 0 else max(nearest, leg.border)
        least = (nearest - leg.start) * leg.sign / float(self.task.width[j])
        if least > 0:
            ((column, _),) = leg.amount
            self._rows.append(([(column, -1.0), *((switch, least) for switch in moved)], 0.0, least))

    # --- arrays -------------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        n = len(self._columns)
        cost, upper, integral, switch = zip(*self._columns, strict=True) if n else ((), (), (), ())
        self.cost, self.upper = np.array(cost, dtype=np.float64), np.array(upper, dtype=np.float64)
        self.integral, self.switch = np.array(integral, dtype=np.bool_), np.array(switch, dtype=np.int64)
        self.gain = np.array(self._gain, dtype=np.float64).reshape(n, self.task.model.n_outputs)
        self.openings = self._matrix(self._openings)
        self.rows = self._matrix([terms for terms, _, _ in self._rows])
        self.upper_side = np.array([upper for _, upper, _ in self._rows], dtype=np.float64)
        self.size = np.array([size for _, _, size in self._rows], dtype=np.float64)

    def _matrix(self, rows: list[Terms]) -> Floats:
        matrix = np.zeros((len(rows), len(self._columns)))
        for line, terms in zip(matrix, rows, strict=True):
            for column, factor in terms:
                line[column] += factor
        return matrix

    @property
    def n_columns(self) -> int:
        """Number of variables of the program."""
        return len(self.cost)

    def landings(self, x: Floats) -> list[tuple[int, float]]:
        """Return the changed features in a solution ``x`` with their new values, sorted."""
        found = []
        for unit in self.units:
            if unit.landings:
                found += [landing for switch in unit.switches if x[switch] > 0.5 for landing in unit.landings[switch]]
            elif not unit.switches or x[unit.switches].sum() > 0.5:
                value = self.value(unit, x)
                if value != self.row[unit.feature]:
                    found.append((unit.feature, value))
        return sorted(found)

    def value(self, unit: ChangeColumns, x: Floats) -> float:
        """Return the new value of a changed number in a solution ``x``."""
        width = float(self.task.width[unit.feature])
        if not unit.shared:
            (leg,) = (leg for leg in unit.legs if x[leg.switch] > 0.5)
            return leg.value(leg.size(x), self._largest(leg), width)
        net = sum(leg.sign * leg.size(x) for leg in unit.legs)
        for leg in unit.legs:
            if net * leg.sign > 0:
                return leg.value(abs(net), self._largest(leg), width)
        return unit.legs[0].start

    def _largest(self, leg: Leg) -> float:
        return float(sum(self.upper[column] * factor for column, factor in leg.amount))
