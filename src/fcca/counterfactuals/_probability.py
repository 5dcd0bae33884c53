"""Compute the score margin at which a class reaches a required probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnsupportedModelError
from fcca.models import Link, Model, NoProbability, Share, largest_passing

Floats = NDArray[np.float64]

# A probability counts as reached if it is at most this much below the target: a sum of the shares of a hundred trees that
# equals .8 may be rounded down.
ROUNDING = 1e-9


def check_two_classes(model: Model) -> None:
    """Check that the model has two classes."""
    if len(model.classes) != 2:
        raise UnsupportedModelError(
            f"target_probability is supported only for two classes, but the classifier has {len(model.classes)}. With more "
            "than two classes, the score margin alone does not determine a probability. Leave target_probability out. To "
            "require a larger lead of the target class, raise margin instead."
        )


def score_margin(model: Model, target: int, probability: float, *, has_probabilities: bool) -> float:
    """Compute the score margin at which the target class reaches a probability.

    The margin is infinite if the target class cannot reach the probability.

    Parameters
    ----------
    model : Model
        Model with two classes.
    target : int
        The target class, as a position in ``model.classes``.
    probability : float
        Required probability of the target class, between 0 and 1.
    has_probabilities : bool
        Whether the classifier has ``predict_proba``. Otherwise the probability is the logistic function of the score.
    """
    if has_probabilities and isinstance(model.link, NoProbability):
        raise UnsupportedModelError(model.link.reason)
    enough = probability - ROUNDING
    if model.n_outputs == 2 and isinstance(model.link, Share):
        return 2 * enough - 1  # the two shares sum to 1

    def too_low(lead: Floats) -> NDArray[np.bool_]:
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(_probability(model, target, lead) < enough)

    largest = largest_passing(too_low, 1)[0]
    return float("inf") if largest == np.finfo(np.float64).max else float(np.nextafter(largest, np.inf))


def _probability(model: Model, target: int, lead: Floats) -> Floats:
    """Compute the probability of the target class from its score lead over the other."""
    if model.n_outputs == 2:
        scores = np.zeros((len(lead), 2))
        scores[:, target] = lead
        return model.link.every_class(scores)[:, target]
    score = model.boundary + (lead if target == 1 else -lead)
    return probabilities(model.link, score)[:, target]


def probabilities(link: Link, score: Floats) -> NDArray[Any]:
    """Compute the probabilities of both classes from the score of a two-class model."""
    if isinstance(link, Share | NoProbability):
        second = link.second_class(score)
        return np.column_stack([1 - second, second])
    return link.both_classes(score)
