"""Weighted figures of a classifier: accuracy, AUC, log-loss and KS."""

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
    """Figures of a classifier on some rows.

    Attributes
    ----------
    accuracy : float
    balanced_accuracy : float
        Mean recall over the classes of the rows.
    auc : float or None
        For more than two classes, the mean of one-vs-rest AUCs. None without scores, or if all rows have the same class.
    log_loss : float or None
        None without probabilities.
    ks : float or None
        Kolmogorov–Smirnov distance between the scores of the two classes. None for more than two classes.
    """

    accuracy: float
    balanced_accuracy: float
    auc: float | None = None
    log_loss: float | None = None
    ks: float | None = None


def figures_of(
    label: Codes, prediction: Codes, score: Floats | None, weight: Floats, *, is_probability: bool = True
) -> Figures:
    """Compute the figures of predictions.

    Parameters
    ----------
    label, prediction : ndarray of shape (n_rows,)
        Positions of classes.
    score : ndarray of shape (n_rows, n_classes) or None
        Higher scores mean more likely classes.
    weight : ndarray of shape (n_rows,)
    is_probability : bool, default=True
        True if the scores are probabilities.
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
    """Return the weight of rows by label (lines) and prediction (columns)."""
    both: Floats = np.bincount(label * n_classes + prediction, weights=weight, minlength=n_classes**2).astype(np.float64)
    return both.reshape(n_classes, n_classes)


def _masses(is_positive: NDArray[np.bool_], score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the weights of positive and negative rows by score.

    The scores are distinct and ascending.
    """
    distinct, at = np.unique(score, return_inverse=True)
    n = len(distinct)
    positive, negative = (
        np.bincount(at, weights=weight * side, minlength=n).astype(np.float64) for side in (is_positive, ~is_positive)
    )
    return positive, negative


def _auc(positive: Floats, negative: Floats) -> float:
    """Return the chance that positive rows score above negative ones.

    Ties count half.
    """
    below = np.cumsum(negative) - negative / 2
    return float((positive * below).sum() / (positive.sum() * negative.sum()))


def _ks(positive: Floats, negative: Floats) -> float:
    shares = np.cumsum(positive) / positive.sum(), np.cumsum(negative) / negative.sum()
    return float(np.abs(shares[0] - shares[1]).max())


def _log_loss(label: Codes, probability: Floats, weight: Floats) -> float:
    of_label = np.clip(probability[np.arange(len(label)), label], LEAST_PROBABILITY, 1.0)
    return float(-(weight * np.log(of_label)).sum() / weight.sum())
