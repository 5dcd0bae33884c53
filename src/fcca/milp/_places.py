"""The values that the columns of a row can take, with costs.

A counterfactual chooses one possible value for each column, or for each one-hot group of columns that change together. The
possible values are the current value, and one value in each of the other cells or categories. The ``Cells`` object provides
the smallest and largest training value of each cell, and the counts of the categories. The new values and their costs are
computed here in numpy, not by the C++ core. So the mixed-integer programs check the core independently.

Names in the code: a unit is a column or a one-hot group, a place is a possible value of a unit, and a landing is the
value that a numeric column takes when it moves into a cell.
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
    """A column or one-hot group, with all values that it can take."""

    columns: tuple[int, ...]
    values: Floats  # (possible values, columns); NaN: missing
    cost: Floats  # per possible value; 0 for the current value
    own: int  # index of the current value
    in_order: bool  # True for numbers: the possible values are ascending, and costs rise with the distance

    def among(self, wanted: Booleans) -> Unit:
        """Return a copy with only some of the possible values.

        ``wanted`` is a mask of the possible values. It must be True for the current value.
        """
        own = int(np.count_nonzero(wanted[: self.own]))
        return Unit(self.columns, self.values[wanted], self.cost[wanted], own, self.in_order)

    @property
    def nearness(self) -> Longs:
        """Indices of the possible values of this column or one-hot group, sorted by cost.

        Among values with equal costs, those whose index is closest to the current one come first.
        """
        order: Longs = np.lexsort((np.abs(np.arange(len(self.cost)) - self.own), self.cost))
        return order


@dataclass(frozen=True)
class Places:
    """The possible values of all columns and one-hot groups of one row.

    All possible values are numbered consecutively: first those of the first column or group, then those of the second.

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
        """Index of the first possible value of each column or one-hot group.

        A last entry holds the total number of possible values.
        """
        return np.cumsum([0, *(len(unit.cost) for unit in self.units)])

    @cached_property
    def owner(self) -> Longs:
        """For each possible value, the index of its column or one-hot group in ``units``."""
        return np.repeat(np.arange(len(self.units)), np.diff(self.first))

    @cached_property
    def cost(self) -> Floats:
        """Cost of changing to each possible value; 0 for current values."""
        return np.concatenate([np.empty(0), *(unit.cost for unit in self.units)])

    @cached_property
    def own(self) -> Longs:
        """For each column or one-hot group, the index of its current value among all possible values."""
        return self.first[:-1] + np.array([unit.own for unit in self.units], dtype=np.int64)

    @cached_property
    def unit_of(self) -> dict[int, tuple[int, int]]:
        """For each column that can change, an index in ``units`` and a position in that entry.

        An entry of ``units`` is a single column or a one-hot group of columns.
        """
        return {j: (u, at) for u, unit in enumerate(self.units) for at, j in enumerate(unit.columns)}

    def span(self, u: int) -> slice:
        """Return the indices of the possible values of ``units[u]``, as a slice."""
        return slice(int(self.first[u]), int(self.first[u + 1]))

    def held(self, j: int) -> tuple[Floats, slice | None]:
        """Return the possible values of column ``j``, and their indices as a slice.

        The values of a column in a one-hot group are listed once per pattern of the group. If the column cannot change, the
        only value is the current one, and None is returned instead of the slice.
        """
        if j not in self.unit_of:
            return self.x0[j : j + 1], None
        u, at = self.unit_of[j]
        return self.units[u].values[:, at], self.span(u)

    def among(self, wanted: Booleans) -> Places:
        """Return a copy with only some of the possible values.

        ``wanted`` is a mask of all possible values. It must be True for the current values.
        """
        return Places(self.x0, tuple(unit.among(wanted[self.span(u)]) for u, unit in enumerate(self.units)))

    def row(self, chosen: Longs) -> Floats:
        """Return the changed row.

        ``chosen`` holds the index of the chosen value of each column or one-hot group.
        """
        x = self.x0.copy()
        for unit, place in zip(self.units, chosen - self.first[:-1], strict=True):
            if place != unit.own:
                x[list(unit.columns)] = unit.values[place]
        return x

    def total(self, chosen: Longs) -> float:
        """Compute the cost of a change.

        ``chosen`` holds the index of the chosen value of each column or one-hot group.
        """
        return float(sum(self.cost[chosen].tolist()))


@dataclass(frozen=True)
class PlaceFinder:
    """Finds the values that the columns of a row can take, and their costs.

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
        """Return the values that each changeable column or one-hot group of a row can take.

        ``x0`` holds the current values of the row. ``i`` is the index of the row in ``limits``, which holds the rules for
        every row.
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
        special = self.cells.special.get(j)
        if special is not None:  # each of them is alone in its cell
            landing[np.searchsorted(self.cells.cuts_of(j), special)] = np.nan
        if np.isnan(x0) or (special is not None and x0 in special):
            landing = landing[~np.isnan(landing)]
            cost = np.append(self.price(j, self._unordered(len(landing))), 0.0)
            return Unit((j,), np.append(landing, x0)[:, None], cost, len(landing), in_order=False)
        own = int(np.searchsorted(self.cells.cuts_of(j), x0))
        landing[own] = x0
        width = self._box[1][j] - self._box[0][j]
        cost = self.price(j, self._distances.between(j, x0, landing, width))
        cost[own] = 0.0
        reached = ~np.isnan(landing)
        return Unit((j,), landing[:, None], cost, own, in_order=True).among(reached)

    def landings(self, i: int, j: int, x0: float) -> Floats:
        """Compute the new value of a number for each cell of column ``j``.

        ``x0`` is the current value, and ``i`` is the index of the row in ``limits``. A value is allowed if it lies within
        the range of the data and the bounds of the rules. The new value is the training value in the cell that is nearest
        to ``x0``. If this training value is not allowed, there are two cases. If the allowed interval of the cell begins
        behind it, as seen from ``x0``, the new value is the end of the interval nearest to ``x0``. Otherwise the new value
        is the middle of the allowed interval. The middle is also used if the cell has no training values.

        If a rule defines a grid, the new value is the allowed grid value nearest to ``x0``. A missing or special value is
        replaced as close to the median as possible. Cells without an allowed value get NaN. Without a grid, closed cells get
        NaN, too.
        """
        limits, missing = self.limits, bool(np.isnan(x0) or x0 in self.cells.special.get(j, ()))
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
            is_empty = np.isnan(smallest)
            landing = np.where(is_empty, middle, seen)
            if self.cells.closed is not None:
                landing[is_empty & self.cells.closed[mine]] = np.nan
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
        # Of categories that lead to the same leaves, only the first one stays: the most frequent one, then the lowest code.
        order = np.lexsort((code, -count[code], factor))
        order = order[np.isfinite(factor[order])]
        cost = self.price(j, self._unordered(len(order))) * factor[order]
        return Unit((j,), np.append(x0, code[order])[:, None], np.append(0.0, cost), 0, in_order=False)

    @cached_property
    def _switched(self) -> dict[tuple[int, ...], Booleans]:
        """For each one-hot group, a mask of the columns that can become 1.

        A column can become 1 if, in some training row, it is 1 and all other columns of its group are 0.
        """
        found = {group: np.zeros(len(group), dtype=bool) for group in self.limits.groups}
        for X in self.training.rows() if found else ():
            for group, seen in found.items():
                held = X[:, list(group)]
                seen |= ((held[:, None, :] == np.eye(len(group))).all(axis=2)).any(axis=0)
        return found

    def _switches(self, group: tuple[int, ...], held: Floats, stays: Booleans) -> Unit:
        """Return the one-hot patterns that a group can take, with costs.

        ``held`` holds the current values of the group. ``stays`` is a mask of the columns that a rule fixes. A pattern is
        left out if it would change a fixed column or a missing value.
        """
        patterns = np.eye(len(group))
        changes = patterns != held
        barred = (changes & (stays | np.isnan(held))).any(axis=1)
        others = patterns[self._switched[group] & changes.any(axis=1) & ~barred]
        cost = self.price(group[0], self._unordered(len(others)))
        return Unit(group, np.vstack([held, others]), np.append(0.0, cost), 0, in_order=False)


def _on_grid(step: float, origin: float, below: Floats, first: Floats, last: Floats, near: float) -> Floats:
    """Return, for each cell, the allowed grid value that is nearest to ``near``.

    The grid values are ``origin + k * step`` for whole numbers ``k``. The allowed values of a cell lie between ``first`` and
    ``last``, and above ``below``. If two grid values are equally near, the lower one is returned. A cell without an allowed
    grid value gets NaN.
    """
    with np.errstate(invalid="ignore"):
        nearest = np.floor((np.minimum(np.maximum(near, first), last) - origin) / step)
        values = origin + (nearest[:, None] + GRID_ROUNDING) * step
        inside = (values > below[:, None]) & (values >= first[:, None]) & (values <= last[:, None])
    far = np.where(inside, np.abs(values - near), np.inf)
    best = far.argmin(axis=1)
    return np.where(inside.any(axis=1), values[np.arange(len(values)), best], np.nan)
