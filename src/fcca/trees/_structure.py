"""A fitted tree as plain arrays, and as scikit-learn's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from fcca._decimals import plain

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TreeStructure:
    """Nodes in depth-first order, the root first.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,)
        Column that a node tests, -1 for a leaf.
    threshold : ndarray of shape (n_nodes,)
        ``x > threshold`` goes to the right, the rest to the left. NaN for a leaf.
    left, right : ndarray of shape (n_nodes,)
        Children, -1 for a leaf.
    weight : ndarray of shape (n_nodes, n_classes)
        Training weight of each class.
    n_rows : ndarray of shape (n_nodes,)
        Training rows.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    weight: Floats
    n_rows: NDArray[np.int64]

    @classmethod
    def grown(
        cls,
        feature: NDArray[np.int32],
        threshold: Floats,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        X: Floats,
        label: NDArray[np.int32],
        sample_weight: Floats,
        n_classes: int,
    ) -> TreeStructure:
        """Fill a tree's nodes with the training rows that reach them."""
        weight, n_rows = np.zeros((len(feature), n_classes)), np.zeros(len(feature), dtype=np.int64)
        pending = [(0, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            weight[node] = np.bincount(label[rows], weights=sample_weight[rows], minlength=n_classes)
            n_rows[node] = len(rows)
            if feature[node] >= 0:
                goes_right = X[rows, feature[node]] > threshold[node]
                pending += [(left[node], rows[~goes_right]), (right[node], rows[goes_right])]
        return cls(feature, threshold, left, right, weight, n_rows)

    def with_columns(self, feature: NDArray[np.int32], threshold: Floats) -> TreeStructure:
        """The same tree on the columns that its 0/1 columns were made of: column i is ``feature[i] > threshold[i]``."""
        inner = self.feature >= 0
        column, cut = self.feature.copy(), self.threshold.copy()
        column[inner], cut[inner] = feature[self.feature[inner]], threshold[self.feature[inner]]
        return replace(self, feature=column, threshold=cut)

    @property
    def probability(self) -> Floats:
        """Share of each class in a node's weight."""
        shares: Floats = self.weight / self.weight.sum(axis=1, keepdims=True)
        return shares

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.sum(self.feature < 0))

    @property
    def depth(self) -> int:
        """Longest path from the root to a leaf."""
        return int(self._depths().max())

    def _depths(self) -> NDArray[np.int64]:
        depth = np.zeros(len(self.feature), dtype=np.int64)
        for node in range(len(self.feature)):  # children come after their parent
            if self.feature[node] >= 0:
                depth[[self.left[node], self.right[node]]] = depth[node] + 1
        return depth

    def leaf_of(self, X: Floats) -> NDArray[np.int64]:
        """The leaf that every row reaches."""
        node = np.zeros(len(X), dtype=np.int64)
        rows = np.arange(len(X))
        for _ in range(self.depth):
            feature = self.feature[node]
            inner = feature >= 0
            goes_right = X[rows, np.maximum(feature, 0)] > self.threshold[node]
            node = np.where(inner, np.where(goes_right, self.right[node], self.left[node]), node)
        return node

    def conditions_to(self, leaf: int) -> list[tuple[int, bool, float]]:
        """The path to a node: (column, whether above, threshold) from the root on."""
        path = []
        while leaf != 0:
            parent = int(np.flatnonzero((self.left == leaf) | (self.right == leaf))[0])
            path.append((int(self.feature[parent]), bool(self.right[parent] == leaf), float(self.threshold[parent])))
            leaf = parent
        return path[::-1]

    def rules(self, feature_names: Sequence[str], classes: NDArray[np.generic]) -> list[str]:
        """One line per leaf: its conditions, its class and that class's share."""
        lines = []
        for leaf in np.flatnonzero(self.feature < 0):
            path = [
                f"{feature_names[j]} {'>' if above else '≤'} {plain(t)}" for j, above, t in self.conditions_to(int(leaf))
            ]
            share = self.probability[leaf]
            lines.append(f"{' and '.join(path) or 'always'} → {classes[share.argmax()]} ({share.max():.2f})")
        return lines

    def to_sklearn(self, classes: NDArray[np.generic], n_features: int, feature_names: Any = None) -> DecisionTreeClassifier:
        """A fitted DecisionTreeClassifier with these nodes."""
        n_nodes, n_classes = self.weight.shape
        probability = self.probability
        tree = Tree(n_features, np.array([n_classes], dtype=np.intp), 1)
        state = tree.__getstate__()
        nodes = np.zeros(n_nodes, dtype=state["nodes"].dtype)
        nodes["left_child"], nodes["right_child"] = self.left, self.right
        nodes["feature"] = np.where(self.feature < 0, -2, self.feature)
        nodes["threshold"] = np.where(self.feature < 0, -2.0, self.threshold)
        nodes["impurity"] = 1 - np.square(probability).sum(axis=1)
        nodes["n_node_samples"] = self.n_rows
        nodes["weighted_n_node_samples"] = self.weight.sum(axis=1)
        state |= {"max_depth": self.depth, "node_count": n_nodes, "nodes": nodes, "values": probability[:, None, :].copy()}
        tree.__setstate__(state)
        fitted = DecisionTreeClassifier(max_depth=max(1, self.depth))
        fitted.tree_, fitted.classes_, fitted.n_classes_ = tree, classes, n_classes
        fitted.n_outputs_, fitted.n_features_in_, fitted.max_features_ = 1, n_features, n_features
        if feature_names is not None:
            fitted.feature_names_in_ = feature_names
        return fitted
