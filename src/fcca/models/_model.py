"""The neutral model: output of the readers and input of the searches."""

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
    """A classifier that decides by scores.

    With one output, it predicts the second class if the score is above the boundary. With one output per class, it predicts
    the class with the largest score, and the first of them in a tie.

    Attributes
    ----------
    classes : ndarray
        The labels, in the order of the classifier's ``classes_``.
    n_features : int
        Number of columns of X.
    link : Link
        Function from scores to probabilities.
    boundary : float
        Largest score of the first class, for models with one output.
    columns : Columns or None
        Names, categories and missing values of the classifier's table; None for plain numbers. In X, categories are given
        by positions in the column's ``categories``.
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
        """Compute the scores of rows, one column per output."""
        raise NotImplementedError

    def answers(self, scores: Floats) -> NDArray[np.intp]:
        """Compute the predictions for these scores, as positions in ``classes``."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > self.boundary).astype(np.intp)
        predicted: NDArray[np.intp] = np.argmax(self.link.ranking(scores), axis=1)
        return predicted

    def probabilities(self, scores: Floats) -> Floats:
        """Compute the probabilities, one column per class."""
        if scores.shape[1] == 1:
            second = self.link.second_class(scores[:, 0])
            return np.column_stack([1 - second, second])
        return self.link.every_class(scores)

    def confidence(self, scores: Floats) -> Floats:
        """Compute the predicted class's probability, which is 0.5 on the boundary."""
        if scores.shape[1] == 1:
            return self.link.certainty(scores[:, 0], self.boundary)
        largest: Floats = self.link.every_class(scores).max(axis=1)
        return largest


@dataclass(frozen=True, kw_only=True)
class LinearModel(Model):
    """Linear scores ``(X - centre) @ coef.T + intercept``, in raw units.

    Attributes
    ----------
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    centre : ndarray of shape (n_features,)
        The centre that a scaler subtracts. It is not merged into the intercept: otherwise, values that are close together
        and far from zero would lose digits.
    effects : dict of int to ndarray of shape (n_categories, n_outputs)
        For a column of categories, the contribution of each category. The coefficients of the column are 0.
    missing : ndarray of shape (n_features, n_outputs) or None
        Contribution of a missing value, instead of ``coef * (x - centre)``. None if missing values are not supported.
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
    """Consecutive trees whose sum is divided and weighted."""

    n_trees: int
    divisor: float
    weight: float


@dataclass(frozen=True, kw_only=True)
class TreeEnsemble(Model, Nodes):
    """Trees with scores ``(base + sum of leaf vectors) / divisor``.

    The nodes of all trees are in one set of arrays.

    Attributes
    ----------
    base : ndarray of shape (n_outputs,)
    roots : ndarray of shape (n_trees,)
        First node of each tree.
    feature : ndarray of shape (n_nodes,)
        Column that an inner node tests; -1 for a leaf.
    threshold : ndarray of shape (n_nodes,)
        The largest float64 that the classifier sends to the left. So ``x <= threshold`` in float64 is exactly its test, in
        any precision and with any comparison.
    native_threshold : ndarray of shape (n_nodes,)
        The number that the classifier stores, for display.
    left, right : ndarray of shape (n_nodes,)
        Children; -1 for a leaf.
    value : ndarray of shape (n_nodes, n_outputs)
        Leaf vectors, multiplied by the learning rate.
    missing_left : ndarray of shape (n_nodes,) or None
        Whether a missing value goes to the left. None if missing values are not supported.
    categories : dict of int to ndarray
        For a node that splits by category, the codes that go to the left.
    divisor : float
        Number of trees of a forest, because forests average; otherwise 1.
    parts : tuple of TreeBlock
        For ensembles of ensembles, divisor and weight of each block of trees. Empty if all trees are summed.
    single_precision : bool
        Whether the classifier sums in float32.
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
        """Keep the score of one class only."""
        return replace(self, value=np.ascontiguousarray(self.value[:, [position]]), base=self.base[[position]])

    def scores(self, X: Floats) -> Floats:
        """Compute the scores of rows, in the classifier's order and precision."""
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
        """Return the sets of categories as flat arrays."""
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
        """Compute the contributions of the leaf vectors to the score.

        The score is ``base / divisor`` plus one of these contributions per tree.
        """
        share = np.full(len(self.roots), 1.0 / self.divisor)
        if self.parts:
            share *= np.repeat([part.weight / part.divisor for part in self.parts], [part.n_trees for part in self.parts])
        tree = np.searchsorted(self.roots, np.arange(len(self.feature)), side="right") - 1
        shares: Floats = self.value * share[tree, None]
        return shares
