"""Measure the plausibility of counterfactuals with an isolation forest.

An isolation forest splits the rows at random until each row is alone. Unusual rows are alone after few splits. So the mean
depth of a row over the trees measures its plausibility. Like a score, the mean depth is a sum over trees. So the search can
treat it as an additional score that must reach a minimum.
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
    """Compute the mean depth at which random splits isolate one of ``n`` rows."""
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
    """An isolation forest, and the mean depth that a counterfactual must reach.

    Attributes
    ----------
    trees : TreeEnsemble
        Trees of the isolation forest, with tests of the original columns. The score of a row is its mean depth.
    forest : Forest
        The same trees, in the form that the search uses.
    least : float
        Smallest mean depth of a plausible counterfactual.
    """

    trees: TreeEnsemble
    forest: Forest
    least: float

    @classmethod
    def fit(cls, X: Floats, n_codes: dict[int, int], share: float) -> Plausibility:
        """Fit the isolation forest on training rows, and set the minimum depth.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows, with codes for categories.
        n_codes : dict of int to int
            Number of codes of each column of categories, including the code of missing values.
        share : float
            A counterfactual must be at least as plausible as this share of the training rows.
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
        """Compute the mean depths of encoded rows, in which missing categories have a code."""
        depths: Floats = self.trees.scores(X)[:, 0]
        return depths


def _on_raw_columns(
    nodes: Nodes, source: NDArray[np.int64], code: NDArray[np.int64], median: Floats, n_codes: dict[int, int]
) -> TreeEnsemble:
    """Rewrite tests of one-hot encoded columns as tests of the original columns."""
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
