"""The neutral model: the readers' output and the searches' input."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.models._links import Link
from fcca.models._nodes import Nodes
from fcca.tables import Columns

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Model:
    """A classifier by its scores.

    With one output, the second class is answered where the score is above the boundary, the first elsewhere. With more
    outputs, one per class, the largest wins and the first of equals.

    Attributes
    ----------
    classes : ndarray
        The labels, in the order of the classifier's ``classes_``.
    n_features : int
        Number of columns of X.
    link : Link
        How scores turn into probabilities.
    boundary : float
        The largest score that is answered with the first class, for models with one output.
    columns : Columns or None
        Names, categories and missing values of the table that the classifier takes; None for plain numbers. Where a column
        holds categories, X has their codes: positions in the column's ``categories``.
    """

    classes: NDArray[np.generic]
    n_features: int
    link: Link
    boundary: float = 0.0
    columns: Columns | None = None

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        raise NotImplementedError

    def scores(self, X: Floats) -> Floats:
        """Scores of rows, one column per output."""
        raise NotImplementedError

    def answers(self, scores: Floats) -> NDArray[np.intp]:
        """Positions in ``classes`` of what rows with these scores are answered with."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > self.boundary).astype(np.intp)
        answers: NDArray[np.intp] = np.argmax(self.link.ranking(scores), axis=1)
        return answers

    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities of the classes, one column for each, by the link."""
        if scores.shape[1] == 1:
            second = self.link.second_class(scores[:, 0])
            return np.column_stack([1 - second, second])
        return self.link.every_class(scores)

    def confidence(self, scores: Floats) -> Floats:
        """Probability of the answered class per row of ``scores``, .5 on the boundary."""
        if scores.shape[1] == 1:
            return self.link.certainty(scores[:, 0], self.boundary)
        largest: Floats = self.link.every_class(scores).max(axis=1)
        return largest


@dataclass(frozen=True, kw_only=True)
class LinearModel(Model):
    """Scores ``(X - centre) @ coef.T + intercept``, in raw units.

    Attributes
    ----------
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    centre : ndarray of shape (n_features,)
        What a scaler takes off first, kept apart: added to the intercept it would cost the digits of values that lie close
        together and far from zero.
    effects : dict of int to ndarray of shape (n_categories, n_outputs)
        For a column of categories, what each of them adds to the scores; its coefficients are 0.
    missing : ndarray of shape (n_features, n_outputs) or None
        What a missing value adds instead of ``coef * (x - centre)``; None where the classifier takes no missing values.
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
        """Scores of rows, one column per output."""
        gaps = np.isnan(X) if self.missing is not None else None
        shifted = X - self.centre if gaps is None else np.where(gaps, 0.0, X - self.centre)
        # Row by row: the last digit of a product of matrices depends on the number of rows.
        scores: Floats = np.einsum("ij,kj->ik", shifted, self.coef) + self.intercept
        for j, effect in self.effects.items():
            scores += effect[np.where(np.isnan(X[:, j]), 0, X[:, j]).astype(np.intp)] * ~np.isnan(X[:, j])[:, None]
        if gaps is not None:
            assert self.missing is not None
            for j in np.flatnonzero(gaps.any(axis=0)).tolist():
                scores[gaps[:, j]] += self.missing[j]
        return scores


class Part(NamedTuple):
    """Some consecutive trees of an ensemble whose sum is divided and weighted before it is added."""

    n_trees: int
    divisor: float
    weight: float


@dataclass(frozen=True, kw_only=True)
class TreeEnsemble(Model, Nodes):
    """Scores ``(base + the sum of one leaf vector per tree) / divisor``; the nodes of all trees in one set of arrays.

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
    divisor : float
        Forests average: their number of trees.
    parts : tuple of Part
        For ensembles of ensembles, how each part's sum is divided and weighted; empty where trees are simply summed.
    single_precision : bool
        Whether the classifier sums in float32.
    """

    base: Floats
    divisor: float = 1.0
    parts: tuple[Part, ...] = ()
    single_precision: bool = False

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.base)

    def of_class(self, position: int) -> TreeEnsemble:
        """The same with the score of one class only."""
        return replace(self, value=np.ascontiguousarray(self.value[:, [position]]), base=self.base[[position]])

    def scores(self, X: Floats) -> Floats:
        """Scores of rows, added up in the classifier's own order and precision."""
        out = np.empty((len(X), self.n_outputs))
        parts = self.parts or (Part(len(self.roots), 1.0, 1.0),)
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
        """Sets of categories as flat arrays, up to each node's largest left code."""
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
        """Leaf vectors divided and weighted as they count in the score, ``base / divisor`` plus one of them per tree."""
        share = np.full(len(self.roots), 1.0 / self.divisor)
        if self.parts:
            share *= np.repeat([part.weight / part.divisor for part in self.parts], [part.n_trees for part in self.parts])
        tree = np.searchsorted(self.roots, np.arange(len(self.feature)), side="right") - 1
        shares: Floats = self.value * share[tree, None]
        return shares
