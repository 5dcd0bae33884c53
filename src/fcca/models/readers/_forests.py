"""Read scikit-learn's decision trees, random forests and extra-trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import named_columns
from fcca.models._links import Share
from fcca.models._model import TreeEnsemble
from fcca.models.readers._sklearn_trees import join_trees


def read(estimator: Any) -> TreeEnsemble:
    """Convert a fitted decision tree or forest of scikit-learn to a TreeEnsemble.

    With ``n_jobs`` above 1, the order in which a forest adds up its trees differs between calls. This can change the last
    bit of a probability. The model uses the order of ``n_jobs=1``.
    """
    if estimator.n_outputs_ > 1:
        raise UnsupportedModelError(
            f"{type(estimator).__name__} was fitted on a y with {estimator.n_outputs_} columns, but one column is expected. "
            "Fit one classifier per column of y."
        )
    # One score per class, also for two classes: the largest average wins, and the first class in a tie.
    n_classes = int(estimator.n_classes_)
    trees = getattr(estimator, "estimators_", [estimator])
    structures = [tree.tree_ for tree in trees]
    # Support of missing values differs between releases and kinds of trees. The estimator's method decides.
    takes_missing = bool(trees[0]._support_missing_values(np.empty((0, estimator.n_features_in_))))
    values = [structure.value[:, 0, :n_classes] for structure in structures]
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        columns=named_columns(estimator, estimator.n_features_in_, missing=takes_missing),
        link=Share(),
        base=np.zeros(n_classes),
        divisor=float(len(trees)),
        **join_trees(structures, values, takes_missing=takes_missing).arguments(),
    )
