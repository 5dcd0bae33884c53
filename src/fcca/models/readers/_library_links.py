"""Links in the exact arithmetic of the boosting libraries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fcca.models._links import Floats, Link, Logistic, Softmax

LARGEST_POWER = math.log(np.finfo(np.float64).max)


def exp(x: Floats) -> Floats:
    """Compute the exponential by the C library, as LightGBM and CatBoost do.

    NumPy's function may differ in the last bit.
    """
    powers = [math.exp(power) if power <= LARGEST_POWER else math.inf for power in x.ravel().tolist()]
    return np.array(powers, dtype=np.float64).reshape(x.shape)


def logistic(scores: Floats, steepness: float) -> Floats:
    """Compute the logistic function by its plain formula, as both libraries do."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + exp(-steepness * scores))


@dataclass(frozen=True)
class PlainLogistic(Logistic):
    """Log-odds of the second class, by the formula ``1 / (1 + exp(-x))``."""

    def both_classes(self, score: Floats) -> Floats:
        """Return the probabilities of the two classes."""
        second = logistic(score, self.steepness)
        return np.column_stack([1.0 - second, second])


@dataclass(frozen=True)
class RoundedSoftmax(Softmax):
    """Softmax; the largest rounded probability decides, so close scores may tie."""

    def ranking(self, scores: Floats) -> Floats:
        """Compute the probabilities with the library's rounding."""
        powers = exp(scores - scores.max(axis=1, keepdims=True))
        total = np.zeros(len(scores))
        for power in powers.T:
            total = total + power
        return powers / total[:, None]


@dataclass(frozen=True)
class OneAgainstRest(Link):
    """One logistic function per class; the probabilities need not sum to 1."""

    steepness: float = 1.0

    def every_class(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes."""
        probabilities: Floats = expit(self.steepness * scores)
        return probabilities


@dataclass(frozen=True)
class RoundedOneAgainstRest(OneAgainstRest):
    """One logistic function per class; the largest rounded probability decides."""

    def ranking(self, scores: Floats) -> Floats:
        """Compute the rounded probabilities."""
        return logistic(scores, self.steepness)
