"""Fit a tree to the labels, to the predictions or class probabilities of the black box, or to a mixture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.discretizers import BinaryRows
from fcca.exceptions import InvalidInputError
from fcca.tables import SoftLabels
from fcca.trees import OptimalTreeClassifier
from fcca.utils import SOFT_FIT_TO


def resolve_fit_to(
    fit_to: str | None, tree: Any, rows: BinaryRows, discretizer: Any, metadata: Mapping[str, Any] | None = None
) -> str:
    """Decide what the tree learns.

    If ``fit_to`` is None, return "mixture" if the tree can learn the probabilities of the black box, otherwise "labels".
    If it is "mixture" or "probability" and the tree cannot learn them, raise an error.

    Parameters
    ----------
    fit_to : {"mixture", "probability", "labels", "target"} or None
    tree : classifier
        Not fitted. With the criterion "error", None gives "labels", because such a tree should minimize the number of
        training errors.
    rows : BinaryRows
        The training rows as binary columns.
    discretizer : discretizer
        Fitted.
    metadata : mapping, optional
        Further arguments for the ``fit`` of the tree.
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
    if fit_to in SOFT_FIT_TO and problem:
        raise InvalidInputError(f"fit_to={fit_to!r} is not possible: {problem}. Use fit_to='labels' or fit_to='target'.")
    if fit_to is not None:
        return fit_to
    return "labels" if problem or tree.criterion == "error" else "mixture"


def fit_tree(tree: Any, rows: BinaryRows, fit_to: str, metadata: Mapping[str, Any] | None = None) -> Any:
    """Fit a tree on binary columns, and return it.

    Parameters
    ----------
    tree : classifier
        Not fitted. It is fitted in place.
    rows : BinaryRows
        The training rows as binary columns.
    fit_to : {"mixture", "probability", "labels", "target"}
        What the tree learns: the labels, the predictions or class probabilities of the black box, or a mixture of its
        probabilities and the labels.
    metadata : mapping, optional
        Further arguments for the ``fit`` of the tree.
    """
    learned = rows.predictions if fit_to == "target" else rows.y
    if fit_to in SOFT_FIT_TO:
        return tree.fit_counted(rows.B, learned, rows.weight, rows.n_rows, _soft_labels(rows, fit_to))
    if rows.n_rows is not None:
        return tree.fit_counted(rows.B, learned, rows.weight, rows.n_rows)
    weights = {} if rows.weight is None else {"sample_weight": rows.weight}
    return tree.fit(rows.B, learned, **weights, **(metadata or {}))


def _soft_labels(rows: BinaryRows, fit_to: str) -> SoftLabels:
    """Return the soft labels that a tree learns: the probabilities of the black box, or their mixture with the labels."""
    assert rows.soft is not None  # resolve_fit_to refuses black boxes without probabilities
    if fit_to == "probability":
        return rows.soft
    label, _ = pd.factorize(rows.y, sort=True)
    return rows.soft.mixed(label, rows.weight)


def binary_rows(discretizer: Any, X: Any, y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> BinaryRows:
    """Convert rows to binary columns, and predict them with the black box.

    Parameters
    ----------
    discretizer : discretizer
        Fitted. It has the thresholds and the black box.
    X : array-like or data frame of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
    sample_weight : ndarray of shape (n_rows,) or None
    """
    if hasattr(discretizer, "binary_rows"):
        found: BinaryRows = discretizer.binary_rows(X, y, sample_weight)
        return found
    return BinaryRows(discretizer.transform(X), y, discretizer.predict_target(X), sample_weight)


def selection_fit_to(fit_to: str | None) -> str:
    """Return the parameter ``fit_to`` of an OptimalSelection, for a tree with this ``fit_to``.

    The selected thresholds should separate the same classes as the tree. If the tree learns the predictions of the black
    box, the result is "target". Otherwise, it is "labels".
    """
    return "target" if fit_to == "target" else "labels"
