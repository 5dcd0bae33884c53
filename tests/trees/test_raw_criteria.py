"""The search on raw columns for every criterion and limit: exact, and valid bounds when it is stopped."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest

from fcca import OptimalTreeClassifier
from fcca.exceptions import UnfinishedSearchWarning
from fcca.tables import SoftLabels
from fcca.trees._criteria import CRITERIA
from oracles import tree_enumeration
from trees.problems import TOLERANCE, assert_same
from trees.test_raw_columns import table_with_missing

MOST_ROWS = {1: 25, 2: 18, 3: 13, 4: 10}
NO_LIMIT = 32  # more leaves than a tree of depth 4 can have


class Instance(NamedTuple):
    """A small table with ties, and the limits of its tree."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    depth: int
    settings: dict


def weights(random, n_rows):
    """Ones, whole numbers, large whole numbers, and real numbers below and above 1."""
    kind = int(random.integers(4))
    if kind == 0:
        return np.ones(n_rows)
    if kind == 3:
        return 10.0 ** random.uniform(-1.5, 1, size=n_rows)
    return random.integers(1, 6, size=n_rows) * (1.0 if kind == 1 else 1_000_000.0)


def instance(seed, criterion, *, has_limits=True, has_missing=False):
    random = np.random.default_rng([94, list(CRITERIA).index(criterion), seed])
    depth = int(random.choice([1, 2, 2, 3, 3, 4]))
    n_rows, n_columns = int(random.integers(2, MOST_ROWS[depth])), int(random.integers(1, 3 if depth == 4 else 4))
    X = random.integers(0, random.integers(2, 20), size=(n_rows, n_columns)).astype(float)
    if has_missing:
        X[random.random(X.shape) < 0.2] = np.nan
        X[0, 0] = 1.0
    y = random.integers(0, int(random.choice([2, 2, 3, 4])), size=n_rows)
    if random.random() < 0.5:  # some structure
        y = np.where(random.random(n_rows) < 0.8, np.nan_to_num(X[:, 0]) > np.nanmedian(X), y).astype(int)
    y[0] = 1 - min(y[-1], 1)
    weight, count = weights(random, n_rows), random.integers(1, 4, size=n_rows)
    regularization = float(random.choice([0.0, 0.01, 0.03, 0.1]))
    settings = {"criterion": criterion, "max_leaf_nodes": None, "regularization": regularization}
    if has_limits:
        settings["max_leaf_nodes"] = int(random.integers(2, 9)) if random.random() < 0.8 else None
        settings["min_samples_leaf"] = int(random.choice([1, 1, 2, 3, 5]))
        settings["min_weight_fraction_leaf"] = float(random.choice([0.0, 0.0, 0.1, 0.25]))
    return Instance(X, y, weight, count, depth, settings)


def fitted(given, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        tree = OptimalTreeClassifier(given.depth, **given.settings, **more)
        return tree.fit_counted(given.X, given.y, given.weight, given.count)


def least(given, rows=None, label=None, weight=None, count=None):
    """The least objective of all trees; rows, label, weight, count: instead of those of the instance."""
    settings, weight = given.settings, given.weight if weight is None else weight
    return tree_enumeration.least_objective(
        table_with_missing(given.X if rows is None else rows),
        given.y if label is None else label,
        weight,
        given.depth,
        settings["regularization"],
        settings["criterion"],
        settings["max_leaf_nodes"] or NO_LIMIT,
        settings.get("min_samples_leaf", 1),
        settings.get("min_weight_fraction_leaf", 0.0) * weight.sum(),
        given.count if count is None else count,
    )


def recomputed(tree, given):
    """The objective of the tree, from the leaves that the rows end in."""
    leaf, total = tree.apply(given.X), given.weight.sum()
    cost = 0.0
    for node in np.unique(leaf):
        here = leaf == node
        mass = np.bincount(np.unique(given.y, return_inverse=True)[1][here], given.weight[here], len(np.unique(given.y)))
        cost += tree_enumeration.leaf_cost(mass, given.settings["criterion"])
    return cost / total + given.settings["regularization"] * len(np.unique(leaf))


def assert_within_limits(tree, given):
    leaf, settings = tree.apply(given.X), given.settings
    assert tree.depth_ <= given.depth
    assert tree.n_leaves_ <= (settings["max_leaf_nodes"] or NO_LIMIT)
    for node in np.unique(leaf) if tree.n_leaves_ > 1 else []:
        assert given.count[leaf == node].sum() >= settings.get("min_samples_leaf", 1)
        share = given.weight[leaf == node].sum() / given.weight.sum()
        assert share >= settings.get("min_weight_fraction_leaf", 0.0) - TOLERANCE


def assert_matches_enumeration(given, *context):
    tree, expected = fitted(given), least(given)
    assert tree.is_optimal_, context
    assert_same(tree.objective_, expected, *context)
    assert_same(recomputed(tree, given), expected, *context)
    assert_within_limits(tree, given)


every_criterion = pytest.mark.parametrize("criterion", CRITERIA)


@every_criterion
@pytest.mark.parametrize("n_instances", [30, pytest.param(1000, marks=pytest.mark.verify)])
def test_trees_match_enumeration(criterion, n_instances):
    for seed in range(n_instances):
        assert_matches_enumeration(instance(seed, criterion, has_limits=False), criterion, seed)


@every_criterion
@pytest.mark.parametrize("n_instances", [50, pytest.param(2000, marks=pytest.mark.verify)])
def test_limits_on_leaves_match_enumeration(criterion, n_instances):
    for seed in range(n_instances):
        assert_matches_enumeration(instance(seed, criterion), criterion, seed)


@every_criterion
@pytest.mark.parametrize("n_instances", [25, pytest.param(1000, marks=pytest.mark.verify)])
def test_missing_values_go_to_the_better_side(criterion, n_instances):
    for seed in range(n_instances):
        assert_matches_enumeration(instance(seed, criterion, has_missing=True), criterion, seed)


@every_criterion
@pytest.mark.parametrize("n_instances", [10, pytest.param(500, marks=pytest.mark.verify)])
def test_bounds_hold_wherever_the_search_is_stopped(criterion, n_instances):
    for seed in range(n_instances):
        given = instance(seed, criterion, has_missing=seed % 2 == 1)
        expected = least(given)
        for max_nodes in (0, 1, 2, 4, 8, 20):
            tree = fitted(given, max_nodes=max_nodes)
            assert tree.lower_bound_ <= expected + TOLERANCE, (seed, max_nodes)
            assert tree.objective_ >= expected - TOLERANCE, (seed, max_nodes)
            assert not tree.is_optimal_ or abs(tree.objective_ - expected) <= TOLERANCE, (seed, max_nodes)
            assert_within_limits(tree, given)


@every_criterion
@pytest.mark.parametrize("n_instances", [10, pytest.param(500, marks=pytest.mark.verify)])
def test_soft_labels_match_enumeration(criterion, n_instances):
    """A soft label is one row per class, with the weight of the class."""
    for seed in range(n_instances):
        given = instance(seed, criterion)
        given = given._replace(weight=np.ones(len(given.y)), count=np.ones(len(given.y), dtype=np.int64))
        K = len(np.unique(given.y))
        probability = np.random.default_rng(seed).multinomial(16, np.full(K, 1 / K), size=len(given.y)) / 16
        soft = SoftLabels.of(probability, given.weight)
        tree = OptimalTreeClassifier(given.depth, **given.settings).fit_counted(given.X, given.y, soft=soft)
        rows, label = np.repeat(given.X, K, axis=0), np.tile(np.arange(K), len(given.y))
        first = np.tile(np.arange(K) == 0, len(given.y)).astype(int)  # a row counts once
        # Classes without weight keep their place: the enumeration takes them from the labels.
        expected = least(given, rows, label, probability.ravel(), first)
        assert_same(tree.objective_, expected, criterion, seed)


@every_criterion
def test_larger_tables_match_the_search_on_binary_columns(criterion):
    """Blocks of many places, several rounds of thresholds, and intervals of first splits."""
    for seed in range(4):
        random = np.random.default_rng([95, seed])
        X = random.normal(size=(90, 3)).round(2 if seed % 2 else 1)
        y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=90), [0.0] if seed < 2 else [-1.0, 1.0])
        weight = np.ones(90) if seed % 2 else random.uniform(0.2, 2, size=90)
        settings = {"criterion": criterion, "regularization": 0.02, "max_leaf_nodes": 6}
        settings["min_samples_leaf"] = 5 if seed % 2 else 1
        raw = OptimalTreeClassifier(3, **settings).fit(X, y, weight)
        binary = OptimalTreeClassifier(3, **settings).fit(tree_enumeration.midpoint_table(X), y, weight)
        assert raw.is_optimal_
        assert_same(raw.objective_, binary.objective_, seed)


def test_defaults_accept_more_thresholds_than_binary_columns_and_missing_values():
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 8))
    y = (X[:, 3] > 0.5) ^ (random.random(1500) < 0.05)
    X[random.random(X.shape) < 0.05] = np.nan
    with pytest.warns(UnfinishedSearchWarning, match="50 branches"):
        tree = OptimalTreeClassifier(max_nodes=50).fit(X, y)
    assert tree.tree_.feature[0] == 3
    assert 0 < tree.lower_bound_ <= tree.objective_


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_of_a_class_without_weight_count_for_the_size_of_leaves(criterion):
    for seed in range(20):
        random = np.random.default_rng([7, seed])
        X, y = random.integers(0, 6, size=(30, 2)).astype(float), random.integers(0, 3, size=30)
        settings = {
            "criterion": criterion,
            "max_leaf_nodes": 4,
            "min_samples_leaf": 6,
            "class_weight": {0: 0.0, 1: 1.0, 2: 2.0},
        }
        raw = OptimalTreeClassifier(3, regularization=0.01, **settings).fit(X, y)
        binary = OptimalTreeClassifier(3, regularization=0.01, **settings).fit(tree_enumeration.midpoint_table(X), y)
        assert_same(raw.objective_, binary.objective_, seed)
        assert raw.is_optimal_
