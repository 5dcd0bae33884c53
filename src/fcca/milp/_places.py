"""The values that the columns of a row can take, with costs.

A unit is a column, or a one-hot group of columns that change together. The places of a unit are the values that it can take:
its current value, and one value per other cell or category. A counterfactual chooses one place for each unit. The
``Cells`` object provides the smallest and largest training value of each cell, and the counts of the categories. The new
values (landings) and their costs are computed here in numpy, not by the C++ core. So the mixed-integer programs check the
core independently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Cells, Distances, TrainingValues
from fcca.constraints import Limits

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Booleans = NDArray[np.bool_]

GRID_ROUNDING = np.arange(-2.0, 3.0)  # quotients are rounded, so the grid values up to two steps away are tried too


class Unit(NamedTuple):
    """A column or one-hot group, with the values it can take (places)."""

    columns: tuple[int, ...]
    values: Floats  # (places, columns); NaN: missing
    cost: Floats  # per place, 0 for the current one
    own: int  # the current place
    in_order: bool  # True for numbers: values rise from place to place, and costs rise with the distance

    def among(self, wanted: Booleans) -> Unit:
        """Keep only some of the values that the unit can take (places).

        ``wanted`` is a mask of places. It must be True for the current place.
        """
        own = int(np.count_nonzero(wanted[: self.own]))
        return Unit(self.columns, self.values[wanted], self.cost[wanted], own, self.in_order)

    @property
    def nearness(self) -> Longs:
        """Indices of the values that the unit can take (places), sorted by cost.

        Among equal costs, places near the current one come first.
        """
        order: Longs = np.lexsort((np.abs(np.arange(len(self.cost)) - self.own), self.cost))
        return order


@dataclass(frozen=True)
class Places:
    """The values that all units of one row can take (places).

    A unit is a column or one-hot group. Places are numbered consecutively over all units.

    Attributes
    ----------
    x0 : ndarray of shape (n_features,)
        The row before any change.
    units : tuple of Unit
        The columns and one-hot groups that can change.
    """

    x0: Floats
    units: tuple[Unit, ...]

    @cached_property
    def first(self) -> Longs:
        """Index of the first place of each unit.

        A unit is a column or one-hot group. Its places are the values that it can take. The last entry is the number of
        places.
        """
        return np.cumsum([0, *(len(unit.cost) for unit in self.units)])

    @cached_property
    def owner(self) -> Longs:
        """For each place (a value that a unit can take), the index of its unit."""
        return np.repeat(np.arange(len(self.units)), np.diff(self.first))

    @cached_property
    def cost(self) -> Floats:
        """Cost of changing a unit to each of its places; 0 for its current place."""
        return np.concatenate([np.empty(0), *(unit.cost for unit in self.units)])

    @cached_property
    def own(self) -> Longs:
        """For each unit, the index of its current value among all places."""
        return self.first[:-1] + np.array([unit.own for unit in self.units], dtype=np.int64)

    @cached_property
    def unit_of(self) -> dict[int, tuple[int, int]]:
        """For each column that can change, its unit and its position in the unit.

        A unit is a single column or a one-hot group of columns.
        """
        return {j: (u, at) for u, unit in enumerate(self.units) for at, j in enumerate(unit.columns)}

    def span(self, u: int) -> slice:
        """Return the indices of the values (places) of unit ``u``, as a slice."""
        return slice(int(self.first[u]), int(self.first[u + 1]))

    def held(self, j: int) -> tuple[Floats, slice | None]:
        """Return the values of column ``j`` at the places of its unit, and their indices.

        The indices are a slice of all places. For a column that cannot change, the only value is the current one, and None
        is returned instead of the indices.
        """
        if j not in self.unit_of:
            return self.x0[j : j + 1], None
        u, at = self.unit_of[j]
        return self.units[u].values[:, at], self.span(u)

    def among(self, wanted: Booleans) -> Places:
        """Keep only some of the values that the units can take (places).

        ``wanted`` is a mask of places. It must be True for the current place of each unit.
        """
        return Places(self.x0, tuple(unit.among(wanted[self.span(u)]) for u, unit in enumerate(self.units)))

    def row(self, chosen: Longs) -> Floats:
        """Return the changed row. ``chosen`` holds the index of the place of each unit."""
        x = self.x0.copy()
        for unit, place in zip(self.units, chosen - self.first[:-1], strict=True):
            if place != unit.own:
                x[list(unit.columns)] = unit.values[place]
        return x

    def total(self, chosen: Longs) -> float:
        """Compute the cost of a change. ``chosen`` holds the index of the place of each unit."""
        return float(sum(self.cost[chosen].tolist()))


@dataclass(frozen=True)
class PlaceFinder:
    """Finds the values that columns can take (places), and their costs.

    Attributes
    ----------
    cells : Cells
        Cells that have observed the training rows. Their cuts are those of the model and of rules between columns. Missing
        values have no cells.
    lambdas : tuple of float
        Costs per changed feature, per unit of distance and per squared unit of distance.
    limits : Limits
        Rules, compiled for the rows.
    training : TrainingValues
        Values of the training rows. Missing numbers are filled in near their medians. A one-hot group can
        take only patterns that occur in the training rows.
    """

    cells: Cells
    lambdas: tuple[float, float, float]
    limits: Limits
    training: TrainingValues

    def of(self, i: int, x0: Floats) -> Places:
        """Return the places of all units of a row that can change.

        ``x0`` holds the values of the row. ``i`` is its index in ``limits``, which holds the rules for every row.
        """
        frozen = None if self.limits.frozen is None else np.asarray(self.limits.frozen[i], dtype=bool)
        stays = np.zeros(len(x0), dtype=bool) if frozen is None else frozen
        return Places(x0, tuple(unit for unit in self._units(i, x0, stays) if len(unit.cost) > 1))

    def _units(self, i: int, x0: Floats, stays: Booleans) -> Iterator[Unit]:
        grouped = {j for group in self.limits.groups for j in group}
        for j in range(len(x0)):
            if j in grouped or stays[j]:
                continue
            if np.isnan(x0[j]) and not self.limits.may_fill(j):
                continue
            yield self._categories(j, x0[j]) if j in self.cells.code_cell else self._numbers(i, j, x0[j])
        for group in self.limits.groups:
            yield self._switches(group, x0[list(group)], stays[list(group)])

    @property
    def _distances(self) -> Distances:
        assert self.cells.distances is not None  # set before any search
        return self.cells.distances

    def _unordered(self, n: int) -> Floats:
        return np.full(n, self._distances.unordered)

    def price(self, j: int, distance: Floats) -> Floats:
        """Compute the costs of changing column ``j`` by the given distances."""
        fixed, linear, square = self.lambdas
        price: Floats = fixed + linear * distance + square * distance * distance
        return price if self.limits.weight is None else price * self.limits.weight[j]

    # --- numbers ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _box(self) -> tuple[Floats, Floats]:
        return self.cells.box_low, self.cells.box_high

    def _numbers(self, i: int, j: int, x0: float) -> Unit:
        landing = self.landings(i, j, x0)
        if np.isnan(x0):
            landing = landing[~np.isnan(landing)]
            cost = np.append(self.price(j, self._unordered(len(landing))), 0.0)
            return Unit((j,), np.append(landing, np.nan)[:, None], cost, len(landing), in_order=False)
        own = int(np.searchsorted(self.cells.cuts_of(j), x0))
        landing[own] = x0
        width = self._box[1][j] - self._box[0][j]
        cost = self.price(j, self._distances.between(j, x0, landing, width))
        cost[own] = 0.0
        reached = ~np.isnan(landing)
        return Unit((j,), landing[:, None], cost, own, in_order=True).among(reached)

    def landings(self, i: int, j: int, x0: float) -> Floats:
        """Compute the value that a number takes in each cell of column ``j`` (landing).

        The allowed part of a cell is the part within the range of the data and the bounds of rules. The landing is the
        training value in the cell that is nearest to ``x0``. If this value lies before the allowed part, as seen from
        ``x0``, the landing is the near end of that part. If it lies behind the allowed part, or if the cell has no training
        values, the landing is the middle of the allowed part.

        On a grid, the landing is the allowed grid value nearest to ``x0``. A missing value is filled in as close to the
        median as possible. A cell that cannot be reached gets NaN.
        """
        limits, missing = self.limits, bool(np.isnan(x0))
        cuts = self.cells.cuts_of(j)
        mine = slice(self.cells.first_cell[j], self.cells.first_cell[j + 1])
        smallest, largest = self.cells.smallest[mine], self.cells.largest[mine]
        near = self.training.median(j) if missing else x0
        low = -np.inf if limits.low is None else limits.low[i, j]
        high = np.inf if limits.high is None else limits.high[i, j]
        below, above = np.append(-np.inf, cuts), np.append(cuts, np.inf)  # a cell is the interval (below, above]
        first = np.maximum(np.maximum(low, np.minimum(self._box[0][j], near)), below)
        last = np.minimum(np.minimum(high, np.maximum(self._box[1][j], near)), above)
        if (grid := limits.grid(j)) is not None:
            landing = _on_grid(*grid, below, first, last, near)
        else:
            middle = first + (last - first) / 2
            middle = np.where(middle > below, middle, last)  # of two adjacent floats only the upper one is in the cell
            seen = np.clip(near, smallest, largest)
            if missing:
                seen = np.clip(seen, first, last)
            else:
                upwards = below >= x0
                excluded = np.where(upwards, seen > last, seen < first)
                seen = np.where(excluded, middle, np.where(upwards, np.maximum(seen, first), np.minimum(seen, last)))
            landing = np.where(np.isnan(smallest), middle, seen)
        with np.errstate(invalid="ignore"):
            return np.where((first <= last) & (below < last), landing, np.nan)

    # --- categories and groups --------------------------------------------------------------------------------------------

    def _categories(self, j: int, x0: float) -> Unit:
        """Return the categories that column ``j`` can take, with costs.

        These are its current category, and the categories in the training rows that rules allow.
        """
        count = self.cells.code_count[j][:-1]  # the last entry counts missing values
        code = np.flatnonzero(count > 0)
        factor = np.ones(len(code))
        if not np.isnan(x0):
            if j in self.limits.moves:
                factor = self.limits.moves[j][int(x0), code]
            factor = np.where(code == x0, np.inf, factor)
        # Among equivalent places the first one is kept: the most frequent category, then the lowest code.
        order = np.lexsort((code, -count[code], factor))
        order = order[np.isfinite(factor[order])]
        cost = self.price(j, self._unordered(len(order))) * factor[order]
        return Unit((j,), np.append(x0, code[order])[:, None], np.append(0.0, cost), 0, in_order=False)

    @cached_property
    def _switched(self) -> dict[tuple[int, ...], Booleans]:
        """For each one-hot group, a mask of the columns that can become 1.

        A column can become 1 if it is the only 1 of its group in some training row.
        """
        found = {group: np.zeros(len(group), dtype=bool) for group in self.limits.groups}
        for X in self.training.rows() if found else ():
            for group, seen in found.items():
                held = X[:, list(group)]
                seen |= ((held[:, None, :] == np.eye(len(group))).all(axis=2)).any(axis=0)
        return found

    def _switches(self, group: tuple[int, ...], held: Floats, stays: Booleans) -> Unit:
        """Return the one-hot patterns that a group can take, with costs.

        A pattern is left out if it would change a column of the group that is missing or that a rule fixes. ``stays`` is a
        mask of the fixed columns.
        """
        patterns = np.eye(len(group))
        changes = patterns != held
        barred = (changes & (stays | np.isnan(held))).any(axis=1)
        others = patterns[self._switched[group] & changes.any(axis=1) & ~barred]
        cost = self.price(group[0], self._unordered(len(others)))
        return Unit(group, np.vstack([held, others]), np.append(0.0, cost), 0, in_order=False)


def _on_grid(step: float, origin: float, below: Floats, first: Floats, last: Floats, near: float) -> Floats:
    """Return, for each cell, the grid value that is nearest to ``near``.

    A cell contains the values above ``below`` from ``first`` to ``last``. In a tie, the lower value is returned. A cell
    without grid values gets NaN.
    """
    with np.errstate(invalid="ignore"):
        nearest = np.floor((np.minimum(np.maximum(near, first), last) - origin) / step)
        values = origin + (nearest[:, None] + GRID_ROUNDING) * step
        inside = (values > below[:, None]) & (values >= first[:, None]) & (values <= last[:, None])
    far = np.where(inside, np.abs(values - near), np.inf)
    best = far.argmin(axis=1)
    return np.where(inside.any(axis=1), values[np.arange(len(values)), best], np.nan)
