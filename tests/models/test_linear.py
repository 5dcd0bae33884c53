"""Linear models predict as the classifier, alone and behind scalers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from fcca import read_model
from fcca.models import decide_at
from models.fidelity import label_differences, table_for_linear_models

LINEAR = [
    LinearSVC(),
    SVC(kernel="linear"),
    LogisticRegression(max_iter=1000),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="modified_huber", random_state=0),
    RidgeClassifier(),
    Perceptron(),
    LogisticRegression(fit_intercept=False),
    FixedThresholdClassifier(LogisticRegression(max_iter=1000), threshold=0.2),
    FixedThresholdClassifier(SGDClassifier(loss="modified_huber", random_state=0), threshold=0.8, pos_label=0),
    FixedThresholdClassifier(LinearSVC(), threshold=-0.3),
]
SCALED_LINEAR = [
    make_pipeline(scaler, model)
    for model in LINEAR
    for scaler in (StandardScaler(), MinMaxScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False))
]


@pytest.mark.parametrize("estimator", LINEAR + SCALED_LINEAR, ids=str)
def test_linear_models_agree(estimator):
    X, y = table_for_linear_models(3)
    estimator = estimator.fit(X, y)
    rows = np.random.default_rng(0).normal(size=(2_000, 6)) * X.std(axis=0)
    assert label_differences(estimator, rows) == 0
    if hasattr(estimator, "predict_proba"):
        model = read_model(estimator)
        np.testing.assert_allclose(model.probabilities(model.scores(rows)), estimator.predict_proba(rows), atol=1e-9)


def test_a_linear_model_uses_its_decision_threshold():
    X, y = table_for_linear_models(4)
    cautious = decide_at(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), 0.12)
    assert label_differences(cautious, X) == 0
    assert read_model(cautious).boundary == pytest.approx(np.log(0.12 / 0.88))
