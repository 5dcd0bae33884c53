"""Read scikit-learn's HistGradientBoostingClassifier."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnsupportedModelError
from fcca.models._links import Logistic, Softmax
from fcca.models._model import TreeEnsemble
from fcca.models._nodes import Nodes, joined
from fcca.tables import Column, Columns


def _nodes(predictor: Any, output: int, n_outputs: int, order: NDArray[np.int64], columns: Columns) -> Nodes:
    """Read the nodes of one tree.

    Parameters
    ----------
    predictor : TreePredictor
        The tree.
    output : int
        Position of the score that the tree adds to.
    n_outputs : int
        Number of scores.
    order : ndarray
        For each column position in the tree, the position of the column in the table. The second result of
        :func:`_columns`.
    columns : Columns
        The columns of the table.
    """
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    value = np.zeros((len(nodes), n_outputs))
    value[:, output] = nodes["value"]
    by_category = nodes["is_categorical"].astype(bool) & ~leaf
    # Values are compared in float64. A threshold at infinity sends all values except missing ones to the left.
    native = np.where(leaf, 0.0, np.where(by_category, np.nan, nodes["num_threshold"]))
    feature = np.where(leaf, -1, order[np.where(leaf, 0, nodes["feature_idx"])]).astype(np.int32)
    missing_left = nodes["missing_go_to_left"].astype(bool)
    categories = {}
    for node in np.flatnonzero(by_category).tolist():
        words = np.ascontiguousarray(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]], dtype="<u4")
        left = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).astype(np.int64)
        column = columns[feature[node]]
        n_labels = len(column.categories or ())
        categories[node] = left[left < n_labels]
        if column.none_is_missing:  # None is a category after all others
            missing_left[node] = n_labels in left
    return Nodes(
        roots=np.zeros(1, dtype=np.int64),
        feature=feature,
        threshold=native,
        native_threshold=native,
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)).astype(np.int32),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)).astype(np.int32),
        value=value,
        missing_left=missing_left,
        categories=categories,
    )


def _column(name: str | None, found: NDArray[Any]) -> Column:
    """Build the description of a column of categories.

    ``found`` has the categories that the classifier's encoder knows.
    """
    categories = found.tolist()
    labels = [label for label in categories if label is not None and label == label]  # NaN differs from itself
    none = any(label is None for label in categories)
    if none and len(labels) + 1 < len(categories):
        raise UnsupportedModelError(
            f"HistGradientBoostingClassifier was fitted on both None and NaN in column {name!r}, and treats them as two "
            "different categories. Use only None or only NaN for missing values, and refit."
        )
    numbers = all(isinstance(label, Real) for label in labels)
    if numbers and found.dtype == object:
        raise UnsupportedModelError(
            f"HistGradientBoostingClassifier was fitted on a column of objects ({name!r}) whose categories are all numbers, "
            "but it cannot predict such a column. Convert the column to a numeric dtype or pandas' category dtype, and "
            "refit."
        )
    return Column(name, tuple(labels), missing=True, as_category=not numbers and not none, none_is_missing=none)


def _columns(estimator: Any) -> tuple[Columns, NDArray[np.int64]]:
    """Return the columns of the table, and their order inside the trees.

    Inside the trees, columns of categories come before all others. For each column position in the trees, the second result
    has the position in the table.
    """
    n = estimator.n_features_in_
    names: list[Any] = [str(name) for name in getattr(estimator, "feature_names_in_", [])] or [None] * n
    columns = [Column(name, missing=True) for name in names]
    if estimator.is_categorical_ is None:
        return Columns(tuple(columns)), np.arange(n)
    first = np.flatnonzero(estimator.is_categorical_)
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    for j, categories in zip(first.tolist(), encoder.categories_, strict=True):
        columns[j] = _column(names[j], categories)
    return Columns(tuple(columns)), np.concatenate([first, np.flatnonzero(~estimator.is_categorical_)])


def read(estimator: Any) -> TreeEnsemble:
    """Convert a fitted HistGradientBoostingClassifier to a TreeEnsemble."""
    n_outputs = estimator.n_trees_per_iteration_
    columns, order = _columns(estimator)
    predictors = [
        _nodes(predictor, output, n_outputs, order, columns)
        for iteration in estimator._predictors
        for output, predictor in enumerate(iteration)
    ]
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        columns=columns,
        link=Softmax() if n_outputs > 1 else Logistic(),
        base=np.asarray(estimator._baseline_prediction, dtype=np.float64).ravel(),
        **joined(predictors).arguments(),
    )
