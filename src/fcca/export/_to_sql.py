"""Convert a tree to SQL, in the dialects of several databases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.export._distilled_tree import DistilledTree, as_distilled
from fcca.export._sql_options import ADDITIONS, DIALECTS, FORMS
from fcca.tables import Columns

if TYPE_CHECKING:
    from fcca.export._sql_dialects import Dialect, Expression
    from fcca.export._sql_statement import Writer

MOST_PARTS = 3  # project, schema and table
RENAME = "Rename the column in the table before fitting."
OTHER_PREFIX = "Give another prefix, or numbered=True."


def to_sql(
    classifier: Any,
    table: str | Sequence[str] | None = None,
    dialect: str = "duckdb",
    form: str = "select",
    *,
    add: str | Sequence[str] = ("prediction",),
    prefix: str = "",
    numbered: bool = False,
) -> str:
    """Convert the tree to SQL: a query or an expression.

    The SQL returns the same predictions as the classifier, even for values equal to a threshold, or one floating-point step
    above or below it. Numbers are compared as 64-bit floats, and strings character by character, independent of the
    collation. NULL and NaN are missing values. Requires sqlglot: ``pip install "fcca[sql]"``.

    If the classifier raises an error for a row, the result for this row is NULL. The reason is an infinite number in a
    column that the tree tests, or in SQLite, a string in a numeric column. An unknown category is in no set of categories.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        A fitted classifier, or a tree that was read from a file.
    table : str or sequence of str, optional
        The table that the query reads, by default ``"data"``. A string is one name, including any dots. Give the parts of a
        name with a schema separately: ``("public", "loans")``. In the form ``"case"``, the table name is written before the
        column names. With None, the column names stand alone.
    dialect : {"duckdb", "postgres", "sqlite", "bigquery", "snowflake", "tsql", "spark"}
        The database.
    form : {"select", "case"}
        A whole query, or only the expression, for a view or another query.
    add : str or sequence of str
        Columns that the query adds to the table: ``"prediction"``; ``"leaf"``, the index of the leaf;
        ``"probabilities"``, one column per class; ``"bins"``, one binary column per condition that the tree could choose
        from. The form ``"case"`` accepts only one of the first two.
    prefix : str
        Prefix of the names of added columns.
    numbered : bool
        If True, the columns of bins and probabilities have numbered names, such as ``bin_0`` and ``probability_0``. If
        False, they are named after conditions and classes, such as ``RM > 6.94`` and ``probability_yes``. In BigQuery, bins
        always have numbered names, because names cannot contain a point.

    Returns
    -------
    str

    Raises
    ------
    InvalidInputError
        If options contradict each other, or if the database cannot store or distinguish some names or categories.
    UnsupportedModelError
        If the library sqlglot is not installed.

    Examples
    --------
    >>> import sqlite3
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
    >>> from fcca.export import to_sql
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier(FCCADiscretizer(Q=0.9), OptimalTreeClassifier(max_depth=1)).fit(X, y)
    >>> print(to_sql(classifier, form="case"), end="")
    CASE
      WHEN ABS(NULLIF(CAST("worst area" AS DOUBLE), CAST('nan' AS DOUBLE))) = CAST('inf' AS DOUBLE)
      THEN NULL
      WHEN NULLIF(CAST("worst area" AS DOUBLE), CAST('nan' AS DOUBLE)) > 950e0
      THEN 0
      ELSE 1
    END
    >>> database = sqlite3.connect(":memory:")
    >>> _ = X.to_sql("tumours", database, index=False)
    >>> rows = database.execute(to_sql(classifier, "tumours", "sqlite")).fetchall()
    >>> [row[-1] for row in rows] == classifier.predict(X).tolist()
    True
    """
    tree = as_distilled(classifier)
    additions = _checked_additions(add, form, prefix, numbered)
    database = checked_dialect(dialect)
    from fcca.export._sql_statement import Writer, laid_out

    parts = checked_table(table, database)
    writer = Writer(tree, database, parts[-1] if parts else "data" if form == "select" else None)
    if form == "case":
        check_columns(tree.columns, tree.asked, database)
        return laid_out(writer.prediction() if additions == ["prediction"] else writer.leaf(), database)
    parts = parts or ["data"]
    refusal = writer.refusal_of_bins() if "bins" in additions else None
    refused = None if refusal is None else _source_of_refusals(parts[-1], database)
    added = [
        (f"{prefix}{name}", value)
        for one in additions
        for name, value in _added(one, writer, refused, numbered=numbered or (one == "bins" and database.numbers_bins))
    ]
    check_columns(tree.columns, _asked(tree, additions), database)
    check_added(tree.columns, [name for name, _ in added], database)
    query = query_of(parts, added)
    if refused is not None:
        query.append("joins", database.beside(refusal, refused))
    return laid_out(query, database)


def checked_dialect(dialect: str) -> Dialect:
    """Return the dialect with a name, after a check that sqlglot is installed."""
    if dialect not in DIALECTS:
        raise InvalidInputError(f"The dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}.")
    try:
        import_module("sqlglot")
        from fcca.export._sql_dialects import DIALECT_BY_NAME
    except ImportError as error:
        raise UnsupportedModelError(
            "The library sqlglot is required to write SQL, but it is not installed. Install it: pip install 'fcca[sql]'."
        ) from error
    return DIALECT_BY_NAME[dialect]


def _checked_additions(add: str | Sequence[str], form: str, prefix: str, numbered: bool) -> list[str]:
    if form not in FORMS:
        raise InvalidInputError(f"The form must be one of {', '.join(FORMS)}, got {form!r}.")
    given = [add] if isinstance(add, str) else list(add) if isinstance(add, Iterable) else []
    if not given or not all(isinstance(one, str) and one in ADDITIONS for one in given):
        raise InvalidInputError(f"add must be one or more of {', '.join(ADDITIONS)}, got {add!r}.")
    additions = list(dict.fromkeys(given))
    if not isinstance(prefix, str):
        raise InvalidInputError(f"The prefix must be a string, such as 'p_', or '' for none, got {prefix!r}.")
    if form == "case":
        if additions not in (["prediction"], ["leaf"]):
            raise InvalidInputError(
                f"The form 'case' can add only the prediction or only the leaf, got {' and '.join(additions)}. Use the form "
                "'select' for the others."
            )
        if prefix or numbered:
            raise InvalidInputError(
                "The form 'case' adds no named columns. Leave out prefix and numbered, or use the form 'select'."
            )
    return additions


def checked_table(table: str | Sequence[str] | None, dialect: Dialect) -> list[str]:
    """Return the parts of the name of a table; an empty list for None."""
    if table is None:
        return []
    parts = [table] if isinstance(table, str) else list(table) if isinstance(table, Iterable) else []
    if not 1 <= len(parts) <= MOST_PARTS or not all(isinstance(part, str) for part in parts):
        raise InvalidInputError(
            f"table must be a name, or up to {MOST_PARTS} parts of a name such as ('public', 'loans'), got {table!r}."
        )
    return [dialect.check_name(part, "The table", "Give another name.", is_column=False) for part in parts]


def _asked(tree: DistilledTree, additions: Sequence[str]) -> list[int]:
    """Return the positions of the columns of the table that the query tests."""
    from fcca.export._sql_statement import kept_conditions

    bins = {one.column for one in kept_conditions(tree)} if "bins" in additions else set()
    return sorted(bins.union(tree.asked if set(additions) != {"bins"} else ()))


def check_columns(columns: Columns, asked: Sequence[int], dialect: Dialect) -> None:
    """Check that the database allows and distinguishes the names of the columns at the positions ``asked``."""
    known: dict[str, str] = {}
    for j in asked:
        name = dialect.check_name(columns.names[j], "The column", RENAME)
        other = known.setdefault(dialect.same_name(name), name)
        if other != name:
            raise InvalidInputError(
                f"The names of the columns {other!r} and {name!r} are the same in {dialect.name}. {RENAME}"
            )


def check_added(columns: Columns, names: Sequence[str], dialect: Dialect, advice: str = OTHER_PREFIX) -> None:
    """Check the names of added columns."""
    there = {dialect.same_name(name): name for name in columns.names}
    known: dict[str, str] = {}
    for name in names:
        same = dialect.same_name(dialect.check_name(name, "The added column", advice))
        if same in there:
            raise InvalidInputError(
                f"The query adds a column {name!r}, but the table already has a column {there[same]!r}. {advice}"
            )
        if same in known:
            raise InvalidInputError(
                f"The names of the added columns {known[same]!r} and {name!r} are the same in {dialect.name}. {advice}"
            )
        known[same] = name


def _source_of_refusals(table: str, dialect: Dialect) -> str:
    """Return an alias for the joined source that marks rows with a refused value.

    The alias differs from the name of the table.
    """
    name = "refused"
    while dialect.same_name(name) == dialect.same_name(table):
        name += "_"
    return name


def _added(what: str, writer: Writer, refused: str | None, *, numbered: bool) -> Iterator[tuple[str, Expression]]:
    """Yield the names and SQL expressions of the columns for one entry of ``add``.

    Parameters
    ----------
    what : {"prediction", "leaf", "probabilities", "bins"}
    writer : Writer
    refused : str or None
        Alias of the joined source that marks rows with a refused value.
    numbered : bool
        If True, bins and probabilities have numbered names, such as ``bin_0`` and ``probability_0``.
    """
    if what == "prediction":
        yield what, writer.prediction()
    elif what == "leaf":
        yield what, writer.leaf()
    elif what == "probabilities":
        for at, label in enumerate(writer.tree.classes):
            yield f"probability_{at if numbered else label}", writer.probability(at)
    else:
        for at, (words, value) in enumerate(writer.bins(refused)):
            yield f"bin_{at}" if numbered else words, value


def query_of(parts: Sequence[str], added: Sequence[tuple[str, Expression]]) -> Expression:
    """Return the query that adds columns to a table."""
    from sqlglot import exp

    everything = exp.column(exp.Star(), table=parts[-1], quoted=True)
    aliases = [exp.alias_(value, name, quoted=True, copy=False) for name, value in added]
    name, schema, project = (*reversed(parts), None, None)[:MOST_PARTS]
    source = exp.table_(name, db=schema, catalog=project, quoted=True)
    return exp.select(everything, *aliases, copy=False).from_(source, copy=False)
