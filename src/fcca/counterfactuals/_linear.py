"""Cheapest changes of points of a linear model: by the fixed-charge search where that will do, else by a program."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.constraints._limits import Limits
from fcca.counterfactuals._cells import Cells
from fcca.counterfactuals._linear_many import beat_own_class
from fcca.counterfactuals._linear_program import Task
from fcca.counterfactuals._linear_search import ANY_OTHER_CLASS, INFEASIBLE, OPTIMAL, LinearSearch, Outcome
from fcca.counterfactuals._space import core_limits
from fcca.counterfactuals._training_values import TrainingValues
from fcca.exceptions import UnsupportedModelError
from fcca.models import LinearModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Progress = Callable[[int], None]
Results = tuple[Any, ...]

MOST_COMBINATIONS = 4_096  # of categories, for one point
ROWS_AT_ONCE = 65_536


def solve_linear(
    model: LinearModel,
    cells: Cells,
    observed: TrainingValues,
    limits: Limits,
    boundary: float,
    *,
    rows: Floats,
    points: NDArray[np.int64],
    own_class: NDArray[np.int32],
    target: NDArray[np.int32],
    margin: Floats,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    time_limit: float,
    time_limit_per_point: float,
    n_threads: int,
    progress: Progress | None,
) -> Results:
    """Cheapest changes of points of a linear model, each by the fastest way there is for it.

    Parameters
    ----------
    model : LinearModel
    cells : Cells
        For the box of the training rows.
    observed : TrainingValues
        Of the training rows.
    limits : Limits
        One line per point.
    boundary : float
        The largest score of the first class, for models with one score.
    rows : ndarray of shape (n_rows, n_features)
    points : ndarray of shape (n_points,)
        Which rows are asked about.
    own_class, target : ndarray of shape (n_points,)
        Positions in ``model.classes``; a target of -1 is whichever other class is the cheapest.
    margin : ndarray of shape (n_points,)
        By how much of the score the target must win.
    lambda0, lambda1, lambda2 : float
        Costs per feature moved, per distance and per squared distance.
    time_limit, time_limit_per_point : float
        Seconds for all points and for each.
    n_threads : int
        For the points that need no program.
    progress : callable or None
        Told the number of points done.

    Returns
    -------
    tuple of ndarray
        cost, bound, status (0 optimal, 1 feasible, 2 infeasible, 3 unknown), target, nodes, first_move, and per move its
        feature, its landing and again its landing (NaN for categories); then the seconds per point.
    """
    table = rows[points]
    # What is cheapest without the rules between columns, and keeps them, is cheapest with them.
    relaxed = replace(limits, max_changes=None, linear=(), implications=())
    between = limits.max_changes is not None or bool(limits.linear or limits.implications)
    plain = _plain_points(model, relaxed, table)
    if lambda2 > 0 and (model.effects or not _plain_points(model, limits, table).all()):
        raise UnsupportedModelError(
            f"lambda2 = {lambda2:g} was given, but squared distances are only searched for linear models with two classes "
            "and columns of numbers, under rules that are bounds around the present value, costs and columns that stay. Use "
            "lambda2=0."
        )
    began = time.monotonic()
    settings: dict[str, Any] = {
        "lambda0": lambda0, "lambda1": lambda1, "lambda2": lambda2, "time_limit_per_point": time_limit_per_point,
        "n_threads": n_threads,
    }  # fmt: skip
    parts = []
    any_other = np.flatnonzero(target == ANY_OTHER_CLASS) if model.n_outputs > 1 else np.empty(0, dtype=np.intp)
    if len(any_other):

        def solve_pair(pair: LinearModel, which: NDArray[np.intp], left: float) -> Results:
            mine = any_other[which]
            return solve_linear(
                pair, cells, observed, limits.of_points(mine), 0.0,
                rows=table, points=mine, own_class=np.zeros(len(mine), dtype=np.int32),
                target=np.ones(len(mine), dtype=np.int32), margin=margin[mine], time_limit=left, progress=None, **settings,
            )  # fmt: skip

        certain, found = beat_own_class(
            model, table[any_other], own_class[any_other], margin[any_other], time_limit, solve_pair
        )
        parts.append((any_other[certain], _selected(found, certain)))
        plain[any_other[certain]] = True
        if progress is not None and certain.any():
            progress(int(certain.sum()))
    reached = np.where(target == ANY_OTHER_CLASS, 1 - own_class, target)
    if model.n_outputs == 1 and plain.any():
        numbers = _Numbers(
            model, cells, boundary, **settings,
        )  # fmt: skip
        which = np.flatnonzero(plain)
        found = numbers.solve(
            table[which], relaxed.of_points(which), own_class[which], reached[which], margin[which], time_limit,
            None if between or model.effects else progress,
        )  # fmt: skip
        if model.effects:
            task = Task(model, cells.box_low, cells.box_high, observed, relaxed, lambda0, lambda1)
            tried = _with_categories(task, numbers, found, table, which, own_class, reached, margin, began + time_limit)
            plain[which] = [outcome is not None for outcome in tried]
            which = np.flatnonzero(plain)
            found = _results([outcome for outcome in tried if outcome is not None], model)
        if between:
            kept = _keeps_rules(limits, table[which], found)
            plain[which] = kept
            which, found = which[kept], _selected(found, kept)
        parts.append((which, found))
        if progress is not None and len(which):
            progress(len(which))
    hard = np.flatnonzero(~plain)
    if len(hard) or not len(points):
        search = LinearSearch(Task(model, cells.box_low, cells.box_high, observed, limits, lambda0, lambda1), boundary)
        outcomes = []
        for done, i in enumerate(hard.tolist()):
            start = time.monotonic()
            deadline = min(began + time_limit, start + time_limit_per_point)
            outcome = search.solve(i, table[i], int(own_class[i]), int(target[i]), float(margin[i]), deadline)
            outcome.seconds = time.monotonic() - start
            outcomes.append(outcome)
            if progress is not None:
                progress(len(points) - len(hard) + done + 1)
        parts.append((hard, _results(outcomes, model)))
    return _merged(parts)


def _plain_points(model: LinearModel, limits: Limits, table: Floats) -> Bools:
    """Points whose numbers the fixed-charge search can do: two classes, and rules that only end the numbers' ways."""
    between = limits.max_changes is not None or limits.linear or limits.implications or limits.groups
    on_grid = limits.step is not None and bool(limits.step.any())
    if model.n_outputs > 1 or between or on_grid:
        return np.zeros(len(table), dtype=np.bool_)
    hard: Any = np.isnan(table) & (False if limits.fillable is None else limits.fillable)
    if limits.low is not None:
        hard = hard | (limits.low > table)
    if limits.high is not None:
        hard = hard | (limits.high < table)
    if limits.frozen is not None:
        hard = hard & ~limits.frozen
    hard[:, list(model.effects)] = False
    plain: Bools = ~hard.any(axis=1)
    return plain


def _keeps_rules(limits: Limits, table: Floats, found: Results) -> Bools:
    """Which answers keep the rules between columns; where there is none at all, there is none that keeps them either."""
    status, first_move = found[2], found[5]
    point = np.repeat(np.arange(len(table)), np.diff(first_move))
    after, moved = table.copy(), np.zeros(table.shape, dtype=np.bool_)
    after[point, found[6]], moved[point, found[6]] = found[7], True
    kept: Any = np.ones(len(table), dtype=np.bool_)
    if limits.max_changes is not None:
        kept &= np.diff(first_move) <= limits.max_changes
    for rule in limits.linear:
        features = list(rule.coefficients)
        total = sum(a * after[:, j] for j, a in rule.coefficients.items())
        kept &= ~moved[:, features].any(axis=1) | ~(total > rule.upper)
    for implication in limits.implications:
        j = implication.feature
        # Whether the other one goes far enough is left to the program.
        kept &= ~(after[:, j] > table[:, j] if implication.rises else after[:, j] < table[:, j])
    keeps: Bools = (kept & (status == OPTIMAL)) | (status == INFEASIBLE)
    return keeps


def _selected(found: Results, kept: Bools) -> Results:
    """Results of some of the points."""
    counts = np.diff(found[5])
    of_move = np.repeat(kept, counts)
    first_move = np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int64)
    per_point = [values[kept] for values in found[:5]]
    return (*per_point, first_move, *(values[of_move] for values in found[6:9]), found[9][kept])


class _Numbers:
    """The fixed-charge search for the numbers of a model with one score; gaps and categories stay as they are."""

    def __init__(self, model: LinearModel, cells: Cells, boundary: float, **settings: Any) -> None:
        self.model, self.cells, self.boundary, self.settings = model, cells, boundary, settings

    def solve(
        self,
        table: Floats,
        limits: Limits,
        own_class: NDArray[np.int32],
        target: NDArray[np.int32],
        margin: Floats,
        time_limit: float,
        progress: Progress | None,
    ) -> Results:
        """Cheapest changes of the rows of a table, one line of the limits and of all else for each."""
        model = self.model
        held = np.isnan(table)
        share = np.zeros(len(table))  # what stays adds to the score
        if held.any() and model.missing is not None:
            share += np.where(held, model.missing[:, 0], 0.0).sum(axis=1)
        for j, effect in model.effects.items():
            code = np.where(held[:, j], 0, table[:, j]).astype(np.intp)
            share += np.where(held[:, j], 0.0, effect[code, 0])
            held[:, j] = True
        if held.any():
            limits = replace(limits, frozen=held if limits.frozen is None else held | limits.frozen)
            table = np.where(held, model.centre, table)
        found: Results = _core.solve_linear(
            **self.settings,
            rows=np.ascontiguousarray(table),
            points=np.arange(len(table), dtype=np.int64),
            own_class=own_class,
            target=target.astype(np.int32),
            margin=margin - np.where(target == 1, share, -share),
            time_limit=time_limit,
            progress=progress,
            limits=core_limits(self.cells, replace(limits, fillable=None, moves={}), (), None),
            box_low=self.cells.box_low,
            box_high=self.cells.box_high,
            coef=model.coef[0],
            centre=model.centre,
            intercept=float(model.intercept[0] - self.boundary),
        )
        return found


# --- categories, where there is one score ---------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """A category that could be entered."""

    cost: float
    gain: float  # of score, towards the target
    feature: int
    code: int


def _entries(task: Task, j: int, held: float, sign: float) -> list[_Entry]:
    """Categories of a column that gain by being entered: each gains more than all that are cheaper."""
    entries = [_Entry(cost, sign * float(gain[0]), j, code) for code, cost, gain in task.category_moves(j, held)]
    kept: list[_Entry] = []
    for entry in sorted(entries, key=lambda entry: (entry.cost, -entry.gain, entry.code)):
        if entry.gain > (kept[-1].gain if kept else 0.0):
            kept.append(entry)
    return kept


def _combinations(entries: list[list[_Entry]], cutoff: float, needed: float) -> list[tuple[_Entry, ...]] | None:
    """Categories to enter together, below a cost, and no more of them than it takes; None where these are too many."""
    found: list[tuple[_Entry, ...]] = []
    begun: list[tuple[int, tuple[_Entry, ...], float, float]] = [(0, (), 0.0, 0.0)]
    while begun:
        at, chosen, cost, gain = begun.pop()
        for column in range(at, len(entries)):
            for entry in entries[column]:
                if cost + entry.cost >= cutoff:
                    break  # the others of the column cost no less
                found.append((*chosen, entry))
                if len(found) > MOST_COMBINATIONS:
                    return None
                if gain + entry.gain < needed:
                    begun.append((column + 1, found[-1], cost + entry.cost, gain + entry.gain))
    return sorted(found, key=lambda chosen: sum(entry.cost for entry in chosen))


def _with_categories(
    task: Task,
    numbers: _Numbers,
    found: Results,
    table: Floats,
    which: NDArray[np.intp],
    own_class: NDArray[np.int32],
    target: NDArray[np.int32],
    margin: Floats,
    deadline: float,
) -> list[Outcome | None]:
    """The cheapest changes of numbers alone, and with changes of categories; None where these are too many to try."""
    cost, bound, status, _, nodes, first_move, feature, landing, _, seconds = found
    sign = np.where(target == 1, 1.0, -1.0)
    needed = margin - sign * (task.model.scores(table)[:, 0] - numbers.boundary)
    tried: list[tuple[int, tuple[_Entry, ...]]] = []
    outcomes: list[Outcome | None] = []
    known: dict[tuple[Any, ...], list[_Entry]] = {}
    for at, i in enumerate(which.tolist()):
        moves = range(first_move[at], first_move[at + 1])
        outcome = Outcome(
            int(status[at]), float(cost[at]), float(bound[at]), int(target[i]), int(nodes[at]),
            tuple((int(feature[move]), float(landing[move])) for move in moves), float(seconds[at]),
        )  # fmt: skip
        outcomes.append(outcome)
        if outcome.cost == 0:
            continue
        entries = []
        for j in task.model.effects:
            key = (j, "" if np.isnan(table[i, j]) else float(table[i, j]), float(sign[i]))
            if key not in known:
                known[key] = _entries(task, j, float(table[i, j]), float(sign[i]))
            if known[key] and (task.limits.frozen is None or not task.limits.frozen[i, j]):
                entries.append(known[key])
        combinations = _combinations(entries, outcome.cost, float(needed[i]))
        if combinations is None:
            outcomes[-1] = None
        else:
            tried += [(at, chosen) for chosen in combinations]
    for begin in range(0, len(tried), ROWS_AT_ONCE):
        some = tried[begin : begin + ROWS_AT_ONCE]
        lines = which[[at for at, _ in some]]
        rows = table[lines]
        for row, (_, chosen) in zip(rows, some, strict=True):
            for entry in chosen:
                row[entry.feature] = entry.code
        left = max(0.0, deadline - time.monotonic())
        limits = task.limits.of_points(lines)
        more = numbers.solve(rows, limits, own_class[lines], target[lines], margin[lines], left, None)
        for k, (at, chosen) in enumerate(some):
            best = outcomes[at]
            assert best is not None
            spent = sum(entry.cost for entry in chosen)
            best.bound, best.nodes = min(best.bound, float(more[1][k]) + spent), best.nodes + int(more[4][k])
            best.seconds += float(more[9][k])
            if float(more[0][k]) + spent < best.cost:
                best.cost = float(more[0][k]) + spent
                moves = range(more[5][k], more[5][k + 1])
                moved = [(int(more[6][move]), float(more[7][move])) for move in moves]
                best.moves = tuple(sorted([*moved, *((entry.feature, float(entry.code)) for entry in chosen)]))
    for one in outcomes:
        if one is not None:
            one.close()
    return outcomes


def _results(outcomes: list[Outcome], model: LinearModel) -> Results:
    """Outcomes as the searches of the core give them."""
    moves = [move for outcome in outcomes for move in outcome.moves]
    feature = np.array([j for j, _ in moves], dtype=np.int32)
    landing = np.array([value for _, value in moves], dtype=np.float64)
    return (
        np.array([o.cost for o in outcomes], dtype=np.float64),
        np.array([o.bound for o in outcomes], dtype=np.float64),
        np.array([o.status for o in outcomes], dtype=np.int8),
        np.array([o.target for o in outcomes], dtype=np.int32),
        np.array([o.nodes for o in outcomes], dtype=np.int64),
        np.cumsum([0, *(len(o.moves) for o in outcomes)]).astype(np.int64),
        feature,
        landing,
        np.where(np.isin(feature, list(model.effects)), np.nan, landing),
        np.array([o.seconds for o in outcomes], dtype=np.float64),
    )


def _merged(parts: list[tuple[NDArray[np.intp], Results]]) -> Results:
    """Results of parts of the points as one, in the order of the points."""
    if len(parts) == 1:
        return parts[0][1]
    place = np.concatenate([which for which, _ in parts])
    order = np.argsort(place)
    cost, bound, status, target, nodes, _, feature, landing, cut, seconds = (
        np.concatenate([found[at] for _, found in parts]) for at in range(10)
    )
    counts = np.concatenate([np.diff(found[5]) for _, found in parts])
    of_move = np.argsort(np.repeat(place, counts), kind="stable")
    first_move = np.concatenate([[0], np.cumsum(counts[order])]).astype(np.int64)
    per_point = [values[order] for values in (cost, bound, status, target, nodes)]
    return (*per_point, first_move, feature[of_move], landing[of_move], cut[of_move], seconds[order])
