"""Compute binary columns: 1 where a condition holds, 0 elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.tables import UNKNOWN

Floats = NDArray[np.float64]

ROWS_PER_CHUNK = 4096  # small enough for the cache


def binarized(
    X: Floats,
    feature: NDArray[np.int32],
    kind: NDArray[np.str_],
    threshold: Floats,
    codes: Sequence[tuple[int, ...] | None],
    n_categories: Mapping[int, int],
    names: Sequence[str],
) -> NDArray[np.int8]:
    """Compute one binary column per condition.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The table. Categories are given as codes, unknown categories as -1, missing values as NaN.
    feature, kind, threshold, codes : one entry per condition
        Position of the column; "cut", "special", "set" or "missing"; the threshold of a cut or the special value; the
        category codes of a set.
    n_categories : mapping of int to int
        Number of categories of each column that has a condition of the kind "set".
    names : sequence of str
        Names of the columns, for error messages.

    Returns
    -------
    ndarray of shape (n_rows, n_conditions)
        1 where the condition holds, otherwise 0.
    """
    out = np.empty((len(X), len(feature)), dtype=np.int8)
    if (kind == "cut").all():
        for begin in range(0, len(X), ROWS_PER_CHUNK):
            chunk = slice(begin, begin + ROWS_PER_CHUNK)
            np.greater(X[chunk][:, feature], threshold, out=out[chunk], casting="unsafe")
        return out
    cuts, special, missing = (np.flatnonzero(kind == name) for name in ("cut", "special", "missing"))
    memberships = {j: _memberships(j, feature, codes, n) for j, n in n_categories.items()}
    for begin in range(0, len(X), ROWS_PER_CHUNK):
        rows = X[begin : begin + ROWS_PER_CHUNK]
        binary = out[begin : begin + ROWS_PER_CHUNK]
        binary[:, cuts] = rows[:, feature[cuts]] > threshold[cuts]
        binary[:, special] = rows[:, feature[special]] == threshold[special]
        binary[:, missing] = np.isnan(rows[:, feature[missing]])
        for j, (conditions, member) in memberships.items():
            binary[:, conditions] = member[_whole_codes(rows[:, j], n_categories[j], names[j])]
    return out


def _memberships(
    j: int, feature: NDArray[np.int32], codes: Sequence[tuple[int, ...] | None], n: int
) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """Return the "set" conditions on column ``j``, and the categories in them.

    The first result has the positions of the conditions, the second is a table. The table has one row per category code and
    one column per condition: 1 if the set contains the category. An additional last row, for missing values and unknown
    categories, is 0.
    """
    conditions = np.array([at for at in np.flatnonzero(feature == j).tolist() if codes[at] is not None], dtype=np.intp)
    member = np.zeros((n + 1, len(conditions)), dtype=np.int8)
    for k, at in enumerate(conditions.tolist()):
        member[list(codes[at] or ()), k] = 1
    return conditions, member


def _whole_codes(x: Floats, n: int, name: str) -> NDArray[np.intp]:
    """Convert the category codes ``x`` to integers.

    ``n`` is the number of categories, and in the result the code of a missing value and of an unknown category.
    """
    in_no_set = np.isnan(x) | (x == UNKNOWN)
    code = np.where(in_no_set, n, x)
    wrong = (code != np.floor(code)) | (code < 0) | ((code >= n) & ~in_no_set)
    if wrong.any():
        raise InvalidInputError(
            f"Category code out of range: column {name!r} has {n} categories, got the code {x[wrong][0]:g}. Pass codes from "
            f"0 to {n - 1}, or a data frame with the categories themselves."
        )
    return code.astype(np.intp)
