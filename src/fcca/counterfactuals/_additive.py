"""Compiles an ensemble whose trees test one feature each into one step function per feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.counterfactuals._cells import Cells
from fcca.exceptions import UnsupportedModelError
from fcca.models import TreeEnsemble

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AdditiveTables:
    """Score = ``base`` + Σ over features of the ``values`` of the cell the feature is in."""

    cells: Cells
    native_cuts: Floats  # per cut, the classifier's own number
    values: Floats  # (cells, outputs)
    base: Floats

    @classmethod
    def from_trees(cls, model: TreeEnsemble) -> AdditiveTables:
        """Compile; raises UnsupportedModelError where a tree tests two features."""
        inner = np.flatnonzero((model.feature >= 0) & np.isfinite(model.threshold))
        by_feature: list[Floats] = [np.empty(0)] * model.n_features
        native: list[Floats] = [np.empty(0)]
        for j in np.unique(model.feature[inner]):
            mine = inner[model.feature[inner] == j]
            by_feature[j], first = np.unique(model.threshold[mine], return_index=True)
            native.append(model.native_threshold[mine[first]])
        cells = Cells.from_cuts(by_feature)
        first_cell = cells.first_cell
        values = np.zeros((len(cells.smallest), model.n_outputs))
        base = model.base.copy()
        for root in model.roots.tolist():
            tested = int(model.feature[root])
            if tested < 0:
                base += model.value[root]
                continue
            cuts = by_feature[tested]
            pending = [(root, 0, len(cuts) + 1)]
            while pending:
                node, begin, end = pending.pop()
                if model.feature[node] < 0:
                    values[first_cell[tested] + begin : first_cell[tested] + end] += model.value[node]
                    continue
                if model.feature[node] != tested:
                    raise UnsupportedModelError(
                        "A tree of this ensemble tests more than one feature. Supported so far are ensembles whose trees "
                        "test one feature each, such as GradientBoostingClassifier(max_depth=1), and linear models."
                    )
                # Cells up to and including the one that ends at the cut go to the left.
                split = int(np.searchsorted(cuts, model.threshold[node], side="right"))
                pending.append((int(model.left[node]), begin, min(end, split)))
                pending.append((int(model.right[node]), max(begin, split), end))
        return cls(cells, np.concatenate(native), values, base)

    def scores(self, X: Floats) -> Floats:
        """Scores of rows."""
        out = np.empty((len(X), len(self.base)))
        nowhere = np.zeros(self.cells.n_features)
        _core.score_additive(X, self.cells.first_cut, self.cells.cuts, nowhere, nowhere, self.values, self.base, out)
        return out
