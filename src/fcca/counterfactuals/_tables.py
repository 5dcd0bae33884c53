"""Compiles an ensemble into cells: any ensemble, and those whose trees test one feature each into step functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.counterfactuals._cells import Cells
from fcca.models import TreeEnsemble

Floats = NDArray[np.float64]


def _cells(model: TreeEnsemble) -> tuple[Cells, Floats]:
    """Cells between all cuts of a model, and per cut the classifier's own number."""
    inner = np.flatnonzero((model.feature >= 0) & np.isfinite(model.threshold))
    by_feature: list[Floats] = [np.empty(0)] * model.n_features
    native: list[Floats] = [np.empty(0)]
    for j in np.unique(model.feature[inner]):
        mine = inner[model.feature[inner] == j]
        by_feature[j], first = np.unique(model.threshold[mine], return_index=True)
        native.append(model.native_threshold[mine[first]])
    return Cells.from_cuts(by_feature), np.concatenate(native)


@dataclass(frozen=True)
class AdditiveTables:
    """Score = ``base`` + Σ over features of the ``values`` of the cell the feature is in."""

    cells: Cells
    native_cuts: Floats  # per cut, the classifier's own number
    values: Floats  # (cells, outputs)
    base: Floats

    @classmethod
    def from_trees(cls, model: TreeEnsemble) -> AdditiveTables | None:
        """Compile; None where a tree tests two features."""
        cells, native_cuts = _cells(model)
        first_cell = cells.first_cell
        values = np.zeros((len(cells.smallest), model.n_outputs))
        shares = model.shares()
        base = model.base / model.divisor
        for root in model.roots.tolist():
            tested = int(model.feature[root])
            if tested < 0:
                base += shares[root]
                continue
            cuts = cells.cuts[cells.first_cut[tested] : cells.first_cut[tested + 1]]
            pending = [(root, 0, len(cuts) + 1)]
            while pending:
                node, begin, end = pending.pop()
                if model.feature[node] < 0:
                    values[first_cell[tested] + begin : first_cell[tested] + end] += shares[node]
                    continue
                if model.feature[node] != tested:
                    return None
                # Cells up to and including the one that ends at the cut go to the left.
                everything = model.threshold[node] == np.inf
                split = len(cuts) + 1 if everything else int(np.searchsorted(cuts, model.threshold[node], side="right"))
                pending.append((int(model.left[node]), begin, min(end, split)))
                pending.append((int(model.right[node]), max(begin, split), end))
        return cls(cells, native_cuts, values, base)

    def scores(self, X: Floats) -> Floats:
        """Scores of rows."""
        out = np.empty((len(X), len(self.base)))
        nowhere = np.zeros(self.cells.n_features)
        _core.score_additive(X, self.cells.first_cut, self.cells.cuts, nowhere, nowhere, self.values, self.base, out)
        return out


@dataclass(frozen=True)
class EnsembleTables:
    """The trees of any ensemble, their tests by cells: a node sends the cells up to ``cut`` to the left."""

    cells: Cells
    native_cuts: Floats
    cut: NDArray[np.int32]  # per node, position among the cuts of its feature; -1 and their number: nothing, everything left
    values: Floats  # (nodes, outputs)
    base: Floats

    @classmethod
    def from_trees(cls, model: TreeEnsemble) -> EnsembleTables:
        """Compile."""
        cells, native_cuts = _cells(model)
        cut = np.full(len(model.feature), -1, dtype=np.int32)
        inner = np.flatnonzero((model.feature >= 0) & np.isfinite(model.threshold))
        feature = model.feature[inner]
        cut[inner] = cells.index_of(feature, model.threshold[inner]) - cells.first_cut[feature]
        everything = np.flatnonzero((model.feature >= 0) & (model.threshold == np.inf))
        cut[everything] = np.diff(cells.first_cut)[model.feature[everything]]
        return cls(cells, native_cuts, cut, model.shares(), model.base / model.divisor)
