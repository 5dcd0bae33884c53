"""Check whether given rows are the rows that a classifier was fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fcca.tables import TrainingTable

if TYPE_CHECKING:
    from fcca.classifier._classifier import FCCAClassifier


def are_training_rows(classifier: FCCAClassifier, rows: TrainingTable) -> bool:
    """Return True if the classifier seems to have been fitted on these rows, in the same order.

    The classifier does not store its rows. So the class weights in its leaves and the values that its counterfactuals change
    are compared with the given rows.

    Parameters
    ----------
    classifier : FCCAClassifier
        Fitted.
    rows : TrainingTable
    """
    return _same_leaves(classifier, rows) and _start_the_counterfactuals(classifier, rows)


def _same_leaves(classifier: FCCAClassifier, rows: TrainingTable) -> bool:
    """Return True if the class weights in the leaves are the same as in ``fit``.

    They are recomputed from the given rows. The numbers of rows in the leaves are compared, too.
    """
    nodes = classifier.structure_
    is_leaf, shape = nodes.feature < 0, nodes.weight.shape
    leaf = classifier.apply(rows.X)
    learned = np.asarray(classifier.discretizer_.predict_target(rows.X) if classifier.fit_to_ == "target" else rows.y)
    label = pd.Index(classifier.classes_).get_indexer(learned)
    if (label < 0).any():
        return False
    weight = np.ones(len(leaf)) if rows.sample_weight is None else rows.sample_weight
    weight = classifier.tree_.row_weights(learned, weight)
    held = np.bincount(leaf * shape[1] + label, weights=weight, minlength=shape[0] * shape[1]).reshape(shape)
    n_rows = np.bincount(leaf, minlength=shape[0])
    return np.array_equal(n_rows[is_leaf], nodes.n_rows[is_leaf]) and np.allclose(
        held[is_leaf], nodes.weight[is_leaf], rtol=1e-9
    )


def _start_the_counterfactuals(classifier: FCCAClassifier, rows: TrainingTable) -> bool:
    """Return True if every counterfactual starts at the values of its row.

    This shows that the rows have the same order as in ``fit``.
    """
    found = getattr(classifier.discretizer_, "counterfactuals_", None)
    if found is None:
        return True
    at = np.searchsorted(rows.rows, found.rows)
    if len(at) and (at.max() >= len(rows.rows) or not np.array_equal(rows.rows[at], found.rows)):
        return False
    table = classifier.discretizer_.encode(rows.X)
    origin = np.asarray(table[at[found.moves.point], found.moves.feature], dtype=np.float64)
    return np.array_equal(origin, found.moves.origin, equal_nan=True)
