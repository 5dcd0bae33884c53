"""Trees compiled for the C++ core, whose nodes test cells instead of values.

If every tree tests only one feature, the trees are summed into one step function per feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.cells import Cells
from fcca.counterfactuals._forest import Forest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AdditiveTables:
    """One step function per feature, for trees that each test only one feature.

    The score of a row is ``base`` plus, for each feature, the ``values`` of the cell that contains the row's value.
    """

    cells: Cells
    values: Floats  # (cells, outputs)
    base: Floats

    @classmethod
    def from_trees(cls, forest: Forest, cells: Cells) -> AdditiveTables | None:
        """Sum the trees into step functions; None if a tree tests two features."""
        first_cell = cells.first_cell
        values = np.zeros((len(cells.smallest), forest.values.shape[1]))
        base = forest.base.copy()
        for root in forest.roots.tolist():
            tested = int(forest.feature[root])
            if tested < 0:
                base += forest.values[root]
                continue
            n_cells = int(first_cell[tested + 1] - first_cell[tested])
            in_order = tested not in cells.code_cell and (cells.has_missing is None or not cells.has_missing[tested])
            mine, cuts = values[first_cell[tested] : first_cell[tested + 1]], cells.cuts_of(tested)
            pending: list[tuple[int, Any]] = [(root, slice(0, n_cells) if in_order else np.arange(n_cells))]
            while pending:
                node, reached = pending.pop()
                if forest.feature[node] < 0:
                    mine[reached] += forest.values[node]
                    continue
                if forest.feature[node] != tested:
                    return None
                if in_order:  # cells up to the cut go to the left
                    everything = forest.threshold[node] == np.inf
                    end = n_cells if everything else int(np.searchsorted(cuts, forest.threshold[node], side="right"))
                    left = slice(reached.start, min(reached.stop, end))
                    right = slice(max(reached.start, end), reached.stop)
                else:
                    goes_left = forest.left_cells(node, cells)[reached]
                    left, right = reached[goes_left], reached[~goes_left]
                pending.append((int(forest.left[node]), left))
                pending.append((int(forest.right[node]), right))
        alone = first_cell[:-1][cells.n_cells() == 1]  # a feature with a single cell adds a constant
        base += values[alone].sum(axis=0)
        values[alone] = 0
        return cls(cells, values, base)

    def scores(self, X: Floats) -> Floats:
        """Compute the scores of rows."""
        out = np.empty((len(X), len(self.base)))
        _core.score_additive(X, self.cells.as_core(), self.values, self.base, out)
        return out


@dataclass(frozen=True)
class EnsembleTables:
    """Trees whose nodes test cells instead of values.

    A node sends the cells up to its ``cut`` to the left. A node that tests a set of categories or a missing value lists
    instead whether each cell of its feature goes to the left, in ``left_cells`` from ``first_left`` on.
    """

    cells: Cells
    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    cut: NDArray[np.int32]  # position among the cuts of the feature; -1: no cell goes left, number of cuts: all cells do
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    values: Floats  # (nodes, outputs)
    base: Floats
    first_left: NDArray[np.int64] | None = None  # -1 for nodes with a cut; None if all nodes have one
    left_cells: NDArray[np.uint8] | None = None

    @classmethod
    def from_trees(cls, forest: Forest, cells: Cells) -> EnsembleTables:
        """Convert the tests of a forest to tests of cells."""
        cut = np.full(len(forest.feature), -1, dtype=np.int32)
        inner = np.flatnonzero((forest.feature >= 0) & np.isfinite(forest.threshold))
        feature = forest.feature[inner]
        cut[inner] = cells.index_of(feature, forest.threshold[inner]) - cells.first_cut[feature]
        everything = np.flatnonzero((forest.feature >= 0) & (forest.threshold == np.inf))
        cut[everything] = np.diff(cells.first_cut)[forest.feature[everything]]
        has_missing = np.zeros(cells.n_features, dtype=bool) if cells.has_missing is None else cells.has_missing
        with_sets = [*forest.sets, *np.flatnonzero((forest.feature >= 0) & has_missing[forest.feature]).tolist()]
        same = (forest.roots, forest.feature, cut, forest.left, forest.right, forest.values, forest.base)
        if not with_sets:
            return cls(cells, *same)
        sets = [forest.left_cells(node, cells).astype(np.uint8) for node in with_sets]
        first_left = np.full(len(forest.feature), -1, dtype=np.int64)
        first_left[with_sets] = np.concatenate([[0], np.cumsum([len(goes_left) for goes_left in sets])])[:-1]
        return cls(cells, *same, first_left, np.concatenate(sets))

    @property
    def nodes(self) -> dict[str, Any]:
        """The arrays of the nodes, as arguments of the core."""
        names = ("roots", "feature", "cut", "left", "right", "values", "first_left", "left_cells")
        return {name: getattr(self, name) for name in names}
