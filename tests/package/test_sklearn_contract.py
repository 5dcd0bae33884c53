"""The ways in which users of scikit-learn combine transformers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fcca import FCCADiscretizer
from real_data import imported


@pytest.fixture(scope="module")
def data():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(data):
    return FCCADiscretizer(GradientBoostingClassifier(max_depth=1, random_state=0)).fit(*data)


def test_output_columns_are_named_for_their_condition(fitted, data):
    X, _ = data
    frame = clone(fitted).set_output(transform="pandas").fit(*data).transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == fitted.thresholds_.names() == list(fitted.get_feature_names_out())
    for name in frame.columns:
        column, threshold = name.rsplit(" > ", 1)
        assert column in X.columns
        np.testing.assert_array_equal(frame[name], (X[column] > float(threshold)).astype(int))


def test_polars_in_and_polars_out(fitted, data):
    polars = imported("polars")
    X, y = data
    table = polars.from_pandas(X)
    discretizer = clone(fitted).set_output(transform="polars").fit(table, y)
    frame = discretizer.transform(table)
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == fitted.thresholds_.names()
    np.testing.assert_array_equal(frame.to_numpy(), fitted.transform(X))


def test_pickle_keeps_the_answers(fitted, data):
    X, _ = data
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.thresholds_ == fitted.thresholds_
    np.testing.assert_array_equal(copy.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(copy.rows_crossing(0), fitted.rows_crossing(0))


def test_clone_is_unfitted_and_equal_in_parameters(fitted):
    copy = clone(fitted)
    assert not hasattr(copy, "thresholds_")
    assert {k: str(v) for k, v in copy.get_params().items()} == {k: str(v) for k, v in fitted.get_params().items()}


def test_grid_search_over_granularity_in_a_pipeline(data):
    X, y = data
    pipeline = make_pipeline(FCCADiscretizer(), DecisionTreeClassifier(max_depth=3, random_state=0))
    search = GridSearchCV(pipeline, {"fccadiscretizer__Q": [0.0, 0.7, 0.9]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert search.predict(X).shape == y.shape


def test_granularity_changes_without_a_refit(fitted, data):
    X, y = data
    for Q in (0.9, 0.5, 0.0):
        refitted = clone(fitted).set_params(Q=Q).fit(X, y)
        assert fitted.set_granularity(Q) is fitted
        assert fitted.thresholds_ == refitted.thresholds_


def test_a_parameter_search_as_target_uses_its_best_estimator(data):
    X, y = data
    search = GridSearchCV(LogisticRegression(max_iter=5000), {"C": [0.1, 1.0]}, cv=3)
    discretizer = FCCADiscretizer(make_pipeline("passthrough", search)).fit(X.iloc[:, :5], y)
    assert len(discretizer.thresholds_) > 0
