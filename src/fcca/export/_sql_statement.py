"""Convert a tree and its conditions to SQL expressions. Requires sqlglot.

The tree becomes one expression with a branch per leaf: ``CASE WHEN … THEN … WHEN … THEN … ELSE … END``. The leaves to the
right of a node, where its condition holds, come first. Rows of earlier branches never reach a later one. So a branch tests
only the conditions that hold on the path to its leaf, and needs no ``NOT``. A comparison with a missing value is NULL, which
``CASE`` treats as false. This agrees with the tree, in which such a condition does not hold.

A refused value is a value for which the classifier raises an error: an infinite number. The SQL returns NULL for rows with
a refused value. An unknown category is in no set of categories, so no condition holds for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from fcca.conditions import KINDS, condition_in_words
from fcca.exceptions import InvalidInputError
from fcca.export._distilled_tree import Condition, DistilledTree, conditions_in
from fcca.export._sql_dialects import Dialect, Expression
from fcca.tables import Columns

WHOLE = 2**53  # above this, not every whole number is a 64-bit float
LARGEST_INTEGER = 2**63 - 1
SENTINEL = "__SQLGLOT__"  # prefix of sqlglot's placeholders

When = tuple[Expression, Expression]  # a test, and the value if it holds


@dataclass(frozen=True)
class Writer:
    """Builds the SQL expressions of a tree in one dialect.

    Attributes
    ----------
    tree : DistilledTree
    dialect : Dialect
    table : str or None
        Name of the table, written before the column names. None for column names alone.
    """

    tree: DistilledTree
    dialect: Dialect
    table: str | None

    # --- predictions ---------------------------------------------------------------------------------------------------

    def prediction(self) -> Expression:
        """Return the SQL expression for the predicted class of a row."""
        write = writer_of_classes(self.tree.classes, self.dialect)
        return self._by_leaf(lambda leaf: write(self.tree.class_of(leaf)))

    def leaf(self) -> Expression:
        """Return the SQL expression for the index of a row's leaf among the nodes."""
        return self._by_leaf(exp.Literal.number)

    def probability(self, label: int) -> Expression:
        """Return the SQL expression for the predicted probability of a class.

        ``label`` is the position of the class in ``tree.classes``.
        """
        share = self.tree.structure.probability
        return self._by_leaf(lambda leaf: self.dialect.double_value(float(share[leaf, label])))

    def bins(self, refused: str | None = None) -> list[tuple[str, Expression]]:
        """Return the names and SQL expressions of the binary columns (bins).

        Parameters
        ----------
        refused : str or None
            Alias of the joined source whose column ``value`` is the expression :meth:`refusal_of_bins`. None if no value
            can be refused.
        """
        kept, table, columns = kept_conditions(self.tree), self.tree.thresholds, self.tree.columns.names
        if table is None:
            names = [condition_in_words(columns[c.column], c.kind, c.threshold, self.tree.labels_of(c)) for c in kept]
        else:
            names = table.names()
        return [(name, self._bin(one, refused)) for name, one in zip(names, kept, strict=True)]

    def _bin(self, condition: Condition, refused: str | None) -> Expression:
        whens: list[When] = [(self.conditions.holds(condition), exp.Literal.number(1))]
        if refused is not None:
            whens.insert(0, (exp.column("value", table=refused, quoted=True).eq(1), exp.null()))
        return case(whens, exp.Literal.number(0))

    def refusal_of_bins(self) -> Expression | None:
        """Return the SQL expression that marks rows with a refused value.

        The expression is 1 for these rows, and 0 for others. If no value can be refused, None is returned.

        All bins of a row with a refused value are NULL. The query evaluates this expression once per row. Repeating it in
        every bin would make the query grow with the square of the number of columns.
        """
        asked = sorted({one.column for one in kept_conditions(self.tree)})
        refusals = self._refusals(asked, exp.Literal.number(1))
        return case(refusals, exp.Literal.number(0)) if refusals else None

    def _by_leaf(self, write: Callable[[int], Expression]) -> Expression:
        """Return the SQL expression for a value that depends on the row's leaf.

        ``write`` returns the value of a leaf as SQL. Rows with a refused value get NULL.
        """
        *first, (_, last) = _leaves(self.tree)
        whens = [(exp.and_(*map(self.conditions.holds, conditions)), write(leaf)) for conditions, leaf in first]
        return case([*self._refusals(self.tree.asked, exp.null()), *whens], write(last))

    def _refusals(self, asked: Iterable[int], value: Expression) -> list[When]:
        """Return the CASE branches for refused values, one per column.

        A single branch for hundreds of columns would exceed SQLite's limit on the depth of an expression.

        Parameters
        ----------
        asked : iterable of int
            Positions of the columns to test.
        value : Expression
            The result for rows with a refused value.
        """
        tests = (list(self.conditions.refused(j)) for j in asked)
        return [(exp.or_(*found), value.copy()) for found in tests if found]

    @property
    def conditions(self) -> ConditionWriter:
        """The writer of single conditions."""
        return ConditionWriter(self.tree.columns, self.dialect, self.table)


@dataclass(frozen=True)
class ConditionWriter:
    """Builds the SQL tests of single conditions in one dialect.

    Attributes
    ----------
    columns : Columns
        The columns of the table.
    dialect : Dialect
    table : str or None
        Name of the table, written before the column names. None for column names alone.
    """

    columns: Columns
    dialect: Dialect
    table: str | None

    def column(self, j: int) -> Expression:
        """Return the SQL expression for the column at position ``j``: its quoted name."""
        return exp.column(self.columns.names[j], table=self.table, quoted=True)

    def holds(self, condition: Condition) -> Expression:
        """Return the SQL test for a condition.

        For a missing value, the test is NULL, unless the condition is "is missing".
        """
        j = condition.column
        if condition.kind == "set":
            return self._is_one_of(j, [self.columns.label(j, code) for code in condition.codes])
        number = self._number(j)
        if condition.kind == "cut":
            return number > self.dialect.double_value(condition.threshold)
        if condition.kind == "special":
            return exp.EQ(this=number, expression=self.dialect.double_value(condition.threshold))
        is_number = self.columns[j].categories is None or self._kind(j) == "number"
        return (number if is_number else self.column(j)).is_(exp.null())

    def _number(self, j: int) -> Expression:
        """Return the SQL expression for a column as a 64-bit float. NaN becomes NULL."""
        return self.dialect.number(self.column(j))

    def _kind(self, j: int) -> str:
        name, categories = self.columns.names[j], self.columns[j].categories or ()
        return _kind_of(categories, f"The categories of column {name!r}")

    def _is_one_of(self, j: int, labels: Sequence[Any]) -> Expression:
        """Return the SQL test that a column has one of these categories."""
        dialect, kind = self.dialect, self._kind(j)
        what = f"The category of column {self.columns.names[j]!r}"
        if kind == "text":
            value = dialect.text(self.column(j))
            written = [dialect.compared_text(_checked_text(label, what)) for label in labels]
        elif kind == "boolean":
            value = dialect.truth(self.column(j))
            written = [dialect.truth_value(label) for label in labels]
        else:
            value = dialect.category_number(self.column(j))
            written = [dialect.double_value(_checked_number(label, what)) for label in labels]
        # Not value.eq(…), which would put a collation into parentheses.
        return exp.EQ(this=value, expression=written[0]) if len(written) == 1 else value.isin(*written)

    def refused(self, j: int) -> Iterator[Expression]:
        """Yield SQL tests that are true if the value of column ``j`` is refused.

        No test is true for a missing value, or for a value in a column of categories.
        """
        if self.columns[j].categories is None:
            yield from self.dialect.refused(self.column(j))


# --- the tree ------------------------------------------------------------------------------------------------------------


def _leaves(tree: DistilledTree) -> list[tuple[list[Condition], int]]:
    """Return the leaves from right to left, each with its conditions.

    The conditions are those that hold on the path to the leaf. Conditions that another one implies are left out.
    """
    nodes = tree.structure
    found, pending = [], [(0, ())]  # type: tuple[list[tuple[list[Condition], int]], list[tuple[int, tuple[int, ...]]]]
    while pending:
        node, path = pending.pop()
        if nodes.feature[node] < 0:
            found.append((_without_implied([test for one in path if (test := tree.tests[one]) is not None]), node))
        else:
            pending += [(int(nodes.left[node]), path), (int(nodes.right[node]), (*path, node))]
    return found


def _without_implied(conditions: list[Condition]) -> list[Condition]:
    """Remove conditions ``x > a`` if there is also a condition ``x > b`` with ``b > a``."""
    highest: dict[int, float] = {}
    for one in conditions:
        if one.kind == "cut":
            highest[one.column] = max(one.threshold, highest.get(one.column, one.threshold))
    kept = (one for one in conditions if one.kind != "cut" or one.threshold == highest[one.column])
    return list(dict.fromkeys(kept))


def kept_conditions(tree: DistilledTree) -> list[Condition]:
    """Return all conditions that the tree could choose from.

    For a tree from a version 1 document, only the conditions that the tree tests are known.
    """
    if tree.thresholds is not None:
        return conditions_in(tree.thresholds)
    tested = {test for test in tree.tests if test is not None}
    return sorted(tested, key=lambda one: (one.column, KINDS.index(one.kind), one.threshold, one.codes))


# --- values --------------------------------------------------------------------------------------------------------------


def writer_of_classes(classes: Sequence[Any], dialect: Dialect) -> Callable[[Any], Expression]:
    """Return a function that converts a class to a SQL constant."""
    kind = _kind_of(classes, "The classes")
    if kind == "text":
        return lambda label: dialect.text_value(_checked_text(label, "The class"))
    if kind == "boolean":
        return dialect.boolean_value
    if all(isinstance(label, int) for label in classes):
        if max(map(abs, classes)) > LARGEST_INTEGER:
            raise InvalidInputError(
                f"The classes {list(classes)} contain a number of more than 64 bits. Use smaller numbers, or "
                "convert the classes to strings before fitting."
            )
        return exp.Literal.number
    return lambda label: dialect.double_value(float(label))


def _kind_of(labels: Sequence[Any], what: str) -> str:
    kinds = {"text" if isinstance(label, str) else "boolean" if isinstance(label, bool) else "number" for label in labels}
    if len(kinds) > 1:
        raise InvalidInputError(
            f"{what} have several types, {' and '.join(sorted(kinds))}: {list(labels)[:10]}. A database column has one "
            "type. Convert them to strings before fitting, for example with astype(str)."
        )
    return kinds.pop()


def _checked_text(text: str, what: str) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInputError(f"{what}, {text[:80]!r}, has a character that a database cannot store. Rename it.")
    return text


def _checked_number(label: float, what: str) -> float:
    if abs(label) >= WHOLE:
        raise InvalidInputError(
            f"{what}, {label}, is a number too large to compare exactly in a database. Convert such categories to "
            "strings before fitting."
        )
    return float(label)


def case(whens: Sequence[When], otherwise: Expression) -> Expression:
    """Return a CASE expression: the value of the first test that holds, or ``otherwise``."""
    if not whens:
        return otherwise
    return exp.Case(ifs=[exp.If(this=test, true=value) for test, value in whens], default=otherwise)


def laid_out(expression: Expression, dialect: Dialect) -> str:
    """Convert an expression to SQL text, indented if that is safe.

    To indent, sqlglot replaces line breaks in strings with placeholders, but some versions do not do so in names.
    Indentation could then change a name or a string, so the SQL is written in one line instead.
    """
    names = {str(one.this) for one in expression.find_all(exp.Identifier)}
    texts = {str(one.this) for one in expression.find_all(exp.Literal, exp.National)}
    is_safe = not any(SENTINEL in one for one in names | texts) and not any("\n" in name for name in names)
    text: str = expression.sql(dialect=dialect.name, pretty=is_safe)
    return f"{text}\n"
