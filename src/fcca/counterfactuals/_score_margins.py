"""Convert a score margin given as a share, such as "10%", into a number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._problem import is_number
from fcca.exceptions import InvalidInputError
from fcca.models import Model, Share

Floats = NDArray[np.float64]

#: Percentiles of the training scores that define the range for boosting and linear models.
LOW, HIGH = 5, 95
DEFAULT_MARGIN = 1e-4


def as_share(share: Any) -> float:
    """Convert a share to a float: "10%", "10 %" and 0.1 all give 0.1."""
    number = share
    if isinstance(share, str):
        text = share.strip()
        try:
            number = float(text[:-1]) / 100 if text.endswith("%") else None
        except ValueError:
            number = None
    if not is_number(number) or not 0 < number <= 1:
        raise InvalidInputError(f"A share must be above 0 and at most 1, or a string such as '10%', got {share!r}.")
    return float(number)


def margin_of_share(model: Model, scores: Floats, share: float) -> float:
    """Convert a share of the range of scores into a score margin.

    If scores are shares of votes or averaged probabilities, the range is 1, so the margin is a share of the votes. The
    scores of boosting and linear models have no fixed range. For these models, the range is the distance between the 5th
    and the 95th percentile of the scores. With one score per class, the range is computed for the lead of each class, and
    averaged over the classes. The lead is the score of the class minus the highest score of the other classes.

    Parameters
    ----------
    model : Model
    scores : ndarray of shape (n_rows, n_outputs)
        Scores of the training rows.
    share : float
        Above 0 and at most 1.
    """
    if isinstance(model.link, Share):
        # With one score, the lead is twice the distance from the boundary: one class loses what the other gains.
        return share / 2 if model.n_outputs == 1 else share
    spread = float(np.mean([np.subtract(*np.percentile(lead, [HIGH, LOW])) for lead in _leads(scores)]))
    if not spread > 0:
        raise InvalidInputError(
            f"The {LOW}th and {HIGH}th percentiles of the scores of X are equal, so a share of their range is 0. "
            "Give margin as a number."
        )
    return share * spread


def _leads(scores: Floats) -> list[Floats]:
    """Compute the lead of each class: its score minus the highest other score.

    A model with a single score has two classes. For such a model, the scores themselves are returned.
    """
    if scores.shape[1] == 1:
        return [scores[:, 0]]
    return [scores[:, k] - np.delete(scores, k, axis=1).max(axis=1) for k in range(scores.shape[1])]
