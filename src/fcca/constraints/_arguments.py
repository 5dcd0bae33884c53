"""Checks of the arguments that rules are made from."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from fcca.exceptions import InvalidInputError


def checked_name(rule: str, name: Any) -> str:
    """The name of a column."""
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"{rule} takes names of columns, got {name!r}.")
    return name


def checked_number(rule: str, argument: str, value: Any) -> float:
    """A finite number."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidInputError(f"{rule}: {argument} must be a finite number, got {value!r}.")
    return float(value)


def checked_end(rule: str, argument: str, value: Any) -> float | None:
    """The end of an interval; None and infinity stand for an open end."""
    if value is None or (isinstance(value, Real) and math.isinf(value)):
        return None
    return checked_number(rule, argument, value)


def shown(number: float | None) -> str:
    """A number as a person writes it: ``2``, not ``2.0``."""
    if number is None:
        return "None"
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
