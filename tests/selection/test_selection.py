"""OptimalSelection.select: chosen sets, their proof, and invalid input."""

import pickle
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fcca import ThresholdTable
from fcca.exceptions import InvalidInputError, UnfinishedSearchWarning
from fcca.metrics import inconsistency_rate
from fcca.selection import OptimalSelection, Selection

COLUMNS = ["age", "income", "debt"]
CONDITIONS = [("age", 30.0), ("age", 50.0), ("income", 2.0), ("income", 3.0), ("income", 4.0), ("debt", 1.0), ("debt", 2.0)]


@pytest.fixture(scope="module")
def table():
    return ThresholdTable.from_list(CONDITIONS, COLUMNS)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 80, 300), "income": rng.normal(3, 1, 300), "debt": rng.exponential(1.5, 300)})
    noise = rng.random(300) < 0.1
    y = np.where(((X["income"] > 3) & (X["debt"] < 2) | (X["age"] > 50)) ^ noise, "yes", "no")
    return X, y


def rate(table, X, y, names, weight=None):
    kept = np.isin(table.names(), list(names))
    assert kept.sum() == len(names)
    return inconsistency_rate(table.binarize(X)[:, kept], y, weight)


def best_of(table, X, y, n, allowed=lambda names: True, weight=None):
    sets = [names for names in combinations(table.names(), n) if allowed(names)]
    return min(rate(table, X, y, names, weight) for names in sets)


@pytest.mark.parametrize("n", range(1, 8))
def test_the_best_n_conditions_are_taken_and_proven(table, rows, n):
    found = OptimalSelection(n_thresholds=n).select(table, *rows)
    assert found.n_thresholds == len(found.thresholds) == found.n_thresholds_bound == n
    assert found.inconsistency == rate(table, *rows, found.thresholds.names())
    assert found.inconsistency == pytest.approx(best_of(table, *rows, n))
    assert found.is_optimal
    assert (found.lower_bound, found.gap, found.proof) == (found.inconsistency, 0.0, "proven optimal")
    assert found.candidates == table
    assert found.thresholds == table.select(found.kept)
    assert not found.kept.flags.writeable


def test_a_too_large_number_takes_all_conditions(table, rows):
    assert OptimalSelection(n_thresholds=100).select(table, *rows).kept.all()


@pytest.mark.parametrize("share", [0.13, 0.15, 0.2, 0.3, 0.5, 1.0])
def test_the_fewest_conditions_within_a_share_are_taken(table, rows, share):
    found = OptimalSelection(max_inconsistency=share).select(table, *rows)
    n = found.n_thresholds
    assert found.inconsistency <= share + 1e-12
    assert found.inconsistency == pytest.approx(best_of(table, *rows, n))
    assert n == 1 or best_of(table, *rows, n - 1) > share + 1e-12
    assert found.is_optimal
    assert found.n_thresholds_bound == n


def test_the_inconsistency_of_a_selection_is_reproducible(table, rows):
    weight = np.random.default_rng(1).random(300)
    for n in range(1, 8):
        best = OptimalSelection(n).select(table, *rows, weight)
        again = OptimalSelection(max_inconsistency=best.inconsistency).select(table, *rows, weight)
        assert again.n_thresholds <= n


def test_of_equally_good_sets_the_most_frequent_is_taken(rows):
    X, y = rows
    twice = X.assign(copy=X["income"])
    names, feature, threshold = [*COLUMNS, "copy"], [1, 3, 2, 0], [3.0, 3.0, 2.0, 50.0]
    for counts in ([1.0, 5.0, 2.0, 2.0], [5.0, 1.0, 2.0, 2.0]):
        table, _ = ThresholdTable.from_counts(names, feature, threshold, counts)
        taken = OptimalSelection(n_thresholds=1, forbid=["age", "debt"]).select(table, twice, y).thresholds
        assert taken.features_used == (["copy"] if counts[1] > counts[0] else ["income"])


# --- what has to be in, what may not, and how many of a column ------------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    ["age > 30", 0, ("age", 30), ("age", 30.0), np.int64(0), -7],
    ids=["name", "at", "tuple", "float", "numpy", "end"],
)
def test_a_condition_can_be_named_in_several_ways(table, rows, named):
    kept = OptimalSelection(n_thresholds=2, keep=[named]).select(table, *rows).thresholds.names()
    assert "age > 30" in kept
    everything = OptimalSelection(n_thresholds=7, forbid=[named]).select(table, *rows).thresholds.names()
    assert set(everything) == set(table.names()) - {"age > 30"}


def test_kept_conditions_are_completed_by_the_best(table, rows):
    found = OptimalSelection(n_thresholds=3, keep=["debt > 1"]).select(table, *rows)
    assert found.inconsistency == pytest.approx(best_of(table, *rows, 3, lambda names: "debt > 1" in names))
    assert found.is_optimal


def test_a_forbidden_column_carries_no_condition(table, rows):
    found = OptimalSelection(n_thresholds=3, forbid=["income"]).select(table, *rows)
    assert "income" not in found.thresholds.features_used
    best = best_of(table, *rows, 3, lambda names: not any("income" in name for name in names))
    assert found.inconsistency == pytest.approx(best)


@pytest.mark.parametrize(("caps", "most"), [(1, 3), (2, 6), ({"income": 0}, 4), ({"income": 1, "age": 1}, 4)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_per_feature_limits_each_column(table, rows, caps, most, n):
    found = OptimalSelection(n_thresholds=n, per_feature=caps).select(table, *rows)

    def allowed(names):
        of = {column: sum(name.startswith(column) for name in names) for column in COLUMNS}
        return all(of[column] <= (caps if isinstance(caps, int) else caps.get(column, 9)) for column in COLUMNS)

    assert found.n_thresholds == min(n, most)
    assert allowed(found.thresholds.names())
    assert found.inconsistency == pytest.approx(best_of(table, *rows, found.n_thresholds, allowed))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_max_features_limits_the_columns(table, rows, n):
    found = OptimalSelection(n_thresholds=n, max_features=1).select(table, *rows)
    assert found.n_thresholds == min(n, 3)
    assert len(found.thresholds.features_used) == 1
    best = best_of(table, *rows, found.n_thresholds, lambda names: len({name.split()[0] for name in names}) == 1)
    assert found.inconsistency == pytest.approx(best)


def test_all_limits_together(table, rows):
    limits = {"keep": ["age > 50"], "forbid": ["income > 3"], "per_feature": {"debt": 1}, "max_features": 2}
    found = OptimalSelection(n_thresholds=3, **limits).select(table, *rows)

    def allowed(names):
        columns = [name.split()[0] for name in names]
        return "age > 50" in names and "income > 3" not in names and columns.count("debt") <= 1 and len(set(columns)) <= 2

    assert allowed(found.thresholds.names())
    assert found.inconsistency == pytest.approx(best_of(table, *rows, 3, allowed))


# --- rows -----------------------------------------------------------------------------------------------------------------


def test_weights_are_rows_written_several_times_and_rows_of_weight_0_are_not_there(table, rows):
    X, y = rows
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    found = OptimalSelection(3).select(table, X, y, weight)
    again = np.repeat(np.arange(len(y)), weight)
    written = OptimalSelection(3).select(table, X.iloc[again], y[again])
    assert found.thresholds == written.thresholds
    assert found.inconsistency == pytest.approx(written.inconsistency)


def test_rows_of_weight_0_may_hold_unknown_categories():
    X = pd.DataFrame({"purpose": ["car", "tv", "car", "boat"], "income": [1.0, 2.0, None, 4.0]})
    table = ThresholdTable.from_list([("purpose", {"car"}), ("income", 1.5), ("income", None)], X)
    other = X.assign(purpose=["car", "tv", "car", "plane"])
    found = OptimalSelection(1).select(table, other, [1, 0, 1, 0], [1, 1, 1, 0])
    assert found.thresholds.names() == ['purpose = "car"']
    assert found.inconsistency == 0


def test_sets_and_missing_values_are_named_as_in_from_list():
    X = pd.DataFrame({"purpose": ["car", "tv", "car", "boat"], "income": [1.0, 2.0, None, 4.0]})
    table = ThresholdTable.from_list([("purpose", {"car"}), ("purpose", {"tv"}), ("income", 1.5), ("income", None)], X)
    found = OptimalSelection(2, keep=[("purpose", {"tv"}), ("income", None)]).select(table, X, [0, 1, 0, 1])
    assert found.thresholds.names() == ['purpose = "tv"', "income is missing"]


def test_columns_in_another_order_are_refused(table, rows):
    X, y = rows
    with pytest.raises(InvalidInputError, match="another order"):
        OptimalSelection(2).select(table, X[COLUMNS[::-1]], y)
    with pytest.raises(InvalidInputError, match="lacks 'debt'"):
        OptimalSelection(2).select(table, X.drop(columns="debt"), y)


def test_one_class_leaves_nothing_undecided(table, rows):
    assert OptimalSelection(1).select(table, rows[0], np.ones(300)).inconsistency == 0


# --- time ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hard():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 8)).round(2)
    y = (X @ rng.normal(size=8) + rng.normal(size=400) > 0).astype(int)
    cuts = [(f"x{j}", t) for j in range(8) for t in (-1.2, -0.8, -0.4, 0.0, 0.4, 0.8, 1.2)]
    return ThresholdTable.from_list(cuts, [f"x{j}" for j in range(8)]), X, y


def test_a_search_without_time_still_ends_in_an_admissible_set_with_a_bound(hard):
    selection = OptimalSelection(12, keep=["x3 > 0"], forbid=["x1"], per_feature=3, max_features=5, time_limit=0)
    with pytest.warns(UnfinishedSearchWarning, match="time limit of 0 s"):
        found = selection.select(*hard)
    names = found.thresholds.names()
    columns = [name.split()[0] for name in names]
    assert len(names) == 12
    assert "x3 > 0" in names
    assert "x1" not in columns
    assert len(set(columns)) <= 5
    assert max(columns.count(column) for column in columns) <= 3
    assert not found.is_optimal
    assert 0 <= found.lower_bound <= found.inconsistency


def test_fewest_without_time_is_good_enough_and_honest(hard):
    with pytest.warns(UnfinishedSearchWarning, match="not proven to be the fewest"):
        found = OptimalSelection(max_inconsistency=0.1, time_limit=0).select(*hard)
    assert found.inconsistency <= 0.1
    assert found.n_thresholds_bound == 1 < found.n_thresholds
    assert not found.is_optimal
    assert "at least 1 are needed" in found.proof
    with pytest.warns(UnfinishedSearchWarning):
        limited = OptimalSelection(max_inconsistency=0.25, per_feature=2, max_features=6, time_limit=0).select(*hard)
    columns = [name.split()[0] for name in limited.thresholds.names()]
    assert limited.inconsistency <= 0.25
    assert len(set(columns)) <= 6
    assert max(columns.count(column) for column in columns) <= 2


def test_an_unreached_share_after_a_timeout_is_an_error(hard):
    with pytest.raises(InvalidInputError, match="The search was stopped by a limit before") as error:
        OptimalSelection(max_inconsistency=0.001, per_feature=1, time_limit=0).select(*hard)
    assert "Raise time_limit" in str(error.value)


# --- what is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "one of n_thresholds and max_inconsistency"),
        ({"n_thresholds": 2, "max_inconsistency": 0.1}, "one of n_thresholds and max_inconsistency"),
        ({"n_thresholds": 0}, "n_thresholds must be a whole number of at least 1, got 0"),
        ({"n_thresholds": 2.0}, "n_thresholds must be a whole number"),
        ({"n_thresholds": True}, "n_thresholds must be a whole number"),
        ({"max_inconsistency": -0.1}, "max_inconsistency must be a share from 0 to 1"),
        ({"max_inconsistency": 1.1}, "max_inconsistency must be a share"),
        ({"max_inconsistency": float("nan")}, "max_inconsistency must be a share"),
        ({"max_inconsistency": "few"}, "max_inconsistency must be a share"),
        ({"n_thresholds": 2, "max_features": 0}, "max_features must be a whole number of at least 1"),
        ({"n_thresholds": 2, "keep": ["age > 31"]}, "Did you mean 'age > 30'"),
        ({"n_thresholds": 2, "keep": [("age", 31)]}, "unknown condition 'age > 31'"),
        ({"n_thresholds": 2, "keep": [("wage", 31)]}, "No column named 'wage'"),
        ({"n_thresholds": 2, "keep": ["age"]}, "unknown condition 'age'"),
        ({"n_thresholds": 2, "keep": [7]}, "position 7, but positions go from 0 to 6"),
        ({"n_thresholds": 2, "keep": [3.5]}, "'keep' has 3.5"),
        ({"n_thresholds": 2, "keep": [("age", 30, 40)]}, "'keep' has"),
        ({"n_thresholds": 2, "keep": "age > 30"}, "'keep' must be a list"),
        ({"n_thresholds": 2, "keep": ("age", 30)}, "'keep' must be a list"),
        ({"n_thresholds": 2, "forbid": ["incme"]}, "Did you mean 'income'"),
        ({"n_thresholds": 2, "forbid": 3}, "'forbid' must be a list"),
        ({"n_thresholds": 2, "keep": ["age > 30"], "forbid": ["age"]}, "'age > 30' is in both 'keep' and 'forbid'"),
        ({"n_thresholds": 1, "keep": [0, 1]}, "'keep' has 2 conditions, but n_thresholds=1"),
        ({"n_thresholds": 3, "keep": [0, 1], "per_feature": 1}, "'keep' has 2 conditions on column 'age'"),
        ({"n_thresholds": 3, "keep": [0, 3], "max_features": 1}, "'keep' are on 2 columns, but max_features=1"),
        ({"n_thresholds": 3, "per_feature": 0}, "per_feature must be a whole number of at least 1"),
        ({"n_thresholds": 3, "per_feature": 1.5}, "per_feature must be a whole number"),
        ({"n_thresholds": 3, "per_feature": {"incme": 1}}, "Did you mean 'income'"),
        ({"n_thresholds": 3, "per_feature": {"income": -1}}, "at least 0, got -1"),
        ({"n_thresholds": 3, "forbid": COLUMNS}, "'forbid' and 'per_feature' together exclude every condition"),
        ({"n_thresholds": 3, "fit_to": "model"}, "fit_to must be 'labels' or 'target'"),
        ({"n_thresholds": 3, "time_limit": -1}, "time_limit must be a number of seconds"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(table, rows, parameters, words):
    with pytest.raises(InvalidInputError, match=re.escape(words)):
        OptimalSelection(**parameters).select(table, *rows)


def test_rows_and_tables_that_do_not_fit_are_refused(table, rows):
    X, y = rows
    empty = table.select(np.zeros(7, dtype=bool))
    with pytest.raises(InvalidInputError, match="no conditions to choose from"):
        OptimalSelection(2).select(empty, X, y)
    with pytest.raises(InvalidInputError, match="must be a ThresholdTable"):
        OptimalSelection(2).select(CONDITIONS, X, y)
    with pytest.raises(InvalidInputError, match=r"same number of rows \(300 and 299\)"):
        OptimalSelection(2).select(table, X, y[1:])
    with pytest.raises(InvalidInputError, match="no rows"):
        OptimalSelection(2).select(table, X.iloc[:0], y[:0])
    with pytest.raises(ValueError, match="continuous"):
        OptimalSelection(2).select(table, X, X["age"])
    with pytest.raises(InvalidInputError, match="sample_weight"):
        OptimalSelection(2).select(table, X, y, -np.ones(300))


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        ({}, lambda names: True),
        ({"per_feature": 1}, lambda names: len({name.split()[0] for name in names}) == len(names)),
        ({"max_features": 2}, lambda names: len({name.split()[0] for name in names}) <= 2),
        ({"forbid": ["income"]}, lambda names: not any("income" in name for name in names)),
    ],
    ids=["none", "per_feature", "max_features", "forbid"],
)
def test_an_error_names_the_least_reachable_share(table, rows, limits, allowed):
    sizes = [n for n in range(1, 8) if any(allowed(names) for names in combinations(table.names(), n))]
    least = min(best_of(table, *rows, n, allowed) for n in sizes)
    with pytest.raises(InvalidInputError, match="all conditions together have") as error:
        OptimalSelection(max_inconsistency=least - 1e-6, **limits).select(table, *rows)
    named = str(error.value).partition(". Raise max_inconsistency")[0]
    assert float(named.rsplit(" ", 1)[1]) == pytest.approx(least, rel=1e-5)
    assert OptimalSelection(max_inconsistency=least, **limits).select(table, *rows).inconsistency == pytest.approx(least)


# --- as an object ---------------------------------------------------------------------------------------------------------


def test_the_selection_is_copied_and_pickled_like_an_estimator(table, rows):
    selection = OptimalSelection(3, keep=["age > 30"], forbid=["debt"], per_feature={"income": 2})
    copied = clone(selection)
    assert copied.get_params() == selection.get_params()
    assert pickle.loads(pickle.dumps(selection)).select(table, *rows) == selection.select(table, *rows)
    assert selection.set_params(n_thresholds=2).select(table, *rows).n_thresholds == 2


def test_a_found_selection_is_equal_to_its_pickle_and_only_to_its_like(table, rows):
    found = OptimalSelection(3).select(table, *rows)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != OptimalSelection(2).select(table, *rows)
    assert found != "selection"


def test_repr_lists_the_conditions(table, rows):
    found = OptimalSelection(2).select(table, *rows)
    text = repr(found)
    assert text.startswith("Selection of 2 of 7 conditions, inconsistency ")
    assert "(proven optimal)" in text
    assert all(name in text for name in found.thresholds.names())
    html = found._repr_html_()
    assert all(name.replace(">", "&gt;") in html for name in found.thresholds.names())


def test_an_unfinished_selection_shows_its_gap(table):
    unfinished = Selection(table, np.arange(7) < 3, 0.103, 0.1, False, 10, 3)
    assert unfinished.proof == "not proven; no choice is below 10 %"
    assert unfinished.gap == pytest.approx(0.003 / 0.103)


@pytest.mark.parametrize(
    ("inconsistency", "bound", "text"),
    [
        (0.0, 0.0, "proven optimal, except for ties"),
        (0.103, 0.103, "proven optimal, except for ties"),
        (0.103, 0.0, "not proven: the search ended before it had a lower bound"),
        (0.103, 1e-17, "not proven: the search ended before it had a lower bound"),
        (6 / 455, 3 / 455, "not proven; no choice is below 0.659 %"),
        (0.9, 0.29, "not proven; no choice is below 29 %"),
        (0.2, 0.19999, "not proven; no choice is below 19.9 %"),
        (0.2, 0.000012345, "not proven; no choice is below 0.00123 %"),
    ],
)
def test_an_unfinished_selection_gives_its_lower_bound_rounded_down(table, inconsistency, bound, text):
    assert Selection(table, np.arange(7) < 3, inconsistency, bound, False, 10, 3).proof == text


def test_weights_too_small_to_compute_with_are_refused():
    table = ThresholdTable.from_list([("a", 0.5)], ["a"])
    with pytest.raises(InvalidInputError, match="too small for exact sums"):
        OptimalSelection(n_thresholds=1).select(table, [[0.0], [1.0]], [0, 1], np.full(2, 1e-315))


def test_a_limit_of_branches_ends_the_search_the_same_way_every_time():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 6))
    y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] > 0).astype(int)
    cuts = [(f"x{j}", cut) for j in range(6) for cut in np.linspace(-1, 1, 7)]
    own = ThresholdTable.from_list(cuts, [f"x{j}" for j in range(6)])
    with pytest.warns(UnfinishedSearchWarning, match="limit of 5 branches"):
        first = OptimalSelection(n_thresholds=6, max_nodes=5).select(own, X, y)
    assert first.n_nodes == 5
    assert not first.is_optimal
    assert 0 < first.lower_bound < first.inconsistency
    with pytest.warns(UnfinishedSearchWarning):
        assert OptimalSelection(n_thresholds=6, max_nodes=5).select(own, X, y) == first


def test_an_iterator_is_no_list_of_conditions(table, rows):
    with pytest.raises(InvalidInputError, match="'keep' must be a list"):
        OptimalSelection(2, keep=(name for name in table.names())).select(table, *rows)
