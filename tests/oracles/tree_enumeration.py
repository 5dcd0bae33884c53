"""All trees: every split of every node, nothing skipped and nothing bounded."""

from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import gammaln


def leaf_cost(weight, criterion):
    """Cost of a leaf with these class weights, by the formulas of the documentation."""
    n, n_classes = weight.sum(), len(weight)
    error = n - weight.max()
    log_loss = -np.sum(weight * np.log((weight + 0.5) / (n + n_classes / 2)))
    with np.errstate(invalid="ignore"):
        return {
            "error": error,
            "gini": n * (1 - np.sum((weight / n) ** 2)) if n > 0 else 0.0,
            "log_loss": log_loss,
            "evidence": -(betaln_of_many(weight + 0.5) - betaln_of_many(np.full(n_classes, 0.5))),
            "error+log_loss": log_loss + error / 2,
        }[criterion]


def betaln_of_many(alpha):
    """Logarithm of the multivariate beta function."""
    return np.sum(gammaln(alpha)) - gammaln(np.sum(alpha))


def least_objective(
    table, label, weight, max_depth, regularization, criterion="error", max_leaves=32, min_rows=1, min_weight=0.0, count=None
):
    """Least cost of the leaves / weight + regularization · leaves of any tree over the columns of a 0/1 table.

    No bound and no chain: a node is a leaf, or the cheapest of its splits, for every number of leaves. Only row sets seen
    before are not counted again.
    """
    classes = np.unique(label)
    mass = np.where(np.asarray(label)[:, None] == classes, np.asarray(weight, dtype=float)[:, None], 0.0)
    columns = [np.asarray(column, dtype=bool) for column in np.asarray(table).T]
    total = mass.sum()
    count = np.ones(len(label)) if count is None else count

    def as_leaf(rows):
        return leaf_cost(mass[rows].sum(axis=0), criterion) / total + regularization

    def is_too_small(rows):
        return count[rows].sum() < min_rows or mass[rows].sum() < min_weight - 1e-12 * total

    @cache
    def least(members, depth):
        """By number of leaves, at most one more than the position."""
        rows = np.frombuffer(members, dtype=bool)
        costs = np.full(max_leaves, np.inf if is_too_small(rows) else as_leaf(rows))
        if depth == 0:
            return costs
        for column in columns:
            passing, others = rows & column, rows & ~column
            if not (passing.any() and others.any()):
                continue
            right, left = least(passing.tobytes(), depth - 1), least(others.tobytes(), depth - 1)
            for n in range(1, max_leaves):  # to hand out, less one for each side
                costs[n] = min(costs[n], np.min(left[:n] + right[:n][::-1]))
        return costs

    everything = np.ones(len(label), dtype=bool)
    return float(min(as_leaf(everything), least(everything.tobytes(), max_depth)[-1]))


def midpoint_table(X):
    """``x > t`` for every midpoint t between neighbouring values of every column."""
    columns = []
    for x in np.asarray(X, dtype=float).T:
        values = np.unique(x)
        columns += [x > (low + high) / 2 for low, high in pairwise(values)]
    return np.column_stack(columns).astype(np.uint8) if columns else np.empty((len(X), 0), dtype=np.uint8)
