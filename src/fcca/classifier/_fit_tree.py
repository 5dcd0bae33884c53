"""Fit the tree to labels, or to predictions or probabilities of the black box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.discretizers import BinaryRows
from fcca.exceptions import InvalidInputError
from fcca.trees import OptimalTreeClassifier


def resolve_fit_to(
    fit_to: str | None, tree: Any, rows: BinaryRows, discretizer: Any, metadata: Mapping[str, Any] | None = None
) -> str:
    """Replace None with a default: the probabilities where they can be learned, otherwise the labels.

    Parameters
    ----------
    fit_to : {"labels", "target", "probability"} or None
    tree : classifier
        With the criterion "error", None is "labels": the tree minimizes the number of training errors.
    rows : BinaryRows
        The training rows.
    discretizer : discretizer
        Fitted.
    metadata : mapping, optional
        Further arguments of the tree's ``fit``.
    """
    problem = ""
    if getattr(type(tree), "fit", None) is not OptimalTreeClassifier.fit:
        problem = f"the tree is a {type(tree).__name__}, not an OptimalTreeClassifier"
    elif metadata:
        problem = f"the fit of the tree receives {', '.join(metadata)}"
    elif rows.soft is None:
        problem = "the black box has no predict_proba"
    elif not np.array_equal(discretizer.estimator_.classes_, np.unique(rows.y)):
        problem = "y does not contain the same classes as the training labels of the black box"
    if fit_to == "probability" and problem:
        raise InvalidInputError(f"fit_to='probability' is not possible: {problem}. Use fit_to='labels' or fit_to='target'.")
    if fit_to is not None:
        return fit_to
    return "labels" if problem or tree.criterion == "error" else "probability"


def fit_tree(tree: Any, rows: BinaryRows, fit_to: str, metadata: Mapping[str, Any] | None = None) -> Any:
    """Fit a tree to binary rows.

    Parameters
    ----------
    tree : classifier
    rows : BinaryRows
    fit_to : {"labels", "target", "probability"}
    metadata : mapping, optional
        Further arguments of ``fit``.
    """
    learned = rows.predictions if fit_to == "target" else rows.y
    if fit_to == "probability":
        return tree.fit_counted(rows.B, learned, rows.weight, rows.n_rows, rows.soft)
    if rows.n_rows is not None:
        return tree.fit_counted(rows.B, learned, rows.weight, rows.n_rows)
    weights = {} if rows.weight is None else {"sample_weight": rows.weight}
    return tree.fit(rows.B, learned, **weights, **(metadata or {}))


def binary_rows(discretizer: Any, X: Any, y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> BinaryRows:
    """Binarize and predict rows by a fitted discretizer.

    Parameters
    ----------
    discretizer : discretizer
    X : array-like or data frame of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
    sample_weight : ndarray of shape (n_rows,) or None
    """
    if hasattr(discretizer, "binary_rows"):
        found: BinaryRows = discretizer.binary_rows(X, y, sample_weight)
        return found
    return BinaryRows(discretizer.transform(X), y, discretizer.predict_target(X), sample_weight)


def selection_fit_to(fit_to: str | None) -> str:
    """Return what a selection of thresholds is measured by: the predictions for "target", else the labels."""
    return "target" if fit_to == "target" else "labels"
