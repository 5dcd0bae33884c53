"""The paper's mixed-integer program, literally: equations CE_obj to CE_class_assignment_d, for boosting, with λ2 = 0.

Features are scaled to [0, 1], x is continuous, z_{t,l} puts tree t into leaf l, M_0 = M_1 = 1, ε_j is the smallest
difference between two consecutive values of feature j on the training rows and ε = 1e-4.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

SCORE_EPSILON = 1e-4


@dataclass(frozen=True)
class Program:
    """Minimise cost·v subject to low ≤ rows·v ≤ high and 0 ≤ v ≤ 1; the first n_features variables are x."""

    cost: np.ndarray
    rows: csr_array
    low: np.ndarray
    high: np.ndarray
    is_binary: np.ndarray
    n_features: int


def smallest_gaps(X_train):
    """ε_j of every feature, 0 for one that is constant."""
    gaps = [np.diff(np.unique(column)) for column in X_train.T]
    return np.array([gap.min() if len(gap) else 0.0 for gap in gaps])


def leaves_of(tree):
    """Every leaf's value with the (feature, threshold, goes left) of its ancestors."""

    def walk(node, path):
        if tree.children_left[node] < 0:
            yield float(tree.value[node, 0, 0]), path
            return
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        yield from walk(tree.children_left[node], [*path, (feature, threshold, True)])
        yield from walk(tree.children_right[node], [*path, (feature, threshold, False)])

    return list(walk(0, []))


def build(estimator, x0, target, gaps, lambda0, lambda1, prior):
    """The program for one point. Variables: x, |x − x0|, moved, z.

    ``prior`` is the score before the first tree, ``target`` the class asked for, 0 or 1.
    """
    m = estimator.n_features_in_
    x, distance, moved = np.arange(m), m + np.arange(m), 2 * m + np.arange(m)
    trees = [leaves_of(tree.tree_) for tree in estimator.estimators_.ravel()]
    n = 3 * m + sum(len(leaves) for leaves in trees)
    rows, low, high = [], [], []

    def add(entries, at_least=-np.inf, at_most=np.inf):
        rows.append(entries)
        low.append(at_least)
        high.append(at_most)

    for j in range(m):
        add({x[j]: 1, distance[j]: -1}, at_most=x0[j])
        add({x[j]: 1, distance[j]: 1}, at_least=x0[j])
        add({distance[j]: 1, moved[j]: -1}, at_most=0)
    z, score = 3 * m, {}
    for leaves in trees:
        add({z + at: 1 for at in range(len(leaves))}, at_least=1, at_most=1)
        for value, path in leaves:
            for feature, threshold, goes_left in path:
                if goes_left:  # x − (1 − z) + ε_j ≤ c
                    add({x[feature]: 1, z: 1}, at_most=threshold + 1 - gaps[feature])
                else:  # x + (1 − z) − ε_j ≥ c
                    add({x[feature]: 1, z: -1}, at_least=threshold - 1 + gaps[feature])
            score[z] = estimator.learning_rate * value
            z += 1
    if target == 1:
        add(score, at_least=SCORE_EPSILON - prior)
    else:
        add(score, at_most=-SCORE_EPSILON - prior)

    cost = np.zeros(n)
    cost[distance], cost[moved] = lambda1, lambda0
    is_binary = np.arange(n) >= 2 * m
    row = np.repeat(np.arange(len(rows)), [len(entries) for entries in rows])
    column = np.array([at for entries in rows for at in entries])
    values = np.array([value for entries in rows for value in entries.values()], dtype=float)
    return Program(
        cost, csr_array((values, (row, column)), shape=(len(rows), n)), np.array(low), np.array(high), is_binary, m
    )


def solve(program):
    """Optimum and x by HiGHS, or infinity and None where the program is infeasible."""
    for presolve in (True, False):  # HiGHS sometimes fails on what its presolve made of a big M
        answer = milp(
            program.cost,
            integrality=program.is_binary,
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(program.rows, program.low, program.high),
            options={"mip_rel_gap": 0, "presolve": presolve},
        )
        if answer.status == 0:
            return float(answer.fun), answer.x[: program.n_features]
        if answer.status == 2:
            return np.inf, None
    raise RuntimeError(answer.message)
