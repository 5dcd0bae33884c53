"""``to_sklearn()`` gives a tree that answers alike and that scikit-learn's, dtreeviz's and shap's functions accept."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.inspection import permutation_importance
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text, plot_tree

from fcca import OptimalTreeClassifier
from real_data import imported
from trees.problems import random_problems


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = y.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    return X, y, OptimalTreeClassifier(3, regularization=0.005, criterion="error").fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_instances", [60, pytest.param(600, marks=pytest.mark.verify)])
def test_answers_alike(n_instances):
    for problem in random_problems(n_instances, most_columns=10, depths=[1, 2, 3, 4], whole_weights=False, seed=40):
        tree = OptimalTreeClassifier(
            problem.max_depth, regularization=problem.regularization, max_leaf_nodes=None, criterion="error"
        )
        tree.fit(problem.table, problem.label, sample_weight=problem.weight)
        theirs = tree.to_sklearn()
        assert isinstance(theirs, DecisionTreeClassifier)
        np.testing.assert_array_equal(theirs.predict(problem.table), tree.predict(problem.table))
        np.testing.assert_allclose(theirs.predict_proba(problem.table), tree.predict_proba(problem.table))
        pairs = np.unique(np.column_stack([theirs.apply(problem.table), tree.apply(problem.table)]), axis=0)
        assert len(pairs) == theirs.get_n_leaves() == tree.n_leaves_
        assert theirs.get_depth() == tree.depth_


def test_nodes_hold_the_training_rows(iris):
    X, y, tree = iris
    theirs = tree.to_sklearn()
    assert theirs.tree_.n_node_samples[0] == len(y)
    inner = theirs.tree_.children_left >= 0
    left, right = theirs.tree_.children_left[inner], theirs.tree_.children_right[inner]
    for held in (theirs.tree_.n_node_samples, theirs.tree_.weighted_n_node_samples):
        np.testing.assert_allclose(held[inner], held[left] + held[right])
    reached = np.asarray(theirs.decision_path(X).sum(axis=0)).ravel()
    np.testing.assert_array_equal(reached, theirs.tree_.n_node_samples)


def test_export_text_shows_names_and_classes(iris):
    X, _, tree = iris
    text = export_text(tree.to_sklearn(), feature_names=list(X.columns))
    assert text.count("class:") == tree.n_leaves_
    assert "petal" in text
    assert "versicolor" in text


def test_export_graphviz(iris):
    assert export_graphviz(iris[2].to_sklearn()).startswith("digraph")


def test_plot_tree_draws_every_node(iris):
    matplotlib = imported("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, _, tree = iris
    figure, axes = pyplot.subplots()
    boxes = plot_tree(tree.to_sklearn(), feature_names=list(X.columns), class_names=list(tree.classes_), ax=axes)
    figure.canvas.draw()
    pyplot.close(figure)
    assert sum("class" in box.get_text() for box in boxes) == len(tree.tree_.feature)


def test_feature_names_are_kept(iris):
    X, _, tree = iris
    theirs = tree.to_sklearn()
    assert list(theirs.feature_names_in_) == list(X.columns)
    np.testing.assert_array_equal(theirs.predict(X), tree.predict(X))


def test_importances_belong_to_the_columns_used(iris):
    _, _, tree = iris
    importances = tree.to_sklearn().feature_importances_
    assert np.isclose(importances.sum(), 1)
    assert set(np.flatnonzero(importances)) <= set(tree.tree_.feature[tree.tree_.feature >= 0])


def test_pickling_cloning_and_scoring_work(iris):
    X, y, tree = iris
    theirs = tree.to_sklearn()
    copy = pickle.loads(pickle.dumps(theirs))
    np.testing.assert_array_equal(copy.predict(X), tree.predict(X))
    assert theirs.score(X, y) == tree.score(X, y)
    assert permutation_importance(theirs, X, y, n_repeats=1, random_state=0).importances_mean.shape == (4,)
    refitted = clone(theirs).fit(X, y)
    assert refitted.cost_complexity_pruning_path(X, y).ccp_alphas[0] == 0


def test_one_leaf_becomes_one_node():
    X = pd.DataFrame({"a": [0, 1] * 10})
    theirs = OptimalTreeClassifier(3, regularization=1.0, criterion="error").fit(X, ["x", "y"] * 10).to_sklearn()
    assert theirs.tree_.node_count == 1
    assert export_text(theirs).count("class:") == 1
    assert set(theirs.predict(X)) == {"x"}


def test_a_single_class_becomes_one_node():
    theirs = OptimalTreeClassifier(3, criterion="error").fit([[0], [1]], ["only", "only"]).to_sklearn()
    assert list(theirs.predict([[0], [1]])) == ["only", "only"]
    np.testing.assert_array_equal(theirs.predict_proba([[0]]), [[1.0]])


def test_changing_it_leaves_ours_alone(iris):
    X, _, _ = iris
    tree = OptimalTreeClassifier(2, regularization=0.01, criterion="error").fit(X, iris[1])
    before = tree.predict_proba(X)
    theirs = tree.to_sklearn()
    theirs.tree_.value[:] = 0
    np.testing.assert_array_equal(tree.predict_proba(X), before)


def test_shap_values_add_up_to_the_answer(iris):
    shap = imported("shap")
    X, _, tree = iris
    explainer = shap.TreeExplainer(tree.to_sklearn())
    values = explainer.shap_values(X.to_numpy(), check_additivity=True)
    total = np.asarray(values).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, tree.predict_proba(X), atol=1e-6)


def test_dtreeviz_draws_it(iris):
    dtreeviz = imported("dtreeviz")
    X, y, tree = iris
    label = np.searchsorted(tree.classes_, y)
    coded = OptimalTreeClassifier(3, regularization=0.005, criterion="error").fit(X.to_numpy(), label)
    names = {"feature_names": list(X.columns), "target_name": "kind", "class_names": list(tree.classes_)}
    model = dtreeviz.model(coded.to_sklearn(), X.to_numpy(), label, **names)
    assert len(model.shadow_tree.leaves) == coded.n_leaves_
    assert "petal" in model.explain_prediction_path(X.to_numpy()[0])
