"""The best tree for soft labels: by enumeration on rows split into their classes."""

from dataclasses import replace

import numpy as np
import pytest

from fcca import OptimalTreeClassifier
from fcca.exceptions import InvalidInputError
from fcca.tables import SoftLabels
from oracles import tree_enumeration
from trees.problems import assert_same, random_problems
from trees.test_criteria import CRITERIA, limited_problems

UNITS = 16


def probabilities(random, n_rows, n_classes):
    """Sharp and vague ones, zeros and ones among them."""
    shares = random.dirichlet(np.full(n_classes, 10.0 ** random.uniform(-1, 1)), size=n_rows)
    certain = random.random(n_rows) < 0.2
    shares[certain] = np.eye(n_classes)[random.integers(0, n_classes, certain.sum())]
    return shares


def soft_problems(n, seed):
    for i, (problem, weight, limits) in enumerate(limited_problems(n, seed)):
        n_classes = len(np.unique(problem.label))
        if n_classes > 1 and limits["max_leaves"] != 1:
            yield (
                problem,
                weight,
                limits | {"count": None},
                probabilities(np.random.default_rng([seed, i]), len(weight), n_classes),
            )


def fitted(problem, weight, limits, shares, criterion, **parameters):
    return OptimalTreeClassifier(
        problem.max_depth,
        max_leaf_nodes=limits["max_leaves"],
        criterion=criterion,
        min_samples_leaf=limits["min_rows"],
        min_weight_fraction_leaf=limits["min_weight"] / weight.sum(),
        regularization=problem.regularization,
        **parameters,
    ).fit(problem.table, problem.label, weight, shares)


def enumerated(problem, weight, limits, shares, criterion):
    """The least objective where each row is as many rows as it has classes, the first of which counts as a row."""
    n_rows, n_classes = shares.shape
    parts = SoftLabels.of(shares).weight / UNITS
    return tree_enumeration.least_objective(
        problem.table.repeat(n_classes, axis=0),
        np.tile(np.arange(n_classes), n_rows),
        (parts * weight[:, None]).ravel(),
        problem.max_depth,
        problem.regularization,
        criterion,
        max_leaves=limits["max_leaves"] or 32,
        min_rows=limits["min_rows"],
        min_weight=limits["min_weight"],
        count=np.tile(np.eye(n_classes, dtype=np.int64)[0], n_rows),
    )


@pytest.mark.filterwarnings("ignore::fcca.exceptions.LightWeightsWarning")
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_instances", [45, pytest.param(1200, marks=pytest.mark.verify)])
def test_the_tree_for_soft_labels_matches_enumeration(criterion, n_instances):
    for problem, weight, limits, shares in soft_problems(n_instances, seed=300):
        tree = fitted(problem, weight, limits, shares, criterion)
        assert tree.is_optimal_
        assert_same(tree.objective_, enumerated(problem, weight, limits, shares, criterion), problem.name, limits)


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnfinishedSearchWarning")
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_instances", [15, pytest.param(300, marks=pytest.mark.verify)])
def test_stopped_searches_for_soft_labels_never_give_a_bound_above_the_optimum(criterion, n_instances):
    for problem, weight, limits, shares in soft_problems(n_instances, seed=310):
        optimum = enumerated(problem, weight, limits, shares, criterion)
        for max_nodes in (0, 3, 30):
            tree = fitted(problem, weight, limits, shares, criterion, max_nodes=max_nodes)
            assert tree.lower_bound_ <= optimum + 1e-9
            assert tree.objective_ >= optimum - 1e-9


def deep_problems(n, seed):
    """Two classes, more rows, and depth 5 or 6 with so few leaves that the limit on leaves decides."""
    problems = random_problems(n, 6, [5, 6], most_classes=2, most_rows=120, least_rows=60, seed=seed)
    for i, problem in enumerate(problems):
        random = np.random.default_rng([seed, i])
        if len(np.unique(problem.label)) < 2:
            continue
        shares = probabilities(random, len(problem.label), 2)
        if i % 3 == 0:
            shares = np.array([[0.85, 0.15], [0.2, 0.8]])[problem.label]
        weight = problem.weight if i % 4 else random.exponential(size=len(problem.label))
        limits = {"max_leaves": int(random.integers(5, 10)), "min_rows": int(random.choice([1, 1, 3])), "min_weight": 0.0}
        yield replace(problem, regularization=problem.regularization / 20), weight, limits, shares


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnfinishedSearchWarning")
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_instances", [12, pytest.param(300, marks=pytest.mark.verify)])
def test_deep_trees_with_few_leaves_match_enumeration(criterion, n_instances):
    for problem, weight, limits, shares in deep_problems(n_instances, seed=330):
        optimum = enumerated(problem, weight, limits, shares, criterion)
        tree = fitted(problem, weight, limits, shares, criterion)
        assert tree.is_optimal_
        assert_same(tree.objective_, optimum, problem.name, limits)
        for max_nodes in (10, 60):
            stopped = fitted(problem, weight, limits, shares, criterion, max_nodes=max_nodes)
            assert stopped.lower_bound_ <= optimum + 1e-9
            assert stopped.objective_ >= optimum - 1e-9


@pytest.mark.parametrize("criterion", CRITERIA)
def test_sure_probabilities_are_labels(criterion):
    for problem, weight, limits, _ in soft_problems(30, seed=320):
        classes, label = np.unique(problem.label, return_inverse=True)
        soft = fitted(problem, weight, limits, np.eye(len(classes))[label], criterion)
        hard = fitted(problem, weight, limits, None, criterion)
        assert_same(soft.objective_, hard.objective_, problem.name)


def test_nodes_count_the_labels():
    random = np.random.default_rng(0)
    table, label = random.integers(0, 2, (500, 6)), random.integers(0, 3, 500)
    shares = random.dirichlet([1, 1, 1], 500)
    tree = OptimalTreeClassifier(regularization=0).fit(table, label, probability=shares)
    leaf = tree.apply(table)
    for node in np.unique(leaf):
        np.testing.assert_array_equal(tree.tree_.weight[node], np.bincount(label[leaf == node], minlength=3))
        assert tree.tree_.n_rows[node] == np.sum(leaf == node)


@pytest.mark.parametrize(("criterion", "share_of_error"), [("log_loss", 0.0), ("error+log_loss", 0.5)])
def test_class_weights_multiply_soft_labels(criterion, share_of_error):
    random = np.random.default_rng(1)
    table, label = random.integers(0, 2, (300, 6)), (random.random(300) < 0.2).astype(int)
    shares = random.dirichlet([4, 1], 300)
    tree = OptimalTreeClassifier(class_weight={0: 1, 1: 5}, criterion=criterion, regularization=0.01)
    tree.fit(table, label, probability=shares)
    parts = SoftLabels.of(shares).weight / UNITS * [1, 5]
    leaf = tree.apply(table)
    cost = 0.0
    for node in np.unique(leaf):
        weight = parts[leaf == node].sum(axis=0)
        cost -= (weight * np.log((weight + 0.5) / (weight.sum() + 1))).sum()
        cost += share_of_error * (weight.sum() - weight.max())
    assert tree.objective_ == pytest.approx(cost / parts.sum() + 0.01 * tree.n_leaves_)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_probabilities_are_rounded_to_whole_units_that_sum_to_a_row(n_classes):
    shares = probabilities(np.random.default_rng(n_classes), 5000, n_classes)
    parts = SoftLabels.of(shares).weight
    assert (parts == np.floor(parts)).all()
    assert (parts.sum(axis=1) == UNITS).all()
    assert (np.abs(parts - shares * UNITS) < 1).all()


def test_a_leaf_costs_half_as_much_with_soft_labels():
    random = np.random.default_rng(3)
    table, label = random.integers(0, 2, (200, 7)), np.arange(200) % 3
    tree = OptimalTreeClassifier().fit(table, label, probability=random.dirichlet([1, 1, 1], 200))
    assert tree.regularization_ == pytest.approx((np.log(7) + 2) / 2 / 200)


def test_probabilities_of_another_shape_are_an_error():
    with pytest.raises(InvalidInputError, match=r"probability.* .*\(4, 2\).*\(4, 3\)"):
        OptimalTreeClassifier().fit([[0], [1], [0], [1]], [0, 1, 1, 0], probability=np.full((4, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 3\]"):
        OptimalTreeClassifier().fit([[0], [1]], [0, 1], [1, 0], probability=np.full((3, 2), 0.5))
    with pytest.raises(InvalidInputError, match=r"probability.* sum to 1"):
        OptimalTreeClassifier().fit([[0], [1]], [0, 1], probability=[[0.5, 0.5], [1, 1]])
    with pytest.raises(ValueError, match="probability contains NaN"):
        OptimalTreeClassifier().fit([[0], [1]], [0, 1], probability=[[0.5, 0.5], [np.nan, 1]])


def test_a_single_class_has_no_soft_labels_to_learn():
    tree = OptimalTreeClassifier().fit([[0], [1], [1]], ["a", "a", "a"], probability=np.ones((3, 1)))
    assert (tree.n_leaves_, tree.objective_) == (1, tree.regularization_)
