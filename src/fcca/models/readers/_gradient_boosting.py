"""Read scikit-learn's GradientBoostingClassifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import named_columns
from fcca.models._links import Logistic, Softmax
from fcca.models._model import TreeEnsemble
from fcca.models.readers._sklearn_trees import join_trees


def check(estimator: Any) -> None:
    """Check that the parameter ``init`` is supported."""
    if estimator.init is not None and estimator.init != "zero" and not isinstance(estimator.init, DummyClassifier):
        raise UnsupportedModelError(
            f"GradientBoostingClassifier(init={estimator.init!r}) starts from the predictions of another classifier, which "
            "is not supported. Supported: init=None and init='zero'."
        )


def read(estimator: Any) -> TreeEnsemble:
    """Convert a fitted GradientBoostingClassifier to a TreeEnsemble."""
    check(estimator)
    stages = estimator.estimators_  # (stages, outputs)
    n_outputs = stages.shape[1]
    trees, values = [], []
    for stage in stages:
        for output, regressor in enumerate(stage):
            value = np.zeros((regressor.tree_.node_count, n_outputs))
            value[:, output] = estimator.learning_rate * regressor.tree_.value[:, 0, 0]
            trees.append(regressor.tree_)
            values.append(value)
    base = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), dtype=np.float32))[0]
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        columns=named_columns(estimator, estimator.n_features_in_, missing=False),
        link=Softmax() if n_outputs > 1 else Logistic(2.0 if estimator.loss == "exponential" else 1.0),
        # A score of zero predicts the second class.
        boundary=float(np.nextafter(0.0, -1.0)),
        base=np.asarray(base, dtype=np.float64),
        **join_trees(trees, values, takes_missing=False).arguments(),
    )
