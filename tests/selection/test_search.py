"""The selection search: the least cost with proof, under limits, a ceiling and timeouts."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fcca import ThresholdTable
from fcca.selection._selection_problem import SelectionProblem
from selection.instances import by_chance, exclusive_or, random_instance, random_instances, real_instance
from selection.oracles import NO_LIMITS, TOLERANCE, cost_by_definition

FEW = [pytest.param(60, id="quick"), pytest.param(400, id="full", marks=pytest.mark.verify)]
MANY = [pytest.param(150, id="quick"), pytest.param(1500, id="full", marks=pytest.mark.verify)]


def problem_of(table, X, y, weight):
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    counted = weight > 0
    return SelectionProblem.of(table, table.encoded(X)[counted], np.asarray(y)[counted], weight[counted])


def solved(instance, k=None, **given):
    """The result of the search for an instance."""
    table, limits = instance.table, instance.limits
    n_features = len(table.feature_names)
    state = np.zeros(len(table), dtype=np.int8)
    state[list(limits.keep)], state[list(limits.forbid)] = 1, 2
    caps = [len(table)] * n_features if limits.per_feature is None else limits.per_feature
    problem = problem_of(table, instance.X, instance.y, instance.weight)
    return problem.solve(
        instance.k if k is None else k,
        state=state,
        per_feature=np.array(caps, dtype=np.int32),
        max_features=n_features if limits.max_features is None else limits.max_features,
        **given,
    )


def cost_of(instance, kept):
    weight = np.ones(len(instance.y)) if instance.weight is None else instance.weight
    return cost_by_definition(instance.B, instance.y, weight, kept)


def same(instance, left, right):
    return abs(left - right) <= TOLERANCE * instance.total


def at_most(instance, left, right):
    return left <= right + TOLERANCE * instance.total


def assert_is_a_set(instance, found, k=None):
    """So many conditions, each once, that keep the limits and cost what the search says."""
    kept = np.asarray(found.kept)
    assert len(kept) == (instance.k if k is None else k), instance
    assert np.array_equal(kept, np.unique(kept)), instance
    assert instance.limits.admits(kept[None, :], instance.table.feature)[0], (instance, kept)
    assert same(instance, found.cost, cost_of(instance, kept)), (instance, found)


def assert_best(instance, found, best, k=None):
    assert found.is_optimal, instance
    assert_is_a_set(instance, found, k)
    assert same(instance, found.cost, best.cost), (instance, found, best)
    assert found.bound == found.cost, (instance, found)
    if instance.ties_are_exact:
        assert tuple(np.asarray(found.kept).tolist()) in best.sets, (instance, found, best)


def answerable(instances):
    """The feasible instances, each with its optimum."""
    for instance in instances:
        if (best := instance.best()) is not None:
            yield instance, best


@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
@pytest.mark.parametrize("n_instances", MANY)
def test_least_cost_and_then_largest_count_match_enumeration(n_instances, limited):
    for instance, best in answerable(random_instances(n_instances, 14, 40, limited, seed=10)):
        assert_best(instance, solved(instance), best)


@pytest.mark.parametrize("n_instances", FEW)
def test_no_set_is_found_where_none_keeps_the_limits(n_instances):
    n_without = 0
    for instance in random_instances(n_instances, 10, 20, limited=True, seed=11):
        has_to_be = np.array(instance.limits.keep, dtype=int)[None, :]
        contradicts = not instance.limits.admits(has_to_be, instance.table.feature)[0]  # refused before any search
        if instance.best() is None and not contradicts:
            n_without += 1
            assert solved(instance).kept is None, instance
    assert n_without > n_instances / 10


@pytest.mark.parametrize("n_instances", FEW)
def test_a_ceiling_on_the_optimum_is_met_and_one_below_it_is_not(n_instances):
    for instance, best in answerable(random_instances(n_instances, 10, 40, limited=True, seed=12)):
        for above in (TOLERANCE, 0.01, 1.0):
            assert_best(instance, solved(instance, ceiling=best.cost + above * instance.total), best)
        below = best.cost - 1e-3 * instance.total
        if below >= 0:
            found = solved(instance, ceiling=below)
            assert found.kept is None, (instance, found, best)
            assert below < found.bound, (instance, found, best)
            assert at_most(instance, found.bound, best.cost), (instance, found, best)


@pytest.mark.parametrize("time_limit", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("n_instances", FEW)
def test_the_bound_holds_whenever_time_runs_out(n_instances, time_limit):
    for instance, best in answerable(random_instances(n_instances, 14, 40, limited=True, seed=13)):
        assert_honest(instance, solved(instance, time_limit=time_limit), best)


@pytest.mark.parametrize("time_limit", [0.0, 1e-3, 0.02, 0.1])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.verify), pytest.param(2, marks=pytest.mark.verify)])
def test_the_bound_holds_on_searches_that_take_long(seed, time_limit):
    instance = random_instance([14, seed], 20, 60, k=7, n_features=8, most_classes=2, labels=by_chance)
    assert_honest(instance, solved(instance, time_limit=time_limit), instance.best())


def assert_honest(instance, found, best):
    """Check that the bound is valid and the status correct."""
    assert at_most(instance, found.bound, best.cost), (instance, found, best)
    assert found.bound >= 0
    if found.kept is not None:
        assert_is_a_set(instance, found)
        assert at_most(instance, best.cost, found.cost), (instance, found, best)
        assert found.bound <= found.cost
    if found.is_optimal:
        assert_best(instance, found, best)


@pytest.mark.parametrize("n_instances", FEW)
def test_rows_in_another_order_give_the_same_set(n_instances):
    for i, (instance, _) in enumerate(answerable(random_instances(n_instances, 14, 40, limited=True, seed=15))):
        found = solved(instance)
        order = np.random.default_rng(i).permutation(len(instance.y))
        shuffled = solved(instance.of_rows(order))
        assert np.array_equal(found.kept, solved(instance).kept), instance
        assert np.array_equal(found.kept, shuffled.kept), (instance, found, shuffled)


@pytest.mark.parametrize("n_instances", FEW)
def test_weight_two_is_the_row_twice_and_weight_zero_none(n_instances):
    for i, instance in enumerate(random_instances(n_instances, 14, 30, seed=16)):
        weight = np.random.default_rng(i).integers(0, 4, len(instance.y)).astype(float)
        weight[0] = 1.0
        weighted = solved(replace(instance, weight=weight))
        rows = np.repeat(np.arange(len(instance.y)), weight.astype(int))
        repeated = solved(replace(instance.of_rows(rows), weight=None))
        assert np.array_equal(weighted.kept, repeated.kept), instance
        assert weighted.cost == repeated.cost, instance


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 2.0**-30, 1e9, 1e290])
def test_the_unit_of_the_weights_does_not_matter(factor):
    for instance, best in answerable(random_instances(40, 12, 40, limited=True, seed=17)):
        weight = factor * (np.ones(len(instance.y)) if instance.weight is None else instance.weight)
        found = solved(replace(instance, weight=weight))
        assert found.is_optimal, instance
        assert same(instance, found.cost / factor, best.cost), (instance, found, best)
        if instance.ties_are_exact:
            assert tuple(np.asarray(found.kept).tolist()) in best.sets, (instance, found, best)


@pytest.mark.parametrize("decimals", [1, 3, 6])
@pytest.mark.parametrize("n_instances", FEW)
def test_decimal_weights_tie_as_whole_ones_do(n_instances, decimals):
    """Though 0.1 + 0.2 is not 0.3."""
    for i, instance in enumerate(random_instances(n_instances, 10, 40, seed=24)):
        weight = np.random.default_rng(i).integers(1, 10, len(instance.y))
        whole = solved(replace(instance, weight=weight.astype(float)))
        assert np.array_equal(solved(replace(instance, weight=weight / 10**decimals)).kept, whole.kept), instance


@pytest.mark.parametrize("n_instances", FEW)
def test_columns_in_another_order_give_the_same_optimum(n_instances):
    for i, instance in enumerate(random_instances(n_instances, 14, 40, seed=18)):
        table, order = instance.table, np.random.default_rng(i).permutation(len(instance.table.feature_names))
        names = [table.feature_names[j] for j in order]
        moved, _ = ThresholdTable.from_counts(names, np.argsort(order)[table.feature], table.threshold, table.count)
        other = replace(instance, table=moved, X=instance.X[:, order])
        found, again = solved(instance), solved(other)
        assert same(instance, found.cost, again.cost), instance
        assert np.isclose(table.count[found.kept].sum(), moved.count[again.kept].sum(), rtol=1e-12), instance


@pytest.mark.parametrize("n_instances", FEW)
def test_one_more_condition_never_costs_more(n_instances):
    for instance in random_instances(n_instances, 12, 40, seed=19):
        costs = [solved(instance, k).cost for k in range(1, len(instance.table) + 1)]
        assert all(at_most(instance, more, fewer) for fewer, more in pairwise(costs)), (instance, costs)
        everything = cost_of(instance, range(len(instance.table)))
        assert same(instance, costs[-1], everything), instance


def test_all_conditions_to_be_kept_leave_nothing_to_search():
    for instance in random_instances(20, 8, 30, seed=20):
        everything = tuple(range(len(instance.table)))
        kept = replace(instance, k=len(everything), limits=replace(NO_LIMITS, keep=everything))
        assert_best(kept, solved(kept), kept.best())


def test_nothing_is_searched_where_nothing_can_be_better():
    """Many sets cost nothing and have the same sum of counts: the first one found will do."""
    instance = real_instance("wine", "midpoints", 12)
    assert len(np.unique(instance.table.count)) == 1
    for k in (10, 12, 15):
        found = solved(instance, k, time_limit=20.0)
        assert found.is_optimal, (k, found)
        assert found.cost == 0
        assert found.n_nodes < 1000, (k, found)


def test_labels_that_no_single_condition_explains_are_explained_by_the_pair():
    """Greedy takes neither of the two conditions whose exclusive or is the label: a third one helps more at first."""
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (400, 6)).astype(float)
    label = X[:, 1].astype(int) ^ X[:, 4].astype(int)
    X[:, 2] = np.where(random.random(400) < 0.7, label, 1 - label)
    table = ThresholdTable.from_list([(f"x{j}", 0.5) for j in range(6)], [f"x{j}" for j in range(6)])
    problem = problem_of(table, X, label, None)
    free = {"state": np.zeros(6, dtype=np.int8), "per_feature": np.full(6, 6, dtype=np.int32), "max_features": 6}
    found = problem.solve(2, **free)
    assert found.kept is not None
    assert found.kept.tolist() == [1, 4]
    assert found.cost == 0
    assert problem.cost(np.array(problem.greedy(2))) > 0


@pytest.mark.parametrize("labels", [by_chance, exclusive_or])
@pytest.mark.parametrize(("n_conditions", "k"), [(70, 2), pytest.param(130, 2, marks=pytest.mark.verify)])
def test_more_conditions_than_a_word_has_bits_match_enumeration(n_conditions, k, labels):
    for seed in range(3):
        instance = random_instance([21, seed], n_conditions, 40, k=k, n_features=12, labels=labels)
        assert_best(instance, solved(instance), instance.best())


@pytest.mark.verify
@pytest.mark.parametrize(
    ("n_conditions", "n_features", "k"), [(90, 12, 3), (330, 40, 2), (330, 1, 2), (330, 330, 2), (64, 9, 4)]
)
def test_hundreds_of_conditions_match_enumeration(n_conditions, k, n_features):
    for seed in range(4):
        instance = random_instance([22, seed], n_conditions, 30, k=k, n_features=n_features)
        assert_best(instance, solved(instance), instance.best())


@pytest.mark.parametrize("n_instances", FEW)
def test_problems_too_large_to_enumerate_match_the_mixed_integer_program(n_instances):
    for i in range(n_instances // 10):
        instance = random_instance([23, i], 40, 18, limited=bool(i % 2), n_features=8)
        found, expected = solved(instance), instance.milp_cost()
        if expected == np.inf:
            assert found.kept is None, instance
            continue
        assert found.is_optimal, instance
        assert_is_a_set(instance, found)
        assert same(instance, found.cost, expected), (instance, found, expected)
