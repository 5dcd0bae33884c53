"""The tree is the best one: by enumeration of all trees, and by pystreed."""

import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fcca import OptimalTreeClassifier
from fcca.exceptions import UnfinishedSearchWarning
from oracles import tree_enumeration
from real_data import imported
from trees.problems import TABLES, assert_same, objective, random_problems


def enumerated(problem, weight=None):
    weight = problem.weight if weight is None else weight
    return tree_enumeration.least_objective(problem.table, problem.label, weight, problem.max_depth, problem.regularization)


def fitted(problem, **changes):
    tree = OptimalTreeClassifier(
        problem.max_depth, regularization=problem.regularization, **changes, max_leaf_nodes=None, criterion="error"
    )
    return tree.fit(problem.table, problem.label, sample_weight=problem.weight)


def assert_certified(tree, problem, expected):
    """Proven, and the objective is the expected one however it is computed."""
    assert tree.is_optimal_, problem.name
    assert tree.gap_ == 0, problem.name
    assert tree.depth_ <= problem.max_depth, problem.name
    recomputed = objective(tree, problem.table, problem.label, problem.weight)
    assert_same(recomputed, expected, problem.name)
    assert_same(tree.objective_, recomputed, problem.name)
    assert tree.lower_bound_ == tree.objective_


@pytest.mark.parametrize("n_instances", [400, pytest.param(3000, marks=pytest.mark.verify)])
def test_shallow_trees_match_enumeration(n_instances):
    for problem in random_problems(n_instances, most_columns=8, depths=[1, 2]):
        assert_certified(fitted(problem), problem, enumerated(problem))


@pytest.mark.parametrize("n_instances", [200, pytest.param(2000, marks=pytest.mark.verify)])
def test_deep_trees_match_enumeration(n_instances):
    for problem in random_problems(n_instances, most_columns=5, depths=[3, 4, 5], seed=1):
        assert_certified(fitted(problem), problem, enumerated(problem))


@pytest.mark.parametrize("n_instances", [200, pytest.param(2000, marks=pytest.mark.verify)])
def test_real_valued_weights_match_enumeration(n_instances):
    for depths, columns, seed in (([1, 2], 8, 2), ([3, 4, 5], 5, 3)):
        for problem in random_problems(n_instances // 2, columns, depths, whole_weights=False, seed=seed):
            assert_certified(fitted(problem), problem, enumerated(problem))


@pytest.mark.parametrize("n_instances", [100, pytest.param(1000, marks=pytest.mark.verify)])
def test_class_weights_match_enumeration(n_instances):
    for i, problem in enumerate(random_problems(n_instances, 5, depths=[1, 2, 3, 4], seed=4)):
        classes, label = np.unique(problem.label, return_inverse=True)
        if i % 2:
            per_class = np.random.default_rng(i).uniform(0.1, 5, size=len(classes))
            tree = fitted(problem, class_weight=dict(zip(classes, per_class, strict=True)))
        else:
            mass = np.bincount(label, weights=problem.weight)
            per_class = problem.weight.sum() / (len(classes) * mass)
            tree = fitted(problem, class_weight="balanced")
        weight = problem.weight * per_class[label]
        assert_same(objective(tree, problem.table, problem.label, weight), enumerated(problem, weight), problem.name)
        assert_same(tree.objective_, enumerated(problem, weight), problem.name)


@pytest.mark.parametrize("n_instances", [20, pytest.param(200, marks=pytest.mark.verify)])
def test_large_whole_weights_match_enumeration(n_instances):
    """Sums beyond 16 and beyond 32 bits."""
    for scale in (1_000, 100_000_000, 10_000_000_000):
        for problem in random_problems(n_instances, 5, depths=[2, 3, 4], seed=5):
            tree = OptimalTreeClassifier(
                problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
            )
            tree.fit(problem.table, problem.label, sample_weight=problem.weight * scale)
            found = objective(tree, problem.table, problem.label, problem.weight)
            assert_same(found, enumerated(problem), problem.name, scale)


@pytest.mark.parametrize("n_instances", [30, pytest.param(300, marks=pytest.mark.verify)])
def test_unlimited_depth_matches_enumeration(n_instances):
    for problem in random_problems(n_instances, most_columns=5, depths=[5], seed=6):
        tree = OptimalTreeClassifier(None, regularization=problem.regularization, max_leaf_nodes=None, criterion="error")
        tree.fit(problem.table, problem.label, sample_weight=problem.weight)
        assert_same(objective(tree, problem.table, problem.label, problem.weight), enumerated(problem), problem.name)


def streed_objective(problem):
    """pystreed takes weights as repeated rows, and its penalty is per branch node, one fewer than the leaves."""
    pystreed = imported("pystreed")
    X, y = (part.astype(np.int32) for part in problem.repeated())
    peer = pystreed.STreeDClassifier(
        "cost-complex-accuracy", max_depth=problem.max_depth, cost_complexity=problem.regularization
    ).fit(X, y)
    leaves = peer.get_tree().get_num_branching_nodes() + 1
    return float(np.mean(peer.predict(X) != y) + problem.regularization * leaves)


@pytest.mark.parametrize("n_instances", [150, pytest.param(1000, marks=pytest.mark.verify)])
def test_matches_pystreed_unless_enumeration_proves_it_wrong(n_instances):
    """pystreed 1.4.0 calls a tree optimal that is not, in some 3 of 1,000 such problems, whichever bounds are on.

    Ours is then the better one, and enumeration of all trees finds just that.
    """
    differ = []
    for problem in random_problems(n_instances, 12, [1, 2, 3, 4, 5], most_rows=120, least_rows=2, seed=73):
        tree, theirs = fitted(problem), streed_objective(problem)
        if abs(tree.objective_ - theirs) <= 1e-9:
            assert_certified(tree, problem, theirs)
            continue
        differ.append(problem.name)
        assert tree.objective_ < theirs, problem.name
        assert_certified(tree, problem, enumerated(problem))
    assert len(differ) <= n_instances / 100, differ


@pytest.mark.parametrize("n_instances", [10, pytest.param(100, marks=pytest.mark.verify)])
def test_never_worse_than_cart(n_instances):
    """Larger tables than can be enumerated."""
    for problem in random_problems(n_instances, most_columns=40, depths=[2, 3, 4], most_rows=400, seed=8):
        cart = DecisionTreeClassifier(max_depth=problem.max_depth, random_state=0)
        cart.fit(problem.table, problem.label, sample_weight=problem.weight)
        wrong = problem.weight[cart.predict(problem.table) != problem.label].sum() / problem.weight.sum()
        tree = fitted(problem)
        assert tree.objective_ <= wrong + problem.regularization * cart.get_n_leaves() + 1e-9, problem.name


@pytest.mark.parametrize("n_instances", [30, pytest.param(300, marks=pytest.mark.verify)])
def test_weights_equal_repeated_rows(n_instances):
    for problem in random_problems(n_instances, 12, depths=[1, 2, 3, 4], seed=9):
        X, y = problem.repeated()
        repeated = OptimalTreeClassifier(
            problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
        ).fit(X, y)
        weighted = fitted(problem)
        assert_same(weighted.objective_, repeated.objective_, problem.name)
        np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("n_instances", [30, pytest.param(300, marks=pytest.mark.verify)])
def test_weight_zero_equals_leaving_the_row_out(n_instances):
    for i, problem in enumerate(random_problems(n_instances, 10, depths=[1, 2, 3, 4], whole_weights=False, seed=10)):
        random = np.random.default_rng(i)
        kept = random.random(len(problem.label)) < 0.7
        kept[random.integers(len(kept))] = True
        weight = np.where(kept, problem.weight, 0)
        zero = OptimalTreeClassifier(
            problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
        )
        zero.fit(problem.table, problem.label, sample_weight=weight)
        without = OptimalTreeClassifier(
            problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
        )
        without.fit(problem.table[kept], problem.label[kept], sample_weight=weight[kept])
        assert_same(zero.objective_, without.objective_, problem.name)
        np.testing.assert_array_equal(zero.classes_, without.classes_)
        np.testing.assert_allclose(zero.predict_proba(problem.table), without.predict_proba(problem.table))


@pytest.mark.parametrize("n_instances", [30, pytest.param(300, marks=pytest.mark.verify)])
def test_order_of_rows_and_columns_does_not_change_the_objective(n_instances):
    for i, problem in enumerate(random_problems(n_instances, 12, depths=[2, 3, 4], whole_weights=False, seed=11)):
        random = np.random.default_rng(i)
        rows, columns = random.permutation(len(problem.label)), random.permutation(problem.table.shape[1])
        tree = OptimalTreeClassifier(
            problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
        )
        tree.fit(problem.table[rows][:, columns], problem.label[rows], sample_weight=problem.weight[rows])
        assert_same(tree.objective_, fitted(problem).objective_, problem.name)


@pytest.mark.parametrize("n_instances", [20, pytest.param(200, marks=pytest.mark.verify)])
def test_order_of_rows_does_not_change_the_tree(n_instances):
    for i, problem in enumerate(random_problems(n_instances, 12, depths=[2, 3, 4], seed=12)):
        rows = np.random.default_rng(i).permutation(len(problem.label))
        tree = OptimalTreeClassifier(
            problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
        )
        tree.fit(problem.table[rows], problem.label[rows], sample_weight=problem.weight[rows])
        same = fitted(problem)
        np.testing.assert_array_equal(tree.tree_.feature, same.tree_.feature)
        np.testing.assert_array_equal(tree.tree_.threshold, same.tree_.threshold)


@pytest.mark.parametrize("n_instances", [20, pytest.param(200, marks=pytest.mark.verify)])
def test_duplicate_and_complementary_columns_change_nothing(n_instances):
    for problem in random_problems(n_instances, 6, depths=[2, 3, 4], seed=13):
        wide = np.hstack([problem.table, 1 - problem.table, problem.table[:, ::-1]])
        tree = OptimalTreeClassifier(
            problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
        )
        tree.fit(wide, problem.label, sample_weight=problem.weight)
        assert_same(tree.objective_, fitted(problem).objective_, problem.name)


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_every_kind_of_table_is_among_the_instances(make):
    """Chains, columns without chains, one-hot and twin columns, all with rows that contradict each other."""
    found = [p for p in random_problems(50, most_columns=8, depths=[1, 2]) if p.name.startswith(make.__name__)]
    assert len(found) == 10
    assert any(contradict(p) for p in found)


def contradict(problem):
    rows = np.unique(problem.table, axis=0)
    return len(np.unique(np.column_stack([problem.table, problem.label]), axis=0)) > len(rows)


def test_rows_all_alike_give_one_leaf():
    for n_classes in (2, 3):
        y = np.arange(60) % n_classes
        tree = OptimalTreeClassifier(3, regularization=0.01, criterion="error").fit(np.ones((60, 4)), y)
        assert (tree.n_leaves_, tree.is_optimal_) == (1, True)
        assert_same(tree.objective_, 1 - 1 / n_classes + 0.01)
        np.testing.assert_allclose(tree.predict_proba(np.ones((1, 4))), np.full((1, n_classes), 1 / n_classes))


def test_rows_that_contradict_each_other_cost_their_lighter_class():
    table = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 10, axis=0)
    y = np.r_[[1] * 3 + [0] * 7, [1] * 6 + [0] * 4, [1] * 8 + [0] * 2, [1] * 1 + [0] * 9]
    tree = OptimalTreeClassifier(2, regularization=0.001, criterion="error").fit(table, y)
    assert_same(tree.objective_, (3 + 4 + 2 + 1) / 40 + 0.004)
    assert_same(objective(tree, table, y), tree.objective_)


def test_a_tree_is_no_deeper_than_needed_where_leaves_cost_nothing():
    for seed in range(30):
        random = np.random.default_rng(seed)
        n_rows = int(random.integers(20, 80))
        table, label = random.integers(0, 2, (n_rows, int(random.integers(5, 9)))), random.integers(0, 2, n_rows)
        settings = {"criterion": "error", "max_leaf_nodes": None, "regularization": 0.0}
        shallow, deep = (OptimalTreeClassifier(depth, **settings).fit(table, label) for depth in (4, 5))
        assert deep.objective_ < shallow.objective_ or deep.depth_ <= 4, seed


def test_a_stopped_search_without_a_gap_is_a_proof():
    """After a tree of depth 5 without errors, only a less deep one is searched for."""
    n_proven = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        table, label = random.integers(0, 2, (60, 8)), random.integers(0, 2, 60)
        for max_nodes in range(20, 90, 6):
            settings = {"criterion": "error", "max_leaf_nodes": None, "regularization": 0.0, "max_nodes": max_nodes}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnfinishedSearchWarning)
                tree = OptimalTreeClassifier(5, **settings).fit(table, label)
            assert tree.is_optimal_ == (tree.gap_ == 0), (seed, max_nodes)
            n_proven += tree.is_optimal_
    assert n_proven > 0


def test_same_input_gives_the_same_tree():
    for problem in random_problems(10, most_columns=30, depths=[3, 4], most_rows=300, seed=14):
        first, second = fitted(problem), fitted(problem)
        np.testing.assert_array_equal(first.tree_.feature, second.tree_.feature)
        np.testing.assert_array_equal(first.tree_.threshold, second.tree_.threshold)
        np.testing.assert_array_equal(first.tree_.weight, second.tree_.weight)


@pytest.mark.parametrize("n_instances", [40, pytest.param(400, marks=pytest.mark.verify)])
@pytest.mark.parametrize("weights", ["16 bits", "32 bits", "real"])
def test_searches_with_and_without_a_limit_on_leaves_agree_at_depth_four(weights, n_instances):
    """Without a limit, depth 4 is solved from the quarters of two splits. With a limit, it is not."""
    scale = {"16 bits": 1, "32 bits": 1_000_003, "real": 1}[weights]
    compared = 0
    for problem in random_problems(
        n_instances, 30, [4, 5], most_classes=2, most_rows=150, least_rows=60, whole_weights=weights != "real", seed=14
    ):
        settings = {"regularization": max(problem.regularization, 0.002), "criterion": "error"}
        weight = problem.weight * scale
        trees = [
            OptimalTreeClassifier(problem.max_depth, max_leaf_nodes=leaves, **settings).fit(
                problem.table, problem.label, sample_weight=weight
            )
            for leaves in (None, 15)
        ]
        free, limited = trees
        assert free.is_optimal_, problem.name
        assert limited.is_optimal_, problem.name
        assert free.objective_ <= limited.objective_ + 1e-9, problem.name
        if free.n_leaves_ <= 15:
            assert_same(free.objective_, limited.objective_, problem.name)
            compared += 1
    assert compared > n_instances / 2


@pytest.mark.parametrize("n_instances", [40, pytest.param(400, marks=pytest.mark.verify)])
def test_a_stopped_search_has_a_valid_bound(n_instances):
    """After any number of nodes, the optimum lies between the bound and the objective."""
    for i, problem in enumerate(
        random_problems(n_instances, 14, [4, 5], most_classes=2, most_rows=150, least_rows=60, seed=15)
    ):
        best = fitted(problem).objective_
        for max_nodes in (1, 10 + i, 60 + 5 * i):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnfinishedSearchWarning)
                tree = fitted(problem, max_nodes=max_nodes)
            assert tree.lower_bound_ <= best + 1e-9, (problem.name, max_nodes)
            assert tree.objective_ >= best - 1e-9, (problem.name, max_nodes)
            assert not tree.is_optimal_ or abs(tree.objective_ - best) <= 1e-9, (problem.name, max_nodes)
