"""Links: functions from the scores of a model to class probabilities."""

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
    """Base class of functions from scores to probabilities.

    A model has one score per class or, for two classes, possibly a single score for the second class.
    """

    def second_class(self, score: Floats) -> Floats:
        """Compute the probability of the second class from a single score.

        The probability never falls as the score rises.
        """
        raise NotImplementedError

    def both_classes(self, score: Floats) -> NDArray[Any]:
        """Compute the probabilities of two classes from a single score.

        The result is bitwise equal to ``predict_proba``, so that a comparison with a decision threshold gives the same
        result. It is float32 if the classifier computes in float32.
        """
        second = self.second_class(score)
        return np.column_stack([1 - second, second])

    def every_class(self, scores: Floats) -> Floats:
        """Compute the probabilities of all classes from one score per class."""
        raise NotImplementedError

    def ranking(self, scores: Floats) -> Floats:
        """Compute one value per class. The class with the largest value is predicted.

        By default, these values are the scores.
        """
        return scores

    def formula(self) -> dict[str, Any] | None:
        """Return the link as JSON data, for programs in other languages.

        ``kind`` names the function, and the other entries are its parameters. None if there is no short formula.
        """
        return None

    def certainty(self, score: Floats, boundary: float) -> Floats:
        """Compute the certainty of predictions, from 0.5 at the boundary to 1.

        With a boundary at the probability 0.5, this is the probability of the predicted class. Otherwise, the probabilities
        on each side of the boundary are rescaled linearly, to values from 0.5 to 1.
        """
        probability, middle = self.second_class(score), float(self.second_class(np.array([boundary]))[0])
        above = 0.5 + 0.5 * (probability - middle) / (1 - middle if middle < 1 else 1.0)
        below = 0.5 + 0.5 * (middle - probability) / (middle if middle > 0 else 1.0)
        return np.where(score > boundary, above, below)


@dataclass(frozen=True)
class Logistic(Link):
    """Link for a single score, converted by the logistic function.

    The log-odds of the second class are ``steepness * score``.
    """

    steepness: float = 1.0

    def second_class(self, score: Floats) -> Floats:
        """Return the probability of the second class for each score."""
        probability: Floats = expit(self.steepness * score)
        return probability

    def formula(self) -> dict[str, Any] | None:
        """Return the name and the steepness of the function."""
        return {"kind": "logistic", "steepness": self.steepness}

    def certainty(self, score: Floats, boundary: float) -> Floats:
        """Compute the certainty of predictions, from 0.5 at the boundary to 1.

        The log-odds are shifted so that they are 0 at the boundary.
        """
        probability: Floats = expit(self.steepness * np.abs(score - boundary))
        return probability


@dataclass(frozen=True)
class Opposed(Logistic):
    """Link for the single score of AdaBoost, the log-odds of the second class.

    AdaBoost computes the two probabilities as the softmax of ``-score / 2`` and ``score / 2``.
    """

    def both_classes(self, score: Floats) -> Floats:
        """Return the probabilities of the two classes."""
        probabilities: Floats = softmax_of_sklearn(np.vstack([-score, score]).T / 2)
        return probabilities


@dataclass(frozen=True)
class NoProbability(Logistic):
    """Link for a single score that does not determine ``predict_proba`` exactly.

    Attributes
    ----------
    reason : str
        Message of the error that is raised if the exact probabilities are needed.
    """

    reason: str = ""

    def both_classes(self, score: Floats) -> Floats:
        """Raise an UnsupportedModelError with the message ``reason``."""
        raise UnsupportedModelError(self.reason)

    def formula(self) -> None:
        """Return None, because the score does not determine the probabilities exactly."""
        return None


@dataclass(frozen=True)
class Clipped(Link):
    """Link for a single score of a classifier with the modified Huber loss.

    The probability of the second class is ``(clip(score, -1, 1) + 1) / 2``.
    """

    def second_class(self, score: Floats) -> Floats:
        """Return the probability of the second class."""
        probability: Floats = (np.clip(score, -1, 1) + 1.0) / 2.0
        return probability

    def formula(self) -> dict[str, Any] | None:
        """Return the name of the function."""
        return {"kind": "clipped"}


@dataclass(frozen=True)
class Softmax(Link):
    """Link for one score per class, converted by the softmax function.

    The probabilities are the softmax of ``steepness * scores``.
    """

    steepness: float = 1.0

    def every_class(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes."""
        probabilities: Floats = softmax(self.steepness * scores, axis=1)
        return probabilities

    def formula(self) -> dict[str, Any] | None:
        """Return the name and the steepness of the function."""
        return {"kind": "softmax", "steepness": self.steepness}


@dataclass(frozen=True)
class Share(Link):
    """Link for scores that are averages of leaf values, or votes of trees.

    If there is one score per class, the probabilities are the scores divided by their sum.

    Attributes
    ----------
    of_first : bool
        For models with a single score. If True, the score is minus the probability of the first class. If False, the score
        is the probability of the second class.
    """

    of_first: bool = False

    def second_class(self, score: Floats) -> Floats:
        """Return the probability of the second class."""
        return np.clip(score + 1.0 if self.of_first else score, 0.0, 1.0)

    def both_classes(self, score: Floats) -> Floats:
        """Return the probabilities of the two classes.

        If ``of_first`` is True, the model computes the probability of the first class only. The probability of the second
        class then cannot be reproduced to its last bit, so an UnsupportedModelError is raised.
        """
        if self.of_first:
            raise UnsupportedModelError(
                "The model has a decision threshold for its first class, so the last bit of the second class's probability "
                "is unknown. Wrap the classifier in one threshold or calibration only, not two."
            )
        return np.column_stack([1 - score, score])

    def every_class(self, scores: Floats) -> Floats:
        """Return the probabilities of all classes."""
        shares: Floats = scores / scores.sum(axis=1, keepdims=True)
        return shares

    def formula(self) -> dict[str, Any] | None:
        """Return the name of the function and whether a single score belongs to the first class."""
        return {"kind": "share", "of_first": self.of_first}
