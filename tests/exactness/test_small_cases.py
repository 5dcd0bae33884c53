"""Models small enough to try everything, on inputs chosen to be difficult for floating point."""

import numpy as np
import pytest

from exactness.checks import agree, assert_answers_hold, assert_lands_as_promised
from exactness.instances import small_cases
from oracles import brute_force

SIZES = [pytest.param(300, id="quick"), pytest.param(2400, id="full", marks=pytest.mark.verify)]


def least_costs(instance):
    return np.array(
        [brute_force.least_cost(instance.estimator, instance.X_train, x0, instance.problem) for x0 in instance.X]
    )


@pytest.mark.parametrize("n_cases", SIZES)
def test_small_cases_match_brute_force_with_real_predict(n_cases):
    for instance in small_cases(n_cases):
        for cost, expected in zip(instance.solve().cost, least_costs(instance), strict=True):
            assert agree(cost, expected), (instance.name, instance.problem, cost, expected)


@pytest.mark.parametrize("n_cases", SIZES)
def test_every_answer_flips_the_real_model_on_small_cases(n_cases):
    for instance in small_cases(n_cases):
        found = instance.solve()
        assert_answers_hold(instance, found)
        assert_lands_as_promised(instance, found)


@pytest.mark.parametrize("n_cases", SIZES)
def test_infeasible_is_proven(n_cases):
    n_infeasible = 0
    for instance in small_cases(n_cases // 2, seed=1):
        none_flips = np.isinf(least_costs(instance))
        assert np.array_equal(instance.solve().is_status("infeasible"), none_flips), instance.name
        n_infeasible += none_flips.sum()
    assert n_cases / 20 < n_infeasible < n_cases * 9 / 20


def test_cases_are_as_difficult_as_intended():
    instances = small_cases(300)
    assert {len(instance.estimator.classes_) for instance in instances} == {2, 3}
    values = np.concatenate([instance.X.ravel() for instance in instances])
    assert (np.float32(values) != values).mean() > 0.3
    inside = [(i.X_train.min(axis=0) <= i.X) & (i.X_train.max(axis=0) >= i.X) for i in instances]
    assert np.mean([part.all(axis=1).mean() for part in inside]) < 0.9
