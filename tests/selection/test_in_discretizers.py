"""Selections inside discretizers: candidates, labels or predictions, and changes after fit."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fcca import FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer
from fcca.exceptions import InvalidInputError
from fcca.metrics import inconsistency_rate
from fcca.selection import OptimalSelection


@parametrize_with_checks([MidpointDiscretizer(max_thresholds=3, selection=OptimalSelection(2))])
def test_passes_every_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :10], np.array(["malignant", "benign"])[y]


@pytest.fixture(scope="module")
def frozen(data):
    return FrozenEstimator(GradientBoostingClassifier(max_depth=1, n_estimators=40, random_state=0).fit(*data))


@pytest.fixture(scope="module")
def weight(data):
    return np.random.default_rng(0).integers(0, 3, len(data[1])).astype(float)


@pytest.fixture(scope="module", params=["fcca", "gtre", "midpoint"])
def discretizer(request, frozen):
    return {
        "fcca": FCCADiscretizer(frozen),
        "gtre": GTREDiscretizer(frozen, column_elimination=False),
        "midpoint": MidpointDiscretizer(max_thresholds=4),
    }[request.param]


def test_without_a_selection_all_thresholds_are_kept(discretizer, data):
    fitted = clone(discretizer).fit(*data)
    assert fitted.thresholds_ == fitted.all_thresholds_
    assert not hasattr(fitted, "selection_")


def test_the_best_are_kept_and_the_others_are_remembered(discretizer, data, weight):
    X, y = data
    everything = clone(discretizer).fit(X, y, sample_weight=weight).thresholds_
    fitted = clone(discretizer).set_params(selection=OptimalSelection(3)).fit(X, y, sample_weight=weight)
    assert fitted.all_thresholds_ == everything
    assert fitted.selection_.candidates == everything
    assert fitted.selection_.is_optimal
    assert fitted.thresholds_ == fitted.selection_.thresholds
    assert fitted.transform(X).shape == (len(X), 3)
    assert fitted.get_feature_names_out().tolist() == fitted.thresholds_.names()
    assert fitted.selection_.inconsistency == pytest.approx(inconsistency_rate(fitted.transform(X), y, weight))
    alone = OptimalSelection(3).select(everything, X, y, weight)
    assert fitted.thresholds_ == alone.thresholds


def test_another_selection_without_a_refit_is_what_a_refit_gives(discretizer, data, weight):
    X, y = data
    fitted = clone(discretizer).set_params(selection=OptimalSelection(2)).fit(X, y, sample_weight=weight)
    other = OptimalSelection(max_inconsistency=0.08)
    assert fitted.set_selection(other, X, y, sample_weight=weight) is fitted
    assert fitted.selection is other
    anew = clone(discretizer).set_params(selection=other).fit(X, y, sample_weight=weight)
    assert fitted.thresholds_ == anew.thresholds_
    assert fitted.selection_.inconsistency == anew.selection_.inconsistency
    everything = fitted.set_selection(None)
    assert everything.thresholds_ == everything.all_thresholds_
    assert not hasattr(everything, "selection_")
    assert everything.selection is None


def test_a_selection_that_fails_leaves_all_as_it_was(discretizer, data):
    X, y = data
    fitted = clone(discretizer).set_params(selection=OptimalSelection(2)).fit(X, y)
    before = fitted.thresholds_
    with pytest.raises(InvalidInputError, match="unknown condition 'x > 1'"):
        fitted.set_selection(OptimalSelection(2, keep=["x > 1"]), X, y)
    with pytest.raises(InvalidInputError, match="Give X and y"):
        fitted.set_selection(OptimalSelection(2))
    with pytest.raises(InvalidInputError, match="same number of rows"):
        fitted.set_selection(OptimalSelection(2), X, y[1:])
    with pytest.raises(InvalidInputError, match="OptimalSelection or None"):
        fitted.set_selection(2, X, y)
    assert (fitted.thresholds_, fitted.selection.n_thresholds) == (before, 2)


def test_parameters_are_checked_before_rows_are_looked_at(discretizer):
    with pytest.raises(InvalidInputError, match="one of n_thresholds and max_inconsistency"):
        clone(discretizer).set_params(selection=OptimalSelection()).fit(None, None)
    with pytest.raises(InvalidInputError, match="max_features"):
        clone(discretizer).set_params(selection=OptimalSelection(2, max_features=0)).fit(None, None)
    with pytest.raises(ValueError, match="The 'selection' parameter"):
        clone(discretizer).set_params(selection=3).fit(None, None)


def test_is_cloned_and_pickled(discretizer, data):
    X, _ = data
    fitted = clone(discretizer).set_params(selection=OptimalSelection(2)).fit(*data)
    copied = pickle.loads(pickle.dumps(fitted))
    assert copied.selection_ == fitted.selection_
    np.testing.assert_array_equal(copied.transform(X), fitted.transform(X))
    bare = clone(fitted)
    assert not hasattr(bare, "selection_")
    assert bare.selection is not fitted.selection
    assert bare.get_params()["selection__n_thresholds"] == 2


def test_a_second_fit_forgets_the_selection_of_the_first(discretizer, data):
    fitted = clone(discretizer).set_params(selection=OptimalSelection(2)).fit(*data)
    fitted.set_params(selection=None).fit(*data)
    assert not hasattr(fitted, "selection_")
    assert len(fitted.thresholds_) > 2


def test_grid_search_over_the_number_of_thresholds(data, frozen):
    pipeline = make_pipeline(
        FCCADiscretizer(frozen, selection=OptimalSelection(1)), DecisionTreeClassifier(max_depth=3, random_state=0)
    )
    search = GridSearchCV(pipeline, {"fccadiscretizer__selection__n_thresholds": [1, 3]}, cv=2).fit(*data)
    best = search.best_estimator_[0]
    assert len(best.thresholds_) == search.best_params_["fccadiscretizer__selection__n_thresholds"]


# --- each its own -------------------------------------------------------------------------------------------------------


def test_fcca_chooses_among_those_that_q_keeps(data, frozen):
    coarse = FCCADiscretizer(frozen, Q=0.6).fit(*data)
    fitted = FCCADiscretizer(frozen, Q=0.6, selection=OptimalSelection(3)).fit(*data)
    assert fitted.selection_.candidates == coarse.thresholds_
    assert fitted.all_thresholds_ == coarse.all_thresholds_
    again = coarse.set_selection(OptimalSelection(3), *data)
    assert again.thresholds_ == fitted.thresholds_


def test_another_granularity_goes_back_to_the_choice_by_frequency(data, frozen):
    fitted = FCCADiscretizer(frozen, selection=OptimalSelection(3)).fit(*data)
    fitted.set_granularity(0.8)
    assert fitted.thresholds_ == FCCADiscretizer(frozen, Q=0.8).fit(*data).thresholds_
    assert fitted.selection is None
    assert not hasattr(fitted, "selection_")
    with pytest.raises(InvalidInputError, match="Q must be"):
        fitted.set_granularity(2)
    assert fitted.Q == 0.8


def test_rows_crossing_names_what_the_selection_keeps(data, frozen):
    fitted = FCCADiscretizer(frozen, selection=OptimalSelection(3)).fit(*data)
    everything = FCCADiscretizer(frozen).fit(*data)
    for at, name in enumerate(fitted.thresholds_.names()):
        np.testing.assert_array_equal(fitted.rows_crossing(at), everything.rows_crossing(name))


@pytest.mark.parametrize("kind", [FCCADiscretizer, GTREDiscretizer])
def test_fit_to_target_uses_the_predictions(data, frozen, kind):
    X, _ = data
    fitted = kind(frozen, selection=OptimalSelection(3, fit_to="target")).fit(*data)
    answers = frozen.predict(X)
    assert fitted.selection_.inconsistency == pytest.approx(inconsistency_rate(fitted.transform(X), answers))
    assert fitted.thresholds_ == OptimalSelection(3).select(fitted.all_thresholds_, X, answers).thresholds
    labels = kind(frozen, selection=OptimalSelection(3)).fit(*data)
    again = labels.set_selection(OptimalSelection(3, fit_to="target"), X)
    assert again.thresholds_ == fitted.thresholds_


def test_midpoints_have_no_target_and_need_labels(data):
    X, y = data
    with pytest.raises(InvalidInputError, match="has no black box"):
        MidpointDiscretizer(selection=OptimalSelection(2, fit_to="target")).fit(X, y)
    with pytest.raises(InvalidInputError, match="A selection requires y"):
        MidpointDiscretizer(selection=OptimalSelection(2)).fit(X)
    # Labels are for the selection: the midpoints are where they were.
    with_labels = MidpointDiscretizer(max_thresholds=4, selection=OptimalSelection(2)).fit(X, y)
    assert with_labels.all_thresholds_ == MidpointDiscretizer(max_thresholds=4).fit(X).thresholds_


# --- categories and gaps ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"income": rng.normal(3, 1, 240).round(2), "purpose": rng.choice(["car", "tv", "boat"], 240)})
    X.loc[rng.random(240) < 0.15, "income"] = np.nan
    y = np.where((X["income"] > 3) & (X["purpose"] != "tv") | X["income"].isna(), "yes", "no")
    weight = np.ones(240)
    weight[:3] = 0
    X.loc[:2, "purpose"] = "plane"  # nobody else's, and these rows do not count
    return X, y, weight


@pytest.mark.parametrize("make", [FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer])
def test_categories_and_missing_values_are_chosen_too(mixed, make):
    X, y, weight = mixed
    parameters = {"max_thresholds": 12} if make is MidpointDiscretizer else {}
    fitted = make(selection=OptimalSelection(4), **parameters).fit(X, y, sample_weight=weight)
    assert fitted.selection_.is_optimal
    B = fitted.transform(X.iloc[3:])
    assert fitted.selection_.inconsistency == pytest.approx(inconsistency_rate(B, y[3:]))
    # Chosen again from all, although only some columns may carry a condition now.
    fitted.set_selection(OptimalSelection(1), X, y, sample_weight=weight)
    anew = fitted.set_selection(OptimalSelection(4), X, y, sample_weight=weight)
    assert (
        anew.thresholds_.names()
        == make(selection=OptimalSelection(4), **parameters).fit(X, y, sample_weight=weight).thresholds_.names()
    )
