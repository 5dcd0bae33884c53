"""ThresholdTable: addition, merging, rounding and JSON."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from fcca import ThresholdTable
from fcca.exceptions import InvalidInputError


def table(rows, names=("a", "b")):
    """A table from (feature, threshold, count)."""
    feature, threshold, count = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    return ThresholdTable.from_counts(names, feature, threshold, count)[0]


def test_counts_of_equal_conditions_add_up():
    joined, condition = ThresholdTable.from_counts(["a", "b"], [1, 0, 1], [2.0, 5.0, 2.0], [1, 2, 4])
    assert joined.names() == ["a > 5", "b > 2"]
    assert joined.count.tolist() == [2, 5]
    assert condition.tolist() == [1, 0, 1]


def test_addition_is_the_table_of_both():
    both = table([(0, 1.0, 2), (1, 3.0, 1)]) + table([(0, 1.0, 5), (0, 2.0, 1)])
    assert both == table([(0, 1.0, 7), (0, 2.0, 1), (1, 3.0, 1)])


def test_addition_tightens_the_neighbours():
    one = table([(0, 1.0, 2)]).with_neighbours(np.array([1.0]), np.array([0.2]), np.array([1.5]))
    two = table([(0, 1.0, 3)]).with_neighbours(np.array([1.0]), np.array([0.7]), np.array([np.nan]))
    both = one + two
    assert (both.below[0], both.above[0], both.count[0]) == (0.7, 1.5, 5)


def test_addition_needs_the_same_columns():
    with pytest.raises(InvalidInputError, match="same feature_names"):
        table([]) + table([], names=("a", "c"))


def test_merging_keeps_the_most_crossed_and_leaves_none_closer():
    merged, condition = table([(0, 1.00, 1), (0, 1.05, 5), (0, 1.12, 1), (0, 1.2, 2), (1, 1.05, 1)]).merged(
        np.array([0.1, 0.1])
    )
    assert merged.threshold.tolist() == [1.05, 1.2, 1.05]
    assert merged.count.tolist() == [7, 2, 1]
    assert condition.tolist() == [0, 0, 0, 1, 2]
    assert np.all(np.diff(merged.threshold[merged.feature == 0]) > 0.1)


def test_rounding_changes_nothing_on_training_rows():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 2)), 3)
    values = np.unique(X[:, 0])
    cuts = (values[:-1] + values[1:])[::7] / 2
    raw = table([(0, c, 1) for c in cuts]).with_neighbours(cuts, values[:-1][::7], values[1:][::7])
    rounded, condition = raw.rounded()
    np.testing.assert_array_equal(rounded.binarize(X)[:, condition], raw.binarize(X))
    assert set(rounded.cut) <= set(cuts)
    assert max(len(name) for name in rounded.names()) < max(len(name) for name in raw.names())


def test_conditions_that_round_to_the_same_number_are_joined():
    raw = table([(0, 1.04, 2), (0, 1.06, 3)]).with_neighbours(np.array([1.04, 1.06]), np.full(2, 0.9), np.full(2, 1.2))
    rounded, condition = raw.rounded()
    assert rounded.names() == ["a > 1"]
    assert rounded.count.tolist() == [5]
    assert rounded.cut.tolist() == [1.06]
    assert condition.tolist() == [0, 0]


def test_binarize_is_one_above_the_threshold_and_not_on_it():
    t = 0.1
    X = np.array([[np.nextafter(t, 0), 0.0], [t, 0.0], [np.nextafter(t, 1), 0.0]])
    assert table([(0, t, 1)]).binarize(X).ravel().tolist() == [0, 0, 1]


def test_binarize_refuses_other_columns():
    with pytest.raises(InvalidInputError, match="2 columns"):
        table([(0, 1.0, 1)]).binarize(np.zeros((3, 5)))


def test_json_round_trip_is_exact():
    names = ["a", 'quote " \\ <script>', "ünï😀"]
    original, _ = ThresholdTable.from_counts(names, [0, 1, 2], [0.1 + 0.2, -1e-300, 1e300], [1, 2.5, 3])
    original = original.with_neighbours(original.cut, np.array([np.nan, -2.0, 0.0]), np.array([1.0, 2.0, np.nan]))
    assert ThresholdTable.from_json(original.to_json()) == original
    assert ThresholdTable.from_json(table([]).to_json()) == table([])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps({"format": "fcca.thresholds", "version": 99}),
        json.dumps({"format": "fcca.thresholds", "version": 1, "feature_names": ["a"]}),
        json.dumps({"format": "fcca.thresholds", "version": 1, "feature_names": [1], "conditions": []}),
        table([(0, 1.0, 1)]).to_json().replace('"cut",', '"spell",'),
        table([(0, 1.0, 1)]).to_json().replace('"feature": 0', '"feature": 7'),
        table([(0, 1.0, 1)]).to_json().replace('"threshold": 1.0', '"threshold": "one"'),
    ],
)
def test_damaged_json_is_a_typed_error(text):
    with pytest.raises(InvalidInputError):
        ThresholdTable.from_json(text)


def test_a_list_of_the_user():
    mine = ThresholdTable.from_list([("b", 2.0), ("a", 1.0), ("b", 2.0)], ["a", "b"])
    assert mine.names() == ["a > 1", "b > 2"]
    with pytest.raises(InvalidInputError, match="'c'"):
        ThresholdTable.from_list([("c", 2.0)], ["a", "b"])


@pytest.mark.parametrize("copied", [False, True])
def test_is_immutable(copied):
    fixed = table([(0, 1.0, 1)])
    if copied:
        fixed = pickle.loads(pickle.dumps(fixed))
    with pytest.raises(ValueError, match="read-only"):
        fixed.count[0] = 3
    with pytest.raises(AttributeError):
        fixed.count = np.zeros(1)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("age", "pairs of a column and a threshold"),
        ({"age": 30}, "pairs of a column and a threshold"),
        (("age", 20, 30), "pairs of a column and a threshold"),
        (("age", [20, 30]), "a pair for each"),
        (("age", np.inf), "finite number"),
        (("age", "old"), "age"),
    ],
)
def test_invalid_entries_of_a_list_are_refused(entry, words):
    table = pd.DataFrame({"age": [20.0, 30.0], "kind": ["a", "b"]})
    with pytest.raises(InvalidInputError, match=words):
        ThresholdTable.from_list([entry], table)


def test_repeated_columns_are_refused_by_name():
    table = ThresholdTable.from_list([("a", 0.5)], ["a", "b"])
    with pytest.raises(InvalidInputError, match="unique"):
        table.binarize(pd.DataFrame([[0.0, 1.0]], columns=["a", "a"]))
