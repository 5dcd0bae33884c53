"""A tree as a DecisionTreeClassifier of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from fcca.exceptions import InvalidInputError
from fcca.export._distilled_tree import as_distilled
from fcca.export._to_json import positions_of_tests


def to_sklearn(classifier: Any) -> DecisionTreeClassifier:
    """A fitted DecisionTreeClassifier with the same nodes.

    scikit-learn's trees turn X into 32-bit floats before they compare, so of values that are the same 32-bit float they
    can get only one side right. Thresholds are moved so that training rows end where they should, unless those floats cannot
    tell them apart: a value on the threshold 0.1, which becomes greater than 0.1, stays on its side. A tree of a document of
    version 1 has not kept the training values around its thresholds, which then stay as they are.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        Fitted.

    Returns
    -------
    DecisionTreeClassifier
        It takes X, in raw units, where all conditions of the tree are thresholds and all columns of the table are numbers.
        Missing numbers go to the left, as in the tree, and are not refused. Otherwise it takes the 0/1 columns, what
        ``transform`` of the DistilledTree and of the classifier's ``discretizer_`` give, and answers without exception.

    Raises
    ------
    InvalidInputError
        For a tree that tests categories or gaps and comes from a document of version 1, which has not kept its conditions.

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
    classes = tree.class_array
    nodes, table = tree.structure, tree.thresholds
    tested = [None] * len(nodes.feature) if table is None else positions_of_tests(tree, table)
    conditions = np.array([-1 if at is None else at for at in tested], dtype=np.int32)
    if nodes.has_cuts_only and not tree.columns.has_categories:
        names = np.array(tree.columns.names, dtype=object) if tree.columns.named else None
        above = None if table is None else np.append(table.above, np.nan)[conditions]  # NaN, the last one, for leaves
        return nodes.to_sklearn(classes, len(tree.columns), names, above)
    if table is None:
        raise InvalidInputError(
            "scikit-learn's trees compare with thresholds only. This tree also tests categories or gaps, or has columns of "
            "categories, and it has not kept the conditions that it was made of: it comes from a document of version 1. "
            "Write it again with fcca.export.to_json or fcca distill."
        )
    names = tree.get_feature_names_out()
    threshold = np.where(conditions < 0, np.nan, 0.5)
    on_conditions = replace(nodes, feature=conditions, threshold=threshold, categories={}, asks_missing=frozenset())
    return on_conditions.to_sklearn(classes, len(names), names)
