"""Convert a scorecard to SQL, in the dialects of several databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from fcca.exceptions import InvalidInputError
from fcca.export._distilled_tree import Condition
from fcca.export._to_sql import check_added, check_columns, checked_dialect, checked_table, query_of
from fcca.scorecard import Scorecard, ScorecardColumn, as_scorecard

if TYPE_CHECKING:
    from fcca.export._sql_dialects import Dialect, Expression
    from fcca.export._sql_statement import ConditionWriter

#: Columns that the query can add.
SCORECARD_ADDITIONS = ("score", "points", "log_odds", "probability", "prediction")


def scorecard_to_sql(
    scorecard: Any,
    table: str | Sequence[str] | None = None,
    dialect: str = "duckdb",
    *,
    add: str | Sequence[str] = ("score",),
    prefix: str = "",
) -> str:
    """Convert a scorecard to a SQL query.

    The SQL returns exactly the same scores and log-odds as the scorecard, even for values equal to a threshold. The tests
    run it on DuckDB, SQLite and PostgreSQL. NULL and NaN are missing values. If the scorecard raises an error for a row, the
    result is NULL. The reason is an infinite number, or in SQLite, a string in a numeric column. Requires sqlglot:
    ``pip install "fcca[sql]"``.

    Parameters
    ----------
    scorecard : FCCAScorecard or Scorecard
        A fitted scorecard, or one that was read from a file.
    table : str or sequence of str, optional
        The table that the query reads, by default ``"data"``. Give the parts of a name with a schema separately:
        ``("public", "loans")``.
    dialect : {"duckdb", "postgres", "sqlite", "bigquery", "snowflake", "tsql", "spark"}
        The database.
    add : str or sequence of str
        Columns that the query adds to the table: ``"score"``; ``"points"``, one column per column of the scorecard, such
        as ``points_income``; ``"log_odds"`` and ``"probability"`` of the second class; ``"prediction"``.
    prefix : str
        Prefix of the names of added columns.

    Returns
    -------
    str

    Examples
    --------
    >>> import sqlite3
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAScorecard
    >>> from fcca.export import scorecard_to_sql
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> scorecard = FCCAScorecard(n_thresholds=3).fit(X, y)
    >>> database = sqlite3.connect(":memory:")
    >>> _ = X.to_sql("tumours", database, index=False)
    >>> rows = database.execute(scorecard_to_sql(scorecard, "tumours", "sqlite")).fetchall()
    >>> [row[-1] for row in rows] == scorecard.score_points(X).tolist()
    True
    """
    card = as_scorecard(scorecard)
    given = [add] if isinstance(add, str) else list(add) if isinstance(add, Iterable) else []
    if not given or not all(isinstance(one, str) and one in SCORECARD_ADDITIONS for one in given):
        raise InvalidInputError(f"add must be one or more of {', '.join(SCORECARD_ADDITIONS)}, got {add!r}.")
    if not isinstance(prefix, str):
        raise InvalidInputError(f"The prefix must be a string, such as 'p_', or '' for none, got {prefix!r}.")
    database = checked_dialect(dialect)
    from fcca.export._sql_statement import ConditionWriter, laid_out

    parts = checked_table(table, database) or ["data"]
    check_columns(card.columns, [column.feature for column in card.used], database)
    writer = ConditionWriter(card.columns, database, parts[-1])
    added = [(f"{prefix}{name}", value) for one in dict.fromkeys(given) for name, value in _added(one, card, writer)]
    check_added(card.columns, [name for name, _ in added], database, "Give another prefix.")
    return laid_out(query_of(parts, added), database)


def _added(what: str, card: Scorecard, writer: ConditionWriter) -> Iterator[tuple[str, Expression]]:
    """Yield the names and SQL expressions of the columns that one entry of ``add`` stands for."""
    from sqlglot import exp

    from fcca.export._sql_statement import case, writer_of_classes

    number = _writer_of_points(card, writer.dialect)
    if what == "score":
        values = [
            _by_bin(column, points.tolist(), writer, number) for column, points in zip(card.used, card.points, strict=True)
        ]
        yield what, _sum([number(card.base_points), *values])
    elif what == "points":
        for name, column, points in zip(card.features_used, card.used, card.points, strict=True):
            yield f"points_{name}", _by_bin(column, points.tolist(), writer, number)
    else:
        log_odds = _log_odds(card, writer)
        if what == "log_odds":
            yield what, log_odds
        elif what == "probability":
            one = writer.dialect.double_value(1.0)
            yield what, exp.Div(this=one, expression=exp.paren(one + exp.Exp(this=exp.Neg(this=exp.paren(log_odds)))))
        else:
            first, second = map(writer_of_classes(card.classes, writer.dialect), card.classes)
            zero = writer.dialect.double_value(0.0)
            yield what, case([(exp.paren(log_odds) > zero, second), (exp.paren(log_odds) <= zero, first)], exp.null())


def _writer_of_points(card: Scorecard, dialect: Dialect) -> Callable[[float], Expression]:
    """Return a function that writes points: whole numbers if they are rounded, otherwise 64-bit floats."""
    from sqlglot import exp

    if not card.round_points:
        return dialect.double_value
    return lambda points: exp.Literal.number(int(points)) if points >= 0 else exp.Neg(this=exp.Literal.number(-int(points)))


def _log_odds(card: Scorecard, writer: ConditionWriter) -> Expression:
    number = writer.dialect.double_value
    values = [_by_bin(column, column.coefficient.tolist(), writer, number) for column in card.used]
    return _sum([number(card.intercept), *values])


def _sum(values: Sequence[Expression]) -> Expression:
    """Return the sum of SQL expressions, added from left to right."""
    from sqlglot import exp

    return reduce(lambda total, value: exp.Add(this=total, expression=value), values)


def _by_bin(
    column: ScorecardColumn, values: Sequence[float], writer: ConditionWriter, number: Callable[[float], Expression]
) -> Expression:
    """Return the SQL expression for a value that depends on the bin of a column.

    A refused value gives NULL. Missing and special values come first. A cut is tested after all higher ones.
    """
    from sqlglot import exp

    from fcca.export._sql_statement import case

    j = column.feature
    whens = [(test, exp.null()) for test in writer.refused(j)]
    whens.append((writer.holds(Condition("missing", j)), number(values[column.missing])))
    for at, special in enumerate(column.special):
        whens.append((writer.holds(Condition("special", j, special)), number(values[column.n_ordinary + at])))
    if column.is_category:
        groups = zip(column.groups, values, strict=False)
        whens += [(writer.holds(Condition("set", j, codes=codes)), number(value)) for codes, value in groups]
        return case(whens, number(values[-1]))
    cuts = reversed(list(zip(column.cuts, values[1:], strict=False)))
    whens += [(writer.holds(Condition("cut", j, cut)), number(value)) for cut, value in cuts]
    return case(whens, number(values[0]))
