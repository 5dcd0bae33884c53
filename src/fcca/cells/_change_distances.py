"""Distances of changes, in the unit of each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Distances:
    """Units of distance of the columns.

    Attributes
    ----------
    unit : ndarray of shape (n_features,), or None
        Unit of each column of numbers. None stands for the range of the training values.
    unordered : float
        Distance of a change without direction: another category, a filled-in missing value, a switch of a one-hot group.
    ranks : tuple of (values, ranks) per feature, or None
        If given, distances of numbers are differences of ranks. Ranks are linear between these values and constant beyond
        them. A feature without values uses its unit.
    """

    unit: Floats | None = None
    unordered: float = 1.0
    ranks: tuple[tuple[Floats, Floats], ...] | None = None

    def between(self, j: int, x0: float, to: Floats, width: float) -> Floats:
        """Compute the distances from a number to other values of its column."""
        if self.ranks is not None and len(self.ranks[j][0]):
            values, ranks = self.ranks[j]
            far: Floats = np.abs(_rank_of(to, values, ranks) - _rank_of(np.array(x0), values, ranks))
            return far
        unit = width if self.unit is None else float(self.unit[j])
        far = np.abs(to - x0) / (unit if unit > 0 else 1.0)
        return far

    def as_core(self) -> dict[str, Any]:
        """Return the arguments of the core's cells."""
        found: dict[str, Any] = {"unit": self.unit, "unordered": self.unordered}
        if self.ranks is None:
            return found
        nothing = np.empty(0)
        return found | {
            "first_knot": np.cumsum([0, *(len(values) for values, _ in self.ranks)], dtype=np.int64),
            "knot": np.concatenate([nothing, *(values for values, _ in self.ranks)]),
            "rank": np.concatenate([nothing, *(ranks for _, ranks in self.ranks)]),
        }


def _rank_of(x: Floats, values: Floats, ranks: Floats) -> Floats:
    """Interpolate ranks. Unlike with np.interp, the result never decreases, even after rounding."""
    below = np.clip(np.searchsorted(values, x, side="right") - 1, 0, len(values) - 2)
    part = np.clip((x - values[below]) / (values[below + 1] - values[below]), 0.0, 1.0)
    found: Floats = np.minimum(ranks[below + 1], ranks[below] + part * (ranks[below + 1] - ranks[below]))
    return found
