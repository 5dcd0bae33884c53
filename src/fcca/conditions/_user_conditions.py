"""Read conditions that users give as pairs, such as ``("age", 30)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.tables import Columns


def user_pair(given: Any) -> tuple[str, Any]:
    """Check that a condition is given as a pair, and return its column and its value."""
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Sequence) or len(given) != 2:
        raise InvalidInputError(f"Expected pairs of a column and a threshold, such as ('age', 30), got {given!r}.")
    return given[0], given[1]


def user_condition(
    columns: Columns | None, feature: int, name: str, given: Any
) -> tuple[str, float, tuple[Any, ...] | None]:
    """Return the kind, the threshold and the categories of a condition.

    Parameters
    ----------
    columns : Columns or None
        Categories of the columns; None if they are unknown.
    feature : int
        Position of the column.
    name : str
        Name of the column, for error messages.
    given : object
        A number ``t`` for ``x > t``, a category or a set of categories, or None for ``x is missing``.
    """
    if given is None:
        return "missing", np.nan, None
    if isinstance(given, (set, frozenset, list, tuple)):
        if columns is not None and columns.columns[feature].categories is None:
            raise InvalidInputError(
                f"Column {name!r} holds numbers, so {given!r} cannot be a set of its categories. For several thresholds, "
                f"give a pair for each: ({name!r}, 12), ({name!r}, 24)."
            )
        return "set", np.nan, tuple(given)
    if isinstance(given, str) or (columns is not None and columns.columns[feature].categories is not None):
        return "set", np.nan, (given,)
    try:
        number = float(given)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"Condition ({name!r}, {given!r}): expected a number, a set of categories, or None for a missing value."
        ) from error
    if not np.isfinite(number):
        raise InvalidInputError(
            f"Condition ({name!r}, {given!r}): a threshold must be a finite number. Leave out infinite thresholds."
        )
    return "cut", number, None
