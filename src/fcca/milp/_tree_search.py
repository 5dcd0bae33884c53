"""Counterfactuals of tree ensembles by mixed-integer programs, without the C++ core.

The solver HiGHS has absolute tolerances of 1e-6: for violated constraints, for integers and for the gap at which it stops.
So constraints and objective are scaled up. This makes errors smaller, but does not rule them out. Therefore every solution
of HiGHS is rounded: each column or one-hot group gets one of the values that it can take (places, see ``_places.py``). The
score, the cost and the rules of the rounded solution are checked in float64. Then an additional constraint forbids this
solution, and HiGHS runs again, until its lower bound reaches the cost of the cheapest solution found. Similar solutions are
forbidden together:

- if the solution misses the margin: all solutions in the same leaves, because they have the same score;
- if it breaks a rule: all solutions with the same values in the columns of that rule;
- otherwise: all solutions in the same leaves that also have the same values in all columns of multi-column rules. The
  cheapest of them is kept.

At the end, all forbidden solutions have been checked, and the cheapest valid one is known. No other solution costs less than
the lower bound. So the cheapest solution found is proven optimal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint

from fcca.cells import Cells, TrainingValues
from fcca.constraints import Limits
from fcca.milp._highs import MOST_ATTEMPTS, NOTHING, OBJECTIVE_SCALE, ROW_SCALE, SOLVED, run_highs
from fcca.milp._outcomes import OPTIMAL, PROMISE, Answers, Outcome, cheapest_class, is_close, rival_weights, solve_each
from fcca.milp._places import PlaceFinder, Places
from fcca.milp._rule_rows import ROOM, RulesBetween
from fcca.milp._tree_program import ProgramRows, Reach, TreeProgram, Trees, program_for
from fcca.models import TreeEnsemble

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Progress = Callable[[int], None]

BEYOND_ANY_SCORE = 1e300  # replaces the infinite boundary of a classifier that predicts only one class


class HighsResult(NamedTuple):
    """The result of one run of HiGHS: lower bound and solution."""

    bound: float  # lower bound for all solutions that are not forbidden
    nodes: int
    chosen: Longs | None  # the place of each unit
    nothing_left: bool = False  # True if no further solution exists


class TreeAim:
    """The goal of a search: a class must win by a margin."""

    def __init__(self, trees: Trees, target: int, margin: float) -> None:
        self.trees, self.target, self.margin = trees, target, margin
        model = trees.model
        self.weights = rival_weights(model.n_outputs, target)
        self.boundary = 0.0
        if model.n_outputs == 1:
            self.boundary = float(np.clip(model.boundary, -BEYOND_ANY_SCORE, BEYOND_ANY_SCORE))

    def leads(self, scores: Floats) -> Floats:
        """Compute how far the score of the class exceeds the largest other score, per row.

        A model with a single score is compared with its boundary instead.
        """
        if scores.shape[1] == 1:
            only: Floats = self.weights[0, 0] * (scores[:, 0] - self.boundary)
            return only
        lead: Floats = scores[:, self.target] - np.delete(scores, self.target, axis=1).max(axis=1)
        return lead

    def is_met(self, row: Floats) -> bool:
        """Return True if the class wins by the margin for this row."""
        return bool(self.leads(self.trees.scores(row[None, :]))[0] >= self.margin)

    def program(self, reach: Reach, rules: RulesBetween) -> TreeProgram | None:
        """Build the mixed-integer program for this goal; None if no change can meet it."""
        needed = self.margin + self.weights.sum(axis=1) * self.boundary
        return program_for(self.trees, reach, self.weights, needed, rules)


class TreeSearch:
    """Finds the counterfactuals of a tree ensemble by mixed-integer programs, row by row."""

    def __init__(self, model: TreeEnsemble, finder: PlaceFinder) -> None:
        self.model, self.finder = model, finder
        self.trees = Trees(model)
        self.rules = RulesBetween(finder.limits)

    def reach(self, i: int, row: Floats) -> Reach | None:
        """Find the leaves that changes of a row can reach.

        ``i`` is the index of the row in ``finder.limits``, which holds the rules for every row. Returns None if there are
        too many leaves for a program.
        """
        reach = self.trees.reach(self.finder.of(i, row))
        return None if reach is None else reach.without_doubles(self.rules.columns)

    def solve(self, reach: Reach, own_class: int, target: int, margin: float, deadline: float) -> Outcome:
        """Find the cheapest change of a row after which the model predicts ``target``.

        A target of -1 stands for any class other than ``own_class``.
        """
        scores = self.trees.scores(reach.places.x0[None, :])[0]
        return cheapest_class(
            scores,
            own_class,
            target,
            lambda k, cutoff: self._towards(TreeAim(self.trees, k, margin), reach, cutoff, deadline),
        )

    def _towards(self, aim: TreeAim, reach: Reach, cutoff: float, deadline: float) -> Outcome:
        """Find the cheapest change to one class, among changes that cost at most ``cutoff``.

        The outcome is infeasible if there is no such change.
        """
        best = Outcome()
        if aim.is_met(reach.places.x0):
            return Outcome(OPTIMAL, 0.0)
        if time.monotonic() >= deadline:
            return best
        greedy = self._greedy(aim, reach, deadline)
        if greedy is not None and reach.places.total(greedy) <= cutoff:
            _offer(best, reach.places, greedy)
        # No part of a better solution costs more than the cheapest known solution, whatever its class.
        known = min(cutoff, best.cost)
        if known < np.inf:
            reach = reach.up_to(known * (1 + PROMISE))
        program = aim.program(reach, self.rules)
        if program is None:
            best.bound = np.inf
        else:
            self._improve(best, program, aim, deadline)
        best.close()
        return best

    # --- solutions of HiGHS -----------------------------------------------------------------------------------------------

    def _improve(self, best: Outcome, program: TreeProgram, aim: TreeAim, deadline: float) -> None:
        """Run HiGHS repeatedly, until its lower bound reaches the cost of the best solution.

        Updates ``best`` with the bound, and with every cheaper solution.
        """
        places, n_good = program.reach.places, 0
        forbidden: list[ProgramRows] = []
        for result in _highs_results(program, forbidden, deadline):
            best.nodes += result.nodes
            # HiGHS may wrongly report that no solution exists. This is ignored if only the greedy run found one.
            if result.nothing_left and (n_good or best.cost == np.inf):
                best.bound = np.inf
            best.bound = max(best.bound, result.bound)
            if result.chosen is not None:
                cheapest, others = self._judged(program, aim, result.chosen)
                forbidden.append(others)
                if cheapest is not None:
                    n_good += 1
                    for chosen in (cheapest, self._pulled_back(aim, places, cheapest)):
                        _offer(best, places, chosen)
            if best.cost < np.inf and is_close(best.bound, best.cost):
                return

    def _judged(self, program: TreeProgram, aim: TreeAim, chosen: Longs) -> tuple[Longs | None, ProgramRows]:
        """Check a solution of HiGHS, and all solutions that are similar to it.

        The text at the top of this module says which solutions are similar. ``chosen`` holds the index of the value (place)
        that each column or one-hot group takes. The first result is the cheapest valid one of these solutions, or None if
        none is valid. The second result is a constraint that forbids all of them.
        """
        places, alike = program.reach.places, program.reach.same_leaves(chosen)
        row = places.row(chosen)
        if not aim.is_met(row):
            told_apart = np.flatnonzero(~np.logical_and.reduceat(alike, places.first[:-1]))
            return None, program.not_all_of(alike, told_apart)
        broken = self._broken(places, chosen)
        ruled = self.rules.columns if broken is None else frozenset(broken)
        exactly = np.array([u for u, unit in enumerate(places.units) if not ruled.isdisjoint(unit.columns)], dtype=np.int64)
        if broken is not None:
            return None, program.not_all_of(np.isin(np.arange(len(alike)), chosen), exactly)
        cheapest = chosen.copy()
        for u in np.setdiff1d(np.arange(len(chosen)), exactly).tolist():
            near = places.first[u] + places.units[u].nearness
            cheapest[u] = near[alike[near]][0]
        of_rules = np.isin(places.owner, exactly)
        return cheapest, program.not_all_of(
            np.where(of_rules, np.isin(np.arange(len(alike)), chosen), alike), np.arange(len(chosen))
        )

    def _broken(self, places: Places, chosen: Longs) -> tuple[int, ...] | None:
        """Return the columns of the first rule that a solution breaks; None if it breaks none."""
        return self.rules.broken(places.x0, places.row(chosen), int(np.count_nonzero(chosen != places.own)))

    # --- solutions without HiGHS ------------------------------------------------------------------------------------------

    def _greedy(self, aim: TreeAim, reach: Reach, deadline: float) -> Longs | None:
        """Find a valid solution by greedy changes; None if that fails.

        Each step makes the change with the best ratio of score gain to additional cost.
        """
        places, shares = reach.places, self.trees.shares
        if not places.units:
            return None
        chosen, cost = places.own.copy(), places.cost
        lead = aim.leads(self.trees.scores(places.x0[None, :]))[0]
        while lead < aim.margin:
            if time.monotonic() >= deadline:
                return None
            leads = aim.leads(self.trees.base + reach.after_one_move(chosen, shares))
            gain = np.minimum(leads, aim.margin) - lead
            if not gain.max() > 0:
                return None
            extra = cost - cost[chosen][places.owner]
            worth = np.where(gain > 0, gain / np.maximum(extra, 1e-12 * (1 + cost.max())), -np.inf)
            best = int(np.argmax(worth))
            chosen[places.owner[best]], lead = best, leads[best]
        if not aim.is_met(places.row(chosen)) or self._broken(places, chosen) is not None:
            return None
        return self._pulled_back(aim, places, chosen)

    def _pulled_back(self, aim: TreeAim, places: Places, chosen: Longs) -> Longs:
        """Reduce the cost of a valid solution, one changed column or one-hot group at a time.

        Each of them gets the cheapest value with which the row still meets the goal and obeys the rules.
        """
        chosen = chosen.copy()
        for u in np.flatnonzero(chosen != places.own):
            near = places.first[u] + places.units[u].nearness
            tried = np.repeat(chosen[None, :], np.flatnonzero(near == chosen[u])[0] + 1, axis=0)
            tried[:, u] = near[: len(tried)]
            met = aim.leads(self.trees.scores(np.array([places.row(one) for one in tried]))) >= aim.margin
            chosen = next((one for one in tried[met] if self._broken(places, one) is None), chosen)
        return chosen


def _offer(best: Outcome, places: Places, chosen: Longs) -> None:
    """Store a solution in ``best`` if it is the cheapest so far.

    ``chosen`` holds the index of the value (place) that each column or one-hot group takes.
    """
    cost = places.total(chosen)
    if cost < best.cost:
        row = places.row(chosen)
        feature = np.flatnonzero((row != places.x0) & ~np.isnan(row))
        best.cost, best.moves = cost, tuple(zip(feature.tolist(), row[feature].tolist(), strict=True))


def _highs_results(program: TreeProgram, forbidden: list[ProgramRows], deadline: float) -> Iterator[HighsResult]:
    """Run HiGHS repeatedly and yield its results.

    Between two results, the caller appends constraints to ``forbidden``, so that the next run finds another solution.
    """
    n_steps, n_others = program.n_steps, program.n_leaves + program.rules.n_columns
    if n_steps == 0:
        yield HighsResult(0.0, 0, None, nothing_left=True)
        return
    price_unit = OBJECTIVE_SCALE / max(program.price.max(), 1e-300)
    row_unit = ROW_SCALE / program.gains.max(axis=0).clip(1e-300)
    score = np.zeros((len(program.needed), n_steps + n_others))
    score[:, n_steps : n_steps + program.n_leaves] = (program.gains * row_unit).T
    settings: dict[str, Any] = {
        "c": np.concatenate([program.price * price_unit, np.zeros(n_others)]),
        "integrality": np.repeat([1, 0], [n_steps, n_others]),
        "bounds": Bounds(0, 1),
    }
    always = [LinearConstraint(*program.rows), LinearConstraint(score, program.needed * row_unit - ROOM, np.inf)]
    for _ in range(MOST_ATTEMPTS):
        constraints = [*always, *(LinearConstraint(*rows) for rows in forbidden)]
        result = run_highs(settings, constraints, deadline)
        if result is None:
            return
        nodes = int(result.mip_node_count or 0)
        bound = 0.0 if result.mip_dual_bound is None else max(0.0, result.mip_dual_bound / price_unit)
        if result.x is None:
            yield HighsResult(bound if np.isfinite(bound) else 0.0, nodes, None, nothing_left=result.status == NOTHING)
            return
        yield HighsResult(bound, nodes, program.chosen(result.x[:n_steps] > 0.5))
        if result.status != SOLVED:
            return


def solve_milp(
    *,
    model: TreeEnsemble,
    cells: Cells,
    rows: Floats,
    points: Longs,
    own_class: NDArray[np.int32],
    target: NDArray[np.int32],
    margin: Floats,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    limits: Limits | None = None,
    training: TrainingValues | None = None,
    time_limit: float = np.inf,
    time_limit_per_row: float = np.inf,
    progress: Progress | None = None,
) -> Answers:
    """Find the counterfactuals of a tree ensemble by mixed-integer programs, row by row.

    Parameters
    ----------
    model : TreeEnsemble
    cells : Cells
        The cells between the cuts of the model and of the rules. Their method ``observe`` must have been called
        with the training rows.
    rows : ndarray of shape (n_rows, n_features)
        A table that contains the rows to change. Missing values are NaN, even in categorical columns.
    points : ndarray of shape (n_points,)
        Positions, within ``rows``, of the rows to change.
    own_class, target : ndarray of shape (n_points,)
        Predicted class and target class, as indices in ``model.classes``. A target of -1 stands for any other class.
    margin : ndarray of shape (n_points,)
        Score margin by which the target must win.
    lambda0, lambda1, lambda2 : float
        Costs per changed feature, per unit of distance and per squared unit of distance.
    limits : Limits, optional
        Rules, compiled for the rows to change.
    training : TrainingValues, optional
        Values of the training rows. Required if missing numbers may be filled in, or if there are one-hot groups.
    time_limit, time_limit_per_row : float
        Seconds for all rows together, and for each row.
    progress : callable or None
        Called after each row, with the number of finished rows.

    Returns
    -------
    Answers
        The results of all rows. For a changed number, they contain the last cut that it crosses. This cut is NaN for
        categories, filled-in values and one-hot groups.
    """
    lambdas = (lambda0, lambda1, lambda2)
    finder = PlaceFinder(cells, lambdas, Limits() if limits is None else limits, training or TrainingValues())
    search, table = TreeSearch(model, finder), rows[points]

    def solve(i: int, deadline: float) -> Outcome:
        reach = search.reach(i, table[i]) if time.monotonic() < deadline else None
        if reach is None:
            return Outcome()
        return search.solve(reach, int(own_class[i]), int(target[i]), float(margin[i]), deadline)

    def cuts(point: Longs, feature: NDArray[np.int32], landing: Floats) -> Floats:
        return cells.last_crossed(feature, table[point, feature], landing, np.full(len(feature), np.nan))

    ends = time.monotonic() + time_limit
    outcomes = solve_each(range(len(points)), solve, ends=ends, time_limit_per_row=time_limit_per_row, progress=progress)
    return Answers.of(outcomes, cuts)
