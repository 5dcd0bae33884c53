"""A tree and its conditions as expressions of SQL. Needs sqlglot.

The leaves become one list, ``CASE WHEN … THEN … WHEN … THEN … ELSE … END``, those to the right of a node before those to its
left. A row that reaches an entry of the list has failed all before it, so the entry has to ask only for the conditions
that lead to the right: none is ever negated, and one that is NULL, for a missing value, counts as false, as it should.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sqlglot import exp

from fcca._conditions import KINDS, condition_in_words
from fcca.exceptions import InvalidInputError
from fcca.export._sql_dialects import Dialect, Expression, is_null, number_literal
from fcca.export._tree import DistilledTree

WHOLE = 2**53  # from here on not every whole number is a 64-bit float
LARGEST_WHOLE = 2**63 - 1
SENTINEL = "__SQLGLOT__"  # what sqlglot's marks begin with


@dataclass(frozen=True)
class Condition:
    """A test of one column.

    Attributes
    ----------
    kind : {"cut", "set", "missing"}
    column : int
    threshold : float
        Of a cut.
    labels : tuple
        Of a set.
    """

    kind: str
    column: int
    threshold: float = 0.0
    labels: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Writer:
    """Conditions and answers of a tree in a dialect.

    Attributes
    ----------
    tree : DistilledTree
    dialect : Dialect
    table : str or None
        What stands before the names of columns.
    """

    tree: DistilledTree
    dialect: Dialect
    table: str | None

    # --- answers -------------------------------------------------------------------------------------------------------

    def prediction(self) -> Expression:
        """The class of a row."""
        write = self._writer_of_classes()
        share = self.tree.structure.probability
        return self._case(lambda leaf: write(self.tree.classes[int(share[leaf].argmax())]))

    def leaf(self) -> Expression:
        """The number of a row's leaf."""
        return self._case(lambda leaf: number_literal(str(leaf)))

    def probability(self, label: int) -> Expression:
        """The share of a class in the training weight of a row's leaf."""
        share = self.tree.structure.probability
        return self._case(lambda leaf: self.dialect.double_value(float(share[leaf, label])))

    def bins(self) -> list[tuple[str, Expression]]:
        """The 0/1 columns of the conditions that the tree was grown on, with the conditions in words."""
        conditions = kept_conditions(self.tree)
        asked = sorted({one.column for one in conditions})
        names = self.tree.columns.names
        return [
            (
                condition_in_words(names[one.column], one.kind, one.threshold, one.labels),
                self._or_null(asked, [(self.holds(one), number_literal("1"))], number_literal("0")),
            )
            for one in conditions
        ]

    def _case(self, answer: Callable[[int], Expression]) -> Expression:
        *first, (_, last) = _leaves(self.tree)
        whens = [(reduce(_and, map(self.holds, conditions)), answer(leaf)) for conditions, leaf in first]
        return self._or_null(self.tree.asked, whens, answer(last))

    def _or_null(
        self, asked: Iterable[int], whens: list[tuple[Expression, Expression]], otherwise: Expression
    ) -> Expression:
        """One of several answers, or NULL where a value is one that the classifier refuses."""
        refused = [test for j in asked for test in self._refused(j)]
        if refused:
            whens = [(reduce(_or, refused), exp.Null()), *whens]
        if not whens:
            return otherwise
        return exp.Case(ifs=[exp.If(this=test, true=answer) for test, answer in whens], default=otherwise)

    def _writer_of_classes(self) -> Callable[[Any], Expression]:
        kind = _kind_of(self.tree.classes, "The classes")
        if kind == "text":
            return lambda label: self.dialect.text_value(_checked_text(label, "The class"))
        if kind == "boolean":
            return lambda label: self.dialect.boolean_value(label)
        if all(isinstance(label, int) for label in self.tree.classes):
            if max(map(abs, self.tree.classes)) > LARGEST_WHOLE:  # type: ignore[arg-type]
                raise InvalidInputError(f"The classes {list(self.tree.classes)} have a number of more than 64 bits.")
            return lambda label: exp.Neg(this=number_literal(str(-label))) if label < 0 else number_literal(str(label))
        return lambda label: self.dialect.double_value(float(label))

    # --- conditions ----------------------------------------------------------------------------------------------------

    def column(self, j: int) -> Expression:
        """A column by its quoted name."""
        name, table = self.tree.columns.names[j], self.table
        before = None if table is None else exp.to_identifier(table, quoted=True)
        return exp.Column(this=exp.to_identifier(name, quoted=True), table=before)

    def holds(self, condition: Condition) -> Expression:
        """True where a condition holds; false, or NULL for a missing value, where it does not."""
        j = condition.column
        if condition.kind == "set":
            return self._is_one_of(j, condition.labels)
        number = self._number(j)
        if condition.kind == "cut":
            return exp.GT(this=number, expression=self.dialect.double_value(condition.threshold))
        is_text = self.tree.columns[j].categories is not None and self._kind(j) != "number"
        return is_null(self.column(j) if is_text else number)

    def _number(self, j: int) -> Expression:
        """A number, NULL where it is missing. Where missing values are refused, none is left to be looked for."""
        if self.tree.takes_missing:
            return self.dialect.number(self.column(j))
        return self.dialect.double(self.column(j))

    def _kind(self, j: int) -> str:
        name, categories = self.tree.columns.names[j], self.tree.columns[j].categories or ()
        return _kind_of(categories, f"The categories of column {name!r}")

    def _is_one_of(self, j: int, labels: Sequence[Any]) -> Expression:
        """Whether a category is one of some."""
        dialect, kind = self.dialect, self._kind(j)
        what = f"The category of column {self.tree.columns.names[j]!r}"
        if kind == "text":
            value = dialect.text(self.column(j))
            written = [dialect.compared_text(_checked_text(label, what)) for label in labels]
        elif kind == "boolean":
            value = dialect.truth(self.column(j))
            written = [dialect.truth_value(label) for label in labels]
        else:
            value = self._number(j)
            written = [dialect.double_value(_checked_number(label, what)) for label in labels]
        if len(written) == 1:
            return exp.EQ(this=value, expression=written[0])
        return exp.In(this=value, expressions=written)

    def _refused(self, j: int) -> Iterator[Expression]:
        """What holds of a value that the classifier refuses. The one that is NULL, for a missing value, lets it pass."""
        categories, may_be_missing = self.tree.columns[j].categories, self.tree.takes_missing
        if categories is not None and self._kind(j) == "text":
            yield from self.dialect.no_text(self.column(j), may_be_missing=may_be_missing)
        elif categories is not None and self._kind(j) == "boolean":
            if not may_be_missing:
                yield is_null(self.column(j))
        else:
            yield from self.dialect.no_number(self.column(j), may_be_missing=may_be_missing)
        if categories is not None:
            yield exp.Not(this=self._is_one_of(j, categories))


# --- the tree ------------------------------------------------------------------------------------------------------------


def _leaves(tree: DistilledTree) -> list[tuple[list[Condition], int]]:
    """The leaves from right to left, each with the conditions that hold on the way to it."""
    nodes = tree.structure
    found, pending = [], [(0, ())]  # type: tuple[list[tuple[list[Condition], int]], list[tuple[int, tuple[int, ...]]]]
    while pending:
        node, path = pending.pop()
        if nodes.feature[node] < 0:
            found.append((_without_implied([_condition_at(tree, one) for one in path]), node))
        else:
            pending += [(int(nodes.left[node]), path), (int(nodes.right[node]), (*path, node))]
    return found


def _condition_at(tree: DistilledTree, node: int) -> Condition:
    nodes, j = tree.structure, int(tree.structure.feature[node])
    codes = nodes.categories.get(node)
    if node in nodes.asks_missing:
        return Condition("missing", j)
    if codes is not None:
        return Condition("set", j, labels=tuple(tree.columns.label(j, code) for code in codes))
    return Condition("cut", j, float(nodes.threshold[node]))


def _without_implied(conditions: list[Condition]) -> list[Condition]:
    """Of several cuts of a column the highest, which says all that the others say."""
    highest: dict[int, float] = {}
    for one in conditions:
        if one.kind == "cut":
            highest[one.column] = max(one.threshold, highest.get(one.column, one.threshold))
    kept = (one for one in conditions if one.kind != "cut" or one.threshold == highest[one.column])
    return list(dict.fromkeys(kept))


def kept_conditions(tree: DistilledTree) -> list[Condition]:
    """All conditions that the tree was grown on; those that it tests where it has kept no others."""
    table = tree.thresholds
    if table is None:
        inner = (node for node, j in enumerate(tree.structure.feature) if j >= 0)
        tested = {_condition_at(tree, node) for node in inner}

        def rank(one: Condition) -> tuple[Any, ...]:
            categories = tree.columns[one.column].categories or ()
            codes = tuple(code for code, label in enumerate(categories) if label in one.labels)
            return one.column, KINDS.index(one.kind), one.threshold, codes

        return sorted(tested, key=rank)
    entries = zip(table.kind.tolist(), table.feature.tolist(), table.threshold.tolist(), table.labels, strict=True)
    return [Condition(kind, j, t if kind == "cut" else 0.0, labels or ()) for kind, j, t, labels in entries]


# --- values --------------------------------------------------------------------------------------------------------------


def _kind_of(labels: Sequence[Any], what: str) -> str:
    kinds = {"text" if isinstance(label, str) else "boolean" if isinstance(label, bool) else "number" for label in labels}
    if len(kinds) > 1:
        raise InvalidInputError(
            f"{what} are of several types, {' and '.join(sorted(kinds))}: {list(labels)[:10]}. A column of a database has "
            "one type; turn them into texts before fitting, for example with astype(str)."
        )
    return kinds.pop()


def _checked_text(text: str, what: str) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInputError(f"{what}, {text[:80]!r}, has a character that no text of a database can hold.")
    return text


def _checked_number(label: float, what: str) -> float:
    if abs(label) >= WHOLE:
        raise InvalidInputError(
            f"{what}, {label}, is a number that a database may take for another one near it. Turn such categories into "
            "texts before fitting."
        )
    return float(label)


def _and(one: Expression, other: Expression) -> Expression:
    return exp.And(this=one, expression=other)


def _or(one: Expression, other: Expression) -> Expression:
    return exp.Or(this=one, expression=other)


def laid_out(expression: Expression, dialect: Dialect) -> str:
    """The text of an expression, on lines of their own unless that could change a name or a text.

    sqlglot has marks for the line breaks of texts while it indents lines, and not all of its versions have them for those
    of names.
    """
    names = {str(one.this) for one in expression.find_all(exp.Identifier)}
    texts = {str(one.this) for one in expression.find_all(exp.Literal, exp.National)}
    is_safe = not any(SENTINEL in one for one in names | texts) and not any("\n" in name for name in names)
    text: str = expression.sql(dialect=dialect.name, pretty=is_safe)
    return f"{text}\n"
