"""scikit-learn's linear classifiers: everything with ``coef_`` and ``intercept_``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

from fcca.exceptions import UnsupportedModelError
from fcca.models._links import Clipped, Link, Logistic, NoProbability
from fcca.models._model import LinearModel


def read(estimator: Any) -> LinearModel:
    """Read a fitted linear classifier of two classes."""
    if len(estimator.classes_) > 2:
        raise UnsupportedModelError(
            f"{type(estimator).__name__} was fitted on {len(estimator.classes_)} classes; linear models are supported with "
            "two classes, trees and their ensembles with any number."
        )
    coef = estimator.coef_
    if sparse.issparse(coef):
        coef = coef.toarray()
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64).ravel(), (1,)).copy()
    n_features = coef.shape[1]
    return LinearModel(
        classes=estimator.classes_,
        n_features=n_features,
        link=_link(estimator),
        coef=coef,
        intercept=intercept,
        centre=np.zeros(n_features),
    )


def _link(estimator: Any) -> Link:
    if isinstance(estimator, SGDClassifier) and estimator.loss == "modified_huber":
        return Clipped()
    if isinstance(estimator, SVC) and estimator.probability is True:
        return NoProbability(
            reason="SVC(probability=True) fits its probabilities by a cross-validation of its own and rounds them in its "
            "own way. Use response_method='decision_function', or calibrate SVC(kernel='linear') by CalibratedClassifierCV "
            "with ensemble=False."
        )
    return Logistic()


def read_svc(estimator: Any) -> LinearModel:
    """Read a fitted SVC, which is linear only with the linear kernel."""
    check_svc(estimator)
    return read(estimator)


def check_svc(estimator: Any) -> None:
    """Refuse kernels that are not linear."""
    if estimator.kernel != "linear":
        raise UnsupportedModelError(
            f"SVC(kernel={estimator.kernel!r}) has no exact counterfactual search. Use kernel='linear' or LinearSVC."
        )
