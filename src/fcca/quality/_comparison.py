"""Compare a tree with CART, the most frequent class and the black box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.classifier import FCCAClassifier
from fcca.quality._cart import Cart
from fcca.quality._figures import Figures, confusion_matrix, figures_of
from fcca.tables import heaviest_label
from fcca.trees import smoothed_probability

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

#: With at least this AUC, a tree is useful even if it is no more accurate than always predicting the most frequent class.
LEAST_AUC = 0.55


@dataclass(frozen=True)
class LabelledRows:
    """Training rows or held-out rows, with labels and predictions of the black box.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        The labels.
    predictions : ndarray of shape (n_rows,)
        Predictions of the black box.
    weight : ndarray of shape (n_rows,) or None
        None if every row has weight 1.
    table : ndarray of shape (n_rows, n_features) or None
        The feature columns, with codes for categories and NaN for missing values. None if the rows are not in memory.
    """

    y: NDArray[Any]
    predictions: NDArray[Any]
    weight: Floats | None = None
    table: Floats | None = None

    @property
    def masses(self) -> Floats:
        """Weights of the rows; all weights are 1 if ``weight`` is None."""
        return np.ones(len(self.y)) if self.weight is None else self.weight


@dataclass(frozen=True)
class Quality:
    """Metrics of a tree, CART, the most frequent class and the black box.

    All metrics are measured on the same rows: the held-out rows, or the training rows if none are held out.

    Attributes
    ----------
    is_held_out : bool
        False if the metrics were measured on the training rows.
    n_rows : float
        Total weight of the rows.
    classes : sequence
        The class labels.
    commonest_class : label
        The most frequent class of the training rows.
    leaves : int
        Number of leaves of the tree.
    cart_leaves : int or None
        Number of leaves of CART. None if CART was not fitted.
    tree, black_box : Figures
    cart : Figures or None
        None if CART was not fitted, because the rows are not in memory.
    commonest : Figures
        Metrics of a constant prediction: the most frequent class, with the class shares of the training rows as
        probabilities.
    confusion : ndarray of shape (n_classes, n_classes)
        Total weight of the rows with each label (first index) and each prediction of the tree (second index).
    """

    is_held_out: bool
    n_rows: float
    classes: Sequence[Any]
    commonest_class: Any
    leaves: int
    tree: Figures
    cart_leaves: int | None
    cart: Figures | None
    commonest: Figures
    black_box: Figures
    confusion: Floats

    @property
    def is_useless(self) -> bool:
        """True if the tree is no better than always predicting the most frequent class.

        This is the case for a tree with a single leaf, and for trees for which :func:`is_no_better` is True.
        """
        return self.leaves == 1 or is_no_better(self.tree, self.commonest)

    @property
    def black_box_is_useless(self) -> bool:
        """True if the black box is no better than the most frequent class.

        False if the AUC of the black box is unknown.
        """
        return self.black_box.auc is not None and is_no_better(self.black_box, self.commonest)


def is_no_better(figures: Figures, commonest: Figures) -> bool:
    """Return True if a classifier is no better than the most frequent class.

    This is the case if its accuracy is not higher, and its AUC is below ``LEAST_AUC`` or unknown.

    Parameters
    ----------
    figures : Figures
        Metrics of the classifier.
    commonest : Figures
        Metrics of a constant prediction, the most frequent class.
    """
    return figures.accuracy <= commonest.accuracy and (figures.auc is None or figures.auc < LEAST_AUC)


class Comparison:
    """Compares trees with CART, the most frequent class and the black box.

    Parameters
    ----------
    classifier : FCCAClassifier
        A fitted classifier. Trees are compared with its black box. CART uses the class weights and ``min_samples_leaf`` of
        its tree.
    training : LabelledRows
        The training rows, on which CART is fitted.
    held_out : LabelledRows or None
        Rows on which the metrics are measured. None uses the training rows.
    """

    def __init__(self, classifier: FCCAClassifier, training: LabelledRows, held_out: LabelledRows | None) -> None:
        self.classifier, self.training = classifier, training
        self.rows = training if held_out is None else held_out
        self.is_held_out = held_out is not None
        labels = (training.y, self.rows.y, self.rows.predictions, classifier.classes_)
        found = dict.fromkeys(label for part in labels for label in np.unique(part).tolist())
        self.classes = sorted(found) if len({type(label) for label in found}) == 1 else list(found)
        self._position = {label: code for code, label in enumerate(self.classes)}
        self._label = self.codes(self.rows.y)

    def codes(self, labels: NDArray[Any]) -> Codes:
        """Convert labels to codes, their indices in ``self.classes``."""
        distinct, at = np.unique(labels, return_inverse=True)
        return np.array([self._position[label] for label in distinct.tolist()], dtype=np.int64)[at.ravel()]

    @cached_property
    def commonest_class(self) -> Any:
        """The most frequent class of the training rows."""
        return heaviest_label(self.training.y, self.training.weight)

    @cached_property
    def commonest(self) -> Figures:
        """Metrics of a tree with one leaf, which always predicts the most frequent class."""
        masses = np.bincount(self.codes(self.training.y), weights=self.training.masses, minlength=len(self.classes))
        known = np.flatnonzero(masses)
        share = np.zeros(len(self.classes))
        share[known] = smoothed_probability(masses[known].astype(np.float64))
        code = np.full(len(self._label), self._position[self.commonest_class], dtype=np.int64)
        return figures_of(self._label, code, np.tile(share, (len(code), 1)), self.rows.masses)

    @cached_property
    def black_box(self) -> Figures:
        """Metrics of the black box.

        AUC, log-loss and KS are None if the rows are not in memory. The log-loss is None for a black box without
        probabilities.
        """
        prediction = self.codes(self.rows.predictions)
        score, is_probability = self._black_box_scores()
        return figures_of(self._label, prediction, score, self.rows.masses, is_probability=is_probability)

    def _black_box_scores(self) -> tuple[Floats | None, bool]:
        discretizer = self.classifier.discretizer_
        black_box = discretizer.estimator_
        method = next((name for name in ("predict_proba", "decision_function") if hasattr(black_box, name)), None)
        if self.rows.table is None or method is None:
            return None, False
        given = discretizer.as_black_box_takes(self.rows.table)
        score = np.asarray(getattr(black_box, method)(given), dtype=np.float64)
        if score.ndim == 1:
            score = np.column_stack([-score, score])
        if score.shape[1] != len(black_box.classes_):  # one score per pair of classes
            return None, False
        return self.aligned(score, np.asarray(black_box.classes_)), method == "predict_proba"

    @cached_property
    def _cart(self) -> Cart | None:
        training, tree = self.training, self.classifier.tree_
        if training.table is None or self.rows.table is None:
            return None
        weight = tree.row_weights(training.y, training.masses)
        columns = self.classifier.discretizer_.thresholds_.columns
        return Cart(
            training.table,
            columns,
            self.codes(training.y),
            weight,
            len(self.classes),
            min_samples_leaf=tree.min_samples_leaf,
        )

    def cart(self, n_leaves: int) -> tuple[int, Figures] | tuple[None, None]:
        """Return the number of leaves and the metrics of CART.

        CART has at most ``n_leaves`` leaves. Both results are None if the rows are not in memory.
        """
        if self._cart is None or self.rows.table is None:
            return None, None
        self._cart.grow(max(n_leaves, most_leaves(self.classifier.tree_)))
        probability = self._cart.probability(self.rows.table, n_leaves)
        figures = figures_of(self._label, probability.argmax(axis=1), probability, self.rows.masses)
        return self._cart.n_leaves(n_leaves), figures

    def aligned(self, score: Floats, classes: NDArray[Any]) -> Floats:
        """Return scores with one column for each class in ``self.classes``.

        The columns of ``score`` belong to the argument ``classes``. All other classes get the score 0.
        """
        every = np.zeros((len(score), len(self.classes)))
        every[:, [self._position[label] for label in classes.tolist()]] = score
        return every

    def tree_scores(self, tree: Any, B: NDArray[np.int8]) -> tuple[Floats, Codes]:
        """Return the class probabilities and the predictions of a tree.

        Parameters
        ----------
        tree : OptimalTreeClassifier
            A tree that was fitted on binary columns.
        B : ndarray of shape (n_rows, n_conditions)
            The rows as binary columns.

        Returns
        -------
        probability : ndarray of shape (n_rows, n_classes)
        code : ndarray of shape (n_rows,)
            The predicted classes, as indices in ``self.classes``.
        """
        probability = tree.predict_proba(B)
        code = np.array([self._position[label] for label in tree.classes_.tolist()], dtype=np.int64)
        return self.aligned(probability, tree.classes_), code[probability.argmax(axis=1)]

    def quality(self, tree: Any, B: NDArray[np.int8]) -> Quality:
        """Compare a tree with CART, the most frequent class and the black box.

        Parameters
        ----------
        tree : OptimalTreeClassifier
            A tree that was fitted on binary columns.
        B : ndarray of shape (n_rows, n_conditions)
            The held-out rows as binary columns, or the training rows if none are held out.
        """
        probability, prediction = self.tree_scores(tree, B)
        masses = self.rows.masses
        cart_leaves, cart = self.cart(tree.n_leaves_)
        return Quality(
            is_held_out=self.is_held_out,
            n_rows=float(masses.sum()),
            classes=self.classes,
            commonest_class=self.commonest_class,
            leaves=tree.n_leaves_,
            tree=figures_of(self._label, prediction, probability, masses),
            cart_leaves=cart_leaves,
            cart=cart,
            commonest=self.commonest,
            black_box=self.black_box,
            confusion=confusion_matrix(self._label, prediction, masses, len(self.classes)),
        )


def most_leaves(tree: Any) -> int:
    """Return how many leaves ``max_leaf_nodes`` and ``max_depth`` of the tree allow, at most 64."""
    limits = [64, tree.max_leaf_nodes, None if tree.max_depth is None else 2 ** min(6, tree.max_depth)]
    return int(min(limit for limit in limits if limit is not None))
