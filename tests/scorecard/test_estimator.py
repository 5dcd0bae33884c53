"""FCCAScorecard as a scikit-learn classifier."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fcca import FCCADiscretizer, FCCAScorecard, MidpointDiscretizer
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.selection import OptimalSelection
from scorecard.cards import fitted, hard_rows, random_table


@parametrize_with_checks([FCCAScorecard()])
def test_passes_every_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8], y


@pytest.mark.parametrize("discretizer", [MidpointDiscretizer(max_thresholds=20), FCCADiscretizer(LinearSVC(max_iter=5000))])
def test_any_discretizer_can_be_used(data, discretizer):
    X, y = data
    card = FCCAScorecard(discretizer).fit(X, y)
    assert roc_auc_score(y, card.decision_function(X)) > 0.9


def test_a_fitted_black_box_is_used_as_it_is(data):
    X, y = data
    box = GradientBoostingClassifier(max_depth=1, random_state=0).fit(X, y)
    card = FCCAScorecard(FCCADiscretizer(FrozenEstimator(box))).fit(X, y)
    assert card.discretizer_.estimator_.estimator is box


def test_clones_and_pickles_predict_the_same():
    card, X, y = fitted(0)
    again = clone(card).fit(X, y)
    for other in (again, pickle.loads(pickle.dumps(card))):
        np.testing.assert_array_equal(other.decision_function(X), card.decision_function(X))
        pd.testing.assert_frame_equal(other.table_, card.table_)


def test_the_order_of_the_rows_has_no_effect():
    card, X, y = fitted(1)
    order = np.random.default_rng(0).permutation(len(X))
    other = clone(card).fit(X.iloc[order], y[order])
    np.testing.assert_allclose(other.decision_function(X), card.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("most", [1, 3, 6])
def test_no_more_thresholds_than_asked_for(most):
    card, _, _ = fitted(2, n_thresholds=most)
    assert 1 <= len(card.thresholds_) <= most
    assert card.n_bins_ == len(card.table_)


def test_a_selection_of_the_discretizer_is_respected(data):
    X, y = data
    card = FCCAScorecard(FCCADiscretizer(selection=OptimalSelection(3, max_nodes=0))).fit(X, y)
    assert set(card.thresholds_.names()) <= set(card.discretizer_.thresholds_.names())
    assert len(card.discretizer_.thresholds_) == 3


def test_new_values_are_predicted_with_one_warning():
    card, _, _ = fitted(3)
    rows = hard_rows(card, 3)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        card.predict(rows)
    assert [one.category for one in found] == [UnknownValuesWarning]
    with pytest.warns(UnknownValuesWarning):
        points = card.contributions(rows)
    if "purpose" in points:
        assert (points["purpose"][rows["purpose"] == "unknown"] == 0).all()


def test_unused_columns_may_hold_anything(data):
    X, y = data
    card = FCCAScorecard(FCCADiscretizer(), n_thresholds=1).fit(X.assign(kind="a").astype({"kind": "category"}), y)
    (used,) = card.scorecard_.features_used
    rows = X.assign(kind=3).drop(columns=used).map(lambda value: "text").assign(**{used: X[used]})
    assert len(card.predict(rows[[*X.columns, "kind"]])) == len(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"monotonic": {"height": "rising"}}, "monotonic names the unknown column 'height'"),
        ({"monotonic": {"purpose": "rising"}}, "monotonic names the column 'purpose', which holds categories"),
        ({"monotonic": {"age": "up"}}, r"monotonic\['age'\] must be one of rising, falling, auto or None, got 'up'"),
        ({"monotonic": "up"}, "The 'monotonic' parameter"),
        ({"favourable": "maybe"}, r"favourable must be one of the classes \['no', 'yes'\], got 'maybe'"),
        ({"n_thresholds": 0}, "n_thresholds must be a whole number of at least 1, got 0"),
        ({"pdo": 0}, "The 'pdo' parameter"),
        ({"base_odds": -1}, "The 'base_odds' parameter"),
    ],
)
def test_wrong_parameters_are_refused_before_any_work(parameters, message, monkeypatch):
    monkeypatch.setattr(FCCADiscretizer, "fit", None)
    X, y = random_table(0)
    with pytest.raises(ValueError, match=message):
        FCCAScorecard(**parameters).fit(X, y)


def test_after_a_failed_fit_the_earlier_scorecard_is_complete():
    card, X, y = fitted.__wrapped__(0)
    before = card.decision_function(X)
    labels = np.where(y == "yes", 1, 0)
    with pytest.raises(InvalidInputError, match="monotonic names the unknown column"):
        card.set_params(monotonic={"height": "rising"}).fit(X.assign(more=1), labels)
    with pytest.raises(ValueError, match="The 'estimator' parameter"):
        card.set_params(monotonic=None, discretizer=FCCADiscretizer("none")).fit(X.assign(more=1), labels)
    assert card.classes_.tolist() == ["no", "yes"]
    assert card.n_features_in_ == 3
    np.testing.assert_array_equal(card.decision_function(X), before)
    new = FCCAScorecard(monotonic={"height": "rising"})
    with pytest.raises(InvalidInputError, match="monotonic names the unknown column"):
        new.fit(X, y)
    with pytest.raises(NotFittedError):
        new.predict(X)


def test_a_second_fit_without_names_forgets_the_names(data):
    X, y = data
    card = FCCAScorecard(MidpointDiscretizer(max_thresholds=5)).fit(X, y)
    assert card.feature_names_in_.tolist() == card.scorecard_.feature_names_in_.tolist() == X.columns.tolist()
    card.fit(X.to_numpy()[:, :3], y)
    assert card.n_features_in_ == card.scorecard_.n_features_in_ == 3
    assert not hasattr(card, "feature_names_in_")
    assert not hasattr(card.scorecard_, "feature_names_in_")


def test_three_classes_are_refused():
    with pytest.raises(InvalidInputError, match=r"Only binary classification is supported, but y has 3 classes"):
        FCCAScorecard().fit(*load_iris(return_X_y=True))
