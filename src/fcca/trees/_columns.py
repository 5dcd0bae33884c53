"""The columns that the nodes of a tree can test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]

MOST_QUESTIONS = 10_000
MOST_BYTES = 2**32  # maximum size of the search's tables of pairs of questions
ROWS_PER_CHUNK = 65_536


@dataclass(frozen=True)
class Questions:
    """The questions ``x[feature] > threshold`` that a tree may ask, and their answers.

    Attributes
    ----------
    feature : ndarray of shape (n_questions,)
        Position of the column that a question tests.
    threshold : ndarray of shape (n_questions,)
    answers : ndarray of shape (n_rows, n_questions)
        1 if the answer for a training row is yes, 0 if it is no.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    answers: NDArray[np.uint8]  # rows × questions


def binary_questions(answers: NDArray[np.uint8], n_classes: int) -> Questions:
    """List the questions of a table of 0 and 1: one per column."""
    n = answers.shape[1]
    _check_number(n, n_classes)
    return Questions(np.arange(n, dtype=np.int32), np.full(n, 0.5), answers)


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


def _check_number(n: int, n_classes: int) -> None:
    planes = 1 if n_classes <= 2 else n_classes
    if n > MOST_QUESTIONS or 16 * planes * n * n > MOST_BYTES:
        most = min(MOST_QUESTIONS, int((MOST_BYTES / (16 * planes)) ** 0.5))
        raise InvalidInputError(
            f"X has {n} columns of 0 and 1, but with {n_classes} classes the search accepts at most {most}. Select fewer "
            "columns, for example with FCCADiscretizer."
        )
