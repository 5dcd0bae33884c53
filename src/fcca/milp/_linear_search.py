"""Counterfactuals of linear models by mixed-integer programs.

The binary variables of a program say which columns change and in which direction. They are called choices. HiGHS satisfies
constraints and integrality only to 1e-6, so its solutions are not used directly. The choices are rounded to 0 and 1. With
fixed choices, the distances are the solution of a small linear program, which is solved to the last digits with a separate
proof. Then this combination of choices is forbidden, and HiGHS runs again. This ends when the lower bound for all other
combinations reaches the cost of the cheapest solution found. The tolerances of HiGHS can only make that bound too low, so
the proof stays valid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint

from fcca.constraints import LinearRule
from fcca.milp._exact_lp import least_sum
from fcca.milp._highs import MOST_ATTEMPTS, NOTHING, OBJECTIVE_SCALE, ROW_SCALE, SOLVED, run_highs
from fcca.milp._linear_program import NONE, ChangeColumns, LinearProgram
from fcca.milp._linear_task import Task
from fcca.milp._outcomes import INFEASIBLE, OPTIMAL, PROMISE, Outcome, cheapest_class, is_close, rival_weights

Floats = NDArray[np.float64]

# Relative to the size of the summands.
SCORE_ROUNDING = 1e-13  # rounding error allowed in a score
SUM_ROUNDING = 4e-15  # rounding error allowed in a sum of a rule
EXTRA_SCORE = 8 * float(np.finfo(np.float64).eps)  # distances aim this much beyond the margin, against rounding
MOST_NUDGES = 16


class LinearAim:
    """The goal of a search: a class must win by a margin.

    For the variables ``x`` of the program, the goal is ``gains @ x >= needed``, with one inequality per class to beat.
    """

    def __init__(self, program: LinearProgram, scores: Floats, target: int, margin: float, boundary: float) -> None:
        self.program, model = program, program.task.model
        weights = rival_weights(len(scores), target)
        self.needed = margin - (weights[:, 0] * (scores[0] - boundary) if len(scores) == 1 else weights @ scores)
        self.gains: Floats = (program.gain @ weights.T).T
        shifted = np.abs(np.nan_to_num(program.row - model.centre))
        held = np.abs(model.coef) @ shifted + np.abs(model.intercept) + np.abs(scores) + abs(boundary)
        self.size = np.abs(weights) @ held + margin + np.abs(self.gains) @ program.upper

    @property
    def is_met(self) -> bool:
        """True if the class wins by the margin without a change."""
        return bool((self.needed <= 0).all())

    @property
    def is_out_of_reach(self) -> bool:
        """True if the class cannot win by the margin, whatever changes are made."""
        most = np.maximum(self.gains, 0) @ self.program.upper
        return bool((most < self.needed - PROMISE * self.size).any())

    def cost_below_all(self) -> float:
        """Compute a lower bound on the cost of all solutions, without a solver.

        The bound ignores the rules between columns. For each number, category and one-hot group, it assumes the lowest
        cost per gained score that any change of it has.
        """
        program = self.program
        best = 0.0
        for gains, needed in zip(self.gains, self.needed, strict=True):
            if needed <= 0:
                continue
            offers = []
            for unit in program.units:
                ends = [end for end in self._ends(unit, gains) if end[1] > 0]
                if ends:
                    offers.append((min(cost / gain for cost, gain in ends), max(gain for _, gain in ends)))
            total, missing = 0.0, float(needed)
            for rate, most in sorted(offers):
                taken = min(missing, most)
                total, missing = total + rate * taken, missing - taken
                if missing <= 0:
                    break
            best = max(best, total)
        return best * (1 - PROMISE / 1e3)

    def _ends(self, unit: ChangeColumns, gains: Floats) -> Iterator[tuple[float, float]]:
        """Yield the cost and the gained score of the changes with the best ratios.

        ``unit`` is a number, a category or a one-hot group. For a number, these are the smallest and the largest change in
        each direction; otherwise, all changes. ``gains`` holds the score that each variable gains.
        """
        cost = self.program.cost
        if not unit.legs:
            yield from ((float(cost[switch]), float(gains[switch])) for switch in unit.switches)
        for leg in unit.legs:
            switch = leg.switch if leg.switch != NONE else (unit.switches[0] if unit.switches else NONE)
            spent, gained = (0.0, 0.0) if switch == NONE else (float(cost[switch]), float(gains[switch]))
            yield spent, gained
            for column, _ in leg.amount:
                spent += float(cost[column] * self.program.upper[column])
                gained += float(gains[column] * self.program.upper[column])
            yield spent, gained

    def finished(self, choices: Floats) -> tuple[Floats | None, float]:
        """Find the cheapest distances for fixed binary variables (choices).

        Returns all variables of the program, and a lower bound on the cost with these choices. The variables are None if no
        distances are found that meet the goal and the rules. The bound is infinite if no such distances exist.
        """
        program = self.program
        x = np.where(program.integral, choices, 0.0)
        fixed = float(program.cost @ x)
        counts = program.size == 0
        if (program.rows[counts] @ x > program.upper_side[counts] + 0.5).any():
            return None, np.inf
        high = np.where((program.switch == NONE) | (x[program.switch] > 0.5), program.upper, 0.0)
        free = np.flatnonzero(~program.integral & (high > 0))
        rows, least, slack = self._rows_to_keep
        found = None
        for more in (self._extra_score, np.zeros(len(least))):
            left = least - rows @ x
            found = least_sum(program.cost[free], rows[:, free], left, high[free], more=more, slack=slack)
            if found is not None and found.x is not None:
                bound = fixed + min(found.bound, float(program.cost[free] @ found.x))
                x[free] = found.x
                return self._tidied(x, rows, least + more), bound
        return None, np.inf if found is None else fixed + found.bound

    @cached_property
    def _rows_to_keep(self) -> tuple[Floats, Floats, Floats]:
        """Constraints ``rows @ x >= least`` for the goal and for rules on sums.

        The arrays are ``rows``, ``least``, and the rounding error that is allowed in each constraint.
        """
        program, sums = self.program, self.program.size > 0
        rows = np.vstack([self.gains, -program.rows[sums]])
        least = np.concatenate([self.needed, -program.upper_side[sums]])
        return rows, least, np.concatenate([SCORE_ROUNDING * self.size, SUM_ROUNDING * program.size[sums]])

    @cached_property
    def _extra_score(self) -> Floats:
        return np.concatenate([EXTRA_SCORE * self.size, np.zeros(np.count_nonzero(self.program.size > 0))])

    def _tidied(self, x: Floats, rows: Floats, least: Floats) -> Floats:
        """Undo changes and distances that cost nothing and are not needed for the goal."""
        program = self.program
        for unit in program.units:
            if not x[unit.columns].any() or program.cost[unit.columns] @ x[unit.columns] > 0:
                continue
            without = x.copy()
            without[unit.columns] = 0.0
            if self._is_kept(without):
                x = without
        for unit in program.units:
            for leg in unit.legs:
                columns = [column for column, _ in leg.amount]
                if not x[columns].any() or program.cost[columns].any():
                    continue
                first, amount = columns[0], leg.size(x)
                gain = rows[:, first]
                spare = np.maximum(rows @ x - least, 0.0)[gain > 0] / gain[gain > 0]
                back = min(amount, float(spare.min(initial=np.inf)))
                if leg.grid is None:
                    x[first] -= back
                else:
                    steps = round(amount) - math.floor(back)
                    x[columns] = [steps >> digit & 1 for digit in range(len(columns))]
        return x

    def _is_kept(self, x: Floats) -> bool:
        """Return True if the variables ``x`` meet the goal and satisfy all rules."""
        program = self.program
        rows, least, _ = self._rows_to_keep
        counts = program.size == 0
        kept = program.rows[counts] @ x <= program.upper_side[counts] + 0.5
        return bool(kept.all() and (rows @ x >= least).all())


class LinearSearch:
    """Finds the counterfactuals of a linear model by mixed-integer programs, row by row."""

    def __init__(self, task: Task, boundary: float) -> None:
        self.task, self.boundary = task, boundary

    def solve(self, i: int, row: Floats, own_class: int, target: int, margin: float, deadline: float) -> Outcome:
        """Find the cheapest change of a row to the target class.

        A target of -1 stands for any other class. ``i`` is the index of the row in ``task.limits``, which holds the rules
        for every row.
        """
        program = LinearProgram(self.task, i, row)
        scores = self.task.model.scores(row[None, :])[0]

        def towards(k: int, cutoff: float) -> Outcome:
            return self._towards(LinearAim(program, scores, k, margin, self.boundary), cutoff, deadline)

        return cheapest_class(scores, own_class, target, towards)

    def _towards(self, aim: LinearAim, cutoff: float, deadline: float) -> Outcome:
        """Find the cheapest change to one class, among changes that cost at most ``cutoff``.

        The outcome is infeasible if there is no such change.
        """
        program, best = aim.program, Outcome()
        if aim.is_met:
            return Outcome(OPTIMAL, 0.0)
        if program.n_columns == 0 or aim.is_out_of_reach or (cutoff < np.inf and aim.cost_below_all() >= cutoff):
            return Outcome(INFEASIBLE, bound=np.inf)
        seen = np.inf  # the least bound among the forbidden choices
        constraints = self._constraints(aim, cutoff)
        unit = self._price_unit(program)
        settings: dict[str, Any] = {
            "c": program.cost * unit,
            "integrality": program.integral.astype(np.int64),
            "bounds": Bounds(0, program.upper),
        }
        for _ in range(MOST_ATTEMPTS):
            if not program.integral.any():
                highs_bound, choices, done = 0.0, np.zeros(program.n_columns), True
            else:
                result = run_highs(settings, constraints, deadline, confirmed=cutoff == np.inf)
                if result is None:
                    break
                best.nodes += int(result.mip_node_count or 0)
                proven = result.mip_dual_bound
                highs_bound = 0.0 if proven is None or not np.isfinite(proven) else max(0.0, proven / unit)
                if result.status == NOTHING:
                    best.bound = seen
                    break
                best.bound = max(best.bound, min(highs_bound, seen))
                if result.x is None:
                    break
                choices, done = np.rint(result.x), result.status != SOLVED
            x, bound = aim.finished(choices)
            if x is not None:
                moves = self._moves(program, x)
                if moves is None:
                    bound = np.inf  # a sum of grid or group values exceeds its limit by rounding
                elif float(program.cost @ x) < best.cost:
                    best.cost, best.moves = float(program.cost @ x), moves
            seen = min(seen, bound)
            if not program.integral.any():
                best.bound = seen
            if done or (best.cost < np.inf and is_close(min(highs_bound, seen), best.cost)):
                break
            constraints.append(self._forbidden(program, choices))
        best.close()
        return best

    def _price_unit(self, program: LinearProgram) -> float:
        dearest = float((program.cost * program.upper).max(initial=0.0))
        return OBJECTIVE_SCALE / dearest if dearest > 0 else 1.0

    def _constraints(self, aim: LinearAim, cutoff: float) -> list[LinearConstraint]:
        """Return the constraints of the program, scaled up far above HiGHS's tolerances."""
        program = aim.program
        found = []
        if len(program.openings):
            found.append(LinearConstraint(program.openings, -np.inf, 0.0))
        if len(program.rows):
            scale = ROW_SCALE / np.maximum(np.abs(program.rows * program.upper).max(axis=1), 1e-300)
            scale = np.where(program.size == 0, 1.0, scale)
            found.append(LinearConstraint(program.rows * scale[:, None], -np.inf, program.upper_side * scale))
        scale = ROW_SCALE / np.maximum(np.abs(aim.gains * program.upper).max(axis=1), 1e-300)
        found.append(LinearConstraint(aim.gains * scale[:, None], aim.needed * scale, np.inf))
        if cutoff < np.inf:
            unit = self._price_unit(program)
            found.append(LinearConstraint(program.cost[None, :] * unit, -np.inf, cutoff * unit * (1 + PROMISE)))
        return found

    def _forbidden(self, program: LinearProgram, choices: Floats) -> LinearConstraint:
        """Return the constraint that excludes one combination of binary variables.

        In every other solution, at least one of the binary variables must differ from ``choices``.
        """
        taken = program.integral & (choices > 0.5)
        row = np.where(taken, 1.0, np.where(program.integral, -1.0, 0.0))
        return LinearConstraint(row[None, :], -np.inf, np.count_nonzero(taken) - 1)

    def _moves(self, program: LinearProgram, x: Floats) -> tuple[tuple[int, float], ...] | None:
        """Return the changed columns in a solution ``x`` with their new values.

        If rounding makes a sum exceed the upper limit of a rule, the new value of a number is adjusted slightly. Numbers on
        a grid cannot be adjusted. Returns None if no changed number of the rule can be adjusted.
        """
        landings = dict(program.landings(x))
        numbers = {
            unit.feature for unit in program.units if unit.feature != NONE and self.task.limits.grid(unit.feature) is None
        }
        for rule in self.task.limits.linear:
            if not any(j in landings for j in rule.coefficients):
                continue
            movable = [j for j in rule.coefficients if j in landings and j in numbers]
            for nudge in range(MOST_NUDGES):
                excess = self._sum(rule, program.row, landings) - rule.upper
                if not excess > 0:
                    break
                if not movable:
                    return None
                for j in movable:
                    a = rule.coefficients[j]
                    back = max(2.0**nudge * excess / abs(a), float(np.spacing(abs(landings[j]))))
                    taken_back = landings[j] - math.copysign(back, a)
                    if program.low[j] <= taken_back <= program.high[j] and taken_back != program.row[j]:
                        landings[j] = taken_back
                        break
        return tuple(sorted(landings.items()))

    @staticmethod
    def _sum(rule: LinearRule, row: Floats, landings: dict[int, float]) -> float:
        return float(sum(a * landings.get(j, float(row[j])) for j, a in rule.coefficients.items()))
