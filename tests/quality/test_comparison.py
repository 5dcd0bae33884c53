"""A tree is compared with its rivals on the same rows, and other settings are tried before they are advised."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.discretizers import BinaryRows
from fcca.quality import Comparison, LabelledRows, advice_sentence, tried_trees, verdict_sentence


def stumps():
    return GradientBoostingClassifier(max_depth=1, n_estimators=40, random_state=0)


def pairs():
    return GradientBoostingClassifier(max_depth=2, n_estimators=60, random_state=0)


def rare(n=2000, seed=0):
    """A table where no leaf has a majority of the rare class."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)).round(2), columns=["a", "b"])
    bad = 0.03 + 0.4 * ((X["a"] > 0.5) & (X["b"] > 0))
    return X, np.where(rng.random(n) < bad, "bad", "good")


def compared(classifier, X, y, X_test=None, y_test=None):
    """The comparison of a fitted classifier, and its rows as binary columns."""
    discretizer = classifier.discretizer_
    given = [(X, y)] if X_test is None else [(X, y), (X_test, y_test)]
    rows = [discretizer.binary_rows(*each) for each in given]
    labelled = [
        LabelledRows(each.y, each.predictions, None, discretizer.encode(table))
        for each, (table, _) in zip(rows, given, strict=True)
    ]
    held_out = rows[1] if len(rows) > 1 else None
    return Comparison(classifier, labelled[0], labelled[1] if held_out else None), rows[0], held_out


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_figures_of_tree_and_black_box_come_from_their_probabilities(load):
    X, y = load(return_X_y=True, as_frame=True)
    X, X_test, y, y_test = train_test_split(X, y.to_numpy(), random_state=0)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), Q=0.5)).fit(X, y)
    comparison, _, held_out = compared(classifier, X, y, X_test, y_test)
    quality = comparison.quality(classifier.tree_, held_out.B)
    for figures, model in ((quality.tree, classifier), (quality.black_box, classifier.discretizer_.estimator_)):
        probability = model.predict_proba(X_test)
        score = probability[:, 1] if probability.shape[1] == 2 else probability
        assert figures.accuracy == pytest.approx(model.score(X_test, y_test))
        assert figures.auc == pytest.approx(roc_auc_score(y_test, score, multi_class="ovr"))
        assert figures.log_loss == pytest.approx(log_loss(y_test, probability))
    assert quality.commonest.auc == 0.5
    assert quality.commonest.accuracy == np.mean(y_test == comparison.commonest_class)
    assert quality.confusion.sum() == quality.n_rows == len(y_test)
    assert quality.confusion.trace() / len(y_test) == pytest.approx(quality.tree.accuracy)
    assert (quality.cart_leaves, quality.leaves) == (quality.leaves, classifier.tree_.n_leaves_)
    assert quality.is_held_out
    assert not quality.is_useless
    assert verdict_sentence(quality) == ""


def test_a_black_box_without_probabilities_is_ranked_by_its_decision_function():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :5] / X.iloc[:, :5].max()
    classifier = FCCAClassifier(FCCADiscretizer(LinearSVC(random_state=0), Q=0.5)).fit(X, y)
    comparison, training, _ = compared(classifier, X, y.to_numpy())
    black_box = comparison.quality(classifier.tree_, training.B).black_box
    assert black_box.log_loss is None
    decision = classifier.discretizer_.estimator_.decision_function(X)
    assert black_box.auc == pytest.approx(roc_auc_score(y, decision))


def test_rows_that_are_not_in_memory_have_no_cart_and_no_scores_of_the_black_box():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), Q=0.5)).fit(X, y)
    rows = classifier.discretizer_.binary_rows(X, y.to_numpy())
    n = np.arange(len(y)) % 3 + 1.0
    quality = Comparison(classifier, LabelledRows(rows.y, rows.predictions, n), None).quality(classifier.tree_, rows.B)
    assert (quality.cart, quality.cart_leaves, quality.black_box.auc) == (None, None, None)
    assert quality.tree.log_loss == pytest.approx(log_loss(y, classifier.predict_proba(X), sample_weight=n))
    assert quality.n_rows == n.sum()
    assert not quality.is_held_out


def test_classes_that_only_held_out_rows_have_count_as_wrong():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), Q=0.5)).fit(X, y)
    other = y.to_numpy().copy()
    other[:50] = 7
    comparison, _, held_out = compared(classifier, X, y.to_numpy(), X, other)
    quality = comparison.quality(classifier.tree_, held_out.B)
    assert quality.classes == [0, 1, 7]
    assert quality.tree.accuracy == np.mean(classifier.predict(X) == other)
    assert quality.tree.ks is None
    assert quality.confusion[2].sum() == 50


def test_cart_has_the_class_weights_and_the_least_leaf_of_the_tree():
    X, y = rare()
    tree = OptimalTreeClassifier(class_weight="balanced", min_samples_leaf=100)
    classifier = FCCAClassifier(FCCADiscretizer(pairs()), tree).fit(X, y)
    comparison, training, _ = compared(classifier, X, y)
    plain = FCCAClassifier(FCCADiscretizer(pairs())).fit(X, y)
    without, rows, _ = compared(plain, X, y)
    assert comparison.quality(classifier.tree_, training.B).cart.balanced_accuracy > 0.6
    assert without.quality(plain.tree_, rows.B).cart.balanced_accuracy == 0.5


# --- advice ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holds_out", [True, False])
def test_advised_trees_were_grown_and_are_better(holds_out):
    X, y = rare()
    X_test, y_test = rare(seed=1) if holds_out else (None, None)
    classifier = FCCAClassifier(FCCADiscretizer(pairs()), OptimalTreeClassifier(criterion="error")).fit(X, y)
    comparison, training, held_out = compared(classifier, X, y, X_test, y_test)
    quality = comparison.quality(classifier.tree_, (held_out or training).B)
    assert quality.is_useless
    assert verdict_sentence(quality) == "This tree is no better than always predicting “good”: it has a single leaf."
    tried = tried_trees(comparison, training, held_out)
    assert {"criterion": "log_loss"} in [tree.parameters for tree in tried]
    for tree in tried:
        settings = {f"tree__{name}": value for name, value in tree.parameters.items()}
        grown = clone(classifier).set_params(**settings).fit(X, y).tree_
        assert grown.n_leaves_ == tree.leaves > 1
        assert tree.figures.auc > tree.before.auc + 0.01
        assert tree.is_held_out is holds_out
        if holds_out:
            probability = grown.predict_proba(held_out.B)[:, list(grown.classes_).index("good")]
            assert tree.figures.auc == pytest.approx(roc_auc_score(y_test == "good", probability))
            assert f"AUC {tree.figures.auc:.3f} (now 0.500)" in advice_sentence(tree)
        else:
            assert advice_sentence(tree).endswith("cross-validated.")


def test_the_first_cheaper_price_that_helps_is_named():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, X_test, y, y_test = train_test_split(X, y.to_numpy(), random_state=0)
    tree = OptimalTreeClassifier(criterion="error", regularization=0.4)
    classifier = FCCAClassifier(FCCADiscretizer(stumps(), Q=0.5), tree).fit(X, y)
    assert classifier.tree_.n_leaves_ == 1
    comparison, training, held_out = compared(classifier, X, y, X_test, y_test)
    found = {name: value for tree in tried_trees(comparison, training, held_out) for name, value in tree.parameters.items()}
    assert found["regularization"] == 0.1
    assert clone(tree).set_params(regularization=0.1).fit(training.B, y).n_leaves_ > 1


def test_limits_that_bind_are_raised_and_others_are_not():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 2)), columns=["a", "b"])
    y = ((X["a"] > 0) ^ (X["b"] > 0)).to_numpy().astype(int)
    tree = OptimalTreeClassifier(1, criterion="error", regularization=0.0)
    classifier = FCCAClassifier(FCCADiscretizer(pairs(), Q=0.5), tree).fit(X, y)
    comparison, training, _ = compared(classifier, X, y)
    assert {"max_depth": 2} in [found.parameters for found in tried_trees(comparison, training, None)]
    tree = OptimalTreeClassifier(3, max_leaf_nodes=2, criterion="error", regularization=0.0)
    classifier = FCCAClassifier(FCCADiscretizer(pairs(), Q=0.5), tree).fit(X, y)
    comparison, training, _ = compared(classifier, X, y)
    assert [found.parameters for found in tried_trees(comparison, training, None)] == [{"max_leaf_nodes": 4}]


def test_noise_gets_no_advice_and_says_that_the_black_box_knows_no_more():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 2)).round(2), columns=["a", "b"])
    y = rng.choice(["no", "yes"], 1500, p=[0.8, 0.2])
    parts = train_test_split(X, y, random_state=0)
    classifier = FCCAClassifier(FCCADiscretizer(stumps())).fit(parts[0], parts[2])
    comparison, training, held_out = compared(classifier, parts[0], parts[2], parts[1], parts[3])
    quality = comparison.quality(classifier.tree_, held_out.B)
    assert quality.is_useless
    assert "The black box is no better, either" in verdict_sentence(quality)
    assert tried_trees(comparison, training, held_out) == []


def test_nothing_is_tried_without_rows_to_judge_by():
    X, y = rare()
    classifier = FCCAClassifier(FCCADiscretizer(pairs()), OptimalTreeClassifier(criterion="error")).fit(X, y)
    comparison, training, _ = compared(classifier, X, y)
    counted = BinaryRows(training.B, training.y, training.predictions, None, np.ones(len(y), dtype=np.int64))
    assert tried_trees(comparison, counted, None) is None
    few = BinaryRows(training.B[:40], training.y[:40], training.predictions[:40])
    assert tried_trees(comparison, few, None) is None
