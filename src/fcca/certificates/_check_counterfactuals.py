"""Check every stated counterfactual against the rows, the rules and the black box, without a search.

Each check returns a list of problems, which is empty if the claims hold.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from fcca.cells import special_cuts
from fcca.certificates._check_sample import sample_problems
from fcca.certificates._evidence import NEAR, Bools, Evidence, Floats, Longs, is_near, named_rows, problem_of_rows
from fcca.certificates._recomputed_distances import RecomputedDistances
from fcca.models import TreeEnsemble
from fcca.tables import is_special

SINGLE_PRECISION = 1e-6  # rounding tolerance of scores summed in 32 bits, relative to their size


def rows_searched(given: Evidence) -> list[str]:
    """Check that the certificate lists a search for exactly the expected rows.

    The expected rows are those that the black box predicts correctly, with a probability from ``p0`` to ``p1``. If a sample
    of them was searched, its rows are drawn again. The counts of the statuses are also checked.
    """
    stated, numbers = given.points.row, given.numbers
    problems = []
    if twice := [row for row, n in Counter(stated.tolist()).items() if n > 1]:
        problems.append(f"{named_rows(twice)}: more than one counterfactual")
    problems += problem_of_rows(np.setdiff1d(stated, numbers), "not among the training rows")
    problems += sample_problems(given)
    expected = numbers[given.expected]
    missing, extra = np.setdiff1d(expected, stated), np.setdiff1d(np.intersect1d(stated, numbers), expected)
    problems += problem_of_rows(missing, "the counterfactual is missing")
    unexpected = "there is a counterfactual, but the prediction is wrong, or its probability is outside p0 and p1"
    if given.sample_size is not None:
        unexpected += ", or the row is not in the sample"
    problems += problem_of_rows(extra, unexpected)
    if not given.may_end_open:
        words = "the status is feasible or unknown, but without a time limit every search ends with a proof"
        problems += _counterfactual_problems(given, {words: given.left_open})
    counted = Counter(given.points.status)
    if dict(counted) != {name: n for name, n in given.stated.statuses.items() if n}:
        problems.append(f"the counterfactuals have the statuses {dict(counted)}, but {given.stated.statuses} is stated")
    return problems


def moves_start(given: Evidence) -> list[str]:
    """Check that every move, the change of one column, starts at the value of its row.

    The move must end at another value, and each column of a row may move only once.
    """
    points = given.points
    if len(others := np.setdiff1d(points.move_row, points.row)):
        return [f"{named_rows(others)}: there are moves, but no counterfactual"]
    problems = []
    pairs = Counter(zip(points.move_row.tolist(), points.move_feature.tolist(), strict=True))
    if twice := [row for (row, _), n in pairs.items() if n > 1]:
        problems.append(f"a column of {named_rows(twice)} moves twice")
    own = given.before[given.move_point, points.move_feature]
    origin, unknown = given.origin
    elsewhere = unknown | ~((own == origin) | (np.isnan(own) & np.isnan(origin)))
    problems += _move_problems(given, elsewhere, "does not start at the value of the row")
    landing, nothing = given.landing
    problems += _move_problems(
        given, nothing | np.isnan(landing) | (landing == own), "does not end at another value of the column"
    )
    moved = np.bincount(given.move_point, minlength=len(points.row)) > 0
    wrong = {
        "the status is optimal, within_gap or feasible, but nothing moves": given.claims_flip & ~moved,
        "the status is infeasible or unknown, but there are moves": given.without_counterfactual & moved,
    }
    return problems + _counterfactual_problems(given, wrong)


def range_and_rules(given: Evidence) -> list[str]:
    """Check that every change stays within the range of the training rows and obeys the rules."""
    problems = []
    feature = given.points.move_feature
    landing = given.landing[0]
    low, high = _range(given.ordinary)
    is_category = given.columns.is_category[feature]
    outside = ~is_category & ((landing < low[feature]) | (landing > high[feature]))
    problems += _move_problems(given, outside, "leaves the range of the training rows")
    special = is_special(given.special, feature, landing)
    problems += _move_problems(given, special, "ends at a special value")
    unseen = np.zeros(len(feature), dtype=np.bool_)
    for j in np.unique(feature[is_category]).tolist():
        mine = feature == j
        unseen[mine] = ~np.isin(landing[mine], given.table[:, j])
    problems += _move_problems(given, unseen, "ends at a category that does not occur in the training rows")
    broken = "a rule is broken, or a missing value is filled in without Fillable"
    return problems + _counterfactual_problems(given, {broken: given.claims_flip & ~given.keeps_rules})


def _range(table: Floats) -> tuple[Floats, Floats]:
    return np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)


def landings(given: Evidence) -> list[str]:
    """Check that each move of a numeric column ends at the right value of a cell.

    A cell is the interval between two neighbouring cuts. A move must leave its cell. Among the training values in the new
    cell, it must end at the one nearest to its start. In a cell without training values, it must end at the middle. A
    special value is replaced as close to the median of the column as the training values in the new cell allow.
    """
    model = given.engine.model
    if not isinstance(model, TreeEnsemble):
        return []  # a linear model has no cells: a change ends where the prediction flips, and the costs check that
    rules = given.stated.parameters.rules
    # The check of the rules covers columns whose moves end at limits.
    bounded = {name for rule in rules if rule.lands_on == "limits" for name in rule.columns}
    free = {name for rule in rules if rule.lands_on == "any" for name in rule.columns}
    low, high = _range(given.ordinary)
    by_set = np.zeros(len(model.feature), dtype=np.bool_)
    by_set[list(model.categories)] = True
    wrong = np.zeros(len(given.move_point), dtype=np.bool_)
    for j in np.unique(given.points.move_feature).tolist():
        name = given.stated.columns[j]
        if given.columns.is_category[j] or name in bounded:
            continue
        mine = np.flatnonzero((given.points.move_feature == j) & ~np.isnan(given.origin[0]) & ~given.leaves_special)
        cuts = np.unique(model.threshold[(model.feature == j) & ~by_set])
        values = np.unique(given.ordinary[:, j])
        values = values[~np.isnan(values)]
        if j in given.special:
            cuts = np.union1d(cuts, special_cuts(given.special[j]))
            from_special = np.flatnonzero((given.points.move_feature == j) & given.leaves_special)
            near = float(np.nanmedian(given.ordinary[:, j]))
            wrong[from_special] = ~_replaced_well(given.landing[0][from_special], cuts, values, near)
        move = given.origin[0][mine], given.landing[0][mine]
        wrong[mine] = ~_lands_well(*move, cuts, values, (low[j], high[j]), name in free)
    return _move_problems(
        given, wrong, "ends neither at the nearest training value of the cell it enters nor at the middle of the cell"
    )


def _lands_well(
    origin: Floats, landing: Floats, cuts: Floats, values: Floats, box: tuple[float, float], free: bool
) -> Bools:
    """Return a mask of the moves of a numeric column that end at an allowed value.

    Parameters
    ----------
    origin, landing : ndarray of shape (n_moves,)
        Start and end of each move.
    cuts, values : ndarray
        Sorted cuts and training values of the column.
    box : (float, float)
        Smallest and largest training value.
    free : bool
        True if a rule allows moves to end at any training value of a cell. False if a move must end at the training value
        nearest to its start.
    """
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


def _replaced_well(landing: Floats, cuts: Floats, values: Floats, median: float) -> Bools:
    """Return a mask of the replaced special values that end at an allowed value.

    In a cell without training values, any value is allowed here. The check of the costs does not depend on it.
    """
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    well = np.ones(len(landing), dtype=np.bool_)
    for k, (to, cell) in enumerate(zip(landing.tolist(), np.searchsorted(cuts, landing).tolist(), strict=True)):
        seen = values[(values > ends[cell]) & (values <= ends[cell + 1])]
        well[k] = len(seen) == 0 or to == np.clip(median, seen[0], seen[-1])
    return well


def predictions(given: Evidence) -> list[str]:
    """Check that the black box predicts the stated class for every changed row.

    The score of this class must exceed the other scores by at least the margin. The same holds for counterfactuals with the
    status unverified. For them, however, the black box must predict another class, or the change must break a rule.
    """
    target, claims = given.target_code, given.claims_flip | given.unverified
    named = target >= 0
    stated = np.array([label is not None for label in given.points.target], dtype=np.bool_)
    usable = np.flatnonzero(claims & named & _moves_to_values(given))
    claimed, flipped, leads = (np.zeros(len(given.at), dtype=np.bool_) for _ in range(3))
    if len(usable):
        claimed[usable] = given.claims_flip[usable]
        flipped[usable] = given.engine.predict(given.after[usable]) == given.engine.model.classes[target[usable]]
        leads[usable] = _lead(given, usable) >= given.engine.problem.margin
    wrong = {
        "the target is not a class of the black box": claims & ~named,
        "the target is the class of the unchanged row": claims & named & (target == given.own_class),
        "the status is infeasible or unknown, but there is a target": given.without_counterfactual & stated,
        "the black box does not predict the target for the changed row": claimed & ~flipped,
        "the score of the target does not lead by the margin": claimed & flipped & ~leads,
        "the status is unverified, but the change flips the black box": given.unverified & flipped & given.keeps_rules,
        "the status is unverified, but the score of the target does not lead by the margin": given.unverified & ~leads,
    }
    return _counterfactual_problems(given, wrong)


def _moves_to_values(given: Evidence) -> Bools:
    """Return a mask of the counterfactuals whose changed values can be predicted.

    None of these values is an unknown category or missing, because a black box may raise an error for both.
    """
    usable = np.ones(len(given.at), dtype=np.bool_)
    usable[given.move_point[given.landing[1] | np.isnan(given.landing[0])]] = False
    return usable


def _lead(given: Evidence, which: Longs) -> Floats:
    """Return by how much the score of the stated class exceeds the best other score.

    If the black box has a single score, return how far it is on the stated side of the decision boundary. A tolerance for
    rounding is added. ``which`` holds the positions of the counterfactuals.
    """
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


def costs(given: Evidence) -> list[str]:
    """Check that the stated cost of each counterfactual is the sum of the costs of its changes."""
    counted = given.claims_flip | given.unverified
    cost = _costs(given)
    wrong = counted & ~(np.isfinite(given.points.cost) & is_near(np.where(counted, given.points.cost, cost), cost))
    if not wrong.any():
        return []
    numbers = f"{given.points.cost[wrong][0]:.12g}, but the moves cost {cost[wrong][0]:.12g}"
    return _counterfactual_problems(given, {f"the stated cost is {numbers}": wrong})


def _costs(given: Evidence) -> Floats:
    search, rules = given.stated.parameters.search, given.stated.parameters.rules
    weight = {name: factor for rule in rules for name, factor in rule.cost_factors.items()}
    group = {name: rule.group[0] for rule in rules for name in rule.group}
    distance_of = RecomputedDistances.of(given)
    total = np.zeros(len(given.at))
    switched: set[tuple[int, str]] = set()
    origin, landing = given.origin[0], given.landing[0]
    for k, (point, j) in enumerate(zip(given.move_point.tolist(), given.points.move_feature.tolist(), strict=True)):
        name = given.stated.columns[j]
        if name in group:  # a switch within a group is one change
            if (point, group[name]) in switched:
                continue
            switched.add((point, group[name]))
        unordered = given.columns.is_category[j] or np.isnan(origin[k]) or given.leaves_special[k] or name in group
        distance = distance_of.unordered if unordered else distance_of.between(j, origin[k], landing[k])
        price = search["lambda0"] + search["lambda1"] * distance + search["lambda2"] * distance * distance
        total[point] += price * weight.get(name, 1.0)
    return total


def bounds(given: Evidence) -> list[str]:
    """Check that the lower bounds agree with the costs and statuses.

    No bound may be above its cost, and the bound of an optimal counterfactual must equal its cost. Within the relative gap,
    the bound must be near enough to the cost.
    """
    points, relative_gap = given.points, given.stated.parameters.search["relative_gap"]
    with np.errstate(invalid="ignore"):
        above = ~given.without_counterfactual & (points.bound > points.cost * (1 + NEAR) + NEAR)
        apart = ~above & ~is_near(points.bound, points.cost)
        beyond = apart & (points.bound < points.cost * (1 - relative_gap) * (1 - NEAR))
    below = beyond & given.unverified & (not given.may_end_open)
    near = given.status == "within_gap"
    bounded = np.isfinite(points.bound)
    wrong = {
        "the bound is above the cost": above,
        "the status is optimal, but the bound is below the cost": apart & (given.status == "optimal"),
        "the status is within_gap, but the searches had no relative gap": near & (relative_gap == 0),
        f"the status is within_gap, but the bound is below {1 - relative_gap:.6g} of the cost": near & beyond,
        "the bound is below the cost, but without a time limit every search ends with a proof": below,
        "the status is infeasible or unknown, but there is a cost": given.without_counterfactual & np.isfinite(points.cost),
        "the status is infeasible, but there is a bound": (given.status == "infeasible") & bounded,
        "the status is unknown, but there is no bound": (given.status == "unknown") & ~bounded,
    }
    return _counterfactual_problems(given, wrong)


# --- messages -------------------------------------------------------------------------------------------------------------


def _counterfactual_problems(given: Evidence, wrong: dict[str, Bools]) -> list[str]:
    """Return one sentence for each problem of the counterfactuals.

    ``wrong`` maps the description of a problem to a mask of the counterfactuals that have it.
    """
    return [text for words, which in wrong.items() for text in problem_of_rows(given.points.row[which], words)]


def _move_problems(given: Evidence, wrong: Bools, what: str) -> list[str]:
    at = np.flatnonzero(wrong)
    if len(at) == 0:
        return []
    column = given.stated.columns[int(given.points.move_feature[at[0]])]
    rows = np.unique(given.points.move_row[at])
    return [f"{named_rows(rows)}: a move of column {column!r} {what}"]
