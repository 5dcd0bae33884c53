"""Promises that every discretizer keeps, scikit-learn's included."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import fcca.discretizers
from fcca import FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer
from fcca.export import load, save
from fcca.selection import OptimalSelection
from mixed_tables import holds, loans
from real_data import imported

DISCRETIZERS = [
    FCCADiscretizer(),
    GTREDiscretizer(),
    MidpointDiscretizer(),
    MidpointDiscretizer(max_thresholds=3, boundary_only=True),
]
every_discretizer = pytest.mark.parametrize("discretizer", DISCRETIZERS, ids=str)


@pytest.fixture(scope="module")
def table():
    return loans(200)


def test_every_discretizer_is_listed_here():
    assert {type(one).__name__ for one in DISCRETIZERS} == set(fcca.discretizers.__all__)


@parametrize_with_checks(DISCRETIZERS)
def test_passes_every_scikit_learn_check(estimator, check):
    check(estimator)


@every_discretizer
def test_binary_columns_are_those_of_the_thresholds(discretizer, table):
    X, y = table
    fitted = clone(discretizer).fit(X, y)
    assert len(fitted.thresholds_) > 1
    assert fitted.thresholds_ == fitted.all_thresholds_
    assert fitted.get_feature_names_out().tolist() == fitted.thresholds_.names()
    np.testing.assert_array_equal(fitted.transform(X).T, [holds(name, X) for name in fitted.thresholds_.names()])


@every_discretizer
def test_weights_are_repetitions(discretizer, table):
    X, y = table
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = clone(discretizer).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    assert weighted.thresholds_ == clone(discretizer).fit(X.iloc[rows], np.asarray(y)[rows]).thresholds_


@every_discretizer
def test_a_selection_keeps_some_of_the_thresholds(discretizer, table):
    X, y = table
    fitted = clone(discretizer).set_params(selection=OptimalSelection(2, max_nodes=100)).fit(X, y)
    every = fitted.all_thresholds_
    assert len(fitted.thresholds_) == 2 < len(every)
    assert set(fitted.thresholds_) < set(every)
    assert fitted.transform(X).shape == (len(X), 2)
    assert fitted.set_selection(None).thresholds_ == every
    again = fitted.set_selection(OptimalSelection(2, max_nodes=100), X, y)
    assert set(again.thresholds_) < set(every)
    assert not hasattr(again.set_params(selection=None).fit(X, y), "selection_")


@every_discretizer
def test_a_file_holds_it(discretizer, table, tmp_path):
    imported("skops")
    X, y = table
    fitted = clone(discretizer).fit(X, y)
    save(fitted, tmp_path / "bins.skops")
    loaded = load(tmp_path / "bins.skops", trusted=True)
    assert type(loaded) is type(fitted)
    assert loaded.thresholds_ == fitted.thresholds_
    pd.testing.assert_frame_equal(
        *(one.set_output(transform="pandas").transform(X) for one in (loaded, fitted)),
    )
