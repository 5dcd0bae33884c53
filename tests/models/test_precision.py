"""Cuts and boundaries are exact: the next float has another prediction."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier

from fcca import read_model
from fcca.models import Calibrated, Share, decide_at, largest_passing, with_decision_threshold
from fcca.models._links import Clipped, Logistic, Opposed
from fcca.models._precision import largest_float64_below_float32_cut

ONE_SCORE = [
    GradientBoostingClassifier(n_estimators=10, random_state=0),
    GradientBoostingClassifier(n_estimators=10, loss="exponential", random_state=0),
    HistGradientBoostingClassifier(max_iter=5, random_state=0),
    AdaBoostClassifier(n_estimators=10, random_state=0),
    CalibratedClassifierCV(RandomForestClassifier(10, random_state=0), cv=3, ensemble=False),
    CalibratedClassifierCV(AdaBoostClassifier(n_estimators=5, random_state=0), method="isotonic", cv=3, ensemble=False),
]
THRESHOLDS = [0.02, 0.12, 0.5, 2 / 3, 0.99]


def two_classes():
    return load_breast_cancer(return_X_y=True)


def test_the_cut_is_the_largest_float_sent_left():
    rng = np.random.default_rng(0)
    thresholds = np.concatenate([rng.normal(size=500) * 10.0 ** rng.integers(-40, 38, 500), [0.0, 1.0, -1.0, 2.0**24]])
    cut = largest_float64_below_float32_cut(thresholds)
    with np.errstate(over="ignore"):
        assert np.all(cut.astype(np.float32) <= thresholds)
        assert np.all(np.nextafter(cut, np.inf).astype(np.float32) > thresholds)


def test_bisection_over_floats_finds_the_last_float_that_passes():
    limits = np.array([0.0, 1.5, -2.25, 1e-300, -1e300, 5e-324])
    found = largest_passing(lambda x: x <= limits, len(limits))
    np.testing.assert_array_equal(found, limits)
    assert largest_passing(lambda x: np.zeros(1, dtype=bool), 1)[0] == -np.inf


@pytest.mark.parametrize("estimator", ONE_SCORE, ids=str)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_boundary_is_the_last_score_below_the_threshold(estimator, threshold):
    model = read_model(estimator.fit(*two_classes()), decision_threshold=threshold)
    around = np.array([model.boundary, np.nextafter(model.boundary, np.inf)])
    below, above = model.link.both_classes(around)[:, 1]
    assert below < threshold <= above
    np.testing.assert_array_equal(model.answers(around[:, None]), [0, 1])


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("positive", [0, 1])
def test_a_forest_meets_its_threshold_exactly(threshold, positive):
    X, y = two_classes()
    forest = FrozenEstimator(RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y))
    model = read_model(FixedThresholdClassifier(forest, threshold=threshold, pos_label=positive).fit(X, y))
    score = {0: lambda share: -share, 1: lambda share: share}[positive]
    at, before = score(threshold), score(np.nextafter(threshold, 0))
    np.testing.assert_array_equal(model.answers(np.array([[at], [before]])), [positive, 1 - positive])
    assert model.n_outputs == 1


def test_gradient_boosting_answers_even_odds_with_the_second_class():
    X = np.array([[0.0], [1.0]] * 20)
    y = np.tile([0, 0, 1, 1], 10)  # x says nothing, so every score stays at the prior odds of one
    estimator = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    model = read_model(estimator)
    scores = model.scores(X)
    assert np.all(scores == 0)
    np.testing.assert_array_equal(model.answers(scores), 1)
    np.testing.assert_array_equal(estimator.predict(X), 1)


def test_votes_that_are_equal_are_answered_with_the_first_class():
    X, y = two_classes()
    ties = 0
    for seed in range(5):
        forest = RandomForestClassifier(4, max_features=1, random_state=seed).fit(X[::2], y[::2])
        model = read_model(forest)
        scores = model.scores(X)
        equal = scores[:, 0] == scores[:, 1]
        ties += equal.sum()
        assert np.all(model.answers(scores)[equal] == 0)
        np.testing.assert_array_equal(model.classes[model.answers(scores)], forest.predict(X))
    assert ties > 20


@pytest.mark.parametrize("estimator", [*ONE_SCORE, RandomForestClassifier(10, random_state=0)], ids=str)
@pytest.mark.parametrize("threshold", [None, 0.12, 0.9])
def test_confidence_is_a_half_on_the_boundary_and_rises_away_from_it(estimator, threshold):
    X, y = two_classes()
    model = read_model(estimator.fit(X, y), decision_threshold=threshold)
    scores = model.scores(X)
    confidence = model.confidence(scores)
    assert np.all((confidence >= 0.5) & (confidence <= 1))
    if model.n_outputs == 1:
        beside = np.array([[model.boundary], [np.nextafter(model.boundary, np.inf)]])
        np.testing.assert_allclose(
            model.confidence(beside), 0.5, atol=1e-9 if not isinstance(model.link, Calibrated) else 0.2
        )
        for side in (scores[:, 0] > model.boundary, scores[:, 0] <= model.boundary):
            order = np.argsort(np.abs(scores[side, 0] - model.boundary))
            assert np.all(np.diff(confidence[side][order]) >= -1e-12)


@pytest.mark.parametrize(
    "link", [Logistic(), Logistic(2.0), Opposed(), Clipped(), Share()], ids=lambda link: f"{type(link).__name__}"
)
def test_probabilities_never_fall_as_the_score_rises(link):
    score = np.sort(np.concatenate([np.linspace(0, 1, 1001), np.random.default_rng(0).normal(size=1000) * 20]))
    both = link.both_classes(np.clip(score, 0, 1) if isinstance(link, Share) else score)
    assert np.all(np.diff(both[:, 1]) >= 0)
    assert np.all(np.diff(both[:, 0]) <= 0)
    np.testing.assert_allclose(link.second_class(score if not isinstance(link, Share) else np.clip(score, 0, 1)), both[:, 1])


def test_a_threshold_can_be_put_on_the_neutral_model_itself():
    X, y = two_classes()
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    model = with_decision_threshold(read_model(forest), 0.3)
    np.testing.assert_array_equal(model.answers(model.scores(X)), forest.predict_proba(X)[:, 1] >= 0.3)
    np.testing.assert_array_equal(decide_at(forest, 0.3).predict(X), forest.predict_proba(X)[:, 1] >= 0.3)
