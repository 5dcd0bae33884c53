"""Conditions applied to rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]

ROWS_PER_PIECE = 4096  # pieces that stay in the cache


def binarized(
    X: Floats,
    feature: NDArray[np.int32],
    kind: NDArray[np.str_],
    threshold: Floats,
    codes: Sequence[tuple[int, ...] | None],
    n_categories: Mapping[int, int],
    names: Sequence[str],
) -> NDArray[np.int8]:
    """Compute one 0/1 column per condition from an encoded table.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    feature, kind, threshold, codes : per condition
    n_categories : mapping of int to int
        For every column with a set, how many categories it has.
    names : sequence of str
        What messages call the columns.
    """
    out = np.empty((len(X), len(feature)), dtype=np.int8)
    if (kind == "cut").all():
        for begin in range(0, len(X), ROWS_PER_PIECE):
            piece = slice(begin, begin + ROWS_PER_PIECE)
            np.greater(X[piece][:, feature], threshold, out=out[piece], casting="unsafe")
        return out
    cuts, gaps = np.flatnonzero(kind == "cut"), np.flatnonzero(kind == "missing")
    memberships = {j: _memberships(j, feature, codes, n) for j, n in n_categories.items()}
    for begin in range(0, len(X), ROWS_PER_PIECE):
        rows = X[begin : begin + ROWS_PER_PIECE]
        answers = out[begin : begin + ROWS_PER_PIECE]
        answers[:, cuts] = rows[:, feature[cuts]] > threshold[cuts]
        answers[:, gaps] = np.isnan(rows[:, feature[gaps]])
        for j, (conditions, member) in memberships.items():
            answers[:, conditions] = member[_whole_codes(rows[:, j], n_categories[j], names[j])]
    return out


def _memberships(
    j: int, feature: NDArray[np.int32], codes: Sequence[tuple[int, ...] | None], n: int
) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """The sets of a column and their members; the last line is for missing values."""
    conditions = np.array([at for at in np.flatnonzero(feature == j).tolist() if codes[at] is not None], dtype=np.intp)
    member = np.zeros((n + 1, len(conditions)), dtype=np.int8)
    for k, at in enumerate(conditions.tolist()):
        member[list(codes[at] or ()), k] = 1
    return conditions, member


def _whole_codes(x: Floats, n: int, name: str) -> NDArray[np.intp]:
    """Codes as positions, n for missing values."""
    code = np.where(np.isnan(x), n, x)
    wrong = (code != np.floor(code)) | (code < 0) | ((code >= n) & ~np.isnan(x))
    if wrong.any():
        raise InvalidInputError(
            f"Column {name!r} holds categories, and {x[wrong][0]:g} is not the position of one of the {n}. Give a data "
            "frame with the categories themselves, or their positions."
        )
    return code.astype(np.intp)
