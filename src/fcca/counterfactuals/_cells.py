"""The intervals between cuts and the training values inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca import _core

Floats = NDArray[np.float64]


@dataclass
class Cells:
    """Per feature, sorted cuts; per cell, the smallest and largest training value seen so far (NaN: none).

    That is all that has to be known of the training data, so it can be observed in chunks.
    """

    first_cut: NDArray[np.int64]
    cuts: Floats
    smallest: Floats
    largest: Floats

    @classmethod
    def from_cuts(cls, cuts_by_feature: Sequence[Floats]) -> Cells:
        """Make cells without data from each feature's sorted, distinct cuts."""
        first_cut = np.concatenate([[0], np.cumsum([len(cuts) for cuts in cuts_by_feature])]).astype(np.int64)
        cuts = np.concatenate([*cuts_by_feature, np.empty(0)]).astype(np.float64)
        empty = np.full(len(cuts) + len(cuts_by_feature), np.nan)
        return cls(first_cut, cuts, empty, empty.copy())

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.first_cut) - 1

    @property
    def first_cell(self) -> NDArray[np.int64]:
        """Offsets into the cells: a feature has one cell more than cuts."""
        return self.first_cut + np.arange(self.n_features + 1)

    def observe(self, X: Floats) -> Cells:
        """Take in training rows; returns self."""
        nowhere = np.zeros(self.n_features)
        _core.widen_cells(X, self.first_cut, self.cuts, nowhere, nowhere, self.smallest, self.largest)
        return self

    def of(self, X: Floats) -> NDArray[np.int32]:
        """The cell of every value, counted per feature."""
        found = np.empty(X.shape, dtype=np.int32)
        _core.find_cells(X, self.first_cut, self.cuts, found)
        return found

    @property
    def box_low(self) -> Floats:
        """Training minimum of each feature."""
        low: Floats = np.fmin.reduceat(self.smallest, self.first_cell[:-1])
        return low

    @property
    def box_high(self) -> Floats:
        """Training maximum of each feature."""
        high: Floats = np.fmax.reduceat(self.largest, self.first_cell[:-1])
        return high

    def index_of(self, feature: NDArray[np.int32], cut: Floats) -> NDArray[np.int64]:
        """Positions in ``cuts`` of cuts given by feature and value."""
        owner = np.repeat(np.arange(self.n_features), np.diff(self.first_cut))
        both = np.lexsort((np.concatenate([self.cuts, cut]), np.concatenate([owner, feature])))
        rank = np.cumsum(both < len(self.cuts)) - 1
        position = np.empty(len(both), dtype=np.int64)
        position[both] = rank
        return position[len(self.cuts) :]

    def values_around(self) -> tuple[Floats, Floats]:
        """Per cut, the largest training value that is not above it and the smallest above it (NaN: none)."""
        below, above = np.full(len(self.cuts), np.nan), np.full(len(self.cuts), np.nan)
        for j in range(self.n_features):
            cuts = slice(self.first_cut[j], self.first_cut[j + 1])
            cells = slice(self.first_cell[j], self.first_cell[j + 1])
            if cuts.start == cuts.stop:
                continue
            below[cuts] = np.fmax.accumulate(self.largest[cells])[:-1]
            above[cuts] = np.fmin.accumulate(self.smallest[cells][::-1])[::-1][1:]
        return below, above
