"""Distances between the old and the new value of a changed column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Distances:
    """How the distance between an old and a new value is measured in each column.

    Attributes
    ----------
    unit : ndarray of shape (n_features,), or None
        For each numeric column, the difference that counts as distance 1. None stands for the range of the column's
        training values.
    unordered : float
        Distance of every change between values without an order. Such a change picks another category, fills in a missing
        value, or moves the 1 of a one-hot group.
    ranks : tuple of (values, ranks) per feature, or None
        If given, the distance between two numbers is the difference of their ranks. Ranks are linear between the given
        values, and constant below the first and above the last one. A feature whose list of values is empty uses ``unit``.
    """

    unit: Floats | None = None
    unordered: float = 1.0
    ranks: tuple[tuple[Floats, Floats], ...] | None = None

    def between(self, j: int, x0: float, to: Floats, width: float) -> Floats:
        """Compute the distances from ``x0`` to other values of its column.

        Parameters
        ----------
        j : int
            Position of the column.
        x0 : float
            The old value.
        to : ndarray
            The new values.
        width : float
            Range of the column's training values. It is the unit of distance if ``unit`` is None.
        """
        if self.ranks is not None and len(self.ranks[j][0]):
            values, ranks = self.ranks[j]
            far: Floats = np.abs(_rank_of(to, values, ranks) - _rank_of(np.array(x0), values, ranks))
            return far
        unit = width if self.unit is None else float(self.unit[j])
        far = np.abs(to - x0) / (unit if unit > 0 else 1.0)
        return far

    def as_core(self) -> dict[str, Any]:
        """Return the distances as keyword arguments of ``_core.Cells``."""
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
    """Interpolate the ranks of ``x`` between ``values``.

    Unlike with ``np.interp``, a larger x never gets a smaller rank, even after rounding.
    """
    below = np.clip(np.searchsorted(values, x, side="right") - 1, 0, len(values) - 2)
    part = np.clip((x - values[below]) / (values[below + 1] - values[below]), 0.0, 1.0)
    found: Floats = np.minimum(ranks[below + 1], ranks[below] + part * (ranks[below + 1] - ranks[below]))
    return found
