"""The counterfactual of a tree ensemble as a mixed-integer program, without big-M constraints.

The module ``_places`` lists the possible values of each column or one-hot group of a row. The program chooses one of them
for each column or group. Its binary variables are called steps. The possible values of a number are sorted, and there is one
step between two neighbouring values. This step is 1 if the number changes at least that far from its current value. For
categories and groups, there is one step for every possible value except the current one.

Every possible value has an indicator, which is 1 if this value is chosen. The indicator is a signed sum of steps, plus a
constant. The indicator of an interval of values is also such a sum, with one or two steps.

Every leaf that the row can reach has one variable, which is 1 if the row is in the leaf. This variable may be continuous,
because the chosen values determine it. Its constraints use sets of possible values of one column or group. For a number,
such a set contains the values above a threshold of the tree, or those below it. For each tree and set, there is one
constraint: the tree's leaves inside the set can be reached only if the chosen value is in the set. One constraint covers all
leaves inside the set, even if other tests of the same column separate them. This makes the relaxation tighter than one
constraint per test.

Names in the code: a unit is a column or a one-hot group, and a place is a possible value of a unit. Constraints are called
rows, and variables are called columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from fcca.milp._places import Places, Unit
from fcca.milp._rule_rows import RulesBetween
from fcca.models import TreeEnsemble

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ROWS_AT_ONCE = 4096  # rows scored at once, to keep the table of leaves small
ENTRIES_AT_ONCE = 4_000_000  # leaves times possible values, in one table of floats
MOST_ENTRIES = 200_000_000  # leaves times possible values; larger programs are hopeless for any solver


class Trees:
    """The trees of a model, evaluated on the values of a row.

    The C++ core evaluates trees on the indices of cells. So the results here do not depend on how the core finds the cells.
    """

    def __init__(self, model: TreeEnsemble) -> None:
        self.model = model
        self.shares = model.shares()
        self.base: Floats = model.base / model.divisor
        self.is_inner = model.feature >= 0
        self.feature = np.maximum(model.feature, 0).astype(np.int64)
        self.tree = np.searchsorted(model.roots, np.arange(len(model.feature)), side="right") - 1
        self.missing_left = np.zeros(len(model.feature), dtype=bool)
        if model.missing_left is not None:
            self.missing_left[:] = model.missing_left
        # Per node that tests categories, a line of flags for codes that go left; the last flag is for all other codes.
        self.line = np.full(len(model.feature), -1, dtype=np.int64)
        self.line[list(model.categories)] = np.arange(len(model.categories))
        most = max((int(codes.max(initial=-1)) for codes in model.categories.values()), default=-1)
        self.left_codes = np.zeros((len(model.categories), most + 2), dtype=bool)
        for line, codes in enumerate(model.categories.values()):
            self.left_codes[line, codes] = True

    def goes_left(self, node: Longs, value: Floats) -> Booleans:
        """Return True where an inner node sends a value to the left.

        ``node`` and ``value`` are arrays that are broadcast against each other.
        """
        with np.errstate(invalid="ignore"):
            left: Booleans = np.asarray(value <= self.model.threshold[node])
        if len(self.left_codes):
            line, missing = np.broadcast_to(self.line[node], left.shape), np.broadcast_to(np.isnan(value), left.shape)
            by_code = (line >= 0) & ~missing
            code = np.broadcast_to(value, left.shape)[by_code].astype(np.int64)
            left[by_code] = self.left_codes[line[by_code], np.minimum(code, self.left_codes.shape[1] - 1)]
        return np.where(np.isnan(value), self.missing_left[node], left)

    def scores(self, X: Floats) -> Floats:
        """Compute the scores of rows in float64."""
        chunks = [self._scores(X[begin : begin + ROWS_AT_ONCE]) for begin in range(0, len(X), ROWS_AT_ONCE)]
        return np.concatenate(chunks)

    def _scores(self, X: Floats) -> Floats:
        node = np.repeat(self.model.roots[None, :], len(X), axis=0)
        row = np.arange(len(X))[:, None]
        while (inner := self.is_inner[node]).any():
            left = self.goes_left(node, X[row, self.feature[node]])
            node = np.where(inner, np.where(left, self.model.left[node], self.model.right[node]), node)
        scores: Floats = self.base + self.shares[node].sum(axis=1)
        return scores

    def reach(self, places: Places) -> Reach | None:
        """Find the leaves that a row can reach.

        ``places`` holds the values that the columns of the row can take. Returns None if a program with all leaves and
        values would be too large.
        """
        if np.count_nonzero(~self.is_inner) * int(places.first[-1]) > MOST_ENTRIES:
            return None
        node = self.model.roots.astype(np.int64)
        mask = np.ones((len(node), int(places.first[-1])), dtype=bool)
        leaves, masks = [], []
        while len(node):
            is_leaf = ~self.is_inner[node]
            leaves.append(node[is_leaf])
            masks.append(mask[is_leaf])
            node, mask = node[~is_leaf], mask[~is_leaf]
            parts = [self._children(node[at], mask[at], j, places) for j, at in self._by_feature(node)]
            node = np.concatenate([np.empty(0, dtype=np.int64), *(child for child, _ in parts)])
            mask = np.concatenate([mask[:0], *(inside for _, inside in parts)])
        leaf, mask = np.concatenate(leaves), np.concatenate(masks)
        order = np.argsort(leaf, kind="stable")
        return Reach(places, leaf[order], self.tree[leaf[order]], mask[order])

    def _by_feature(self, node: Longs) -> list[tuple[int, Longs]]:
        feature = self.feature[node]
        return [(int(j), np.flatnonzero(feature == j)) for j in np.unique(feature)]

    def _children(self, node: Longs, mask: Booleans, j: int, places: Places) -> tuple[Longs, Booleans]:
        """Return the reachable children of nodes that test feature ``j``.

        Each child has a mask of the possible values with which the row reaches it.
        """
        value, span = places.held(j)
        left = self.goes_left(node[:, None], value[None, :])
        children, masks = [], []
        for child, passes in ((self.model.left, left), (self.model.right, ~left)):
            inside = mask.copy()
            reached: Booleans = passes[:, 0]
            if span is not None:
                inside[:, span] &= passes
                reached = np.any(inside[:, span], axis=1)
            children.append(child[node[reached]].astype(np.int64))
            masks.append(inside[reached])
        return np.concatenate(children), np.concatenate(masks)


@dataclass(frozen=True)
class Reach:
    """The leaves that a row can reach, and the values that lead to them."""

    places: Places
    leaf: Longs
    tree: Longs
    mask: Booleans  # (leaves, possible values): a row is in a leaf if all of its values are True in the line of the leaf

    def among(self, wanted: Booleans) -> Reach:
        """Return a copy with only some of the values that columns can take.

        ``wanted`` is a mask of the possible values. Leaves that the row cannot reach with these values are dropped.
        """
        mask, first = self.mask[:, wanted], self.places.among(wanted).first
        reached = np.logical_or.reduceat(mask, first[:-1], axis=1).all(axis=1) if mask.shape[1] else np.ones(len(mask), bool)
        return Reach(self.places.among(wanted), self.leaf[reached], self.tree[reached], mask[reached])

    def up_to(self, cost: float) -> Reach:
        """Return a copy with only the values that cost at most ``cost`` to change to."""
        return self.among(self.places.cost <= cost)

    def of_trees(self, wanted: Booleans) -> Reach:
        """Return a copy with only some of the leaves. ``wanted`` is a mask of the leaves."""
        return Reach(self.places, self.leaf[wanted], self.tree[wanted], self.mask[wanted])

    def without_doubles(self, kept: frozenset[int]) -> Reach:
        """Return a copy in which only the cheapest of equivalent values are left.

        Two possible values of a column or one-hot group are equivalent if they lead to the same leaves. All values are kept
        for columns in ``kept``, and for groups with such a column.
        """
        wanted = np.ones(len(self.places.cost), dtype=bool)
        for u, unit in enumerate(self.places.units):
            if kept.isdisjoint(unit.columns):
                order, alike = unit.nearness, _alike(self.mask[:, self.places.span(u)], unit.in_order)
                _, first = np.unique(alike[order], return_index=True)
                wanted[self.places.span(u)] = np.isin(np.arange(len(order)), order[first])
        return self.among(wanted)

    def hits(self, chosen: Longs) -> Booleans:
        """Return a mask of the leaves that a changed row is in.

        ``chosen`` holds the index of the value that each column or one-hot group takes.
        """
        inside: Booleans = np.all(self.mask[:, chosen], axis=1)
        return inside

    def same_leaves(self, chosen: Longs) -> Booleans:
        """Return a mask of the possible values that leave a changed row in its leaves.

        A change to such a value keeps the row in the same leaf of every tree. ``chosen`` holds the index of the value that
        each column or one-hot group of the row has.
        """
        together: Booleans = np.all(self.mask[self.hits(chosen)], axis=0)
        return together

    def after_one_move(self, chosen: Longs, shares: Floats) -> Floats:
        """Compute the sum of leaf values after each possible single change.

        A single change gives one column or one-hot group another of its possible values. ``chosen`` holds the index of the
        value that each column or group has before the change. ``shares`` holds the leaf values of all nodes.
        """
        outside = ~self.mask[:, chosen]
        others_inside = (outside.sum(axis=1)[:, None] - outside) == 0
        added = np.empty((len(self.places.cost), shares.shape[1]))
        at_once = max(1, ENTRIES_AT_ONCE // max(1, len(self.leaf)))
        for begin in range(0, len(added), at_once):
            chunk = slice(begin, begin + at_once)
            entered = self.mask[:, chunk] & others_inside[:, self.places.owner[chunk]]
            added[chunk] = entered.T.astype(np.float64) @ shares[self.leaf]
        return added


class ProgramRows(NamedTuple):
    """Constraints of a program: ``least <= matrix @ x <= most``."""

    matrix: csr_array
    least: Floats
    most: Floats


@dataclass(frozen=True)
class TreeProgram:
    """The mixed-integer program for one row and one target class.

    It minimizes ``price @ steps``. The variables are the steps, the leaves and the extra variables of rules. All are between
    0 and 1. The docstring of this module explains steps.
    """

    reach: Reach
    gains: Floats  # (leaves, classes to beat); gains.T @ leaves >= needed, in units of the score
    needed: Floats
    rules: RulesBetween

    @cached_property
    def place(self) -> tuple[csr_array, Floats]:
        """Matrix and constant that convert binary variables to indicators of chosen values.

        The steps are the binary variables of the program. The indicators are ``matrix @ steps + constant``, one per
        possible value. An indicator is 1 if its value is chosen.
        """
        return _places_by_steps(self.reach.places.units)

    @property
    def n_steps(self) -> int:
        """Number of steps, which are the binary variables of the program."""
        return int(self.place[0].shape[1])

    @property
    def n_leaves(self) -> int:
        """Number of leaves that the row can reach, with one variable each."""
        return len(self.reach.leaf)

    @cached_property
    def price(self) -> Floats:
        """Cost that each step adds to the cost of the steps before it."""
        price: Floats = np.maximum(self.place[0].T @ self.reach.places.cost, 0.0)
        return price

    def chosen(self, taken: Booleans) -> Longs:
        """Return the index of the chosen value of each column or one-hot group.

        ``taken`` is a mask of the steps (the binary variables of the program) that are 1.
        """
        matrix, constant = self.place
        at, first = matrix @ taken.astype(np.float64) + constant, self.reach.places.first
        return np.array([begin + at[begin:end].argmax() for begin, end in pairwise(first.tolist())], dtype=np.int64)

    def about_places(self, matrix: csr_array, least: Floats, most: Floats, others: csr_array | None = None) -> ProgramRows:
        """Convert constraints on chosen values to constraints on the variables.

        Every possible value of a column has an indicator, which is 1 if the value is chosen. ``matrix`` holds the
        coefficients of the indicators. ``others`` holds the coefficients of the leaves and of the extra variables of rules.
        """
        by_step, constant = self.place
        steps = csr_array(matrix @ by_step)
        steps.sum_duplicates()
        steps.eliminate_zeros()
        shift = matrix @ constant
        if others is None:
            others = csr_array((matrix.shape[0], self.n_leaves + self.rules.n_columns))
        return ProgramRows(csr_array(hstack([steps, others])), least - shift, most - shift)

    @cached_property
    def rows(self) -> ProgramRows:
        """All constraints of the program, except that the target class must win."""
        return _stacked(self._at_places(), self._one_leaf_per_tree(), self._leaves_at_places(), self._rules_kept())

    def _at_places(self) -> ProgramRows:
        """Build the constraints that the indicators of all possible values are at least 0."""
        by_step, constant = self.place
        several = np.flatnonzero(np.diff(by_step.indptr) > 1)
        rest = csr_array((len(several), self.n_leaves + self.rules.n_columns))
        matrix = csr_array(hstack([by_step[several], rest]))
        return ProgramRows(matrix, -constant[several], np.full(len(several), np.inf))

    def _one_leaf_per_tree(self) -> ProgramRows:
        trees, row = np.unique(self.reach.tree, return_inverse=True)
        column = self.n_steps + np.arange(self.n_leaves)
        shape = (len(trees), self.n_steps + self.n_leaves + self.rules.n_columns)
        matrix = csr_array((np.ones(self.n_leaves), (row, column)), shape=shape)
        return ProgramRows(matrix, np.ones(len(trees)), np.ones(len(trees)))

    def _leaves_at_places(self) -> ProgramRows:
        """Build the constraints between leaves and chosen values.

        A leaf can be reached only if the chosen value of each column or one-hot group leads to the leaf.
        """
        places, mask = self.reach.places, self.reach.mask
        set_row, set_place, leaf_row, leaf_column, n_rows = [], [], [], [], 0
        for leaves in np.split(np.arange(self.n_leaves), np.flatnonzero(np.diff(self.reach.tree)) + 1):
            tested = np.unique(places.owner[~mask[leaves].all(axis=0)])
            for u in tested.tolist():
                inside = mask[leaves, places.span(u)]
                sets = _bounding_sets(inside, places.units[u].in_order)
                within = inside.astype(np.float32) @ (~sets).T.astype(np.float32) == 0  # no value of theirs is outside
                row, place = np.nonzero(sets)
                set_row.append(n_rows + row)
                set_place.append(places.span(u).start + place)
                leaf, row = np.nonzero(within)
                leaf_row.append(n_rows + row)
                leaf_column.append(leaves[leaf])
                n_rows += len(sets)
        sets = _indicators(set_row, set_place, (n_rows, len(places.cost)))
        within = _indicators(leaf_row, leaf_column, (n_rows, self.n_leaves + self.rules.n_columns))
        return self.about_places(-sets, np.full(n_rows, -np.inf), np.zeros(n_rows), within)

    def _rules_kept(self) -> ProgramRows:
        matrix, own_columns, most = self.rules.rows(self.reach.places)
        leaves = csr_array((len(most), self.n_leaves))
        others = csr_array(hstack([leaves, own_columns]))
        return self.about_places(matrix, np.full(len(most), -np.inf), most, others)

    def not_all_of(self, wanted: Booleans, units: Longs) -> ProgramRows:
        """Build the constraint that excludes all combinations of the values in ``wanted``.

        ``wanted`` is a mask of possible values. At least one of the columns and one-hot groups in ``units`` must have a
        value outside this mask.
        """
        inside = wanted & np.isin(self.reach.places.owner, units)
        least, most = np.array([-np.inf]), np.array([len(units) - 1.0])
        return self.about_places(csr_array(inside[None, :].astype(np.float64)), least, most)


def _places_by_steps(units: tuple[Unit, ...]) -> tuple[csr_array, Floats]:
    """Return the matrix and constant that compute the indicators of possible values.

    The indicators are ``matrix @ steps + constant``, where ``steps`` are the binary variables of the program. An indicator
    is 1 if its value is chosen. The constant is 1 for the current value of each column or one-hot group, otherwise 0.
    """
    row, column, value, constant = [], [], [], []
    n_rows = n_columns = 0
    for unit in units:
        n, own = len(unit.cost), unit.own
        place, step = np.arange(n), np.arange(n - 1)
        if unit.in_order:
            # A number is above a step if an upward step is taken, or a downward step is not taken. It has a value if it is
            # above the step below this value, and not above the step above it.
            sign = np.where(step >= own, 1.0, -1.0)
            entries = [(step + 1, step, sign), (step, step, -sign)]
        else:
            entries = [(place[place != own], step, np.ones(n - 1)), (np.full(n - 1, own), step, -np.ones(n - 1))]
        for at, of, sign in entries:
            row.append(n_rows + at)
            column.append(n_columns + of)
            value.append(sign)
        constant.append((place == own).astype(np.float64))
        n_rows, n_columns = n_rows + n, n_columns + n - 1
    empty = np.empty(0)
    indices = tuple(np.concatenate([empty, *part]).astype(np.int64) for part in (row, column))
    matrix = csr_array((np.concatenate([empty, *value]), indices), shape=(n_rows, n_columns))
    return matrix, np.concatenate([empty, *constant])


def _alike(mask: Booleans, in_order: bool) -> Longs:
    """Group the possible values that lead to the same leaves.

    The values are those of one column or one-hot group of columns. Returns the number of each value's group. ``mask`` has
    one line per leaf, which is True for the values that lead to the leaf. ``in_order`` is True for a numeric column.
    """
    if in_order:  # then values that lead to the same leaves are neighbours
        return np.append(0, np.cumsum((mask[:, 1:] != mask[:, :-1]).any(axis=0)))
    return np.unique(mask, axis=1, return_inverse=True)[1].ravel()


def _bounding_sets(inside: Booleans, in_order: bool) -> Booleans:
    """Return sets of values whose intersections describe the leaves of a tree.

    The values are the possible values of one column or one-hot group. ``inside`` has one line per leaf, which is True for
    the values that lead to the leaf. ``in_order`` is True for a numeric column. Each returned set is a mask of the values.
    For each leaf, the values that lead to it are an intersection of such sets.
    """
    if not in_order:
        sets = np.unique(inside, axis=0)
        return sets[~sets.all(axis=1)]
    n = inside.shape[1]
    place = np.arange(n)
    lowest, highest = inside.argmax(axis=1), n - 1 - inside[:, ::-1].argmax(axis=1)
    behind = place >= np.unique(lowest[lowest > 0])[:, None]
    before = place <= np.unique(highest[highest < n - 1])[:, None]
    return np.vstack([behind, before])


def _indicators(row: list[Longs], column: list[Longs], shape: tuple[int, int]) -> csr_array:
    at = tuple(np.concatenate([np.empty(0, dtype=np.int64), *part]) for part in (row, column))
    return csr_array((np.ones(len(at[0])), at), shape=shape)


def _stacked(*parts: ProgramRows) -> ProgramRows:
    matrices, least, most = zip(*parts, strict=True)
    return ProgramRows(csr_array(vstack(matrices, format="csr")), np.concatenate(least), np.concatenate(most))


def program_for(trees: Trees, reach: Reach, weights: Floats, needed: Floats, rules: RulesBetween) -> TreeProgram | None:
    """Build the mixed-integer program whose goal is ``weights @ scores >= needed``.

    Returns None if the most favourable leaf of every tree is not enough for the goal, or if no change affects the goal.
    """
    gains = trees.shares[reach.leaf] @ weights.T
    first = np.searchsorted(reach.tree, np.arange(len(trees.model.roots)))
    worst, best = (bound.reduceat(gains, first, axis=0) for bound in (np.minimum, np.maximum))
    needed = needed - weights @ trees.base - worst.sum(axis=0)
    rounding = 1e-12 * (1 + np.abs(needed) + np.abs(best).sum(axis=0))
    matters = (best - worst).max(axis=1) > 0
    if not matters.any() or np.any((best - worst).sum(axis=0) < needed - rounding):
        return None
    reach = reach.of_trees(matters[reach.tree]).without_doubles(rules.columns)
    gains = trees.shares[reach.leaf] @ weights.T - worst[reach.tree]
    return TreeProgram(reach, gains, needed, rules.of(reach.places))
