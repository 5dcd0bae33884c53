"""The trees of an ensemble in the form that the searches use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Cells, special_cuts
from fcca.models import TreeEnsemble
from fcca.tables import Special

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Forest:
    """Trees that test numbers and sets of categories, with leaf values.

    The score of a row is ``base`` plus the ``values`` of the leaf that it reaches in each tree.

    Attributes
    ----------
    n_features : int
    roots, feature, threshold, native_threshold, left, right, missing_left
        As in :class:`fcca.models.TreeEnsemble`. If no value may be missing, ``missing_left`` is False everywhere.
    sets : dict of int to ndarray
        For each node that tests categories, the mask of the codes that go to the left. The last code is a missing value.
    n_codes : dict of int to int
        Number of codes of each column of categories, including the code of missing values.
    values : ndarray of shape (n_nodes, n_outputs)
        Values that the leaves add to the scores.
    base : ndarray of shape (n_outputs,)
        Scores before any tree is added.
    """

    n_features: int
    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: Floats
    native_threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: Bools
    values: Floats
    base: Floats
    sets: dict[int, Bools] = field(default_factory=dict)
    n_codes: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, model: TreeEnsemble, n_codes: Mapping[int, int] | None = None) -> Forest:
        """Build a forest from the trees of a model.

        Parameters
        ----------
        model : TreeEnsemble
        n_codes : mapping of int to int, optional
            Number of codes of each column of categories, including the code of missing values. Default: as in the model.
        """
        n_codes = _number_of_codes(model) if n_codes is None else dict(n_codes)
        missing_left = np.zeros(len(model.feature), dtype=bool) if model.missing_left is None else model.missing_left
        sets = {}
        for node, codes in model.categories.items():
            goes_left = np.zeros(n_codes[int(model.feature[node])], dtype=bool)
            goes_left[codes] = True
            goes_left[-1] = missing_left[node]
            sets[node] = goes_left
        same = ("n_features", "roots", "feature", "threshold", "native_threshold", "left", "right")
        return cls(
            **{name: getattr(model, name) for name in same},
            missing_left=np.asarray(missing_left, dtype=bool),
            values=model.shares(),
            base=model.base / model.divisor,
            sets=sets,
            n_codes=n_codes,
        )

    def beside(self, other: Forest) -> Forest:
        """Combine two forests into one that computes the scores of both.

        The scores of ``other`` come after the scores of this forest.
        """
        shift = len(self.feature)
        outputs = self.values.shape[1], other.values.shape[1]

        def shifted(children: NDArray[np.int32]) -> NDArray[np.int32]:
            return np.where(children >= 0, children + shift, children).astype(np.int32)

        names = ("feature", "threshold", "native_threshold", "missing_left", "base")
        chained: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        return replace(
            self,
            **chained,
            roots=np.concatenate([self.roots, other.roots + shift]),
            left=np.concatenate([self.left, shifted(other.left)]),
            right=np.concatenate([self.right, shifted(other.right)]),
            values=np.block(
                [
                    [self.values, np.zeros((shift, outputs[1]))],
                    [np.zeros((len(other.feature), outputs[0])), other.values],
                ]
            ),
            sets=self.sets | {node + shift: goes_left for node, goes_left in other.sets.items()},
            n_codes=self.n_codes | other.n_codes,
        )

    def grouped(self, group: tuple[int, ...], patterns: Floats) -> Forest:
        """Replace a one-hot group of columns with one column of categories.

        Parameters
        ----------
        group : tuple of int
            Columns of the group. The first of them becomes the column of categories.
        patterns : ndarray of shape (n_codes, len(group))
            For each category code, the values of the group's columns that it stands for.
        """
        sets, feature, threshold = dict(self.sets), self.feature.copy(), self.threshold.copy()
        for position, j in enumerate(group):
            for node in np.flatnonzero(self.feature == j).tolist():
                holds = patterns[:, position]
                goes_left = np.where(np.isnan(holds), self.missing_left[node], holds <= self.threshold[node])
                sets[node] = np.append(goes_left, False)
                feature[node], threshold[node] = group[0], np.nan
        n_codes = self.n_codes | {group[0]: len(patterns) + 1}
        return replace(self, feature=feature, threshold=threshold, sets=sets, n_codes=n_codes)

    def crossed_set(self, feature: int, origin: int, landing: int) -> frozenset[int]:
        """Find the set of categories that a change of category enters.

        Each node that tests the column divides its categories into two sets. Among the sets that contain ``landing`` but
        not ``origin``, the smallest is chosen. Ties go to the set whose codes come first. For categories, this set plays
        the role of the cut that a changed number crosses last.

        Parameters
        ----------
        feature : int
            A column of categories.
        origin, landing : int
            Codes of the category before and after the change.
        """
        sides = [
            side
            for node, goes_left in self.sets.items()
            if self.feature[node] == feature
            for side in (goes_left, ~goes_left)
            if side[landing] and not side[origin]
        ]
        entered = [frozenset(np.flatnonzero(side[:-1]).tolist()) for side in sides]
        # With plausibility, a move may enter a category that no test of the model separates.
        return min(entered, key=lambda codes: (len(codes), sorted(codes)), default=frozenset({landing}))

    @cached_property
    def _side_values(self) -> Floats:
        """Compute, for each node, the mean first output of the leaves below.

        At each split, the left and the right subtree have the same weight.
        """
        levels = [self.roots]
        while len(inner := levels[-1][self.feature[levels[-1]] >= 0]):
            levels.append(np.concatenate([self.left[inner], self.right[inner]]).astype(np.int64))
        mean = self.values[:, 0].copy()
        for level in reversed(levels):
            inner = level[self.feature[level] >= 0]
            mean[inner] = (mean[self.left[inner]] + mean[self.right[inner]]) / 2
        return mean

    def _code_cells(self, j: int) -> Codes:
        """Return the cell of each category code of a column.

        Codes that no node of the trees separates share a cell. The cells are ordered by their mean effect on the score. In
        this order, most sets that the nodes test consist of only a few intervals of cells.
        """
        nodes = np.array([node for node in self.sets if self.feature[node] == j], dtype=np.int64)
        if len(nodes) == 0:
            return np.zeros(self.n_codes[j], dtype=np.int32)
        goes_left = np.array([self.sets[node] for node in nodes.tolist()])
        distinct, cell = np.unique(goes_left, axis=1, return_inverse=True)
        mean = self._side_values
        effect = np.where(distinct, mean[self.left[nodes]][:, None], mean[self.right[nodes]][:, None]).sum(axis=0)
        rank = np.empty(len(effect), dtype=np.int32)
        rank[np.argsort(effect, kind="stable")] = np.arange(len(effect))
        return rank[cell.ravel()]

    def cells(self, more_cuts: Mapping[int, Floats] | None = None, special: Special | None = None) -> tuple[Cells, Floats]:
        """Build the cells of all features, and the native threshold of each cut.

        The native threshold is the number that the classifier itself stores for the cut.

        Parameters
        ----------
        more_cuts : dict of int to ndarray, optional
            Additional cuts, by feature.
        special : mapping of int to ndarray, optional
            Special values, by feature. Each gets a cell of its own.
        """
        special, more_cuts = special or {}, dict(more_cuts or {})
        for j, values in special.items():
            more_cuts[j] = np.union1d(more_cuts.get(j, values[:0]), special_cuts(values))
        inner = np.flatnonzero((self.feature >= 0) & np.isfinite(self.threshold))
        by_feature: list[Floats] = [np.empty(0)] * self.n_features
        native: list[Floats] = [np.empty(0)] * self.n_features
        for j in np.unique(self.feature[inner]):
            mine = inner[self.feature[inner] == j]
            by_feature[j], first = np.unique(self.threshold[mine], return_index=True)
            native[j] = self.native_threshold[mine[first]]
        for j, cuts in more_cuts.items():
            new = np.setdiff1d(cuts, by_feature[j])
            order = np.argsort(np.concatenate([by_feature[j], new]))
            by_feature[j] = np.concatenate([by_feature[j], new])[order]
            native[j] = np.concatenate([native[j], new])[order]
        cells = Cells.from_cuts(by_feature, {j: self._code_cells(j) for j in self.n_codes}, special)
        for j in self.n_codes:
            native[j] = cells.cuts_of(j)
        return cells, np.concatenate([*native, np.empty(0)])

    def left_cells(self, node: int, cells: Cells) -> Bools:
        """Return a mask of the cells that a node sends to the left.

        The cells are those of the feature that the node tests.
        """
        j = int(self.feature[node])
        if node in self.sets:
            cell, goes_left = cells.code_cell[j], np.zeros(int(cells.n_cells()[j]), dtype=bool)
            goes_left[cell] = self.sets[node]
            return goes_left
        goes_left = np.append(cells.cuts_of(j) <= self.threshold[node], self.threshold[node] == np.inf)
        if cells.has_missing is not None and cells.has_missing[j]:
            goes_left[-1] = self.missing_left[node]
        return goes_left


def _number_of_codes(model: TreeEnsemble) -> dict[int, int]:
    n_codes = {}
    if model.columns is not None:
        n_codes = {j: len(c.categories) + 1 for j, c in enumerate(model.columns) if c.categories is not None}
    for node, codes in model.categories.items():  # a model read without labels
        j = int(model.feature[node])
        n_codes[j] = max(n_codes.get(j, 0), int(codes.max(initial=0)) + 2)
    return n_codes
