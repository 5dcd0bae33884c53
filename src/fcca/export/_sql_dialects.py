"""What is written otherwise from one dialect of SQL to the next. Needs sqlglot.

Everything is an expression of sqlglot, whose generators quote names and texts; nothing of them is pasted into a text.
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

Expression = Any  # sqlglot's classes are generic in ways that differ from one version to the next

LARGEST_POWER = 62  # 2**62 is the largest power of two that a signed 64-bit number can be
NAME_SHOWN = 80


class Dialect:
    """The standard: NaN equals NaN and is larger than everything, texts are compared under a collation."""

    name: ClassVar[str]
    longest: ClassVar[int | None] = None  # characters of a name
    numbers_bins: ClassVar[bool] = False  # whether its names cannot say conditions
    collation: ClassVar[Expression] = exp.to_identifier("C", quoted=True)  # compares character by character; None: as it is

    # --- values of columns ---------------------------------------------------------------------------------------------

    def double(self, column: Expression) -> Expression:
        """A column as 64-bit floats: narrower floats are widened, so they are not compared in fewer bits."""
        return exp.Cast(this=column, to=exp.DataType(this=exp.DataType.Type.DOUBLE))

    def number(self, column: Expression) -> Expression:
        """A column as 64-bit floats, NULL for NaN too."""
        return exp.Nullif(this=self.double(column), expression=self.special("nan"))

    def no_number(self, column: Expression, *, may_be_missing: bool) -> Iterator[Expression]:
        """What holds of a value that is refused where a number is expected; a NULL among the values makes it NULL."""
        if may_be_missing:
            yield exp.EQ(this=exp.Abs(this=self.number(column)), expression=self.special("inf"))
            return
        yield is_null(self.double(column))
        is_finite = exp.LT(this=exp.Abs(this=self.double(column.copy())), expression=self.special("inf"))
        yield exp.Not(this=exp.Paren(this=is_finite))  # NaN is not less than infinity, wherever it stands

    def no_text(self, column: Expression, *, may_be_missing: bool) -> Iterator[Expression]:
        """What holds of a value that is refused where a text is expected, whatever the text."""
        if not may_be_missing:
            yield is_null(column)

    def no_truth(self, column: Expression, *, may_be_missing: bool) -> Iterator[Expression]:
        """What holds of a value that is refused where true or false is expected."""
        if not may_be_missing:
            yield is_null(column)

    def text(self, column: Expression) -> Expression:
        """A column as texts that are compared character by character."""
        text = as_text(column)
        return text if self.collation is None else exp.Collate(this=text, expression=self.collation.copy())

    def truth(self, column: Expression) -> Expression:
        """A column of booleans, as what :meth:`truth_value` is compared with."""
        return as_text(column)

    # --- constants -----------------------------------------------------------------------------------------------------

    def special(self, which: str) -> Expression:
        """NaN or infinity."""
        return self.double(exp.Literal.string(which))

    def double_value(self, value: float) -> Expression:
        """The 64-bit float itself, not a decimal near it."""
        return self.double(exp.Literal.string(shortest(value).removesuffix(".0")))

    def text_value(self, text: str) -> Expression:
        """A text."""
        return exp.Literal.string(text)

    def compared_text(self, text: str) -> Expression:
        """A text, as what :meth:`text` is compared with."""
        return self.text_value(text)

    def truth_value(self, truth: bool) -> Expression:
        """True or false, as what :meth:`truth` is compared with."""
        return exp.Literal.string("true" if truth else "false")

    def boolean_value(self, truth: bool) -> Expression:
        """True or false, as an answer."""
        return exp.Boolean(this=truth)

    # --- sources -------------------------------------------------------------------------------------------------------

    def beside(self, value: Expression, name: str) -> Expression:
        """A join that computes a value once for each row, as the column ``value`` of a source of one row.

        A column of a source of its own is not among those of the table, whatever theirs are called.
        """
        source = exp.Lateral(this=self._one_row(value), alias=alias_of_source(name))
        return exp.Join(this=source, kind="CROSS")

    def _one_row(self, value: Expression) -> Expression:
        alias = exp.Alias(this=value, alias=exp.to_identifier("value", quoted=True))
        return exp.Subquery(this=exp.select(alias, copy=False))

    # --- names ---------------------------------------------------------------------------------------------------------

    def same_name(self, name: str) -> str:
        """What is the same for two names that the database does not tell apart."""
        return name

    def trouble_with(self, name: str, *, is_column: bool) -> str | None:
        """Why something cannot have a name, or None."""
        if not name:
            return "it is empty"
        if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            return "it has a character that no database can hold"
        if self.longest is not None and len(name.encode("utf-16-le")) > 2 * self.longest:
            return f"it has more than {self.longest} characters"
        return None

    def check_name(self, name: str, what: str, advice: str, *, is_column: bool = True) -> str:
        """The name, or an error that says why it cannot be one."""
        trouble = self.trouble_with(name, is_column=is_column)
        if trouble:
            shown = repr(name) if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]!r}…"
            raise InvalidInputError(f"{what} {shown} cannot be named in {self.name}: {trouble}. {advice}")
        return name


class DuckDB(Dialect):
    """0.1 is a decimal there, and 0.1e0 a float; names of columns are the same whatever their case."""

    name = "duckdb"

    def double_value(self, value: float) -> Expression:
        return signed(value, with_exponent(value))

    def same_name(self, name: str) -> str:
        return ascii_lower(name)


class Postgres(Dialect):
    """Names end after 63 bytes, without a word."""

    name = "postgres"

    def _one_row(self, value: Expression) -> Expression:
        """With an offset, which keeps the planner from putting the whole value in the place of each mention of it."""
        found = super()._one_row(value)
        found.this.set("offset", exp.Offset(expression=number_literal("0")))
        return found

    def same_name(self, name: str) -> str:
        return name.encode("utf-8", "surrogatepass")[:63].decode("utf-8", "ignore")


class Snowflake(Dialect):
    """Numbers with a point are decimals, and how a text becomes a float is not said: long ones are written as ratios."""

    name = "snowflake"
    longest = 255
    collation = exp.Literal.string("utf8")

    def double_value(self, value: float) -> Expression:
        return super().double_value(value) if is_read_exactly(value) else ratio(value, self.double)


class Spark(Dialect):
    """Texts are compared as they are. What stands in ${…} is replaced before a statement is read, in texts and names too."""

    name = "spark"
    collation = None

    def text_value(self, text: str) -> Expression:
        return joined([exp.Literal.string(piece) for piece in re.split(r"(?<=\$)(?=\{)", text)])

    def same_name(self, name: str) -> str:
        return name.lower()

    def trouble_with(self, name: str, *, is_column: bool) -> str | None:
        if "${" in name:
            return "Spark takes ${ for the beginning of a variable"
        return super().trouble_with(name, is_column=is_column)


class BigQuery(Dialect):
    """Comparisons with NaN are false, that with itself too. Few characters can stand in a name."""

    name = "bigquery"
    longest = 300
    numbers_bins = True
    collation = exp.Literal.string("")

    def number(self, column: Expression) -> Expression:
        is_nan = exp.IsNan(this=self.double(column))
        return exp.If(this=is_nan, true=exp.Null(), false=self.double(column.copy()))

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
            return f"BigQuery takes no {found[0]!r} there"
        return super().trouble_with(name, is_column=is_column)


class WithoutNaN(Dialect):
    """A database whose columns hold neither NaN nor booleans: true and false are 1 and 0."""

    def number(self, column: Expression) -> Expression:
        return self.double(column)

    def truth(self, column: Expression) -> Expression:
        return self.double(column)

    def truth_value(self, truth: bool) -> Expression:
        return number_literal(str(int(truth)))


class SQLite(WithoutNaN):
    """A column holds values of any type, so the type of each is asked for. NaN is stored as NULL; there are no booleans.

    A number in a statement may be read as the float next to it, so only those are written as they are that cannot.
    """

    name = "sqlite"
    collation = exp.var("BINARY")

    def no_number(self, column: Expression, *, may_be_missing: bool) -> Iterator[Expression]:
        yield not_of_type(column, ["integer", "real"], may_be_missing=may_be_missing)
        yield exp.EQ(this=exp.Abs(this=self.double(column.copy())), expression=self.special("inf"))

    def no_text(self, column: Expression, *, may_be_missing: bool) -> Iterator[Expression]:
        yield not_of_type(column, ["text"], may_be_missing=may_be_missing)

    def no_truth(self, column: Expression, *, may_be_missing: bool) -> Iterator[Expression]:
        yield not_of_type(column, ["integer", "real"], may_be_missing=may_be_missing)  # a text would be cast to 0

    def beside(self, value: Expression, name: str) -> Expression:
        """By a function of tables, which sees the columns of the table before it; a subquery does not."""
        row = exp.Anonymous(this="JSON_ARRAY", expressions=[value])
        function = exp.Anonymous(this="JSON_EACH", expressions=[row])
        return exp.Join(this=exp.Table(this=function, alias=alias_of_source(name)), kind="CROSS")

    def special(self, which: str) -> Expression:
        return number_literal("9e999")  # as SQLite itself writes infinity; it has no NaN

    def double_value(self, value: float) -> Expression:
        return signed(value, shortest(abs(value))) if is_read_exactly(value) else ratio(value, self.double)

    def boolean_value(self, truth: bool) -> Expression:
        return self.truth_value(truth)

    def same_name(self, name: str) -> str:
        return ascii_lower(name)


class TSQL(WithoutNaN):
    """There is neither NaN nor infinity. Blanks at the end of a text do not count, and mostly its case does not either."""

    name = "tsql"
    longest = 128

    def no_number(self, column: Expression, *, may_be_missing: bool) -> Iterator[Expression]:
        return self.no_text(column, may_be_missing=may_be_missing)

    def text(self, column: Expression) -> Expression:
        text = exp.Cast(this=column, to=exp.DataType.build("NVARCHAR(MAX)", dialect="tsql"))
        # With a full stop after them, blanks are no longer at the end.
        ended = exp.Paren(this=exp.Add(this=text, expression=exp.National(this=".")))
        return exp.Collate(this=ended, expression=exp.var("Latin1_General_100_BIN2"))

    def compared_text(self, text: str) -> Expression:
        return self.text_value(f"{text}.")

    def double_value(self, value: float) -> Expression:
        if is_read_exactly(value):
            return signed(value, with_exponent(value))
        return ratio(value, lambda whole: self.double(exp.Cast(this=whole, to=exp.DataType.build("BIGINT"))))

    def text_value(self, text: str) -> Expression:
        """Line breaks by their codes: after a backslash they would be lost, and a line GO would end the batch."""
        pieces = [piece for piece in re.split(r"([\r\n])", text) if piece] or [""]
        return joined(
            [
                exp.Anonymous(this="NCHAR", expressions=[number_literal(str(ord(piece)))])
                if piece in "\r\n" and piece
                else exp.National(this=piece)
                for piece in pieces
            ]
        )

    def beside(self, value: Expression, name: str) -> Expression:
        source = exp.Lateral(this=self._one_row(value), alias=alias_of_source(name), cross_apply=True)
        return exp.Join(this=source)

    def boolean_value(self, truth: bool) -> Expression:
        return exp.Cast(this=self.truth_value(truth), to=exp.DataType.build("BIT"))

    def same_name(self, name: str) -> str:
        return name.lower()

    def trouble_with(self, name: str, *, is_column: bool) -> str | None:
        if re.search(r"^\s*GO\s*\d*\s*$", name, re.IGNORECASE | re.MULTILINE) and re.search("[\r\n]", name):
            return "SQL Server's tools take a line GO for the end of a batch"
        return super().trouble_with(name, is_column=is_column)


SPOKEN: dict[str, Dialect] = {
    one.name: one for one in (DuckDB(), Postgres(), SQLite(), BigQuery(), Snowflake(), TSQL(), Spark())
}


# --- expressions ---------------------------------------------------------------------------------------------------------


def as_text(value: Expression) -> Expression:
    """A value as a text."""
    return exp.Cast(this=value, to=exp.DataType(this=exp.DataType.Type.TEXT))


def is_null(value: Expression) -> Expression:
    """Whether a value is missing."""
    return exp.Is(this=value, expression=exp.Null())


def not_of_type(column: Expression, types: list[str], *, may_be_missing: bool) -> Expression:
    """Whether a value of SQLite has another type than these."""
    allowed = [exp.Literal.string(one) for one in [*types, "null"][: None if may_be_missing else -1]]
    kind = exp.Anonymous(this="TYPEOF", expressions=[column])
    return exp.Not(this=exp.In(this=kind, expressions=allowed))


def alias_of_source(name: str) -> Expression:
    """What a source is called in a query."""
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def joined(pieces: list[Expression]) -> Expression:
    """Texts one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    return exp.Paren(this=reduce(lambda before, piece: exp.DPipe(this=before, expression=piece), pieces))


def number_literal(text: str) -> Expression:
    """A number as it is written here; sqlglot would make a decimal of 1.5e0."""
    return exp.Literal(this=text, is_string=False)


def signed(value: float, text: str) -> Expression:
    """A literal, with its sign before it."""
    literal = number_literal(text)
    return exp.Neg(this=literal) if math.copysign(1.0, value) < 0 else literal


# --- floats that are read as they are ------------------------------------------------------------------------------------


def shortest(value: float) -> str:
    """The shortest decimal that is nearest to this float and to no other."""
    return repr(float(value)).replace("e+", "e")


def with_exponent(value: float) -> str:
    """The same, without a sign and with an exponent, which makes it a float where other numbers are decimals."""
    text = shortest(abs(value)).removesuffix(".0")
    return text if "e" in text else f"{text}e0"


def is_read_exactly(value: float) -> bool:
    """Whether the shortest decimal becomes this float in any reader that makes one division or product of it.

    That is so where digits and power of ten are floats themselves, and where a result that is rounded to 64 bits first,
    as in the long doubles of some processors, rounds to the same float.
    """
    _, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    if len(digits) > 15 or not isinstance(exponent, int) or abs(exponent) > 22:
        return False
    exact = int("".join(map(str, digits))) * Fraction(10) ** exponent
    if exact == 0:
        return True
    leading = exact.numerator.bit_length() - exact.denominator.bit_length()
    unit = Fraction(2) ** (leading - 63)
    if exact / unit < 2**63:  # the quotient of the leading bits may begin one place later
        unit /= 2
    return float(round(exact / unit) * unit) == abs(value)


def ratio(value: float, as_double: Any) -> Expression:
    """A float as a whole number times or over powers of two, of which every step is exact."""
    fraction, exponent = math.frexp(abs(value))
    whole, exponent = int(fraction * 2**53), exponent - 53
    while whole and whole % 2 == 0:
        whole, exponent = whole // 2, exponent + 1
    found = as_double(signed(value, str(whole)))
    step = exp.Mul if exponent > 0 else exp.Div
    left = abs(exponent)
    while left > 0:
        power = min(left, LARGEST_POWER)
        found, left = step(this=found, expression=as_double(number_literal(str(2**power)))), left - power
    return exp.Paren(this=found)


def ascii_lower(name: str) -> str:
    """A to Z as small letters, all others as they are."""
    return re.sub("[A-Z]+", lambda found: found[0].lower(), name)
