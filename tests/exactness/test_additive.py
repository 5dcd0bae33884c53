"""Boosted stumps: the engine's cost is the minimum, by a mixed-integer program of the same contract."""

import pytest

from exactness.checks import agree, assert_answers_hold, assert_lands_as_promised
from exactness.instances import random_additive, real_additive
from oracles import cell_milp

DATA_SETS = ["breast_cancer", "boston", "ionosphere", "arrhythmia", "magic", "ctg3"]
RANDOM = [pytest.param(60, id="quick"), pytest.param(600, id="full", marks=pytest.mark.verify)]
ROWS_PER_COST = [pytest.param(1, id="quick"), pytest.param(20, id="full", marks=pytest.mark.verify)]


def assert_matches_milp(instance):
    found = instance.solve()
    for cost, x0 in zip(found.cost, instance.X, strict=True):
        expected = cell_milp.additive_cost(instance.estimator, instance.X_train, x0, instance.problem)
        assert agree(cost, expected), (instance.name, instance.problem, cost, expected)


@pytest.mark.parametrize("n_instances", RANDOM)
def test_additive_matches_milp_on_random_models(n_instances):
    for instance in random_additive(n_instances):
        assert_matches_milp(instance)


@pytest.mark.parametrize("data_set", DATA_SETS)
@pytest.mark.parametrize("rows_per_cost", ROWS_PER_COST)
def test_additive_matches_milp_on_real_data(data_set, rows_per_cost):
    for instance in real_additive(data_set, rows_per_cost):
        assert_matches_milp(instance)


@pytest.mark.parametrize("n_instances", RANDOM)
def test_every_answer_flips_the_real_model_on_random_models(n_instances):
    for instance in random_additive(n_instances):
        found = instance.solve()
        assert_answers_hold(instance, found)
        assert_lands_as_promised(instance, found)


@pytest.mark.parametrize("data_set", DATA_SETS)
@pytest.mark.parametrize("rows_per_cost", ROWS_PER_COST)
def test_every_answer_flips_the_real_model_on_real_data(data_set, rows_per_cost):
    for instance in real_additive(data_set, rows_per_cost):
        found = instance.solve()
        assert_answers_hold(instance, found)
        assert_lands_as_promised(instance, found)
