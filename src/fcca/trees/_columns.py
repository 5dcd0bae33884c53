"""Which yes-or-no questions a table's columns allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]

MOST_QUESTIONS = 10_000


def questions(X: Floats, feature_names: list[str]) -> tuple[ThresholdTable, bool]:
    """Conditions ``x > t`` that tell training rows apart: one per 0/1 column, all midpoints of the others.

    Also returns whether any column was cut at midpoints.
    """
    feature: list[NDArray[np.int32]] = []
    threshold: list[Floats] = []
    cut_at_midpoints = False
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        if len(values) < 2:
            continue
        cut_at_midpoints |= len(values) > 2 or not np.array_equal(values, [0, 1])
        middle = values[:-1] + (values[1:] - values[:-1]) / 2
        middle = np.where(middle < values[1:], middle, values[:-1])  # between adjacent floats the lower one divides them
        feature.append(np.full(len(middle), j, dtype=np.int32))
        threshold.append(middle)
    n = sum(map(len, threshold))
    if n > MOST_QUESTIONS:
        raise InvalidInputError(
            f"The columns of X can be cut at {n} places, more than the {MOST_QUESTIONS} that can be searched. Cut them at "
            "the places that matter first, for example with FCCADiscretizer."
        )
    none = np.empty(0)
    table, _ = ThresholdTable.from_counts(
        feature_names, np.concatenate([none, *feature]), np.concatenate([none, *threshold]), np.zeros(n)
    )
    return table, cut_at_midpoints
