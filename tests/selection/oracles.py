"""The best sets of conditions by methods that share no code with the search: all sets, and a mixed-integer program.

A cost is the weight of the rows whose label is not the most frequent among the rows that the chosen conditions cannot tell
apart.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

CELLS_AT_ONCE = 2_000_000
TOLERANCE = 1e-9  # of the weight of all rows: costs that are closer are the same


@dataclass(frozen=True)
class Best:
    """The least cost of an admissible set, the largest sum of counts at that cost, and all sets that have both."""

    cost: float
    count: float
    sets: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Limits:
    """Which sets are admissible. Conditions by position, caps by column."""

    keep: tuple[int, ...] = ()
    forbid: tuple[int, ...] = ()
    per_feature: tuple[int, ...] | None = None
    max_features: int | None = None

    def admits(self, chosen, feature):
        """Which of many sets, one per line, keep the limits."""
        admitted = np.ones(len(chosen), dtype=bool)
        for position in self.keep:
            admitted &= (chosen == position).any(axis=1)
        for position in self.forbid:
            admitted &= (chosen != position).all(axis=1)
        n_features = int(feature.max(initial=0)) + 1
        of_feature = np.stack([(feature[chosen] == j).sum(axis=1) for j in range(n_features)], axis=1)
        if self.per_feature is not None:
            admitted &= (of_feature <= np.array(self.per_feature)[:n_features]).all(axis=1)
        if self.max_features is not None:
            admitted &= (of_feature > 0).sum(axis=1) <= self.max_features
        return admitted


NO_LIMITS = Limits()


def cost_by_definition(B, label, weight, chosen):
    """The cost of one set in exact arithmetic, row by row."""
    groups = defaultdict(Counter)
    for row, own, w in zip(np.asarray(B)[:, list(chosen)].tolist(), np.asarray(label).tolist(), weight, strict=True):
        groups[tuple(row)][own] += Fraction(float(w))
    return float(sum(sum(of_label.values()) - max(of_label.values()) for of_label in groups.values()))


def all_sets(n_conditions, k):
    """All sets of k conditions, one per line."""
    flat = chain.from_iterable(combinations(range(n_conditions), k))
    return np.fromiter(flat, dtype=np.int16).reshape(-1, k) if k else np.zeros((1, 0), dtype=np.int16)


def costs_of(B, label, weight, chosen):
    """The costs of many sets of the same size, one per line."""
    rows, label, weight = distinct_rows(B, label, weight)
    n_sets, k = chosen.shape
    cost = np.empty(n_sets)
    step = max(1, CELLS_AT_ONCE // len(rows))
    for begin in range(0, n_sets, step):
        some = chosen[begin : begin + step]
        pattern = np.zeros((len(some), len(rows)), dtype=np.int64)
        for bit in range(k):
            pattern |= rows.T[some[:, bit]] << bit
        cost[begin : begin + step] = _costs_of_patterns(pattern, label, weight)
    return cost


def _costs_of_patterns(pattern, label, weight):
    """One line per set: the pattern that it makes of every row."""
    n_classes = label.max() + 1
    order = np.argsort(pattern, axis=1, kind="stable")
    pattern = np.take_along_axis(pattern, order, axis=1)
    begins = np.ones(pattern.shape, dtype=bool)
    begins[:, 1:] = pattern[:, 1:] != pattern[:, :-1]
    group = np.cumsum(begins.ravel()) - 1
    key = group * n_classes + label[order].ravel()
    held = np.bincount(key, weights=weight[order].ravel(), minlength=(group[-1] + 1) * n_classes).reshape(-1, n_classes)
    first_group = group[:: pattern.shape[1]]
    return np.add.reduceat(held.sum(axis=1) - held.max(axis=1), first_group)


def distinct_rows(B, label, weight):
    """Rows that are equal and have the same label, as one with their weights; rows of weight 0 are left out."""
    label = np.unique(label, return_inverse=True)[1]
    weight = np.ones(len(label)) if weight is None else np.asarray(weight, dtype=float)
    counted = weight > 0
    joined = np.column_stack([np.asarray(B, dtype=np.int64), label])[counted]
    rows, of_row = np.unique(joined, axis=0, return_inverse=True)
    return rows[:, :-1], rows[:, -1], np.bincount(of_row.ravel(), weights=weight[counted])


def best_by_enumeration(B, label, weight, feature, count, k, limits=NO_LIMITS):
    """The best of all admissible sets of k conditions; None where there is none."""
    chosen = all_sets(len(feature), k)
    chosen = chosen[limits.admits(chosen, feature)]
    if len(chosen) == 0:
        return None
    cost = costs_of(B, label, weight, chosen)
    least = cost.min()
    chosen = chosen[cost <= least + TOLERANCE * (len(label) if weight is None else np.sum(weight))]
    counts = np.asarray(count)[chosen].sum(axis=1)
    most = counts.max()
    chosen = chosen[counts >= most - TOLERANCE * max(1.0, abs(most))]
    return Best(float(least), float(most), tuple(map(tuple, chosen.tolist())))


def cost_by_milp(B, label, weight, feature, k, limits=NO_LIMITS):
    """The least cost of k conditions by a mixed-integer program; infinity where no set is admissible.

    A row is deleted or not; two rows of different labels may both stay only where a chosen condition tells them apart. Then
    the rows that stay and are equal have one label, and the deleted weight is least where it is the most frequent.
    """
    rows, label, weight = distinct_rows(B, label, weight)
    m, n, n_features = len(feature), len(rows), int(feature.max()) + 1
    chosen, deleted, used = np.arange(m), m + np.arange(n), m + n + np.arange(n_features)
    lines, low, high = [], [], []

    def add(columns, values, at_least, at_most):
        lines.append((columns, values))
        low.append(at_least)
        high.append(at_most)

    add(chosen, np.ones(m), k, k)
    for i, j in combinations(range(n), 2):
        if label[i] != label[j]:
            between = np.flatnonzero(rows[i] != rows[j])
            add(np.append(between, deleted[[i, j]]), np.ones(len(between) + 2), 1, np.inf)
    for j in range(n_features):
        mine = np.flatnonzero(feature == j)
        if limits.per_feature is not None:
            add(mine, np.ones(len(mine)), 0, limits.per_feature[j])
        for t in mine:
            add(np.array([t, used[j]]), np.array([1, -1]), -np.inf, 0)
    add(used, np.ones(n_features), 0, n_features if limits.max_features is None else limits.max_features)
    line = np.repeat(np.arange(len(lines)), [len(columns) for columns, _ in lines])
    columns, values = (np.concatenate(part) for part in zip(*lines, strict=True))
    constraints = LinearConstraint(csr_array((values, (line, columns)), shape=(len(lines), m + n + n_features)), low, high)
    lower, upper = np.zeros(m + n + n_features), np.ones(m + n + n_features)
    lower[list(limits.keep)], upper[list(limits.forbid)] = 1, 0
    if (lower > upper).any():
        return np.inf
    # HiGHS stops at an absolute gap of 1e-6.
    price = np.concatenate([np.zeros(m), 1e4 * weight / weight.sum(), np.zeros(n_features)])
    answer = milp(
        price,
        integrality=np.ones(len(price)),
        bounds=Bounds(lower, upper),
        constraints=constraints,
        options={"mip_rel_gap": 0},
    )
    if answer.status == 2:
        return np.inf
    if answer.status != 0:
        raise RuntimeError(answer.message)
    return cost_by_definition(rows, label, weight, np.flatnonzero(answer.x[:m] > 0.5))
