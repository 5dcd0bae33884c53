"""Reader fidelity: the neutral model answers as the classifier's own predict does, to the last bit of every cut."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fcca import read_model
from fcca._units import PowerOfTwoScaler
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from fcca.exceptions import UnsupportedModelError
from fcca.models import check_supported
from fcca.models._precision import largest_float64_below_float32_cut, largest_passing

STUMPS = [
    GradientBoostingClassifier(max_depth=1, n_estimators=40, random_state=0),
    GradientBoostingClassifier(max_depth=1, n_estimators=40, loss="exponential", learning_rate=0.3, random_state=0),
    GradientBoostingClassifier(max_depth=1, n_estimators=40, init="zero", subsample=0.7, random_state=0),
    GradientBoostingClassifier(max_depth=1, n_estimators=60, n_iter_no_change=3, random_state=0),
    make_pipeline(StandardScaler(), GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0)),
    make_pipeline(
        MinMaxScaler((-3, 7)), RobustScaler(), GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0)
    ),
    make_pipeline(MaxAbsScaler(), GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0)),
    make_pipeline(PowerOfTwoScaler(), GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0)),
]
LINEAR = [
    LinearSVC(),
    SVC(kernel="linear"),
    LogisticRegression(max_iter=1000),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    Perceptron(),
    LogisticRegression(fit_intercept=False),
]
SCALED_LINEAR = [
    make_pipeline(scaler, model)
    for model in LINEAR
    for scaler in (StandardScaler(), MinMaxScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False))
]
UNITS = np.array([1.0, 1e-6, 1e6, 1.0, 1e-30, 7.0])


def random_table(seed, n_classes=2):
    X, y = make_classification(300, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, random_state=seed)
    X = X * UNITS
    X[:, 3] = np.round(X[:, 3] * 3)  # few values, many ties
    X[:, 2] = np.round(X[:, 2]) + 2**25  # integers that float32 cannot tell apart
    return X, y


def rows_on_the_cuts(model, X, rng, n):
    """Rows whose values lie on the cuts and one float to either side of them."""
    rows = X[rng.integers(0, len(X), n)].copy()
    for j in range(X.shape[1]):
        cuts = np.unique(model.threshold[model.feature == j])
        if len(cuts) == 0:
            continue
        at = cuts[rng.integers(0, len(cuts), n)]
        beside = np.choose(rng.integers(0, 3, n), [at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf)])
        rows[:, j] = np.where(rng.random(n) < 0.8, beside, rows[:, j])
    return rows


def label_differences(estimator, rows):
    engine = CounterfactualEngine(estimator, CounterfactualProblem())
    scores = engine.scores(rows)
    answer = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    return int(np.sum(engine.model.classes[answer] != estimator.predict(rows)))


def check_trees(estimator, seed, n_rows, n_classes=2):
    X, y = random_table(seed, n_classes)
    estimator = estimator.fit(X, y)
    rows = rows_on_the_cuts(read_model(estimator), X, np.random.default_rng(seed), n_rows)
    assert label_differences(estimator, rows) == 0


@pytest.mark.parametrize("estimator", STUMPS, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_stumps_agree_on_the_cuts_and_beside_them(estimator, seed):
    check_trees(estimator, seed, 2_000)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_stumps_of_many_classes_agree(n_classes):
    check_trees(GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0), 0, 2_000, n_classes)


@pytest.mark.verify
@pytest.mark.parametrize("estimator", STUMPS, ids=str)
def test_stumps_agree_on_many_tables(estimator):
    for seed in range(200):
        check_trees(estimator, seed, 10_000)


@pytest.mark.parametrize("estimator", LINEAR + SCALED_LINEAR, ids=str)
def test_linear_models_agree(estimator):
    X, y = random_table(3)
    X = (X - X.mean(axis=0)) / UNITS  # unscaled solvers need sane units
    estimator = estimator.fit(X, y)
    rows = np.random.default_rng(0).normal(size=(2_000, 6)) * X.std(axis=0)
    assert label_differences(estimator, rows) == 0


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


def test_names_seen_in_fit_cause_no_warning():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    for estimator in (STUMPS[0], make_pipeline(StandardScaler(), GradientBoostingClassifier(max_depth=1, n_estimators=5))):
        fitted = estimator.fit(X, y)
        engine = CounterfactualEngine(fitted, CounterfactualProblem())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            engine.predict(X.to_numpy())


def test_searches_and_frozen_models_are_seen_through():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(STUMPS[0], {"learning_rate": [0.1, 0.2]}, cv=2).fit(X, y)
    expected = read_model(search.best_estimator_)
    for wrapped in (search, FrozenEstimator(search), make_pipeline(FrozenEstimator(search.best_estimator_))):
        np.testing.assert_array_equal(read_model(wrapped).value, expected.value)


@pytest.mark.parametrize(
    ("estimator", "word"),
    [
        (RandomForestClassifier(), "GradientBoostingClassifier"),
        (DecisionTreeClassifier(), "LogisticRegression"),
        (GradientBoostingClassifier(max_depth=3), "max_depth=1"),
        (SVC(kernel="rbf"), "kernel='linear'"),
        (make_pipeline(PolynomialFeatures(), LinearSVC()), "PolynomialFeatures"),
        (make_pipeline(MinMaxScaler(clip=True), LinearSVC()), "clip"),
        (GridSearchCV(RandomForestClassifier(), {"max_depth": [1]}), "RandomForestClassifier"),
        (object(), "object"),
    ],
    ids=str,
)
def test_an_unsupported_model_is_refused_before_it_is_fitted(estimator, word):
    with pytest.raises(UnsupportedModelError, match=word):
        check_supported(estimator)


def test_what_cannot_be_read_is_said():
    X, y = random_table(0, 3)
    X = X / UNITS
    with pytest.raises(UnsupportedModelError, match="3 classes"):
        read_model(RidgeClassifier().fit(X, y))
    with pytest.raises(UnsupportedModelError, match="init"):
        read_model(GradientBoostingClassifier(init=DecisionTreeClassifier()).fit(X, y))
    with pytest.raises(UnsupportedModelError, match="more than one feature"):
        CounterfactualEngine(GradientBoostingClassifier(n_estimators=3).fit(X, y), CounterfactualProblem())
