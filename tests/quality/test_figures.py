"""Figures are those of scikit-learn's metrics and of scipy's two-sample test."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix as expected_matrix,
    log_loss,
    roc_auc_score,
)

from fcca.quality import confusion_matrix, figures_of


def random_scores(seed):
    """Labels of every class, probabilities with ties, and weights."""
    rng = np.random.default_rng(seed)
    n_classes, n_rows = int(rng.integers(2, 5)), int(rng.integers(8, 60))
    label = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)])
    probability = rng.dirichlet(np.ones(n_classes), n_rows).round(int(rng.integers(1, 3))) + 1e-3
    weight = rng.integers(1, 5, n_rows).astype(float) if seed % 2 else np.ones(n_rows)
    return label, probability / probability.sum(axis=1, keepdims=True), weight


@pytest.mark.parametrize("seed", range(200))
def test_figures_are_those_of_scikit_learn(seed):
    label, probability, weight = random_scores(seed)
    prediction = probability.argmax(axis=1)
    found = figures_of(label, prediction, probability, weight)
    score = probability[:, 1] if probability.shape[1] == 2 else probability
    assert found.accuracy == pytest.approx(accuracy_score(label, prediction, sample_weight=weight))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(label, prediction, sample_weight=weight))
    assert found.auc == pytest.approx(roc_auc_score(label, score, sample_weight=weight, multi_class="ovr", average="macro"))
    assert found.log_loss == pytest.approx(log_loss(label, probability, sample_weight=weight))
    n_classes = probability.shape[1]
    matrix = confusion_matrix(label, prediction, weight, n_classes)
    np.testing.assert_allclose(matrix, expected_matrix(label, prediction, sample_weight=weight, labels=range(n_classes)))
    if n_classes > 2:
        assert found.ks is None
        return
    repeated = np.repeat(np.arange(len(label)), weight.astype(int))
    apart = ks_2samp(score[repeated][label[repeated] == 1], score[repeated][label[repeated] == 0])
    assert found.ks == pytest.approx(apart.statistic)


def test_a_probability_of_zero_costs_what_it_costs_in_scikit_learn():
    label, probability = np.array([0, 1, 1]), np.array([[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]])
    found = figures_of(label, probability.argmax(axis=1), probability, np.ones(3))
    assert found.log_loss == pytest.approx(log_loss(label, probability))


def test_unknown_figures_are_none():
    label, prediction, score = np.array([1, 1]), np.array([1, 0]), np.array([[0.2, 0.8], [0.9, 0.1]])
    one_class = figures_of(label, prediction, score, np.ones(2))
    assert (one_class.accuracy, one_class.balanced_accuracy, one_class.auc, one_class.ks) == (0.5, 0.5, None, None)
    assert one_class.log_loss == pytest.approx(-np.log([0.8, 0.1]).mean())
    label = np.array([0, 1])
    assert figures_of(label, label, None, np.ones(2)) == figures_of(label, label, None, np.full(2, 7.0))
    ranked = figures_of(label, label, np.array([[3.0, -3.0], [-2.0, 2.0]]), np.ones(2), is_probability=False)
    assert (ranked.auc, ranked.ks, ranked.log_loss) == (1.0, 1.0, None)
