"""Counterfactuals of tree ensembles by mixed-integer programs on HiGHS, independent of the core.

HiGHS takes a row for kept that is violated by 1e-6 and a number for whole that is 1e-6 off, and stops at a gap of 1e-6, all
absolute. Rows and objective are therefore scaled up; and because that alone proves nothing, every answer is rounded to
places, and its score, its cost and the rules that it keeps are computed again in float64. Where it misses the margin or
breaks a rule, or the bound of HiGHS lies below its cost by more than the promise, it is forbidden together with others, and
the program is solved again: with all that stand in the same leaves where it misses the margin, for those miss it too; with
all that have the same values in the columns of a rule that it breaks; and else with those in the same leaves whose columns
under rules between columns are where its own are, the cheapest of which is kept. So the bound on what is left and the
cheapest answer found make a proof.
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
from fcca.milp._highs import MOST_ATTEMPTS, NOTHING, OBJECTIVE_SCALE, ROW_SCALE, SOLVED, ask_highs
from fcca.milp._outcomes import OPTIMAL, PROMISE, Answers, Outcome, cheapest_class, is_close, rival_weights, solve_each
from fcca.milp._places import Offers, Places
from fcca.milp._rule_rows import ROOM, RulesBetween
from fcca.milp._tree_program import Reach, Rows, TreeProgram, Trees, program_for
from fcca.models import TreeEnsemble

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Progress = Callable[[int], None]

BEYOND_ANY_SCORE = 1e300  # the boundary of a classifier that answers one class only may be infinite


class HighsAnswer(NamedTuple):
    """Result of HiGHS for one program."""

    bound: float  # proven for all answers that are not forbidden
    nodes: int
    chosen: Longs | None  # per unit, the place
    nothing_left: bool = False  # proven that there is no answer


class TreeAim:
    """The aim that one class wins by a margin."""

    def __init__(self, trees: Trees, target: int, margin: float) -> None:
        self.trees, self.target, self.margin = trees, target, margin
        model = trees.model
        self.weights = rival_weights(model.n_outputs, target)
        self.boundary = 0.0
        if model.n_outputs == 1:
            self.boundary = float(np.clip(model.boundary, -BEYOND_ANY_SCORE, BEYOND_ANY_SCORE))

    def leads(self, scores: Floats) -> Floats:
        """Leads of the class over its nearest rival, for rows of scores."""
        if scores.shape[1] == 1:
            only: Floats = self.weights[0, 0] * (scores[:, 0] - self.boundary)
            return only
        lead: Floats = scores[:, self.target] - np.delete(scores, self.target, axis=1).max(axis=1)
        return lead

    def is_met(self, row: Floats) -> bool:
        """True if the row wins by the margin."""
        return bool(self.leads(self.trees.scores(row[None, :]))[0] >= self.margin)

    def program(self, reach: Reach, rules: RulesBetween) -> TreeProgram | None:
        """Build the program for this aim; None if it is out of reach."""
        needed = self.margin + self.weights.sum(axis=1) * self.boundary
        return program_for(self.trees, reach, self.weights, needed, rules)


class TreeSearch:
    """Cheapest changes of one ensemble, point by point."""

    def __init__(self, model: TreeEnsemble, offers: Offers) -> None:
        self.model, self.offers = model, offers
        self.trees = Trees(model)
        self.rules = RulesBetween(offers.limits)

    def reach(self, i: int, row: Floats) -> Reach | None:
        """Places and leaves that the i-th point can move to; None where they are too many for a program."""
        reach = self.trees.reach(self.offers.of(i, row))
        return None if reach is None else reach.without_doubles(self.rules.columns)

    def solve(self, reach: Reach, own_class: int, target: int, margin: float, deadline: float) -> Outcome:
        """Cheapest change to the target, or to any class but the own one."""
        scores = self.trees.scores(reach.places.x0[None, :])[0]
        return cheapest_class(
            scores,
            own_class,
            target,
            lambda k, cutoff: self._towards(TreeAim(self.trees, k, margin), reach, cutoff, deadline),
        )

    def _towards(self, aim: TreeAim, reach: Reach, cutoff: float, deadline: float) -> Outcome:
        """Cheapest change to one class; infeasible also where every change costs more than ``cutoff``."""
        best = Outcome()
        if aim.is_met(reach.places.x0):
            return Outcome(OPTIMAL, 0.0)
        if time.monotonic() >= deadline:
            return best
        greedy = self._greedy(aim, reach, deadline)
        if greedy is not None and reach.places.total(greedy) <= cutoff:
            _offer(best, reach.places, greedy)
        # No part of an answer costs more than the cheapest one known, whichever class it is for.
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

    # --- answers of HiGHS -------------------------------------------------------------------------------------------------

    def _improve(self, best: Outcome, program: TreeProgram, aim: TreeAim, deadline: float) -> None:
        """Ask HiGHS until its bound reaches the cheapest answer, or time is up."""
        places, n_good = program.reach.places, 0
        forbidden: list[Rows] = []
        for answer in _answers(program, forbidden, deadline):
            best.nodes += answer.nodes
            # HiGHS is not believed that there is nothing where the greedy run found something.
            if answer.nothing_left and (n_good or best.cost == np.inf):
                best.bound = np.inf
            best.bound = max(best.bound, answer.bound)
            if answer.chosen is not None:
                cheapest, others = self._judged(program, aim, answer.chosen)
                forbidden.append(others)
                if cheapest is not None:
                    n_good += 1
                    for chosen in (cheapest, self._pulled_back(aim, places, cheapest)):
                        _offer(best, places, chosen)
            if best.cost < np.inf and is_close(best.bound, best.cost):
                return

    def _judged(self, program: TreeProgram, aim: TreeAim, chosen: Longs) -> tuple[Longs | None, Rows]:
        """Judge an answer and all settled with it: the cheapest or None, and a row against them."""
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
        """Columns of a rule broken at these places."""
        return self.rules.broken(places.x0, places.row(chosen), int(np.count_nonzero(chosen != places.own)))

    # --- answers without HiGHS --------------------------------------------------------------------------------------------

    def _greedy(self, aim: TreeAim, reach: Reach, deadline: float) -> Longs | None:
        """Move the unit that gains most per cost until the aim is met; None if it fails."""
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
        """Move each unit to its cheapest place that still meets the aim and the rules."""
        chosen = chosen.copy()
        for u in np.flatnonzero(chosen != places.own):
            near = places.first[u] + places.units[u].nearness
            tried = np.repeat(chosen[None, :], np.flatnonzero(near == chosen[u])[0] + 1, axis=0)
            tried[:, u] = near[: len(tried)]
            met = aim.leads(self.trees.scores(np.array([places.row(one) for one in tried]))) >= aim.margin
            chosen = next((one for one in tried[met] if self._broken(places, one) is None), chosen)
        return chosen


def _offer(best: Outcome, places: Places, chosen: Longs) -> None:
    """Keep the places as the answer if they are cheaper."""
    cost = places.total(chosen)
    if cost < best.cost:
        row = places.row(chosen)
        feature = np.flatnonzero((row != places.x0) & ~np.isnan(row))
        best.cost, best.moves = cost, tuple(zip(feature.tolist(), row[feature].tolist(), strict=True))


def _answers(program: TreeProgram, forbidden: list[Rows], deadline: float) -> Iterator[HighsAnswer]:
    """Ask HiGHS repeatedly; the caller appends forbidden rows between the answers."""
    n_steps, n_others = program.n_steps, program.n_leaves + program.rules.n_columns
    if n_steps == 0:
        yield HighsAnswer(0.0, 0, None, nothing_left=True)
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
        answer = ask_highs(settings, constraints, deadline)
        if answer is None:
            return
        nodes = int(answer.mip_node_count or 0)
        bound = 0.0 if answer.mip_dual_bound is None else max(0.0, answer.mip_dual_bound / price_unit)
        if answer.x is None:
            yield HighsAnswer(bound if np.isfinite(bound) else 0.0, nodes, None, nothing_left=answer.status == NOTHING)
            return
        yield HighsAnswer(bound, nodes, program.chosen(answer.x[:n_steps] > 0.5))
        if answer.status != SOLVED:
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
    """Find the cheapest changes by mixed-integer programming, point by point.

    Parameters
    ----------
    model : TreeEnsemble
    cells : Cells
        The cells between the model's cuts, and between those that rules want, with the training rows observed.
    rows : ndarray of shape (n_rows, n_features)
        Missing values are NaN, in columns of categories too.
    points : ndarray of shape (n_points,)
        Which rows are asked about.
    own_class, target : ndarray of shape (n_points,)
        Positions in ``model.classes``; a target of -1 is whichever other class is the cheapest.
    margin : ndarray of shape (n_points,)
        By how much of the score the target must win.
    lambda0, lambda1, lambda2 : float
        Costs per feature moved, per distance and per squared distance.
    limits : Limits, optional
        Rules, one line per point where they differ from point to point.
    training : TrainingValues, optional
        Of the training rows; needed where numbers may be filled in and where columns switch as a group.
    time_limit, time_limit_per_row : float
        Seconds for all points and for each.
    progress : callable or None
        Told the number of points done after each.

    Returns
    -------
    Answers
        The cut of a move is the one crossed last; NaN for categories, fillings and switches of several columns.
    """
    lambdas = (lambda0, lambda1, lambda2)
    offers = Offers(cells, lambdas, Limits() if limits is None else limits, training or TrainingValues())
    search, table = TreeSearch(model, offers), rows[points]

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
