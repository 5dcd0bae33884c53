"""Searches that end within a relative gap: the cost is near the optimum, and the bound is at most the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from exactness.checks import agree
from exactness.ensemble_instances import REAL_MODELS, small_ensembles
from exactness.instances import load
from fcca import CounterfactualExplainer
from fcca.constraints import Immutable, MaxChanges

GAPS = (0.01, 0.05, 0.3, 0.9)
# Two rows per ensemble.
SIZES = [pytest.param(60, id="quick"), pytest.param(2400, id="full", marks=pytest.mark.verify)]
ROUNDING = 1e-9


def with_gap(instance, gap):
    return replace(instance, problem=replace(instance.problem, relative_gap=gap))


@pytest.mark.parametrize("n_cases", SIZES)
def test_costs_and_bounds_keep_the_gap_to_the_optimum_of_brute_force(n_cases):
    n_dearer = n_within = 0
    for i, instance in enumerate(small_ensembles(n_cases, seed=11, rows_per_model=2)):
        gap, least = GAPS[i % len(GAPS)], instance.least_costs
        found = with_gap(instance, gap).solve()
        assert set(found.status) <= {"optimal", "within_gap", "infeasible"}, instance.name
        assert np.array_equal(found.is_status("infeasible"), np.isinf(least)), instance.name
        for k in np.flatnonzero(found.is_proven):
            optimal = found.status[k] == "optimal"
            assert found.cost[k] >= least[k] * (1 - ROUNDING), instance.name
            assert found.cost[k] <= least[k] / (1 - gap) * (1 + ROUNDING), (instance.name, gap, found.cost[k], least[k])
            assert found.bound[k] <= least[k] * (1 + ROUNDING), (instance.name, gap, found.bound[k], least[k])
            assert found.bound[k] >= found.cost[k] * (1 - gap) * (1 - ROUNDING), instance.name
            assert not optimal or agree(found.cost[k], least[k]), instance.name
            n_dearer += found.cost[k] > least[k] * (1 + ROUNDING)
            n_within += not optimal
        after = instance.estimator.predict(found.apply(instance.X))
        assert np.array_equal(after[found.is_proven], found.target[found.is_proven]), instance.name
    assert n_within > n_cases // 2
    assert n_dearer > 0 or n_cases < 1000


@pytest.mark.parametrize("n_cases", [40])
def test_without_a_gap_every_proof_is_of_the_optimum(n_cases):
    for instance in small_ensembles(n_cases, seed=11, rows_per_model=2):
        found, least = with_gap(instance, 0.0).solve(), instance.least_costs
        assert np.array_equal(found.is_status("infeasible"), np.isinf(least)), instance.name
        for k in np.flatnonzero(~np.isinf(least)):
            assert found.status[k] == "optimal"
            assert agree(found.cost[k], least[k]), instance.name


@pytest.mark.parametrize("gap", GAPS)
def test_with_rules_the_bounds_hold(gap):
    X, y = load("boston")
    model = REAL_MODELS["boosting of depth 3"](40).fit(X, y)
    rules = [MaxChanges(2)]
    exact = CounterfactualExplainer(model, X, constraints=rules).explain(X[::40])
    found = CounterfactualExplainer(model, X, constraints=rules, relative_gap=gap).explain(X[::40])
    reached = exact.is_proven
    assert np.array_equal(found.is_proven, reached)
    assert np.all(found.cost[reached] * (1 - gap) <= exact.cost[reached] * (1 + ROUNDING))
    assert np.all(found.bound[reached] <= exact.cost[reached] * (1 + ROUNDING))


def test_further_counterfactuals_keep_the_gap():
    X, y = load("boston")
    model = RandomForestClassifier(20, max_depth=5, random_state=0).fit(X, y)
    found = CounterfactualExplainer(model, X, relative_gap=0.2).explain(X[:6], n=3)
    assert {"within_gap"} <= set(found.status) <= {"within_gap", "optimal", "infeasible"}
    within = found.is_status("within_gap")
    assert np.all(found.cost[within] * 0.8 <= found.bound[within] * (1 + ROUNDING))
    for row in np.unique(found.rows):
        here = np.flatnonzero((found.rows == row) & found.is_proven)
        moved = [set(found.moves.feature[found.moves.point == k].tolist()) for k in here]
        assert not any(moved[a] <= moved[b] for b in range(len(here)) for a in range(b))
        # No change that leaves out a feature of the first one is cheaper than the bound of the second one.
        if len(here) > 1:
            least = [cheapest_without(model, X, row, j) for j in moved[0]]
            assert found.bound[here[1]] <= min(least) * (1 + ROUNDING)


def cheapest_without(model, X, row, feature):
    found = CounterfactualExplainer(model, X, constraints=[Immutable(f"x{feature}")]).explain(X[[row]])
    return float(found.cost[0])


def test_fewer_nodes_are_visited():
    X, y = load("boston")
    model = RandomForestClassifier(60, random_state=0).fit(X, y)
    exact, found = (CounterfactualExplainer(model, X, relative_gap=gap).explain(X[::25]) for gap in (0.0, 0.2))
    assert found.nodes.sum() < 0.7 * exact.nodes.sum()


def test_searches_without_branch_and_bound_stay_optimal():
    X, y = load("boston")
    stumps = GradientBoostingClassifier(max_depth=1, random_state=0).fit(X, y)
    found = CounterfactualExplainer(stumps, X, relative_gap=0.5).explain(X[:20])
    assert found.counts() == {"optimal": 20}
