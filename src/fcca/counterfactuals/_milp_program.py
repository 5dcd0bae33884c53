"""A tree ensemble as a mixed-integer program in terms of cells, without a big M.

For every cut that a reachable split tests there is one binary: whether the point has crossed it, seen from x0. A feature
crosses its cuts in order and on one side only. For every reachable leaf there is one variable: whether the point is in it.
It may be continuous, because the crossings decide it. Of each tree and cut, the leaves behind the cut share one row that
lets them in only if the cut is crossed, and those before it another that lets them in only if it is not. Leaves that a tree
keeps apart by other cuts of the same feature are in these rows too, which makes the relaxation tighter than one row per
split would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from fcca.counterfactuals._cells import Cells
from fcca.exceptions import UnsupportedModelError
from fcca.models import TreeEnsemble

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Reach:
    """One point's cells: where a move into each would land, what it costs, and which cells are in question."""

    own: Longs  # per feature, the cell of x0
    landing: Floats  # per cell, x0 itself in its own cell
    cost: Floats  # per cell, infinite where the box does not reach it or the feature is frozen
    lowest: Longs  # per feature, the first and the last cell in question; those between them all are
    highest: Longs

    def up_to(self, cells: Cells, cost: float) -> Reach:
        """The same without the cells that alone cost more."""
        lowest, highest = _span(cells, self.cost <= cost)
        return Reach(self.own, self.landing, self.cost, lowest, highest)


def _span(cells: Cells, wanted: Booleans) -> tuple[Longs, Longs]:
    """First and last wanted cell of every feature; the own cell always is one."""
    position = np.arange(len(wanted)) - np.repeat(cells.first_cell[:-1], np.diff(cells.first_cell))
    lowest = np.minimum.reduceat(np.where(wanted, position, len(wanted)), cells.first_cell[:-1])
    highest = np.maximum.reduceat(np.where(wanted, position, -1), cells.first_cell[:-1])
    return lowest, highest


def landings(cells: Cells, x0: Floats, own: Longs) -> Floats:
    """Where a move from x0 into each cell lands.

    On the training value nearest to x0 or, where the cell holds none, on the middle of what the box leaves of it; NaN where
    the box does not reach the cell, x0 itself in its own.
    """
    n_cells = np.diff(cells.first_cell)
    owner = np.repeat(np.arange(cells.n_features), n_cells)
    position = np.arange(len(owner)) - cells.first_cell[owner]
    start = x0[owner]
    is_first, is_last = position == 0, position == n_cells[owner] - 1
    lower_cut, upper_cut = np.full(len(owner), -np.inf), np.full(len(owner), np.inf)
    lower_cut[~is_first] = cells.cuts
    upper_cut[~is_last] = cells.cuts
    bottom = np.maximum(np.minimum(cells.box_low[owner], start), lower_cut)
    top = np.minimum(np.maximum(cells.box_high[owner], start), upper_cut)
    middle = bottom + (top - bottom) / 2
    middle = np.where(middle > lower_cut, middle, top)  # between two adjacent floats only the upper one is in the cell
    middle = np.where((bottom > top) | (lower_cut >= top), np.nan, middle)
    seen = np.where(position > own[owner], cells.smallest, cells.largest)
    landing: Floats = np.where(np.isnan(seen), middle, seen)
    landing[cells.first_cell[:-1] + own] = x0
    return landing


def reach_of(cells: Cells, x0: Floats, frozen: Booleans | None, lambdas: tuple[float, float, float]) -> Reach:
    """What one point can reach and at which cost."""
    owner = np.repeat(np.arange(cells.n_features), np.diff(cells.first_cell))
    cuts_below = cells.cuts < np.repeat(x0, np.diff(cells.first_cut))
    counted = np.concatenate([[0], np.cumsum(cuts_below)])
    own = (counted[cells.first_cut[1:]] - counted[cells.first_cut[:-1]]).astype(np.int64)
    landing = landings(cells, x0, own)
    width = cells.box_high - cells.box_low
    distance = np.abs(landing - x0[owner]) / np.where(width > 0, width, 1.0)[owner]
    cost = lambdas[0] + lambdas[1] * distance + lambdas[2] * distance * distance
    cost[np.isnan(landing)] = np.inf
    if frozen is not None:
        cost[np.asarray(frozen, dtype=bool)[owner]] = np.inf
    cost[cells.first_cell[:-1] + own] = 0.0
    return Reach(own, landing, cost, *_span(cells, np.isfinite(cost)))


class Crossings(NamedTuple):
    """The cuts that can be crossed, by feature and rising."""

    cut: Longs  # position in Cells.cuts
    owner: Longs  # the feature
    upwards: Booleans  # whether x0 is at or below the cut


class Bounds(NamedTuple):
    """Cuts that bound leaves: ``leaf[i]`` is behind ``cut[i]``, or not behind it, and no nearer cut says the same."""

    leaf: Longs  # a column
    cut: Longs  # position in Cells.cuts


class Rows(NamedTuple):
    """``least <= matrix @ columns <= most``."""

    matrix: csr_array
    least: Floats
    most: Floats


class Program(NamedTuple):
    """Minimise ``price @ crossed`` over the columns, crossings first and leaves after them, all between 0 and 1."""

    crossings: Crossings
    price: Floats  # of crossing each cut, on top of the nearer one
    leaf: Longs  # the node of each leaf column
    behind: Bounds  # leaves and the cuts that bound them from below
    before: Bounds  # and from above
    rows: Rows
    gains: Floats  # (leaves, rivals); gains.T @ leaves >= needed, in units of the score
    needed: Floats


class Forest:
    """A tree ensemble by cells: its splits as numbers of cells that go to the left."""

    def __init__(self, model: TreeEnsemble, cells: Cells) -> None:
        if model.categories:
            raise UnsupportedModelError("Splits by category have no order of cells, which the mixed-integer program needs.")
        self.model, self.cells = model, cells
        self.shares = model.shares()
        self.base: Floats = model.base / model.divisor
        self.is_inner = model.feature >= 0
        self.feature = np.maximum(model.feature, 0).astype(np.int64)
        self.tree = np.searchsorted(model.roots, np.arange(len(model.feature)), side="right") - 1
        self.n_left = np.zeros(len(model.feature), dtype=np.int64)
        for j in np.unique(self.feature[self.is_inner]):
            mine = self.is_inner & (self.feature == j)
            cuts = cells.cuts[cells.first_cut[j] : cells.first_cut[j + 1]]
            self.n_left[mine] = np.searchsorted(cuts, model.threshold[mine], side="right")
        self.n_left += self.is_inner & (model.threshold == np.inf)  # no cut, and even the last cell goes to the left
        self.parent = np.full(len(model.feature), -1, dtype=np.int64)
        inner = np.flatnonzero(self.is_inner)
        self.parent[model.left[inner]] = inner
        self.parent[model.right[inner]] = inner
        self.is_right = np.zeros(len(model.feature), dtype=bool)
        self.is_right[model.right[inner]] = True

    def leaves(self, chosen: Longs) -> Longs:
        """The leaf of every tree for rows of one cell per feature."""
        node = np.repeat(self.model.roots[None, :], len(chosen), axis=0)
        row = np.arange(len(chosen))[:, None]
        while self.is_inner[node].any():
            goes_left = chosen[row, self.feature[node]] < self.n_left[node]
            node = np.where(self.is_inner[node], np.where(goes_left, self.model.left[node], self.model.right[node]), node)
        return node

    def scores(self, chosen: Longs) -> Floats:
        """Scores of rows of one cell per feature."""
        scores: Floats = self.base + self.shares[self.leaves(chosen)].sum(axis=1)
        return scores

    def program(self, reach: Reach, weights: Floats, needed: Floats) -> Program | None:
        """The program for ``weights @ score >= needed`` within reach; None where the best leaves do not add up to it."""
        leaf, is_split = self._in_reach(reach)
        gains = self.shares[leaf] @ weights.T
        first = np.searchsorted(self.tree[leaf], np.arange(len(self.model.roots)))
        worst = np.minimum.reduceat(gains, first, axis=0)
        best = np.maximum.reduceat(gains, first, axis=0)
        needed = needed - weights @ self.base - worst.sum(axis=0)
        rounding = 1e-12 * (1 + np.abs(needed) + np.abs(best).sum(axis=0))
        matters = (best - worst).max(axis=1) > 0
        if not matters.any() or np.any((best - worst).sum(axis=0) < needed - rounding):
            return None
        gains -= worst[self.tree[leaf]]
        kept = matters[self.tree[leaf]]
        leaf, gains = leaf[kept], gains[kept]

        behind, before = self._bounds(leaf, is_split)
        cut = np.unique(np.concatenate([behind.cut, before.cut]))
        owner = np.searchsorted(self.cells.first_cut, cut, side="right") - 1
        crossings = Crossings(cut, owner, cut - self.cells.first_cut[owner] >= reach.own[owner])
        rows = _stacked(
            _leaves_follow_crossings(self.tree[leaf], behind, before, crossings),
            _crossings_in_order(crossings, len(leaf)),
            _one_leaf_per_tree(self.tree[leaf], len(cut)),
        )
        price = _price(reach.cost[cut + owner + crossings.upwards], crossings)
        return Program(crossings, price, leaf, behind, before, rows, gains, needed)

    def _in_reach(self, reach: Reach) -> tuple[Longs, Booleans]:
        """Leaves that can be reached, and which nodes split what is in reach."""
        always_left = reach.highest[self.feature] < self.n_left
        always_right = reach.lowest[self.feature] >= self.n_left
        reached = np.zeros(len(self.feature), dtype=bool)
        frontier = self.model.roots
        while len(frontier):
            reached[frontier] = True
            inner = frontier[self.is_inner[frontier]]
            left, right = self.model.left[inner[~always_right[inner]]], self.model.right[inner[~always_left[inner]]]
            frontier = np.concatenate([left, right])
        return np.flatnonzero(reached & ~self.is_inner), reached & self.is_inner & ~always_left & ~always_right

    def _bounds(self, leaf: Longs, is_split: Booleans) -> tuple[Bounds, Bounds]:
        """The nearest cut below and above every leaf, of every feature that its tree splits on the way to it."""
        columns, cuts, sides = [], [], []
        column, node = np.arange(len(leaf)), leaf
        while len(node):
            parent = self.parent[node]
            column, node, parent = column[parent >= 0], node[parent >= 0], parent[parent >= 0]
            splits = is_split[parent]
            columns.append(column[splits])
            cuts.append(self.cells.first_cut[self.feature[parent[splits]]] + self.n_left[parent[splits]] - 1)
            sides.append(self.is_right[node[splits]])
            node = parent
        column, cut, right = np.concatenate(columns), np.concatenate(cuts), np.concatenate(sides)

        def nearest(chosen: Booleans, sign: int) -> Bounds:
            owner = np.searchsorted(self.cells.first_cut, cut[chosen], side="right") - 1
            key = column[chosen] * self.cells.n_features + owner
            order = np.lexsort((sign * cut[chosen], key))
            last = np.append(np.diff(key[order]) != 0, True)[: len(order)]
            return Bounds(column[chosen][order][last], cut[chosen][order][last])

        return nearest(right, 1), nearest(~right, -1)


def _leaves_follow_crossings(tree: Longs, behind: Bounds, before: Bounds, crossings: Crossings) -> Rows:
    """Two rows for every cut of a tree: one lets the point into leaves behind it, the other into the leaves before it.

    ``tree`` is the tree of each leaf. A leaf behind a cut is behind all lower ones of the same tree too, and the other way
    round.
    """
    n_cuts, n_leaves, owner = len(crossings.cut), len(tree), crossings.owner
    behind_cut, before_cut = np.searchsorted(crossings.cut, behind.cut), np.searchsorted(crossings.cut, before.cut)
    # A tree and a cut as one number, so that a feature's cuts within a tree stand together and in order.
    pairs = np.unique(np.concatenate([tree[behind.leaf] * n_cuts + behind_cut, tree[before.leaf] * n_cuts + before_cut]))

    def block(leaf: Longs, first_cut: Longs, end_cut: Longs, crossing_sign: Floats) -> Rows:
        begin = np.searchsorted(pairs, tree[leaf] * n_cuts + first_cut)
        length = np.searchsorted(pairs, tree[leaf] * n_cuts + end_cut) - begin
        pair = ranges(begin, length)
        row = np.concatenate([pair, np.arange(len(pairs))])
        column = np.concatenate([n_cuts + np.repeat(leaf, length), pairs % n_cuts])
        value = np.concatenate([np.ones(len(pair)), crossing_sign])
        matrix = csr_array((value, (row, column)), shape=(len(pairs), n_cuts + n_leaves))
        return Rows(matrix, np.full(len(pairs), -np.inf), np.where(crossing_sign > 0, 1.0, 0.0))

    # Behind a cut means crossed where x0 is below it, not crossed where x0 is above it.
    sign = np.where(crossings.upwards[pairs % n_cuts], -1.0, 1.0)
    first_of_feature, end_of_feature = np.searchsorted(owner, owner), np.searchsorted(owner, owner, side="right")
    return _stacked(
        block(behind.leaf, first_of_feature[behind_cut], behind_cut + 1, sign),
        block(before.leaf, before_cut, end_of_feature[before_cut], -sign),
    )


def _crossings_in_order(crossings: Crossings, n_leaves: int) -> Rows:
    """A farther cut is crossed only after the nearer one, and of the two next to x0 at most one is."""
    owner, upwards = crossings.owner, crossings.upwards
    lower = np.flatnonzero(owner[1:] == owner[:-1])
    farther = np.where(upwards[lower], lower + 1, lower)
    nearer = np.where(upwards[lower], lower, lower + 1)
    on_both_sides = upwards[lower + 1] & ~upwards[lower]
    row = np.tile(np.arange(len(lower)), 2)
    value = np.concatenate([np.ones(len(lower)), np.where(on_both_sides, 1.0, -1.0)])
    shape = (len(lower), len(owner) + n_leaves)
    matrix = csr_array((value, (row, np.concatenate([farther, nearer]))), shape=shape)
    return Rows(matrix, np.full(len(lower), -np.inf), on_both_sides.astype(np.float64))


def _one_leaf_per_tree(tree: Longs, n_cuts: int) -> Rows:
    trees, row = np.unique(tree, return_inverse=True)
    column = n_cuts + np.arange(len(tree))
    matrix = csr_array((np.ones(len(tree)), (row, column)), shape=(len(trees), n_cuts + len(tree)))
    return Rows(matrix, np.ones(len(trees)), np.ones(len(trees)))


def _stacked(*parts: Rows) -> Rows:
    matrices, least, most = zip(*parts, strict=True)
    return Rows(vstack(matrices, format="csr"), np.concatenate(least), np.concatenate(most))


def ranges(begin: Longs, length: Longs) -> Longs:
    """Begin, begin + 1, ... of every range after the other."""
    within: Longs = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return np.repeat(begin, length) + within


def _price(cost: Floats, crossings: Crossings) -> Floats:
    """What crossing a cut costs on top of the nearer one, by the cost of the cell behind it."""
    owner, upwards = crossings.owner, crossings.upwards
    price = cost.copy()
    same = owner[1:] == owner[:-1]
    lower = np.flatnonzero(same & upwards[:-1])
    price[lower + 1] -= cost[lower]
    lower = np.flatnonzero(same & ~upwards[1:])
    price[lower] -= cost[lower + 1]
    return np.maximum(price, 0.0)
