"""The rules Linear and Rule: limits on weighted sums of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fcca.constraints._arguments import checked_name, checked_number, shown
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import Constraint, Violation
from fcca.constraints._formulas import parsed_formula
from fcca.constraints._limits import Floats, LinearRule
from fcca.constraints._yaml import YamlNode
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns

# Sums are rounded. Both tolerances are relative to the size of the summands.
TOLERANCE = 1e-12  # in the searches
ROUNDING = 1e-9  # in the check afterwards


class _Sums(Constraint, abstract=True):
    lands_on = "any"

    @property
    def linear(self) -> tuple[Linear, ...]:
        """The rule as weighted sums of columns, each with an upper limit."""
        raise NotImplementedError

    def compile(self, limits: LimitsBuilder) -> None:
        at = tuple(self.number(name, limits.columns, "Only numbers can be summed.") for name in self.columns)
        limits.between.append((self, at))

    def finish(self, limits: LimitsBuilder) -> None:
        """Add the sums to the limits, and check that they are satisfiable.

        A sum is satisfiable if some values within the data range and the bounds keep it at or below its upper limit.
        """
        for linear in self.linear:
            index, factor = linear.positions(limits.columns), np.array([a for _, a in linear.coefficients])
            # A value that does not move may be outside the bounds.
            own_low = np.fmin.reduce(limits.table[:, index], axis=0, initial=np.inf)
            own_high = np.fmax.reduce(limits.table[:, index], axis=0, initial=-np.inf)
            least = np.fmin(np.maximum(limits.box_low[index], [limits.least[j][0] for j in index]), own_low)
            most = np.fmax(np.minimum(limits.box_high[index], [limits.most[j][0] for j in index]), own_high)
            largest = np.abs(factor) * np.fmax(np.abs(limits.box_low[index]), np.abs(limits.box_high[index]))
            # A single value, or a comparison of two values, is exact.
            exact = bool((np.abs(factor) == 1).all()) and (len(index) == 1 or (len(index) == 2 and linear.upper == 0))
            upper = linear.upper + (0.0 if exact else TOLERANCE * float(abs(linear.upper) + largest.sum()))
            if float(np.where(factor > 0, factor * least, factor * most).sum()) > upper:
                self.refuse(
                    "no values within the range of the data and the bounds satisfy the rule. Check the columns and their "
                    "units."
                )
            limits.linear.append(LinearRule(dict(zip(index, factor.tolist(), strict=True)), upper))

    def violations(self, columns: Columns, table: Floats) -> Iterator[Violation]:
        for linear in self.linear:
            yield _too_large(linear, columns, table)


@dataclass(frozen=True, init=False, repr=False)
class Linear(_Sums):
    """Require a weighted sum of columns to be at most ``upper``.

    The rule applies to a row only if one of the rule's columns changes.

    Parameters
    ----------
    coefficients : mapping of str to float
        The coefficient of each column. The columns must be numeric.
    upper : float, default=0
        Largest value of ``Σ coefficient · x``.
    """

    coefficients: tuple[tuple[str, float], ...]
    upper: float = 0.0
    yaml_key = None  # written as a formula under the key of Rule

    def __init__(self, coefficients: Mapping[str, float] | Iterable[Sequence[Any]], upper: float = 0.0) -> None:
        given = list(coefficients.items()) if isinstance(coefficients, Mapping) else [tuple(pair) for pair in coefficients]
        if not given or any(len(pair) != 2 for pair in given) or len({pair[0] for pair in given}) < len(given):
            raise InvalidInputError(f"Linear expects a mapping from columns to coefficients, got {coefficients!r}.")
        pairs = [
            (checked_name("Linear", name), checked_number("Linear", f"the coefficient of {name}", a)) for name, a in given
        ]
        if any(a == 0 for _, a in pairs):
            raise InvalidInputError(f"Linear: leave out columns with a coefficient of 0, got {coefficients!r}.")
        self._set(coefficients=tuple(sorted(pairs)), upper=checked_number("Linear", "upper", upper))

    @property
    def linear(self) -> tuple[Linear, ...]:
        return (self,)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.coefficients)

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        raise NotImplementedError

    def __repr__(self) -> str:
        listed = ", ".join(f"{name!r}: {shown(a)}" for name, a in self.coefficients)
        return f"Linear({{{listed}}}, upper={shown(self.upper)})"


@dataclass(frozen=True, repr=False)
class Rule(_Sums):
    """Require a linear formula to hold.

    An example is ``Rule("x + 2*y <= 10")``. The formula compares sums of numeric columns with ``<=``, ``>=`` or ``==``.
    Chains such as ``0 <= x <= y`` are allowed. The rule applies to a row only if one of the rule's columns changes. Put a
    column name in backticks if it has characters other than letters, digits, ``_`` and ``.``.
    """

    text: str
    yaml_key = "rules"

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidInputError(f"Rule expects a formula such as 'a <= b' or 'x + 2*y <= 10', got {self.text!r}.")
        _parsed(self.text)  # raises an error if the text is not a formula

    @property
    def linear(self) -> tuple[Linear, ...]:
        """The formula as weighted sums of columns, each with an upper limit.

        An equation gives two sums, one per direction.
        """
        return _parsed(self.text)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for linear in self.linear for name in linear.columns))

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        parts = node.one_or_more("a list of formulas, such as 'a <= b'")
        return [part.make(cls, part.text("a formula")) for part in parts]

    def __repr__(self) -> str:
        return f"Rule({self.text!r})"


@lru_cache
def _parsed(text: str) -> tuple[Linear, ...]:
    return tuple(Linear(coefficients, upper) for coefficients, upper in parsed_formula(text))


def _too_large(linear: Linear, columns: Columns, table: Floats) -> Violation:
    at = linear.positions(columns)
    values, factors = table[:, at], np.array([a for _, a in linear.coefficients])
    room = ROUNDING * (abs(linear.upper) + np.abs(values * factors).sum(axis=1))
    too_large = (values * factors).sum(axis=1) > linear.upper + room  # False if a value is missing

    def why(row: int) -> str:
        listed = ", ".join(f"{name} is {x:g}" for name, x in zip(linear.columns, values[row], strict=True))
        return f"{listed}: the sum is above {linear.upper:g}"

    return Violation(at, too_large, why)
