"""Recognise columns that are no features: copies of the label, row numbers, identifiers and constants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FEWEST_LIKE_IDS = 21  # a column with fewer distinct values is not an identifier
#: The last word of the name of a column of numbers that identify rows.
ID_WORDS = frozenset({"id", "ids", "key", "uuid", "guid", "index", "idx", "nr", "no", "num", "number"})
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def why_no_feature(values: pd.Series[Any], y: NDArray[np.generic] | None, of: str) -> str | None:
    """Return why a column is not a feature; None if it may be one.

    Parameters
    ----------
    values : Series
        The column, as numbers, strings or categories. The index contains the row numbers in the file.
    y : ndarray or None
        The labels of the rows, if known.
    of : str
        Text after "rows", such as " of the sample".
    """
    n_rows, n_values = len(values), int(values.nunique())
    if values.isna().any():
        return _like_strings(values, n_values, of)
    if n_values == 1 < n_rows:
        return f"it has the same value in all rows{of}"
    if y is not None and _is_copy(values, n_values, y):
        return "it is a copy of the label"
    if not pd.api.types.is_float_dtype(values.dtype):
        return _like_strings(values, n_values, of)
    numbers = values.to_numpy()
    if n_values < max(n_rows, FEWEST_LIKE_IDS) or not (numbers == np.floor(numbers)).all():
        return None
    if np.ptp(numbers - values.index.to_numpy()) == 0:
        return "it numbers the rows"
    words = WORDS.findall(str(values.name))
    if words and words[-1].lower() in ID_WORDS:
        return f"its name and {n_values:,} different whole numbers look like identifiers"
    return None


def _like_strings(values: pd.Series[Any], n_values: int, of: str) -> str | None:
    n_rows = int(values.notna().sum())
    if values.dtype != object or n_values < FEWEST_LIKE_IDS or 2 * n_values <= n_rows:
        return None
    return f"{n_values:,} different strings in {n_rows:,} rows{of} look like identifiers"


def _is_copy(values: pd.Series[Any], n_values: int, y: NDArray[np.generic]) -> bool:
    """Return True if every value belongs to one class, and every class to one value."""
    classes, code = np.unique(y, return_inverse=True)
    if n_values != len(classes):
        return False
    pairs: Sequence[Any] = pd.factorize(values)[0] * len(classes) + code
    return len(np.unique(pairs)) == n_values
