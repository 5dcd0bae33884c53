"""A fitted classifier at another granularity, and the rows that it remembers."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def fitted(table: tuple[pd.DataFrame, np.ndarray]) -> FCCAClassifier:
    return FCCAClassifier(FCCADiscretizer(Q=0.5)).fit(*table)


@pytest.mark.parametrize("fit_to", ["mixture", "probability", "labels", "target"])
def test_another_granularity_is_what_a_new_fit_would_give(table, fit_to):
    weight = np.full(len(table[1]), 5.0)  # so much that labels have a share in the mixture
    fitted = FCCAClassifier(FCCADiscretizer(Q=0.5), fit_to=fit_to).fit(*table, sample_weight=weight)
    other = fitted.at_granularity(0.9)
    anew = FCCAClassifier(FCCADiscretizer(Q=0.9), fit_to=fit_to).fit(*table, sample_weight=weight)
    assert other.tree_.objective_ == anew.tree_.objective_
    assert other.rules() == anew.rules()
    assert other.fidelity_ == anew.fidelity_
    assert other.discretizer_.thresholds_ == anew.discretizer_.thresholds_
    assert other.get_params()["discretizer__Q"] == 0.9
    assert other.feature_names_in_.tolist() == anew.feature_names_in_.tolist()


def test_the_classifier_itself_stays_as_it_is(fitted, table):
    before, kept = fitted.rules(), len(fitted.discretizer_.thresholds_)
    coarser = fitted.at_granularity(0.95)
    assert (fitted.rules(), len(fitted.discretizer_.thresholds_), fitted.discretizer_.Q) == (before, kept, 0.5)
    assert len(coarser.discretizer_.thresholds_) < kept
    assert coarser.at_granularity(0.5).rules() == before


def test_weights_and_rows_of_weight_0_are_remembered(table):
    X, y = table
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    fitted = FCCAClassifier(FCCADiscretizer(Q=0.5)).fit(X, y, sample_weight=weight)
    rows = fitted.training_data()
    assert len(rows.y) == len(rows.X) == (weight > 0).sum()
    assert rows.sample_weight.tolist() == weight[weight > 0].tolist()
    anew = FCCAClassifier(FCCADiscretizer(Q=0.9)).fit(X, y, sample_weight=weight)
    assert fitted.at_granularity(0.9).rules() == anew.rules()


@pytest.mark.parametrize("fit_to", ["mixture", "probability", "labels", "target"])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_rows_are_known_again_where_classes_have_weights(table, fit_to, class_weight):
    X, y = table
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    tree = OptimalTreeClassifier(max_depth=2, class_weight=class_weight)
    fitted = FCCAClassifier(FCCADiscretizer(Q=0.5), tree, fit_to=fit_to).fit(X, y, sample_weight=weight)
    anew = FCCAClassifier(FCCADiscretizer(Q=0.9), tree, fit_to=fit_to).fit(X, y, sample_weight=weight)
    assert fitted.at_granularity(0.9).rules() == anew.rules()
    with pytest.raises(InvalidInputError, match="not the rows"):
        fitted.training_data(X, y, weight[::-1])


@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), deepcopy], ids=["pickle", "deepcopy"])
def test_a_pickle_or_copy_holds_no_rows_and_takes_them_again(fitted, table, copied):
    loaded = copied(fitted)
    assert not any(isinstance(value, pd.DataFrame) for value in vars(loaded).values())
    with pytest.raises(InvalidInputError, match="not in memory"):
        loaded.at_granularity(0.9)
    assert loaded.at_granularity(0.9, *table).rules() == fitted.at_granularity(0.9).rules()


def test_other_rows_than_those_of_fit_are_refused(fitted, table):
    X, y = table
    with pytest.raises(InvalidInputError, match="not the rows"):
        fitted.training_data(X * 2, y)
    with pytest.raises(InvalidInputError, match="not the rows"):
        fitted.training_data(X.iloc[::-1], y[::-1])  # another order
    with pytest.raises(InvalidInputError, match="not the rows"):
        fitted.training_data(X, 1 - y)
    with pytest.raises(InvalidInputError, match="not the rows"):
        fitted.training_data(X, np.where(y == 1, "yes", "no"))
    with pytest.raises(InvalidInputError, match="not the rows"):
        fitted.training_data(X, y, np.full(len(y), 2.0))
    with pytest.raises(InvalidInputError, match="same number of rows"):
        fitted.training_data(X, y[1:])
    with pytest.raises(InvalidInputError, match="all of them, or none"):
        fitted.training_data(X)


def test_rows_that_were_changed_since_are_noticed(table):
    X, y = table[0].copy(), table[1]
    fitted = FCCAClassifier(FCCADiscretizer(Q=0.5)).fit(X, y)
    X.iloc[:, :] = 0.0
    with pytest.raises(InvalidInputError, match="changed after fit"):
        fitted.at_granularity(0.9)


def test_a_discretizer_without_granularity_says_so(table):
    X, y = table
    fitted = FCCAClassifier(GTREDiscretizer()).fit(X.iloc[:40, :2], y[:40])
    with pytest.raises(InvalidInputError, match="GTREDiscretizer does not have a granularity"):
        fitted.at_granularity(0.9)


def test_a_discretizer_without_a_black_box_is_refused(table):
    with pytest.raises(ValueError, match="predict_target"):
        FCCAClassifier(MidpointDiscretizer()).fit(*table)
