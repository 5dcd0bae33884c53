"""Read classifiers with a decision threshold, and add decision thresholds to models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.utils.validation import check_is_fitted

from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.models._links import Share
from fcca.models._model import Model, TreeEnsemble
from fcca.models._native import FittedClassifier
from fcca.models._precision import last_score_of_first_class
from fcca.models._registry import check_supported, read_part, weight_parameters

Floats = NDArray[np.float64]


class DecidedAt(FittedClassifier):
    """A fitted classifier of two classes with a decision threshold.

    The second class is predicted if its probability is at least the threshold. Use :func:`decide_at` to create such a
    classifier. ``fit`` does nothing, and ``clone`` returns the same object.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier with ``predict_proba``.
    threshold : float
        Smallest probability of the second class for which it is predicted.
    """

    def __init__(self, estimator: Any, threshold: float) -> None:
        self.estimator = estimator
        self.threshold = threshold

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The class labels of ``estimator``."""
        classes: NDArray[np.generic] = np.asarray(self.estimator.classes_)
        return classes

    @property
    def n_features_in_(self) -> int:
        """Number of columns that ``estimator`` was fitted on."""
        return int(self.estimator.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the columns that ``estimator`` was fitted on, if known."""
        names: NDArray[np.object_] = self.estimator.feature_names_in_
        return names

    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the class probabilities of ``estimator``."""
        probabilities: NDArray[np.floating[Any]] = self.estimator.predict_proba(X)
        return probabilities

    def predict(self, X: Any) -> NDArray[np.generic]:
        """Predict the second class if its probability is at least the threshold."""
        predicted: NDArray[np.generic] = self.classes_[(self.predict_proba(X)[:, 1] >= self.threshold).astype(int)]
        return predicted


def _check_threshold(threshold: float) -> None:
    if not 0 < threshold < 1:
        raise InvalidInputError(f"A decision threshold must be a probability between 0 and 1, got {threshold}.")


def decide_at(estimator: Any, threshold: float) -> DecidedAt:
    """Give a fitted classifier of two classes a decision threshold.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier with ``predict_proba`` that :func:`fcca.read_model` supports. For an unfitted classifier, use
        scikit-learn's ``FixedThresholdClassifier``.
    threshold : float
        The second class is predicted if its probability is at least this threshold.

    Returns
    -------
    DecidedAt
        A classifier with ``predict``, ``predict_proba`` and ``classes_``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from fcca.models import decide_at, read_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> cautious = decide_at(RandomForestClassifier(random_state=0).fit(X, y), 0.12)
    >>> bool(read_model(cautious).boundary < 0.12)
    True
    """
    _check_threshold(threshold)
    if not hasattr(estimator, "predict_proba"):
        raise UnsupportedModelError(
            f"{type(estimator).__name__} has no predict_proba, which is required for a decision threshold. Calibrate it "
            "first: CalibratedClassifierCV(estimator, ensemble=False)."
        )
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    if len(estimator.classes_) != 2:
        raise _not_two(len(estimator.classes_))
    return DecidedAt(estimator, threshold)


def _not_two(n_classes: int) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"A decision threshold is only possible for two classes, but the classifier has {n_classes}. Leave the "
        "threshold out, or fit the classifier on one class against all others."
    )


def with_decision_threshold(model: Model, threshold: float) -> Model:
    """Give a model of two classes a decision threshold.

    Parameters
    ----------
    model : Model
    threshold : float
        Between 0 and 1. The second class is predicted if its probability is at least this threshold.

    Returns
    -------
    Model
        A model with a single score. Its boundary takes the rounding of the probability into account, so it is exact.
    """
    _check_threshold(threshold)
    return _decided(model, "predict_proba", 1, threshold)


def _decided(model: Model, method: str, positive: int, threshold: float) -> Model:
    """Return a model with a threshold on a probability or a score.

    This probability or score of the class ``positive`` is called the response. The model predicts the class if the response
    is at least the threshold.

    Parameters
    ----------
    model : Model
    method : {"predict_proba", "decision_function"}
        Whether the response is the probability or the score of the class ``positive``.
    positive : {0, 1}
        Position of the class.
    threshold : float
        Smallest response for which the class is predicted.
    """
    if len(model.classes) != 2:
        raise _not_two(len(model.classes))
    if model.n_outputs == 2:
        return _decided_by_share(model, positive, threshold)

    def answers_first(score: Floats) -> NDArray[np.bool_]:
        if method == "predict_proba":
            response = model.link.both_classes(score)[:, positive]
        else:
            response = score if positive == 1 else -1 * score
        answers_positive: NDArray[np.bool_] = response >= threshold
        return answers_positive if positive == 0 else ~answers_positive

    return replace(model, boundary=last_score_of_first_class(answers_first))


def _decided_by_share(model: Model, positive: int, threshold: float) -> Model:
    if not isinstance(model, TreeEnsemble) or not isinstance(model.link, Share):
        raise UnsupportedModelError(
            "The classifier has one score for each of its two classes, but a decision threshold requires a single score. "
            "Fit the classifier with an objective for two classes, such as 'binary' in LightGBM or 'Logloss' in CatBoost."
        )
    # Minus the probability of the first class rises with the second class, and rounding does not depend on the sign.
    sign = 1.0 if positive == 1 else -1.0
    share = model.of_class(positive)
    return replace(
        share,
        value=sign * share.value,
        base=sign * share.base,
        link=Share(of_first=positive == 0),
        boundary=float(np.nextafter(threshold, -np.inf) if positive == 1 else -threshold),
    )


def _inside(estimator: Any) -> Any:
    """Return the classifier inside nested threshold classifiers of scikit-learn."""
    while isinstance(estimator, (FixedThresholdClassifier, TunedThresholdClassifierCV)):
        estimator = getattr(estimator, "estimator_", estimator.estimator)
    return estimator


def read(estimator: Any) -> Model:
    """Convert a fitted classifier with a decision threshold to a Model.

    The classifier is a FixedThresholdClassifier, a TunedThresholdClassifierCV or the result of :func:`decide_at`.
    """
    if isinstance(estimator, DecidedAt):
        return with_decision_threshold(read_part(_inside(estimator.estimator)), estimator.threshold)
    if isinstance(estimator, TunedThresholdClassifierCV):
        return _read(estimator, estimator.best_threshold_, estimator._curve_scorer._get_pos_label())
    return _read(estimator, estimator.threshold, estimator.pos_label)


def _read(estimator: Any, threshold: Any, pos_label: Any) -> Model:
    inner = _inside(estimator)
    method = estimator.response_method
    if method == "auto":
        method = "predict_proba" if hasattr(inner, "predict_proba") else "decision_function"
    if not hasattr(inner, method):
        raise UnsupportedModelError(
            f"{type(estimator).__name__}(response_method={method!r}) needs a method that {type(inner).__name__} does not "
            "have. Use response_method='auto'."
        )
    model = read_part(inner)
    if len(model.classes) != 2:
        raise _not_two(len(model.classes))
    if isinstance(threshold, str):
        threshold = 0.5 if method == "predict_proba" else 0.0
    positive = 1 if pos_label is None else int(np.flatnonzero(model.classes == pos_label)[0])
    return _decided(model, method, positive, threshold)


def check(estimator: Any) -> None:
    """Check that the inner classifier is supported."""
    check_supported(estimator.estimator)


def weights(estimator: Any, weight: Any) -> dict[str, Any]:
    """Return an empty dictionary: no row weights are passed to ``fit``.

    Threshold classifiers do not pass row weights to the inner classifier. An error is raised if the inner classifier would
    have used the weights.
    """
    if not isinstance(estimator, DecidedAt) and weight_parameters(estimator.estimator, weight):
        raise UnsupportedModelError(
            f"{type(estimator).__name__} does not pass sample_weight to its classifier. Fit the inner classifier with "
            f"weights yourself and freeze it: {type(estimator).__name__}(FrozenEstimator(fitted), ...)."
        )
    return {}
