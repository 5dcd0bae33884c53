"""Differences between the SQL dialects. Needs sqlglot.

All functions return sqlglot expressions, whose generators quote names and strings. Operators and methods such as ``a < b``
and ``a.eq(b)`` copy their operands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar

from sqlglot import exp

from fcca.exceptions import InvalidInputError

Expression = Any  # the generic parameters of sqlglot's classes differ between versions

LARGEST_POWER = 62  # 2**62 is the largest power of two in a signed 64-bit integer
NAME_SHOWN = 80


class Dialect:
    """The default dialect: NaN equals NaN, and strings have a collation."""

    name: ClassVar[str]
    longest: ClassVar[int | None] = None  # longest name, in characters
    numbers_bins: ClassVar[bool] = False  # True if conditions cannot be column names
    collation: ClassVar[Expression] = exp.to_identifier("C", quoted=True)  # compares character by character; None: default

    # --- values of columns ---------------------------------------------------------------------------------------------

    def double(self, column: Expression) -> Expression:
        """Write a column as 64-bit floats; narrower floats are widened."""
        return exp.cast(column, "double")

    def number(self, column: Expression) -> Expression:
        """Write a column as 64-bit floats, with NULL for NaN."""
        return exp.Nullif(this=self.double(column), expression=self.special("nan"))

    def refused(self, column: Expression, kind: str, *, may_be_missing: bool) -> Iterator[Expression]:
        """Yield tests for refused values, except for unknown categories.

        A test on NULL is NULL.

        Parameters
        ----------
        column : Expression
        kind : {"number", "text", "boolean"}
            The expected type of the values.
        may_be_missing : bool
        """
        if kind != "number":
            yield from self._refused_null(column, may_be_missing)
        elif may_be_missing:
            yield exp.Abs(this=self.number(column)).eq(self.special("inf"))
        else:
            yield self.double(column).is_(exp.null())
            is_finite = exp.Abs(this=self.double(column)) < self.special("inf")
            yield exp.paren(is_finite).not_()  # NaN is not less than infinity, however the database orders it

    def _refused_null(self, column: Expression, may_be_missing: bool) -> Iterator[Expression]:
        if not may_be_missing:
            yield column.is_(exp.null())

    def text(self, column: Expression) -> Expression:
        """Write a column as strings that are compared character by character."""
        text = exp.cast(column, "text")
        return text if self.collation is None else exp.Collate(this=text, expression=self.collation.copy())

    def truth(self, column: Expression) -> Expression:
        """Write a column of booleans, comparable with :meth:`truth_value`."""
        return exp.cast(column, "text")

    # --- constants -----------------------------------------------------------------------------------------------------

    def special(self, which: str) -> Expression:
        """Write NaN or infinity."""
        return self.double(exp.Literal.string(which))

    def double_value(self, value: float) -> Expression:
        """Write the exact 64-bit float, not a decimal near it."""
        return self.double(exp.Literal.string(shortest(value).removesuffix(".0")))

    def text_value(self, text: str) -> Expression:
        """Write a string."""
        return exp.Literal.string(text)

    def compared_text(self, text: str) -> Expression:
        """Write a string, comparable with :meth:`text`."""
        return self.text_value(text)

    def truth_value(self, truth: bool) -> Expression:
        """Write true or false, comparable with :meth:`truth`."""
        return exp.Literal.string("true" if truth else "false")

    def boolean_value(self, truth: bool) -> Expression:
        """Write true or false as a prediction."""
        return exp.Boolean(this=truth)

    # --- sources -------------------------------------------------------------------------------------------------------

    def beside(self, value: Expression, name: str) -> Expression:
        """Write a join that computes a column ``value`` once per row.

        The column belongs to a separate source, so its name cannot collide with a column of the table.
        """
        source = exp.Lateral(this=self._one_row(value), alias=alias_of_source(name))
        return exp.Join(this=source, kind="CROSS")

    def _one_row(self, value: Expression) -> Expression:
        return exp.select(exp.alias_(value, "value", quoted=True)).subquery()

    # --- names ---------------------------------------------------------------------------------------------------------

    def same_name(self, name: str) -> str:
        """Return a key that is equal for names the database cannot distinguish."""
        return name

    def trouble_with(self, name: str, *, is_column: bool) -> str | None:
        """Return the reason why a name is not allowed, or None."""
        if not name:
            return "it is empty"
        if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            return "it has a character that databases cannot store"
        if self.longest is not None and len(name.encode("utf-16-le")) > 2 * self.longest:
            return f"it has more than {self.longest} characters"
        return None

    def check_name(self, name: str, what: str, advice: str, *, is_column: bool = True) -> str:
        """Check a name and return it; the error gives the reason."""
        trouble = self.trouble_with(name, is_column=is_column)
        if trouble:
            shown = repr(name) if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]!r}…"
            raise InvalidInputError(f"{what} {shown} cannot be named in {self.name}, because {trouble}. {advice}")
        return name


class DuckDB(Dialect):
    """DuckDB: 0.1 is a decimal, 0.1e0 a float; column names ignore case."""

    name = "duckdb"

    def double_value(self, value: float) -> Expression:
        return signed(value, with_exponent(value))

    def same_name(self, name: str) -> str:
        return ascii_lower(name)


class Postgres(Dialect):
    """PostgreSQL: names are truncated silently after 63 bytes."""

    name = "postgres"

    def _one_row(self, value: Expression) -> Expression:
        """Write a subquery with an offset, so that the planner does not repeat it."""
        return super()._one_row(value).this.offset(0).subquery()

    def same_name(self, name: str) -> str:
        return name.encode("utf-8", "surrogatepass")[:63].decode("utf-8", "ignore")


class Snowflake(Dialect):
    """Snowflake: numbers with a point are decimals.

    The conversion of text to float is not documented, so long numbers are written as ratios.
    """

    name = "snowflake"
    longest = 255
    collation = exp.Literal.string("utf8")

    def double_value(self, value: float) -> Expression:
        return super().double_value(value) if is_read_exactly(value) else ratio(value, self.double)


class Spark(Dialect):
    """Spark: strings are compared without a collation.

    ``${…}`` is replaced before a statement is read, also in strings and names.
    """

    name = "spark"
    collation = None

    def text_value(self, text: str) -> Expression:
        return concatenated([exp.Literal.string(chunk) for chunk in re.split(r"(?<=\$)(?=\{)", text)])

    def same_name(self, name: str) -> str:
        return name.lower()

    def trouble_with(self, name: str, *, is_column: bool) -> str | None:
        if "${" in name:
            return "${ begins a variable in Spark"
        return super().trouble_with(name, is_column=is_column)


class BigQuery(Dialect):
    """BigQuery: NaN does not equal NaN, and names allow few characters."""

    name = "bigquery"
    longest = 300
    numbers_bins = True
    collation = exp.Literal.string("")

    def number(self, column: Expression) -> Expression:
        is_nan = exp.IsNan(this=self.double(column))
        return exp.If(this=is_nan, true=exp.null(), false=self.double(column))

    def double_value(self, value: float) -> Expression:
        return signed(value, shortest(abs(value)))

    def beside(self, value: Expression, name: str) -> Expression:
        field = exp.PropertyEQ(this=exp.to_identifier("value", quoted=True), expression=value)
        row = exp.Array(expressions=[exp.Struct(expressions=[field])])
        source = exp.Unnest(expressions=[row], alias=exp.TableAlias(columns=[exp.to_identifier(name, quoted=True)]))
        return exp.Join(this=source, kind="CROSS")

    def same_name(self, name: str) -> str:
        return name.lower()

    def trouble_with(self, name: str, *, is_column: bool) -> str | None:
        never = r'[!"$()*,./;?@\[\\\]^`{}~\x00-\x1f\x7f]' if is_column else r"[\\`\x00-\x1f\x7f]"
        found = re.search(never, name)
        if found:
            return f"BigQuery does not allow {found[0]!r} there"
        return super().trouble_with(name, is_column=is_column)


class WithoutNaN(Dialect):
    """A database without NaN, and with 1 and 0 for booleans."""

    def number(self, column: Expression) -> Expression:
        return self.double(column)

    def truth(self, column: Expression) -> Expression:
        return self.double(column)

    def truth_value(self, truth: bool) -> Expression:
        return exp.Literal.number(int(truth))


class SQLite(WithoutNaN):
    """SQLite: columns hold any type, and NaN is stored as NULL.

    SQLite may read a number in a statement as the float next to it. Such numbers are written as ratios.
    """

    name = "sqlite"
    collation = exp.var("BINARY")

    def refused(self, column: Expression, kind: str, *, may_be_missing: bool) -> Iterator[Expression]:
        types = ["text"] if kind == "text" else ["integer", "real"]  # a string would be cast to 0
        yield exp.func("TYPEOF", column).isin(*types, *(["null"] if may_be_missing else [])).not_()
        if kind == "number":
            yield exp.Abs(this=self.double(column)).eq(self.special("inf"))

    def beside(self, value: Expression, name: str) -> Expression:
        """Write a join with a table function.

        Unlike a subquery, it can use the columns of the table.
        """
        row = exp.Anonymous(this="JSON_ARRAY", expressions=[value])
        function = exp.Anonymous(this="JSON_EACH", expressions=[row])
        return exp.Join(this=exp.Table(this=function, alias=alias_of_source(name)), kind="CROSS")

    def special(self, which: str) -> Expression:
        return exp.Literal.number("9e999")  # infinity in SQLite, which has no NaN

    def double_value(self, value: float) -> Expression:
        return signed(value, shortest(abs(value))) if is_read_exactly(value) else ratio(value, self.double)

    def boolean_value(self, truth: bool) -> Expression:
        return self.truth_value(truth)

    def same_name(self, name: str) -> str:
        return ascii_lower(name)


class TSQL(WithoutNaN):
    """SQL Server: no NaN, no infinity.

    Comparisons ignore trailing blanks and mostly case.
    """

    name = "tsql"
    longest = 128

    def refused(self, column: Expression, kind: str, *, may_be_missing: bool) -> Iterator[Expression]:
        return self._refused_null(column, may_be_missing)

    def text(self, column: Expression) -> Expression:
        text = exp.cast(column, "NVARCHAR(MAX)", dialect="tsql")
        # A full stop at the end makes trailing blanks count.
        ended = exp.paren(text + exp.National(this="."))
        return exp.Collate(this=ended, expression=exp.var("Latin1_General_100_BIN2"))

    def compared_text(self, text: str) -> Expression:
        return self.text_value(f"{text}.")

    def double_value(self, value: float) -> Expression:
        if is_read_exactly(value):
            return signed(value, with_exponent(value))
        return ratio(value, lambda whole: self.double(exp.cast(whole, "bigint")))

    def text_value(self, text: str) -> Expression:
        """Write a string, with its line breaks as codes.

        After a backslash, line breaks would be lost. A line GO would end the batch.
        """
        chunks = [chunk for chunk in re.split(r"([\r\n])", text) if chunk] or [""]
        return concatenated(
            [
                exp.func("NCHAR", exp.Literal.number(ord(chunk))) if chunk in "\r\n" and chunk else exp.National(this=chunk)
                for chunk in chunks
            ]
        )

    def beside(self, value: Expression, name: str) -> Expression:
        source = exp.Lateral(this=self._one_row(value), alias=alias_of_source(name), cross_apply=True)
        return exp.Join(this=source)

    def boolean_value(self, truth: bool) -> Expression:
        return exp.cast(self.truth_value(truth), "bit")

    def same_name(self, name: str) -> str:
        return name.lower()

    def trouble_with(self, name: str, *, is_column: bool) -> str | None:
        if re.search(r"^\s*GO\s*\d*\s*$", name, re.IGNORECASE | re.MULTILINE) and re.search("[\r\n]", name):
            return "a line GO ends a batch in SQL Server's tools"
        return super().trouble_with(name, is_column=is_column)


DIALECT_BY_NAME: dict[str, Dialect] = {
    one.name: one for one in (DuckDB(), Postgres(), SQLite(), BigQuery(), Snowflake(), TSQL(), Spark())
}


# --- expressions ---------------------------------------------------------------------------------------------------------


def alias_of_source(name: str) -> Expression:
    """Return the alias of a source."""
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def concatenated(chunks: list[Expression]) -> Expression:
    """Concatenate strings."""
    if len(chunks) == 1:
        return chunks[0]
    return exp.paren(reduce(lambda before, chunk: exp.DPipe(this=before, expression=chunk), chunks))


def signed(value: float, text: str) -> Expression:
    """Write a number literal with its sign."""
    literal = exp.Literal.number(text)
    return exp.Neg(this=literal) if math.copysign(1.0, value) < 0 else literal


# --- exact floats --------------------------------------------------------------------------------------------------------


def shortest(value: float) -> str:
    """Return the shortest decimal that rounds to this float."""
    return repr(float(value)).replace("e+", "e")


def with_exponent(value: float) -> str:
    """Return the absolute value as the shortest decimal with an exponent.

    Every dialect reads it as a float.
    """
    text = shortest(abs(value)).removesuffix(".0")
    return text if "e" in text else f"{text}e0"


def is_read_exactly(value: float) -> bool:
    """Return True if every parser reads this decimal as the same float.

    This covers every parser that multiplies or divides once. The digits and the power of ten must themselves be floats.
    Some processors first round to 64 bits, in long doubles. Such a result must round to the same float.
    """
    _, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    if len(digits) > 15 or not isinstance(exponent, int) or abs(exponent) > 22:
        return False
    exact = int("".join(map(str, digits))) * Fraction(10) ** exponent
    if exact == 0:
        return True
    leading = exact.numerator.bit_length() - exact.denominator.bit_length()
    unit = Fraction(2) ** (leading - 63)
    if exact / unit < 2**63:  # the quotient may have one leading bit less
        unit /= 2
    return float(round(exact / unit) * unit) == abs(value)


def ratio(value: float, as_double: Any) -> Expression:
    """Write a float as an exact ratio with powers of two."""
    fraction, exponent = math.frexp(abs(value))
    whole, exponent = int(fraction * 2**53), exponent - 53
    while whole and whole % 2 == 0:
        whole, exponent = whole // 2, exponent + 1
    found = as_double(signed(value, str(whole)))
    step = exp.Mul if exponent > 0 else exp.Div
    left = abs(exponent)
    while left > 0:
        power = min(left, LARGEST_POWER)
        found, left = step(this=found, expression=as_double(exp.Literal.number(2**power))), left - power
    return exp.paren(found)


def ascii_lower(name: str) -> str:
    """Convert only A to Z to lower case."""
    return re.sub("[A-Z]+", lambda found: found[0].lower(), name)
