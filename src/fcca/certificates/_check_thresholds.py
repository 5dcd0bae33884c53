"""Check the thresholds: count again how often they are crossed, and repeat their selection."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.certificates._check_sample import looks_problems, recomputed_sample
from fcca.certificates._evidence import NEAR, Bools, Evidence, Floats, Longs, NotChecked, is_near, named_rows, typed_label
from fcca.constraints import Limits
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers import (
    NO_TIES,
    CrossingCounts,
    DecidingValues,
    TiedCounterfactuals,
    crossings,
    find_deciding_values,
    kept_thresholds,
    most_thresholds,
)
from fcca.exceptions import FCCAError, InvalidInputError, UnfinishedSearchWarning
from fcca.metrics import inconsistency_rate
from fcca.selection import FORBIDDEN, KEPT, Admissible, OptimalSelection, most_frequent
from fcca.thresholds import ThresholdTable

NAMED = 3


def deciding_missing_values(given: Evidence) -> list[str]:
    """Check that the certificate lists exactly the deciding missing values.

    A missing value is deciding if the prediction can flip when this value is filled in and nothing else changes. The
    searches for these values are repeated.
    """
    points = given.points
    listed = Counter(zip(points.gap_row.tolist(), points.gap_feature.tolist(), strict=True))
    if twice := sorted(row for (row, _), n in listed.items() if n > 1):
        return [f"{named_rows(twice)}: a missing value is listed more than once"]
    stated = set(listed)
    if given.search.columns is None or not np.isnan(given.before).any():
        return [f"{len(stated)} missing values are listed, but the rows have none"] if stated else []
    if len(others := np.setdiff1d(points.gap_row, points.row)):
        return [f"{named_rows(others)}: a missing value is listed, but there is no counterfactual"]
    deciding: DecidingValues = find_deciding_values(given.table, given.as_found(), given.limits, _timed_solve(given))
    if deciding.n_unfinished:
        raise NotChecked(f"The time limit stopped {deciding.n_unfinished} of {deciding.n_searches} searches.")
    true = set(zip(points.row[deciding.point].tolist(), deciding.feature.tolist(), strict=True))
    problems = []
    if wrong := sorted(stated - true):
        rows = named_rows([row for row, _ in wrong])
        problems.append(f"{rows}: a missing value is listed, but does not decide the prediction")
    if left := sorted(true - stated):
        rows = named_rows([row for row, _ in left])
        if not problems and given.stated.parameters.search_is_limited:
            raise NotChecked(
                f"{rows[0].upper()}{rows[1:]}: a missing value decides the prediction, but is not listed. When the "
                "certificate was made, a time limit may have stopped the search for it. This cannot be checked. The "
                "condition that the value is missing was not counted."
            )
        problems.append(f"{rows}: a missing value decides the prediction, but is not listed")
    return problems


def _timed_solve(given: Evidence) -> Callable[[Longs, Limits], Counterfactuals]:
    """Return a function that repeats searches, and stops at the time limit of this check."""
    limit = given.effort.time_limit
    ends = np.inf if limit is None else monotonic() + limit
    return lambda which, limits: given.solve_and_check(which, limits, max(0.0, ends - monotonic()))


def thresholds_found(given: Evidence) -> list[str]:
    """Check that the stated thresholds and counts follow from the stated counterfactuals.

    With ``count_ties``, the searches for equally cheap counterfactuals are repeated. Then the conditions that the
    counterfactuals cross are counted, merged and rounded as in ``fit``. The result is compared with the certificate.
    """
    counterfactuals = given.as_found()
    ties = repeated_ties(given, counterfactuals)
    try:
        computed = _computed_thresholds(given, counterfactuals, ties)
    except FCCAError as error:
        return [str(error)]
    problems = _differences(given.stated.found, computed)
    problems = problems or looks_problems(given, lambda weight: _counted(given, counterfactuals, ties, weight))
    if problems and len(ties.point) and given.stated.parameters.search_is_limited:
        without = _computed_thresholds(given, counterfactuals, NO_TIES)
        if _lies_between(given.stated.found, without, computed):
            raise NotChecked(
                "Some counts are lower than the recomputed ones. The certificate's time limit may have stopped searches for "
                "equally cheap counterfactuals, which cannot be checked."
            )
    return problems


def _computed_thresholds(given: Evidence, counterfactuals: Counterfactuals, ties: TiedCounterfactuals) -> ThresholdTable:
    """Count, merge and round the conditions that counterfactuals and ties cross; add their shares if rows were sampled."""
    table, _ = _counted(given, counterfactuals, ties, given.sampled_weight)
    return table if given.stated.sample is None else recomputed_sample(given).with_shares(table)


def _counted(
    given: Evidence, counterfactuals: Counterfactuals, ties: TiedCounterfactuals, weight: Floats
) -> tuple[ThresholdTable, Bools]:
    """Count, merge and round the conditions that the counterfactuals of rows with positive weight cross.

    Return the thresholds and a mask of those that ``Q`` and ``max_thresholds`` keep.
    """
    points = given.points
    deciding = DecidingValues(given.gap_point, points.gap_feature.astype(np.int32), len(points.gap_row), 0)
    crossed = crossings(given.engine, counterfactuals, given.search.columns, deciding, ties)
    weight_of = weight[counterfactuals.rows[crossed.point]]
    table, condition = crossed.table(list(given.stated.columns), weight_of, given.search.columns)
    table = table.select(np.bincount(condition[weight_of > 0], minlength=len(table)) > 0)
    counts = CrossingCounts(table, counterfactuals.counts(), len(given.table), 1, 0.0, 1.0)
    return kept_thresholds(given.search, counts, given.table)


def repeated_ties(given: Evidence, counterfactuals: Counterfactuals) -> TiedCounterfactuals:
    """Repeat the searches for counterfactuals that cost as much as the stated ones."""
    ties = given.search.ties(counterfactuals, given.limits, _timed_solve(given))
    if ties.n_unfinished:
        raise NotChecked(f"The time limit stopped {ties.n_unfinished} of {ties.n_searches} searches for ties.")
    return ties


def _lies_between(stated: ThresholdTable, without: ThresholdTable, computed: ThresholdTable) -> bool:
    """Return True if the stated table may lack some ties, but is right otherwise.

    Every stated condition must be among the computed ones, with the same cut and neighbouring values. Its count must not be
    above the computed count, nor below the count without ties.
    """
    said, low, high = (_conditions(table) for table in (stated, without, computed))
    if not set(low) <= set(said) <= set(high):
        return False
    values = dict(zip(high, _neighbours(computed), strict=True))
    return all(
        low.get(key, ("", 0.0))[1] * (1 - NEAR) <= count <= high[key][1] * (1 + NEAR)
        and np.allclose(row, values[key], rtol=NEAR, atol=0, equal_nan=True)
        for (key, (_, count)), row in zip(said.items(), _neighbours(stated), strict=True)
    )


def _neighbours(table: ThresholdTable) -> NDArray[np.float64]:
    """Return the cut of each condition, and the training values below and above it."""
    return np.column_stack([table.cut, table.below, table.above])


def _differences(stated: ThresholdTable, computed: ThresholdTable) -> list[str]:
    mine, theirs = _conditions(computed), _conditions(stated)
    problems = []
    if more := [theirs[key][0] for key in theirs if key not in mine]:
        problems.append(f"{_listed(more)} is stated, but no counterfactual crosses it")
    if fewer := [mine[key][0] for key in mine if key not in theirs]:
        problems.append(f"the counterfactuals cross {_listed(fewer)}, but it is not stated")
    both = [key for key in mine if key in theirs]
    counted = [key for key in both if not is_near(theirs[key][1], mine[key][1])]
    if counted:
        name, n = mine[counted[0]]
        problems.append(f"{name} is crossed by a weight of {n:g}, but its stated count is {theirs[counted[0]][1]:g}")
    numbers = ("cut", "below", "above")
    if (stated.share is None) != (computed.share is None):
        problems.append("there are shares with intervals without a sample of the rows, or a sample without shares")
    elif stated.share is not None and not problems:
        shares = ("share", "share_low", "share_high")
        if not all(is_near(getattr(stated, name), getattr(computed, name)).all() for name in shares):
            problems.append("the shares of the thresholds or their intervals differ from the recomputed ones")
    if not problems and not all(
        np.allclose(getattr(stated, name), getattr(computed, name), rtol=NEAR, atol=0, equal_nan=True) for name in numbers
    ):
        problems.append("the cuts of the black box or the training values around the thresholds differ from the stated ones")
    if _described(stated) != _described(computed):
        problems.append("the categories or missing values of the columns differ from the stated ones")
    elif stated.columns is not None and (others := _unknown_names(stated, computed)):
        problems.append(f"there is no column named {_listed([repr(name) for name in others])}")
    return problems


def _described(table: ThresholdTable) -> tuple[Any, ...]:
    """Return the columns and categories of a threshold table, for comparisons.

    The type of the categories in the user's table, such as a pandas categorical, is ignored.
    """
    labels = (None if one is None else [typed_label(label) for label in one] for one in table.labels)
    if table.columns is None:
        return None, list(labels)
    columns = [
        (column.missing, column.ignored, column.categories and [typed_label(label) for label in column.categories])
        for column in table.columns
    ]
    return columns, list(labels)


def _unknown_names(stated: ThresholdTable, computed: ThresholdTable) -> list[str]:
    """Return the stated column names that neither the rows nor the black box have."""
    known = zip(stated.columns or (), computed.columns or (), stated.feature_names, strict=True)
    nobody_named = not any(one.name for one in stated.columns or ())
    return [str(one.name) for one, own, name in known if not nobody_named and one.name not in (name, own.name)]


def _conditions(table: ThresholdTable) -> dict[tuple[Any, ...], tuple[str, float]]:
    """Map a unique key of each condition to the name and count of the condition."""
    keys = zip(table.feature.tolist(), table.kind.tolist(), table.threshold.tolist(), table.codes, strict=True)
    entries = zip(table.names(), table.count.tolist(), strict=True)
    return {
        (feature, kind, None if math.isnan(threshold) else threshold.hex(), codes): entry
        for (feature, kind, threshold, codes), entry in zip(keys, entries, strict=True)
    }


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


# --- selection ------------------------------------------------------------------------------------------------------------


def thresholds_kept(given: Evidence) -> list[str]:
    """Check that ``Q``, ``max_thresholds`` and the selection keep exactly the stated conditions.

    The selection is repeated.
    """
    stated, Q = given.stated, given.stated.parameters.search["Q"]
    table, requested = stated.found, stated.parameters.selection
    search = stated.parameters.search
    frequent = np.flatnonzero(most_frequent(table, Q, most_thresholds(search["preset"], search["max_thresholds"])))
    chosen = np.array(stated.kept)
    if requested is None:
        if stated.selection is not None:
            return ["the proof of a selection is stated, but the parameters have no selection"]
        if np.array_equal(chosen, frequent):
            return []
        return [
            f"Q={Q:g} and max_thresholds keep {len(frequent)} thresholds, but the certificate keeps {len(chosen)} "
            "different ones"
        ]
    if stated.selection is None:
        return ["the parameters have a selection, but its proof is not stated"]
    if not np.isin(chosen, frequent).all():
        return [f"some thresholds are kept although Q={Q:g} drops them"]
    candidates = table.select(np.isin(np.arange(len(table)), frequent))
    try:
        problems = _limits_exceeded(requested, candidates, np.isin(frequent, chosen))
    except FCCAError as error:
        return [f"the parameters of the selection cannot be used: {str(error).rstrip('.')}"]
    learned = given.targets(requested["fit_to"])
    B = given.kept.binarize(given.table)
    rate = float(inconsistency_rate(B, learned, given.weight))
    claim = stated.selection
    most = requested["max_inconsistency"]
    if most is not None and rate > most + NEAR:
        problems.append(f"the thresholds kept have an inconsistency of {rate:.9g}, above max_inconsistency={most:.9g}")
    if abs(rate - claim.objective) > NEAR:
        problems.append(f"the thresholds kept have an inconsistency of {rate:.9g}, not {claim.objective:.9g}")
    if claim.lower_bound > claim.objective + NEAR:
        problems.append("the lower bound of the selection is above its inconsistency")
    if claim.optimal and most is None and claim.lower_bound < claim.objective - NEAR:
        problems.append("the selection is called optimal, but its lower bound is below its inconsistency")
    return problems or _selected_again(given, candidates, learned, B.shape[1])


def _limits_exceeded(requested: dict[str, Any], candidates: ThresholdTable, taken: Bools) -> list[str]:
    """Check that a selection obeys its parameters ``keep``, ``forbid``, ``per_feature`` and ``max_features``.

    ``requested`` holds the parameters, and ``taken`` is a mask of the candidates that were selected.
    """
    OptimalSelection(**requested).check_parameters()
    limits = {name: requested[name] for name in ("keep", "forbid", "per_feature", "max_features")}
    admissible = Admissible.of(candidates, **limits)
    names, problems = np.array(candidates.names(), dtype=object), []
    if (left := (admissible.state == KEPT) & ~taken).any():
        problems.append(f"{_listed(names[left].tolist())} had to be kept, but is not")
    if (wrong := (admissible.state == FORBIDDEN) & taken).any():
        problems.append(f"{_listed(names[wrong].tolist())} was forbidden, but is kept")
    per_feature = np.bincount(candidates.feature[taken], minlength=len(admissible.per_feature))
    for j in np.flatnonzero(per_feature > admissible.per_feature).tolist():
        most = f"at most {admissible.per_feature[j]} are allowed"
        problems.append(f"{per_feature[j]} thresholds of column {candidates.feature_names[j]!r} are kept, but {most}")
    n_features = int((per_feature > 0).sum())
    if n_features > admissible.max_features:
        problems.append(f"thresholds of {n_features} columns are kept, but at most {admissible.max_features} are allowed")
    return problems


def _selected_again(given: Evidence, candidates: ThresholdTable, learned: Any, n_kept: int) -> list[str]:
    requested, claim = given.stated.parameters.selection, given.stated.selection
    assert requested is not None
    assert claim is not None
    limit = given.effort.time_limit
    limits = {"time_limit": limit, "max_nodes": None if claim.optimal else requested["max_nodes"]}
    selection = OptimalSelection(**(requested | limits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        try:
            best = selection.select(candidates, given.table, learned, given.weight)
        except InvalidInputError as error:  # the kept thresholds are admissible, so only the limit can cause this
            raise NotChecked(f"The time limit stopped the search: {error}") from error
    if requested["max_inconsistency"] is None and n_kept != best.n_thresholds:
        return [f"{n_kept} thresholds are kept, but n_thresholds is {requested['n_thresholds']}"]
    same_size = best.n_thresholds == n_kept
    if claim.optimal and best.n_thresholds < n_kept:
        return [f"{best.n_thresholds} thresholds are enough, so {n_kept} are not the fewest"]
    if same_size and claim.optimal and best.inconsistency < claim.objective - NEAR:
        return [f"{n_kept} other thresholds have an inconsistency of {best.inconsistency:.9g}, so these are not the best"]
    if same_size and best.inconsistency < claim.lower_bound - NEAR:
        return [f"{n_kept} other thresholds have an inconsistency of {best.inconsistency:.9g}, below the stated lower bound"]
    if not claim.optimal and best.is_optimal and requested["time_limit"] is None and requested["max_nodes"] is None:
        return ["the thresholds kept are not called optimal, but without a limit the search ends with a proof"]
    if not best.is_optimal and (claim.optimal or best.lower_bound < claim.lower_bound - NEAR):
        raise NotChecked(
            f"The time limit of {limit:g} s stopped the search before optimality was proven. No better selection was found."
        )
    return []
