"""No other admissible set of conditions is better: by enumeration of all sets, and by a mixed-integer program."""

import warnings
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from fcca import ThresholdTable
from fcca.exceptions import InvalidInputError, UnfinishedSearchWarning
from fcca.metrics import inconsistency_rate
from fcca.selection import OptimalSelection
from selection.instances import (
    DATA_SETS,
    Instance,
    exclusive_or,
    random_instance,
    random_instances,
    real_instance,
    with_categories,
)
from selection.oracles import TOLERANCE, Limits, cost_by_definition

FEW = [pytest.param(30, id="quick"), pytest.param(200, id="full", marks=pytest.mark.verify)]
MANY = [pytest.param(120, id="quick"), pytest.param(600, id="full", marks=pytest.mark.verify)]


def selected(instance, **changes):
    """By its public name."""
    given = instance.options() | changes
    if "max_inconsistency" not in changes:
        given.setdefault("n_thresholds", instance.k)
    return OptimalSelection(**given).select(instance.table, instance.X, instance.y, instance.weight)


def share(instance, kept):
    """The inconsistency of a set by the metric of that name."""
    return inconsistency_rate(instance.B[:, kept], instance.y, instance.weight)


def same(left, right):
    return abs(left - right) <= TOLERANCE


def assert_recomputed(instance, selection):
    """To the last digit where weights are whole; sums of others depend on their order."""
    tolerance = 0 if instance.weight is None else 1e-12
    assert abs(selection.inconsistency - share(instance, selection.kept)) <= tolerance, (instance, selection)


def assert_best(instance, selection, best, k=None):
    """Check the proof, the enumerated inconsistency, and that of the best sets one crossed most is taken."""
    assert selection.is_optimal, instance
    assert selection.n_thresholds == (instance.k if k is None else k), instance
    assert_recomputed(instance, selection)
    assert selection.lower_bound == selection.inconsistency, instance
    assert selection.gap == 0, instance
    assert same(selection.inconsistency, best.cost / instance.total), (instance, selection, best)
    if instance.ties_are_exact:
        assert tuple(np.flatnonzero(selection.kept).tolist()) in best.sets, (instance, selection, best)


def answerable(instances, best=Instance.best):
    """The feasible instances, each with its optimum."""
    for instance in instances:
        if (answer := best(instance)) is not None:
            yield instance, answer


# --- the oracles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_instances", FEW)
def test_the_oracles_agree_with_each_other_and_with_the_definition(n_instances):
    for instance in random_instances(n_instances, 12, 25, limited=True, seed=30):
        best, by_program = instance.best(), instance.milp_cost()
        if best is None:
            assert by_program == np.inf, instance
            continue
        assert same(best.cost / instance.total, by_program / instance.total), (instance, best, by_program)
        weight = np.ones(len(instance.y)) if instance.weight is None else instance.weight
        for chosen in best.sets[:3]:
            assert same(
                cost_by_definition(instance.B, instance.y, weight, chosen) / instance.total, best.cost / instance.total
            )
            assert same(share(instance, list(chosen)), best.cost / instance.total), instance


# --- the optimum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_instances", MANY)
def test_random_tables_match_enumeration(n_instances):
    for instance, best in answerable(random_instances(n_instances, 20, 40, seed=31)):
        assert_best(instance, selected(instance), best)


@pytest.mark.parametrize("n_instances", MANY)
def test_keep_forbid_and_caps_match_enumeration(n_instances):
    for instance, best in answerable(random_instances(n_instances, 20, 40, limited=True, seed=32)):
        assert_best(instance, selected(instance), best)


@pytest.mark.parametrize("n_instances", FEW)
def test_too_large_numbers_stand_for_all_admissible_conditions(n_instances):
    """And an error where the limits contradict each other."""
    n_fewer = n_refused = 0
    for instance in random_instances(2 * n_instances, 12, 30, limited=True, seed=46):
        if instance.best() is not None:
            continue
        fewer = [k for k in range(1, instance.k) if instance.best(k) is not None]
        if fewer:
            n_fewer += 1
            assert_best(instance, selected(instance), instance.best(fewer[-1]), fewer[-1])
        else:
            n_refused += 1
            with pytest.raises(InvalidInputError):
                selected(instance)
    assert min(n_fewer, n_refused) > 2


@pytest.mark.parametrize("n_instances", FEW)
def test_labels_that_lead_greedy_astray_match_enumeration(n_instances):
    """Greedy must be above the optimum in some of them."""
    n_astray = 0
    for i in range(n_instances):
        instance = random_instance([33, i], 14, 60, k=3, n_features=7, labels=exclusive_or)
        best = instance.best()
        assert_best(instance, selected(instance), best)
        frontier = OptimalSelection().frontier(instance.table, instance.X, instance.y, [instance.k], instance.weight)
        n_astray += frontier.greedy[0] > best.cost / instance.total + TOLERANCE
    assert n_astray > n_instances / 5


@pytest.mark.parametrize("n_instances", FEW)
def test_categories_and_missing_values_match_enumeration(n_instances):
    for instance, best in answerable(with_categories(seed, 1 + seed % 5) for seed in range(n_instances)):
        assert_best(instance, selected(instance), best)


@pytest.mark.parametrize(
    ("n_instances", "n_conditions", "n_rows"),
    [pytest.param(6, 40, 18, id="quick"), pytest.param(20, 60, 22, id="full", marks=pytest.mark.verify)],
)
def test_larger_tables_match_the_mixed_integer_program(n_instances, n_conditions, n_rows):
    for i in range(n_instances):
        instance = random_instance([34, i], n_conditions, n_rows, k=2 + i % 5, limited=bool(i % 2), n_features=9)
        expected = instance.milp_cost()
        if expected < np.inf:
            selection = selected(instance)
            assert selection.is_optimal, instance
            assert same(selection.inconsistency, expected / instance.total), (instance, selection, expected)


REAL = [*product(("iris", "wine"), ("FCCA", "midpoints"), (1, 2, 3)), ("breast cancer", "FCCA", 2)]
SLOW = [
    *product(DATA_SETS, ("GTRE",), (1, 2, 3)),
    *(("breast cancer", discretizer, k) for discretizer in ("FCCA", "midpoints") for k in (1, 3)),
    ("wine", "FCCA", 5),
    ("iris", "FCCA", 6),
]


@pytest.mark.parametrize(
    ("data_set", "discretizer", "k"), [*REAL, *(pytest.param(*one, marks=pytest.mark.verify) for one in SLOW)]
)
def test_real_tables_match_enumeration(data_set, discretizer, k):
    instance = real_instance(data_set, discretizer, k)
    assert_best(instance, selected(instance), instance.best())


def test_one_row_or_one_label_has_no_inconsistency():
    for instance in random_instances(20, 10, 20, seed=35):
        one_row = instance.of_rows(np.array([0]), weight=np.array([0.1]))
        one_label = replace(instance, y=np.full(len(instance.y), "a"))
        for easy in (one_row, one_label):
            assert_best(easy, selected(easy), easy.best())
            assert same(selected(easy).inconsistency, 0)


# --- the fewest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
@pytest.mark.parametrize("n_instances", FEW)
def test_the_fewest_conditions_within_a_share_match_enumeration(n_instances, limited):
    for instance in random_instances(n_instances, 9, 40, limited=limited, seed=36):
        bests = {k: instance.best(k) for k in range(1, len(instance.table) + 1)}
        bests = {k: best for k, best in bests.items() if best is not None}
        for best in bests.values():
            on = share(instance, list(best.sets[0]))
            for limit in {on, max(0.0, on - 1e-6), min(1.0, on + 1e-6)}:
                enough = [k for k, best in bests.items() if best.cost / instance.total <= limit + TOLERANCE]
                if not enough:
                    continue
                selection = selected(instance, max_inconsistency=limit)
                assert_best(instance, selection, bests[enough[0]], enough[0])
                assert selection.n_thresholds_bound == enough[0], (instance, limit)
                assert selection.inconsistency <= limit + TOLERANCE, (instance, limit)


# --- a stopped search -------------------------------------------------------------------------------------------------


def hard(seed):
    """Takes longer than a moment: many halves of rows, none of which helps alone."""
    return random_instance([37, seed], 20, 60, k=6, n_features=9, most_classes=2, labels=exclusive_or)


@pytest.mark.parametrize("time_limit", [0, 1e-3, 0.05])
@pytest.mark.parametrize("n_instances", FEW)
def test_the_bounds_of_a_stopped_search_are_valid(n_instances, time_limit):
    instances = [*random_instances(n_instances, 14, 40, limited=True, seed=38), *map(hard, range(n_instances // 15))]
    for instance, best in answerable(instances):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            selection = selected(instance, time_limit=time_limit)
        assert selection.is_optimal != any(one.category is UnfinishedSearchWarning for one in caught), instance
        least = best.cost / instance.total
        assert selection.n_thresholds == instance.k, instance
        assert instance.limits.admits(np.flatnonzero(selection.kept)[None, :], instance.table.feature)[0], instance
        assert_recomputed(instance, selection)
        assert 0 <= selection.lower_bound <= min(selection.inconsistency, least + TOLERANCE), (instance, selection, best)
        assert selection.inconsistency >= least - TOLERANCE, (instance, selection, best)
        expected = 1 - selection.lower_bound / selection.inconsistency if selection.inconsistency > 0 else 0.0
        assert selection.gap == pytest.approx(expected, abs=1e-12), instance
        if selection.is_optimal:
            assert_best(instance, selection, best)


@pytest.mark.parametrize("n_instances", FEW)
def test_the_bounds_of_a_stopped_search_for_the_fewest_are_valid(n_instances):
    for instance in random_instances(n_instances, 10, 40, seed=39):
        bests = [instance.best(k).cost / instance.total for k in range(1, len(instance.table) + 1)]
        limit = bests[len(bests) // 2]
        fewest = next(k for k, least in enumerate(bests, 1) if least <= limit + TOLERANCE)
        for time_limit in (1e-5, 1e-3, 0.05):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnfinishedSearchWarning)
                selection = selected(instance, max_inconsistency=limit, time_limit=time_limit)
            assert selection.inconsistency <= limit + TOLERANCE, instance
            assert selection.n_thresholds_bound <= fewest <= selection.n_thresholds, (instance, selection)
            assert selection.lower_bound <= bests[selection.n_thresholds - 1] + TOLERANCE, (instance, selection)
            if selection.is_optimal:
                assert selection.n_thresholds == fewest, (instance, selection)


# --- the frontier -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_instances", FEW)
def test_the_frontier_is_the_selections_and_never_above_simpler_choices(n_instances):
    for instance in random_instances(n_instances, 10, 40, seed=40):
        numbers = range(1, len(instance.table) + 1)
        frontier = OptimalSelection().frontier(instance.table, instance.X, instance.y, numbers, instance.weight)
        assert [one.n_thresholds for one in frontier] == list(numbers), instance
        for k, one in zip(numbers, frontier, strict=True):
            assert_best(instance, one, instance.best(k), k)
            assert np.array_equal(one.kept, selected(instance, n_thresholds=k).kept), instance
        for one, frequency, greedy in zip(frontier, frontier.frequency, frontier.greedy, strict=True):
            assert one.inconsistency <= min(frequency, greedy) + TOLERANCE, instance
        assert all(more.inconsistency <= fewer.inconsistency + TOLERANCE for fewer, more in pairwise(frontier)), instance


@pytest.mark.parametrize("n_instances", FEW)
def test_greedy_and_most_frequent_match_their_definitions(n_instances):
    """With whole weights, where equal is equal."""
    for instance in random_instances(n_instances, 10, 40, seed=41):
        instance = replace(instance, weight=None)
        table, n = instance.table, len(instance.table)
        frontier = OptimalSelection().frontier(table, instance.X, instance.y, range(1, n + 1))
        frequent = sorted(range(n), key=lambda t: (-table.count[t], t))
        taken = []
        for at in range(n):
            left = [t for t in range(n) if t not in taken]
            costs = [cost_by_definition(instance.B, instance.y, np.ones(len(instance.y)), [*taken, t]) for t in left]
            taken.append(min(zip(costs, -table.count[left], left, strict=True))[2])
            assert frontier.greedy[at] == share(instance, taken), instance
            assert frontier.frequency[at] == share(instance, frequent[: at + 1]), instance


@pytest.mark.parametrize("data_set", DATA_SETS)
def test_real_frontiers_are_proven_and_never_above_simpler_choices(data_set):
    instance = real_instance(data_set, "FCCA", 1)
    frontier = OptimalSelection().frontier(instance.table, instance.X, instance.y, range(1, 6))
    for one, frequency, greedy in zip(frontier, frontier.frequency, frontier.greedy, strict=True):
        assert one.is_optimal, instance
        assert one.inconsistency == share(instance, one.kept), instance
        assert one.inconsistency <= min(frequency, greedy), instance
    assert all(more.inconsistency <= fewer.inconsistency for fewer, more in pairwise(frontier)), instance


# --- the same question, put differently -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_instances", FEW)
def test_the_answer_does_not_depend_on_the_order_of_rows(n_instances):
    instances = [
        *random_instances(n_instances, 12, 40, limited=True, seed=42),
        *(with_categories(seed, 3) for seed in range(6)),
    ]
    for i, (instance, _) in enumerate(answerable(instances)):
        order = np.random.default_rng(i).permutation(len(instance.y))
        once = selected(instance)
        assert once == selected(instance), instance
        assert np.array_equal(once.kept, selected(instance.of_rows(order)).kept), instance


@pytest.mark.parametrize("n_instances", FEW)
def test_the_optimum_does_not_depend_on_the_order_of_columns(n_instances):
    for i, instance in enumerate(random_instances(n_instances, 14, 40, seed=43)):
        table, order = instance.table, np.random.default_rng(i).permutation(len(instance.table.feature_names))
        names = [table.feature_names[j] for j in order]
        moved, _ = ThresholdTable.from_counts(names, np.argsort(order)[table.feature], table.threshold, table.count)
        once, again = selected(instance), selected(replace(instance, table=moved, X=instance.X[:, order]))
        assert same(once.inconsistency, again.inconsistency), instance
        assert np.isclose(once.thresholds.count.sum(), again.thresholds.count.sum(), rtol=1e-12), instance


@pytest.mark.parametrize("n_instances", FEW)
def test_weight_two_is_the_row_twice_and_weight_zero_none(n_instances):
    for i, instance in enumerate(random_instances(n_instances, 12, 30, seed=44)):
        weight = np.random.default_rng(i).integers(0, 4, len(instance.y)).astype(float)
        weight[0] = 1.0
        rows = np.repeat(np.arange(len(instance.y)), weight.astype(int))
        weighted = selected(replace(instance, weight=weight))
        repeated = selected(replace(instance.of_rows(rows), weight=None))
        assert np.array_equal(weighted.kept, repeated.kept), instance
        assert weighted.inconsistency == repeated.inconsistency, instance


def test_names_positions_and_tuples_mean_the_same_conditions():
    instance = random_instance([45, 0], 16, 40, k=5, n_features=4)
    table = instance.table
    names, j = table.names(), int(table.feature[-1])
    column = tuple(np.flatnonzero(table.feature == j).tolist())
    limited = replace(instance, limits=Limits(keep=(1, 2), forbid=column))
    best = limited.best()
    tuples = [(table.feature_names[table.feature[t]], table.threshold[t]) for t in (1, 2)]
    for keep in ([1, 2], [names[1], names[2]], tuples):
        for forbid in (list(column), [table.feature_names[j]], [names[t] for t in column]):
            assert_best(limited, selected(limited, keep=keep, forbid=forbid), best)
