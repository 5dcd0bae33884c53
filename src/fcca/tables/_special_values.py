"""Special values: numbers such as -9 that stand for something else, like "no record"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.tables._table_checks import called
from fcca.utils import close_to, plain

Floats = NDArray[np.float64]
Special = Mapping[int, Floats]

#: Negative numbers that data providers often use as special values.
USUAL = (*tuple(-float(f"{digit}" * length) for length in range(1, 7) for digit in (9, 8, 7, 6)), -1.0, -2.0)
MOST_LIKELY = 4  # a column with more different negative values holds ordinary negative numbers
FEWEST_OTHERS = 10  # ordinary values that a column must have


def special_by_column(given: Any, names: Sequence[str], is_number: Sequence[bool]) -> dict[int, Floats]:
    """Check the parameter ``special_values`` and find the special values of each column.

    Parameters
    ----------
    given : iterable of float, mapping of str to iterable of float, or None
        Special values of all numeric columns, or of the columns that the mapping names.
    names : sequence of str
        Names of all columns.
    is_number : sequence of bool
        True for numeric columns.

    Returns
    -------
    dict of int to ndarray
        The sorted special values, by the position of the column. Columns without special values are left out.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        values = _checked_values(given, "special_values")
        return {j: values for j, numeric in enumerate(is_number) if numeric and len(values)}
    found = {}
    for name, each in given.items():
        if name not in names:
            raise InvalidInputError(f"special_values names the unknown column {name!r}. {close_to(name, names)}")
        j = list(names).index(name)
        if not is_number[j]:
            raise InvalidInputError(
                f"special_values names the column {name!r}, which holds categories. Every category is already separate. "
                "Leave this column out of special_values."
            )
        if len(values := _checked_values(each, f"special_values[{name!r}]")):
            found[j] = values
    return dict(sorted(found.items()))


def _checked_values(given: Any, what: str) -> Floats:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"{what} must be a set of numbers, such as {{-9, -8}}, or a mapping of columns to such sets; got {given!r}."
        )
    values = list(given)
    for value in values:
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            raise InvalidInputError(f"{what} must contain finite numbers only, got {value!r}.")
    return np.unique(np.array(values, dtype=np.float64) + 0.0)


def without_special(X: Floats, special: Special) -> Floats:
    """Replace special values by NaN; return X itself if it contains none."""
    copied = False
    for j, values in special.items():
        if (found := np.isin(X[:, j], values)).any():
            X, copied = X if copied else X.copy(), True
            X[found, j] = np.nan
    return X


def is_special(special: Special, feature: NDArray[np.integer], value: Floats) -> NDArray[np.bool_]:
    """Return a mask of the entries whose ``value`` is a special value of the column ``feature``."""
    found = np.zeros(len(feature), dtype=np.bool_)
    for j, values in special.items():
        found |= (feature == j) & np.isin(value, values)
    return found


def check_ordinary_values(low: Floats, special: Special, names: Sequence[str]) -> None:
    """Check that every column with special values has other values, too.

    ``low`` has the smallest ordinary value of each column, or NaN if there is none.
    """
    for j in special:
        if np.isnan(low[j]):
            raise InvalidInputError(
                f"All values of column {called(names, j)} in X are special or missing. Leave the column out, or give "
                "special_values as a mapping that does not name it."
            )


def likely_special_values(X: Floats, is_number: Sequence[bool]) -> dict[int, Floats]:
    """Find values that look like special values, by column.

    A column is listed if its only negative values are one to four numbers such as -9, -8, -99 or -999, and if it also has
    at least ten different values that are not negative.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    is_number : sequence of bool
        True for numeric columns.
    """
    found = {}
    for j, numeric in enumerate(is_number):
        if not numeric:
            continue
        values = np.unique(X[:, j])
        negative = values[values < 0]
        others = int(np.count_nonzero(values >= 0))
        if 0 < len(negative) <= MOST_LIKELY and others >= FEWEST_OTHERS and np.isin(negative, USUAL).all():
            found[j] = negative
    return found


def likely_in_words(likely: Special, names: Sequence[str]) -> str:
    """Return a sentence about values that look like special values, by column."""
    values = ", ".join(plain(value) for value in np.unique(np.concatenate(list(likely.values()))).tolist())
    shown = ", ".join(names[j] for j in list(likely)[:3]) + (", …" if len(likely) > 3 else "")
    columns = "1 column" if len(likely) == 1 else f"{len(likely)} columns"
    return (
        f"Values that look like special values, not like numbers: {values} in {columns} ({shown}). To treat them as "
        f"categories, set special_values={{{values}}} (--special={values.replace(' ', '')} on the command line)."
    )
