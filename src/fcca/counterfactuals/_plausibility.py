"""Plausible counterfactuals, by an isolation forest.

An isolation forest splits the rows at random until each is alone. Unusual rows are isolated at a small depth. The mean depth
is a sum over trees, like a score, so the search treats a minimum depth as one more score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from fcca.counterfactuals._forest import Forest
from fcca.exceptions import InvalidInputError
from fcca.models import Nodes, Share, TreeEnsemble, join_trees

Floats = NDArray[np.float64]

N_TREES = 50
ROWS_PER_TREE = 128


def _average_depth(n: NDArray[np.int64]) -> Floats:
    """Compute the mean depth of a tree that isolates n rows."""
    n = n.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth: Floats = 2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n
    return np.where(n <= 1, 0.0, np.where(n == 2, 1.0, depth))


def _leaf_depths(tree: Any) -> Floats:
    left, right = tree.children_left, tree.children_right
    depth = np.zeros(len(left))
    for node in range(len(left)):  # parents come before their children
        if left[node] >= 0:
            depth[left[node]] = depth[right[node]] = depth[node] + 1
    depths: Floats = (depth + _average_depth(tree.n_node_samples))[:, None]
    return depths


@dataclass(frozen=True)
class Plausibility:
    """An isolation forest, and the minimum mean depth of a counterfactual.

    Attributes
    ----------
    trees : TreeEnsemble
        Trees of the isolation forest on the raw columns. The score is the mean depth.
    forest : Forest
        The same trees for the search.
    least : float
    """

    trees: TreeEnsemble
    forest: Forest
    least: float

    @classmethod
    def fit(cls, X: Floats, n_codes: dict[int, int], share: float) -> Plausibility:
        """Fit on training rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows, with codes for categories.
        n_codes : dict of int to int
            Number of codes of each column of categories, including the code of missing values.
        share : float
            Share of the training rows that may be less plausible than a counterfactual.
        """
        if not 0 < share < 1:
            raise InvalidInputError(f"plausibility must be None or a share between 0 and 1, got {share!r}.")
        median = np.array([0.0 if j in n_codes else np.nanmedian(X[:, j]) for j in range(X.shape[1])])
        columns, source, code = [], [], []
        for j in range(X.shape[1]):
            for k in range(n_codes[j]) if j in n_codes else [-1]:
                columns.append(X[:, j] == k if k >= 0 else np.where(np.isnan(X[:, j]), median[j], X[:, j]))
                source.append(j)
                code.append(k)
        encoded = np.column_stack(columns).astype(np.float64)
        rows = min(ROWS_PER_TREE, len(X))
        isolation = IsolationForest(n_estimators=N_TREES, max_samples=rows, random_state=0).fit(encoded)
        fitted = [tree.tree_ for tree in isolation.estimators_]
        nodes = join_trees(fitted, [_leaf_depths(tree) / N_TREES for tree in fitted], takes_missing=False)
        trees = _on_raw_columns(nodes, np.array(source), np.array(code), median, n_codes)
        depth = np.sort(trees.scores(X)[:, 0])
        return cls(trees, Forest.of(trees, n_codes), float(depth[int(share * len(depth))]))

    def depths(self, X: Floats) -> Floats:
        """Compute the mean depths of rows. Missing categories are given by their code."""
        depths: Floats = self.trees.scores(X)[:, 0]
        return depths


def _on_raw_columns(
    nodes: Nodes, source: NDArray[np.int64], code: NDArray[np.int64], median: Floats, n_codes: dict[int, int]
) -> TreeEnsemble:
    """Rewrite tests of encoded columns as tests of raw columns."""
    inner = nodes.feature >= 0
    feature = np.where(inner, source[nodes.feature], -1).astype(np.int32)
    threshold, missing_left = nodes.threshold.copy(), inner & (median[feature] <= nodes.threshold)
    categories = {}
    for node in np.flatnonzero(inner & (code[nodes.feature] >= 0)).tolist():
        is_code = np.arange(n_codes[int(feature[node])]) == code[nodes.feature[node]]
        goes_left = is_code.astype(np.float64) <= threshold[node]
        categories[node], missing_left[node] = np.flatnonzero(goes_left), goes_left[-1]
        threshold[node] = np.nan
    changed = {"feature": feature, "threshold": threshold, "missing_left": missing_left, "categories": categories}
    changed["value"] = np.where(inner[:, None], 0.0, nodes.value)
    return TreeEnsemble(
        classes=np.arange(2), n_features=len(median), link=Share(), base=np.zeros(1), **(nodes.arguments() | changed)
    )
