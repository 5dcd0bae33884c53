"""The columns that the nodes of a tree can test."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]

MOST_COLUMNS = 10_000
MOST_BYTES = 2**32  # maximum size of the search's tables of pairs of columns
ROWS_PER_CHUNK = 65_536


def zeros_and_ones(X: NDArray[Any]) -> NDArray[np.uint8] | None:
    """Convert a table of 0 and 1 to bytes; return None if X has other values."""
    if X.dtype == np.bool_:
        return np.ascontiguousarray(X).view(np.uint8)
    if X.dtype in (np.uint8, np.int8):
        return np.ascontiguousarray(X).view(np.uint8) if X.min() >= 0 and X.max() <= 1 else None
    answers = np.empty(X.shape, dtype=np.uint8)
    for begin in range(0, len(X), ROWS_PER_CHUNK):
        chunk = X[begin : begin + ROWS_PER_CHUNK]
        ones = chunk == 1
        if not np.array_equal(ones, chunk):
            return None
        answers[begin : begin + ROWS_PER_CHUNK] = ones
    return answers


def middles(values: NDArray[Any]) -> Floats:
    """Return the midpoints between neighbouring values, which are sorted and distinct."""
    values = values.astype(np.float64)
    middle = values[:-1] + (values[1:] - values[:-1]) / 2
    return np.where(middle < values[1:], middle, values[:-1])  # between adjacent floats, the lower one is the threshold


def check_number_of_columns(n: int, n_classes: int) -> None:
    """Check that the tables of the search fit into memory."""
    planes = 1 if n_classes <= 2 else n_classes
    if n > MOST_COLUMNS or 16 * planes * n * n > MOST_BYTES:
        most = min(MOST_COLUMNS, int((MOST_BYTES / (16 * planes)) ** 0.5))
        raise InvalidInputError(
            f"X has {n} columns of 0 and 1, but with {n_classes} classes the search accepts at most {most}. Select fewer "
            "columns, for example with FCCADiscretizer."
        )
