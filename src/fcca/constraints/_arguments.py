"""Check the arguments of rules."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from fcca.exceptions import InvalidInputError


def checked_name(rule: str, name: Any) -> str:
    """Check that a column name is a non-empty string, and return it."""
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"{rule} expects the name of a column, a non-empty string, got {name!r}.")
    return name


def checked_number(rule: str, argument: str, value: Any) -> float:
    """Check that a value is a finite number and return it."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidInputError(f"{rule}: {argument} must be a finite number, got {value!r}.")
    return float(value)


def checked_end(rule: str, argument: str, value: Any) -> float | None:
    """Check the lower or upper end of an interval, and return it.

    Return None for a value that is None or infinite, which means that the interval has no such end.
    """
    if value is None or (isinstance(value, Real) and math.isinf(value)):
        return None
    return checked_number(rule, argument, value)


def shown(number: float | None) -> str:
    """Format a number for the ``repr`` of a rule: ``2``, not ``2.0``."""
    if number is None:
        return "None"
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
