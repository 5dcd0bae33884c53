"""GTREDiscretizer: gosdt's thresholds, by a quicker way, and what never changes them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import FCCAClassifier, GTREDiscretizer
from fcca.discretizers import _gtre
from fcca.discretizers._stumps import StumpBoosting
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from real_data import data_file, imported


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :12], y.to_numpy()


@pytest.fixture(scope="module")
def fitted(data):
    return GTREDiscretizer().fit(*data)


def of_file(name, at_most=4000):
    """Complete rows of the columns that are numbers, and the labels."""
    frame = pd.read_csv(data_file(name))
    frame = frame.sample(min(at_most, len(frame)), random_state=0)
    X = frame.iloc[:, :-1].select_dtypes("number").to_numpy(dtype=np.float64)
    complete = np.isfinite(X).all(axis=1)
    return X[complete], frame.iloc[:, -1].to_numpy()[complete]


def conditions(table):
    return list(zip(table.feature.tolist(), table.cut.tolist(), strict=True))


# --- gosdt -------------------------------------------------------------------------------------------------------------


def assert_as_gosdt(X, y, **options):
    """Boosting with the same parameters; the thresholds that gosdt finds, and the scores along its way."""
    binarizer = imported("gosdt").ThresholdGuessBinarizer(**({"max_depth": 1} | options)).fit(X, y)
    elimination = {"column_elimination": options.pop("column_elimination", True)}
    boosting = GradientBoostingClassifier(**({"max_depth": 1, "random_state": 0} | options))
    expected = sorted((int(j), float(t)) for j, t in binarizer.thresholds_)
    exact = GTREDiscretizer(boosting, round_thresholds=False, **elimination).fit(X, y)
    assert conditions(exact.thresholds_) == expected
    np.testing.assert_array_equal(exact.thresholds_.threshold, exact.thresholds_.cut)
    order = sorted(range(len(expected)), key=lambda i: binarizer.thresholds_[i])
    np.testing.assert_array_equal(exact.transform(X), 1 - binarizer.transform(X)[:, order])
    rounded = GTREDiscretizer(boosting if options else None, **elimination).fit(X, y)
    if boosting.max_depth == 1:  # deeper trees may cut twice between the same two values
        assert conditions(rounded.thresholds_) == expected
        np.testing.assert_array_equal(rounded.transform(X), exact.transform(X))
    return exact


@pytest.mark.parametrize("seed", [0, 7])
def test_thresholds_are_gosdts(seed, data):
    X, y = data
    assert_as_gosdt(X.to_numpy(), y, random_state=seed)


def test_the_default_is_gosdts_with_stumps(fitted, data):
    binarizer = imported("gosdt").ThresholdGuessBinarizer(max_depth=1).fit(data[0].to_numpy(), data[1])
    assert conditions(fitted.thresholds_) == sorted(binarizer.thresholds_)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_thresholds_are_gosdts_with_many_classes(load):
    assert_as_gosdt(*load(return_X_y=True), n_estimators=30)


def test_thresholds_are_gosdts_with_deeper_trees(data):
    X, y = data
    assert_as_gosdt(X.to_numpy()[:300, :6], y[:300], max_depth=3, n_estimators=5, learning_rate=0.5)


def test_thresholds_are_gosdts_without_elimination(data):
    X, y = data
    exact = assert_as_gosdt(X.to_numpy(), y, column_elimination=False)
    assert len(exact.thresholds_) == exact.n_thresholds_reference_
    assert exact.n_iterations_ == 0
    assert exact.score_path_.tolist() == [exact.reference_score_]


def test_thresholds_are_gosdts_where_columns_are_equally_good():
    rng = np.random.default_rng(0)
    for _ in range(10):  # few rows and few values: nearly every stage has to break a tie
        X = rng.integers(0, 5, (40, 4)).astype(float)
        X = X[np.unique(X, axis=0, return_index=True)[1]]
        assert_as_gosdt(X, rng.permutation(np.arange(len(X)) % 2), n_estimators=15)


@pytest.mark.parametrize("name", ["boston", "ionosphere", "arrhythmia", "german_credit", "pima", "titanic"])
def test_thresholds_are_gosdts_on_real_data(name):
    assert_as_gosdt(*of_file(name))


@pytest.mark.verify
@pytest.mark.parametrize("name", ["magic", "particle", "vehicle", "compas", "heloc", "spambase", "ctg3"])
def test_thresholds_are_gosdts_on_larger_data(name):
    assert_as_gosdt(*of_file(name))


# --- the quicker way ---------------------------------------------------------------------------------------------------


def binary_problem(seed, n_rows=200, n_columns=12):
    rng = np.random.default_rng(seed)
    B = (rng.random((n_rows, n_columns)) < rng.random(n_columns)).astype(np.int8)
    y = B @ rng.normal(size=n_columns) + rng.normal(size=n_rows) > 0
    return B, y, rng


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_quick_refits_are_scikit_learns(seed, weighted):
    B, y, rng = binary_problem(seed)
    weight = rng.random(len(B)) if weighted else None
    boosting = StumpBoosting(B, y, weight, 40, 0.1)
    columns = np.arange(B.shape[1])
    answered = 0
    while len(columns) > 1:
        found = boosting.fit(columns)
        slow = GradientBoostingClassifier(max_depth=1, n_estimators=40, random_state=seed)
        slow.fit(B[:, columns], y, sample_weight=weight)
        if found is not None:
            answered += 1
            assert found.score == pytest.approx(slow.score(B[:, columns], y, sample_weight=weight), rel=0, abs=1e-12)
            np.testing.assert_allclose(found.importance, slow.feature_importances_, rtol=0, atol=1e-10)
        columns = np.delete(columns, np.argmin(slow.feature_importances_))
    assert answered > B.shape[1] // 2


def test_a_tie_is_left_to_scikit_learn():
    B, y, _ = binary_problem(0)
    everything = np.arange(B.shape[1] + 1)
    alone = StumpBoosting(B, y, None, 40, 0.1)
    assert alone.fit(everything[:-1]) is not None
    best = alone.stages[0].column
    for twin in (B, 1 - B):
        assert StumpBoosting(np.column_stack([B, twin[:, best]]), y, None, 40, 0.1).fit(everything) is None
    assert StumpBoosting(np.zeros((len(B), 2), dtype=np.int8), y, None, 40, 0.1).fit(everything[:2]) is None


def test_the_quicker_way_changes_nothing(monkeypatch, fitted, data):
    calls = []
    fit = GradientBoostingClassifier.fit
    monkeypatch.setattr(GradientBoostingClassifier, "fit", lambda self, *a, **k: calls.append(1) or fit(self, *a, **k))
    assert GTREDiscretizer().fit(*data).thresholds_ == fitted.thresholds_
    quick = len(calls)
    monkeypatch.setattr(_gtre, "_is_plain_stumps", lambda estimator: False)
    slow = GTREDiscretizer().fit(*data)
    assert len(calls) - quick == slow.n_iterations_ + 2 > quick
    assert slow.thresholds_.names() == fitted.thresholds_.names()
    np.testing.assert_allclose(slow.thresholds_.count, fitted.thresholds_.count, rtol=0, atol=1e-10)
    np.testing.assert_allclose(slow.score_path_, fitted.score_path_, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{"subsample": 0.5}, {"max_depth": 2}, {"min_samples_leaf": 30}, {"loss": "exponential"}], ids=str
)
def test_boosting_of_another_kind_goes_the_slow_way(options, data):
    estimator = GradientBoostingClassifier(**({"max_depth": 1, "n_estimators": 10, "random_state": 0} | options))
    assert not _gtre._is_plain_stumps(estimator)
    assert len(GTREDiscretizer(estimator).fit(*data).thresholds_) > 0


# --- what it finds -----------------------------------------------------------------------------------------------------


def test_only_the_last_score_may_fall(fitted):
    path = fitted.score_path_
    assert len(path) == fitted.n_iterations_ + 1
    assert path[0] == fitted.reference_score_
    assert np.all(path[:-1] >= path[0])
    assert path[-1] < path[0]
    assert len(fitted.thresholds_) == fitted.n_thresholds_reference_ - fitted.n_iterations_ + 1


def test_counts_are_importances_of_the_columns_kept(fitted, data):
    X, y = data
    left = 1.0 - fitted.transform(X)
    boosting = GradientBoostingClassifier(max_depth=1, random_state=0).fit(left, y)
    assert boosting.score(left, y) >= fitted.reference_score_
    np.testing.assert_allclose(fitted.thresholds_.count, boosting.feature_importances_, rtol=0, atol=1e-10)


def test_rounding_keeps_the_binary_training_rows(fitted, data):
    exact = GTREDiscretizer(round_thresholds=False).fit(*data)
    np.testing.assert_array_equal(exact.transform(data[0]), fitted.transform(data[0]))
    assert len("".join(fitted.thresholds_.names())) < len("".join(exact.thresholds_.names()))


def test_one_good_column_is_enough_except_for_gosdt():
    # The step from 0 to 1 decides, the one from 1 to 2 only makes the boosting surer.
    X = np.repeat([0.0, 1.0, 2.0], 10)[:, None]
    y = np.repeat([0, 1, 0, 1, 0], [10, 6, 4, 9, 1])
    single = GTREDiscretizer(as_gosdt=False).fit(X, y)
    assert single.n_thresholds_reference_ == 2
    assert single.score_path_.tolist() == [single.reference_score_] * 2
    assert single.thresholds_.below.tolist() == [0]
    assert len(GTREDiscretizer().fit(X, y).thresholds_) == 2
    assert len(imported("gosdt").ThresholdGuessBinarizer(max_depth=1).fit(X, y).thresholds_) == 2


def test_all_classes_count_on_request():
    X, y = load_iris(return_X_y=True)
    boosting = GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0)
    first, every = (GTREDiscretizer(boosting, as_gosdt=flag).fit(X, y) for flag in (True, False))
    assert first.n_thresholds_reference_ < every.n_thresholds_reference_
    trees = [tree.tree_ for tree in every.estimator_.estimators_.ravel()]
    assert every.n_thresholds_reference_ == len({(t.feature[0], t.threshold[0]) for t in trees if t.node_count > 1})


def test_float32_is_compared_as_the_trees_do_on_request():
    X, y = np.tile([1e8, 1e8 + 16], 20)[:, None], np.tile([0, 1], 20)
    between = [[1e8 + 10]]  # 1e8 + 8 to the trees, which is where they split
    as_gosdt, as_trees = (GTREDiscretizer(as_gosdt=flag, round_thresholds=False).fit(X, y) for flag in (True, False))
    assert as_gosdt.thresholds_.cut.tolist() == as_trees.thresholds_.cut.tolist() == [1e8 + 8]
    assert as_gosdt.transform(between).tolist() == [[1]]
    assert as_trees.transform(between).tolist() == [as_trees.predict_target(between).tolist()] == [[0]]


# --- other ensembles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(n_estimators=5, max_depth=2),
        ExtraTreesClassifier(n_estimators=5, max_depth=2),
        make_pipeline(StandardScaler(), GradientBoostingClassifier(max_depth=1, n_estimators=10)),
        GridSearchCV(GradientBoostingClassifier(n_estimators=5), {"max_depth": [1, 2]}, cv=2),
    ],
    ids=["forest", "extra", "pipeline", "search"],
)
def test_other_ensembles_and_what_is_around_them(estimator, data):
    X, y = data
    one, two = (GTREDiscretizer(estimator).fit(X, y) for _ in range(2))
    assert one.thresholds_ == two.thresholds_
    assert 0 < len(one.thresholds_) <= one.n_thresholds_reference_
    assert np.all(one.transform(X).min(axis=0) < one.transform(X).max(axis=0))
    assert (one.predict_target(X) == y).mean() > 0.75


@pytest.mark.parametrize("library", ["xgboost.XGBClassifier", "lightgbm.LGBMClassifier"])
def test_other_libraries(library, data):
    module, name = library.split(".")
    options = {"verbose": -1} if module == "lightgbm" else {}
    estimator = getattr(imported(module), name)(n_estimators=10, max_depth=1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        discretizer = GTREDiscretizer(estimator).fit(*data)
    assert 0 < len(discretizer.thresholds_) <= discretizer.n_thresholds_reference_
    assert discretizer.thresholds_.count.sum() == pytest.approx(1)


def test_a_frozen_ensemble_gives_its_thresholds_as_it_is(fitted, data):
    X, y = data
    boosting = GradientBoostingClassifier(max_depth=1, random_state=0).fit(X, y)
    frozen = GTREDiscretizer(FrozenEstimator(boosting)).fit(X, y)
    assert frozen.estimator_.estimator is boosting
    assert frozen.thresholds_ == fitted.thresholds_
    with pytest.raises(InvalidInputError, match="mean radius"):
        GTREDiscretizer(FrozenEstimator(boosting)).fit(X.iloc[:, ::-1], y)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(max_iter=9999), HistGradientBoostingClassifier(max_iter=3)], ids=str
)
def test_what_has_no_thresholds_or_importances_is_refused(estimator, data):
    with pytest.raises(UnsupportedModelError, match=r"importances|thresholds"):
        GTREDiscretizer(estimator).fit(*data)


def test_joins_the_optimal_tree(data):
    X, y = data
    classifier = FCCAClassifier(GTREDiscretizer()).fit(X, y)
    assert classifier.score(X, y) > 0.9
    assert 0.9 < classifier.fidelity(X) <= 1


# --- invariance --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(n_estimators=3, max_depth=2)], ids=str)
def test_the_same_again(estimator, data):
    one, two = (GTREDiscretizer(estimator).fit(*data) for _ in range(2))
    assert one.thresholds_ == two.thresholds_
    assert GTREDiscretizer(estimator, random_state=np.random.RandomState(3)).fit(*data).thresholds_ == (
        GTREDiscretizer(estimator, random_state=np.random.RandomState(3)).fit(*data).thresholds_
    )


def test_an_own_seed_is_kept(data):
    given = RandomForestClassifier(n_estimators=3, max_depth=2, random_state=5)
    assert GTREDiscretizer(given, random_state=1).fit(*data).estimator_.random_state == 5
    assert (
        GTREDiscretizer(clone(given).set_params(random_state=None), random_state=1).fit(*data).estimator_.random_state == 1
    )


def test_weight_two_is_the_row_twice(data):
    X, y = data
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    repeated = rng.permutation(np.repeat(np.arange(len(X)), weight))
    weighted = GTREDiscretizer().fit(X, y, sample_weight=weight)
    twice = GTREDiscretizer().fit(X.iloc[repeated], y[repeated])
    assert weighted.thresholds_ == twice.thresholds_
    np.testing.assert_array_equal(weighted.score_path_, twice.score_path_)


def test_an_ensemble_that_takes_no_weights_gets_none(data):
    class Weightless(GradientBoostingClassifier):
        def fit(self, X, y):
            return super().fit(X, y)

    X, y = pd.concat([data[0]] * 2), np.tile(data[1], 2)
    discretizer = GTREDiscretizer(Weightless(max_depth=1, n_estimators=3))
    assert len(discretizer.fit(X, y).thresholds_) > 0
    with pytest.raises(UnsupportedModelError, match="does not support sample_weight"):
        discretizer.fit(X, y, sample_weight=np.ones(len(X)))


def test_weights_of_one_are_no_weights(fitted, data):
    assert GTREDiscretizer().fit(*data, sample_weight=np.ones(len(data[0]))).thresholds_ == fitted.thresholds_


def test_weights_reach_the_ensemble_and_the_scores(fitted, data):
    X, y = data
    weight = np.where(y == 1, 50.0, 1.0)
    weighted = GTREDiscretizer().fit(X, y, sample_weight=weight)
    assert weighted.predict_target(X).mean() > fitted.predict_target(X).mean()
    assert weighted.reference_score_ > fitted.reference_score_


def test_names_come_through_polars(fitted, data):
    polars = imported("polars")
    X, y = data
    discretizer = GTREDiscretizer().set_output(transform="polars").fit(polars.from_pandas(X), y)
    assert discretizer.thresholds_ == fitted.thresholds_
    assert discretizer.transform(polars.from_pandas(X)).columns == fitted.thresholds_.names()


# --- bad input ---------------------------------------------------------------------------------------------------------


def test_an_ensemble_that_splits_nowhere_is_said_and_leaves_nothing(data):
    X, y = data
    discretizer = GTREDiscretizer().fit(X, y)
    with pytest.raises(InvalidInputError, match="has no splits"):
        discretizer.fit(X * 1e-12, y)
    with pytest.raises(NotFittedError):
        discretizer.transform(X)
    scaled = GTREDiscretizer(make_pipeline(StandardScaler(), GradientBoostingClassifier(max_depth=1, n_estimators=5)))
    assert scaled.fit(X * 1e-12, y).thresholds_.threshold.max() < 1e-8


@pytest.mark.parametrize(
    "options", [{"as_gosdt": "yes"}, {"random_state": "x"}, {"round_thresholds": 2}, {"estimator": 3}], ids=str
)
def test_bad_parameters_are_named(options, data):
    with pytest.raises(ValueError, match=next(iter(options))):
        GTREDiscretizer(**options).fit(*data)


def test_labels_must_have_two_classes(data):
    with pytest.raises(InvalidInputError, match="1 class"):
        GTREDiscretizer().fit(data[0], np.ones(len(data[0])))
