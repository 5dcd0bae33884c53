"""The search on raw columns: exact for any ties, weights and classes, and valid bounds when it is stopped."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

from fcca import OptimalTreeClassifier, _core
from fcca.exceptions import UnfinishedSearchWarning
from oracles import tree_enumeration
from real_data import imported
from trees.problems import TOLERANCE, assert_same, objective

SCALES = {"one": 1.0, "whole": 1.0, "large": 100_000.0, "real": 0.37}


def problem(seed):
    """A small table with ties, its labels, weights, maximum depth and regularization."""
    random = np.random.default_rng([91, seed])
    depth = int(random.choice([1, 2, 2, 3, 3, 4]))
    n_rows, n_columns = (
        int(random.integers(2, {1: 25, 2: 25, 3: 15, 4: 11}[depth])),
        int(random.integers(1, 3 if depth == 4 else 4)),
    )
    X = random.integers(0, random.integers(2, 20), size=(n_rows, n_columns)).astype(float)
    if seed % 3 == 0:
        X = random.normal(size=(n_rows, n_columns)).round(int(random.integers(0, 3)))
    y = random.integers(0, int(random.choice([2, 2, 3, 4])), size=n_rows)
    y[0] = 1 - min(y[-1], 1)  # at least two classes
    kind = list(SCALES)[seed % 4]
    weight = np.ones(n_rows) if kind == "one" else random.integers(1, 6, size=n_rows) * SCALES[kind]
    if kind == "real":
        weight = random.uniform(0.1, 3, size=n_rows)
    return X, y, weight, depth, float(random.choice([0.0, 0.01, 0.03, 0.1]))


def fitted(X, y, weight, depth, regularization, **limits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        tree = OptimalTreeClassifier(depth, regularization=regularization, criterion="error", max_leaf_nodes=None, **limits)
        return tree.fit(X, y, sample_weight=weight)


def least(X, y, weight, depth, regularization):
    return tree_enumeration.least_objective(tree_enumeration.midpoint_table(X), y, weight, depth, regularization)


@pytest.mark.parametrize("n_instances", [150, pytest.param(4000, marks=pytest.mark.verify)])
def test_trees_match_enumeration(n_instances):
    for seed in range(n_instances):
        X, y, weight, depth, regularization = problem(seed)
        tree, expected = fitted(X, y, weight, depth, regularization), least(X, y, weight, depth, regularization)
        assert tree.is_optimal_, seed
        assert tree.depth_ <= depth, seed
        assert_same(tree.objective_, expected, seed)
        assert_same(objective(tree, X, y, weight), expected, seed)


@pytest.mark.parametrize("n_instances", [60, pytest.param(2000, marks=pytest.mark.verify)])
def test_bounds_hold_wherever_the_search_is_stopped(n_instances):
    for seed in range(n_instances):
        X, y, weight, depth, regularization = problem(seed)
        expected = least(X, y, weight, depth, regularization)
        for max_nodes in (0, 1, 3, 8):
            tree = fitted(X, y, weight, depth, regularization, max_nodes=max_nodes)
            assert tree.lower_bound_ <= expected + TOLERANCE, seed
            assert tree.objective_ >= expected - TOLERANCE, seed
            assert not tree.is_optimal_ or abs(tree.objective_ - expected) <= TOLERANCE, seed


@pytest.mark.parametrize("n_instances", [40, pytest.param(1000, marks=pytest.mark.verify)])
def test_soft_labels_match_enumeration(n_instances):
    """A soft label is one row per class, with the weight of the class."""
    for seed in range(n_instances):
        X, y, _, depth, regularization = problem(seed)
        K = len(np.unique(y))
        probability = np.random.default_rng(seed).multinomial(16, np.full(K, 1 / K), size=len(y)) / 16
        tree = OptimalTreeClassifier(depth, regularization=regularization, criterion="error", max_leaf_nodes=None)
        tree.fit(X, np.unique(y, return_inverse=True)[1], probability=probability)
        rows, label = np.repeat(X, K, axis=0), np.tile(np.arange(K), len(X))
        present = probability.ravel() > 0
        expected = least(rows[present], label[present], probability.ravel()[present], depth, regularization)
        assert_same(tree.objective_, expected, seed)


def table_with_missing(X):
    """The conditions of a column with missing values: every midpoint with both sides for them, and their own."""
    columns = []
    for x in X.T:
        values = np.unique(x[~np.isnan(x)])
        for low, high in pairwise(values):
            columns += [x > (low + high) / 2, ~(x <= (low + high) / 2)]
        columns.append(np.isnan(x))
    return np.column_stack(columns).astype(np.uint8)


@pytest.mark.parametrize("n_instances", [60, pytest.param(1000, marks=pytest.mark.verify)])
def test_missing_values_go_to_the_better_side(n_instances):
    for seed in range(n_instances):
        X, y, weight, depth, regularization = problem(seed)
        X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
        tree = fitted(X, y, weight, depth, regularization)
        table = table_with_missing(X)
        expected = tree_enumeration.least_objective(table, y, weight, depth, regularization)
        assert_same(tree.objective_, expected, seed)
        assert_same(objective(tree, X, y, weight), expected, seed)
        if tree.tree_.has_cuts_only:
            np.testing.assert_array_equal(tree.to_sklearn().predict(X), tree.predict(X))


def test_rules_name_the_side_of_missing_values():
    X = np.array([[1.0], [2.0], [np.nan], [8.0], [9.0]]).repeat(10, axis=0)
    settings = {"regularization": 0.01, "criterion": "error"}
    right = OptimalTreeClassifier(2, **settings).fit(X, np.array([0, 0, 1, 1, 1]).repeat(10))
    assert right.rules() == ["x0 ≤ 5 → 0 (1.00)", "x0 > 5 or missing → 1 (1.00)"]
    left = OptimalTreeClassifier(2, **settings).fit(X, np.array([0, 0, 0, 1, 1]).repeat(10))
    assert left.rules() == ["x0 ≤ 5 or missing → 0 (1.00)", "x0 > 5 → 1 (1.00)"]
    alone = OptimalTreeClassifier(2, **settings).fit(X, np.array([0, 0, 1, 0, 0]).repeat(10))
    assert alone.rules() == ["x0 is not missing → 0 (1.00)", "x0 is missing → 1 (1.00)"]
    assert alone.predict([[np.nan], [7.0]]).tolist() == [1, 0]


def test_large_tables_match_the_search_on_binary_columns():
    """Different walks: short and long runs of a label, equal values of several labels, more thresholds than lanes."""
    for seed in range(12):
        random = np.random.default_rng([92, seed])
        X = random.normal(size=(150, 3)).round(2 if seed % 2 else 1)
        noise = random.normal(size=150)
        y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + noise, [0.0] if seed % 3 else [-1.0, 0.0, 1.0])
        weight = random.integers(1, 4, size=150) * (1.0 if seed % 4 else 0.37)
        table = tree_enumeration.midpoint_table(X)
        for depth in (2, 3):
            raw, binary = fitted(X, y, weight, depth, 0.01), fitted(table, y, weight, depth, 0.01)
            assert raw.is_optimal_
            assert binary.is_optimal_
            assert_same(raw.objective_, binary.objective_, seed, depth)


@pytest.mark.parametrize("n_instances", [20, pytest.param(200, marks=pytest.mark.verify)])
def test_matches_pycontree(n_instances):
    pycontree = imported("pycontree")
    for seed in range(n_instances):
        random = np.random.default_rng([93, seed])
        X = random.normal(size=(int(random.integers(20, 120)), int(random.integers(1, 5)))).round(int(random.integers(0, 3)))
        y = random.integers(0, int(random.integers(2, 5)), size=len(X))
        depth = int(random.integers(2, 4))
        peer = pycontree.ConTree(depth).fit(X, y)
        assert_same(fitted(X, y, None, depth, 0.0).objective_, np.mean(peer.predict(X) != y), seed)


def test_more_thresholds_than_binary_columns_are_allowed():
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 20))
    y = (X[:, 3] > 0.5) ^ (X[:, 7] > -0.2)
    tree = fitted(X, y, None, 2, 0.001)
    assert tree.is_optimal_
    assert tree.objective_ == pytest.approx(0.004)


def test_the_order_of_the_rows_does_not_matter():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(200, 3)).round(1), random.integers(0, 3, size=200)
    first, order = fitted(X, y, None, 3, 0.01), random.permutation(200)
    again = fitted(X[order], y[order], None, 3, 0.01)
    np.testing.assert_array_equal(first.tree_.feature, again.tree_.feature)
    np.testing.assert_array_equal(first.tree_.threshold, again.tree_.threshold)


def test_long_searches_return_the_tree_they_found():
    """A search that forgets the trees it no longer needs keeps the best one."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 4)), random.integers(0, 2, size=200)
    tree = OptimalTreeClassifier(4, criterion="error", max_leaf_nodes=None, regularization=0.0).fit(X, y)
    ranks = np.argsort(np.argsort(X, axis=0), axis=0)
    cost, *_ = _core.solve_raw_tree(
        rank=ranks.astype(np.int32),
        label=y.astype(np.int32),
        weight=np.ones(200),
        n_classes=2,
        criterion=0,
        penalty=0.0,
        max_depth=4,
        max_leaves=None,
        units=1.0,
        count=None,
        min_weight=0.0,
        min_rows=1,
        max_nodes=None,
        time_limit=np.inf,
    )
    assert tree.n_nodes_searched_ > 10_000
    assert tree.is_optimal_
    assert_same(objective(tree, X, y) * 200, cost)
