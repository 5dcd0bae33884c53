"""Counterfactuals that look like the data: an isolation forest must not find them odder than most of it.

An isolation forest divides the rows at random until each is alone; rows that are soon alone are odd. Its mean depth is a sum
over trees like a score, so "at least as deep as this" is one more row beside the classes' rows, and the search the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from fcca.counterfactuals._forest import Forest
from fcca.exceptions import InvalidInputError
from fcca.models import Nodes, join_trees

Floats = NDArray[np.float64]

N_TREES = 50
ROWS_PER_TREE = 128
EULER = 0.5772156649015329


def _average_depth(n: NDArray[np.int64]) -> Floats:
    """What a leaf of n rows would be deep on average, were they divided further."""
    n = n.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth: Floats = 2 * (np.log(n - 1) + EULER) - 2 * (n - 1) / n
    return np.where(n <= 1, 0.0, np.where(n == 2, 1.0, depth))


def _leaf_depths(tree: Any) -> Floats:
    left, right = tree.children_left, tree.children_right
    depth = np.zeros(len(left))
    for node in range(len(left)):  # parents stand before their children
        if left[node] >= 0:
            depth[left[node]] = depth[right[node]] = depth[node] + 1
    depths: Floats = (depth + _average_depth(tree.n_node_samples))[:, None]
    return depths


@dataclass(frozen=True)
class Plausibility:
    """An isolation forest's mean depth, and how deep a counterfactual must be at least.

    Attributes
    ----------
    forest : Forest
        Its trees on the raw columns; the one output is the mean depth.
    least : float
    """

    forest: Forest
    least: float

    @classmethod
    def fit(cls, X: Floats, n_codes: dict[int, int], share: float) -> Plausibility:
        """Fit on training rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            With codes where a column holds categories.
        n_codes : dict of int to int
            Number of codes of each of these columns.
        share : float
            The share of the training rows that may be odder than a counterfactual.
        """
        if not 0 < share < 1:
            raise InvalidInputError(f"plausibility must be None or a share between 0 and 1, got {share!r}.")
        median = np.array([0.0 if j in n_codes else np.nanmedian(X[:, j]) for j in range(X.shape[1])])
        columns, source, code = [], [], []
        for j in range(X.shape[1]):
            codes = range(n_codes[j]) if j in n_codes else [-1]
            for k in codes:
                columns.append(X[:, j] == k if k >= 0 else np.where(np.isnan(X[:, j]), median[j], X[:, j]))
                source.append(j)
                code.append(k)
        encoded = np.column_stack(columns).astype(np.float64)
        rows = min(ROWS_PER_TREE, len(X))
        isolation = IsolationForest(n_estimators=N_TREES, max_samples=rows, random_state=0).fit(encoded)
        trees = [tree.tree_ for tree in isolation.estimators_]
        nodes = join_trees(trees, [_leaf_depths(tree) / N_TREES for tree in trees], takes_missing=False)
        forest = _on_raw_columns(nodes, np.array(source), np.array(code), median, n_codes)
        depth = np.sort(forest_scores(forest, X))
        return cls(forest, float(depth[int(share * len(depth))]))


def _on_raw_columns(
    nodes: Nodes, source: NDArray[np.int64], code: NDArray[np.int64], median: Floats, n_codes: dict[int, int]
) -> Forest:
    """Tests of encoded columns as tests of raw ones."""
    inner = nodes.feature >= 0
    feature = np.where(inner, source[nodes.feature], -1).astype(np.int32)
    threshold, sets = nodes.threshold.copy(), {}
    for node in np.flatnonzero(inner & (code[nodes.feature] >= 0)).tolist():
        is_code = np.arange(n_codes[int(feature[node])]) == code[nodes.feature[node]]
        sets[node] = is_code.astype(np.float64) <= threshold[node]
        threshold[node] = np.nan
    return Forest(
        n_features=len(median),
        roots=nodes.roots,
        feature=feature,
        threshold=threshold,
        native_threshold=nodes.native_threshold,
        left=nodes.left,
        right=nodes.right,
        missing_left=inner & (median[feature] <= nodes.threshold),
        values=np.where(inner[:, None], 0.0, nodes.value),
        base=np.zeros(1),
        sets=sets,
        n_codes=n_codes,
    )


def forest_scores(forest: Forest, X: Floats) -> Floats:
    """The one output of a forest, for rows in which a missing category has its code."""
    total = np.full(len(X), forest.base[0])
    for root in forest.roots.tolist():
        pending = [(root, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            if len(rows) == 0:
                continue
            j = forest.feature[node]
            if j < 0:
                total[rows] += forest.values[node, 0]
                continue
            x = X[rows, j]
            goes_left = forest.sets[node][x.astype(np.intp)] if node in forest.sets else x <= forest.threshold[node]
            if node not in forest.sets:
                goes_left = np.where(np.isnan(x), forest.missing_left[node], goes_left)
            pending.append((int(forest.left[node]), rows[goes_left]))
            pending.append((int(forest.right[node]), rows[~goes_left]))
    return total
