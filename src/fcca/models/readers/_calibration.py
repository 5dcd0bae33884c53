"""Read scikit-learn's CalibratedClassifierCV around a single classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import has_fit_parameter

from fcca.exceptions import UnsupportedModelError
from fcca.models._links import Link, Share
from fcca.models._model import Model, TreeEnsemble
from fcca.models._precision import last_score_of_first_class
from fcca.models._registry import check_supported, read_part

Floats = NDArray[np.float64]

SEVERAL = (
    "CalibratedClassifierCV averages the calibrated probabilities of {} different classifiers, which is not supported. Set "
    "ensemble=False, or pass a fitted classifier: CalibratedClassifierCV(FrozenEstimator(fitted))."
)


@dataclass(frozen=True)
class Calibrated(Link):
    """Link for a single score, with probabilities calibrated by scikit-learn.

    The calibrated probability of the second class never falls as the score rises.

    Attributes
    ----------
    calibrators : tuple
        Calibrators of scikit-learn, fitted for the same classifier. Their probabilities are averaged.
    method : str
        'sigmoid', 'isotonic' or 'temperature'.
    link : Link or None
        Function from the score to the probability before calibration. None if the calibrators use the score itself.
    """

    calibrators: tuple[Any, ...]
    method: str
    link: Link | None

    def second_class(self, score: Floats) -> Floats:
        """Return the calibrated probability of the second class."""
        return self.both_classes(score)[:, 1]

    def both_classes(self, score: Floats) -> Floats:
        """Return the calibrated probabilities of the two classes."""
        largest = np.finfo(np.float64).max
        score = np.clip(score, -largest, largest)
        mean = np.zeros((len(score), 2))
        with np.errstate(over="ignore"):
            response = score if self.link is None else self.link.both_classes(score)[:, 1]
            for calibrator in self.calibrators:
                mean += self._by(calibrator, response)
        return mean / len(self.calibrators)

    def _by(self, calibrator: Any, response: NDArray[Any]) -> Floats:
        probability = np.zeros((len(response), 2))
        if self.method == "temperature":
            if self.link is None:
                # Beyond this, the softmax would subtract infinity from infinity.
                probability = calibrator.predict(np.clip(response, -1e100, 1e100)[:, None])
            else:
                # scikit-learn accepts only probabilities between 0 and 1.
                response = np.clip(response, 0, 1)
                probability = calibrator.predict(np.column_stack([1 - response, response]))
        else:
            probability[:, 1] = calibrator.predict(response)
            probability[:, 0] = 1.0 - probability[:, 1]
        probability[(probability > 1.0) & (probability <= 1.0 + 1e-5)] = 1.0
        return np.asarray(probability, dtype=np.float64)


def check(estimator: Any) -> None:
    """Check before fitting that a CalibratedClassifierCV is supported.

    The inner classifier must be supported, and all folds must share it. With ``ensemble=True``, scikit-learn fits one
    classifier per fold, unless the inner classifier is already fitted.
    """
    inner = estimator._get_estimator()
    check_supported(inner)
    prefit = isinstance(estimator.cv, str) and estimator.cv == "prefit"
    several = estimator.ensemble is True or estimator.ensemble == "auto"
    if several and not prefit and not isinstance(inner, FrozenEstimator):
        raise UnsupportedModelError(SEVERAL.format(estimator.cv if isinstance(estimator.cv, int) else "several"))


def weights(estimator: Any, weight: Any) -> dict[str, Any]:
    """Return the keyword arguments that pass row weights to ``fit``.

    Raise an error if the weights would reach the calibrators, but not the inner classifier.
    """
    inner = estimator._get_estimator()
    if not isinstance(inner, FrozenEstimator) and not has_fit_parameter(inner, "sample_weight"):
        raise UnsupportedModelError(
            f"CalibratedClassifierCV does not pass weights to {type(inner).__name__}. Fit the inner classifier with weights "
            "yourself and freeze it: CalibratedClassifierCV(FrozenEstimator(fitted))."
        )
    return {"sample_weight": weight}


def _with_one_score(model: Model) -> Model:
    """Convert a model of two classes to one with a single score.

    For a forest, this score is the probability of the second class.
    """
    if model.n_outputs == 1:
        return model
    if not isinstance(model, TreeEnsemble) or not isinstance(model.link, Share):
        raise UnsupportedModelError(
            "The calibrated classifier has one score for each of its two classes, but a single score is expected. Fit it "
            "with an objective for two classes, such as 'binary' in LightGBM or 'Logloss' in CatBoost."
        )
    return model.of_class(1)


def read(estimator: Any) -> Model:
    """Convert a fitted CalibratedClassifierCV to a model with a single score."""
    calibrated = estimator.calibrated_classifiers_
    inner = calibrated[0].estimator
    if any(other.estimator is not inner for other in calibrated):
        raise UnsupportedModelError(SEVERAL.format(len(calibrated)))
    if len(estimator.classes_) != 2:
        raise UnsupportedModelError(
            f"CalibratedClassifierCV was fitted on {len(estimator.classes_)} classes. More than two classes are not "
            "supported, because the calibrated probabilities then depend on several scores. Use two classes, or explain the "
            "classifier inside it."
        )
    model = _with_one_score(read_part(inner))
    calibrators = tuple(calibrator for each in calibrated for calibrator in each.calibrators)
    method = calibrated[0].method
    for calibrator in calibrators:
        if method == "sigmoid" and calibrator.a_ > 0:
            raise UnsupportedModelError(
                "The fitted sigmoid falls as the score rises: on the calibration rows, the classifier was wrong more often "
                "than right. Check the labels of these rows, or calibrate on more rows."
            )
    link = Calibrated(calibrators, method, None if hasattr(inner, "decision_function") else model.link)
    boundary = last_score_of_first_class(lambda score: np.argmax(link.both_classes(score), axis=1) == 0)
    # The inner classifier may have been fitted on positions of labels.
    return replace(model, classes=estimator.classes_, link=link, boundary=boundary)
