"""Accuracy, AUC, log-loss and KS of a classifier, on weighted rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

#: Probabilities are clipped to at least this, as scikit-learn's ``log_loss`` does.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Figures:
    """Metrics of a classifier, measured on labelled rows.

    Attributes
    ----------
    accuracy : float
    balanced_accuracy : float
        Mean recall of the classes that occur in the rows.
    auc : float or None
        For more than two classes, the mean of one-vs-rest AUCs. None without scores, or if all rows have the same class.
    log_loss : float or None
        Log-loss against the labels. None without probabilities.
    ks : float or None
        Kolmogorov–Smirnov distance between the score distributions of two classes. None for more than two classes, without
        scores, or if all rows have the same class.
    """

    accuracy: float
    balanced_accuracy: float
    auc: float | None = None
    log_loss: float | None = None
    ks: float | None = None


def figures_of(
    label: Codes, prediction: Codes, score: Floats | None, weight: Floats, *, is_probability: bool = True
) -> Figures:
    """Compute the metrics of a classifier from its predictions and scores.

    Parameters
    ----------
    label, prediction : ndarray of shape (n_rows,)
        True labels and predictions, as indices of classes.
    score : ndarray of shape (n_rows, n_classes) or None
        A higher score means that the class is more likely. None if the classifier has no scores.
    weight : ndarray of shape (n_rows,)
        Weights of the rows.
    is_probability : bool, default=True
        True if the scores are probabilities. If False, the log-loss is None.
    """
    hit = weight * (label == prediction)
    of_class = np.bincount(label, weights=weight)
    there = of_class > 0
    recall = np.bincount(label, weights=hit)[there] / of_class[there]
    accuracy, balanced = float(hit.sum() / weight.sum()), float(recall.mean())
    if score is None:
        return Figures(accuracy, balanced)
    is_binary = score.shape[1] == 2
    curves = [_masses(label == code, score[:, code], weight) for code in ([1] if is_binary else range(score.shape[1]))]
    auc = [_auc(*masses) for masses in curves if min(masses[0].sum(), masses[1].sum()) > 0]
    return Figures(
        accuracy,
        balanced,
        float(np.mean(auc)) if auc else None,
        _log_loss(label, score, weight) if is_probability else None,
        _ks(*curves[0]) if auc and is_binary else None,
    )


def confusion_matrix(label: Codes, prediction: Codes, weight: Floats, n_classes: int) -> Floats:
    """Return the total weight of the rows for each label and each prediction.

    Each row of the matrix belongs to a label, and each column to a prediction.
    """
    both: Floats = np.bincount(label * n_classes + prediction, weights=weight, minlength=n_classes**2).astype(np.float64)
    return both.reshape(n_classes, n_classes)


def _masses(is_positive: NDArray[np.bool_], score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the total weights of positive and of negative rows for each distinct score.

    The scores are in ascending order.
    """
    distinct, at = np.unique(score, return_inverse=True)
    n = len(distinct)
    positive, negative = (
        np.bincount(at, weights=weight * side, minlength=n).astype(np.float64) for side in (is_positive, ~is_positive)
    )
    return positive, negative


def _auc(positive: Floats, negative: Floats) -> float:
    """Compute the AUC from the weights that :func:`_masses` returns.

    It is the probability that a positive row has a higher score than a negative row. Equal scores count as one half.
    """
    below = np.cumsum(negative) - negative / 2
    return float((positive * below).sum() / (positive.sum() * negative.sum()))


def _ks(positive: Floats, negative: Floats) -> float:
    shares = np.cumsum(positive) / positive.sum(), np.cumsum(negative) / negative.sum()
    return float(np.abs(shares[0] - shares[1]).max())


def _log_loss(label: Codes, probability: Floats, weight: Floats) -> float:
    of_label = np.clip(probability[np.arange(len(label)), label], LEAST_PROBABILITY, 1.0)
    return float(-(weight * np.log(of_label)).sum() / weight.sum())
