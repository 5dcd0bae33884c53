"""The model: the common form of classifiers of all libraries.

Readers convert classifiers to models. The searches use only models.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.models._links import Link
from fcca.models._nodes import Nodes
from fcca.tables import Columns, Special

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Model:
    """A classifier in the common form, which predicts from scores.

    A model of two classes may have a single output, the score of the second class. It predicts the second class if the score
    is above ``boundary``. All other models have one output per class. They predict the class with the largest value of
    :meth:`Link.ranking`. For most links, this is the class with the largest score. In a tie, the first of the tied classes
    is predicted.

    Attributes
    ----------
    classes : ndarray
        The labels, in the order of the classifier's ``classes_``.
    n_features : int
        Number of columns of X.
    link : Link
        Function from scores to probabilities.
    boundary : float
        For models with one output, the largest score for which the first class is predicted.
    columns : Columns or None
        Names and categories of the classifier's columns, and whether values may be missing. None for plain numbers. In X,
        categories are given by codes, their positions in the column's ``categories``.
    special : mapping of int to ndarray
        Special values of numeric columns that the classifier knows, by position.
    like_unknown : dict of int to ndarray
        For some columns of categories, the codes that the classifier treats like an unknown category. NaN, if it is among
        them, is the last one, and stands for a missing value. Only for the trees of this package.
    """

    classes: NDArray[np.generic]
    n_features: int
    link: Link
    boundary: float = 0.0
    columns: Columns | None = None
    special: Special = field(default_factory=dict)
    like_unknown: dict[int, Floats] = field(default_factory=dict)

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        raise NotImplementedError

    def scores(self, X: Floats) -> Floats:
        """Compute the scores of rows, one column per output."""
        raise NotImplementedError

    def answers(self, scores: Floats) -> NDArray[np.intp]:
        """Compute the predictions for ``scores``, as positions in ``classes``."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > self.boundary).astype(np.intp)
        predicted: NDArray[np.intp] = np.argmax(self.link.ranking(scores), axis=1)
        return predicted

    def probabilities(self, scores: Floats) -> Floats:
        """Compute the class probabilities for ``scores``, one column per class."""
        if scores.shape[1] == 1:
            second = self.link.second_class(scores[:, 0])
            return np.column_stack([1 - second, second])
        return self.link.every_class(scores)

    def confidence(self, scores: Floats) -> Floats:
        """Compute the certainty of predictions, one value per row.

        With one output per class, this is the largest class probability. With a single output, it is the result of
        :meth:`Link.certainty`, which is 0.5 at the boundary.
        """
        if scores.shape[1] == 1:
            return self.link.certainty(scores[:, 0], self.boundary)
        largest: Floats = self.link.every_class(scores).max(axis=1)
        return largest


@dataclass(frozen=True, kw_only=True)
class LinearModel(Model):
    """A model with linear scores.

    The scores are ``(X - centre) @ coef.T + intercept``. Here ``X`` holds the columns before any scaling.

    Attributes
    ----------
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    centre : ndarray of shape (n_features,)
        The centre that a scaler subtracts from each column. It is not merged into the intercept, because this would lose
        digits of values far from zero.
    effects : dict of int to ndarray of shape (n_categories, n_outputs)
        For a column of categories, the amount that each category adds to the scores. The coefficients of the column are 0.
    missing : ndarray of shape (n_features, n_outputs) or None
        The amount that a missing value adds to the scores, instead of ``coef * (x - centre)``. None if missing values are
        not supported.
    """

    coef: Floats
    intercept: Floats
    centre: Floats
    effects: dict[int, Floats] = field(default_factory=dict)
    missing: Floats | None = None

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.intercept)

    def scores(self, X: Floats) -> Floats:
        """Compute the scores of rows, one column per output."""
        is_missing = np.isnan(X) if self.missing is not None else None
        shifted = X - self.centre if is_missing is None else np.where(is_missing, 0.0, X - self.centre)
        # Row by row, because the last digit of a matrix product depends on the number of rows.
        scores: Floats = np.einsum("ij,kj->ik", shifted, self.coef) + self.intercept
        for j, effect in self.effects.items():
            scores += effect[np.where(np.isnan(X[:, j]), 0, X[:, j]).astype(np.intp)] * ~np.isnan(X[:, j])[:, None]
        if is_missing is not None:
            assert self.missing is not None
            for j in np.flatnonzero(is_missing.any(axis=0)).tolist():
                scores[is_missing[:, j]] += self.missing[j]
        return scores


class TreeBlock(NamedTuple):
    """Consecutive trees of an ensemble that the classifier sums separately.

    The block adds ``sum of its leaf vectors / divisor * weight`` to the scores. The scores are then divided by the divisor
    of the ensemble.
    """

    n_trees: int
    divisor: float
    weight: float


@dataclass(frozen=True, kw_only=True)
class TreeEnsemble(Model, Nodes):
    """A model that sums or averages trees.

    The scores are ``(base + sum of leaf vectors) / divisor``. The arrays contain the nodes of all trees, one tree after the
    other.

    Attributes
    ----------
    base : ndarray of shape (n_outputs,)
        The scores before the first tree.
    roots : ndarray of shape (n_trees,)
        First node of each tree.
    feature : ndarray of shape (n_nodes,)
        Column that an inner node tests; -1 for a leaf.
    threshold : ndarray of shape (n_nodes,)
        The largest float64 that the classifier sends to the left child. So ``x <= threshold`` in float64 is exactly the
        test of the classifier. The classifier itself may compare in float32 or with ``<``.
    native_threshold : ndarray of shape (n_nodes,)
        The threshold that the classifier stores. It is used for display.
    left, right : ndarray of shape (n_nodes,)
        Positions of the children of each node; -1 for a leaf.
    value : ndarray of shape (n_nodes, n_outputs)
        The vector that a leaf adds to the scores. The learning rate is already multiplied in.
    missing_left : ndarray of shape (n_nodes,) or None
        Whether a missing value goes to the left child. None if missing values are not supported.
    categories : dict of int to ndarray
        For each node that splits by category, the category codes that go to the left child.
    divisor : float
        Number of trees if the classifier averages its trees, sum of weights if it computes a weighted average, otherwise 1.
    parts : tuple of TreeBlock
        Blocks of trees that are summed separately, such as the forests in a VotingClassifier. Empty for a single sum.
    single_precision : bool
        Whether the classifier sums its trees in float32.
    """

    base: Floats
    divisor: float = 1.0
    parts: tuple[TreeBlock, ...] = ()
    single_precision: bool = False

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.base)

    def of_class(self, position: int) -> TreeEnsemble:
        """Return a model whose only output is the score of one class.

        ``position`` is the position of the class in ``classes``.
        """
        return replace(self, value=np.ascontiguousarray(self.value[:, [position]]), base=self.base[[position]])

    def scores(self, X: Floats) -> Floats:
        """Compute the scores of rows, one column per output.

        Trees are summed in the order and the precision of the classifier, so that rounding is the same.
        """
        out = np.empty((len(X), self.n_outputs))
        parts = self.parts or (TreeBlock(len(self.roots), 1.0, 1.0),)
        _core.score_trees(
            rows=np.ascontiguousarray(X, dtype=np.float64),
            roots=self.roots,
            feature=self.feature,
            threshold=self.threshold,
            left=self.left,
            right=self.right,
            missing_left=None if self.missing_left is None else np.ascontiguousarray(self.missing_left, dtype=np.uint8),
            **self._category_sets(),
            value=self.value,
            base=self.base,
            part_size=np.array([part.n_trees for part in parts], dtype=np.int64),
            part_divisor=np.array([part.divisor for part in parts]),
            part_weight=np.array([part.weight for part in parts]),
            nested=bool(self.parts),
            divisor=self.divisor,
            single_precision=self.single_precision,
            out=out,
        )
        return out

    def _category_sets(self) -> dict[str, Any]:
        """Return ``categories`` as flat arrays, the arguments of the C++ core."""
        if not self.categories:
            return {"first_code": None, "n_codes": None, "left_codes": None}
        first_code = np.full(len(self.feature), -1, dtype=np.int64)
        n_codes = np.zeros(len(self.feature), dtype=np.int64)
        sets = []
        end = 0
        for node, codes in self.categories.items():
            goes_left = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.uint8)
            goes_left[codes] = 1
            sets.append(goes_left)
            first_code[node], n_codes[node] = end, len(goes_left)
            end += len(goes_left)
        return {"first_code": first_code, "n_codes": n_codes, "left_codes": np.concatenate(sets)}

    def shares(self) -> Floats:
        """Compute what each leaf adds to the scores, after all divisions.

        A row reaches one leaf per tree. Its scores are ``base / divisor`` plus the amounts of these leaves.
        """
        share = np.full(len(self.roots), 1.0 / self.divisor)
        if self.parts:
            share *= np.repeat([part.weight / part.divisor for part in self.parts], [part.n_trees for part in self.parts])
        tree = np.searchsorted(self.roots, np.arange(len(self.feature)), side="right") - 1
        shares: Floats = self.value * share[tree, None]
        return shares
