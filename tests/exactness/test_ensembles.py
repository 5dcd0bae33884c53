"""Ensembles of deeper trees: the cost is the least there is, by enumeration with the real predict and by HiGHS."""

import numpy as np
import pytest

from exactness.checks import agree, assert_answers_hold, assert_lands_as_promised
from exactness.ensemble_instances import (
    COSTS,
    FAMILIES,
    REAL_MODELS,
    fitted_with_missing_values,
    n_combinations,
    real_ensembles,
    small_ensembles,
)
from fcca.constraints import Limits
from oracles import contract

METHODS = ["search", "milp"]
SIZES = [pytest.param(168, id="quick"), pytest.param(2400, id="full", marks=pytest.mark.verify)]
DATA_SETS = ["boston", "breast_cancer", "magic"]
# Trees of boosting (a forest has half as many) and rows per model.
REAL_SIZES = [pytest.param(30, 2, id="quick"), pytest.param(100, 24, id="full", marks=pytest.mark.verify)]
SOLVER_TOLERANCE = 1e-6


def assert_costs(instance, found, expected):
    for cost, least in zip(found.cost, expected, strict=True):
        assert agree(cost, least), (instance.name, instance.problem, cost, least)
    assert np.array_equal(found.is_status("infeasible"), np.isinf(expected)), instance.name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_cases", SIZES)
def test_small_ensembles_match_brute_force_with_real_predict(n_cases, method):
    n_infeasible = 0
    for instance in small_ensembles(n_cases):
        found = instance.solve(method)
        assert_costs(instance, found, instance.least_costs)
        assert_answers_hold(instance, found)
        assert_lands_as_promised(instance, found)
        n_infeasible += found.is_status("infeasible").sum()
    assert n_cases / 100 < n_infeasible < n_cases / 4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_cases", SIZES)
def test_frozen_features_never_move_and_the_others_do_their_best(n_cases, method):
    n_dearer = 0
    for instance in small_ensembles(n_cases // 2, seed=1):
        found = instance.solve(method, limits=Limits(frozen=instance.frozen))
        assert not instance.frozen[found.moves.point, found.moves.feature].any(), instance.name
        assert_costs(instance, found, instance.enumerated(frozen=instance.frozen))
        assert_answers_hold(instance, found)
        n_dearer += (found.cost > instance.least_costs * (1 + 1e-9)).sum()
    assert n_dearer > n_cases / 10


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_cases", SIZES)
def test_the_class_asked_for_is_reached_at_least_cost(n_cases, method):
    for instance in small_ensembles(n_cases // 2, seed=2):
        if len(instance.estimator.classes_) > 2:
            found = instance.solve(method, target=instance.targets)
            assert_costs(instance, found, instance.enumerated(target=instance.targets))
            assert_answers_hold(instance, found)
            answered = found.is_status("optimal")
            assert np.array_equal(found.target_code[answered], instance.targets[answered])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_splits_that_only_missing_values_pass_are_never_crossed(depth, method):
    n_infinite = 0
    for instance in fitted_with_missing_values(12, depth):
        nodes = np.concatenate([tree.nodes for stage in instance.estimator._predictors for tree in stage])
        n_infinite += np.isinf(nodes["num_threshold"][nodes["is_leaf"] == 0]).sum()
        found = instance.solve(method)
        assert_costs(instance, found, instance.least_costs)
        assert_answers_hold(instance, found)
    assert n_infinite >= 6


@pytest.mark.parametrize("method", METHODS)
def test_every_point_keeps_its_own_margin(method):
    for instance in small_ensembles(96, seed=3):
        found = instance.solve(method)
        scores = contract.scores_of(instance.estimator, found.apply(instance.X))
        for i in np.flatnonzero(found.is_status("optimal")):
            lead = contract.leads(scores[[i]], found.target_code[i]).min()
            assert lead >= instance.margin[i] - 1e-12, instance.name
        larger = instance.solve(method, margin=instance.margin * 2)
        assert np.all(larger.cost >= found.cost), instance.name


@pytest.mark.parametrize("model", REAL_MODELS)
@pytest.mark.parametrize("data_set", DATA_SETS)
@pytest.mark.parametrize(("n_trees", "n_rows"), REAL_SIZES)
def test_search_matches_milp_on_real_data(data_set, model, n_trees, n_rows):
    for instance in real_ensembles(data_set, model, n_trees, n_rows):
        found, expected = instance.solve(), instance.solve("milp")
        assert_answers_hold(instance, found)
        assert_lands_as_promised(instance, found)
        for cost, least in zip(found.cost, expected.cost, strict=True):
            assert agree(cost, least, SOLVER_TOLERANCE), (instance.name, cost, least)
        assert expected.is_status("optimal", "infeasible").all(), (instance.name, expected.counts())


@pytest.mark.parametrize("method", METHODS)
def test_bounds_hold_however_little_time_there_is(method):
    seen = set()
    for instance in real_ensembles("breast_cancer", "forest of depth 4", 60, 6):
        optimum = instance.solve()
        assert optimum.is_status("optimal").all()
        for seconds in (0.0, 1e-5, 1e-3, 1e-2, 1e-1):
            for limit in ({"time_limit": seconds}, {"time_limit_per_row": seconds}):
                found = instance.solve(method, **limit)
                seen |= set(found.status)
                assert np.all(found.bound <= optimum.cost + 1e-9), (instance.name, limit)
                assert np.all(found.bound <= found.cost), (instance.name, limit)
                assert np.all(found.cost >= optimum.cost - 1e-9), (instance.name, limit)
                assert not found.is_status("infeasible", "unverified").any(), (instance.name, limit)
                proven = found.is_status("optimal")
                np.testing.assert_allclose(found.cost[proven], optimum.cost[proven], rtol=0, atol=1e-9)
                assert np.all(np.isinf(found.cost) == found.is_status("unknown")), (instance.name, limit)
    assert "unknown" in seen


@pytest.mark.parametrize("method", METHODS)
def test_without_time_nothing_is_claimed(method):
    for instance in small_ensembles(48, seed=4):
        found = instance.solve(method, time_limit=0.0)
        assert set(found.status) <= {"feasible", "unknown"}, instance.name
        assert np.all(found.bound <= instance.least_costs), instance.name
        assert len(found.moves.point) == 0 or found.is_status("feasible")[found.moves.point].all()


def test_cases_are_as_difficult_as_intended():
    instances = small_ensembles(168)
    assert {instance.family for instance in instances} == set(FAMILIES)
    assert len({(i.problem.lambda0, i.problem.lambda1, i.problem.lambda2) for i in instances}) == len(COSTS)
    assert np.median([n_combinations(instance.estimator) for instance in instances]) > 50
    on_cut, beside_cut, outside = 0, 0, 0
    for instance in instances:
        low, high = instance.X_train.min(axis=0), instance.X_train.max(axis=0)
        outside += (np.clip(instance.X, low, high) != instance.X).any(axis=1).sum()
        for j, cuts in enumerate(contract.cuts_by_feature(instance.estimator)):
            on_cut += np.isin(instance.X[:, j], cuts).sum()
            beside_cut += np.isin(np.nextafter(instance.X[:, j], -np.inf), cuts).sum()
    assert min(on_cut, beside_cut, outside) > 30
    moved = np.concatenate([np.bincount(i.moves.point, minlength=len(i)) for i in (x.solve("milp") for x in instances)])
    assert (moved > 1).mean() > 0.1
