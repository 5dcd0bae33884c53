"""Where the search is long or cut short: the fallback is exact too, and bounds are valid at any time."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from exactness.checks import agree
from exactness.hard_tables import HardTable
from exactness.instances import COSTS, Instance, random_additive, random_linear, small_cases
from fcca.counterfactuals import STATUSES, CounterfactualProblem
from oracles import brute_force, cell_milp, support_enumeration

DEPTH_FIRST_NODE_BUDGET = 20_000  # of core/knapsack.cpp
OPTIMAL = STATUSES.index("optimal")

# features, cuts, spread of the gains, share of the gain needed, costs
HARD = [
    (40, 1, 0.1, 0.5, (1.0, 0.0, 0.0)),
    (40, 3, 0.1, 0.5, (1.0, 0.0, 0.0)),
    (40, 3, 1.0, 0.3, (1.0, 0.0, 0.0)),
    (40, 1, 0.01, 0.5, (0.1, 0.0, 0.0)),
    (40, 2, 0.1, 0.5, (1.0, 0.01, 0.0)),
    (30, 5, 0.1, 0.5, (0.1, 1.0, 1.0)),
]


def hard_tables(n_each, seed=0):
    rng = np.random.default_rng(seed)
    return [HardTable.random(rng, *shape) for _ in range(n_each) for shape in HARD]


@pytest.mark.parametrize("n_each", [pytest.param(1, id="quick"), pytest.param(8, id="full", marks=pytest.mark.verify)])
def test_frontier_fallback_matches_milp(n_each):
    fell_back = 0
    for table in hard_tables(n_each):
        cost, bound, status, nodes = table.solve()
        fell_back += nodes > DEPTH_FIRST_NODE_BUDGET
        assert status == OPTIMAL
        assert bound == cost
        assert agree(cost, table.least_cost()), table.costs
    assert fell_back >= 4 * n_each


def test_frontier_fallback_matches_milp_on_exchangeable_features():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(1000, 40)).astype(float)
    y = (X.sum(axis=1) + 0.5 * rng.normal(size=1000) > 20).astype(int)
    estimator = GradientBoostingClassifier(n_estimators=600, max_depth=1, random_state=0).fit(X, y)
    rows = np.vstack([np.ones(40), np.zeros(40), X[np.argsort(-np.abs(estimator.decision_function(X)))[:4]]])
    instance = Instance("exchangeable", estimator, X, rows, CounterfactualProblem(1.0, 0.0, 0.0))
    found = instance.solve()
    assert found.nodes.max() > DEPTH_FIRST_NODE_BUDGET
    assert np.all(found.is_status("optimal"))
    for cost, x0 in zip(found.cost, rows, strict=True):
        assert agree(cost, cell_milp.additive_cost(estimator, X, x0, instance.problem))


@pytest.mark.parametrize("time_limit", [0, 1e-4, 3e-4, 1e-3, 3e-3])
def test_time_limit_leaves_valid_bounds_on_hard_tables(time_limit):
    for table in hard_tables(3, seed=1):
        optimum, _, status, _ = table.solve()
        assert status == OPTIMAL
        cost, bound, status, _ = table.solve(time_limit)
        assert bound <= optimum + 1e-9
        assert cost >= optimum - 1e-9
        assert STATUSES[status] in ("optimal", "feasible", "unknown")
        assert (STATUSES[status] == "unknown") == np.isinf(cost)
        assert time_limit > 0 or STATUSES[status] == "unknown"


def assert_nothing_is_claimed(instance, optimum):
    found = instance.solve(time_limit=0)
    assert set(found.status) <= {"unknown", "feasible"}, instance.name
    assert np.all(found.bound <= optimum + 1e-9), instance.name
    assert np.all(found.cost >= optimum - 1e-9), instance.name


def test_time_limit_of_zero_claims_nothing_about_additive_models():
    for instance in small_cases(120):
        optimum = [brute_force.least_cost(instance.estimator, instance.X_train, x0, instance.problem) for x0 in instance.X]
        assert_nothing_is_claimed(instance, np.array(optimum))


def test_time_limit_of_zero_claims_nothing_about_linear_models():
    for instance in random_linear(30, tuple(COSTS), most_features=10):
        parts = [
            support_enumeration.movable(instance.estimator, instance.X_train, x0, instance.problem)[1:] for x0 in instance.X
        ]
        optimum = [support_enumeration.least_cost(*part, instance.problem) for part in parts]
        assert_nothing_is_claimed(instance, np.array(optimum))


def stopped_early(instance, optimum, limits, target=None):
    """How many searches a time limit really stopped; what they claim is checked."""
    n_stopped = 0
    for i, best in enumerate(optimum):
        for limit in limits:
            found = instance.solve(points=[i], time_limit=limit, target=None if target is None else target[i : i + 1])
            assert found.bound[0] <= best + 1e-9, instance.name
            assert found.cost[0] >= best - 1e-9, instance.name
            n_stopped += int(found.nodes[0] > 0 and found.status[0] in ("feasible", "unknown"))
    return n_stopped


def test_stopped_searches_over_many_classes_claim_only_what_holds():
    X, y = load_digits(return_X_y=True)
    stumps = GradientBoostingClassifier(max_depth=1, n_estimators=60, random_state=0).fit(X[:500], y[:500])
    instance = Instance("digits", stumps, X[:500], X[:40].copy(), CounterfactualProblem(0.02, 0.0, 1.0))
    limits = (1e-5, 3e-4, 1e-3)
    stopped_early(instance, instance.solve(n_jobs=2).cost, limits)
    # To reach one class all others must be beaten, which takes longer than to leave the own one.
    target = ((stumps.predict(instance.X) + 5) % 10).astype(np.int32)
    assert stopped_early(instance, instance.solve(n_jobs=2, target=target).cost, limits, target) > 0


def test_stopped_searches_over_linear_models_claim_only_what_holds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 150))
    model = LogisticRegression(C=0.01).fit(X, X @ rng.normal(size=150) > 0)
    instance = Instance("wide", model, X, X[:20].copy(), CounterfactualProblem(0.05, 1.0, 0.3, margin=2.0))
    optimum = instance.solve(n_jobs=2).cost
    assert stopped_early(instance, optimum, (1e-5, 3e-4, 1e-3, 3e-3)) > 0


def test_counting_features_is_easy_for_wide_linear_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 400))
    model = LogisticRegression(C=0.01).fit(X, X @ rng.normal(size=400) > 0)
    instance = Instance("wide", model, X, X[:30].copy(), CounterfactualProblem(1.0, 0.0, 0.0, margin=3.0))
    found = instance.solve(time_limit=30)
    assert found.counts() == {"optimal": 30}
    for i, x0 in enumerate(instance.X):
        _, gain, room, needed = support_enumeration.movable(model, X, x0, instance.problem)
        fewest = 1 + np.searchsorted(np.cumsum(np.sort(gain * room)[::-1]), needed)
        assert found.cost[i] == fewest


def test_answers_do_not_depend_on_threads_or_row_order():
    for instance in random_additive(10):
        rows = instance.X_train
        many = Instance(instance.name, instance.estimator, rows, rows, instance.problem)
        reverse = Instance(instance.name, instance.estimator, rows, rows[::-1].copy(), instance.problem)
        forwards, backwards = many.solve(), reverse.solve(n_jobs=2)
        assert np.array_equal(forwards.cost, backwards.cost[::-1])
        assert np.array_equal(forwards.apply(many.X), backwards.apply(reverse.X)[::-1])
