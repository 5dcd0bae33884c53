"""scikit-learn's HistGradientBoostingClassifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcca.exceptions import UnsupportedModelError
from fcca.models._links import Logistic, Softmax
from fcca.models._model import TreeEnsemble
from fcca.models._sklearn_trees import Nodes, joined

CATEGORICAL = (
    "HistGradientBoostingClassifier was {} categorical features, whose splits are sets of categories rather than cuts. "
    "Encode them as numbers or as one column per category and set categorical_features=None."
)


def check(estimator: Any) -> None:
    """Refuse categorical features before anything is fitted on them."""
    chosen = estimator.categorical_features
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return
    chosen = np.asarray(chosen)
    if chosen.any() if chosen.dtype == bool else chosen.size > 0:
        raise UnsupportedModelError(CATEGORICAL.format("given"))


def _nodes(predictor: Any, output: int, n_outputs: int) -> Nodes:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    value = np.zeros((len(nodes), n_outputs))
    value[:, output] = nodes["value"]
    # Values are compared as they come, in float64; an infinite threshold sends all that is not missing to the left.
    native = np.where(leaf, 0.0, nodes["num_threshold"])
    return Nodes(
        roots=np.zeros(1, dtype=np.int64),
        feature=np.where(leaf, -1, nodes["feature_idx"]).astype(np.int32),
        threshold=native,
        native_threshold=native,
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)).astype(np.int32),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)).astype(np.int32),
        value=value,
        missing_left=nodes["missing_go_to_left"].astype(bool),
        categories={},
    )


def read(estimator: Any) -> TreeEnsemble:
    """Read a fitted HistGradientBoostingClassifier."""
    if estimator.is_categorical_ is not None:
        raise UnsupportedModelError(CATEGORICAL.format("fitted on"))
    n_outputs = estimator.n_trees_per_iteration_
    predictors = [
        _nodes(predictor, output, n_outputs)
        for iteration in estimator._predictors
        for output, predictor in enumerate(iteration)
    ]
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        link=Softmax() if n_outputs > 1 else Logistic(),
        base=np.asarray(estimator._baseline_prediction, dtype=np.float64).ravel(),
        **joined(predictors).arguments(),
    )
