"""The neutral model: what every reader produces and all that the searches ever see of a classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Floats = NDArray[np.float64]
Link = Literal["logistic", "half-logistic", "softmax"]


@dataclass(frozen=True)
class Model:
    """A classifier by its scores.

    With one output, the second class is answered where the score is above 0, the first where it is below. With more
    outputs, one per class, the largest wins.

    Attributes
    ----------
    classes : ndarray
        The labels, in the order of the classifier's ``classes_``.
    n_features : int
        Number of columns of X.
    link : str
        How scores turn into the probability of a class.
    """

    classes: NDArray[np.generic]
    n_features: int
    link: Link

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        raise NotImplementedError

    def confidence(self, scores: Floats) -> Floats:
        """Probability of the class that each row of ``scores`` answers, .5 on the boundary between two classes."""
        if self.link == "softmax":
            largest: Floats = softmax(scores, axis=1).max(axis=1)
            return largest
        steepness = 2.0 if self.link == "half-logistic" else 1.0
        probability: Floats = expit(steepness * np.abs(scores[:, 0]))
        return probability


@dataclass(frozen=True)
class LinearModel(Model):
    """Scores ``(X - centre) @ coef.T + intercept``, in raw units.

    Attributes
    ----------
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    centre : ndarray of shape (n_features,)
        What a scaler takes off first, kept apart: added to the intercept it would cost the digits of values that lie close
        together and far from zero.
    """

    coef: Floats
    intercept: Floats
    centre: Floats

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.intercept)


@dataclass(frozen=True)
class TreeEnsemble(Model):
    """Scores ``base`` plus the sum of one leaf vector per tree; all trees' nodes stand in one set of arrays.

    Attributes
    ----------
    base : ndarray of shape (n_outputs,)
    roots : ndarray of shape (n_trees,)
        Each tree's first node.
    feature : ndarray of shape (n_nodes,)
        The column an inner node tests, -1 for a leaf.
    threshold : ndarray of shape (n_nodes,)
        The largest float64 that the classifier itself sends to the left: ``x <= threshold`` in float64 is its test
        to the last bit, whatever precision and comparison it uses.
    native_threshold : ndarray of shape (n_nodes,)
        The classifier's own number, for display.
    left, right : ndarray of shape (n_nodes,)
        Children, -1 for a leaf.
    value : ndarray of shape (n_nodes, n_outputs)
        Leaf vectors, shrunk by the learning rate.
    missing_left : ndarray of shape (n_nodes,) or None
        Whether a missing value goes to the left; None where the classifier takes no missing values.
    categories : dict of int to ndarray
        For a node that splits by category: the category codes it sends to the left.
    """

    base: Floats
    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: Floats
    native_threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    missing_left: NDArray[np.bool_] | None = None
    categories: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.base)
