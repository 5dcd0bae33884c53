"""Try other parameters of the tree, and find those that give a better tree."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fcca.classifier import fit_tree, resolve_fit_to
from fcca.discretizers import BinaryRows
from fcca.exceptions import LightWeightsWarning, UnfinishedSearchWarning
from fcca.quality._comparison import Comparison
from fcca.quality._figures import Figures, figures_of

Judge = Callable[[Any], Figures]

CHEAPER = (4, 16, 64, 256)  # the cost per leaf is divided by these, one after the other
SECONDS = 2.0  # time limit for one tree
ALL_SECONDS = 10.0  # time limit for all trees
FOLDS = 5
FEWEST_ROWS = 10 * FOLDS
LEAST_GAIN = 0.01  # in AUC or balanced accuracy


@dataclass(frozen=True)
class TriedTree:
    """A tree with other parameters than the fitted tree, on the same binary columns.

    Attributes
    ----------
    parameters : dict
        The parameters of ``OptimalTreeClassifier`` that differ from those of the fitted tree.
    leaves : int
        Number of leaves of this tree.
    figures, before : Figures
        Metrics of this tree, and of the fitted tree.
    is_held_out : bool
        False if the metrics come from cross-validation on the training rows.
    """

    parameters: dict[str, Any]
    leaves: int
    figures: Figures
    before: Figures
    is_held_out: bool


def tried_trees(comparison: Comparison, training: BinaryRows, held_out: BinaryRows | None) -> list[TriedTree] | None:
    """Grow trees with other parameters, and return those that beat the fitted tree.

    The trees are measured on the held-out rows, or by cross-validation if no rows are held out. Only trees with more leaves
    than the fitted tree are returned. No further tree is grown after ``ALL_SECONDS``. Return None if no rows are held out
    and cross-validation is impossible. This is the case if there are fewer than ``FEWEST_ROWS`` rows. It is also the case
    for a table read in chunks, because only its distinct rows with counts are in memory.

    Parameters
    ----------
    comparison : Comparison
        The comparison of the fitted tree.
    training, held_out : BinaryRows
        The rows as binary columns. ``held_out`` is None if no rows are held out.
    """
    tree = comparison.classifier.tree_
    is_counted = training.n_rows is not None
    if held_out is None and (is_counted or len(training.y) < FEWEST_ROWS):
        return None
    trial = _Trial(comparison, training, held_out)
    before = trial.figures(tree)
    found: list[TriedTree] = []
    for alternatives in _alternatives(tree):
        for parameters in alternatives:
            if trial.is_out_of_time():
                return found
            other = trial.grown(clone(tree).set_params(**parameters))
            figures = trial.figures(other)
            if other.n_leaves_ > tree.n_leaves_ and _is_better(figures, before, trial.random_auc):
                found.append(TriedTree(parameters, other.n_leaves_, figures, before, held_out is not None))
                break
    return found


def _alternatives(tree: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of settings to try instead of the settings of ``tree``.

    The settings in a list are tried in order, until one of them gives a better tree.
    """
    yield [{"criterion": criterion} for criterion in ("log_loss", "evidence") if criterion != tree.criterion]
    if tree.regularization_ > 0:
        yield [{"regularization": float(f"{tree.regularization_ / factor:.1g}")} for factor in CHEAPER]
    if tree.class_weight is None:
        yield [{"class_weight": "balanced"}]
    if tree.max_depth is not None and tree.depth_ == tree.max_depth:
        yield [{"max_depth": tree.max_depth + more} for more in (1, 2)]
    if tree.max_leaf_nodes is not None and tree.n_leaves_ == tree.max_leaf_nodes:
        yield [{"max_leaf_nodes": 2 * tree.max_leaf_nodes}]


def _is_better(figures: Figures, before: Figures, random_auc: float) -> bool:
    """Return True if a new tree is clearly better than the fitted tree.

    Its AUC must be higher by at least ``LEAST_GAIN``, and not below ``random_auc``. In addition, its log-loss must be lower,
    or its balanced accuracy must be higher by at least ``LEAST_GAIN``.

    Parameters
    ----------
    figures, before : Figures
        Quality of the new tree, and of the fitted tree.
    random_auc : float
        AUC that random scores rarely reach.
    """
    if figures.auc is None or before.auc is None or figures.auc < max(before.auc + LEAST_GAIN, random_auc):
        return False
    assert figures.log_loss is not None
    assert before.log_loss is not None
    is_balanced = figures.balanced_accuracy >= before.balanced_accuracy + LEAST_GAIN
    return figures.log_loss < before.log_loss or is_balanced


class _Trial:
    """Grows trees with other parameters within a time limit, and measures their quality."""

    def __init__(self, comparison: Comparison, training: BinaryRows, held_out: BinaryRows | None) -> None:
        self._comparison, self._training, self._held_out = comparison, training, held_out
        self._ends = perf_counter() + ALL_SECONDS

    @property
    def random_auc(self) -> float:
        """AUC that random scores rarely reach: ½ plus two standard errors."""
        rows = self._comparison.rows
        label = self._comparison.codes(rows.y)
        n = np.bincount(label, weights=rows.masses, minlength=len(self._comparison.classes))
        others = n.sum() - n
        has_rows = (n > 0) & (others > 0)
        error = np.sqrt((n.sum() + 1) / (12 * n[has_rows] * others[has_rows]))
        return 0.5 + 2 * float(error.mean())

    def is_out_of_time(self) -> bool:
        """Return True if the time for all trees, ``ALL_SECONDS``, is over."""
        return perf_counter() > self._ends

    def grown(self, tree: Any, rows: NDArray[np.intp] | None = None) -> Any:
        """Fit a tree on training rows, with a time limit of ``SECONDS``.

        ``rows`` are indices of training rows. None means all training rows.
        """
        tree.set_params(time_limit=SECONDS if tree.time_limit is None else min(SECONDS, tree.time_limit))
        training = self._training if rows is None else self._training.some(rows)
        classifier = self._comparison.classifier
        fit_to = resolve_fit_to(classifier.fit_to, tree, self._training, classifier.discretizer_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnfinishedSearchWarning)
            warnings.simplefilter("ignore", LightWeightsWarning)  # shown when the classifier was fitted
            return fit_tree(tree, training, fit_to)

    def figures(self, tree: Any) -> Figures:
        """Return the figures of a fitted tree on the held-out rows.

        If no rows are held out, cross-validate a tree with the same parameters on the training rows.
        """
        comparison, held_out = self._comparison, self._held_out
        label, masses = comparison.codes(comparison.rows.y), comparison.rows.masses
        if held_out is not None:
            probability, prediction = comparison.tree_scores(tree, held_out.B)
            return figures_of(label, prediction, probability, masses)
        probability, prediction = np.empty((len(label), len(comparison.classes))), np.empty_like(label)
        fold = _folds(label)
        for number in range(FOLDS):
            inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            other = self.grown(clone(tree), inside)
            probability[outside], prediction[outside] = comparison.tree_scores(other, self._training.B[outside])
        return figures_of(label, prediction, probability, masses)


def _folds(label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Assign each row to a fold, stratified by class.

    Return the fold of each row, as a number from 0 to ``FOLDS - 1``.
    """
    order = np.random.default_rng(0).permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = np.arange(len(label)) % FOLDS
    return fold
