"""A fitted tree as plain arrays, and as a scikit-learn tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from fcca.conditions import condition_in_words, negation_in_words
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns, SoftLabels
from fcca.thresholds import ThresholdTable
from fcca.trees._criteria import smoothed_probability
from fcca.trees._labels import HardLabels

Floats = NDArray[np.float64]


OR_MISSING = " or missing"


@dataclass(frozen=True)
class TreeStructure:
    """Nodes in depth-first order, the root first.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,)
        Column that a node tests, -1 for a leaf.
    threshold : ndarray of shape (n_nodes,)
        ``x > threshold`` goes to the right. All other values, including missing values, go to the left. NaN for a leaf and
        for a node that tests categories or missing values.
    left, right : ndarray of shape (n_nodes,)
        Children, -1 for a leaf.
    weight : ndarray of shape (n_nodes, n_classes)
        Training weight of each class.
    n_rows : ndarray of shape (n_nodes,)
        Training rows.
    categories : dict of int to tuple of int
        For a node that tests a set of categories, the codes that go to the right. All other codes and missing values go to
        the left.
    asks_missing : frozenset of int
        Nodes that send missing values to the right and all others to the left.
    soft_weight : ndarray of shape (n_nodes, n_classes) or None
        Training weight of each class by the soft labels that the tree learned; None if it learned labels.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    weight: Floats
    n_rows: NDArray[np.int64]
    categories: dict[int, tuple[int, ...]] = field(default_factory=dict)
    asks_missing: frozenset[int] = frozenset()
    soft_weight: Floats | None = None

    @classmethod
    def grown(
        cls,
        feature: NDArray[np.int32],
        threshold: Floats,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        X: Floats,
        labels: HardLabels,
        soft: SoftLabels | None = None,
    ) -> TreeStructure:
        """Fill the nodes of a tree with the training rows that reach them."""
        empty = cls(feature, threshold, left, right, np.empty((0, 0)), np.empty(0, dtype=np.int64))
        weight, n_rows = empty.filled(X, labels)
        soft_weight = None if soft is None else empty.filled(X, soft)[0]
        return replace(empty, weight=weight, n_rows=n_rows, soft_weight=soft_weight)

    def filled(self, X: Floats, labels: HardLabels | SoftLabels) -> tuple[Floats, NDArray[np.int64]]:
        """Sum the class weights and count the rows in every node. All nodes must compare with a threshold."""
        weight, n_rows = np.zeros((len(self.feature), labels.n_classes)), np.zeros(len(self.feature), dtype=np.int64)
        pending = [(0, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            weight[node], n_rows[node] = labels.class_weights(rows), labels.n_rows[rows].sum()
            if self.feature[node] >= 0:
                goes_right = X[rows, self.feature[node]] > self.threshold[node]
                pending += [(int(self.left[node]), rows[~goes_right]), (int(self.right[node]), rows[goes_right])]
        return weight, n_rows

    def with_conditions(self, table: ThresholdTable) -> TreeStructure:
        """Return the tree on the original columns. Binary column i is the table's condition i."""
        inner = self.feature >= 0
        column, cut = self.feature.copy(), self.threshold.copy()
        column[inner], cut[inner] = table.feature[self.feature[inner]], table.threshold[self.feature[inner]]
        tested = [(node, int(self.feature[node])) for node in np.flatnonzero(inner).tolist()]
        sets = {node: codes for node, condition in tested if (codes := table.codes[condition]) is not None}
        missing = frozenset(node for node, condition in tested if table.kind[condition] == "missing")
        return replace(self, feature=column, threshold=cut, categories=sets, asks_missing=missing)

    @property
    def has_cuts_only(self) -> bool:
        """True if every node compares with a threshold."""
        return not self.categories and not self.asks_missing

    @property
    def learned_weight(self) -> Floats:
        """Training weight of each class that the cost of a leaf is computed from."""
        return self.weight if self.soft_weight is None else self.soft_weight

    @property
    def share(self) -> Floats:
        """Share of each class in a node's weight."""
        shares: Floats = self.weight / self.weight.sum(axis=1, keepdims=True)
        return shares

    @property
    def probability(self) -> Floats:
        """Probability of each class in a node, smoothed by half a row of every class."""
        return smoothed_probability(self.weight)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.sum(self.feature < 0))

    @property
    def depth(self) -> int:
        """Longest path from the root to a leaf."""
        return int(self.depths().max())

    def depths(self) -> NDArray[np.int64]:
        """Return the depth of every node, 0 for the root."""
        depth = np.zeros(len(self.feature), dtype=np.int64)
        for node in range(len(self.feature)):  # children come after their parent
            if self.feature[node] >= 0:
                depth[[self.left[node], self.right[node]]] = depth[node] + 1
        return depth

    def leaf_of(self, X: Floats) -> NDArray[np.int64]:
        """Return the leaf of every row."""
        node = np.zeros(len(X), dtype=np.int64)
        rows = np.arange(len(X))
        for _ in range(self.depth):
            feature = self.feature[node]
            inner = feature >= 0
            goes_right = X[rows, np.maximum(feature, 0)] > self.threshold[node]
            for special in (*self.categories, *self.asks_missing):
                here = np.flatnonzero(node == special)
                x = X[here, self.feature[special]]
                codes = self.categories.get(special)
                goes_right[here] = np.isnan(x) if codes is None else np.isin(x, codes)
            node = np.where(inner, np.where(goes_right, self.right[node], self.left[node]), node)
        return node

    def path_to(self, node: int) -> list[tuple[int, bool]]:
        """Return the path to a node from the root: pairs of node and whether the path goes right."""
        path = []
        while node != 0:
            parent = int(np.flatnonzero((self.left == node) | (self.right == node))[0])
            path.append((parent, bool(self.right[parent] == node)))
            node = parent
        return path[::-1]

    def test_in_words(
        self, node: int, goes_right: bool, feature_names: Sequence[str], columns: Columns | None = None
    ) -> str:
        """Return the test for one side of an inner node, such as ``RM > 6.94`` or ``purpose ≠ "car"``.

        Parameters
        ----------
        node : int
        goes_right : bool
            Whether to describe the right side instead of the left.
        feature_names : sequence of str
        columns : Columns, optional
            Categories and missing values; None if all columns are plain numbers.
        """
        j = int(self.feature[node])
        codes = self.categories.get(node)
        kind = "missing" if node in self.asks_missing else "cut" if codes is None else "set"
        labels = None if codes is None or columns is None else [columns.label(j, code) for code in codes]
        threshold = float(self.threshold[node])
        if goes_right:
            return condition_in_words(feature_names[j], kind, threshold, labels)
        missing = columns is not None and columns[j].missing
        return negation_in_words(feature_names[j], kind, threshold, labels, may_be_missing=missing)

    def branches_in_words(
        self, feature_names: Sequence[str], columns: Columns | None = None
    ) -> list[tuple[str, str] | None]:
        """Return the tests for the left and right side of every inner node; None for a leaf.

        Below a test that no missing value passes, missing values are not mentioned.
        """
        said: list[tuple[str, str] | None] = [None] * len(self.feature)
        pending = [(0, columns)]
        while pending:
            node, known = pending.pop()
            if self.feature[node] < 0:
                continue
            left, right = (self.test_in_words(node, goes_right, feature_names, known) for goes_right in (False, True))
            said[node] = (left, right)
            present = _without_gaps(known, int(self.feature[node]))
            missing_go_right = node in self.asks_missing
            pending.append((int(self.left[node]), present if missing_go_right else known))
            pending.append((int(self.right[node]), known if missing_go_right else present))
        return said

    def rules(self, feature_names: Sequence[str], classes: NDArray[np.generic], columns: Columns | None = None) -> list[str]:
        """Return one line per leaf: its conditions, its class and the share of that class."""
        lines = []
        shares = self.share
        for leaf in np.flatnonzero(self.feature < 0):
            path = self.path_in_words(self.path_to(int(leaf)), feature_names, columns)
            share = shares[leaf]
            lines.append(f"{' and '.join(path) or 'always'} → {classes[share.argmax()]} ({share.max():.2f})")
        return lines

    def path_in_words(
        self, path: list[tuple[int, bool]], feature_names: Sequence[str], columns: Columns | None
    ) -> list[str]:
        """Return the distinct tests of a path. Of several cuts on one side, only the tightest is returned."""
        is_present, is_missing, compared = set(), set(), set()
        implied = self._implied_cuts(path)
        for node, goes_right in path:
            j = int(self.feature[node])
            if node not in self.asks_missing and node not in self.categories:
                compared.add(j)
            if goes_right != (node in self.asks_missing):
                is_present.add(j)
            elif goes_right:
                is_missing.add(j)
        if columns is not None:
            gaps = enumerate(columns)
            columns = Columns(tuple(replace(c, missing=c.missing and j not in is_present) for j, c in gaps))
        texts = []
        for node, goes_right in path:
            j, asks = int(self.feature[node]), node in self.asks_missing
            is_said = asks if j in is_missing else not (asks and j in compared)
            if is_said and node not in implied:
                texts.append(self.test_in_words(node, goes_right, feature_names, columns))
        return [f"({text})" if text.endswith(OR_MISSING) and len(texts) > 1 else text for text in texts]

    def _implied_cuts(self, path: list[tuple[int, bool]]) -> set[int]:
        """Find nodes of a path whose cut is implied by another cut of the same column."""
        tightest: dict[tuple[int, bool], int] = {}
        implied = set()
        for node, goes_right in path:
            if node in self.categories or node in self.asks_missing:
                continue
            side = (int(self.feature[node]), goes_right)
            other = tightest.setdefault(side, node)
            if other == node:
                continue
            is_tighter = (self.threshold[node] > self.threshold[other]) == goes_right
            implied.add(other if is_tighter else node)
            tightest[side] = node if is_tighter else other
        return implied

    def to_sklearn(
        self, classes: NDArray[np.generic], n_features: int, feature_names: Any = None, above: Floats | None = None
    ) -> DecisionTreeClassifier:
        """Convert to a fitted DecisionTreeClassifier; all nodes must compare with a threshold.

        Parameters
        ----------
        classes : ndarray
        n_features : int
        feature_names : ndarray of str, optional
        above : ndarray of shape (n_nodes,), optional
            The smallest training values above the thresholds; NaN if unknown.
        """
        if not self.has_cuts_only:
            raise InvalidInputError(
                "scikit-learn's trees only compare with thresholds, but this tree also tests categories or missing values."
            )
        n_nodes, n_classes = self.weight.shape
        probability = self.probability
        tree = Tree(n_features, np.array([n_classes], dtype=np.intp), 1)
        state = tree.__getstate__()
        nodes = np.zeros(n_nodes, dtype=state["nodes"].dtype)
        nodes["left_child"], nodes["right_child"] = self.left, self.right
        nodes["feature"] = np.where(self.feature < 0, -2, self.feature)
        threshold = self.threshold if above is None else _in_32_bits(self.threshold, above)
        nodes["threshold"] = np.where(self.feature < 0, -2.0, threshold)
        nodes["missing_go_to_left"] = self.feature >= 0
        nodes["impurity"] = 1 - np.square(self.share).sum(axis=1)
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


def _in_32_bits(threshold: Floats, above: Floats) -> Floats:
    """Adjust thresholds for a tree that casts values to 32-bit floats before comparing.

    The cast may make a value on the threshold greater than the threshold. So the threshold is cast as well, which keeps this
    value on the left. If the next training value becomes the same 32-bit float, the two cannot be distinguished, and the
    threshold stays as it is.
    """
    with np.errstate(over="ignore"):
        narrow, following = threshold.astype(np.float32), above.astype(np.float32)
    kept: Floats = np.where((following > narrow) & np.isfinite(narrow), narrow, threshold)
    return kept


def _without_gaps(columns: Columns | None, feature: int) -> Columns | None:
    if columns is None:
        return None
    return Columns(tuple(replace(column, missing=column.missing and j != feature) for j, column in enumerate(columns)))
