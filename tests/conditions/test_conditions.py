"""Conditions on categories and missing values in a ThresholdTable."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from fcca import ThresholdTable
from fcca.conditions import negation_in_words, smaller_side
from fcca.exceptions import InvalidInputError
from fcca.tables import Column, Columns

NAN = np.nan


@pytest.fixture
def loans():
    return pd.DataFrame(
        {
            "income": [3.5, NAN, 2.0, 4.0, 1.0],
            "purpose": ["car", "tv", None, "boat", "home"],
            "grade": pd.Categorical([3, 1, 2, 1, NAN], categories=[1, 2, 3]),
        }
    )


@pytest.fixture
def table(loans):
    return ThresholdTable.from_list(
        [
            ("purpose", {"tv", "car"}),
            ("purpose", "tv"),
            ("purpose", None),
            ("income", None),
            ("income", 2.0),
            ("grade", 3),
        ],
        loans,
    )


def test_conditions_are_sorted_by_column_and_kind(table):
    assert table.names() == [
        "income > 2",
        "income is missing",
        'purpose in {"car", "tv"}',
        'purpose = "tv"',
        "purpose is missing",
        "grade = 3",
    ]
    assert table.kind.tolist() == ["cut", "missing", "set", "set", "missing", "set"]
    assert table.labels == (None, None, ("car", "tv"), ("tv",), None, (3,))
    assert table.codes == (None, None, (1, 3), (3,), None, (2,))
    for name in ("threshold", "cut", "below", "above"):
        assert np.isnan(getattr(table, name)[table.kind != "cut"]).all()


def test_only_is_missing_holds_for_a_missing_value(table, loans):
    expected = [
        [1, 0, 1, 0, 0, 1],
        [0, 1, 1, 1, 0, 0],
        [0, 0, 0, 0, 1, 0],
        [1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]
    assert table.binarize(loans).tolist() == expected
    assert table.binarize(loans.to_numpy(dtype=object)).tolist() == expected
    assert table.binarize(table.columns.encode(loans)).tolist() == expected
    assert table.binarize(loans).dtype == np.int8


def test_many_rows_are_binarized_as_in_pandas(table, loans):
    rng = np.random.default_rng(0)
    many = loans.iloc[rng.integers(len(loans), size=10_000)].reset_index(drop=True)
    answers = table.binarize(many)
    np.testing.assert_array_equal(answers[:, 0], many["income"] > 2)
    np.testing.assert_array_equal(answers[:, 1], many["income"].isna())
    np.testing.assert_array_equal(answers[:, 2], many["purpose"].isin(["car", "tv"]))
    np.testing.assert_array_equal(answers[:, 3], many["purpose"] == "tv")
    np.testing.assert_array_equal(answers[:, 4], many["purpose"].isna())
    np.testing.assert_array_equal(answers[:, 5], many["grade"] == 3)


@pytest.mark.parametrize(
    ("codes", "n", "kept"),
    [
        ([1], 2, (1,)),
        ([0], 2, (1,)),
        ([0, 1], 3, (2,)),
        ([2], 3, (2,)),
        ([0, 3], 4, (1, 2)),
        ([1, 2], 4, (1, 2)),
        ([4, 0], 5, (0, 4)),
    ],
)
def test_the_smaller_side_represents_a_split(codes, n, kept):
    assert smaller_side(codes, n) == kept
    assert smaller_side(set(range(n)) - set(codes), n) == kept


def test_set_and_complement_are_one_condition_and_add_up(loans):
    columns = Columns.of_table(loans)
    joined, condition = ThresholdTable.from_counts(
        list(loans),
        [1, 1, 0, 1],
        [NAN, NAN, 2.5, NAN],
        [2, 3, 1, 5],
        kind=["set", "set", "cut", "missing"],
        labels=[("tv",), ("home", "car", "boat"), None, None],
        columns=columns,
    )
    assert joined.names() == ["income > 2.5", 'purpose = "tv"', "purpose is missing"]
    assert joined.count.tolist() == [1, 5, 5]
    assert condition.tolist() == [1, 1, 0, 2]


def test_addition_joins_conditions_of_all_kinds(table):
    twice = table + table
    assert twice.names() == table.names()
    np.testing.assert_array_equal(twice.count, 2 * table.count)
    assert twice.select(twice.kind == "set").names() == ['purpose in {"car", "tv"}', 'purpose = "tv"', "grade = 3"]


def test_addition_joins_missing_values_and_refuses_other_categories():
    one = ThresholdTable.from_list([("income", 2.0)], Columns((Column("income", missing=True), Column("g", (1, 2)))))
    two = ThresholdTable.from_list([("g", 2)], Columns((Column("income"), Column("g", (1, 2), missing=True))))
    assert [column.missing for column in (one + two).columns] == [True, True]
    assert (one + two).names() == ["income > 2", "g = 2"]
    three = ThresholdTable.from_list([("g", 3)], Columns((Column("income"), Column("g", (1, 3)))))
    with pytest.raises(InvalidInputError, match="same categories"):
        one + three


def test_rounding_and_merging_keep_sets_and_missing_values(table):
    table = table.with_neighbours(
        table.cut, np.where(table.kind == "cut", 1.96, NAN), np.where(table.kind == "cut", 2.1, NAN)
    )
    rounded, condition = table.rounded()
    assert rounded.names() == table.names()
    assert condition.tolist() == list(range(len(table)))
    merged, condition = (table + ThresholdTable.from_list([("income", 2.01)], table.columns)).merged(
        np.array([0.1, NAN, NAN])
    )
    assert merged.names() == table.names()
    assert condition.tolist() == [0, 0, 1, 2, 3, 4, 5]


def test_json_round_trip_keeps_kinds_labels_and_columns(table, loans):
    back = ThresholdTable.from_json(table.to_json())
    assert back == table
    np.testing.assert_array_equal(back.binarize(loans), table.binarize(loans))
    assert json.loads(table.to_json())["version"] == 2


def test_tables_of_numbers_stay_version_1_and_version_1_still_reads():
    plain = ThresholdTable.from_list([("a", 1.0)], ["a", "b"])
    assert json.loads(plain.to_json())["version"] == 1
    condition = {"kind": "cut", "feature": 0, "threshold": 1.5, "cut": 1.5, "below": None, "above": 2.0, "count": 3.0}
    document = {"format": "fcca.thresholds", "version": 1, "feature_names": ["a"], "conditions": [condition]}
    read = ThresholdTable.from_json(json.dumps(document))
    assert read.names() == ["a > 1.5"]
    assert read.columns is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"tv"', "null"),
        ('"version": 2', '"version": 1'),
        ('"missing": true', '"missing": 1'),
        ('"kind": "set"', '"kind": "sets"'),
        ('"categories": [\n        "tv"', '"categories": [\n        "yacht"'),
        ('"categories": [\n        "tv"', '"categories": [\n        "tv", "car", "boat", "home"'),
        ('"kind": "missing",\n      "feature": 0', '"kind": "missing",\n      "feature": 9'),
    ],
)
def test_damaged_json_is_a_typed_error(table, old, new):
    text = table.to_json()
    assert old in text
    with pytest.raises(InvalidInputError):
        ThresholdTable.from_json(text.replace(old, new))


def test_categories_that_json_cannot_hold_are_named():
    days = tuple(pd.to_datetime(["2020-01-01", "2020-01-02"]))
    table = ThresholdTable.from_list([("day", [days[1]])], Columns((Column("day", days),)))
    with pytest.raises(InvalidInputError, match="Timestamp"):
        table.to_json()


def test_pickle_and_frame(table, loans):
    copy = pickle.loads(pickle.dumps(table))
    assert copy == table
    with pytest.raises(ValueError, match="read-only"):
        copy.kind[0] = "set"
    frame = table.to_frame()
    assert frame["condition"].tolist() == table.names()
    assert frame["kind"].tolist() == table.kind.tolist()
    assert frame["categories"].tolist() == list(table.labels)
    assert table.renamed(["i", "p", "g"]).names()[1:3] == ["i is missing", 'p in {"car", "tv"}']
    np.testing.assert_array_equal(table.renamed(["i", "p", "g"]).binarize(loans), table.binarize(loans))


def test_labels_are_quoted_as_json_and_numbers_are_not():
    labels = ('a "b"', "c\nd", True, 2.5, 3)
    table = ThresholdTable.from_list([("x", [label]) for label in labels], Columns((Column("x", labels),)))
    assert table.names() == ['x = "a \\"b\\""', 'x = "c\\nd"', "x = True", "x = 2.5", "x = 3"]


@pytest.mark.parametrize(
    ("kind", "labels", "words", "otherwise"),
    [
        ("cut", None, "x ≤ 2", "x ≤ 2 or missing"),
        ("set", ("a",), 'x ≠ "a"', 'x ≠ "a"'),
        ("set", ("a", "b"), 'x not in {"a", "b"}', 'x not in {"a", "b"}'),
        ("missing", None, "x is not missing", "x is not missing"),
    ],
)
def test_the_negation_of_a_condition(kind, labels, words, otherwise):
    assert negation_in_words("x", kind, 2.0, labels) == words
    assert negation_in_words("x", kind, 2.0, labels, may_be_missing=True) == otherwise


def test_an_unknown_category_is_in_no_set(table, loans):
    coded = table.columns.encode(loans)
    coded[:, 1] = -1.0
    for unknown in (loans.assign(purpose="yacht"), coded):
        B = pd.DataFrame(table.binarize(unknown), columns=table.names())
        assert len(B.filter(like="purpose").columns) > 0
        assert not B.filter(like="purpose").to_numpy().any()


def test_codes_that_are_no_category_are_named(table, loans):
    coded = table.columns.encode(loans)
    for code in (4.0, -2.0, 0.5, np.inf):
        coded[0, 1] = code
        with pytest.raises(InvalidInputError, match=f"'purpose' has 4 categories, got the code {code:g}"):
            table.binarize(coded)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (("purpose", {"yacht"}), "'yacht' is not a category"),
        (("purpose", {"tv", "car", "boat", "home"}), "but not all"),
        (("purpose", set()), "but not all"),
        (("purpose", 2.0), "not a category"),
        (("income", {"tv"}), "holds numbers"),
        (("income", object()), "expected a number"),
        (("wages", 2.0), "No column named 'wages'"),
    ],
)
def test_mistakes_in_a_list_are_named(loans, condition, words):
    with pytest.raises(InvalidInputError, match=words):
        ThresholdTable.from_list([condition], loans)


def test_sets_need_to_know_the_categories():
    with pytest.raises(InvalidInputError, match="Pass a data frame instead of the column names"):
        ThresholdTable.from_list([("purpose", {"tv"})], ["income", "purpose"])
    gaps = ThresholdTable.from_list([("income", None)], ["income", "purpose"])
    assert gaps.names() == ["income is missing"]
    assert gaps.binarize(np.array([[NAN, 1.0], [1.0, NAN]])).tolist() == [[1], [0]]
    assert ThresholdTable.from_json(gaps.to_json()) == gaps


def test_conditions_that_a_column_cannot_have_are_refused(table):
    columns, nothing = table.columns, [NAN]
    with pytest.raises(InvalidInputError, match="no threshold"):
        ThresholdTable.from_counts(table.feature_names, [1], [0.5], [1.0], columns=columns)
    with pytest.raises(InvalidInputError, match="whichever is smaller"):
        ThresholdTable(
            table.feature_names, [1], nothing, nothing, nothing, nothing, [1], ["set"], (("boat", "car", "tv"),), columns
        )
    with pytest.raises(InvalidInputError, match="Unknown kind"):
        ThresholdTable(table.feature_names, [1], nothing, nothing, nothing, nothing, [1], ["spell"], (None,), columns)
    with pytest.raises(InvalidInputError, match="sorted"):
        ThresholdTable(
            table.feature_names, [1, 1], nothing * 2, nothing * 2, nothing * 2, nothing * 2, [1, 1], ["missing", "set"],
            (None, ("tv",)), columns,
        )  # fmt: skip
    with pytest.raises(InvalidInputError, match="3 names for 2 columns"):
        ThresholdTable(("a", "b", "c"), [], [], [], [], [], [], columns=Columns.numbers(2))
