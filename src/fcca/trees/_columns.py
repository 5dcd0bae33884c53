"""The tests ``x > threshold`` that the nodes of a tree can use."""

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
    at_midpoints : bool
        Whether some columns have values other than 0 and 1. Then every column is split at all midpoints between its values.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    answers: NDArray[np.uint8]  # rows × questions
    at_midpoints: bool  # whether some columns are not 0/1 and were split at all midpoints


def binary_questions(answers: NDArray[np.uint8], n_classes: int) -> Questions:
    """List the questions of a table of 0 and 1: one per column."""
    n = answers.shape[1]
    _check_number(n, n_classes)
    return Questions(np.arange(n, dtype=np.int32), np.full(n, 0.5), answers, at_midpoints=False)


def midpoint_questions(X: NDArray[Any], n_classes: int) -> Questions:
    """List the questions of numeric columns: one per midpoint between neighbouring values. Answer them for all rows."""
    by_column = [middles(np.unique(X[:, j])) for j in range(X.shape[1])]
    feature = np.repeat(np.arange(len(by_column), dtype=np.int32), [len(middle) for middle in by_column])
    _check_number(len(feature), n_classes)
    threshold = np.concatenate(by_column)
    answers = np.empty((len(X), len(feature)), dtype=np.uint8)
    for begin in range(0, len(X), ROWS_PER_CHUNK):
        chunk = slice(begin, begin + ROWS_PER_CHUNK)
        np.greater(X[chunk][:, feature], threshold, out=answers[chunk], casting="unsafe")
    return Questions(feature, threshold, answers, at_midpoints=True)


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
            f"The columns of X can be split at {n} thresholds, but with {n_classes} classes the search accepts at most "
            f"{most}. Binarize the columns at fewer thresholds first, for example with FCCADiscretizer."
        )
