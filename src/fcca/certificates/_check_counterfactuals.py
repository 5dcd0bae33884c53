"""Checks of every counterfactual, from the rows, the rules and the black box alone: no search takes part in them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from fcca.certificates._evidence import NEAR, Bools, Floats, Longs, Material, is_near, named_rows, problem_of_rows
from fcca.models import TreeEnsemble

SINGLE_PRECISION = 1e-6  # of the size of a score that is summed in 32 bits


def rows_searched(given: Material) -> list[str]:
    """Exactly the rows that the black box gets right within the band have a counterfactual."""
    stated, numbers = given.points.row, given.numbers
    problems = []
    if twice := [row for row, n in Counter(stated.tolist()).items() if n > 1]:
        problems.append(f"more than one counterfactual of {named_rows(twice)}")
    problems += problem_of_rows(np.setdiff1d(stated, numbers), "not among the training rows")
    expected = numbers[given.should_be_searched]
    missing, extra = np.setdiff1d(expected, stated), np.setdiff1d(np.intersect1d(stated, numbers), expected)
    problems += problem_of_rows(missing, "no counterfactual, but there should be one")
    problems += problem_of_rows(extra, "a counterfactual, but the black box gets it wrong, or p0 and p1 leave it out")
    if not given.may_end_open:
        problems += _of_points(given, given.left_open, "called feasible or unknown, as no search ends without a time limit")
    counted = Counter(given.points.status)
    if dict(counted) != {name: n for name, n in given.stated.statuses.items() if n}:
        problems.append(f"the statuses counted are {dict(counted)}, not {given.stated.statuses}")
    return problems


def moves_start(given: Material) -> list[str]:
    """Every move starts at the value that its row has, no column of a row moves twice, and every move goes somewhere."""
    points = given.points
    if len(others := np.setdiff1d(points.move_row, points.row)):
        return [f"{named_rows(others)}: moves, but no counterfactual"]
    problems = []
    pairs = Counter(zip(points.move_row.tolist(), points.move_feature.tolist(), strict=True))
    if twice := [row for (row, _), n in pairs.items() if n > 1]:
        problems.append(f"a column of {named_rows(twice)} moves twice")
    own = given.before[given.move_point, points.move_feature]
    origin, unknown = given.origin
    elsewhere = unknown | ~((own == origin) | (np.isnan(own) & np.isnan(origin)))
    problems += _of_moves(given, elsewhere, "does not start at the value that the row has")
    landing, nothing = given.landing
    problems += _of_moves(given, nothing | np.isnan(landing) | (landing == own), "ends at no other value of its column")
    moved = np.bincount(given.move_point, minlength=len(points.row)) > 0
    problems += _of_points(given, given.answered & ~moved, "optimal or feasible by the status, but nothing moves")
    problems += _of_points(given, given.without_answer & moved, "no counterfactual by the status, but moves")
    return problems


def range_and_rules(given: Material) -> list[str]:
    """Every answer stays in the range of the training rows and keeps the rules."""
    problems = []
    feature = given.points.move_feature
    landing = given.landing[0]
    low, high = _range(given.table)
    is_category = given.columns.is_category[feature]
    outside = ~is_category & ((landing < low[feature]) | (landing > high[feature]))
    problems += _of_moves(given, outside, "leaves the range of the training rows")
    unseen = np.zeros(len(feature), dtype=np.bool_)
    for j in np.unique(feature[is_category]).tolist():
        mine = feature == j
        unseen[mine] = ~np.isin(landing[mine], given.table[:, j])
    problems += _of_moves(given, unseen, "ends at a category that no training row has")
    broken = given.answered & ~given.keeps_rules
    problems += _of_points(given, broken, "a rule is broken, or a missing value filled in that has to stay")
    return problems


def _range(table: Floats) -> tuple[Floats, Floats]:
    return np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)


def landings(given: Material) -> list[str]:
    """Every number lands where it may: on the nearest training value of the cell it enters, or in its middle."""
    model = given.engine.model
    if not isinstance(model, TreeEnsemble):
        return []  # a linear model has no cells: a change ends where the answer turns, which the costs are about
    rules = given.stated.parameters.rules
    bounded = {
        name for rule in rules if rule.lands_on == "limits" for name in rule.columns
    }  # the check of rules covers them
    free = {name for rule in rules if rule.lands_on == "any" for name in rule.columns}
    low, high = _range(given.table)
    by_set = np.zeros(len(model.feature), dtype=np.bool_)
    by_set[list(model.categories)] = True
    wrong = np.zeros(len(given.move_point), dtype=np.bool_)
    for j in np.unique(given.points.move_feature).tolist():
        name = given.stated.columns[j]
        if given.columns.is_category[j] or name in bounded:
            continue
        mine = np.flatnonzero((given.points.move_feature == j) & ~np.isnan(given.origin[0]))
        cuts = np.unique(model.threshold[(model.feature == j) & ~by_set])
        values = np.unique(given.table[:, j])
        values = values[~np.isnan(values)]
        move = given.origin[0][mine], given.landing[0][mine]
        wrong[mine] = ~_lands_well(*move, cuts, values, (low[j], high[j]), name in free)
    return _of_moves(
        given, wrong, "lands neither on the nearest training value of the cell that it enters nor in its middle"
    )


def _lands_well(
    origin: Floats, landing: Floats, cuts: Floats, values: Floats, box: tuple[float, float], free: bool
) -> Bools:
    """Per move of a column of numbers; ``free``: a rule may have led it to another training value of its cell."""
    cell = np.searchsorted(cuts, landing)
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    first = np.searchsorted(values, ends[cell], side="right")  # x <= cut is below the cut
    last = np.searchsorted(values, ends[cell + 1], side="right") - 1
    has_values = first <= last
    nearest = values[np.where(landing > origin, np.minimum(first, len(values) - 1), np.maximum(last, 0))]
    low, high = np.maximum(ends[cell], box[0]), np.minimum(ends[cell + 1], box[1])
    middle = low + (high - low) / 2
    in_middle = np.abs(landing - middle) <= NEAR * np.maximum(high - low, np.spacing(np.abs(middle)) / NEAR)
    well: Bools
    if free:
        well = ~has_values | np.isin(landing, values)
        return well
    entered: Bools = np.searchsorted(cuts, origin) != cell
    well = entered & np.where(has_values, landing == nearest, in_middle)
    return well


def answers(given: Material) -> list[str]:
    """The black box's own predict answers every changed row with the target, and its score leads by the margin.

    Of an unverified one the score leads, and the black box's own predict denies it; or a rule is broken.
    """
    problems = []
    target, claims = given.target_code, given.answered | given.unverified
    named = target >= 0
    problems += _of_points(given, claims & ~named, "the target is no class of the black box")
    problems += _of_points(
        given, claims & named & (target == given.own_class), "the target is the class that the row has already"
    )
    stated = np.array([label is not None for label in given.points.target], dtype=np.bool_)
    problems += _of_points(given, given.without_answer & stated, "no counterfactual by the status, but a target")
    asked = np.flatnonzero(claims & named & _moves_somewhere(given))
    claimed, flipped, leads = (np.zeros(len(given.at), dtype=np.bool_) for _ in range(3))
    if len(asked):
        claimed[asked] = given.answered[asked]
        flipped[asked] = given.engine.predict(given.after[asked]) == given.engine.model.classes[target[asked]]
        leads[asked] = _lead(given, asked) >= given.engine.problem.margin
    problems += _of_points(
        given, claimed & ~flipped, "the black box's own predict does not answer the changed row with the target"
    )
    problems += _of_points(given, claimed & flipped & ~leads, "the margin is missed")
    doubted = given.unverified & flipped & given.keeps_rules
    problems += _of_points(given, doubted, "called unverified, but the black box is flipped")
    problems += _of_points(
        given, given.unverified & ~leads, "called unverified, but by the scores its target does not win by the margin either"
    )
    return problems


def _moves_somewhere(given: Material) -> Bools:
    """Which points' moves all end at a value; a black box need not take the others."""
    somewhere = np.ones(len(given.at), dtype=np.bool_)
    somewhere[given.move_point[given.landing[1] | np.isnan(given.landing[0])]] = False
    return somewhere


def _lead(given: Material, which: Longs) -> Floats:
    """By how much the targets lead their nearest rivals, with what rounding may take away."""
    model = given.engine.model
    scores = given.engine.scores(given.after[which])
    target = given.target_code[which]
    if model.n_outputs == 1:
        lead = np.where(target == 1, 1.0, -1.0) * (scores[:, 0] - model.boundary)
    else:
        others = scores.copy()
        at = np.arange(len(which))
        others[at, target] = -np.inf
        lead = scores[at, target] - others.max(axis=1)
    size = 1.0 + np.abs(scores).max(axis=1)
    room = SINGLE_PRECISION if getattr(model, "single_precision", False) else NEAR
    counted: Floats = lead + room * size
    return counted


def costs(given: Material) -> list[str]:
    """The cost of every answer, added up from its moves."""
    counted = given.answered | given.unverified
    cost = _costs(given)
    wrong = counted & ~(np.isfinite(given.points.cost) & is_near(np.where(counted, given.points.cost, cost), cost))
    if not wrong.any():
        return []
    numbers = f"{given.points.cost[wrong][0]:.12g} instead of {cost[wrong][0]:.12g}"
    return _of_points(given, wrong, f"another cost is stated than the moves add up to, {numbers}")


def _costs(given: Material) -> Floats:
    search, rules = given.stated.parameters.search, given.stated.parameters.rules
    weight = {name: factor for rule in rules for name, factor in rule.cost_factors.items()}
    group = {name: rule.group[0] for rule in rules for name in rule.group}
    low, high = _range(given.table)
    total = np.zeros(len(given.at))
    switched: set[tuple[int, str]] = set()
    origin, landing = given.origin[0], given.landing[0]
    for k, (point, j) in enumerate(zip(given.move_point.tolist(), given.points.move_feature.tolist(), strict=True)):
        name = given.stated.columns[j]
        if name in group:  # a switch of a group is one change
            if (point, group[name]) in switched:
                continue
            switched.add((point, group[name]))
        unordered = given.columns.is_category[j] or np.isnan(origin[k]) or name in group
        width = high[j] - low[j]
        distance = 1.0 if unordered else abs(landing[k] - origin[k]) / width if width > 0 else np.inf
        price = search["lambda0"] + search["lambda1"] * distance + search["lambda2"] * distance * distance
        total[point] += price * weight.get(name, 1.0)
    return total


def bounds(given: Material) -> list[str]:
    """No bound lies above its cost; the two are equal where optimality is claimed; where nothing was found there is none."""
    points = given.points
    with np.errstate(invalid="ignore"):
        above = ~given.without_answer & (points.bound > points.cost * (1 + NEAR) + NEAR)
        apart = ~above & ~is_near(points.bound, points.cost)
    problems = _of_points(given, above, "the bound lies above the cost")
    problems += _of_points(given, apart & (given.status == "optimal"), "called optimal, but the bound lies below the cost")
    if not given.may_end_open:
        below = apart & given.unverified
        problems += _of_points(given, below, "the bound lies below the cost, as no search ends without a time limit")
    priced = given.without_answer & np.isfinite(points.cost)
    problems += _of_points(given, priced, "no counterfactual by the status, but a cost")
    bounded = (given.status == "infeasible") & np.isfinite(points.bound)
    problems += _of_points(given, bounded, "called infeasible, but there is a bound")
    endless = (given.status == "unknown") & ~np.isfinite(points.bound)
    problems += _of_points(given, endless, "called unknown, but nothing is below any bound")
    return problems


# --- words ----------------------------------------------------------------------------------------------------------------


def _of_points(given: Material, wrong: Bools, what: str) -> list[str]:
    return problem_of_rows(given.points.row[wrong], what)


def _of_moves(given: Material, wrong: Bools, what: str) -> list[str]:
    at = np.flatnonzero(wrong)
    if len(at) == 0:
        return []
    column = given.stated.columns[int(given.points.move_feature[at[0]])]
    rows = np.unique(given.points.move_row[at])
    return [f"a move of {named_rows(rows)}, of column {column!r}, {what}"]
