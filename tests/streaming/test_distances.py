"""Distances taken from the data: the same from chunks as from all rows, and from weights as from rows written twice."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import FCCADiscretizer
from fcca.counterfactuals import _distance_units
from fcca.discretizers import LocalChunks
from fcca.exceptions import InvalidInputError
from mixed_tables import loans
from streaming.same import assert_same, at_once, cut_up, in_chunks, numbers, ways_to_cut

SCALES = ["range", "rank", "mad", {"income": 0.7, "age": 11.0}]


def _table(n=90, *, gaps=True):
    X, y = loans(n)
    X["purpose"] = X["purpose"].fillna("none").astype("category")
    return X if gaps else X.fillna({"income": 1.0}), y


def _model(X, y, depth=1):
    return HistGradientBoostingClassifier(
        max_iter=12, max_depth=depth, min_samples_leaf=5, categorical_features="from_dtype", random_state=0
    ).fit(X, y)


def _weights(n):
    return np.random.default_rng(1).integers(0, 4, n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_chunks_give_what_all_rows_at_once_give(scale, weighted):
    X, y = _table()
    weight = _weights(len(y)) if weighted else None
    model = _model(X, y)
    whole = at_once(X, y, model, weight, scale=scale)
    assert whole.discretizer_.category_distance_ not in (0.0, 1.0)
    for _, chunks in ways_to_cut(X, y, weight):
        assert_same(in_chunks(chunks, model, scale=scale), whole, X)


@pytest.mark.parametrize("scale", ["mad", {"x0": 0.4, "x3": 7.0}], ids=str)
def test_chunks_of_a_linear_model_give_what_all_rows_at_once_give(scale):
    X, y = numbers(60)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    whole = at_once(X, y, model, scale=scale)
    for _, chunks in ways_to_cut(X, y):
        assert_same(in_chunks(chunks, model, scale=scale), whole, X)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_partial_fit_gives_what_fit_gives(scale, weighted):
    X, y = _table(gaps=False)
    weight = _weights(len(y)) if weighted else None
    model = FrozenEstimator(_model(X, y))
    whole = FCCADiscretizer(model, scale=scale).fit(X, y, weight)
    for _, chunks in ways_to_cut(X, y, weight):
        some = FCCADiscretizer(model, scale=scale)
        for chunk in chunks:
            some.observe(chunk[0], sample_weight=chunk[2] if weighted else None)
        for chunk in chunks:
            some.partial_fit(*chunk)
        assert some.all_thresholds_ == whole.all_thresholds_
        assert some.category_distance_ == whole.category_distance_


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_weight_of_2_is_the_row_twice_and_one_of_0_is_no_row(scale, depth):
    X, y = _table()
    weight = _weights(len(y))
    model = FrozenEstimator(_model(X, y, depth))
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    one = FCCADiscretizer(model, scale=scale).fit(X, y, weight)
    other = FCCADiscretizer(model, scale=scale).fit(X.iloc[rows], y[rows])
    assert one.all_thresholds_ == other.all_thresholds_
    assert one.category_distance_ == other.category_distance_


def test_the_order_of_rows_and_of_chunks_does_not_matter():
    X, y = _table()
    weight = np.random.default_rng(0).choice([0.1, 0.3, 0.7, 1.1], len(y))
    model = _model(X, y)
    for scale in SCALES:
        whole = at_once(X, y, model, weight, scale=scale)
        order = np.random.default_rng(3).permutation(len(y))
        chunks = cut_up(X.iloc[order], y[order], weight[order], [13, 40])
        assert in_chunks(chunks, model, scale=scale).discretizer_.category_distance_ == whole.discretizer_.category_distance_


def test_a_further_pass_is_made_only_where_some_change_has_no_direction(monkeypatch):
    passes = []
    summed = LocalChunks.sum
    monkeypatch.setattr(LocalChunks, "sum", lambda self, label, *given: passes.append(label) or summed(self, label, *given))
    X, y = numbers(60)
    model = GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=0).fit(X, y)
    found = in_chunks(cut_up(X, y, None, [30]), model)
    assert "Distances" not in passes
    assert found.discretizer_.category_distance_ == 1.0
    X, y = _table()
    model = _model(X, y)
    for parameters, needed in (({}, 1), ({"category_distance": 0.4}, 0), ({"scale": "rank"}, 0), ({"scale": "mad"}, 0)):
        passes.clear()
        in_chunks(cut_up(X, y, None, [30]), model, **parameters)
        assert passes.count("Distances") == needed, parameters


def test_too_many_distinct_values_raise_an_error_with_advice(monkeypatch):
    monkeypatch.setattr(_distance_units, "MOST_DISTINCT", 20)
    X, y = _table(gaps=False)
    model = _model(X, y)
    chunks = cut_up(X, y, None, [30, 60])
    for scale in ("mad", "rank"):
        with pytest.raises(InvalidInputError, match=r"more than 20 distinct values.*pass the units"):
            in_chunks(chunks, model, scale=scale)
        FCCADiscretizer(FrozenEstimator(model), scale=scale).fit(X, y)  # at once there is no such limit
    in_chunks(chunks, model)
    with pytest.raises(InvalidInputError, match="category_distance as a number"):
        FCCADiscretizer(FrozenEstimator(model)).observe(*chunks[0])
    given = FCCADiscretizer(FrozenEstimator(model), category_distance=0.5)
    for chunk in chunks:
        given.partial_fit(*chunk)
    assert given.category_distance_ == 0.5


def test_numbers_of_which_none_varies_leave_a_distance_of_1():
    X, y = _table()
    only = pd.DataFrame({"purpose": X["purpose"], "same": 3.0})
    model = _model(only, y)
    with pytest.warns(match="same"):
        found = FCCADiscretizer(FrozenEstimator(model)).fit(only, y)
    assert found.category_distance_ == 1.0
