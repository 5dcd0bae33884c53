"""The parameter fit_to: trees of probabilities, labels, mixtures of both, and predictions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError
from fcca.tables import SoftLabels


def _cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :6], np.array(["malignant", "benign"])[y]


def _wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[:, :5], y


def _boosting():
    return GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("table", [_cancer, _wine])
@pytest.mark.parametrize("black_box", [_boosting(), LogisticRegression(max_iter=5000)], ids=["boosting", "linear"])
def test_trees_of_probabilities_are_the_best_for_them(table, black_box, weighted):
    X, y = table()
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    found = FCCAClassifier(FCCADiscretizer(black_box), fit_to="probability").fit(X, y, sample_weight=weight)
    assert found.fit_to_ == "probability"
    B = found.discretizer_.transform(X)
    probability = found.discretizer_.estimator_.predict_proba(X)
    best = OptimalTreeClassifier().fit(B, y, sample_weight=weight, probability=probability)
    assert found.tree_.objective_ == pytest.approx(best.objective_, abs=1e-12)
    assert found.tree_.regularization_ == best.regularization_
    np.testing.assert_array_equal(found.predict_proba(X), best.predict_proba(B))


@pytest.mark.parametrize(("copies", "share"), [(1, 1.0), (2, 0.75), (3, 0.75), (10, 0.5), (40, 0.25), (200, 0.25)])
@pytest.mark.parametrize("as_weights", [False, True], ids=["rows", "weights"])
def test_the_default_tree_learns_a_mixture_with_fewer_probabilities_the_more_rows_there_are(copies, share, as_weights):
    X, y = _cancer()
    model = _boosting().fit(X, y)
    weight, rows = (np.full(len(y), float(copies)), X) if as_weights else (None, pd.concat([X] * copies))
    labels = y if as_weights else np.tile(y, copies)
    found = FCCAClassifier(FCCADiscretizer(FrozenEstimator(model), max_rows=100)).fit(rows, labels, sample_weight=weight)
    assert found.fit_to_ == "mixture"
    shares = np.round(model.predict_proba(X) * 16)  # sixteenths, as in the tree
    mixture = share * shares / 16 + (1 - share) * (y[:, None] == model.classes_)
    counts = found.structure_
    leaf = found.apply(X)
    for each in np.unique(leaf):
        learned = counts.soft_weight[each]
        np.testing.assert_allclose(learned, copies * mixture[leaf == each].sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("table", [_cancer, _wine])
def test_no_tree_is_better_for_the_mixture(table, weighted):
    X, y = (pd.concat([rows] * 8) if isinstance(rows, pd.DataFrame) else np.tile(rows, 8) for rows in table())
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    found = FCCAClassifier(FCCADiscretizer(_boosting(), max_rows=200)).fit(X, y, sample_weight=weight)
    probability = found.discretizer_.estimator_.predict_proba(X)
    soft = SoftLabels.of(probability, weight).mixed(pd.factorize(y, sort=True)[0], weight)
    assert found.tree_.objective_ * soft.total == pytest.approx(_cost(found, soft, X), rel=1e-12)
    for fit_to in ("labels", "probability"):
        other = clone(found).set_params(fit_to=fit_to).fit(X, y, sample_weight=weight)
        assert found.tree_.objective_ * soft.total <= _cost(other, soft, X, found.tree_.regularization_) + 1e-9


def _cost(classifier, soft, X, regularization=None):
    """Compute the objective of a tree times the total weight, from the soft labels of its leaves."""
    leaf, tree = classifier.apply(X), classifier.tree_
    weights = np.array([soft.class_weights(np.flatnonzero(leaf == each)) for each in np.unique(leaf)])
    price = tree.regularization_ if regularization is None else regularization
    smooth = (weights + 0.5) / (weights.sum(axis=1, keepdims=True) + 0.5 * weights.shape[1])
    cost = -(weights * np.log(smooth)).sum() + (weights.sum(axis=1) - weights.max(axis=1)).sum() / 2
    return cost + price * soft.total * len(weights)


@pytest.mark.parametrize("fit_to", ["labels", "target"])
def test_labels_and_predictions_are_learned_on_request(fit_to):
    X, y = _cancer()
    found = FCCAClassifier(FCCADiscretizer(_boosting()), fit_to=fit_to).fit(X, y)
    assert found.fit_to_ == fit_to
    learned = y if fit_to == "labels" else found.discretizer_.predict_target(X)
    best = OptimalTreeClassifier().fit(found.discretizer_.transform(X), learned)
    assert found.tree_.objective_ == pytest.approx(best.objective_, abs=1e-12)


def test_nodes_count_the_labels():
    X, y = _cancer()
    found = FCCAClassifier(FCCADiscretizer(_boosting())).fit(X, y)
    leaf = found.apply(X)
    for each in np.unique(leaf):
        counts = [np.sum(y[leaf == each] == label) for label in found.classes_]
        np.testing.assert_array_equal(found.structure_.weight[each], counts)


class _OtherTree(OptimalTreeClassifier):
    """A tree whose fit does not accept probabilities."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)


def _other_classes():
    X, y = _wine()
    return FCCADiscretizer(FrozenEstimator(_boosting().fit(X, y))), X[y < 2], y[y < 2]


CASES = {
    "no probabilities": (lambda: (FCCADiscretizer(RidgeClassifier()), *_cancer()), None, "predict_proba"),
    "another tree": (
        lambda: (FCCADiscretizer(_boosting()), *_cancer()),
        _OtherTree(max_depth=2),
        "_OtherTree",
    ),
    "other classes": (_other_classes, None, "same classes"),
}


@pytest.mark.parametrize(("case", "tree", "problem"), CASES.values(), ids=CASES)
def test_labels_are_the_default_where_probabilities_cannot_be_learned(case, tree, problem):
    discretizer, X, y = case()
    assert FCCAClassifier(clone(discretizer), tree).fit(X, y).fit_to_ == "labels"
    with pytest.raises(InvalidInputError, match=problem):
        FCCAClassifier(clone(discretizer), tree, fit_to="probability").fit(X, y)
    with pytest.raises(InvalidInputError, match=problem):
        FCCAClassifier(discretizer, tree, fit_to="mixture").fit(X, y)


def test_the_criterion_error_counts_labels_unless_told_otherwise():
    X, y = _cancer()
    tree = OptimalTreeClassifier(criterion="error")
    discretizer = FCCADiscretizer(_boosting())
    found = FCCAClassifier(discretizer, tree).fit(X, y)
    assert found.fit_to_ == "labels"
    wrong = np.mean(found.predict(X) != y)
    assert found.tree_.objective_ == pytest.approx(wrong + found.tree_.regularization_ * found.tree_.n_leaves_)
    assert FCCAClassifier(discretizer, tree, fit_to="probability").fit(X, y).fit_to_ == "probability"
    assert FCCAClassifier(preset="paper").fit(X, y).fit_to_ == "labels"


def test_paths_grow_the_same_trees_as_a_fit():
    X, y = _cancer()
    X, y = pd.concat([X] * 8), np.tile(y, 8)
    classifier = FCCAClassifier(FCCADiscretizer(_boosting(), max_rows=200))
    path = classifier.granularity_path(X, y, Q=[0.0, 0.5], cv=3, per_fold=True)
    leaves = {}
    for fit_to in ("mixture", "probability", "labels"):
        leaves[fit_to] = (
            clone(classifier).set_params(fit_to=fit_to).granularity_path(X, y, Q=[0.0, 0.5], cv=3, per_fold=True)
        )
    assert path.equals(leaves["mixture"])
    assert not path.equals(leaves["labels"])
    assert not path.equals(leaves["probability"])
