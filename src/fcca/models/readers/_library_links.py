"""Links that round probabilities exactly as LightGBM and CatBoost do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from fcca.models._links import Floats, Link, Logistic, Softmax

LARGEST_POWER = math.log(np.finfo(np.float64).max)


def exp(x: Floats) -> Floats:
    """Compute the exponential function with the C library, as LightGBM and CatBoost do.

    The result of ``np.exp`` may differ in the last bit.
    """
    powers = [math.exp(power) if power <= LARGEST_POWER else math.inf for power in x.ravel().tolist()]
    return np.array(powers, dtype=np.float64).reshape(x.shape)


def logistic(scores: Floats, steepness: float) -> Floats:
    """Compute the logistic function as LightGBM and CatBoost do.

    The result is rounded as by the formula ``1 / (1 + exp(-steepness * scores))``.
    """
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + exp(-steepness * scores))


@dataclass(frozen=True)
class PlainLogistic(Logistic):
    """Logistic link of LightGBM and CatBoost, with the same rounding.

    The probability is rounded as by the formula ``1 / (1 + exp(-steepness * score))``.
    """

    def both_classes(self, score: Floats) -> Floats:
        """Return the probabilities of the two classes."""
        second = logistic(score, self.steepness)
        return np.column_stack([1.0 - second, second])


@dataclass(frozen=True)
class RoundedSoftmax(Softmax):
    """Softmax of LightGBM, which predicts the class with the largest rounded probability.

    Different scores can lead to the same rounded probability. In such a tie, the first of the tied classes is predicted.
    """

    def ranking(self, scores: Floats) -> Floats:
        """Compute the probabilities of all classes, rounded as in LightGBM."""
        powers = exp(scores - scores.max(axis=1, keepdims=True))
        total = np.zeros(len(scores))
        for power in powers.T:
            total = total + power
        return powers / total[:, None]


@dataclass(frozen=True)
class OneAgainstRest(Link):
    """Link for one score per class, converted by the logistic function.

    The log-odds of a class against all others are ``steepness`` times its score. The probabilities need not sum to 1.
    """

    steepness: float = 1.0

    def every_class(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes."""
        probabilities: Floats = expit(self.steepness * scores)
        return probabilities

    def formula(self) -> dict[str, Any] | None:
        """Return the name and the steepness of the function."""
        return {"kind": "each", "steepness": self.steepness}


@dataclass(frozen=True)
class RoundedOneAgainstRest(OneAgainstRest):
    """OneAgainstRest for LightGBM, which predicts the class with the largest rounded probability."""

    def ranking(self, scores: Floats) -> Floats:
        """Compute the probabilities of all classes, rounded as in LightGBM."""
        return logistic(scores, self.steepness)
