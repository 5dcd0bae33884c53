"""Invalid input of streaming raises clear errors, before much work."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fcca import FCCADiscretizer, GTREDiscretizer, OptimalTreeClassifier
from fcca.constraints import Immutable, Implies, OneHot, Rule
from fcca.discretizers import Rows, _counted_rows
from fcca.exceptions import InvalidInputError, NoCounterfactualError
from fcca.selection import OptimalSelection
from fcca.streaming import ParquetTable, _distill_chunks, distill
from streaming.same import cut_up, frame, in_chunks, numbers


@pytest.fixture(scope="module")
def table():
    X, y = numbers(90)
    return X, y, GradientBoostingClassifier(max_depth=1, n_estimators=12, random_state=0).fit(X, y)


class _Counted:
    """Chunks that count how many of them were read."""

    def __init__(self, chunks):
        self.chunks, self.n_read = chunks, 0

    def __iter__(self):
        for chunk in self.chunks:
            self.n_read += 1
            yield chunk


def test_chunks_that_are_none(table):
    X, y, model = table
    chunks = cut_up(X, y, None, [30])
    with pytest.raises(InvalidInputError, match="iterator, which ends after one pass"):
        in_chunks(iter(chunks), model)
    with pytest.raises(InvalidInputError, match="iterator, which ends after one pass"):
        in_chunks((chunk for chunk in chunks), model)
    for given in ((X, y), X, [X], [(X,)], [(X, y, None, np.zeros(len(y), dtype=bool))], [frame(X)]):
        with pytest.raises(InvalidInputError, match=r"A chunk must be \(X, y\)"):
            in_chunks(given, model)
    for given in (None, 5):
        with pytest.raises(InvalidInputError, match="chunks must be a list"):
            in_chunks(given, model)


def test_a_table_that_is_another_one_in_a_later_pass(table):
    X, y, model = table
    once = iter(cut_up(X, y, None, [30]))
    with pytest.raises(InvalidInputError, match="the same iterator twice"):
        in_chunks(lambda: once, model)
    shorter = iter(range(90, 0, -10))

    def chunks():
        n = next(shorter)
        return [(X[:n], y[:n])]

    with pytest.raises(InvalidInputError, match="80 training rows when it was first read, but 70 in a later pass"):
        in_chunks(chunks, model)


def test_a_function_that_returns_an_iterator_and_lists_will_do(table):
    X, y, model = table
    chunks = cut_up(X, y, None, [30])
    expected = in_chunks(chunks, model).discretizer_.all_thresholds_
    assert in_chunks(lambda: iter(chunks), model).discretizer_.all_thresholds_ == expected
    lists = [(X.tolist(), y.tolist()) for X, y in chunks]
    assert in_chunks(lists, model).discretizer_.all_thresholds_ == expected


@pytest.mark.parametrize("no_rows", ["no chunk", "empty chunks", "no weight"])
def test_no_rows(table, no_rows):
    X, y, model = table
    given = {"no chunk": [], "empty chunks": [(X[:0], y[:0])] * 2, "no weight": [(X, y, np.zeros(len(y)))]}[no_rows]
    with pytest.raises(InvalidInputError, match="There are no rows to learn from"):
        in_chunks(given, model)


def test_all_rows_held_out(table):
    X, y, model = table
    with pytest.raises(InvalidInputError, match="There are no rows to learn from"):
        in_chunks([Rows(X, y, None, np.ones(len(y), dtype=bool))], model)


def test_one_class(table):
    X, y, model = table
    with pytest.raises(InvalidInputError, match="at least two classes"):
        in_chunks(cut_up(X[y == 0], y[y == 0], None, [10]), model)


def test_invalid_black_boxes_raise_errors(table):
    X, y, model = table
    chunks = _Counted(cut_up(X, y, None, [30]))
    with pytest.raises(InvalidInputError, match="FrozenEstimator"):
        distill(chunks, FCCADiscretizer(model))
    with pytest.raises(InvalidInputError, match="FrozenEstimator"):
        distill(chunks, None)
    with pytest.raises(NotFittedError):
        distill(chunks, FCCADiscretizer(FrozenEstimator(GradientBoostingClassifier())))
    with pytest.raises(InvalidInputError, match="must be an FCCADiscretizer, got GTREDiscretizer"):
        distill(chunks, GTREDiscretizer(FrozenEstimator(model)))
    assert chunks.n_read <= 3


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_thresholds": "auto"}, "cross-validation"),
        ({"margin": "10%"}, "Pass margin as a number"),
        ({"tree": OptimalTreeClassifier(max_depth=0)}, "max_depth"),
        ({"tree": DecisionTreeClassifier()}, "OptimalTreeClassifier"),
        ({"fit_to": "nothing"}, "fit_to"),
        ({"Q": 2}, "Q"),
        ({"selection": OptimalSelection(max_features=3)}, "Exactly one of"),
        ({"selection": OptimalSelection(3), "n_thresholds": 3}, "also sets the number of thresholds"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_parameters_are_refused_before_a_pass(table, parameters, words):
    X, y, model = table
    chunks = _Counted(cut_up(X, y, None, [30, 60]))
    with pytest.raises(ValueError, match=words):
        in_chunks(chunks, model, **parameters)
    assert chunks.n_read <= 1


@pytest.mark.parametrize("rule", [Rule("x0 <= x1 + 50"), Implies("x0 rises", "x1 rises"), OneHot("x3", "x4")], ids=repr)
def test_rules_between_columns_are_refused_before_a_pass(table, rule):
    X, y, _ = table
    X = np.column_stack([X[:, :3], X[:, 3] > 0, X[:, 3] <= 0]).astype(float)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=12, random_state=0).fit(X, y)
    chunks = _Counted(cut_up(X, y, None, [30, 60]))
    with pytest.raises(InvalidInputError, match="rule between columns"):
        in_chunks(chunks, model, constraints=[rule])
    assert chunks.n_read == 1  # for the columns
    with pytest.raises(InvalidInputError, match="names 'x9', but the columns are"):
        in_chunks(chunks, model, constraints=[Immutable("x9")])


def test_other_columns_in_a_later_chunk(table):
    X, y, _ = table
    named = frame(X)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=12, random_state=0).fit(named, y)
    others = {
        "lacks 'column 0' and also has 'z'": named.rename(columns={"column 0": "z"}),
        "another order": named[named.columns[::-1]],
        "lacks 'column 4'": named.iloc[:, :4],
        r"X has 3 column\(s\), but the first chunk has 5": X[:, :3],
    }
    for words, other in others.items():
        with pytest.raises(InvalidInputError, match=words):
            in_chunks([(named[:30], y[:30]), (other[30:], y[30:])], model)


def test_columns_that_the_black_box_does_not_know(table):
    X, y, model = table
    with pytest.raises(InvalidInputError, match="the frozen classifier was fitted on 5"):
        in_chunks([(X[:, :4], y)], model)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_and_infinite_values_for_a_black_box_without_support(table, value):
    X, y, model = table
    X = X.copy()
    X[70, 1] = value
    with pytest.raises(InvalidInputError, match="column 'x1' in row 10"):
        in_chunks(cut_up(X, y, None, [60]), model)


def test_a_column_without_any_value(table):
    X, y, _ = table
    model = HistGradientBoostingClassifier(max_iter=4, max_depth=1, min_samples_leaf=5).fit(X, y)
    X = X.copy()
    X[:, 2] = np.nan
    with pytest.raises(InvalidInputError, match="All values of column 'x2' in X are missing"):
        in_chunks(cut_up(X, y, None, [60]), model)


def test_a_column_of_categories_without_any_value(table):
    X, y, _ = table
    X = frame(X)
    X["label"] = pd.Categorical(np.where(y > 0, "a", "b"), categories=["a", "b"])
    model = HistGradientBoostingClassifier(
        max_iter=4, max_depth=1, min_samples_leaf=5, categorical_features="from_dtype"
    ).fit(X, y)
    X["label"] = pd.Categorical([None] * len(y), categories=["a", "b"])
    with pytest.raises(InvalidInputError, match="All values of column 'label' in X are missing"):
        in_chunks(cut_up(X, y, None, [60]), model)


def test_labels_that_are_none(table):
    X, y, model = table
    first = (X[:30], y[:30])
    with pytest.raises(InvalidInputError, match="no labels: y is None"):
        in_chunks([first, (X[30:], None)], model)
    texts = np.where(y[30:] > 0, "a", "b").astype(object)
    for bad, words in (
        (
            np.where(np.arange(60) == 3, np.nan, y[30:]),
            r"y has no label in 1 row\(s\)\. The first one is row 3 of the chunk",
        ),
        (np.append(y[31:].astype(object), [None]), "first one is row 59 of the chunk"),
        (np.append(texts[1:], [None]), "first one is row 59 of the chunk"),
        (y[30:] + 0.5, "Expected class labels: strings or whole numbers. Unknown label type: continuous"),
        (np.append(texts[1:], [1]), "of several types: int, str"),
        (np.stack([y[30:], y[30:]], axis=1), "y must be a column of labels"),
        (np.where(np.arange(60) == 3, np.inf, y[30:]), "Expected class labels"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            in_chunks([first, (X[30:], bad)], model)
        with pytest.raises(InvalidInputError, match=words):
            FCCADiscretizer(FrozenEstimator(model)).partial_fit(X[30:], bad)
    with pytest.raises(InvalidInputError, match=r"same number of rows \(60 and 50\)"):
        in_chunks([first, (X[30:], y[:50])], model)
    with pytest.raises(InvalidInputError, match="strings, but the labels of another are not"):
        in_chunks([first, (X[30:], y[30:].astype(str))], model)
    for others, kind in ((y[30:] > 0, "booleans"), (np.datetime64("2020-01-01") + y[30:], "dates")):
        with pytest.raises(InvalidInputError, match=f"{kind}, but the labels of another are not"):
            in_chunks([first, (X[30:], others)], model)


def test_invalid_tables_raise_errors(table):
    X, y, model = table
    new = FCCADiscretizer(FrozenEstimator(model))
    for refused in (
        lambda: in_chunks([(3, y)], model),
        lambda: in_chunks([(X, y), (3, y)], model),
        lambda: clone(new).observe(3),
        lambda: clone(new).partial_fit(3, y),
        lambda: clone(new).partial_fit(X, y).partial_fit(3, y),
    ):
        with pytest.raises(InvalidInputError, match="X must be a table of rows and columns, got int"):
            refused()


def test_repeated_names_are_refused_before_a_pass(table, tmp_path):
    X, y, _ = table
    named = frame(X)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=12, random_state=0).fit(named, y)
    twice = named.set_axis(["column 0", *named.columns[:4]], axis=1)
    chunks = _Counted(cut_up(twice, y, None, [30]))
    new = FCCADiscretizer(FrozenEstimator(model))
    for refused in (
        lambda: in_chunks(chunks, model),
        lambda: in_chunks([(named[:30], y[:30]), (twice[30:], y[30:])], model),
        lambda: clone(new).observe(twice),
        lambda: clone(new).partial_fit(twice, y),
        lambda: clone(new).observe(named).partial_fit(twice, y),
    ):
        with pytest.raises(InvalidInputError, match="Column names must be unique; repeated: 'column 0'"):
            refused()
    assert chunks.n_read == 1


# --- Parquet files ------------------------------------------------------------------------------------------------------


def test_repeated_names_in_a_file_are_refused_where_they_are_used(tmp_path):
    path = tmp_path / "t.parquet"
    columns = [np.arange(4.0), np.arange(4.0), np.arange(4.0), np.arange(4) % 2]
    pq.write_table(pa.Table.from_arrays([pa.array(values) for values in columns], ["a", "a", "b", "y"]), path)
    for given in ({}, {"columns": ["a"]}, {"label": "a", "columns": ["b"]}, {"sample_weight": "a", "columns": ["b"]}):
        with pytest.raises(InvalidInputError, match=r"Column names must be unique; repeated in t\.parquet: 'a'"):
            ParquetTable(path, **{"label": "y"} | given)
    assert [rows.X.columns.tolist() for rows in ParquetTable(path, "y", columns=["b"])] == [["b"]]


@pytest.mark.parametrize("rows_at_a_time", [0, -1, 2.5, 2.0, True, "3", None])
def test_so_many_rows_at_a_time_are_a_whole_number(tmp_path, rows_at_a_time):
    pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InvalidInputError, match="rows_at_a_time must be a whole number of at least 1"):
        ParquetTable(tmp_path / "t.parquet", "y", rows_at_a_time=rows_at_a_time)
    assert len(list(ParquetTable(tmp_path / "t.parquet", "y", rows_at_a_time=np.int64(1)))) == 2


def test_a_file_without_row_groups_has_no_rows(tmp_path):
    path = tmp_path / "t.parquet"
    pq.ParquetWriter(path, pa.schema([("a", pa.float64()), ("b", pa.string()), ("y", pa.int64())])).close()
    table = ParquetTable(path, "y")
    assert table.rows([]).columns.tolist() == ["a", "b", "y"]
    found = table.rows(np.empty(0, dtype=np.int64), ["y", "a"])
    assert found.shape == (0, 2)
    assert list(table) == []


@pytest.mark.parametrize(
    "weight", [np.ones(3), -np.ones(60), np.full(60, np.nan), ["a"] * 60], ids=["few", "negative", "NaN", "texts"]
)
def test_weights_that_are_none(table, weight):
    X, y, model = table
    with pytest.raises(InvalidInputError, match="sample_weight"):
        in_chunks([(X[:30], y[:30]), (X[30:], y[30:], weight)], model)


def test_a_black_box_that_is_never_right(table):
    X, _, model = table
    with pytest.raises(NoCounterfactualError, match="none of the 90 rows correctly"):
        in_chunks(cut_up(X, 1 - model.predict(X), None, [60]), model)


def test_too_many_distinct_rows_come_with_advice(table, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((400, 6))
    y = (X.sum(axis=1) > 3).astype(int)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=80, random_state=0).fit(X, y)
    monkeypatch.setattr(_counted_rows, "MOST_BYTES", 5_000)
    with pytest.raises(InvalidInputError, match=r"thresholds at Q=0 give \d+ distinct binary rows in the first \d+ rows.*Q"):
        in_chunks(cut_up(X, y, None, range(50, 400, 50)), model)
    monkeypatch.setattr(_counted_rows, "MOST_BYTES", 20_000)
    monkeypatch.setattr(_distill_chunks, "COARSER", (0.97,))
    with pytest.raises(
        InvalidInputError, match=r"Q=0.97, only \d+ thresholds are kept, and \d+ of \d+ sampled rows are distinct"
    ):
        in_chunks(cut_up(X, y, None, range(50, 400, 50)), model)


def test_nothing_is_kept_of_the_discretizer_that_was_given(table):
    X, y, model = table
    given = FCCADiscretizer(FrozenEstimator(model))
    found = distill(cut_up(X, y, None, [30]), given)
    assert vars(given).keys() == vars(FCCADiscretizer(FrozenEstimator(model))).keys()
    assert not any(hasattr(found.discretizer_, name) for name in ("_partial_fit", "counterfactuals_"))
    assert clone(found).get_params(deep=False).keys() == found.get_params(deep=False).keys()
    with pytest.raises(InvalidInputError, match="rows came in chunks"):
        found.discretizer_.rows_crossing(0)


def test_linear_black_boxes_refuse_implications(table):
    X, y, _ = table
    with pytest.raises(InvalidInputError, match="rule between columns"):
        in_chunks(cut_up(X, y, None, [30]), LogisticRegression().fit(X, y), constraints=[Implies("x0 rises", "x1 rises")])
