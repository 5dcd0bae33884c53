"""Checks of single numbers. True and False do not count as numbers."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, TypeGuard

from fcca.exceptions import InvalidInputError


def is_whole(value: Any, *, at_least: float = -math.inf) -> TypeGuard[int]:
    """Return True for an integer of at least ``at_least``, of any integer type except bool.

    Examples
    --------
    >>> from fcca.utils import is_whole
    >>> is_whole(3), is_whole(True), is_whole(3.0), is_whole(0, at_least=1)
    (True, False, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= at_least


def is_number(value: Any, *, at_least: float = -math.inf, at_most: float = math.inf) -> TypeGuard[float]:
    """Return True for a real number from ``at_least`` to ``at_most``.

    Return False for booleans and NaN.

    Examples
    --------
    >>> import math
    >>> from fcca.utils import is_number
    >>> is_number(2.5), is_number(True), is_number(math.nan), is_number(2.5, at_most=1)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number: Any = value  # mypy does not compare a Real with a float
    return bool(at_least <= number <= at_most)


def whole_number(name: str, given: Any, least: int = 1) -> int:
    """Check that an argument is an integer of at least ``least``, and return it.

    Parameters
    ----------
    name : str
        Name of the argument in the error message.
    given : object
        Value of the argument.
    least : int, default=1
        Smallest valid value.
    """
    if not is_whole(given, at_least=least):
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, got {given!r}.")
    return int(given)
