"""Convert a tree to a DecisionTreeClassifier of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from fcca.exceptions import InvalidInputError
from fcca.export._distilled_tree import as_distilled
from fcca.export._to_json import positions_of_tests


def to_sklearn(classifier: Any) -> DecisionTreeClassifier:
    """Convert the tree to a fitted DecisionTreeClassifier with the same nodes.

    scikit-learn's trees convert X to 32-bit floats before they compare it with thresholds. For example, 0.1 rounded to 32
    bits is greater than the 64-bit threshold 0.1. So thresholds are moved slightly, in such a way that every training row
    stays in its leaf. This is impossible only if two training values on different sides of a threshold round to the same
    32-bit float. The thresholds of a tree from a version 1 document are not moved. Such a document does not store the
    training values next to them.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        A fitted classifier, or a tree that was read from a file.

    Returns
    -------
    DecisionTreeClassifier
        If all conditions of the tree are ``x > threshold`` and all columns are numeric, it accepts X in raw units. Missing
        values then go to the left, as in the tree, and never raise an error.

        Otherwise, it accepts the binary columns, as returned by ``transform`` of the :class:`DistilledTree` or of the
        classifier's ``discretizer_``. Its predictions are then always the same as those of the tree.

    Raises
    ------
    InvalidInputError
        If a tree from a version 1 document tests categories or missing values. Such a document does not store all
        conditions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fcca import FCCAClassifier
    >>> from fcca.export import from_json, to_json, to_sklearn
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> theirs = to_sklearn(from_json(to_json(classifier)))
    >>> bool((theirs.apply(X) == classifier.apply(X)).all())
    True
    """
    tree = as_distilled(classifier)
    classes = tree.classes_
    nodes, table = tree.structure, tree.thresholds
    tested = [None] * len(nodes.feature) if table is None else positions_of_tests(tree, table)
    conditions = np.array([-1 if at is None else at for at in tested], dtype=np.int32)
    if nodes.has_cuts_only and not tree.columns.has_categories:
        names = np.array(tree.columns.names, dtype=object) if tree.columns.named else None
        above = None if table is None else np.append(table.above, np.nan)[conditions]  # the last entry, NaN, is for leaves
        return nodes.to_sklearn(classes, len(tree.columns), names, above)
    if table is None:
        raise InvalidInputError(
            "A tree with categories, special values or missing values can be converted to scikit-learn only if all "
            "conditions of the classifier are known. This tree was read from a version 1 document, which stores only the "
            "conditions that the tree tests. Export the classifier again with fcca.export.to_json or fcca distill."
        )
    names = tree.get_feature_names_out()
    threshold = np.where(conditions < 0, np.nan, 0.5)
    on_conditions = replace(
        nodes,
        feature=conditions,
        threshold=threshold,
        categories={},
        asks_missing=frozenset(),
        asks_special=frozenset(),
    )
    return on_conditions.to_sklearn(classes, len(names), names)
