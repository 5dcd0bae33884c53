"""The core finds the best tree under every cost of a leaf and every limit: by enumeration of all trees."""

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from fcca import OptimalTreeClassifier, _core
from oracles import tree_enumeration
from trees.problems import Problem, assert_same, random_problems

CRITERIA = ("error", "gini", "log_loss", "evidence", "error+log_loss")


def limited_problems(n, seed):
    """Problems with a limit on leaves, a least size of leaves, and weights around 1, above it and below it."""
    for part, (columns, depths, whole) in enumerate(((8, [1, 2], True), (5, [3, 4, 5], True), (5, [2, 3, 4], False))):
        problems = random_problems(-(-n // 3), columns, depths, most_rows=40, whole_weights=whole, seed=seed + part)
        for i, problem in enumerate(problems):
            random = np.random.default_rng([seed, part, i])
            around_one = problem.weight / problem.weight.mean() * 10.0 ** random.uniform(-2, 2)
            weight = problem.weight if whole else around_one
            count = random.integers(1, 4, len(weight)) if random.random() < 0.5 else None
            limits = {
                "max_leaves": random.choice([None, 1, 2, 3, 4, 5, 6, 8]),
                "min_rows": int(random.choice([1, 1, 2, 5])),
                "min_weight": float(random.choice([0.0, 0.0, 0.05, 0.2]) * weight.sum()),
                "count": count,
            }
            yield problem, weight, limits


def searched(problem, weight, limits, criterion, max_nodes=None):
    """Objective, lower bound and optimality of the core's tree, and its leaves by row."""
    total = float(weight.sum())
    _, label = np.unique(problem.label, return_inverse=True)
    cost, bound, optimal, _, column, left, right = _core.solve_tree(
        table=problem.table,
        label=label.astype(np.int32),
        weight=weight,
        n_classes=int(label.max()) + 1,
        criterion=CRITERIA.index(criterion),
        penalty=problem.regularization * total,
        max_depth=problem.max_depth,
        max_nodes=max_nodes,
        time_limit=np.inf,
        **limits,
    )
    node = np.zeros(len(label), dtype=int)
    for _ in range(problem.max_depth):
        asked = column[node]
        goes_right = problem.table[np.arange(len(label)), np.maximum(asked, 0)] > 0
        node = np.where(asked < 0, node, np.where(goes_right, right[node], left[node]))
    return cost / total, bound / total, optimal, node


def enumerated(problem, weight, limits, criterion):
    return tree_enumeration.least_objective(
        problem.table,
        problem.label,
        weight,
        problem.max_depth,
        problem.regularization,
        criterion,
        max_leaves=limits["max_leaves"] or 32,
        min_rows=limits["min_rows"],
        min_weight=limits["min_weight"],
        count=limits["count"],
    )


def recomputed(leaf, problem, weight, criterion):
    """The objective of the leaves, from the rows that reach them."""
    _, label = np.unique(problem.label, return_inverse=True)
    costs = [
        tree_enumeration.leaf_cost(np.bincount(label[leaf == at], weight[leaf == at], label.max() + 1), criterion)
        for at in np.unique(leaf)
    ]
    return float(sum(costs) / weight.sum() + problem.regularization * len(costs))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_instances", [90, pytest.param(1200, marks=pytest.mark.verify)])
def test_every_criterion_matches_enumeration(criterion, n_instances):
    for problem, weight, limits in limited_problems(n_instances, seed=200):
        cost, bound, optimal, leaf = searched(problem, weight, limits, criterion)
        assert optimal, problem.name
        assert_same(cost, enumerated(problem, weight, limits, criterion), problem.name, limits)
        assert_same(cost, recomputed(leaf, problem, weight, criterion), problem.name, limits)
        assert bound == cost


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_instances", [60, pytest.param(600, marks=pytest.mark.verify)])
def test_limits_are_kept(criterion, n_instances):
    for problem, weight, limits in limited_problems(n_instances, seed=210):
        *_, node = searched(problem, weight, limits, criterion)
        _, leaf = np.unique(node, return_inverse=True)
        assert leaf.max() + 1 <= (limits["max_leaves"] or np.inf), problem.name
        if leaf.max() > 0:
            count = np.ones(len(leaf)) if limits["count"] is None else limits["count"]
            assert np.bincount(leaf, count).min() >= limits["min_rows"], problem.name
            assert np.bincount(leaf, weight).min() >= limits["min_weight"] * (1 - 1e-9), problem.name


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_instances", [30, pytest.param(600, marks=pytest.mark.verify)])
def test_stopped_searches_never_give_a_bound_above_the_optimum(criterion, n_instances):
    for problem, weight, limits in limited_problems(n_instances, seed=220):
        optimum = enumerated(problem, weight, limits, criterion)
        near = 1e-9 * max(1, abs(optimum))
        for max_nodes in (0, 1, 3, 10, 30):
            cost, bound, _, leaf = searched(problem, weight, limits, criterion, max_nodes)
            assert bound <= optimum + near, (problem.name, limits, max_nodes)
            assert cost >= optimum - near, (problem.name, limits, max_nodes)
            assert_same(cost, recomputed(leaf, problem, weight, criterion), problem.name, limits)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_more_nodes_only_shrink_the_gap(criterion):
    random = np.random.default_rng(1)
    table = random.integers(0, 2, size=(400, 14)).astype(np.uint8)
    label = ((table[:, :4].sum(axis=1) % 2) ^ (random.random(400) < 0.1)).astype(int)
    problem = Problem("parity", table, label, np.ones(400), max_depth=5, regularization=0.01)
    limits = {"max_leaves": 12, "min_rows": 1, "min_weight": 0.0, "count": None}
    found = [searched(problem, problem.weight, limits, criterion, n) for n in (1, 20, 200, 2000, None)]
    gaps = [(cost - bound) / cost for cost, bound, *_ in found]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[-1] == 0


# --- the estimator ------------------------------------------------------------------------------------------------------


def fitted(problem, weight, limits, criterion, **parameters):
    tree = OptimalTreeClassifier(
        problem.max_depth,
        max_leaf_nodes=limits["max_leaves"],
        criterion=criterion,
        min_samples_leaf=limits["min_rows"],
        min_weight_fraction_leaf=limits["min_weight"] / weight.sum(),
        **{"regularization": problem.regularization} | parameters,
    )
    return tree.fit_counted(problem.table, problem.label, weight, limits["count"])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_estimator_passes_criterion_and_limits_on(criterion):
    for problem, weight, limits in limited_problems(30, seed=230):
        if limits["max_leaves"] == 1:
            continue
        tree = fitted(problem, weight, limits, criterion)
        assert tree.is_optimal_
        assert_same(tree.objective_, enumerated(problem, weight, limits, criterion), problem.name, limits)
        assert_same(tree.objective_, recomputed(tree.apply(problem.table), problem, weight, criterion), problem.name)
        assert tree.lower_bound_ == tree.objective_


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_weight_of_two_is_the_row_twice(criterion):
    for problem in random_problems(20, 6, [2, 3], whole_weights=True, seed=240):
        parameters = {"max_depth": problem.max_depth, "max_leaf_nodes": 5, "criterion": criterion}
        weighted = OptimalTreeClassifier(**parameters).fit(problem.table, problem.label, problem.weight)
        repeated = OptimalTreeClassifier(**parameters).fit(*problem.repeated())
        assert weighted.regularization_ == repeated.regularization_
        assert_same(weighted.objective_, repeated.objective_, problem.name)


@pytest.mark.parametrize(
    ("criterion", "price"),
    [
        ("error", 10),
        ("gini", np.log(7) + 2),
        ("log_loss", np.log(7) + 2),
        ("evidence", np.log(7)),
        ("error+log_loss", np.log(7) + 2),
    ],
)
def test_the_default_price_is_the_length_of_a_description(criterion, price):
    random = np.random.default_rng(3)
    tree = OptimalTreeClassifier(criterion=criterion).fit(random.integers(0, 2, (200, 7)), np.arange(200) % 3)
    assert tree.regularization_ == pytest.approx(price / 200)


def test_log_loss_splits_where_no_error_is_saved():
    """Leaves of 5 % and 45 % of positives: both predict the negative class."""
    column = np.repeat([0, 1], 400)
    label = np.concatenate([np.arange(400) < 20, np.arange(400) < 180]).astype(int)
    by_error = OptimalTreeClassifier(criterion="error").fit(column[:, None], label)
    assert by_error.n_leaves_ == 1
    for criterion in CRITERIA[1:]:
        tree = OptimalTreeClassifier(criterion=criterion).fit(column[:, None], label)
        np.testing.assert_allclose(tree.predict_proba([[0], [1]])[:, 1], [20.5 / 401, 180.5 / 401])


def test_a_single_class_costs_nothing():
    for criterion in CRITERIA:
        tree = OptimalTreeClassifier(criterion=criterion).fit([[0], [1]], [1, 1])
        assert (tree.n_leaves_, tree.objective_) == (1, tree.regularization_)


@pytest.mark.parametrize(
    "parameters",
    [{"criterion": "entropy"}, {"max_leaf_nodes": 1}, {"min_samples_leaf": 0}, {"min_weight_fraction_leaf": 0.6}],
)
def test_limits_out_of_range_are_named(parameters):
    with pytest.raises(InvalidParameterError, match=next(iter(parameters))):
        OptimalTreeClassifier(**parameters).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_nodes_without_a_column_to_split_on_are_leaves(criterion):
    """Columns that are constant, equal or used up: deep searches come to nodes where no column divides the rows."""
    random = np.random.default_rng(5)
    coin = random.integers(0, 2, 60)
    tables = [np.zeros((60, 3)), coin[:, None], np.column_stack([coin, coin, 1 - coin]), random.integers(0, 2, (60, 2))]
    for table in tables:
        for n_classes in (2, 3):
            label = random.integers(0, n_classes, 60)
            tree = OptimalTreeClassifier(6, max_leaf_nodes=None, criterion=criterion, regularization=0.0).fit(table, label)
            least = tree_enumeration.least_objective(table.astype(np.uint8), label, np.ones(60), 6, 0.0, criterion)
            assert_same(tree.objective_, least)
