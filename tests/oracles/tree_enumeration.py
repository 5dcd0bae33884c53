"""All trees: every split of every node, nothing skipped and nothing bounded."""

from functools import cache
from itertools import pairwise

import numpy as np


def least_objective(table, label, weight, max_depth, regularization):
    """Least error share + regularization · leaves of any tree over the columns of a 0/1 table.

    No bound and no chain: a node is a leaf, or the cheapest of its splits. Only row sets seen before are not counted again.
    """
    classes = np.unique(label)
    mass = np.where(np.asarray(label)[:, None] == classes, np.asarray(weight, dtype=float)[:, None], 0.0)
    columns = [np.asarray(column, dtype=bool) for column in np.asarray(table).T]
    total = mass.sum()

    @cache
    def least(members, depth):
        rows = np.frombuffer(members, dtype=bool)
        per_class = mass[rows].sum(axis=0)
        cost = (per_class.sum() - per_class.max()) / total + regularization
        if depth == 0:
            return cost
        for column in columns:
            passing, others = rows & column, rows & ~column
            if passing.any() and others.any():
                cost = min(cost, least(passing.tobytes(), depth - 1) + least(others.tobytes(), depth - 1))
        return cost

    return float(least(np.ones(len(label), dtype=bool).tobytes(), max_depth))


def midpoint_table(X):
    """``x > t`` for every midpoint t between neighbouring values of every column."""
    columns = []
    for x in np.asarray(X, dtype=float).T:
        values = np.unique(x)
        columns += [x > (low + high) / 2 for low, high in pairwise(values)]
    return np.column_stack(columns).astype(np.uint8) if columns else np.empty((len(X), 0), dtype=np.uint8)
