"""MidpointDiscretizer: every threshold that there is, or the few that were asked for."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from fcca import MidpointDiscretizer, OptimalTreeClassifier
from fcca.exceptions import ConstantFeatureWarning, InvalidInputError
from fcca.metrics import compression_rate
from real_data import imported

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5).map(float)


@pytest.fixture(scope="module")
def data():
    return load_iris(return_X_y=True, as_frame=True)


@given(arrays(np.float64, st.tuples(st.integers(2, 12), st.just(1)), elements=NUMBERS), st.booleans())
@settings(max_examples=300, deadline=None)
def test_one_threshold_between_any_two_neighbours(X, rounded):
    values = np.unique(X)
    if len(values) < 2:
        with pytest.raises(InvalidInputError, match="two different values"):
            MidpointDiscretizer().fit(X)
        return
    table = MidpointDiscretizer(round_thresholds=rounded).fit(X).thresholds_
    assert len(table) == len(values) - 1
    np.testing.assert_array_equal(table.below, values[:-1])
    np.testing.assert_array_equal(table.above, values[1:])
    assert np.all((table.below <= table.threshold) & (table.threshold < table.above))


def test_midpoints_lie_in_the_middle_and_decimals_are_short(data):
    X = data[0]
    exact = MidpointDiscretizer(round_thresholds=False).fit(X).thresholds_
    np.testing.assert_allclose(exact.threshold, (exact.below + exact.above) / 2)
    np.testing.assert_array_equal(exact.threshold, exact.cut)
    short = MidpointDiscretizer().fit(X).thresholds_
    np.testing.assert_array_equal(short.cut, exact.cut)
    assert len("".join(short.names())) < len("".join(exact.names()))
    assert np.all(short.count == 1)


def test_columns_tell_all_training_rows_apart(data):
    X, _ = data
    B = MidpointDiscretizer().fit_transform(X)
    assert len(np.unique(B, axis=0)) == len(np.unique(X, axis=0))
    assert compression_rate(B) == compression_rate(X.to_numpy())


def test_an_optimal_tree_on_them_is_the_one_on_the_numbers(data):
    X, y = data
    on_numbers = OptimalTreeClassifier(max_depth=2).fit(X, y)
    on_bits = OptimalTreeClassifier(max_depth=2).fit(MidpointDiscretizer().fit_transform(X), y)
    assert on_bits.objective_ == on_numbers.objective_


# --- fewer of them -----------------------------------------------------------------------------------------------------


def test_boundaries_are_where_labels_change():
    x = np.array([1, 2, 3, 4, 4, 5, 6, 7.0])
    y = np.array(["a", "a", "b", "b", "a", "b", "b", "b"])
    table = MidpointDiscretizer(boundary_only=True).fit(x[:, None], y).thresholds_
    np.testing.assert_array_equal(table.below, [2, 3, 4])
    assert len(MidpointDiscretizer().fit(x[:, None], y).thresholds_) == 6


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=3, max_size=30))
def test_a_gap_is_no_boundary_only_if_both_sides_are_of_one_class(rows):
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    values = np.unique(x)
    expected = [a for a, b in pairwise(values) if len(set(y[(x == a) | (x == b)].tolist())) > 1]
    discretizer = MidpointDiscretizer(boundary_only=True)
    if not expected:
        with pytest.raises(InvalidInputError):
            discretizer.fit(x[:, None], y)
        return
    assert discretizer.fit(x[:, None], y).thresholds_.below.tolist() == expected


@pytest.mark.parametrize("n", [1, 3, 8, 30, 1000])
def test_at_most_so_many_of_a_column(n, data):
    X, _ = data
    every = MidpointDiscretizer().fit(X).thresholds_
    some = MidpointDiscretizer(max_thresholds=n).fit(X).thresholds_
    for j in range(X.shape[1]):
        assert (some.feature == j).sum() == min(n, (every.feature == j).sum())
    assert set(some.names()) <= set(every.names())


def test_those_kept_divide_the_rows_evenly():
    x = np.arange(1000.0)
    for n in (1, 3, 9):
        table = MidpointDiscretizer(max_thresholds=n).fit(x[:, None]).thresholds_
        np.testing.assert_allclose(table.below + 1, 1000 * np.arange(1, n + 1) / (n + 1), atol=1)
    skewed = np.repeat([0.0, 1, 2, 3], [97, 1, 1, 1])
    assert MidpointDiscretizer(max_thresholds=2).fit(skewed[:, None]).thresholds_.below.tolist() == [0, 1]
    assert MidpointDiscretizer(max_thresholds=2).fit(3 - skewed[:, None]).thresholds_.below.tolist() == [1, 2]


# --- weights, names, bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"max_thresholds": 4}, {"max_thresholds": 4, "boundary_only": True}], ids=str)
def test_weight_two_is_the_row_twice_and_order_means_nothing(options, data):
    X, y = data[0].to_numpy(), data[1].to_numpy()
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    repeated = rng.permutation(np.repeat(np.arange(len(X)), weight))
    weighted = MidpointDiscretizer(**options).fit(X, y, sample_weight=weight)
    assert weighted.thresholds_ == MidpointDiscretizer(**options).fit(X[repeated], y[repeated]).thresholds_


def test_labels_are_asked_for_where_they_matter(data):
    X, _ = data
    with pytest.raises(InvalidInputError, match="requires y"):
        MidpointDiscretizer(boundary_only=True).fit(X)
    with pytest.raises(ValueError, match="Unknown label type"):
        MidpointDiscretizer(boundary_only=True).fit(X, np.linspace(0, 1, len(X)))
    MidpointDiscretizer().fit(X, np.linspace(0, 1, len(X)))


def test_names_come_through_frames(data):
    X, _ = data
    frame = MidpointDiscretizer(max_thresholds=2).set_output(transform="pandas").fit_transform(X)
    assert isinstance(frame, pd.DataFrame)
    for name in frame.columns:
        column, threshold = name.rsplit(" > ", 1)
        np.testing.assert_array_equal(frame[name], (X[column] > float(threshold)).astype(int))
    polars = imported("polars")
    out = MidpointDiscretizer(max_thresholds=2).set_output(transform="polars").fit_transform(polars.from_pandas(X))
    assert out.columns == list(frame.columns)


def test_constant_columns_are_noted_and_left_out(data):
    X, _ = data
    with pytest.warns(ConstantFeatureWarning, match="1 column"):
        discretizer = MidpointDiscretizer().fit(X.assign(always=1.0))
    assert discretizer.constant_features_ == ["always"]
    assert "always" not in discretizer.thresholds_.features_used


def test_a_failed_fit_leaves_nothing_to_be_used(data):
    X, _ = data
    discretizer = MidpointDiscretizer().fit(X)
    with pytest.raises(InvalidInputError, match="two different values"):
        discretizer.fit(X * 0)
    with pytest.raises(NotFittedError):
        discretizer.transform(X)


@pytest.mark.parametrize("options", [{"max_thresholds": 0}, {"max_thresholds": 1.5}, {"round_thresholds": 3}], ids=str)
def test_bad_parameters_are_named(options, data):
    with pytest.raises(ValueError, match=next(iter(options))):
        MidpointDiscretizer(**options).fit(data[0])
