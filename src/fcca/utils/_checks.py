"""Checks of arguments, and words for their errors."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from fcca.exceptions import InvalidInputError


def whole_number(name: str, given: Any, least: int = 1) -> int:
    """Return a whole number, or raise an error where it is none or too small.

    Parameters
    ----------
    name : str
        Name of the argument.
    given : object
    least : int, default=1
    """
    if isinstance(given, bool) or not isinstance(given, Integral) or given < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, got {given!r}.")
    return int(given)


def type_in_words(given: object) -> str:
    """Name the type of an object; a class itself is ``the class X``.

    Parameters
    ----------
    given : object
    """
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
