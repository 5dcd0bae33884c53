"""Links: from a model's scores to probabilities and to the predicted class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.utils.extmath import softmax as softmax_of_sklearn

from fcca.exceptions import UnsupportedModelError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """Base class: one score per class or, for two classes, one score for the second."""

    def second_class(self, score: Floats) -> Floats:
        """Compute the probability of the second class, which rises with the score."""
        raise NotImplementedError

    def both_classes(self, score: Floats) -> NDArray[Any]:
        """Compute the probabilities of two classes, bitwise equal to ``predict_proba``.

        A decision threshold is compared with them. So the result is float32 if the classifier computes in float32.
        """
        second = self.second_class(score)
        return np.column_stack([1 - second, second])

    def every_class(self, scores: Floats) -> Floats:
        """Compute the probabilities from one score per class."""
        raise NotImplementedError

    def ranking(self, scores: Floats) -> Floats:
        """Compute one number per class; the largest decides the prediction."""
        return scores

    def certainty(self, score: Floats, boundary: float) -> Floats:
        """Compute the predicted class's probability, which is 0.5 on the boundary."""
        probability, middle = self.second_class(score), float(self.second_class(np.array([boundary]))[0])
        above = 0.5 + 0.5 * (probability - middle) / (1 - middle if middle < 1 else 1.0)
        below = 0.5 + 0.5 * (middle - probability) / (middle if middle > 0 else 1.0)
        return np.where(score > boundary, above, below)


@dataclass(frozen=True)
class Logistic(Link):
    """Log-odds of the second class, times ``1 / steepness``."""

    steepness: float = 1.0

    def second_class(self, score: Floats) -> Floats:
        """Return the probability of the second class."""
        probability: Floats = expit(self.steepness * score)
        return probability

    def certainty(self, score: Floats, boundary: float) -> Floats:
        """Compute the predicted class's probability, with even odds on the boundary."""
        probability: Floats = expit(self.steepness * np.abs(score - boundary))
        return probability


@dataclass(frozen=True)
class Opposed(Logistic):
    """Log-odds, computed as in AdaBoost: half the score against minus half the score."""

    def both_classes(self, score: Floats) -> Floats:
        """Return the probabilities of the two classes."""
        probabilities: Floats = softmax_of_sklearn(np.vstack([-score, score]).T / 2)
        return probabilities


@dataclass(frozen=True)
class NoProbability(Logistic):
    """Log-odds, if ``predict_proba`` is not an exact function of the score."""

    reason: str = ""

    def both_classes(self, score: Floats) -> Floats:
        """Raise an error with the reason."""
        raise UnsupportedModelError(self.reason)


@dataclass(frozen=True)
class Clipped(Link):
    """Scores of the modified Huber loss: -1 to 1 becomes 0 to 1."""

    def second_class(self, score: Floats) -> Floats:
        """Return the probability of the second class."""
        probability: Floats = (np.clip(score, -1, 1) + 1.0) / 2.0
        return probability


@dataclass(frozen=True)
class Softmax(Link):
    """Log-probabilities of the classes, up to a constant, times ``1 / steepness``."""

    steepness: float = 1.0

    def every_class(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes."""
        probabilities: Floats = softmax(self.steepness * scores, axis=1)
        return probabilities


@dataclass(frozen=True)
class Share(Link):
    """Scores that are already probabilities: averages of leaves or shares of votes.

    Attributes
    ----------
    of_first : bool
        For a single score: whether it is minus the probability of the first class. Otherwise it is the probability of the
        second class.
    """

    of_first: bool = False

    def second_class(self, score: Floats) -> Floats:
        """Return the probability of the second class."""
        return np.clip(score + 1.0 if self.of_first else score, 0.0, 1.0)

    def both_classes(self, score: Floats) -> Floats:
        """Compute the probabilities of the two classes."""
        if self.of_first:
            raise UnsupportedModelError(
                "The model decides by the probability of its first class, so the last bit of the second class's probability "
                "is unknown. Use one threshold or calibration around the classifier, not two."
            )
        return np.column_stack([1 - score, score])

    def every_class(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes."""
        shares: Floats = scores / scores.sum(axis=1, keepdims=True)
        return shares
