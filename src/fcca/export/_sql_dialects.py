"""Differences between the SQL dialects, in one class per database. Requires sqlglot.

Most functions return sqlglot expressions. When sqlglot converts an expression to SQL text, it quotes names and strings.
Operators and methods of expressions, such as ``a < b`` and ``a.eq(b)``, copy their operands.

A refused value is a value for which the classifier raises an error, such as an infinite number.
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
    """Base class for the SQL expressions of a database.

    It assumes that NaN equals NaN, and that strings have a collation. Subclasses override the methods for which a database
    differs.
    """

    name: ClassVar[str]
    longest: ClassVar[int | None] = None  # longest name, in characters
    numbers_bins: ClassVar[bool] = False  # True if conditions cannot be column names
    collation: ClassVar[Expression] = exp.to_identifier("C", quoted=True)  # compares character by character; None: default

    # --- values of columns ---------------------------------------------------------------------------------------------

    def double(self, column: Expression) -> Expression:
        """Return the SQL expression for a column converted to 64-bit floats."""
        return exp.cast(column, "double")

    def number(self, column: Expression) -> Expression:
        """Return the SQL expression for a column as 64-bit floats.

        Unlike in :meth:`double`, NaN becomes NULL.
        """
        return exp.Nullif(this=self.double(column), expression=self.special("nan"))

    def category_number(self, column: Expression) -> Expression:
        """Return the SQL expression for a column of numeric categories; it can be compared with a :meth:`double_value`."""
        return self.number(column)

    def refused(self, column: Expression) -> Iterator[Expression]:
        """Yield SQL tests that are true for refused values of a numeric column.

        Refused values are those for which the classifier raises an error: infinite numbers. For NULL, the result of a test
        may be NULL, which counts as false.
        """
        yield exp.Abs(this=self.number(column)).eq(self.special("inf"))

    def text(self, column: Expression) -> Expression:
        """Return the SQL expression for a column as strings, compared character by character."""
        text = exp.cast(column, "text")
        return text if self.collation is None else exp.Collate(this=text, expression=self.collation.copy())

    def truth(self, column: Expression) -> Expression:
        """Return the SQL expression for a boolean column; it can be compared with a :meth:`truth_value`."""
        return exp.cast(column, "text")

    # --- constants -----------------------------------------------------------------------------------------------------

    def special(self, which: str) -> Expression:
        """Return the SQL expression for a special number: "nan" or "inf"."""
        return self.double(exp.Literal.string(which))

    def double_value(self, value: float) -> Expression:
        """Return the SQL expression for a 64-bit float, which the database reads exactly.

        A plain decimal could be read as a decimal number, or as a neighbouring float.
        """
        return self.double(exp.Literal.string(shortest(value).removesuffix(".0")))

    def text_value(self, text: str) -> Expression:
        """Return the SQL expression for a string constant."""
        return exp.Literal.string(text)

    def compared_text(self, text: str) -> Expression:
        """Return the SQL expression for a string constant; it can be compared with a :meth:`text`."""
        return self.text_value(text)

    def truth_value(self, truth: bool) -> Expression:
        """Return the SQL constant for true or false, of the type that :meth:`truth` returns."""
        return exp.Literal.string("true" if truth else "false")

    def boolean_value(self, truth: bool) -> Expression:
        """Return the SQL expression for true or false, as the result of a prediction."""
        return exp.Boolean(this=truth)

    # --- sources -------------------------------------------------------------------------------------------------------

    def beside(self, value: Expression, name: str) -> Expression:
        """Return a SQL join that computes an expression once per row.

        Parameters
        ----------
        value : Expression
            The expression. The query can use its result as the column ``value``.
        name : str
            Alias of the joined source. With it, ``value`` cannot be confused with a column of the table.
        """
        source = exp.Lateral(this=self._one_row(value), alias=alias_of_source(name))
        return exp.Join(this=source, kind="CROSS")

    def _one_row(self, value: Expression) -> Expression:
        return exp.select(exp.alias_(value, "value", quoted=True)).subquery()

    # --- names ---------------------------------------------------------------------------------------------------------

    def same_name(self, name: str) -> str:
        """Return a key that is the same for all names that the database treats as equal."""
        return name

    def trouble_with(self, name: str, *, is_column: bool) -> str | None:
        """Return why the database does not allow a name; None if it does.

        ``is_column`` is True for a column, and False for a table.
        """
        if not name:
            return "it is empty"
        if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            return "it has a character that databases cannot store"
        if self.longest is not None and len(name.encode("utf-16-le")) > 2 * self.longest:
            return f"it has more than {self.longest} characters"
        return None

    def check_name(self, name: str, what: str, advice: str, *, is_column: bool = True) -> str:
        """Return the name, or raise an error if the database does not allow it.

        Parameters
        ----------
        name : str
        what : str
            The kind of object that has this name, for the error message, such as "The column".
        advice : str
            What the user can do, for the error message.
        is_column : bool, default=True
            False for a table.
        """
        trouble = self.trouble_with(name, is_column=is_column)
        if trouble:
            shown = repr(name) if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]!r}…"
            raise InvalidInputError(f"{what} {shown} cannot have this name in {self.name}, because {trouble}. {advice}")
        return name


class DuckDB(Dialect):
    """DuckDB, in which ``0.1`` is a decimal and ``0.1e0`` is a float.

    Column names that differ only in the case of A to Z are the same.
    """

    name = "duckdb"

    def double_value(self, value: float) -> Expression:
        return signed(value, with_exponent(value))

    def same_name(self, name: str) -> str:
        return ascii_lower(name)


class Postgres(Dialect):
    """PostgreSQL, which truncates names after 63 bytes without a warning."""

    name = "postgres"

    def _one_row(self, value: Expression) -> Expression:
        """Return a subquery with ``OFFSET 0``.

        Without it, the query planner would copy the expression to each place that uses the result.
        """
        return super()._one_row(value).this.offset(0).subquery()

    def same_name(self, name: str) -> str:
        return name.encode("utf-8", "surrogatepass")[:63].decode("utf-8", "ignore")


class Snowflake(Dialect):
    """Snowflake, in which numbers with a decimal point are decimals, not floats.

    How Snowflake converts text to floats is not documented. So numbers with many digits are written as ratios of whole
    numbers.
    """

    name = "snowflake"
    longest = 255
    collation = exp.Literal.string("utf8")

    def double_value(self, value: float) -> Expression:
        return super().double_value(value) if is_read_exactly(value) else ratio(value, self.double)


class Spark(Dialect):
    """Spark, which compares strings without a collation.

    Spark replaces ``${…}`` with the value of a variable before it reads a statement, even in strings and names.
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
    """BigQuery, in which NaN does not equal NaN.

    Names may contain only some special characters.
    """

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
    """Base class for databases without NaN, in which booleans are 1 and 0."""

    def number(self, column: Expression) -> Expression:
        return self.double(column)

    def truth(self, column: Expression) -> Expression:
        return self.double(column)

    def truth_value(self, truth: bool) -> Expression:
        return exp.Literal.number(int(truth))


class SQLite(WithoutNaN):
    """SQLite, whose columns can mix types, and which stores NaN as NULL.

    SQLite may read a decimal number as a float next to the nearest one. Such numbers are written as ratios of whole
    numbers.
    """

    name = "sqlite"
    collation = exp.var("BINARY")

    def refused(self, column: Expression) -> Iterator[Expression]:
        yield exp.func("TYPEOF", column).isin("integer", "real", "null").not_()  # a string would be cast to 0
        yield from super().refused(column)

    # A value of another type would be cast to a category, such as the number 1 to the text '1'. It becomes NULL instead,
    # which is in no set.

    def text(self, column: Expression) -> Expression:
        of_type = exp.Case().when(exp.func("TYPEOF", column).eq("text"), column)
        return exp.Collate(this=exp.paren(of_type), expression=self.collation.copy())

    def truth(self, column: Expression) -> Expression:
        return self.category_number(column)

    def category_number(self, column: Expression) -> Expression:
        return exp.paren(exp.Case().when(exp.func("TYPEOF", column).isin("integer", "real"), self.double(column)))

    def beside(self, value: Expression, name: str) -> Expression:
        """Return a SQL join with the table function ``JSON_EACH``.

        In SQLite, a table function can use the columns of the table, and a joined subquery cannot.
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
    """SQL Server, which has neither NaN nor infinity.

    Comparisons of strings ignore trailing blanks and, with most collations, upper and lower case.
    """

    name = "tsql"
    longest = 128

    def refused(self, column: Expression) -> Iterator[Expression]:
        return iter(())

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
        """Return the SQL expression for a string, with line breaks written as ``NCHAR(10)``.

        A line break after a backslash would be lost. A line that contains only GO would end the batch.
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
    """Return the SQL alias for a table or subquery, with a quoted name."""
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def concatenated(chunks: list[Expression]) -> Expression:
    """Return the SQL expression that concatenates strings."""
    if len(chunks) == 1:
        return chunks[0]
    return exp.paren(reduce(lambda before, chunk: exp.DPipe(this=before, expression=chunk), chunks))


def signed(value: float, text: str) -> Expression:
    """Return the SQL number ``text`` with the sign of ``value``."""
    literal = exp.Literal.number(text)
    return exp.Neg(this=literal) if math.copysign(1.0, value) < 0 else literal


# --- exact floats --------------------------------------------------------------------------------------------------------


def shortest(value: float) -> str:
    """Return the shortest decimal text that is read as exactly this float."""
    return repr(float(value)).replace("e+", "e")


def with_exponent(value: float) -> str:
    """Return the absolute value as a decimal text with an exponent, such as ``0.1e0``.

    A number with an exponent is read as a float, not as a decimal.
    """
    text = shortest(abs(value)).removesuffix(".0")
    return text if "e" in text else f"{text}e0"


def is_read_exactly(value: float) -> bool:
    """Return True if every database reads the decimal text of this float exactly.

    A simple parser converts the digits to a float, and multiplies or divides it once by a power of ten. The result is exact
    if floats represent both the digits and the power of ten exactly. Some processors compute in long doubles with 64 bits,
    and then round again. This second rounding must not change the float.
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
    """Return the SQL expression for a float as an exact ratio.

    The ratio is a whole number, multiplied or divided by powers of two. Every database computes it without rounding.
    ``as_double`` is a function that converts the SQL expression of a whole number to a SQL float.
    """
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
    """Convert A to Z to lower case; other letters stay unchanged."""
    return re.sub("[A-Z]+", lambda found: found[0].lower(), name)
