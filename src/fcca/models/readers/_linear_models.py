"""Read scikit-learn's linear classifiers, which have ``coef_`` and ``intercept_``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.svm import SVC

from fcca.exceptions import UnsupportedModelError
from fcca.models._links import Clipped, Link, Logistic, NoProbability, Softmax
from fcca.models._model import LinearModel
from fcca.models.readers._one_vs_rest import EachAgainstRest


def read(estimator: Any) -> LinearModel:
    """Convert a fitted linear classifier to a LinearModel.

    The model has a single score for two classes, and one score per class for more than two.
    """
    n_classes = len(estimator.classes_)
    n_outputs = 1 if n_classes <= 2 else n_classes
    coef = estimator.coef_
    if sparse.issparse(coef):
        coef = coef.toarray()
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64).ravel(), (n_outputs,)).copy()
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
    n_classes = len(estimator.classes_)
    if n_classes <= 2:
        return _link_of_two(estimator)
    if isinstance(estimator, SGDClassifier) and estimator.loss in ("log_loss", "modified_huber"):
        return EachAgainstRest((_link_of_two(estimator),) * n_classes)
    if isinstance(estimator, (LogisticRegression, LogisticRegressionCV)) and (
        estimator.solver == "liblinear" or getattr(estimator, "multi_class", None) == "ovr"
    ):
        return EachAgainstRest((Logistic(),) * n_classes)
    # Also for classifiers without probabilities.
    return Softmax()


def _link_of_two(estimator: Any) -> Link:
    if isinstance(estimator, SGDClassifier) and estimator.loss == "modified_huber":
        return Clipped()
    if isinstance(estimator, SVC) and estimator.probability is True:
        return NoProbability(
            reason="SVC(probability=True) fits its probabilities by an internal cross-validation, so they are not a "
            "function of its score. Use response_method='decision_function', or calibrate SVC(kernel='linear') by "
            "CalibratedClassifierCV with ensemble=False."
        )
    return Logistic()


def read_svc(estimator: Any) -> LinearModel:
    """Convert a fitted SVC to a LinearModel.

    The kernel must be linear, and there must be at most two classes.
    """
    check_svc(estimator)
    if len(estimator.classes_) > 2:
        raise UnsupportedModelError(
            f"SVC was fitted on {len(estimator.classes_)} classes. With more than two classes, SVC decides by votes between "
            "pairs of classes, which is not supported. Use LinearSVC, or OneVsRestClassifier(SVC(kernel='linear'))."
        )
    return read(estimator)


def check_svc(estimator: Any) -> None:
    """Check that an SVC has ``kernel="linear"``."""
    if estimator.kernel != "linear":
        raise UnsupportedModelError(
            f"SVC(kernel={estimator.kernel!r}) is not linear, so its counterfactuals cannot be computed exactly. Use "
            "kernel='linear' or LinearSVC."
        )
