"""Counterfactuals of linear models, by a fixed-charge search or a MILP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.cells import Cells, Distances, TrainingValues
from fcca.constraints import Limits
from fcca.counterfactuals._batch import Batch
from fcca.counterfactuals._linear_pairs import beat_own_class
from fcca.counterfactuals._search_space import core_limits
from fcca.exceptions import UnsupportedModelError
from fcca.milp import ANY_OTHER_CLASS, INFEASIBLE, OPTIMAL, Answers, LinearSearch, Outcome, Task, solve_each
from fcca.models import LinearModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Positions = NDArray[np.intp]

MOST_COMBINATIONS = 4_096  # combinations of categories for one point
ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class LinearSolver:
    """Finds the cheapest changes for a linear model.

    Rows are solved by the fixed-charge search where it applies. A mixed-integer program solves the remaining rows.

    Attributes
    ----------
    model : LinearModel
    cells : Cells
        Used for the range of each column in the training rows, and for the units of distance.
    observed : TrainingValues
        Values of the training rows.
    boundary : float
        For a model with one score: rows with a score above the boundary belong to the second class.
    """

    model: LinearModel
    cells: Cells
    observed: TrainingValues
    boundary: float

    def solve(self, batch: Batch) -> Answers:
        """Find the counterfactuals of all rows of a batch.

        A linear model has no cuts. So the field ``cut`` of the result holds the new value of a changed number. For a changed
        category, ``cut`` is NaN.
        """
        batch = batch.of(np.arange(len(batch)))
        lambda2 = batch.problem.lambda2
        if lambda2 > 0 and (self.model.effects or not _plain_points(self.model, batch.limits, batch.rows).all()):
            raise UnsupportedModelError(
                f"lambda2={lambda2:g} is not supported for this linear model and these rules. For a linear model, a lambda2 "
                "above 0 requires two classes and numeric columns. The only rules allowed are costs, immutable columns, and "
                "bounds that include the current value. Use lambda2=0."
            )
        ends = time.monotonic() + batch.time_limit
        easy, found = self._any_other_class(batch) if self.model.n_outputs > 1 else self._without_rules_between(batch, ends)
        parts = [] if found is None else [(easy, found)]
        if batch.progress is not None and len(easy):
            batch.progress(len(easy))
        hard = np.setdiff1d(np.arange(len(batch)), easy)
        if len(hard) or not parts:
            parts.append((hard, self._by_programs(batch, hard, ends)))
        return Answers.joined(parts)

    @property
    def _distances(self) -> Distances:
        assert self.cells.distances is not None  # measured before the search
        return self.cells.distances

    def _task(self, batch: Batch) -> Task:
        box, problem = (self.cells.box_low, self.cells.box_high), batch.problem
        return Task(self.model, *box, self._distances, self.observed, batch.limits, problem.lambda0, problem.lambda1)

    def _cuts(self, point: NDArray[np.int64], feature: NDArray[np.int32], landing: Floats) -> Floats:
        return np.where(np.isin(feature, list(self.model.effects)), np.nan, landing)

    def _by_programs(self, batch: Batch, which: Positions, ends: float) -> Answers:
        """Find the counterfactuals of the points at the positions ``which`` by MILPs."""
        search, n_before, progress = LinearSearch(self._task(batch), self.boundary), len(batch) - len(which), batch.progress

        def solve(i: int, deadline: float) -> Outcome:
            own_class, target = int(batch.own_class[i]), int(batch.target[i])
            return search.solve(i, batch.rows[i], own_class, target, float(batch.margin[i]), deadline)

        outcomes = solve_each(
            which.tolist(),
            solve,
            ends=ends,
            time_limit_per_row=batch.time_limit_per_row,
            progress=None if progress is None else lambda done: progress(n_before + done),
        )
        return Answers.of(outcomes, self._cuts)

    def _any_other_class(self, batch: Batch) -> tuple[Positions, Answers | None]:
        """Find counterfactuals of points without a target class, with :func:`beat_own_class`.

        Returns the positions of the points whose result is valid, and these results.
        """
        which = np.flatnonzero(batch.target == ANY_OTHER_CLASS)
        if not len(which):
            return which, None

        def solve_pair(pair: LinearModel, mine: Batch) -> Answers:
            return replace(self, model=pair, boundary=0.0).solve(mine)

        certain, found = beat_own_class(self.model, batch.of(which), solve_pair)
        return which[certain], found.take(np.flatnonzero(certain))

    def _without_rules_between(self, batch: Batch, ends: float) -> tuple[Positions, Answers | None]:
        """Search without the rules between columns; keep results that obey these rules anyway.

        Returns the positions of the points whose result is kept, and these results.
        """
        limits, effects = batch.limits, self.model.effects
        relaxed, between = limits.without_rules_between(), limits.has_rules_between
        which = np.flatnonzero(_plain_points(self.model, relaxed, batch.rows))
        if not len(which):
            return which, None
        target = np.where(batch.target == ANY_OTHER_CLASS, 1 - batch.own_class, batch.target)
        progress = None if between or effects else batch.progress
        asked = replace(batch, limits=relaxed, target=target.astype(np.int32), progress=progress).of(which)
        found = self._by_numbers(asked)
        if effects:
            tried = self._with_categories(asked, found, ends)
            which = which[[outcome is not None for outcome in tried]]
            found = Answers.of([outcome for outcome in tried if outcome is not None], self._cuts)
        if between:
            kept = np.flatnonzero(_keeps_rules(limits, batch.rows[which], found))
            which, found = which[kept], found.take(kept)
        return which, found

    def _by_numbers(self, batch: Batch) -> Answers:
        """Run the fixed-charge search, which leaves categories and missing values unchanged."""
        model, table, limits = self.model, batch.rows, batch.limits
        held = np.isnan(table)
        share = np.zeros(len(table))  # score of the unchanged columns
        if held.any() and model.missing is not None:
            share += np.where(held, model.missing[:, 0], 0.0).sum(axis=1)
        for j, effect in model.effects.items():
            code = np.where(held[:, j], 0, table[:, j]).astype(np.intp)
            share += np.where(held[:, j], 0.0, effect[code, 0])
            held[:, j] = True
        if held.any():
            limits = replace(limits, frozen=held if limits.frozen is None else held | limits.frozen)
            table = np.where(held, model.centre, table)
        search = batch.arguments() | {
            "rows": np.ascontiguousarray(table),
            "margin": batch.margin - np.where(batch.target == 1, share, -share),
        }
        return Answers(
            *_core.solve_linear(
                **search,
                n_threads=batch.n_threads,
                limits=core_limits(self.cells, replace(limits, fillable=None, moves={}), (), None),
                box_low=self.cells.box_low,
                box_high=self.cells.box_high,
                unit=self._units(),
                coef=model.coef[0],
                centre=model.centre,
                intercept=float(model.intercept[0] - self.boundary),
            )
        )

    def _units(self) -> Floats:
        """Return the unit of distance of every column."""
        if self._distances.unit is not None:
            return self._distances.unit
        width = self.cells.box_high - self.cells.box_low
        return np.where(width > 0, np.minimum(width, np.finfo(np.float64).max), 1.0)

    # --- categories, if there is one score --------------------------------------------------------------------------------

    def _with_categories(self, batch: Batch, found: Answers, ends: float) -> list[Outcome | None]:
        """Improve the results of rows by changing categories first and then numbers.

        ``found`` holds the results with unchanged categories. The improved result is None for a row with too many
        combinations of categories.
        """
        outcomes: list[Outcome | None] = []
        tried: list[tuple[int, tuple[_Entry, ...]]] = []
        for at, (outcome, choices) in enumerate(zip(found.outcomes(), self._choices(batch, found.cost), strict=True)):
            outcomes.append(None if choices is None else outcome)
            tried += [(at, chosen) for chosen in choices or ()]
        for begin in range(0, len(tried), ROWS_AT_ONCE):
            some = tried[begin : begin + ROWS_AT_ONCE]
            entered = batch.of(np.array([at for at, _ in some]))
            for row, (_, chosen) in zip(entered.rows, some, strict=True):
                for entry in chosen:
                    row[entry.feature] = entry.code
            more = self._by_numbers(replace(entered, time_limit=max(0.0, ends - time.monotonic())))
            for (at, chosen), other in zip(some, more.outcomes(), strict=True):
                best = outcomes[at]
                assert best is not None
                spent = sum(entry.cost for entry in chosen)
                best.bound, best.nodes = min(best.bound, other.bound + spent), best.nodes + other.nodes
                best.seconds += other.seconds
                if other.cost + spent < best.cost:
                    best.cost = other.cost + spent
                    best.moves = tuple(sorted([*other.moves, *((entry.feature, float(entry.code)) for entry in chosen)]))
        for one in outcomes:
            if one is not None:
                one.close()
        return outcomes

    def _choices(self, batch: Batch, cost: Floats) -> Iterator[list[tuple[_Entry, ...]] | None]:
        """Yield, for each row, the combinations of category changes that may reduce its ``cost``.

        ``cost`` holds the cost of the best change known for each row. Only combinations that cost less can improve it. If
        a row has too many combinations, None is yielded.
        """
        task, frozen = self._task(batch), batch.limits.frozen
        sign = np.where(batch.target == 1, 1.0, -1.0)
        needed = batch.margin - sign * (self.model.scores(batch.rows)[:, 0] - self.boundary)
        known: dict[tuple[Any, ...], list[_Entry]] = {}
        for i, row in enumerate(batch.rows):
            entries = []
            for j in self.model.effects:
                key = (j, "" if np.isnan(row[j]) else float(row[j]), float(sign[i]))
                if key not in known:
                    known[key] = _entries(task, j, float(row[j]), float(sign[i]))
                if known[key] and (frozen is None or not frozen[i, j]):
                    entries.append(known[key])
            yield _combinations(entries, float(cost[i]), float(needed[i]))


def _plain_points(model: LinearModel, limits: Limits, table: Floats) -> Bools:
    """Return a mask of the rows that the fixed-charge search can solve."""
    on_grid = limits.step is not None and bool(limits.step.any())
    if model.n_outputs > 1 or limits.has_rules_between or limits.groups or on_grid:
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


def _keeps_rules(limits: Limits, table: Floats, found: Answers) -> Bools:
    """Return a mask of results that stay valid with the rules between columns.

    These are the optimal changes that respect the rules, and the rows that have no counterfactual even without the rules.
    """
    after, moved = table.copy(), np.zeros(table.shape, dtype=np.bool_)
    after[found.point, found.feature], moved[found.point, found.feature] = found.landing, True
    kept: Any = np.ones(len(table), dtype=np.bool_)
    if limits.max_changes is not None:
        kept &= np.diff(found.first_move) <= limits.max_changes
    for rule in limits.linear:
        features = list(rule.coefficients)
        total = sum(a * after[:, j] for j, a in rule.coefficients.items())
        kept &= ~moved[:, features].any(axis=1) | ~(total > rule.upper)
    for implication in limits.implications:
        j = implication.feature
        # The MILP decides whether the other column moves far enough.
        kept &= ~(after[:, j] > table[:, j] if implication.rises else after[:, j] < table[:, j])
    keeps: Bools = (kept & (found.status == OPTIMAL)) | (found.status == INFEASIBLE)
    return keeps


class _Entry(NamedTuple):
    """The change of one column of categories to the category ``code``."""

    cost: float
    gain: float  # of the target's score
    feature: int
    code: int


def _entries(task: Task, j: int, held: float, sign: float) -> list[_Entry]:
    """List the useful changes of a column of categories, by rising cost.

    A change is useful if no cheaper change of the column raises the score of the target by the same amount or more.
    """
    entries = [_Entry(cost, sign * float(gain[0]), j, code) for code, cost, gain in task.category_moves(j, held)]
    kept: list[_Entry] = []
    for entry in sorted(entries, key=lambda entry: (entry.cost, -entry.gain, entry.code)):
        if entry.gain > (kept[-1].gain if kept else 0.0):
            kept.append(entry)
    return kept


def _combinations(entries: list[list[_Entry]], cutoff: float, needed: float) -> list[tuple[_Entry, ...]] | None:
    """List combinations of category changes that cost less than ``cutoff``.

    A combination is not extended after it has reached the ``needed`` score. Returns None if there are too many combinations.
    """
    found: list[tuple[_Entry, ...]] = []
    begun: list[tuple[int, tuple[_Entry, ...], float, float]] = [(0, (), 0.0, 0.0)]
    while begun:
        at, chosen, cost, gain = begun.pop()
        for column in range(at, len(entries)):
            for entry in entries[column]:
                if cost + entry.cost >= cutoff:
                    break  # the next categories of the column cost at least as much
                found.append((*chosen, entry))
                if len(found) > MOST_COMBINATIONS:
                    return None
                if gain + entry.gain < needed:
                    begun.append((column + 1, found[-1], cost + entry.cost, gain + entry.gain))
    return sorted(found, key=lambda chosen: sum(entry.cost for entry in chosen))
