"""Check a loaded classifier before compiled code uses its arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import OpenColumn
from fcca.models._model import Model, TreeEnsemble
from fcca.models._registry import read_model

Floats = NDArray[np.float64]

TRIAL_ROWS, TRIAL_VALUES = 16, 2**20
LARGEST_VALUE = 1e30  # scikit-learn takes values within float32


def check_usable(classifier: Any) -> None:
    """Check that a loaded classifier can be read and can predict some rows.

    Any exception means that the file is damaged. A classifier that fcca does not support passes this check.
    :func:`read_model` raises the error later, when the classifier is used.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = read_model(classifier)
        except UnsupportedModelError:
            return
        if isinstance(model, TreeEnsemble):
            check_trees(model)
        rows = _trial_rows(model)
        model.probabilities(model.scores(rows))
        if model.columns is None or not model.columns.has_categories:
            classifier.predict(rows)
        elif not any(isinstance(column, OpenColumn) for column in model.columns):  # labels of open columns are unknown here
            classifier.predict(model.columns.decode(rows))


def check_trees(model: TreeEnsemble) -> None:
    """Check that the nodes form trees with valid columns, thresholds and values.

    Raises
    ------
    ValueError
        If a tree is damaged. The message describes the damage.
    """
    n_nodes, inner = len(model.feature), model.feature >= 0
    children = np.concatenate([model.left[inner], model.right[inner]])
    if np.any((children < 0) | (children >= n_nodes)):
        raise ValueError("a node of a tree has a child that does not exist")
    # No node has two parents and no root has one, so no path is a cycle.
    if np.bincount(np.concatenate([model.roots, children]), minlength=n_nodes).max(initial=0) > 1:
        raise ValueError("the nodes of a tree do not form a tree")
    if np.any(model.feature >= model.n_features):
        raise ValueError(f"a tree splits by a column that does not exist, as there are {model.n_features} columns")
    by_number = inner.copy()
    by_number[list(model.categories)] = False
    if np.isnan(model.threshold[by_number]).any():
        raise ValueError("a tree has a threshold that is NaN")
    if not (np.isfinite(model.value).all() and np.isfinite(model.base).all()):
        raise ValueError("a tree has a leaf value that is NaN or infinite")
    if any(codes.min(initial=0) < 0 for codes in model.categories.values()):
        raise ValueError("a tree splits by a category code below 0")


def _trial_rows(model: Model) -> Floats:
    """Build some rows to predict, with categories as codes.

    The rows contain zeros, and values at and above the cuts of the model. If all columns support missing values, one row
    has only missing values.
    """
    rows = np.zeros((2, model.n_features))
    cuts = np.empty(0)
    if isinstance(model, TreeEnsemble):
        cuts = np.clip(model.threshold[(model.feature >= 0) & ~np.isnan(model.threshold)], -LARGEST_VALUE, LARGEST_VALUE)
    n = min(TRIAL_ROWS, TRIAL_VALUES // max(1, model.n_features))
    if len(cuts) and n:
        chosen = np.random.default_rng(0).choice(cuts, size=(n, model.n_features))
        rows = np.concatenate([rows, chosen, chosen + 1.0])
    for j, column in enumerate(model.columns or ()):
        if column.categories is not None:
            rows[:, j] = np.arange(len(rows)) % len(column.categories)
    if model.columns is not None and model.columns.may_miss.all():
        rows[1] = np.nan
    return rows
