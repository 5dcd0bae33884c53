"""SQL predicts the same as the classifier in DuckDB, SQLite and PostgreSQL."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from command_line import check_refused, run
from export.documents import chain
from export.sql_rows import table_rows
from export.sql_trees import NUMBERS, check_small, class_of, small_tree
from export.trees import fitted
from fcca import ThresholdTable
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.export import ADDITIONS, from_json, to_json, to_sql
from fcca.tables import Columns
from real_data import imported

pytestmark = pytest.mark.filterwarnings("error", "ignore::fcca.exceptions.UnknownValuesWarning")


# --- parity --------------------------------------------------------------------------------------------------------------


def or_none(values, refused):
    return [None if no else value for no, value in zip(refused, values.tolist(), strict=True)]


def check_parity(engine, n_trees, n_rows):
    counted = {"refused": 0, "answered": 0, "on cuts": 0, "set": 0, "missing": 0, "leaf": 0, "bins": 0}
    for seed in range(n_trees):
        classifier, X = fitted(seed)
        rows = table_rows(classifier, X, n_rows, seed)
        tree, clean = rows.tree, rows.clean
        engine.load(rows.table)
        found = engine.answers(to_sql(classifier, dialect=engine.name, add=ADDITIONS, numbered=True))
        refused = rows.refused(tree.asked)

        assert found.pop("prediction") == or_none(classifier.predict(clean), refused)
        assert found.pop("leaf") == or_none(tree.apply(clean), refused)
        for at, shares in enumerate(classifier.predict_proba(clean).T):
            assert found.pop(f"probability_{at}") == or_none(shares, refused)
        refused_of_bins = rows.refused(np.unique(tree.thresholds.feature))
        for at, values in enumerate(classifier.discretizer_.transform(clean).T):
            assert found.pop(f"bin_{at}") == or_none(values, refused_of_bins)
            counted["bins"] += 1
        assert not found
        for at in np.flatnonzero(refused)[:3].tolist():  # the tree refuses them, too
            with pytest.raises(InvalidInputError):
                tree.predict(pd.DataFrame([{name: rows.table[name][at].as_py() for name in X.columns}]))
        counted["refused"] += int(refused.sum())
        counted["answered"] += int((~refused).sum())
        counted["on cuts"] += rows.on_cuts
        counted["set"] += len(tree.structure.categories)
        counted["missing"] += len(tree.structure.asks_missing)
        counted["leaf"] += tree.structure.n_leaves == 1
    assert min(counted.values()) > 0, counted
    assert counted["answered"] > 0.7 * n_trees * n_rows
    assert counted["refused"] > 0.01 * n_trees * n_rows
    assert counted["on cuts"] > 0.2 * n_trees * n_rows
    print(engine.name, counted)


def test_all_predictions_are_equal(engine):
    check_parity(engine, 12, 1000)


@pytest.mark.verify
def test_all_predictions_of_many_rows_are_equal(engine):
    check_parity(engine, 108, 10_000)


# --- numbers -------------------------------------------------------------------------------------------------------------


def hard_numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    anything = rng.integers(0, 2**64, n, dtype=np.uint64).view(np.float64)
    short = np.round(rng.normal(size=n) * 10.0 ** rng.integers(-4, 8, n), 4)
    special = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, sys.float_info.max, -sys.float_info.max, 1e22, 1e23, 0.1]
    return np.concatenate(
        [anything[np.isfinite(anything)], rng.normal(size=n), short, special, [2.0**53, 2.0**62, 2.0**-62]]
    )


def bits(values):
    return np.array(values, dtype=np.float64).view(np.int64).tolist()


def check_literals(engine, n):
    from fcca.export._sql_dialects import DIALECT_BY_NAME

    dialect = DIALECT_BY_NAME[engine.name]
    values = hard_numbers(n)
    for begin in range(0, len(values), 200):
        some = values[begin : begin + 200]
        written = [dialect.double_value(float(value)).sql(dialect=engine.name) for value in some]
        _, [found] = engine.run("SELECT " + ", ".join(written))
        assert all(type(value) is float for value in found)
        got, wanted = np.array(bits(found)), np.array(bits(some))
        negative_zero = (some == 0) & (np.array(found) == 0)  # the same to every comparison
        assert ((got == wanted) | negative_zero).all(), [
            (w, s) for w, s, g in zip(written, some, found, strict=True) if g != s
        ]


def test_every_number_is_read_exactly(engine):
    check_literals(engine, 400)


@pytest.mark.verify
def test_many_numbers_are_read_exactly(engine):
    check_literals(engine, 20_000)


@pytest.mark.parametrize("dialect", ["sqlite", "snowflake", "tsql"])
def test_numbers_of_doubtful_readers_are_ratios(dialect):
    imported("sqlglot")
    from fcca.export._sql_dialects import DIALECT_BY_NAME, is_read_exactly

    assert is_read_exactly(0.1)
    assert is_read_exactly(-928.5)
    for value in hard_numbers(300).tolist():
        text = DIALECT_BY_NAME[dialect].double_value(value).sql(dialect=dialect)
        if is_read_exactly(value):
            assert float(re.sub(r"CAST\('(.*)' AS DOUBLE\)", r"\1", text)) == value
            continue
        steps = re.sub(r"CAST\((CAST\()?(-?\d+)( AS BIGINT\))? AS (REAL|FLOAT|DOUBLE)\)", r"float(\2)", text)
        assert re.fullmatch(r"[\d\sfloat()*/-]+", steps)
        assert eval(steps) == value  # each step is one of 64-bit floats


def test_narrow_floats_are_compared_in_64_bits(engine):
    tree = small_tree(cut=0.1)
    table = pa.table(
        {"x": pa.array([0.1, 0.2, 0.05], pa.float32()), "c": ["tv"] * 3, "never asked for": pa.array([0.0] * 3)}
    )
    engine.load(table)
    assert engine.answers(to_sql(tree, dialect=engine.name))["prediction"] == [
        "yes",
        "yes",
        "no",
    ]  # 0.1 in 32 bits is larger


def test_whole_numbers_are_compared_as_64_bit_floats(engine):
    """As the classifier does: 2⁵³ + 1 is no float, and becomes 2⁵³."""
    x = [2**53, 2**53 + 1, 2**53 + 2]
    engine.load(pa.table({"x": pa.array(x, pa.int64()), "c": ["tv"] * 3, "never asked for": pa.array([0.0] * 3)}))
    assert engine.answers(to_sql(small_tree(cut=2.0**53), dialect=engine.name))["prediction"] == ["no", "no", "yes"]


# --- categories ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", [True, False])
def test_texts_are_compared_character_by_character(engine, gaps):
    labels = ["car", "tv", "", " ", "Ärger", "a\u0301", "it's", "a\\", "a\\\nb", "\n", "100%", "true", "1"]
    odd = [
        "Car",
        "car ",
        " car",
        "CAR",
        "ärger",
        "á",
        "a\\\\",
        "a\\b",
        "\r\n",
        "100",
        "TRUE",
        "1.0",
        "01",
        "car\u200b",
        "car.",
    ]
    check_small(engine, small_tree(labels=labels, gaps=gaps), [None, *labels, *odd], pa.string())


@pytest.mark.parametrize("gaps", [True, False])
def test_numbers_and_booleans_can_be_categories(engine, gaps):
    nan = float("nan")
    check_small(engine, small_tree(labels=[3, 1, 10], gaps=gaps), [None, 3, 1, 10, 2, 0, 2**53], pa.int64())
    check_small(engine, small_tree(labels=[3, 1, 10], gaps=gaps), [None, nan, 3.0, 1.0, 2.5, np.inf], pa.float64())
    check_small(engine, small_tree(labels=[0.1, 2.5], gaps=gaps), [None, nan, 0.1, 2.5, 0.10000000000000002], pa.float64())
    check_small(engine, small_tree(labels=[True, False], gaps=gaps), [None, True, False], pa.bool_())


@pytest.mark.parametrize(
    "classes",
    [["no", "yes"], [0, 1], [-3, 2**62], [False, True], [0.1, -2.5e-7], [1, 2.5], ["it's \\", "a\nGO\n"], ["", " "]],
)
def test_classes_come_back_as_what_they_are(engine, classes):
    check_small(engine, small_tree(classes=classes), [None, "car", "tv", "boat"], pa.string())


def test_collations_and_types_of_columns_change_nothing(engine):
    if engine.name == "postgres":
        engine.change("CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        engine.change("CREATE TYPE thing AS ENUM ('car', 'tv', 'boat')")
        kinds = ["text COLLATE nocase", "varchar(9)", "thing"]
    elif engine.name == "duckdb":
        kinds = ["VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT", "ENUM ('car', 'tv', 'boat')"]
    else:
        kinds = ["TEXT COLLATE NOCASE", "VARCHAR COLLATE RTRIM", "BLOB", ""]
    tree = small_tree(labels=["car", "tv"])
    for kind in kinds:
        labels = (
            ["car", "tv", "boat"] if "thing" in kind or "ENUM" in kind else ["car", "tv", "boat", "Car", "car ", "tv\u0301"]
        )
        name = f"kept as {kind}"[:30]
        engine.change(f'CREATE TABLE "{name}" (x REAL, c {kind}, "row number" INTEGER)')
        for at, label in enumerate(labels):
            engine.change(f"INSERT INTO \"{name}\" VALUES (2, '{label}', {at})")
        found = engine.answers(to_sql(tree, name, engine.name))["prediction"]
        assert found == [class_of(2.0, label, tree) for label in labels], kind
        engine.change(f'DROP TABLE "{name}"')


def test_in_sqlite_values_of_another_type_are_unknown_categories_or_refused(engine):
    if engine.name != "sqlite":
        return
    tree = small_tree(labels=["1", "2.0"])
    engine.change('CREATE TABLE anything (x, c, "row number")')
    engine.change('CREATE TABLE numbers (x TEXT, c NUMERIC, "row number")')
    cells = [(2, "1"), ("2", "1"), ("x", "1"), (b"2", "1"), (2, 1), (2, 2.0), (2, b"1"), (2, "2.0"), (2, "2")]
    for at, cell in enumerate(cells):
        engine.connection.execute("INSERT INTO anything VALUES (?, ?, ?)", (*cell, at))
        engine.connection.execute("INSERT INTO numbers VALUES (?, ?, ?)", (*cell, at))
    assert engine.answers(to_sql(tree, "anything", "sqlite"))["prediction"] == [
        *("no", None, None, None, "yes", "yes", "yes", "yes", "yes")  # only the text "1" is the category
    ]
    made_numbers = engine.answers(to_sql(tree, "numbers", "sqlite"))["prediction"]
    assert set(made_numbers) == {None}  # SQLite has made numbers texts in x
    engine.change("DROP TABLE anything")
    engine.change("DROP TABLE numbers")


def test_in_sqlite_values_that_are_not_boolean_are_unknown_categories(engine):
    if engine.name != "sqlite":
        return
    values = [True, False, None, 1.0, "true", "True", "x", "1", b"1", b"", 2, 0.5, float("inf")]
    engine.change('CREATE TABLE flags (x, c, "row number")')
    for at, value in enumerate(values):
        engine.connection.execute("INSERT INTO flags VALUES (2.0, ?, ?)", (value, at))
    for gaps in (True, False):
        tree = small_tree(labels=[True, False], gaps=gaps)
        found = engine.answers(to_sql(tree, "flags", "sqlite", add=("prediction", "bins")))
        expected = [class_of(2.0, value, tree) for value in values]
        assert found.pop("prediction") == expected
        for column in found.values():
            assert None not in column
    engine.change("DROP TABLE flags")


def test_in_sqlite_texts_among_numeric_categories_are_unknown(engine):
    if engine.name != "sqlite":
        return
    values = [3, 1.0, None, "3", "3.0", "x", b"3", b"", 2, float("inf")]
    engine.change('CREATE TABLE grades (x, c, "row number")')
    for at, value in enumerate(values):
        engine.connection.execute("INSERT INTO grades VALUES (2.0, ?, ?)", (value, at))
    for gaps in (True, False):
        tree = small_tree(labels=[3, 1], gaps=gaps)
        found = engine.answers(to_sql(tree, "grades", "sqlite"))["prediction"]
        assert found == [class_of(2.0, value, tree) for value in values]
    engine.change("DROP TABLE grades")


# --- what can be asked for -----------------------------------------------------------------------------------------------


def test_bins_of_a_tree_of_version_1_are_its_conditions(engine):
    tree = small_tree()
    assert tree.thresholds is None
    check_small(engine, tree, [None, "car", "tv", "boat"], pa.string())
    found = engine.answers(to_sql(tree, dialect=engine.name, add="bins"))
    assert list(found) == ["x > 1.5", "x is missing", 'c = "car"']
    cells = [(x, c) for x in NUMBERS for c in [None, "car", "tv", "boat"]]
    refused = [class_of(x, c, tree) is None for x, c in cells]
    for name, holds in (
        ("x > 1.5", lambda x, c: x is not None and x > 1.5),
        ("x is missing", lambda x, c: x is None or x != x),
        ('c = "car"', lambda x, c: c == "car"),
    ):
        assert found[name] == [None if no else int(holds(*cell)) for cell, no in zip(cells, refused, strict=True)]


def of_many_columns(n):
    names = [f"c{j}" for j in range(n)]
    table = ThresholdTable.from_list([(name, 0.5) for name in names], names)
    return replace(from_json(chain(1)), columns=Columns.numbers(n, names), thresholds=table)


def test_the_query_grows_linearly_with_the_bins(engine):
    few, many = (len(to_sql(of_many_columns(n), dialect=engine.name, add="bins", numbered=True)) for n in (100, 700))
    assert many < 7.5 * few
    values = np.array([[0.0] * 700, [1.0] * 700, [1.0] * 699 + [np.inf]])
    tree = of_many_columns(700)
    engine.load(pa.table(dict(zip(tree.columns.names, values.T, strict=True))))
    found = engine.answers(to_sql(tree, dialect=engine.name, add="bins", numbered=True))
    assert list(found.values()) == [[0, 1, None]] * 700
    engine.change("DROP TABLE data")


def test_bins_have_the_names_of_their_conditions_if_possible():
    tree = from_json(to_json(fitted(3)[0]))
    text = to_sql(tree, add="bins")
    assert all(f'AS "{words.replace(chr(34), chr(34) * 2)}"' in text for words in tree.get_feature_names_out())
    plain = small_tree()
    assert "AS `bin_0`" in to_sql(plain, dialect="bigquery", add="bins")
    assert "AS [x > 1.5]" in to_sql(plain, dialect="tsql", add="bins")
    assert "AS [p_bin_2]" in to_sql(plain, dialect="tsql", add="bins", prefix="p_", numbered=True)


def test_an_expression_alone_goes_into_a_view(engine):
    tree = small_tree()
    check_small(engine, tree, [None, "car", "tv"], pa.string())
    expected = engine.answers(to_sql(tree, dialect=engine.name))["prediction"]
    for table in (None, "t"):
        expression = to_sql(tree, table, engine.name, form="case")
        assert ('"t".' in expression) == (table == "t")
        engine.change(f"CREATE VIEW answered AS SELECT t.*, {expression} AS answer FROM data AS t")
        assert engine.answers("SELECT * FROM answered")["answer"] == expected
        engine.change("DROP VIEW answered")


def test_a_tree_of_one_leaf_is_its_class(engine):
    leaf = next(fitted(seed) for seed in range(36) if fitted(seed)[0].structure_.n_leaves == 1)
    engine.load(table_rows(*leaf, 20, 0).table)
    text = to_sql(leaf[0], dialect=engine.name)
    assert "CASE" not in text
    assert set(engine.answers(text)["prediction"]) == set(leaf[0].predict(leaf[1]))


def test_the_deepest_tree_can_be_run(engine):
    tree = from_json(chain(200))
    x = np.arange(-1.0, 202.0, 0.5)
    engine.load(pa.table({"x": x}))
    found = engine.answers(to_sql(tree, dialect=engine.name, add="leaf"))["leaf"]
    assert found == tree.apply(pd.DataFrame({"x": x})).tolist()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"dialect": "mysql"}, "duckdb, postgres"),
        ({"form": "view"}, "select, case"),
        ({"add": "predictions"}, "prediction, leaf"),
        ({"add": ()}, "prediction, leaf"),
        ({"form": "case", "add": ("prediction", "leaf")}, "can add only the prediction or only the leaf"),
        ({"form": "case", "add": "bins"}, "can add only the prediction or only the leaf"),
        ({"form": "case", "prefix": "p_"}, "adds no named columns"),
        ({"form": "case", "numbered": True}, "adds no named columns"),
        ({"table": ()}, "up to 3 parts"),
        ({"table": ("a", "b", "c", "d")}, "up to 3 parts"),
        ({"table": (1,)}, "up to 3 parts"),
        ({"table": ("a", "")}, "it is empty"),
        ({"table": 5}, "up to 3 parts of a name .* got 5"),
        ({"table": b"x"}, "up to 3 parts"),
        ({"add": 5}, "add must be one or more of .* got 5"),
        ({"add": None}, "add must be one or more of .* got None"),
        ({"add": [["leaf"]]}, "add must be one or more of"),
        ({"add": ["leaf", None]}, "add must be one or more of"),
        ({"prefix": None}, "The prefix must be a string.* got None"),
        ({"prefix": 5}, "The prefix must be a string"),
        ({"form": "case", "prefix": None}, "The prefix must be a string"),
        ({"dialect": ["duckdb"]}, "duckdb, postgres"),
        ({"form": None}, "select, case"),
    ],
)
def test_invalid_options_are_refused(wrong, said):
    with pytest.raises(InvalidInputError, match=said):
        to_sql(small_tree(), **wrong)


def test_labels_that_no_column_can_hold_are_refused():
    with pytest.raises(InvalidInputError, match="categories of column 'c' have several types, number and text"):
        to_sql(small_tree(labels=["a", 1]))
    with pytest.raises(InvalidInputError, match="classes have several types, boolean and number"):
        to_sql(small_tree(classes=[True, 2]))
    with pytest.raises(InvalidInputError, match="9007199254740993, is a number"):
        to_sql(small_tree(labels=[2**53 + 1, 1]))
    with pytest.raises(InvalidInputError, match="more than 64 bits"):
        to_sql(small_tree(classes=[1, 2**63]))
    with pytest.raises(InvalidInputError, match="Expected a fitted FCCAClassifier"):
        to_sql("tree")


@pytest.mark.parametrize(
    ("dialect", "asked", "answered"),
    [
        ("tsql", "CAST([c] AS FLOAT) = 1", "CAST(1 AS BIT)"),
        ("bigquery", "CAST(`c` AS STRING) = 'true'", "TRUE"),
        ("snowflake", "CAST(\"c\" AS VARCHAR) = 'true'", "TRUE"),
        ("spark", "CAST(`c` AS STRING) = 'true'", "TRUE"),
    ],
)
def test_booleans_follow_the_dialect(dialect, asked, answered):
    text = to_sql(small_tree(labels=[True, False], classes=[False, True]), dialect=dialect, form="case")
    assert asked in text
    assert f"THEN {answered}\n" in text


def test_without_sqlglot_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(UnsupportedModelError, match=r"pip install 'fcca\[sql\]'"):
        to_sql(small_tree())


# --- the command line ----------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(to_json(fitted(1)[0]), encoding="utf-8")
    return path


def test_the_command_writes_what_the_function_does(stored, tmp_path):
    tree = from_json(stored.read_bytes())
    for options, expected in (
        ((), to_sql(tree)),
        (("--dialect", "postgres", "--table", "loans"), to_sql(tree, "loans", "postgres")),
        (("--table", "public", "--table", "loans"), to_sql(tree, ("public", "loans"))),
        (("--dialect", "sqlite", "--form", "case"), to_sql(tree, dialect="sqlite", form="case")),
        (("--form", "case", "--add", "leaf", "--table", "t"), to_sql(tree, "t", form="case", add="leaf")),
        (
            ("--add", "bins", "--add", "probabilities", "--prefix", "p_", "--numbered"),
            to_sql(tree, add=("bins", "probabilities"), prefix="p_", numbered=True),
        ),
    ):
        result = run("export", stored, "--to", "sql", *options)
        assert (result.exit_code, result.stdout, result.stderr) == (0, expected, "")
    assert run("export", stored, "--out", tmp_path / "tree.sql", "--dialect", "spark").exit_code == 0
    assert (tmp_path / "tree.sql").read_text(encoding="utf-8") == to_sql(tree, dialect="spark")


def test_contradicting_options_are_refused(stored):
    check_refused(run("export", stored, "--dialect", "postgres"), "--dialect", "text", "--to sql")
    check_refused(run("export", stored, "--to", "python", "--table", "a", "--numbered"), "--table and --numbered", "python")
    for more in (["--prefix", "p_"], ["--numbered"], ["--add", "bins"], ["--add", "leaf", "--add", "prediction"]):
        check_refused(run("export", stored, "--to", "sql", "--form", "case", *more), "--form case", more[0])
    check_refused(run("export", stored, "--to", "sql", "--table", ""), "The table", "empty")
    assert run("export", stored, "--to", "sql", "--dialect", "mysql").exit_code == 2
