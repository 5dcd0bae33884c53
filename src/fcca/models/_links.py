"""Links: how a model's scores turn into probabilities and into the class it answers."""

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
    """One score per class or, for two classes, one score that rises with the second."""

    def second_class(self, score: Floats) -> Floats:
        """Probability of the second class by the only score; never falls as the score rises."""
        raise NotImplementedError

    def both_classes(self, score: Floats) -> NDArray[Any]:
        """Probabilities of two classes by the only score, equal to ``predict_proba`` bit by bit.

        What a decision threshold is compared with, so a classifier that computes in float32 gives float32 here.
        """
        second = self.second_class(score)
        return np.column_stack([1 - second, second])

    def every_class(self, scores: Floats) -> Floats:
        """Probabilities by one score per class."""
        raise NotImplementedError

    def ranking(self, scores: Floats) -> Floats:
        """The numbers of which the model answers the largest, one per class."""
        return scores

    def certainty(self, score: Floats, boundary: float) -> Floats:
        """Probability of the answered class, rescaled to .5 on the boundary."""
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
class Opposed(Logistic):
    """Log-odds too, but computed as AdaBoost does: half the score against minus half of it."""

    def both_classes(self, score: Floats) -> Floats:
        """Probabilities of the two classes."""
        probabilities: Floats = softmax_of_sklearn(np.vstack([-score, score]).T / 2)
        return probabilities


@dataclass(frozen=True)
class NoProbability(Logistic):
    """Log-odds as a substitute: ``predict_proba`` cannot be computed exactly from the score."""

    reason: str = ""

    def both_classes(self, score: Floats) -> Floats:
        """Raise an error with the reason."""
        raise UnsupportedModelError(self.reason)


@dataclass(frozen=True)
class Clipped(Link):
    """Scores of the modified Huber loss: -1 to 1 becomes 0 to 1."""

    def second_class(self, score: Floats) -> Floats:
        """Probability of the second class."""
        probability: Floats = (np.clip(score, -1, 1) + 1.0) / 2.0
        return probability


@dataclass(frozen=True)
class Softmax(Link):
    """Logarithms of the classes' probabilities, up to a constant and times ``1 / steepness``."""

    steepness: float = 1.0

    def every_class(self, scores: Floats) -> Floats:
        """Probabilities of all classes."""
        probabilities: Floats = softmax(self.steepness * scores, axis=1)
        return probabilities


@dataclass(frozen=True)
class Share(Link):
    """The scores are probabilities already: averages of leaves or shares of votes.

    Attributes
    ----------
    of_first : bool
        Where there is one score only: whether it is minus the probability of the first class rather than that of
        the second.
    """

    of_first: bool = False

    def second_class(self, score: Floats) -> Floats:
        """Probability of the second class."""
        return np.clip(score + 1.0 if self.of_first else score, 0.0, 1.0)

    def both_classes(self, score: Floats) -> Floats:
        """Probabilities of the two classes; of one score only that one is known exactly."""
        if self.of_first:
            raise UnsupportedModelError(
                "The model answers by the probability of its first class, so that of the second is not known to the last "
                "bit. Put one threshold or calibration around the classifier, not two."
            )
        return np.column_stack([1 - score, score])

    def every_class(self, scores: Floats) -> Floats:
        """Probabilities of all classes."""
        shares: Floats = scores / scores.sum(axis=1, keepdims=True)
        return shares
