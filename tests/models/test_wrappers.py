"""Wrappers around classifiers are read."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fcca import read_model
from fcca.models import as_fitted_on, check_supported, decide_at, weight_parameters
from models.families import CALIBRATIONS
from models.fidelity import check_trees, label_differences, random_table

STUMPS = GradientBoostingClassifier(max_depth=1, n_estimators=10, random_state=0)
FOREST = RandomForestClassifier(8, max_depth=3, random_state=0)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
NESTED = [
    make_pipeline(StandardScaler(), FixedThresholdClassifier(FOREST, threshold=0.3)),
    FixedThresholdClassifier(make_pipeline(StandardScaler(), FOREST), threshold=0.3, pos_label=0),
    FixedThresholdClassifier(FixedThresholdClassifier(FOREST, pos_label=0), threshold=0.3),
    FixedThresholdClassifier(GridSearchCV(STUMPS, {"learning_rate": [0.1, 0.5]}, cv=2), threshold=0.7),
    GridSearchCV(FixedThresholdClassifier(STUMPS), {"threshold": [0.2, 0.4]}, cv=2),
    CalibratedClassifierCV(make_pipeline(MinMaxScaler(), FOREST), cv=3, ensemble=False),
    make_pipeline(MinMaxScaler(), CalibratedClassifierCV(STUMPS, method="isotonic", cv=3, ensemble=False)),
    *[CalibratedClassifierCV(FOREST, method=method, cv=3, ensemble=False) for method in CALIBRATIONS],
    *[CalibratedClassifierCV(STUMPS, method=method, cv=3, ensemble=False) for method in CALIBRATIONS],
    TunedThresholdClassifierCV(CalibratedClassifierCV(FOREST, cv=3, ensemble=False), cv=2),
    TunedThresholdClassifierCV(STUMPS, cv=0.5, refit=False, response_method="decision_function"),
    BaggingClassifier(BaggingClassifier(TREE, 3, random_state=0), 4, random_state=0),
    VotingClassifier([("search", GridSearchCV(TREE, {"max_depth": [2, 3]}, cv=2)), ("forest", FOREST)], voting="soft"),
    VotingClassifier([("cautious", FixedThresholdClassifier(TREE, threshold=0.2)), ("tree", TREE)], voting="hard"),
]


@pytest.mark.parametrize("estimator", NESTED, ids=str)
def test_wrappers_inside_wrappers_agree(estimator):
    check_trees(estimator, 5, 2_000)


def test_parameter_searches_and_frozen_models_are_read():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(STUMPS, {"learning_rate": [0.1, 0.2]}, cv=2).fit(X, y)
    expected = read_model(search.best_estimator_)
    for wrapped in (search, FrozenEstimator(search), make_pipeline(FrozenEstimator(search.best_estimator_))):
        np.testing.assert_array_equal(read_model(wrapped).value, expected.value)


@pytest.mark.parametrize("estimator", [STUMPS, FOREST, make_pipeline(StandardScaler(), STUMPS), NESTED[1]], ids=str)
def test_names_seen_in_fit_cause_no_warning(estimator):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fitted in (clone(estimator).fit(X, y), decide_at(clone(estimator).fit(X, y), 0.2)):
            assert label_differences(fitted, X.to_numpy()) == 0
            assert as_fitted_on(fitted, X.to_numpy()).columns.tolist() == X.columns.tolist()


def test_a_threshold_around_a_fitted_classifier_needs_no_fit():
    X, y = random_table(0)
    around = FixedThresholdClassifier(clone(FOREST).fit(X, y), threshold=0.3)
    assert label_differences(around, X) == 0


def test_decided_at_is_a_classifier_that_stays_as_it_is():
    X, y = random_table(0)
    cautious = decide_at(clone(FOREST).fit(X, y), 0.2)
    assert clone(cautious) is cautious
    assert cautious.fit(X, 1 - y) is cautious
    assert cautious.n_features_in_ == 6
    assert cautious.score(X, y) == np.mean((cautious.predict_proba(X)[:, 1] >= 0.2) == y)
    assert label_differences(pickle.loads(pickle.dumps(cautious)), X) == 0
    check_supported(cautious)
    assert weight_parameters(cautious, np.ones(len(y))) == {}


def test_models_can_be_pickled():
    X, y = random_table(0)
    for estimator in NESTED:
        model = read_model(clone(estimator).fit(X, y))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.probabilities(again.scores(X)), model.probabilities(model.scores(X)))


def test_bagging_adds_up_as_its_jobs_do():
    X, y = random_table(1, 3)
    bagging = BaggingClassifier(n_estimators=7, max_samples=0.3, random_state=0).fit(X, y).set_params(n_jobs=3)
    with joblib.parallel_config(backend="threading"):
        model = read_model(bagging)
        np.testing.assert_array_equal(model.scores(X), bagging.predict_proba(X))
    assert [part.n_trees for part in model.parts] == [3, 2, 2]


def test_the_side_of_missing_values_is_read():
    X, y = random_table(2)
    X[::3, 0] = np.nan
    for estimator in (HistGradientBoostingClassifier(max_iter=3), clone(FOREST), ExtraTreesClassifier(5), clone(TREE)):
        model = read_model(estimator.fit(X, y))
        assert model.missing_left.shape == model.feature.shape
        assert 0 < model.missing_left[model.feature >= 0].mean() < 1
    voting = VotingClassifier([("tree", TREE), ("forest", FOREST)], voting="soft").fit(X, y)
    assert read_model(voting).missing_left is not None
    assert read_model(clone(STUMPS).fit(np.nan_to_num(X), y)).missing_left is None


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (FOREST, ["sample_weight"]),
        (HistGradientBoostingClassifier(), ["sample_weight"]),
        (BaggingClassifier(), ["sample_weight"]),
        (VotingClassifier([("tree", TREE), ("forest", FOREST)], voting="soft"), ["sample_weight"]),
        (CalibratedClassifierCV(FOREST, ensemble=False), ["sample_weight"]),
        (FixedThresholdClassifier(FrozenEstimator(FOREST)), []),
        (
            make_pipeline(StandardScaler(), FOREST),
            ["standardscaler__sample_weight", "randomforestclassifier__sample_weight"],
        ),
    ],
    ids=str,
)
def test_weights_reach_the_fitted_classifier(estimator, expected):
    X, y = random_table(0)
    weight = np.random.default_rng(0).random(len(y))
    if isinstance(estimator, FixedThresholdClassifier):
        estimator = FixedThresholdClassifier(FrozenEstimator(clone(FOREST).fit(X, y)))
    parameters = weight_parameters(estimator, weight)
    assert set(parameters) == set(expected)
    assert label_differences(clone(estimator).fit(X, y, **parameters), X) == 0
