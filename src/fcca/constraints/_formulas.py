"""Parse linear formulas such as ``x + 2*y <= 10``."""

from __future__ import annotations

import re
from typing import NoReturn

from fcca.exceptions import InvalidInputError

Sum = tuple[dict[str, float], float]  # coefficients by column, and a constant

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])|`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*)"
    r"|(?P<sign><=|>=|==|[-+*/()<>=≤≥]))"
)
COMPARISONS = {"<=": "<=", "≤": "<=", ">=": ">=", "≥": ">=", "==": "=="}
MOST_PARENTHESES = 50


def parsed_formula(text: str) -> tuple[Sum, ...]:
    """Parse a formula into sums of columns, each with an upper limit.

    Each result ``(coefficients, upper)`` means ``Σ coefficients[name] * x[name] <= upper``. A chain or an equation gives
    several results.
    """
    return _Parser(text).sums()


class _Parser:
    """Recursive parser that reads one formula from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            found = TOKEN.match(text, at)
            if found is None:
                self._refuse(
                    f"cannot be read at {text[at:].strip()!r}. Put column names with characters other than "
                    "letters, digits, _ and . in backticks"
                )
            kind = str(found.lastgroup)
            self.tokens.append(("name" if kind == "quoted" else kind, found[kind]))
            at = found.end()
        self.at = 0
        self.depth = 0

    def _refuse(self, why: str) -> NoReturn:
        raise InvalidInputError(f"Rule({self.text!r}) {why}. Write it like 'a <= b' or 'x + 2*y <= 10'.")

    def _next(self, *signs: str) -> str | None:
        """Consume and return the next token if it is in ``signs``.

        Otherwise, return None.
        """
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "sign" and self.tokens[self.at][1] in signs:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def sums(self) -> tuple[Sum, ...]:
        sides, signs = [self._sum()], []
        while sign := self._next(*COMPARISONS, "<", ">", "="):
            if sign not in COMPARISONS:
                self._refuse(f"compares with {sign!r}; use <=, >= or ==")
            signs.append(COMPARISONS[sign])
            sides.append(self._sum())
        if self.at < len(self.tokens):
            self._refuse(f"has {self.tokens[self.at][1]!r} instead of an operator")
        if not signs:
            self._refuse("has no comparison; use <=, >= or ==")
        found: list[Sum] = []
        for left, sign, right in zip(sides, signs, sides[1:], strict=False):
            below = _added(left, right, -1.0)
            if not below[0]:
                self._refuse("has a comparison without columns, or one whose columns cancel out")
            if sign in ("<=", "=="):
                found.append((below[0], -below[1]))
            if sign in (">=", "=="):
                found.append(({name: -a for name, a in below[0].items()}, below[1]))
        return tuple((coefficients, upper + 0.0) for coefficients, upper in found)  # no -0.0

    def _sum(self) -> Sum:
        total: Sum = ({}, 0.0)
        sign = -1.0 if self._next("-", "+") == "-" else 1.0
        while True:
            total = _added(total, self._product(), sign)
            operator = self._next("+", "-")
            if operator is None:
                return total
            sign = -1.0 if operator == "-" else 1.0

    def _product(self) -> Sum:
        product = self._factor()
        while operator := self._next("*", "/"):
            other = self._factor()
            if operator == "/":
                if other[0] or other[1] == 0:
                    self._refuse("divides by a column or by 0")
                product = _times(product, 1.0 / other[1])
            elif product[0] and other[0]:
                self._refuse("multiplies two columns; a column may only be multiplied by a number")
            else:
                product = _times(product, other[1]) if product[0] else _times(other, product[1])
        return product

    def _factor(self) -> Sum:
        sign = 1.0
        while self._next("-"):
            sign = -sign
        if self._next("("):
            self.depth += 1
            if self.depth > MOST_PARENTHESES:
                self._refuse(f"has more than {MOST_PARENTHESES} nested parentheses")
            inner = self._sum()
            if not self._next(")"):
                self._refuse("lacks a closing parenthesis")
            self.depth -= 1
            return _times(inner, sign)
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        if kind not in ("name", "number"):
            self._refuse("lacks a column name or a number" + (f" before {token!r}" if token else " at its end"))
        self.at += 1
        return ({token: sign}, 0.0) if kind == "name" else ({}, sign * float(token))


def _added(one: Sum, other: Sum, factor: float) -> Sum:
    names = dict.fromkeys([*one[0], *other[0]])
    coefficients = {name: one[0].get(name, 0.0) + factor * other[0].get(name, 0.0) for name in names}
    return {name: a for name, a in coefficients.items() if a != 0}, one[1] + factor * other[1]


def _times(one: Sum, factor: float) -> Sum:
    return {name: a * factor for name, a in one[0].items() if a * factor != 0}, one[1] * factor
