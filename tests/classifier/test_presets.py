"""Presets: the defaults, the paper's choices, and parameters that override them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.utils._param_validation import InvalidParameterError

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier

X, y = load_breast_cancer(return_X_y=True)
ROWS = np.arange(0, len(y), 3)


def black_box(classifier):
    return classifier.discretizer_.estimator_.steps[-1][1]


def test_the_paper_has_stumps_all_thresholds_and_the_error():
    paper = FCCAClassifier(preset="paper").fit(X[ROWS], y[ROWS])
    assert black_box(paper).max_depth == 1
    assert paper.n_thresholds_ == len(paper.discretizer_.all_thresholds_)
    tree = paper.tree_
    assert (tree.max_depth, tree.max_leaf_nodes, tree.criterion) == (3, None, "error")
    assert tree.regularization_ == 10 / len(ROWS)


def test_the_default_black_box_has_depth_two_and_the_tree_eight_leaves():
    default = FCCAClassifier().fit(X[ROWS], y[ROWS])
    assert black_box(default).max_depth == 2
    tree = default.tree_
    assert (tree.max_depth, tree.max_leaf_nodes, tree.criterion) == (4, 8, "error+log_loss")


def test_parameters_override_a_preset():
    tree = OptimalTreeClassifier(2, criterion="gini")
    given = FCCAClassifier(FCCADiscretizer(max_thresholds=5), tree, preset="paper").fit(X[ROWS], y[ROWS])
    assert black_box(given).max_depth == 1  # the discretizer follows in what it leaves open
    assert given.n_thresholds_ == 5
    assert given.tree_.criterion == "gini"
    deeper = FCCAClassifier().set_params(preset="paper", tree__max_depth=4)
    assert (deeper.tree.max_depth, deeper.tree.criterion) == (4, "error")
    assert FCCAClassifier(preset="paper").get_params()["tree__criterion"] == "error"
    assert clone(FCCAClassifier(preset="paper")).preset == "paper"


def test_the_most_crossed_thresholds_are_kept():
    every = FCCADiscretizer(max_thresholds="all").fit(X[ROWS], y[ROWS])
    few = FCCADiscretizer(max_thresholds=7).fit(X[ROWS], y[ROWS])
    assert len(every.thresholds_) > 7 == len(few.thresholds_)
    assert few.all_thresholds_ == every.thresholds_
    counts = np.sort(every.thresholds_.count)[::-1]
    np.testing.assert_array_equal(np.sort(few.thresholds_.count)[::-1], counts[:7])
    coarse = few.set_granularity(0.97)
    assert len(coarse.thresholds_) == np.sum(counts >= np.quantile(counts, 0.97))


@pytest.mark.parametrize("estimator", [FCCAClassifier(preset="mine"), FCCAClassifier(FCCADiscretizer(max_thresholds=0))])
def test_unknown_values_are_named(estimator):
    with pytest.raises(InvalidParameterError, match=r"preset|max_thresholds"):
        estimator.fit(X[ROWS], y[ROWS])
