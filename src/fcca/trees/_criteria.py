"""The criteria that a tree minimizes: the cost of a leaf, and the default penalty per leaf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]

#: Smoothing of the class probabilities of a leaf: half a row of every class.
PRIOR = 0.5
#: Names of the criteria, with their numbers in the core.
CRITERIA = {"error": 0, "gini": 1, "log_loss": 2, "evidence": 3, "error+log_loss": 4}
#: The criteria in words.
CRITERION_NAMES = {
    "error": "error",
    "gini": "Gini impurity",
    "log_loss": "log-loss",
    "evidence": "negative log evidence",
    "error+log_loss": "log-loss + ½ error",
}
#: The paper's penalty per leaf, in rows.
ROWS_PER_LEAF = 10.0


def smoothed_probability(weight: Floats) -> Floats:
    """Compute smoothed class probabilities: ``(weight + 1/2) / (total weight + n_classes / 2)``.

    Parameters
    ----------
    weight : ndarray of shape (..., n_classes)
        Training weight of each class in one node or in several nodes.
    """
    probability: Floats = (weight + PRIOR) / (weight.sum(axis=-1, keepdims=True) + PRIOR * weight.shape[-1])
    return probability


def leaf_cost(weight: Floats, criterion: str) -> Floats:
    """Compute the cost of leaves from the weights of their classes.

    Parameters
    ----------
    weight : ndarray of shape (..., n_classes)
        Training weight of each class in one leaf or in several leaves.
    criterion : str
        One of ``CRITERIA``.
    """
    if weight.shape[-1] == 1:  # a single class: nothing to predict
        return np.zeros(weight.shape[:-1])
    n = weight.sum(axis=-1)
    error: Floats = n - weight.max(axis=-1)
    if criterion == "error":
        return error
    if criterion == "gini":
        gini: Floats = n - np.square(weight).sum(axis=-1) / np.where(n > 0, n, 1.0)
        return gini
    if criterion == "evidence":
        added = PRIOR * weight.shape[-1]
        evidence: Floats = gammaln(n + added) - gammaln(added) - (gammaln(weight + PRIOR) - gammaln(PRIOR)).sum(axis=-1)
        return evidence
    log_loss: Floats = -(weight * np.log(smoothed_probability(weight))).sum(axis=-1)
    return log_loss + error / 2 if criterion == "error+log_loss" else log_loss


def default_leaf_price(criterion: str, n_classes: int, n_conditions: int, *, is_soft: bool = False) -> float:
    """Return the default penalty per leaf, in units of the criterion.

    The penalty is the description length of a leaf, ``log(n_conditions) + n_classes - 1``. Here ``n_classes - 1`` is the
    number of free class probabilities, as in Akaike's criterion. ``evidence`` already includes a penalty for the
    probabilities, so only the logarithm is used. ``error`` uses the paper's penalty of ten rows. Soft labels have less noise
    than labels, so their penalty is half as large.

    Parameters
    ----------
    criterion : str
        One of ``CRITERIA``.
    n_classes : int
    n_conditions : int
        Number of conditions that a node can test.
    is_soft : bool, default=False
        Whether the tree learns soft labels, such as the class probabilities of a black box, instead of labels.
    """
    split = np.log(max(2, n_conditions))
    prices = {
        "error": ROWS_PER_LEAF,
        "gini": split + n_classes - 1,
        "log_loss": split + n_classes - 1,
        "evidence": split,
        "error+log_loss": split + n_classes - 1,
    }
    return float(prices[criterion] / 2 if is_soft else prices[criterion])
