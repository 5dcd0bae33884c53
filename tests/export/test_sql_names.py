"""Names and texts of SQL: quoted, whatever is in them, or refused."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from export.sql_trees import check_small, small_tree
from fcca.exceptions import InvalidInputError
from fcca.export import DIALECTS, to_sql
from real_data import imported

HOSTILE = [
    '"""',
    "'''",
    "x\n; SELECT 1",
    "'; DROP TABLE canary; --",
    '"; DROP TABLE canary; --',
    "]; DROP TABLE canary; --",
    "`; DROP TABLE canary; --",
    "\\'; DROP TABLE canary; --",
    "a\\",
    "é 🚀 \u202e SELECT",
    "${env:HOME} $(x) %s {0} ? :x @y",
    "/* \r\t\x01 */",
    "a\\\nGO\n",
    "__SQLGLOT__LB__",
]


def hostile_tree(name, *, names=True):
    given = {"number": name, "category": f"{name} {name}"} if names else {}
    return small_tree(labels=[name, "other", f"{name}."], classes=[name, f"{name}'"], **given)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(engine, name):
    before = engine.tables()
    tree = hostile_tree(name)
    check_small(engine, tree, [None, name, "other", f"{name}.", f"{name} "], pa.string(), name)
    ends = engine.name == "postgres"  # after 63 bytes of a name
    found = engine.answers(to_sql(tree, name, engine.name, add=("probabilities", "bins"), prefix=name, numbered=ends))
    assert all(column.startswith(name) for column in found)
    assert len(found) == 2 + 3
    expression = to_sql(tree, dialect=engine.name, form="case", add="leaf")
    _, rows = engine.run(f'SELECT {expression} FROM "{name.replace(chr(34), chr(34) * 2)}"')
    assert {row[0] for row in rows} == {None, 2, 3, 5, 6}
    assert engine.tables() - before == {name}
    engine.change(f'DROP TABLE "{name.replace(chr(34), chr(34) * 2)}"')
    assert engine.canary_lives()


CONSTANTS = {"nan", "inf", "integer", "real", "null", "text", "utf8", "", ".", "1.5", "0.25", "0.75"}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_quoted(dialect, name):
    sqlglot = imported("sqlglot")
    from export.sql_reading import Statement

    refused = {
        "bigquery": not re.fullmatch(r"[^!\"$()*,./;?@\[\\\]^`{}~\x00-\x1f]+", name),
        "spark": "${" in name,
        "tsql": "\nGO\n" in name,
    }.get(dialect, False)
    if refused:
        with pytest.raises(InvalidInputError, match=f"cannot have this name in {dialect}"):
            to_sql(hostile_tree(name), name, dialect)
    tree = hostile_tree(name, names=not refused)
    table = "data" if refused else name
    text = to_sql(tree, table, dialect, add=("prediction", "leaf"))
    named = {table, *tree.columns.names[:2], "prediction", "leaf"}
    asked = {label for test in tree.tests if test is not None for label in tree.labels_of(test)}
    texts = {*tree.classes, *(f"{label}." if dialect == "tsql" else label for label in asked)}
    assert dialect != "spark" or "${" not in text  # variables of Spark are replaced wherever they stand
    assert dialect != "tsql" or not re.search(r"\\\n|^GO$", text, re.MULTILINE)  # lines that go on, and ends of batches
    read = Statement(text, dialect)
    assert read.names - {"C"} == named
    assert texts <= read.texts
    assert read.texts - texts <= CONSTANTS
    statements = sqlglot.parse(text, read=dialect)
    assert len(statements) == 1
    assert isinstance(statements[0], sqlglot.exp.Select)
    found = {one.name for one in statements[0].find_all(sqlglot.exp.Identifier) if one.quoted}
    assert found - {"C"} == named
    bins = Statement(to_sql(tree, table, dialect, add="bins", numbered=True), dialect)
    refusals = set() if dialect == "tsql" else {"refused", "value"}  # numbers of T-SQL are never infinite
    assert bins.names - {"C"} == {table, *tree.columns.names[:2], "bin_0", "bin_1", "bin_2", *refusals}
    assert bins.texts <= texts | CONSTANTS
    if not (dialect == "tsql" and re.search("[\r\n]", name)) and not (dialect == "spark" and "${" in name):
        strings = {one.name for one in statements[0].find_all(sqlglot.exp.Literal, sqlglot.exp.National)}
        assert texts <= strings


@pytest.mark.parametrize("table", ["refused", "REFUSED", "refused_", "value"])
def test_the_source_of_refusals_never_clashes_with_the_table(engine, table):
    """The table, its columns and what is added may be called like the source of refusals and its column."""
    tree = small_tree(number="value", category="refused")
    check_small(engine, tree, [None, "car", "tv", "boat"], pa.string(), table)
    plain = engine.answers(to_sql(tree, table, engine.name))["prediction"]
    found = engine.answers(to_sql(tree, table, engine.name, add=("bins", "prediction"), numbered=True))
    assert found.pop("prediction") == plain
    for values in found.values():
        assert [value is None for value in values] == [answer is None for answer in plain]
    engine.change(f'DROP TABLE "{table}"')


def test_table_columns_with_names_of_added_ones_change_nothing(engine):
    tree = small_tree()
    engine.change('CREATE TABLE again (x REAL, c VARCHAR(9), "refused" INT, "value" INT, "bin_0" INT, "row number" INT)')
    for at, c in enumerate(["car", "boat"]):
        engine.change(f"INSERT INTO again VALUES (2, '{c}', {1 - at}, {1 - at}, {1 - at}, {at})")
    names, rows = engine.run(to_sql(tree, "again", engine.name, add="bins", numbered=True))
    assert names[:6] == ["x", "c", "refused", "value", "bin_0", "row number"]
    assert sorted(row[5:] for row in rows) == [(0, 1, 0, 1), (1, 1, 0, 0)]
    engine.change("DROP TABLE again")


def test_the_reader_notices_unquoted_text():
    from export.sql_reading import Statement

    for text in ("SELECT 'a' ; DROP TABLE x", "SELECT 'a''' b", "SELECT 1 -- x", 'SELECT "a', "SELECT 'it's'"):
        with pytest.raises((AssertionError, IndexError)):
            Statement(text, "duckdb")
    assert Statement("SELECT (N'a' + NCHAR(10) + N'b''') FROM [x]]y]", "tsql").texts == {"a\nb'"}
    assert Statement("SELECT 'a\\\\' || '\\'\\n\\001' FROM `x``y`", "spark").texts == {"a\\'\n\x01"}


def test_the_parts_of_a_table_are_separate_names(engine):
    if engine.name == "sqlite":
        engine.change("ATTACH ':memory:' AS \"a.b\"")
    else:
        engine.change('CREATE SCHEMA "a.b"')
    check_small(engine, small_tree(), [None, "car", "tv"], pa.string(), "c.d", "a.b")
    text = to_sql(small_tree(), ("a.b", "c.d"), "duckdb")
    assert text.endswith('FROM "a.b"."c.d"\n')
    assert "`p-1`.`s`.`t`" in to_sql(small_tree(), ("p-1", "s", "t"), "bigquery")
    engine.change('DROP TABLE "a.b"."c.d"')


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_that_a_database_cannot_hold_are_refused(dialect):
    for name in ("", "a\0b", "\ud800"):
        with pytest.raises(InvalidInputError, match=f"The column .* cannot have this name in {dialect}"):
            to_sql(small_tree(number=name), dialect=dialect)
        with pytest.raises(InvalidInputError, match="The table"):
            to_sql(small_tree(), name, dialect)
        if name:
            with pytest.raises(InvalidInputError, match="The added column"):
                to_sql(small_tree(), dialect=dialect, prefix=name)
            with pytest.raises(InvalidInputError, match="The class"):
                to_sql(small_tree(classes=[name, "b"]), dialect=dialect)
            with pytest.raises(InvalidInputError, match="The category of column 'c'"):
                to_sql(small_tree(labels=[name, "b"]), dialect=dialect)
    longest = {"bigquery": 300, "snowflake": 255, "tsql": 128}.get(dialect)
    to_sql(small_tree(number="n" * (longest or 1000)), dialect=dialect)
    if longest:
        with pytest.raises(InvalidInputError, match=f"more than {longest} characters"):
            to_sql(small_tree(number="n" * (longest + 1)), dialect=dialect)


def test_names_that_a_database_does_not_distinguish_are_refused():
    for dialect in DIALECTS:
        same = dialect not in ("postgres", "snowflake")
        for tree in (small_tree(number="Income", category="income"), small_tree(number="Prediction")):
            if same:
                with pytest.raises(InvalidInputError, match=r"are the same in|already"):
                    to_sql(tree, dialect=dialect)
            else:
                to_sql(tree, dialect=dialect)
    tree = small_tree(number="é" * 31 + "ax", category="é" * 31 + "ay")
    with pytest.raises(InvalidInputError, match="are the same in postgres"):
        to_sql(tree, dialect="postgres")
    to_sql(tree, dialect="duckdb")
    with pytest.raises(InvalidInputError, match="are the same in duckdb"):
        to_sql(small_tree(classes=["a", "A"]), add="probabilities")
    to_sql(small_tree(classes=["a", "A"]), add="probabilities", numbered=True)
    with pytest.raises(InvalidInputError, match="already has a column 'x_prediction'"):
        to_sql(small_tree(category="x_prediction"), prefix="x_")


def test_long_names_find_their_columns_in_postgres(engine):
    if engine.name == "postgres":
        check_small(engine, small_tree(number="n" * 70, category="c" * 70), [None, "car", "tv"], pa.string())
