"""Linear models: the engine's cost is the minimum, by a mixed-integer program, by all supports, by optimality conditions."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactness.checks import agree, assert_answers_hold
from exactness.instances import COSTS, LINEAR_COSTS, Instance, labels_for, random_linear
from fcca.counterfactuals import CounterfactualProblem
from oracles import cell_milp, support_enumeration

SIZES = [pytest.param(45, id="quick"), pytest.param(600, id="full", marks=pytest.mark.verify)]


@dataclass(frozen=True)
class Point:
    """One row: the engine's cost and moves, and the fixed-charge problem they answer."""

    cost: float
    distance: np.ndarray
    rounding: np.ndarray
    problem: tuple  # gain, room, needed and costs


def points_of(instance):
    found = instance.solve()
    changed, unit = found.apply(instance.X), support_enumeration.units(instance.X_train, instance.problem)
    for i, x0 in enumerate(instance.X):
        features, *problem = support_enumeration.movable(instance.estimator, instance.X_train, x0, instance.problem)
        assert np.isin(found.moves.feature[found.moves.point == i], features).all(), instance.name
        distance = np.abs(changed[i] - x0)[features] / unit[features]
        rounding = 2 * np.spacing(np.maximum(np.abs(x0), np.abs(changed[i])))[features] / unit[features]
        yield Point(found.cost[i], distance, rounding, (*problem, instance.problem))


@pytest.mark.parametrize("n_instances", SIZES)
def test_linear_matches_milp(n_instances):
    for instance in random_linear(n_instances, tuple(LINEAR_COSTS), most_features=25):
        for point in points_of(instance):
            expected = cell_milp.linear_cost(*point.problem)
            assert agree(point.cost, expected), (instance.name, instance.problem, point.cost, expected)


@pytest.mark.parametrize("n_instances", SIZES)
def test_linear_matches_support_enumeration(n_instances):
    for instance in random_linear(n_instances, tuple(COSTS), most_features=10):
        for point in points_of(instance):
            expected = support_enumeration.least_cost(*point.problem)
            assert agree(point.cost, expected), (instance.name, instance.problem, point.cost, expected)


def scaled(instance, rng):
    """The same with another scale: deviations, or units far below and above the range."""
    width = support_enumeration.ranges(instance.X_train)
    units = {f"x{j}": float(w * rng.choice([1e-3, 0.2, 5.0, 1e4])) for j, w in enumerate(width) if rng.random() < 0.8}
    return replace(instance, problem=replace(instance.problem, scale="mad" if rng.random() < 0.4 else units))


@pytest.mark.parametrize("n_instances", SIZES)
def test_linear_matches_support_enumeration_with_every_scale(n_instances):
    rng = np.random.default_rng(0)
    for instance in random_linear(n_instances, tuple(COSTS), most_features=10, seed=4):
        other = scaled(instance, rng)
        for point in points_of(other):
            expected = support_enumeration.least_cost(*point.problem)
            assert agree(point.cost, expected), (other.name, other.problem, point.cost, expected)
        assert_answers_hold(other, other.solve())


@pytest.mark.parametrize("n_instances", SIZES)
def test_linear_meets_optimality_conditions(n_instances):
    for instance in random_linear(n_instances, tuple(COSTS), most_features=25, seed=1):
        for point in points_of(instance):
            if np.isfinite(point.cost):
                broken = support_enumeration.broken_conditions(point.distance, point.rounding, *point.problem)
                assert not broken, (instance.name, instance.problem, broken)


@pytest.mark.parametrize("n_instances", SIZES)
def test_every_answer_flips_the_real_model_of_linear_families(n_instances):
    for costs, most_features, seed in ((LINEAR_COSTS, 25, 0), (COSTS, 10, 0), (COSTS, 25, 1)):
        for instance in random_linear(n_instances, tuple(costs), most_features, seed=seed):
            assert_answers_hold(instance, instance.solve())


@pytest.mark.parametrize("offset", [0, 1e3, 1e6, 1e9])
def test_linear_is_exact_far_from_zero(offset):
    """Values far from 0 for their spread, in units from 1e-9 to 1e9."""
    rng = np.random.default_rng(0)
    for costs in COSTS:
        X = (rng.normal(size=(40, 6)) + offset) * 10.0 ** rng.integers(-9, 9, size=6)
        estimator = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, labels_for(rng, X))
        instance = Instance(f"offset {offset}", estimator, X, X[:10].copy(), CounterfactualProblem(*costs))
        for point in points_of(instance):
            assert agree(point.cost, support_enumeration.least_cost(*point.problem)), (instance.name, costs)
        assert_answers_hold(instance, instance.solve())


@pytest.mark.parametrize("lambda2", [1e-3, 1e-6, 1e3])
def test_linear_is_exact_where_the_square_hardly_counts_or_is_all_that_counts(lambda2):
    for instance in random_linear(30, ((0.1, 1.0, lambda2), (0.0, 1.0, lambda2)), most_features=8, seed=2):
        for point in points_of(instance):
            expected = support_enumeration.least_cost(*point.problem)
            assert agree(point.cost, expected), (instance.name, instance.problem, point.cost, expected)


@pytest.mark.parametrize("lambda2", [1e-8, 1e-9, 1e-12, 1e-14, 1e-15, 1e-16, 1e-18])
def test_a_vanishing_square_changes_the_cost_by_no_more_than_itself(lambda2):
    """Too small a λ2 to enumerate in floats: the optimum lies between that of λ2 = 0 and as much more as λ2 allows."""
    for lambda0 in (0.0, 0.1):
        for plain, without in answered_without_square(lambda0):
            instance = replace(plain, problem=replace(plain.problem, lambda2=lambda2))
            assert_answers_hold(instance, instance.solve())
            for point, least in zip(points_of(instance), without, strict=True):
                most = least + lambda2 * instance.X.shape[1] * (1 + 1e-9)
                if np.isfinite(least):
                    gain, _, needed, _ = point.problem
                    assert gain @ point.distance >= needed * (1 - 1e-12)
                    assert least - 1e-9 <= point.cost <= most + 1e-9, (instance.name, instance.problem)


@cache
def answered_without_square(lambda0):
    """Instances, and what their rows cost."""
    instances = random_linear(40, ((lambda0, 1.0, 0.0),), most_features=25, seed=3)
    return [(instance, [point.cost for point in points_of(instance)]) for instance in instances]


def test_a_constant_column_can_be_moved_back_to_its_value():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    estimator = LogisticRegression().fit(X, X[:, 1] > 0)
    X_train = X.copy()
    X_train[:, 1] = 0.5
    instance = Instance("constant", estimator, X_train, X[:20].copy(), CounterfactualProblem(0.1, 1.0, 0.5))
    for point in points_of(instance):
        assert agree(point.cost, support_enumeration.least_cost(*point.problem))
    found = instance.solve()
    assert np.any(found.moves.feature == 1)
