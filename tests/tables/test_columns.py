"""Tables are encoded as float64 and decoded again; errors name column, row and label."""

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from fcca.exceptions import InvalidInputError
from fcca.tables import Column, Columns

LOANS = pd.DataFrame({"income": [3.5, 2.0, 9.0], "purpose": ["tv", "car", "tv"], "grade": [1, 2, 3]})


def frame(**columns):
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("values", "categories", "codes"),
    [
        (np.array([1.5, 2.5, 1.5]), None, [1.5, 2.5, 1.5]),
        (np.array([2**53 - 1, 7, 8]), None, [2**53 - 1, 7, 8]),
        ([True, False, True], None, [1, 0, 1]),
        (pd.Series([1, pd.NA, 3], dtype="Int64"), None, [1, np.nan, 3]),
        (pd.Series([True, None, False], dtype="boolean"), None, [1, np.nan, 0]),
        (pd.Series([1, None, 2.5], dtype=object), None, [1, np.nan, 2.5]),
        (pd.Series([True, None, 2], dtype=object), None, [1, np.nan, 2]),
        (pd.Series([Decimal("1.5"), Decimal(2), None], dtype=object), None, [1.5, 2, np.nan]),
        (pd.Series([1.0, 0, 0], dtype="Sparse[float]"), None, [1, 0, 0]),
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (pd.Series(["b", None, "a"], dtype=object), ("a", "b"), [1, np.nan, 0]),
        (pd.Series(["b", np.nan, "a"]), ("a", "b"), [1, np.nan, 0]),
        (pd.Series(["b", pd.NA, "a"], dtype="string"), ("a", "b"), [1, np.nan, 0]),
        (pd.Series(["b", "a", None], dtype=pd.CategoricalDtype(["b", "c", "a"])), ("b", "c", "a"), [0, 2, np.nan]),
        (pd.Series([3, 1, 3]).astype("category"), (1, 3), [1, 0, 1]),
        (pd.Series([1, "1", 2.5], dtype=object), (1, 2.5, "1"), [0, 2, 1]),
        (pd.Series([np.str_("b"), "a", "b"], dtype=object), ("a", "b"), [1, 0, 1]),
        (pd.Series([("a", 1), ("b", 2), ("a", 1)], dtype=object), (("a", 1), ("b", 2)), [0, 1, 0]),
        (pd.cut([1, 5, 2], [0, 3, 9]), (pd.Interval(0, 3), pd.Interval(3, 9)), [0, 1, 0]),
    ],
    ids=str,
)
def test_a_column_is_numbers_or_categories_and_comes_back(values, categories, codes):
    X = frame(x=values)
    columns = Columns.of_table(X)
    assert columns[0].categories == categories
    assert columns[0].missing == np.isnan(codes).any()
    encoded = columns.encode(X)
    np.testing.assert_array_equal(encoded[:, 0], codes)
    assert encoded.flags.c_contiguous
    np.testing.assert_array_equal(columns.encode(columns.decode(encoded)), encoded)
    objects = Columns((Column("x", categories, True, as_category=False),))
    np.testing.assert_array_equal(objects.encode(objects.decode(encoded)), encoded)
    assert pickle.loads(pickle.dumps(columns)) == columns


def test_polars_columns_are_the_same():
    polars = pytest.importorskip("polars")
    X = polars.DataFrame(
        {
            "n": [1, None, 3],
            "f": [1.5, float("nan"), None],
            "b": [True, False, None],
            "t": ["u", None, "a"],
            "c": polars.Series(["u", "v", "u"], dtype=polars.Categorical),
            "e": polars.Series(["u", "v", None], dtype=polars.Enum(["v", "u"])),
        }
    )
    columns = Columns.of_table(X)
    assert [column.categories for column in columns] == [None, None, None, ("a", "u"), ("u", "v"), ("v", "u")]
    assert columns.may_miss.tolist() == [True, True, True, True, False, True]
    nan = np.nan
    np.testing.assert_array_equal(
        columns.encode(X), [[1, 1.5, 1, 1, 0, 1], [nan, nan, 0, nan, 1, 0], [3, nan, nan, 0, 0, nan]]
    )


def test_arrays_and_lists_have_columns_of_texts_too():
    rows = [[1, "a", None], [2.5, "b", 3], [3, "a", 4]]
    for X in (rows, np.array(rows, dtype=object)):
        columns = Columns.of_table(X)
        assert [column.categories for column in columns] == [None, ("a", "b"), None]
        assert columns.names == ("x0", "x1", "x2")
        assert not columns.named
        encoded = columns.encode(X)
        np.testing.assert_array_equal(encoded, [[1, 0, np.nan], [2.5, 1, 3], [3, 0, 4]])
        plain = Columns(tuple(Column(None, column.categories, True, as_category=False) for column in columns))
        decoded = plain.decode(encoded)
        assert isinstance(decoded, np.ndarray)
        assert decoded[1].tolist() == [2.5, "b", 3]
    assert Columns.of_table(np.array([["1", "b"], ["2", "a"]]))[0].categories == ("1", "2")
    assert Columns.of_table([[1, 2], [3, 4]]) == Columns.numbers(2)


def test_numbers_are_not_copied():
    X = np.random.default_rng(0).normal(size=(5, 3))
    columns = Columns.numbers(3)
    assert columns.encode(X) is X
    assert columns.decode(X) is X
    named = Columns.numbers(3, ["a", "b", "c"], missing=True)
    assert named.names == ("a", "b", "c")
    assert named.decode(X).columns.tolist() == ["a", "b", "c"]
    assert np.shares_memory(named.decode(X).to_numpy(), X)
    gap = np.where(X > 1, np.nan, X)
    assert named.encode(gap) is gap


def test_decoded_columns_have_the_types_of_the_training_table():
    columns = Columns(
        (
            Column("a", ("x", "y"), True),
            Column("b", ("x", "y"), True, as_category=False),
            Column("c", ("x", "y"), True, as_category=False, none_is_missing=True),
            Column("d", (2, 5), True, as_category=False),
            Column("e", (np.int32(2), np.int32(5))),
            Column("f", (1, 2.5)),
            Column("g"),
            Column("h", (2, 5), True, as_category=False, as_object=True),
        )
    )
    decoded = columns.decode(np.array([[0, 1, 0, 1, 1, 0, 0.5, 1], [np.nan, np.nan, np.nan, np.nan, 0, 1, 2, 0]]))
    assert decoded["h"].dtype == object
    assert decoded["a"].cat.categories.tolist() == ["x", "y"]
    assert decoded["b"].tolist() == ["y", pytest.approx(np.nan, nan_ok=True)]
    assert decoded["c"].tolist() == ["x", None]
    assert decoded["c"].dtype == object
    assert decoded["d"].dtype == np.float64
    assert decoded["e"].cat.categories.dtype == np.int32
    assert decoded["f"].cat.categories.tolist() == [1, 2.5]
    assert columns.decode(np.zeros((1, 8)))["d"].dtype.kind == "i"
    assert columns.label(0, 1.0) == "y"
    assert columns.label(0, np.nan) is None
    assert columns.label(6, 2.5) == 2.5


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            frame(income=[1, 2], purpose=["boat", "car"], grade=[1, 1]),
            r"column 'purpose' in row 0: 'boat'\. Known categories: 'car', 'tv'\. Give one of these",
        ),
        (
            frame(income=[1, np.nan], purpose=["tv", "car"], grade=[1, 1]),
            r"missing values \(NaN\): column 'income' in row",
        ),
        (frame(income=[1, 2], purpose=["tv", None], grade=[1, 1]), r"missing values \(NaN\): column 'purpose' in row 1"),
        (frame(income=[1, np.inf], purpose=["tv", "car"], grade=[1, 1]), "infinite values: column 'income' in row 1"),
        (frame(income=[1, 2], purpose=["tv", "car"], grade=["1", 1]), "not numbers: column 'grade' in row 0.*'1'"),
        (
            frame(income=[1, 2], purpose=["tv", "car"], grade=pd.to_datetime(["2020", "2021"])),
            "dates or times in column",
        ),
        (frame(income=[1, 2], purpose=["tv", "car"], grade=[1j, 2]), "complex numbers in column 'grade'"),
        (frame(income=[1, 2], purpose=[["tv"], ["car"]], grade=[1, 1]), "column 'purpose' that are neither"),
        (frame(income=[1, 2], purpose=["tv", "car"]), r"has 2 column\(s\), but 3"),
        (frame(income=[], purpose=[], grade=[]), "no rows"),
    ],
    ids=str,
)
def test_values_that_cannot_be_encoded_are_named(X, message):
    with pytest.raises(InvalidInputError, match=message):
        Columns.of_table(LOANS).encode(X)


def test_rows_are_called_by_their_labels():
    X = LOANS.assign(purpose=["tv", "boat", "plane"])
    with pytest.raises(InvalidInputError, match="rows ann, bob: 'boat', 'plane'"):
        Columns.of_table(LOANS).encode(X, labels=np.array(["joe", "ann", "bob"]))
    with pytest.raises(InvalidInputError, match="column 0 in row ann"):
        Columns.numbers(1).encode([[1.0], [np.inf]], labels=np.array(["joe", "ann"]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (frame(a=[1.0, 2.0], b=[None, None]), "All values of column 'b' in X are missing"),
        (np.array([[1.0, np.nan], [2.0, np.nan]]), "All values of column 1 in X are missing"),
        (frame(a=pd.to_datetime(["2020", "2021"])), "dates or times in column 'a'"),
        (frame(a=[[1], [2]]), "neither numbers nor category labels"),
        ([[1, 2], [3]], "rows and columns"),
        (np.zeros((0, 2)), "no rows"),
        (np.zeros(3), "2D array"),
    ],
    ids=str,
)
def test_invalid_tables_are_refused(X, message):
    with pytest.raises(InvalidInputError, match=message):
        Columns.of_table(X)


def test_ignored_columns_may_hold_anything():
    columns = Columns((Column("a"), Column("b", ignored=True)))
    X = frame(a=[1.0, 2.0], b=["text", None])
    np.testing.assert_array_equal(columns.encode(X), [[1, 0], [2, 0]])
    np.testing.assert_array_equal(columns.encode(frame(a=[1.0, 2.0], b=[np.inf, 3])), [[1, 0], [2, 3]])
