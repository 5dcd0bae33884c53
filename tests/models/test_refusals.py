"""Unsupported classifiers raise an error with advice, before fitting if possible."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fcca import read_model
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models import check_supported, decide_at, supported_models, weight_parameters, with_decision_threshold
from fcca.models._links import Softmax
from models.fidelity import UNITS, random_table

TREE, FOREST = DecisionTreeClassifier(max_depth=2), RandomForestClassifier(4)
SOFT, HARD = {"voting": "soft"}, {"voting": "hard"}


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (KNeighborsClassifier(), "RandomForestClassifier"),
        (StackingClassifier([("tree", TREE)]), "StackingClassifier is not supported"),
        pytest.param(object(), "object", id="an object"),  # its text has an address, which no two runs share
        (GradientBoostingClassifier(init=TREE), "init"),
        (AdaBoostClassifier(LogisticRegression()), "votes of LogisticRegression"),
        (AdaBoostClassifier(FOREST), "RandomForestClassifier"),
        (BaggingClassifier(LogisticRegression()), "averages over leaves"),
        (BaggingClassifier(GradientBoostingClassifier()), "GradientBoostingClassifier"),
        (BaggingClassifier(KNeighborsClassifier()), "KNeighborsClassifier is not supported"),
        (VotingClassifier([("a", TREE), ("b", LogisticRegression())], **SOFT), "one by one"),
        (
            VotingClassifier([("a", TREE), ("b", VotingClassifier([("c", TREE)], **SOFT))], **SOFT),
            "VotingClassifier averages",
        ),
        (VotingClassifier([("a", TREE), ("b", FOREST)], **HARD), "voting='soft'"),
        (CalibratedClassifierCV(FOREST), "ensemble=False"),
        (CalibratedClassifierCV(FOREST, ensemble=True, cv=4), "4 different classifiers"),
        (FixedThresholdClassifier(KNeighborsClassifier()), "KNeighborsClassifier"),
        (TunedThresholdClassifierCV(SVC(kernel="rbf")), "kernel='linear'"),
        (SVC(kernel="rbf"), "kernel='linear'"),
        (make_pipeline(PolynomialFeatures(), LinearSVC()), "PolynomialFeatures"),
        (make_pipeline(MinMaxScaler(clip=True), LinearSVC()), "clip"),
        (GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}), "KNeighborsClassifier"),
    ],
    ids=str,
)
def test_an_unsupported_model_is_refused_before_it_is_fitted(estimator, words):
    with pytest.raises(UnsupportedModelError, match=words):
        check_supported(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        GradientBoostingClassifier(max_depth=7),
        HistGradientBoostingClassifier(categorical_features=[False, True]),
        HistGradientBoostingClassifier(categorical_features=None),
        AdaBoostClassifier(),
        AdaBoostClassifier(ExtraTreeClassifier()),
        BaggingClassifier(),
        BaggingClassifier(make_pipeline(StandardScaler(), ExtraTreesClassifier())),
        VotingClassifier([("a", TREE), ("b", "drop"), ("c", BaggingClassifier())], **SOFT),
        VotingClassifier([("a", TREE), ("b", ExtraTreeClassifier())], **HARD),
        CalibratedClassifierCV(FrozenEstimator(FOREST)),
        CalibratedClassifierCV(FOREST, ensemble=False),
        FixedThresholdClassifier(GridSearchCV(FOREST, {"max_depth": [1]})),
    ],
    ids=str,
)
def test_a_model_that_passes_before_it_is_fitted_can_be_read_when_it_is(estimator):
    check_supported(estimator)
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=80), random.integers(0, 4, 80)])
    y = X[:, 0] + X[:, 1] > 1.5
    fitted = clone(estimator)
    if isinstance(getattr(fitted, "estimator", None), FrozenEstimator):
        fitted.set_params(estimator=FrozenEstimator(clone(fitted.estimator.estimator).fit(X, y)))
    model = read_model(fitted.fit(X, y))
    rows = X if model.columns is None else model.columns.encode(X)
    assert np.array_equal(model.classes[model.answers(model.scores(rows))], fitted.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [
        FOREST,
        TREE,
        HistGradientBoostingClassifier(),
        AdaBoostClassifier(),
        BaggingClassifier(),
        VotingClassifier([("a", TREE)]),
        CalibratedClassifierCV(FOREST, ensemble=False),
        FixedThresholdClassifier(FOREST),
        TunedThresholdClassifierCV(FOREST),
        FrozenEstimator(FOREST),
    ],
    ids=str,
)
def test_an_unfitted_model_says_so(estimator):
    with pytest.raises(NotFittedError):
        read_model(estimator)


def three_classes():
    X, y = random_table(0, 3)
    return X / UNITS, y


def test_unsupported_fitted_models_are_refused():
    X, y = three_classes()
    with pytest.raises(UnsupportedModelError, match="3 classes"):
        read_model(SVC(kernel="linear").fit(X, y))
    with pytest.raises(UnsupportedModelError, match="a y with 2 columns, but one column is expected"):
        read_model(RandomForestClassifier(2).fit(X, np.column_stack([y, y])))
    with pytest.raises(UnsupportedModelError, match="a y with 2 columns, but one column is expected"):
        read_model(DecisionTreeClassifier().fit(X, np.column_stack([y, y])))
    with pytest.raises(UnsupportedModelError, match="fitted on a single class"):
        read_model(DecisionTreeClassifier().fit(X, np.zeros(len(X))))
    with pytest.raises(UnsupportedModelError, match="3 classes"):
        read_model(CalibratedClassifierCV(FOREST, ensemble=False, cv=2).fit(X, y))
    with pytest.raises(UnsupportedModelError, match="2 different classifiers"):
        read_model(CalibratedClassifierCV(FOREST, cv=2).fit(X, y > 0))
    with pytest.raises(UnsupportedModelError, match="averages over leaves"):
        read_model(BaggingClassifier(GradientBoostingClassifier(n_estimators=2), 2).fit(X, y))
    with pytest.raises(UnsupportedModelError, match="votes of GradientBoostingClassifier"):
        read_model(AdaBoostClassifier(GradientBoostingClassifier(n_estimators=2), n_estimators=2).fit(X, y))
    with pytest.raises(UnsupportedModelError, match="refit=True"):
        read_model(GridSearchCV(TREE, {"max_depth": [1]}, refit=False, cv=2).fit(X, y))


def test_a_calibration_that_falls_is_refused():
    X, y = three_classes()
    upside_down = CalibratedClassifierCV(FrozenEstimator(RandomForestClassifier(5).fit(X, y > 0))).fit(X, y == 0)
    with pytest.raises(UnsupportedModelError, match="falls as the score rises"):
        read_model(upside_down)


def test_votes_against_a_class_are_refused():
    X, y = three_classes()
    voting = VotingClassifier([("a", TREE), ("b", TREE)], weights=[2, -1], **HARD).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="weights >= 0"):
        read_model(voting)


def test_ensembles_three_deep_are_refused():
    X, y = three_classes()
    deep = BaggingClassifier(BaggingClassifier(RandomForestClassifier(2), 2), 2).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="averages over leaves"):
        read_model(deep)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_a_threshold_that_is_no_probability_is_refused(threshold):
    X, y = three_classes()
    forest = RandomForestClassifier(2).fit(X, y > 0)
    for call in (
        lambda: decide_at(forest, threshold),
        lambda: with_decision_threshold(read_model(forest), threshold),
        lambda: read_model(forest, decision_threshold=threshold),
    ):
        with pytest.raises(InvalidInputError, match="between 0 and 1"):
            call()


def test_thresholds_need_two_classes_and_probabilities():
    X, y = three_classes()
    many = RandomForestClassifier(2).fit(X, y)
    for call in (
        lambda: decide_at(many, 0.2),
        lambda: with_decision_threshold(read_model(many), 0.2),
        lambda: read_model(many, decision_threshold=0.2),
    ):
        with pytest.raises(UnsupportedModelError, match="two classes, but the classifier has 3"):
            call()
    with pytest.raises(UnsupportedModelError, match="two classes, but the classifier has 3"):
        read_model(FixedThresholdClassifier(many, threshold=0.2))
    two_scores = replace(read_model(RandomForestClassifier(2).fit(X, y > 0)), link=Softmax())
    with pytest.raises(UnsupportedModelError, match="one score"):
        with_decision_threshold(two_scores, 0.2)
    with pytest.raises(UnsupportedModelError, match="no predict_proba"):
        decide_at(LinearSVC().fit(X, y > 0), 0.2)
    with pytest.raises(NotFittedError):
        decide_at(FOREST, 0.2)
    with pytest.raises(UnsupportedModelError, match="KNeighborsClassifier is not supported"):
        read_model(KNeighborsClassifier().fit(X, y > 0), decision_threshold=0.2)


def test_a_response_that_the_classifier_lacks_is_refused():
    X, y = three_classes()
    around = FixedThresholdClassifier(RandomForestClassifier(2).fit(X, y > 0), response_method="decision_function")
    with pytest.raises(UnsupportedModelError, match="response_method='auto'"):
        read_model(around)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities_of_libsvm_are_refused():
    X, y = three_classes()
    machine = SVC(kernel="linear", probability=True).fit(X, y > 0)
    with pytest.raises(UnsupportedModelError, match="decision_function"):
        read_model(FixedThresholdClassifier(machine, threshold=0.2))
    assert read_model(FixedThresholdClassifier(machine, response_method="decision_function")).boundary < 0


def test_two_thresholds_by_different_classes_are_refused():
    X, y = three_classes()
    search = GridSearchCV(FixedThresholdClassifier(FOREST, pos_label=False), {"threshold": [0.2]}, cv=2)
    with pytest.raises(UnsupportedModelError, match="not two"):
        read_model(FixedThresholdClassifier(search, threshold=0.3).fit(X, y > 0))


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (FixedThresholdClassifier(FOREST), "FrozenEstimator"),
        (TunedThresholdClassifierCV(FOREST), "FrozenEstimator"),
        (CalibratedClassifierCV(make_pipeline(StandardScaler(), FOREST), ensemble=False), "Pipeline"),
        (VotingClassifier([("a", make_pipeline(StandardScaler(), TREE))]), "Pipeline does not support sample_weight"),
    ],
    ids=str,
)
def test_weights_that_would_not_arrive_are_refused(estimator, words):
    with pytest.raises(UnsupportedModelError, match=words):
        weight_parameters(estimator, np.ones(3))


def test_all_families_are_named():
    assert {"RandomForestClassifier", "HistGradientBoostingClassifier", "VotingClassifier"} <= set(supported_models())


def test_the_error_lists_supported_classes_and_boosters():
    with pytest.raises(UnsupportedModelError) as raised:
        check_supported(KNeighborsClassifier())
    for name in ("DecidedAt", "LightGBMBooster", "XGBoostBooster", "CatBoostModel"):
        assert name not in str(raised.value)
        assert name not in supported_models()
    for mentioned in ("LGBMClassifier", "xgboost.train", "lightgbm.train", "catboost.CatBoost", "as_classifier"):
        assert mentioned in str(raised.value)
