"""Links: how a model's scores turn into probabilities and into the class it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """One score per class or, for two classes, one score that rises with the second."""

    def second_class(self, score: Floats) -> Floats:
        """Probability of the second class by the only score; never falls as the score rises."""
        raise NotImplementedError

    def every_class(self, scores: Floats) -> Floats:
        """Probabilities by one score per class."""
        raise NotImplementedError

    def ranking(self, scores: Floats) -> Floats:
        """What the model takes the largest of, where it has one score per class."""
        return scores

    def certainty(self, score: Floats, boundary: float) -> Floats:
        """Probability of the class answered by the only score, .5 on the boundary and 1 for certain."""
        probability, middle = self.second_class(score), float(self.second_class(np.array([boundary]))[0])
        above = 0.5 + 0.5 * (probability - middle) / (1 - middle if middle < 1 else 1.0)
        below = 0.5 + 0.5 * (middle - probability) / (middle if middle > 0 else 1.0)
        return np.where(score > boundary, above, below)


@dataclass(frozen=True)
class Logistic(Link):
    """Log-odds of the second class, times ``1 / steepness``."""

    steepness: float = 1.0

    def second_class(self, score: Floats) -> Floats:
        """Probability of the second class."""
        probability: Floats = expit(self.steepness * score)
        return probability

    def certainty(self, score: Floats, boundary: float) -> Floats:
        """Probability of the class answered, as if the boundary were at odds of one."""
        probability: Floats = expit(self.steepness * np.abs(score - boundary))
        return probability


@dataclass(frozen=True)
class Softmax(Link):
    """Logarithms of the classes' probabilities, up to a constant."""

    def every_class(self, scores: Floats) -> Floats:
        """Probabilities of all classes."""
        probabilities: Floats = softmax(scores, axis=1)
        return probabilities


@dataclass(frozen=True)
class Share(Link):
    """The scores are probabilities already: averages of leaves or shares of votes."""

    def second_class(self, score: Floats) -> Floats:
        """Probability of the second class."""
        return np.clip(score, 0.0, 1.0)

    def every_class(self, scores: Floats) -> Floats:
        """Probabilities of all classes."""
        return scores / scores.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Calibrated(Link):
    """A rising function of the only score, fitted afterwards."""

    calibrate: Callable[[Floats], Floats]

    def second_class(self, score: Floats) -> Floats:
        """Probability of the second class."""
        return self.calibrate(score)
