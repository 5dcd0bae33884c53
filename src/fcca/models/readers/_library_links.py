"""Links in the exact arithmetic of the boosting libraries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fcca.models._links import Floats, Link, Logistic, Softmax

LARGEST_POWER = math.log(np.finfo(np.float64).max)


def exp(x: Floats) -> Floats:
    """The C library's exponential function, which LightGBM and CatBoost use; NumPy's own may differ in the last bit."""
    powers = [math.exp(power) if power <= LARGEST_POWER else math.inf for power in x.ravel().tolist()]
    return np.array(powers, dtype=np.float64).reshape(x.shape)


def logistic(scores: Floats, steepness: float) -> Floats:
    """The logistic function as it is written down, which is how both libraries compute it."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + exp(-steepness * scores))


@dataclass(frozen=True)
class PlainLogistic(Logistic):
    """Log-odds of the second class, turned into probabilities by ``1 / (1 + exp(-x))`` as it stands."""

    def both_classes(self, score: Floats) -> Floats:
        """Probabilities of the two classes."""
        second = logistic(score, self.steepness)
        return np.column_stack([1.0 - second, second])


@dataclass(frozen=True)
class RoundedSoftmax(Softmax):
    """Softmax whose largest is taken after rounding, where the closest scores become equal."""

    def ranking(self, scores: Floats) -> Floats:
        """Probabilities as they are rounded, each step in turn."""
        powers = exp(scores - scores.max(axis=1, keepdims=True))
        total = np.zeros(len(scores))
        for power in powers.T:
            total = total + power
        return powers / total[:, None]


@dataclass(frozen=True)
class OneAgainstRest(Link):
    """One logistic function per class; the probabilities need not add up to one."""

    steepness: float = 1.0

    def every_class(self, scores: Floats) -> Floats:
        """Probabilities of all classes."""
        probabilities: Floats = expit(self.steepness * scores)
        return probabilities


@dataclass(frozen=True)
class RoundedOneAgainstRest(OneAgainstRest):
    """One logistic function per class, of which the largest is taken after rounding."""

    def ranking(self, scores: Floats) -> Floats:
        """Probabilities as they are rounded."""
        return logistic(scores, self.steepness)
