"""Checks of tables and labels that every discretizer makes before it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from fcca._frames import check_column_names, check_columns
from fcca._weights import check_weights
from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]


def check_training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Floats, NDArray[np.generic], Floats | None, NDArray[np.int64]]:
    """Validated X, y and weights without the rows of weight 0, and which rows of X they are."""
    check_column_names(X)
    X, y = validate_data(estimator, X, y, dtype=np.float64, order="C")
    check_classification_targets(y)
    rows = np.arange(len(X))
    if sample_weight is not None:
        sample_weight = check_weights(sample_weight, len(X))
        rows = np.flatnonzero(sample_weight > 0)
        if len(rows) < len(X):
            X, y, sample_weight = X[rows], y[rows], sample_weight[rows]
    n_classes = len(np.unique(y))
    if n_classes < 2:
        raise InvalidInputError(f"y must have at least two classes to learn from; got 1 class in {len(X)} row(s).")
    return X, y, sample_weight, rows


def check_same_columns(discretizer: Any, classifier: Any, n_features: int) -> None:
    """Refuse a frozen classifier that was fitted on other columns than the discretizer."""
    seen, given = (getattr(fitted, "feature_names_in_", None) for fitted in (classifier, discretizer))
    check_columns(
        None if given is None else list(given),
        discretizer.n_features_in_,
        None if seen is None else list(seen),
        n_features,
        knower="the frozen classifier was fitted on",
    )


def distinct_rows(X: Floats, y: NDArray[np.generic], weight: Floats | None) -> tuple[Floats, NDArray[np.generic], Floats]:
    """Every distinct (row, label) once, sorted, with the sum of its weights."""
    label = np.unique(y, return_inverse=True)[1]
    order = np.lexsort((label, *X.T[::-1]))
    X, y, label = X[order], y[order], label[order]
    first = np.ones(len(X), dtype=bool)
    first[1:] = np.any(X[1:] != X[:-1], axis=1) | (label[1:] != label[:-1])
    weights = np.ones(len(X)) if weight is None else weight[order]
    return X[first], y[first], np.add.reduceat(weights, np.flatnonzero(first))
