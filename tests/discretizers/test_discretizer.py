"""FCCADiscretizer: which rows it asks for, what it counts, and what never changes its answer."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fcca import FCCADiscretizer
from fcca.exceptions import (
    ConstantFeatureWarning,
    InvalidInputError,
    NoCounterfactualError,
    UnfinishedSearchWarning,
    UnsupportedModelError,
    UnverifiedCounterfactualWarning,
)

COLUMNS = ("feature", "threshold", "cut", "below", "above", "count")


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :12], y.to_numpy()


@pytest.fixture(scope="module")
def stumps(data):
    return GradientBoostingClassifier(max_depth=1, random_state=0).fit(data[0].to_numpy(), data[1])


@pytest.fixture(scope="module")
def frozen(stumps):
    return FrozenEstimator(stumps)


@pytest.fixture(scope="module")
def fitted(frozen, data):
    return FCCADiscretizer(frozen).fit(*data)


# --- which rows --------------------------------------------------------------------------------------------------------


def test_asks_for_the_correctly_classified_rows_inside_the_band(stumps, frozen, data):
    X, y = data
    probability = stumps.predict_proba(X.to_numpy()).max(axis=1)
    correct = stumps.predict(X.to_numpy()) == y
    for p0, p1 in [(0.5, 1.0), (0.6, 0.9), (0.5, 0.7)]:
        asked = FCCADiscretizer(frozen, p0=p0, p1=p1).fit(X, y).counterfactuals_.rows
        np.testing.assert_array_equal(asked, np.flatnonzero(correct & (probability >= p0) & (probability <= p1)))


def test_every_answer_is_proven_and_flips_the_model(stumps, fitted, data):
    X = data[0].to_numpy()
    found = fitted.counterfactuals_
    assert found.counts() == {"optimal": len(found)}
    np.testing.assert_array_equal(found.cost, found.bound)
    changed = found.apply(X)
    np.testing.assert_array_equal(stumps.predict(changed), found.target)
    assert np.all(stumps.predict(X[found.rows]) != found.target)
    scale = np.ptp(X, axis=0)
    moved = changed != X[found.rows]
    cost = 0.1 * moved.sum(axis=1) + (np.abs(changed - X[found.rows]) / scale).sum(axis=1)
    np.testing.assert_allclose(found.cost, cost, rtol=0, atol=1e-12)


# --- counts ------------------------------------------------------------------------------------------------------------


def test_counts_are_the_rows_that_cross(fitted, data):
    X = data[0].to_numpy()
    found = fitted.counterfactuals_
    changed = found.apply(X)
    for i, name in enumerate(fitted.thresholds_.names()):
        rows = fitted.rows_crossing(name)
        assert len(rows) == fitted.thresholds_.count[i] == len(np.unique(rows))
        np.testing.assert_array_equal(fitted.rows_crossing(i), rows)
        j, t = fitted.thresholds_.feature[i], fitted.thresholds_.threshold[i]
        at = np.searchsorted(found.rows, rows)
        assert np.all((X[rows, j] > t) != (changed[at, j] > t))
    assert fitted.all_thresholds_.count.sum() == len(found.moves.feature)


def test_rounding_keeps_the_binary_training_rows(frozen, fitted, data):
    exact = FCCADiscretizer(frozen, round_thresholds=False).fit(*data)
    assert len(exact.thresholds_) == len(fitted.thresholds_)
    np.testing.assert_array_equal(exact.transform(data[0]), fitted.transform(data[0]))
    np.testing.assert_array_equal(exact.thresholds_.count, fitted.thresholds_.count)
    assert len("".join(fitted.thresholds_.names())) < len("".join(exact.thresholds_.names()))


def test_the_table_shows_the_models_own_cuts(stumps, fitted):
    own = {(t.tree_.feature[0], t.tree_.threshold[0]) for t in stumps.estimators_[:, 0]}
    assert set(zip(fitted.thresholds_.feature, fitted.thresholds_.cut, strict=True)) <= own


def test_quantile_selection_is_numpys(fitted):
    counts = fitted.all_thresholds_.count
    for Q in (0.0, 0.3, 0.7, 0.95, 1.0):
        kept = fitted.set_granularity(Q).thresholds_
        assert len(kept) == np.sum(counts >= np.quantile(counts, Q))
        assert kept.names() == list(fitted.get_feature_names_out())
    fitted.set_granularity(0.0)


def test_merging_joins_counts(frozen, fitted, data):
    merged = FCCADiscretizer(frozen, merge_tolerance=0.02).fit(*data)
    assert len(merged.thresholds_) < len(fitted.thresholds_)
    assert merged.thresholds_.count.sum() == fitted.thresholds_.count.sum()
    assert sum(len(merged.rows_crossing(i)) for i in range(len(merged.thresholds_))) == merged.thresholds_.count.sum()


def test_linear_models_give_landings_without_the_edge_of_the_box(data):
    X, y = data
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X.to_numpy(), y)
    discretizer = FCCADiscretizer(FrozenEstimator(model), round_thresholds=False, merge_tolerance=0.0, max_thresholds="all")
    discretizer.fit(X, y)
    found, table = discretizer.counterfactuals_, discretizer.thresholds_
    inside = (found.moves.landing > X.min().to_numpy()[found.moves.feature]) & (
        found.moves.landing < X.max().to_numpy()[found.moves.feature]
    )
    assert sorted(zip(table.feature, table.threshold, strict=True)) == sorted(
        set(zip(found.moves.feature[inside], found.moves.landing[inside], strict=True))
    )
    merged = FCCADiscretizer(FrozenEstimator(model), max_thresholds="all").fit(X, y).thresholds_
    for j in np.unique(merged.feature):
        assert np.all(np.diff(merged.cut[merged.feature == j]) > 0.01 * np.ptp(X.iloc[:, j]))
    assert merged.count.sum() == table.count.sum()


def test_higher_lambda0_moves_fewer_features(frozen, data):
    moved = [
        len(FCCADiscretizer(frozen, lambda0=x).fit(*data).counterfactuals_.moves.feature) for x in (0.0, 0.1, 1.0, 10.0)
    ]
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] < moved[0]


def test_no_two_conditions_say_the_same_of_the_training_rows(data):
    X, y = data
    many = GradientBoostingClassifier(max_depth=1, n_estimators=300, subsample=0.5, random_state=0)
    for model in (many, make_pipeline(StandardScaler(), LogisticRegression())):
        B = FCCADiscretizer(model, merge_tolerance=0.0).fit(X, y).transform(X)
        assert len(np.unique(B, axis=1).T) == B.shape[1]


def test_p0_counts_with_many_classes_too():
    X, y = load_iris(return_X_y=True)
    few = FrozenEstimator(GradientBoostingClassifier(max_depth=1, n_estimators=3, random_state=0).fit(X, y))
    asked = {p0: len(FCCADiscretizer(few, p0=p0).fit(X, y).counterfactuals_) for p0 in (0.0, 0.45, 0.5)}
    assert asked[0.45] < asked[0.0] == asked[0.5]


def test_ten_classes_are_no_harder():
    X, y = load_digits(return_X_y=True)
    stumps = FrozenEstimator(GradientBoostingClassifier(max_depth=1, n_estimators=40, random_state=0).fit(X[:400], y[:400]))
    for costs in ((0.1, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)):
        options = dict(zip(("lambda0", "lambda1", "lambda2"), costs, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantFeatureWarning)
            found = FCCADiscretizer(stumps, time_limit=60, n_jobs=-1, **options).fit(X[:400], y[:400]).counterfactuals_
        assert found.counts() == {"optimal": len(found)}


def test_where_there_is_no_answer_there_is_no_target():
    X, y = load_iris(return_X_y=True)
    stumps = FrozenEstimator(GradientBoostingClassifier(max_depth=1, n_estimators=10, random_state=0).fit(X, y))
    found = FCCADiscretizer(stumps, margin=1.5).fit(X, y).counterfactuals_
    infeasible = found.is_status("infeasible")
    assert infeasible.any()
    assert not infeasible.all()
    assert all(target is None for target in found.target[infeasible])
    assert found.to_frame().query("status == 'infeasible'")["target"].isna().all()


def test_many_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    discretizer = FCCADiscretizer().fit(X, labels)
    found = discretizer.counterfactuals_
    assert found.counts() == {"optimal": len(found)}
    np.testing.assert_array_equal(discretizer.estimator_.predict(found.apply(X.to_numpy())), found.target)


# --- invariance --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1024.0, 2.0**-40])
@pytest.mark.parametrize("options", [{}, {"round_thresholds": False}, {"round_thresholds": False, "lambda2": 3.0}], ids=str)
def test_a_column_in_other_units_changes_nothing_else(factor, options, stumps, data):
    X, y = data[0].to_numpy(), data[1]
    scaled_model = copy.deepcopy(stumps)
    for tree in scaled_model.estimators_[:, 0]:
        tree.tree_.threshold[tree.tree_.feature == 3] *= factor
    X_scaled = X.copy()
    X_scaled[:, 3] *= factor
    plain = FCCADiscretizer(FrozenEstimator(stumps), **options).fit(X, y)
    other = FCCADiscretizer(FrozenEstimator(scaled_model), **options).fit(X_scaled, y)
    unit = np.where(plain.thresholds_.feature == 3, factor, 1.0)
    assert (unit != 1).any()
    np.testing.assert_array_equal(other.thresholds_.feature, plain.thresholds_.feature)
    np.testing.assert_array_equal(other.thresholds_.count, plain.thresholds_.count)
    np.testing.assert_array_equal(other.thresholds_.cut, plain.thresholds_.cut * unit)
    if options:  # the shortest decimal is another one in other units
        np.testing.assert_array_equal(other.thresholds_.threshold, plain.thresholds_.threshold * unit)
    np.testing.assert_array_equal(other.transform(X_scaled), plain.transform(X))
    np.testing.assert_array_equal(other.counterfactuals_.cost, plain.counterfactuals_.cost)
    np.testing.assert_array_equal(other.counterfactuals_.moves.feature, plain.counterfactuals_.moves.feature)


@pytest.mark.parametrize("model", ["frozen", None, "svm"])
def test_row_order_changes_nothing(model, frozen, data):
    X, y = data
    svm = FrozenEstimator(make_pipeline(StandardScaler(), LinearSVC()).fit(X.to_numpy(), y))
    estimator = {"frozen": frozen, "svm": svm, None: None}[model]
    order = np.random.default_rng(0).permutation(len(X))
    plain = FCCADiscretizer(estimator).fit(X, y)
    shuffled = FCCADiscretizer(estimator).fit(X.iloc[order], y[order])
    assert shuffled.thresholds_ == plain.thresholds_
    back = np.argsort(order[shuffled.counterfactuals_.rows])
    np.testing.assert_array_equal(shuffled.counterfactuals_.cost[back], plain.counterfactuals_.cost)


@pytest.mark.parametrize("model", ["stumps", "linear"])
def test_threads_change_nothing(model, frozen, data):
    X, y = data
    estimator = frozen if model == "stumps" else make_pipeline(StandardScaler(), LogisticRegression())
    one, many = (FCCADiscretizer(estimator, n_jobs=n, lambda2=0.5).fit(X, y) for n in (1, 7))
    assert one.thresholds_ == many.thresholds_
    pd.testing.assert_frame_equal(one.counterfactuals_.to_frame(), many.counterfactuals_.to_frame())


@pytest.mark.parametrize("factor", [1e-30, 1e-6, 1e30])
def test_units_do_not_matter_to_the_default_classifier(factor, data):
    X, y = data
    plain = FCCADiscretizer(round_thresholds=False).fit(X, y).thresholds_
    other = FCCADiscretizer(round_thresholds=False).fit(X.assign(**{X.columns[3]: X.iloc[:, 3] * factor}), y).thresholds_
    np.testing.assert_array_equal(other.feature, plain.feature)
    np.testing.assert_array_equal(other.count, plain.count)


@pytest.mark.parametrize("model", ["frozen", None, "scaled"])
def test_weight_two_is_the_row_twice(model, frozen, data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    scaled = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, tol=1e-12, max_iter=10_000))
    estimator = {"frozen": frozen, None: None, "scaled": scaled}[model]
    if model == "scaled":  # the solver stops somewhere in the last digits
        weighted = FCCADiscretizer(estimator).fit(X, y, sample_weight=weight)
        twice = FCCADiscretizer(estimator).fit(X.iloc[repeated], y[repeated])
        assert weighted.thresholds_.names() == twice.thresholds_.names()
        np.testing.assert_allclose(weighted.thresholds_.count, twice.thresholds_.count)
        return
    weighted = FCCADiscretizer(estimator).fit(X, y, sample_weight=weight)
    twice = FCCADiscretizer(estimator).fit(X.iloc[repeated], y[repeated])
    assert weighted.thresholds_ == twice.thresholds_
    assert np.all(weight[weighted.counterfactuals_.rows] > 0)
    assert np.all(weight[weighted.rows_crossing(0)] > 0)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(GradientBoostingClassifier(max_depth=1, n_estimators=10), {"learning_rate": [0.1]}, cv=2),
        GradientBoostingClassifier(max_depth=1, n_estimators=10),
    ],
    ids=["pipeline", "search", "stumps"],
)
def test_weights_reach_the_target_model(estimator, data):
    X, y = data
    weight = np.where(y == 1, 50.0, 1.0)
    plain = FCCADiscretizer(estimator).fit(X, y).predict_target(X).mean()
    weighted = FCCADiscretizer(estimator).fit(X, y, sample_weight=weight).predict_target(X).mean()
    assert weighted > plain


# --- time --------------------------------------------------------------------------------------------------------------


def test_what_time_leaves_unproven_is_said_and_left_out(frozen, data):
    with pytest.warns(UnfinishedSearchWarning), pytest.raises(NoCounterfactualError, match="Raise time_limit"):
        FCCADiscretizer(frozen, time_limit=0).fit(*data)


# --- trust -------------------------------------------------------------------------------------------------------------


class Liar(GradientBoostingClassifier):
    """Answers otherwise than its trees on some rows."""

    def predict(self, X):
        answer = super().predict(X)
        lie = X[:, 0] > 15
        return np.where(lie, 1 - answer, answer)


def test_an_answer_that_does_not_flip_the_model_is_not_counted(data):
    X, y = data[0].to_numpy(), data[1]
    liar = FrozenEstimator(Liar(max_depth=1, random_state=0).fit(X, y))
    with pytest.warns(UnverifiedCounterfactualWarning, match="do not flip"):
        discretizer = FCCADiscretizer(liar).fit(X, np.where(X[:, 0] > 15, 1 - y, y))
    found = discretizer.counterfactuals_
    assert found.counts()["unverified"] > 0
    assert discretizer.all_thresholds_.count.sum() == found.is_status("optimal")[found.moves.point].sum()


# --- bad input ---------------------------------------------------------------------------------------------------------


def broken(X, change):
    X = X.copy()
    change(X)
    return X


def put(value):
    return lambda X: X.__setitem__(X.columns[0], [value] + [1.0] * (len(X) - 1))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"p0": 0.9, "p1": 0.6}, InvalidInputError, "p0"),
        ({"lambda0": -1.0}, ValueError, "lambda0"),
        ({"lambda1": np.inf}, ValueError, "lambda1"),
        ({"lambda0": 1e308}, InvalidInputError, "lambda0"),
        ({"estimator": GradientBoostingClassifier(max_depth=1, init=LogisticRegression())}, UnsupportedModelError, "init"),
        ({"lambda2": -0.1}, ValueError, "lambda2"),
        ({"Q": 1.5}, ValueError, "Q"),
        ({"Q": -0.1}, ValueError, "Q"),
        ({"margin": 0.0}, ValueError, "margin"),
        ({"n_jobs": 0}, InvalidInputError, "n_jobs"),
        ({"merge_tolerance": "much"}, ValueError, "merge_tolerance"),
        ({"estimator": LinearSVC}, (TypeError, ValueError), "estimator|LinearSVC|type"),
        ({"p0": 0.9999999, "p1": 1.0}, NoCounterfactualError, "Lower p0 or raise p1"),
    ],
)
def test_bad_parameters_are_named(options, error, words, data):
    discretizer = FCCADiscretizer(**options)
    with pytest.raises(error, match=words):
        discretizer.fit(*data)
    assert not hasattr(discretizer, "thresholds_")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(np.inf), "infinite"),
        (put(-np.inf), "infinite"),
        (put("tall"), "tall"),
    ],
)
def test_bad_values_are_named(change, words, data):
    X, y = data
    with pytest.raises(ValueError, match=words):
        FCCADiscretizer().fit(broken(X.astype(object), change), y)


def test_bad_column_names_are_named(data):
    X, y = data
    with pytest.raises(InvalidInputError, match="'mean texture'"):
        FCCADiscretizer().fit(X.rename(columns={"mean radius": "mean texture"}), y)
    with pytest.raises(TypeError, match="astype"):
        FCCADiscretizer().fit(X.rename(columns={"mean radius": 5}), y)
    with pytest.raises(TypeError, match="astype"):
        FCCADiscretizer().fit(X.set_axis([2020 + i for i in range(X.shape[1])], axis=1), y)
    assert FCCADiscretizer().fit(pd.DataFrame(X.to_numpy()), y).get_feature_names_out()[0].startswith("x")


def test_a_failed_fit_leaves_nothing_to_be_used(data):
    X, y = data
    discretizer = FCCADiscretizer(p0=0.9999999)
    with pytest.raises(NoCounterfactualError):
        discretizer.fit(X, y)
    with pytest.raises(NotFittedError):
        discretizer.transform(X)
    refitted = FCCADiscretizer().fit(X, y)
    with pytest.raises(InvalidInputError):
        refitted.fit(X.iloc[:, :5], np.ones(len(X)))
    with pytest.raises(NotFittedError):
        refitted.transform(X.iloc[:, :5])


def test_questions_about_no_threshold_are_refused(fitted):
    for condition in (1.5, None, "mean radius > 1e9", 10_000):
        with pytest.raises(InvalidInputError):
            fitted.rows_crossing(condition)
    with pytest.raises(InvalidInputError, match="Q must be"):
        fitted.set_granularity(None)


def test_the_classifier_knows_the_column_names(data):
    X, y = data
    discretizer = FCCADiscretizer(GradientBoostingClassifier(max_depth=1, n_estimators=5)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictions = discretizer.estimator_.predict(X)
    assert list(discretizer.estimator_.feature_names_in_) == list(X.columns)
    assert np.array_equal(predictions, discretizer.predict_target(X))


def test_labels_must_have_two_classes(data):
    X, y = data
    with pytest.raises(InvalidInputError, match="1 class"):
        FCCADiscretizer().fit(X, np.ones(len(X)))
    with pytest.raises(InvalidInputError, match="1 class"):
        FCCADiscretizer().fit(X.iloc[:1], y[:1])
    with pytest.raises(ValueError, match="Unknown label type"):
        FCCADiscretizer().fit(X, np.linspace(0, 1, len(X)))


def test_constant_columns_are_noted_and_left_out(data):
    X, y = data
    X = X.assign(always=1.0, never=0.0)
    with pytest.warns(ConstantFeatureWarning, match="2 column"):
        discretizer = FCCADiscretizer().fit(X, y)
    assert discretizer.constant_features_ == ["always", "never"]
    assert not set(discretizer.thresholds_.features_used) & {"always", "never"}


def test_a_frozen_model_of_other_columns_is_refused(frozen, data):
    X, y = data
    with pytest.raises(InvalidInputError, match="12"):
        FCCADiscretizer(FrozenEstimator(GradientBoostingClassifier(max_depth=1).fit(X.to_numpy(), y))).fit(X.iloc[:, :5], y)
    named = FrozenEstimator(GradientBoostingClassifier(max_depth=1, n_estimators=5).fit(X, y))
    with pytest.raises(InvalidInputError, match="mean radius"):
        FCCADiscretizer(named).fit(X.iloc[:, ::-1], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FCCADiscretizer(named).fit(X, y)


def test_labels_that_the_model_does_not_know_are_said(frozen, data):
    X, y = data
    with pytest.raises(NoCounterfactualError, match=r"the classes of y are \['no'"):
        FCCADiscretizer(frozen).fit(X, np.where(y == 1, "yes", "no"))


def test_a_model_of_one_answer_has_no_thresholds(data):
    X, y = data
    shrug = GradientBoostingClassifier(max_depth=1, n_estimators=1, learning_rate=1e-9).fit(X, y)
    with pytest.raises(NoCounterfactualError, match="infeasible"):
        FCCADiscretizer(FrozenEstimator(shrug)).fit(X, y)
