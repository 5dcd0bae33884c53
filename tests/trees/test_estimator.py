"""OptimalTreeClassifier as people use it: any columns, any labels, scikit-learn's rules, bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from fcca import OptimalTreeClassifier
from fcca.exceptions import InvalidInputError, LightWeightsWarning, UnfinishedSearchWarning
from oracles import tree_enumeration
from trees.problems import assert_same, coins, labels, objective, random_problems


@parametrize_with_checks(
    [
        OptimalTreeClassifier(),
        OptimalTreeClassifier(3, criterion="error"),
        OptimalTreeClassifier(None, regularization=0.2, max_leaf_nodes=None, criterion="error"),
    ]
)
def test_passes_every_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    X = coins(random, 300, 10)
    return X, labels(random, X, 2)


# --- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_instances", [40, pytest.param(400, marks=pytest.mark.verify)])
def test_continuous_columns_are_cut_at_all_midpoints(n_instances):
    for i in range(n_instances):
        random = np.random.default_rng([30, i])
        n_rows, n_columns = int(random.integers(2, 14)), int(random.integers(1, 4))
        X = random.normal(size=(n_rows, n_columns)) * 10.0 ** random.integers(-12, 12, size=n_columns)
        if i % 3 == 0:
            X = np.round(random.normal(size=(n_rows, n_columns)) * 2)
        if i % 3 == 1:
            X[:, 0] = random.integers(0, 2, size=n_rows)
        y, depth = random.integers(0, 3, size=n_rows), int(random.integers(1, 4))
        tree = OptimalTreeClassifier(depth, regularization=0.03, max_leaf_nodes=None, criterion="error").fit(X, y)
        cuts = tree_enumeration.midpoint_table(X)
        expected = tree_enumeration.least_objective(cuts, y, np.ones(n_rows), depth, 0.03)
        assert_same(objective(tree, X, y), expected, i)


def test_thresholds_are_midpoints_and_0_1_columns_are_cut_between():
    X = np.array([[0.0, 0], [1, 0], [1, 1], [5, 1]]).repeat(10, axis=0)
    tree = OptimalTreeClassifier(2, regularization=0.01, criterion="error").fit(X, np.array([0, 0, 0, 1]).repeat(10))
    assert tree.rules() == ["x0 ≤ 3 → 0 (1.00)", "x0 > 3 → 1 (1.00)"]
    binary = OptimalTreeClassifier(1, regularization=0.01, criterion="error").fit(
        X[:, 1:], np.array([0, 0, 1, 1]).repeat(10)
    )
    assert binary.tree_.threshold[0] == 0.5


def test_values_one_ulp_apart_are_told_apart():
    for low in (1.0, -1.0, 1e300, 5e-324, 0.0):
        X = np.array([[low], [np.nextafter(low, np.inf)]]).repeat(10, axis=0)
        y = np.array([0, 1]).repeat(10)
        tree = OptimalTreeClassifier(3, regularization=0.01, criterion="error").fit(X, y)
        np.testing.assert_array_equal(tree.predict(X), y)


def test_too_many_midpoints_for_the_time_limit_is_said_with_a_way_out():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 5)), random.integers(0, 2, 200)
    with pytest.warns(UnfinishedSearchWarning, match="FCCADiscretizer"):
        OptimalTreeClassifier(6, regularization=1e-3, time_limit=0.05, max_leaf_nodes=None, criterion="error").fit(X, y)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_0_1_columns_of_any_type_give_the_same_tree(table, dtype):
    X, y = table
    expected = OptimalTreeClassifier(3, criterion="error").fit(X, y)
    tree = OptimalTreeClassifier(3, criterion="error").fit(X.astype(dtype), y)
    assert tree.rules() == expected.rules()
    np.testing.assert_array_equal(tree.predict(X.astype(dtype)), expected.predict(X))


def test_frames_give_rules_in_their_names(table):
    X, y = table
    names = [f"column {j}" for j in range(X.shape[1])]
    tree = OptimalTreeClassifier(3, criterion="error").fit(pd.DataFrame(X, columns=names), y)
    assert list(tree.feature_names_in_) == names
    assert all("column" in rule for rule in tree.rules())
    assert len(tree.rules()) == tree.n_leaves_


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["yes", "no"]),
        np.array(["b", "a", "c"], dtype=object),
        np.array([True, False]),
        np.array([-7, -3, 12]),
        np.array([1.0, 2.0]),
        np.array([10**12, 0]),
    ],
    ids=["str", "object", "bool", "negative", "float", "large"],
)
def test_classes_of_any_type(classes):
    random = np.random.default_rng(1)
    X = coins(random, 200, 6)
    label = labels(random, X, len(classes))
    tree = OptimalTreeClassifier(3, regularization=0.005, criterion="error").fit(X, classes[label])
    plain = OptimalTreeClassifier(3, regularization=0.005, criterion="error").fit(X, label)
    assert_same(tree.objective_, plain.objective_)
    np.testing.assert_array_equal(tree.classes_, np.unique(classes))
    assert set(tree.predict(X)) <= set(classes)
    assert tree.predict(X).dtype == tree.classes_.dtype
    assert_same(objective(tree, X, classes[label]), tree.objective_)


def test_predict_proba_is_the_smoothed_share_of_each_class_in_the_leaf(table):
    X, y = table
    weight = np.random.default_rng(2).exponential(size=len(y))
    tree = OptimalTreeClassifier(3, regularization=0.005, criterion="error").fit(X, y, sample_weight=weight)
    assert tree.n_leaves_ > 2
    leaf, shares = tree.apply(X), tree.predict_proba(X)
    for one in np.unique(leaf):
        inside = leaf == one
        expected = [(weight[inside & (y == c)].sum() + 0.5) / (weight[inside].sum() + 1) for c in tree.classes_]
        np.testing.assert_allclose(shares[inside], np.tile(expected, (inside.sum(), 1)))
    np.testing.assert_array_equal(tree.predict(X), tree.classes_[shares.argmax(axis=1)])
    assert np.isclose(tree.score(X, y), np.mean(tree.predict(X) == y))


def test_objective_is_error_share_plus_leaves(table):
    X, y = table
    for depth in (1, 2, 3, 4):
        tree = OptimalTreeClassifier(depth, max_leaf_nodes=None, criterion="error").fit(X, y)
        assert tree.regularization_ == 10 / len(y)
        assert_same(objective(tree, X, y), tree.objective_)
        assert tree.n_leaves_ == len(np.unique(tree.apply(X)))


def test_every_leaf_has_training_rows_and_none_can_be_merged_away():
    for problem in random_problems(50, most_columns=10, depths=[3, 4], seed=31):
        tree = OptimalTreeClassifier(
            problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
        )
        nodes = tree.fit(problem.table, problem.label).tree_
        assert nodes.n_rows.min() > 0
        if problem.regularization > 0:  # two sibling leaves with one answer would be a leaf too many
            answer, is_leaf = nodes.weight.argmax(axis=1), nodes.feature < 0
            above_leaves = ~is_leaf & is_leaf[nodes.left] & is_leaf[nodes.right]
            assert np.all(answer[nodes.left[above_leaves]] != answer[nodes.right[above_leaves]]), problem.name


# --- class weights ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_balanced_weights_find_one_percent_of_positives(seed):
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, size=(4000, 12))
    rare = (X[:, 0] & X[:, 1] & X[:, 2] & X[:, 3] & (random.random(4000) < 0.16)).astype(int)
    assert 0.005 <= rare.mean() <= 0.015
    assert OptimalTreeClassifier(4, max_leaf_nodes=None, criterion="error").fit(X, rare).n_leaves_ == 1
    tree = OptimalTreeClassifier(4, class_weight="balanced", max_leaf_nodes=None, criterion="error").fit(X, rare)
    assert tree.n_leaves_ > 1
    assert tree.is_optimal_
    assert tree.predict(X)[rare == 1].mean() > 0.9


def test_class_weights_equal_sample_weights(table):
    X, y = table
    by_class = OptimalTreeClassifier(3, class_weight={0: 1.0, 1: 2.5}, regularization=0.01, criterion="error").fit(X, y)
    by_row = OptimalTreeClassifier(3, regularization=0.01, criterion="error").fit(
        X, y, sample_weight=np.where(y == 1, 2.5, 1.0)
    )
    assert by_class.objective_ == by_row.objective_
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


def test_class_weight_zero_equals_leaving_the_class_out_of_the_answers(table):
    X, y = table
    tree = OptimalTreeClassifier(3, class_weight={0: 0.0, 1: 1.0}, criterion="error").fit(X, y)
    assert np.isfinite(tree.predict_proba(X)).all()
    assert set(tree.predict(X)) == {1}


@pytest.mark.parametrize("class_weight", [{0: 0.0, 1: 0.0}, {0: -1.0, 1: 1.0}, {0: np.nan, 1: 1.0}, {0: np.inf, 1: 1.0}])
def test_unusable_class_weights_are_an_error(table, class_weight):
    with pytest.raises(InvalidInputError, match="class_weight"):
        OptimalTreeClassifier(3, class_weight=class_weight, criterion="error").fit(*table)


# --- bad input --------------------------------------------------------------------------------------------------------


def test_a_single_class_gives_one_leaf(table):
    X, _ = table
    tree = OptimalTreeClassifier(3, criterion="error").fit(X, np.full(len(X), "only"))
    assert (tree.n_leaves_, tree.depth_, tree.is_optimal_, tree.gap_) == (1, 0, True, 0)
    assert set(tree.predict(X)) == {"only"}
    np.testing.assert_array_equal(tree.predict_proba(X), np.ones((len(X), 1)))
    assert tree.rules() == ["always → only (1.00)"]


def test_a_class_whose_rows_all_weigh_nothing_is_not_there(table):
    X, y = table
    tree = OptimalTreeClassifier(3, criterion="error").fit(X, y, sample_weight=(y == 1).astype(float))
    assert list(tree.classes_) == [1]


@pytest.mark.parametrize(
    ("weight", "message"), [(0.0, "non-zero"), (-1.0, "Negative values"), (np.nan, "finite"), (np.inf, "finite")]
)
def test_unusable_weights_are_an_error(table, weight, message):
    X, y = table
    with pytest.raises(InvalidInputError, match=message):
        OptimalTreeClassifier(3, criterion="error").fit(X, y, sample_weight=np.full(len(y), weight))


def test_weights_whose_sum_overflows_are_an_error(table):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInputError, match="sample_weight"):
            OptimalTreeClassifier(3, criterion="error").fit(X, y, sample_weight=np.full(len(y), 1e308))


@pytest.mark.parametrize(
    "parameters",
    [{"max_depth": 0}, {"max_depth": -1}, {"max_depth": 1.5}, {"regularization": -0.1}, {"regularization": np.nan},
     {"time_limit": -1}, {"class_weight": "heavy"}],
)  # fmt: skip
def test_parameters_out_of_range_are_named(table, parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        OptimalTreeClassifier(**parameters).fit(*table)


@pytest.mark.parametrize("max_depth", [7, 64, 1000, 2**31, 10**12])
def test_any_depth_is_allowed(table, max_depth):
    X, y = table
    tree = OptimalTreeClassifier(max_depth, regularization=0.05, max_leaf_nodes=None, criterion="error").fit(X, y)
    assert_same(
        tree.objective_,
        OptimalTreeClassifier(None, regularization=0.05, max_leaf_nodes=None, criterion="error").fit(X, y).objective_,
    )


def test_regularization_above_any_gain_gives_one_leaf(table):
    X, y = table
    for regularization in (0.6, 1.0, 1e6, 1e300):
        tree = OptimalTreeClassifier(3, regularization=regularization, criterion="error").fit(X, y)
        assert (tree.n_leaves_, tree.is_optimal_) == (1, True)
        assert_same(tree.objective_, min(np.mean(y), 1 - np.mean(y)) + regularization)


def test_no_regularization_fits_what_can_be_fitted():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    tree = OptimalTreeClassifier(2, regularization=0, criterion="error").fit(X, [0, 1, 1, 0])
    assert (tree.objective_, tree.gap_, tree.n_leaves_) == (0, 0, 4)


def test_more_than_ten_thousand_binary_columns_are_an_error_but_not_as_many_midpoints():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=60)
    with pytest.raises(InvalidInputError, match=r"10001.*FCCADiscretizer"):
        OptimalTreeClassifier(3, criterion="error").fit(np.tile([[0], [1]], (30, 10_001)), y)
    raw = OptimalTreeClassifier(2, criterion="gini").fit(random.normal(size=(60, 200)), y)  # 11,800 midpoints
    assert raw.is_optimal_


def test_light_weights_warn_and_keep_the_default(table):
    X, y = table
    with pytest.warns(LightWeightsWarning, match="regularization"):
        tree = OptimalTreeClassifier(3, criterion="error").fit(X, y, sample_weight=np.full(len(y), 0.01))
    assert_same(tree.regularization_, 10 / (0.01 * len(y)))
    assert tree.n_leaves_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", LightWeightsWarning)
        OptimalTreeClassifier(3, criterion="error").fit(X, y, sample_weight=np.full(len(y), 0.5))
        OptimalTreeClassifier(3, regularization=0.01, criterion="error").fit(X, y, sample_weight=np.full(len(y), 0.01))


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
def test_units_of_the_weights_do_not_matter(table, scale):
    X, y = table
    weight = np.random.default_rng(3).integers(1, 5, size=len(y)).astype(float)
    expected = OptimalTreeClassifier(3, regularization=0.01, criterion="error").fit(X, y, sample_weight=weight)
    tree = OptimalTreeClassifier(3, regularization=0.01, criterion="error").fit(X, y, sample_weight=weight * scale)
    assert_same(tree.objective_, expected.objective_)


def test_missing_values_are_an_error_in_predict_unless_training_rows_have_them(table):
    X, y = table
    missing = X.astype(float)
    missing[0, 0] = np.nan
    tree = OptimalTreeClassifier(3).fit(missing, y)
    assert tree.missing_columns_.tolist() == [0]
    tree.predict(missing)
    with pytest.raises(ValueError, match="NaN"):
        tree.fit(X, y).predict(missing)


def test_unfitted_trees_say_so(table):
    X, _ = table
    for call in (OptimalTreeClassifier(3, criterion="error").rules, OptimalTreeClassifier(3, criterion="error").to_sklearn):
        with pytest.raises(NotFittedError):
            call()
    with pytest.raises(NotFittedError):
        OptimalTreeClassifier(3, criterion="error").apply(X)


# --- life ------------------------------------------------------------------------------------------------------------


def test_pickle_and_clone(table):
    X, y = table
    tree = OptimalTreeClassifier(2, regularization=0.01, criterion="error").fit(X, y)
    copy = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(copy.predict_proba(X), tree.predict_proba(X))
    assert (copy.objective_, copy.is_optimal_, copy.rules()) == (tree.objective_, True, tree.rules())
    assert not hasattr(clone(tree), "tree_")


def test_refitting_forgets_the_first_fit(table):
    X, y = table
    tree = OptimalTreeClassifier(3, criterion="error").fit(X, y).fit(X[:, :3], np.where(y, "b", "a"))
    fresh = OptimalTreeClassifier(3, criterion="error").fit(X[:, :3], np.where(y, "b", "a"))
    assert tree.rules() == fresh.rules()
    assert tree.n_features_in_ == 3


def test_grid_search_over_depth_and_regularization():
    X, y = load_iris(return_X_y=True)
    grid = {"max_depth": [1, 2, 3], "regularization": [0.005, 0.05]}
    search = GridSearchCV(OptimalTreeClassifier(3, criterion="error"), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


def test_fitting_does_not_change_its_input():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :2].copy()
    kept, weight = X.copy(), np.random.default_rng(0).exponential(size=len(y))
    before = weight.copy()
    OptimalTreeClassifier(1, criterion="error").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(X, kept)
    np.testing.assert_array_equal(weight, before)


def test_of_several_cuts_on_a_side_a_rule_says_the_tightest():
    x = np.arange(40.0)
    y = np.select([x < 10, x < 20, x < 30], ["a", "b", "a"], "b")
    tree = OptimalTreeClassifier(max_depth=3, regularization=0.01, criterion="error").fit(pd.DataFrame({"x": x}), y)
    assert tree.rules() == [
        "x ≤ 9.5 → a (1.00)",
        "x ≤ 19.5 and x > 9.5 → b (1.00)",
        "x > 19.5 and x ≤ 29.5 → a (1.00)",
        "x > 29.5 → b (1.00)",
    ]
