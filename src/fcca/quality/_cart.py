"""CART, scikit-learn's decision tree, as a baseline for other trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from fcca.tables import Columns
from fcca.trees import smoothed_probability

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

#: Columns with at most this many categories are one-hot encoded, others are passed as codes.
MOST_ONE_HOT = 50
#: CART uses single precision. Columns with larger values are scaled.
LARGEST_NUMBER = 1e30
FEWEST_LEAVES = 2  # of scikit-learn's max_leaf_nodes


class Cart:
    """CART, scikit-learn's decision tree, for any number of leaves.

    scikit-learn adds the best split first, so a fitted tree contains the trees with fewer leaves. One fit is therefore
    enough for several numbers of leaves. Columns with few categories are one-hot encoded, and missing values of numeric
    columns are replaced with the median. To smooth the class probabilities, half a row of every class is added to each leaf.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_features)
        The training rows, with codes for categories and NaN for missing values.
    columns : Columns or None
        Types and categories of the columns. None if all columns are numeric.
    label : ndarray of shape (n_rows,)
        The label of each row, as the index of its class.
    weight : ndarray of shape (n_rows,)
        Weights of the rows.
    n_classes : int
    min_samples_leaf : int, default=1
        Minimum number of training rows in a leaf.
    """

    def __init__(
        self,
        table: Floats,
        columns: Columns | None,
        label: Codes,
        weight: Floats,
        n_classes: int,
        *,
        min_samples_leaf: int = 1,
    ) -> None:
        self._encoder = _Encoder(table, columns)
        self._training = (self._encoder.encode(table), label, weight)
        self._n_classes, self._min_samples_leaf = n_classes, min_samples_leaf
        self._most_leaves = 0

    def probability(self, table: Floats, n_leaves: int) -> Floats:
        """Predict class probabilities with the tree of at most ``n_leaves`` leaves.

        Parameters
        ----------
        table : ndarray of shape (n_rows, n_features)
            Encoded like the training table.
        n_leaves : int
            Values below 2 are treated as 2, the minimum of scikit-learn.
        """
        self.grow(n_leaves)
        node = self._tree.apply(self._encoder.encode(table).astype(np.float32))
        found: Floats = self._probability[self._kept(n_leaves)[node]]
        return found

    def n_leaves(self, n_leaves: int) -> int:
        """Return how many leaves CART has if at most ``n_leaves`` are allowed.

        The result is smaller than ``n_leaves`` if no further split is possible. Values below 2 are treated as 2.
        """
        self.grow(n_leaves)
        return min(max(n_leaves, FEWEST_LEAVES), int(self._tree.n_leaves))

    def grow(self, most_leaves: int) -> None:
        """Fit a tree with at most ``most_leaves`` leaves.

        Do nothing if an earlier fit already allowed at least ``most_leaves`` leaves.
        """
        if most_leaves <= self._most_leaves:
            return
        self._most_leaves = max(most_leaves, FEWEST_LEAVES)
        X, label, weight = self._training
        fitted = DecisionTreeClassifier(
            max_leaf_nodes=self._most_leaves, min_samples_leaf=self._min_samples_leaf, random_state=0
        ).fit(X, label, sample_weight=weight)
        self._tree = tree = fitted.tree_
        mass = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
        self._probability = np.zeros((tree.node_count, self._n_classes))
        self._probability[:, fitted.classes_] = smoothed_probability(mass)

    def _kept(self, n_leaves: int) -> NDArray[np.intp]:
        """Map each fitted node to a node of the tree with ``n_leaves`` leaves.

        Each split adds two nodes with the next indices. So the tree with k leaves consists of the first 2k - 1 nodes. Each
        later node is mapped to its closest ancestor among these nodes.
        """
        tree = self._tree
        parent = np.zeros(tree.node_count, dtype=np.intp)
        inner = np.flatnonzero(tree.children_left >= 0)
        parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
        node = np.arange(tree.node_count)
        n_nodes = 2 * max(n_leaves, FEWEST_LEAVES) - 1
        while (node >= n_nodes).any():
            node = np.where(node >= n_nodes, parent[node], node)
        return node


class _Encoder:
    """Encodes rows for CART, as numbers without missing values.

    Missing values of numeric columns are replaced with the median of the training rows. Columns with at most
    ``MOST_ONE_HOT`` categories are one-hot encoded, and a missing value becomes zeros. Other categorical columns keep their
    codes as numbers, and a missing value becomes -1. Columns with very large values are scaled.
    """

    def __init__(self, table: Floats, columns: Columns | None) -> None:
        self._n_categories = [
            None if columns is None or (known := columns[j].categories) is None else len(known)
            for j in range(table.shape[1])
        ]
        present = [values[~np.isnan(values)] for values in table.T]
        self._median = [float(np.median(values)) if len(values) else 0.0 for values in present]
        largest = [float(np.abs(values).max(initial=0.0)) for values in present]
        self._scale = [float(2.0 ** np.frexp(size)[1]) if size > LARGEST_NUMBER else 1.0 for size in largest]

    def encode(self, table: Floats) -> NDArray[np.float32]:
        """Return the rows as 32-bit floats, without missing values and with encoded categories."""
        parts: list[NDArray[np.float32]] = []
        for values, n, median, scale in zip(table.T, self._n_categories, self._median, self._scale, strict=True):
            if n is not None and n <= MOST_ONE_HOT:
                parts.append((values[:, None] == np.arange(n)).astype(np.float32))
            else:
                filled = np.where(np.isnan(values), median if n is None else -1.0, values) / scale
                parts.append(np.clip(filled, -LARGEST_NUMBER, LARGEST_NUMBER).astype(np.float32)[:, None])
        return np.hstack(parts)
