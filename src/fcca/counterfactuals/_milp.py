"""The engine of last resort: any tree ensemble by a mixed-integer program on HiGHS.

HiGHS takes a row for kept that is violated by 1e-6 and a number for whole that is 1e-6 off, and stops at a gap of 1e-6, all
absolute. Rows and objective are therefore scaled up; and because that alone proves nothing, every answer is rounded to
cells, pulled back towards x0 as far as the margin allows, and its score and its cost are computed again in float64. Where
it misses the margin, or the bound of HiGHS lies below its cost by more than the promise, it is forbidden together with all
that stand in the same leaves, and the program is solved again. Those either miss the margin too or cost no less, so that the
bound on what is left and the cheapest answer found make a proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint

from fcca.counterfactuals._cells import Cells
from fcca.counterfactuals._highs import solve_program
from fcca.counterfactuals._milp_program import Forest, Program, Reach, ranges, reach_of
from fcca.models import TreeEnsemble

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Progress = Callable[[int], None]

OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN = range(4)
ANY_OTHER_CLASS = -1
OBJECTIVE_SCALE = 1e4
ROW_SCALE = 1e3
PROMISE = 1e-9  # optimal means as near as this to the least cost, relative where costs are large
MOST_ATTEMPTS = 100
ROWS_AT_ONCE = 4096  # of cells to be scored, to keep the table of leaves small


def _is_close(bound: float, cost: float) -> bool:
    return cost - bound <= PROMISE * max(1.0, cost)


@dataclass
class Outcome:
    """What is known about one point, or about one point and one class."""

    status: int = UNKNOWN
    cost: float = np.inf
    bound: float = 0.0
    target: int = -1
    nodes: int = 0
    chosen: Longs | None = None  # per feature, the cell
    seconds: float = 0.0

    def offer(self, chosen: Longs, cost: float) -> None:
        """Take an answer if it is cheaper."""
        if cost < self.cost:
            self.cost, self.chosen = cost, chosen


class Answer(NamedTuple):
    """What HiGHS says about one program."""

    bound: float  # proven for all answers that are not forbidden
    nodes: int
    chosen: Longs | None  # per feature, the cell
    nothing_left: bool = False  # proven that there is no answer


class Aim:
    """That one class wins by a margin."""

    def __init__(self, forest: Forest, target: int, margin: float) -> None:
        self.forest, self.target, self.margin = forest, target, margin
        n_outputs = forest.model.n_outputs
        if n_outputs == 1:
            self.weights = np.array([[1.0 if target == 1 else -1.0]])
            self.offset = -self.weights[:, 0] * forest.model.boundary
        else:
            self.weights = np.delete(np.eye(n_outputs)[target] - np.eye(n_outputs), target, axis=0)
            self.offset = np.zeros(n_outputs - 1)

    def leads(self, chosen: Longs) -> Floats:
        """By how much the class leads its nearest rival, for rows of cells."""
        pieces = [self._leads(chosen[begin : begin + ROWS_AT_ONCE]) for begin in range(0, len(chosen), ROWS_AT_ONCE)]
        return np.concatenate(pieces)

    def _leads(self, chosen: Longs) -> Floats:
        scores = self.forest.scores(chosen)
        if scores.shape[1] == 1:
            only: Floats = self.weights[0, 0] * (scores[:, 0] - self.forest.model.boundary)
            return only
        lead: Floats = scores[:, self.target] - np.delete(scores, self.target, axis=1).max(axis=1)
        return lead

    def is_met(self, chosen: Longs) -> bool:
        """Whether one row of cells wins by the margin."""
        return bool(self.leads(chosen[None, :])[0] >= self.margin)

    def program(self, reach: Reach) -> Program | None:
        """The program for this aim, None where it is out of reach."""
        return self.forest.program(reach, self.weights, self.margin - self.offset)


class MilpSearch:
    """Cheapest changes of one ensemble, point by point."""

    def __init__(self, model: TreeEnsemble, cells: Cells, lambdas: tuple[float, float, float]) -> None:
        self.model, self.cells, self.lambdas = model, cells, lambdas
        self.forest = Forest(model, cells)

    def reach(self, row: Floats, frozen: Booleans | None) -> Reach:
        """Cells that a row can move to."""
        return reach_of(self.cells, row, frozen, self.lambdas)

    def solve(self, reach: Reach, own_class: int, target: int, margin: float, deadline: float) -> Outcome:
        """Cheapest change to the target, or to any class but the own one."""
        best, open_bound = Outcome(status=INFEASIBLE), np.inf
        for k in self._targets(reach, own_class, target):
            outcome = self._towards(Aim(self.forest, k, margin), reach, best.cost, deadline)
            best.nodes += outcome.nodes
            if outcome.status in (FEASIBLE, UNKNOWN):
                open_bound = min(open_bound, outcome.bound)
            if outcome.cost < best.cost:
                best.cost, best.target, best.chosen = outcome.cost, k, outcome.chosen
        best.bound = min(open_bound, best.cost)
        if best.chosen is None:
            best.status = INFEASIBLE if open_bound == np.inf else UNKNOWN
        elif _is_close(best.bound, best.cost):
            best.status, best.bound = OPTIMAL, best.cost
        else:
            best.status = FEASIBLE
        return best

    def _targets(self, reach: Reach, own_class: int, target: int) -> list[int]:
        """Classes to try, the one that is closest to winning first: its cost shortens the search for the others."""
        if target != ANY_OTHER_CLASS:
            return [target]
        if self.model.n_outputs == 1:
            return [1 - own_class]
        scores = self.forest.scores(reach.own[None, :])[0]
        return [int(k) for k in np.argsort(-scores, kind="stable") if k != own_class]

    def _towards(self, aim: Aim, reach: Reach, cutoff: float, deadline: float) -> Outcome:
        """Cheapest change to one class; infeasible also where every change costs more than ``cutoff``."""
        best = Outcome(target=aim.target)
        if aim.is_met(reach.own):
            best.offer(reach.own, 0.0)
            best.status = OPTIMAL
            return best
        if time.monotonic() >= deadline:
            return best
        greedy = self._greedy(aim, reach, deadline)
        if greedy is not None and self._cost(reach, greedy) <= cutoff:
            best.offer(greedy, self._cost(reach, greedy))
        # No part of an answer costs more than the cheapest one known, whichever class it is for.
        known = min(cutoff, best.cost)
        if known < np.inf:
            reach = reach.up_to(self.cells, known * (1 + PROMISE))
        program = aim.program(reach)
        if program is None:
            best.bound = np.inf
        else:
            self._improve(best, program, aim, reach, deadline)
        if best.chosen is None:
            best.status = INFEASIBLE if best.bound == np.inf else UNKNOWN
        else:
            best.bound = min(best.bound, best.cost)
            best.status = OPTIMAL if _is_close(best.bound, best.cost) else FEASIBLE
        return best

    def _improve(self, best: Outcome, program: Program, aim: Aim, reach: Reach, deadline: float) -> None:
        """Answers of HiGHS until the bound on those that are left reaches the cheapest, or time is up."""
        n_met = 0
        for answer in self._answers(program, reach, deadline):
            best.nodes += answer.nodes
            # HiGHS is not believed that there is nothing where the greedy run found something.
            if answer.nothing_left and (n_met or best.chosen is None):
                best.bound = np.inf
            best.bound = max(best.bound, answer.bound)
            if answer.chosen is not None and aim.is_met(answer.chosen):
                n_met += 1
                chosen = self._pulled_back(aim, reach, answer.chosen)
                best.offer(chosen, self._cost(reach, chosen))
            if best.chosen is not None and _is_close(best.bound, best.cost):
                return

    def _answers(self, program: Program, reach: Reach, deadline: float) -> Iterator[Answer]:
        """What HiGHS says, again and again with its last answers forbidden."""
        n_cuts, n_leaves = len(program.price), len(program.leaf)
        price_unit = OBJECTIVE_SCALE / max(program.price.max(), 1e-300)
        row_unit = ROW_SCALE / program.gains.max(axis=0).clip(1e-300)
        score = np.hstack([np.zeros((len(program.needed), n_cuts)), (program.gains * row_unit).T])
        constraints = [
            LinearConstraint(*program.rows),
            LinearConstraint(score, program.needed * row_unit, np.inf),
        ]
        settings: dict[str, Any] = {
            "c": np.concatenate([program.price * price_unit, np.zeros(n_leaves)]),
            "integrality": np.repeat([1, 0], [n_cuts, n_leaves]),
            "bounds": Bounds(0, 1),
        }
        for _ in range(MOST_ATTEMPTS):
            for presolve in (True, False):  # now and then HiGHS fails on what its presolve leaves
                options = {"mip_rel_gap": 0.0, "presolve": presolve}
                left = deadline - time.monotonic()
                if left <= 0:
                    return
                if left < np.inf:
                    options["time_limit"] = left
                answer = solve_program(constraints=constraints, options=options, **settings)
                if answer.status in (0, 1, 2):
                    break
            nodes = int(answer.mip_node_count or 0)
            bound = 0.0 if answer.mip_dual_bound is None else max(0.0, answer.mip_dual_bound / price_unit)
            if answer.x is None:
                yield Answer(bound if np.isfinite(bound) else 0.0, nodes, None, nothing_left=answer.status == 2)
                return
            chosen = self._cells_of(program, reach, answer.x[:n_cuts] > 0.5)
            yield Answer(bound, nodes, chosen)
            if answer.status != 0:
                return
            constraints.append(self._forbidden(program, chosen))

    def _forbidden(self, program: Program, chosen: Longs) -> LinearConstraint:
        """Not all of the leaves that these cells are in: one of the cuts around them must be on its other side."""
        leaves = np.isin(program.leaf, self.forest.leaves(chosen[None, :])[0])
        crossings, row = program.crossings, np.zeros(len(program.price) + len(program.leaf))
        for bounds, is_behind in ((program.behind, True), (program.before, False)):
            cut = np.unique(bounds.cut[leaves[bounds.leaf]])
            owner = np.searchsorted(self.cells.first_cut, cut, side="right") - 1
            # Of several cuts on one side of the same feature the nearest decides.
            nearest = np.append(owner[1:] != owner[:-1], True) if is_behind else np.append(True, owner[1:] != owner[:-1])
            place = np.searchsorted(crossings.cut, cut[nearest[: len(cut)]])
            row[place] = np.where(crossings.upwards[place] == is_behind, 1.0, -1.0)
        return LinearConstraint(row, -np.inf, np.count_nonzero(row > 0) - 1)

    def _cells_of(self, program: Program, reach: Reach, crossed: Booleans) -> Longs:
        """The cells that crossing these cuts leads to: right behind the last one."""
        chosen = reach.own.copy()
        cut, owner, upwards = program.crossings
        cell = cut - self.cells.first_cut[owner] + upwards
        # Crossings upwards stand in rising order, so the last one written is the farthest; the others the other way round.
        for at in (np.flatnonzero(crossed & upwards), np.flatnonzero(crossed & ~upwards)[::-1]):
            chosen[owner[at]] = cell[at]
        return chosen

    def _cost(self, reach: Reach, chosen: Longs) -> float:
        return float(sum(reach.cost[self.cells.first_cell[:-1] + chosen].tolist()))

    def _options(self, reach: Reach) -> tuple[Longs, Longs]:
        """Features and cells of all single moves."""
        length = reach.highest - reach.lowest + 1
        feature = np.repeat(np.arange(len(length)), length)
        return feature, ranges(reach.lowest, length)

    def _greedy(self, aim: Aim, reach: Reach, deadline: float) -> Longs | None:
        """Some cells that meet the aim, by moving the feature that gains most for its cost until they do; or none."""
        feature, cell = self._options(reach)
        cost = reach.cost[self.cells.first_cell[feature] + cell]
        chosen, lead = reach.own.copy(), aim.leads(reach.own[None, :])[0]
        while lead < aim.margin:
            if time.monotonic() >= deadline:
                return None
            moved = np.repeat(chosen[None, :], len(feature), axis=0)
            moved[np.arange(len(feature)), feature] = cell
            leads = aim.leads(moved)
            gain = np.minimum(leads, aim.margin) - lead
            if not gain.max() > 0:
                return None
            extra = cost - reach.cost[self.cells.first_cell[feature] + chosen[feature]]
            worth = np.where(gain > 0, gain / np.maximum(extra, 1e-12 * (1 + cost.max())), -np.inf)
            best = int(np.argmax(worth))
            chosen, lead = moved[best], leads[best]
        return self._pulled_back(aim, reach, chosen)

    def _pulled_back(self, aim: Aim, reach: Reach, chosen: Longs) -> Longs:
        """The same cells, each moved back towards x0 as far as the aim stays met."""
        chosen = chosen.copy()
        for j in np.flatnonzero(chosen != reach.own):
            step = 1 if chosen[j] > reach.own[j] else -1
            nearer = np.arange(reach.own[j], chosen[j] + step, step)
            tried = np.repeat(chosen[None, :], len(nearer), axis=0)
            tried[:, j] = nearer
            chosen[j] = nearer[np.argmax(aim.leads(tried) >= aim.margin)]
        return chosen


def solve_milp(
    *,
    model: TreeEnsemble,
    cells: Cells,
    rows: Floats,
    points: Longs,
    own_class: NDArray[np.int32],
    target: NDArray[np.int32],
    margin: Floats,
    frozen: Booleans | None,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    time_limit: float = np.inf,
    time_limit_per_point: float = np.inf,
    progress: Progress | None = None,
) -> tuple[NDArray[Any], ...]:
    """Cheapest changes by mixed-integer programming, one point after the other.

    Parameters
    ----------
    model : TreeEnsemble
    cells : Cells
        The cells between the model's cuts, with the training rows observed.
    rows : ndarray of shape (n_rows, n_features)
    points : ndarray of shape (n_points,)
        Which rows are asked about.
    own_class, target : ndarray of shape (n_points,)
        Positions in ``model.classes``; a target of -1 is whichever other class is the cheapest.
    margin : ndarray of shape (n_points,)
        By how much of the score the target must win.
    frozen : ndarray of shape (n_points, n_features) or None
        Features that may not move.
    lambda0, lambda1, lambda2 : float
        Costs per feature moved, per distance and per squared distance.
    time_limit, time_limit_per_point : float
        Seconds for all points and for each.
    progress : callable or None
        Told the number of points done after each.

    Returns
    -------
    tuple of ndarray
        cost, bound, status (0 optimal, 1 feasible, 2 infeasible, 3 unknown), target (-1: none), nodes, first_move, and per
        move its feature, landing and the cut crossed last; then the seconds per point.
    """
    search = MilpSearch(model, cells, (lambda0, lambda1, lambda2))
    began = time.monotonic()
    outcomes, moves = [], []
    for i, point in enumerate(points.tolist()):
        start = time.monotonic()
        reach = search.reach(rows[point], None if frozen is None else frozen[i])
        deadline = min(began + time_limit, start + time_limit_per_point)
        outcome = search.solve(reach, int(own_class[i]), int(target[i]), float(margin[i]), deadline)
        moves.append(_moves(cells, reach, outcome))
        outcome.seconds = time.monotonic() - start
        outcomes.append(outcome)
        if progress is not None:
            progress(i + 1)
    first_move = np.cumsum([0, *(len(features) for features, _, _ in moves)])
    nothing = (np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))  # for when there are no points
    feature, landing, cut = (np.concatenate(parts) for parts in zip(nothing, *moves, strict=True))
    return (
        np.array([o.cost for o in outcomes], dtype=np.float64),
        np.array([o.bound for o in outcomes], dtype=np.float64),
        np.array([o.status for o in outcomes], dtype=np.int8),
        np.array([o.target for o in outcomes], dtype=np.int32),
        np.array([o.nodes for o in outcomes], dtype=np.int64),
        first_move.astype(np.int64),
        feature.astype(np.int32),
        landing,
        cut,
        np.array([o.seconds for o in outcomes], dtype=np.float64),
    )


def _moves(cells: Cells, reach: Reach, outcome: Outcome) -> tuple[Longs, Floats, Floats]:
    """Feature, landing and the cut crossed last of every move, by feature."""
    if outcome.chosen is None:
        return np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
    feature = np.flatnonzero(outcome.chosen != reach.own)
    cell = outcome.chosen[feature]
    last = cells.first_cut[feature] + cell - (cell > reach.own[feature])
    return feature, reach.landing[cells.first_cell[feature] + cell], cells.cuts[last]
