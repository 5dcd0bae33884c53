"""TreeStructure: the nodes of a fitted tree as arrays, as text, and as a scikit-learn tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from fcca.conditions import condition_in_words, negation_in_words, or_special_in_words
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns, SoftLabels
from fcca.thresholds import ThresholdTable
from fcca.trees._criteria import smoothed_probability
from fcca.trees._labels import HardLabels

Floats = NDArray[np.float64]


OR_MISSING = " or missing"


@dataclass(frozen=True)
class TreeStructure:
    """The nodes of a fitted tree as arrays, in depth-first order with the root first.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,)
        Position of the column that a node tests, -1 for a leaf.
    threshold : ndarray of shape (n_nodes,)
        Rows with ``x > threshold`` go to the right. All other rows go to the left. Rows with a missing value go to the left,
        unless the node is in ``missing_right``. NaN for a leaf and for a node that tests categories or missing values.
    left, right : ndarray of shape (n_nodes,)
        Positions of the two children, -1 for a leaf.
    weight : ndarray of shape (n_nodes, n_classes)
        Weight of each class among the training rows that reach a node, computed from their labels.
    n_rows : ndarray of shape (n_nodes,)
        Number of training rows that reach a node.
    categories : dict of int to tuple of int
        Nodes that test a set of categories, with the category codes that go to the right. All other codes and missing values
        go to the left.
    asks_missing : frozenset of int
        Nodes that test whether a value is missing. Missing values go to the right, all other values to the left.
    asks_special : frozenset of int
        Nodes that test for a special value, which is their ``threshold``. Only this value goes to the right.
    asks_one : frozenset of int
        Nodes that test ``x > 0.5`` in a column of zeros and ones. Texts call this test ``x = 1``.
    missing_right : frozenset of int
        Nodes that test ``x > threshold`` and send missing values to the right.
    special : dict of int to tuple of float
        The special values that training rows have in a column. Texts say on which side of a cut they are.
    soft_weight : ndarray of shape (n_nodes, n_classes) or None
        Like ``weight``, but computed from the soft labels that the tree learned. None if it learned labels.
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
    asks_special: frozenset[int] = frozenset()
    asks_one: frozenset[int] = frozenset()
    missing_right: frozenset[int] = frozenset()
    special: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of_splits(
        cls,
        feature: NDArray[np.int32],
        threshold: Floats,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        asks_missing: frozenset[int] = frozenset(),
        missing_right: frozenset[int] = frozenset(),
    ) -> TreeStructure:
        """Build a tree without weights from its splits. The parameters are as in the attributes."""
        n_rows = np.zeros(len(feature), dtype=np.int64)
        weight = np.zeros((len(feature), 0))
        return cls(feature, threshold, left, right, weight, n_rows, asks_missing=asks_missing, missing_right=missing_right)

    def grown(self, X: Floats, labels: HardLabels, soft: SoftLabels | None = None) -> TreeStructure:
        """Count the training rows in each node, and find the tests in columns of zeros and ones.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Training rows.
        labels : HardLabels
            Labels of the training rows.
        soft : SoftLabels, optional
            Soft labels that the tree learned.
        """
        weight, n_rows = self.filled(X, labels)
        soft_weight = None if soft is None else self.filled(X, soft)[0]
        cuts = [(node, X[:, self.feature[node]]) for node in np.flatnonzero(self.threshold == 0.5).tolist()]
        asks_one = frozenset(node for node, x in cuts if ((x == 0) | (x == 1) | np.isnan(x)).all())
        return replace(self, weight=weight, n_rows=n_rows, soft_weight=soft_weight, asks_one=asks_one)

    def filled(self, X: Floats, labels: HardLabels | SoftLabels) -> tuple[Floats, NDArray[np.int64]]:
        """For each node, sum the class weights of the rows that reach it, and count these rows.

        All inner nodes must test ``x > threshold`` or for missing values.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        labels : HardLabels or SoftLabels
            Labels of the rows of X.

        Returns
        -------
        weight : ndarray of shape (n_nodes, n_classes)
        n_rows : ndarray of shape (n_nodes,)
        """
        weight, n_rows = np.zeros((len(self.feature), labels.n_classes)), np.zeros(len(self.feature), dtype=np.int64)
        pending = [(0, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            weight[node], n_rows[node] = labels.class_weights(rows), labels.n_rows[rows].sum()
            if self.feature[node] >= 0:
                x = X[rows, self.feature[node]]
                goes_right = x > self.threshold[node]
                if node in self.asks_missing or node in self.missing_right:
                    goes_right |= np.isnan(x)
                pending += [(int(self.left[node]), rows[~goes_right]), (int(self.right[node]), rows[goes_right])]
        return weight, n_rows

    def with_conditions(self, table: ThresholdTable) -> TreeStructure:
        """Convert a tree on binary columns to a tree on the original columns.

        Parameters
        ----------
        table : ThresholdTable
            Binary column i of this tree is condition i of the table.
        """
        inner = self.feature >= 0
        column, cut = self.feature.copy(), self.threshold.copy()
        column[inner], cut[inner] = table.feature[self.feature[inner]], table.threshold[self.feature[inner]]
        tested = [(node, int(self.feature[node])) for node in np.flatnonzero(inner).tolist()]
        sets = {node: codes for node, condition in tested if (codes := table.codes[condition]) is not None}
        kinds = table.kinds_in_words

        def asks(kind: str) -> frozenset[int]:
            return frozenset(node for node, condition in tested if kinds[condition] == kind)

        return replace(
            self,
            feature=column,
            threshold=cut,
            categories=sets,
            asks_missing=asks("missing"),
            asks_special=asks("special"),
            asks_one=asks("one"),
            special=dict(table.special),
        )

    def kind_of(self, node: int) -> str:
        """Return the kind of the condition that an inner node tests."""
        if node in self.asks_missing:
            return "missing"
        if node in self.asks_special:
            return "special"
        return "set" if node in self.categories else "cut"

    @property
    def has_cuts_only(self) -> bool:
        """True if every inner node tests ``x > threshold``."""
        return not self.categories and not self.asks_missing and not self.asks_special

    @property
    def learned_weight(self) -> Floats:
        """Class weights from which the cost of a leaf is computed.

        They are ``soft_weight`` if the tree learned soft labels, and ``weight`` otherwise.
        """
        return self.weight if self.soft_weight is None else self.soft_weight

    @property
    def share(self) -> Floats:
        """Share of each class in the training weight of a node."""
        shares: Floats = self.weight / self.weight.sum(axis=1, keepdims=True)
        return shares

    @property
    def probability(self) -> Floats:
        """Class probabilities of each node, smoothed by adding half a row of every class."""
        return smoothed_probability(self.weight)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.sum(self.feature < 0))

    @property
    def depth(self) -> int:
        """Number of tests on the longest path from the root to a leaf."""
        return int(self.depths().max())

    def depths(self) -> NDArray[np.int64]:
        """Return the depth of every node, 0 for the root."""
        depth = np.zeros(len(self.feature), dtype=np.int64)
        for node in range(len(self.feature)):  # children come after their parent
            if self.feature[node] >= 0:
                depth[[self.left[node], self.right[node]]] = depth[node] + 1
        return depth

    def leaf_of(self, X: Floats) -> NDArray[np.int64]:
        """Return the position of the leaf that each row of X reaches."""
        node = np.zeros(len(X), dtype=np.int64)
        rows = np.arange(len(X))
        for _ in range(self.depth):
            feature = self.feature[node]
            inner = feature >= 0
            goes_right = X[rows, np.maximum(feature, 0)] > self.threshold[node]
            for other in self.missing_right:
                goes_right |= (node == other) & np.isnan(X[:, self.feature[other]])
            for other in (*self.categories, *self.asks_missing, *self.asks_special):
                here = np.flatnonzero(node == other)
                x = X[here, self.feature[other]]
                codes = self.categories.get(other)
                if other in self.asks_special:
                    goes_right[here] = x == self.threshold[other]
                else:
                    goes_right[here] = np.isnan(x) if codes is None else np.isin(x, codes)
            node = np.where(inner, np.where(goes_right, self.right[node], self.left[node]), node)
        return node

    def path_to(self, node: int) -> list[tuple[int, bool]]:
        """Return the path from the root to a node.

        The path is a list with one pair for each node above ``node``: the node, and whether the path goes to its right
        child.
        """
        path = []
        while node != 0:
            parent = int(np.flatnonzero((self.left == node) | (self.right == node))[0])
            path.append((parent, bool(self.right[parent] == node)))
            node = parent
        return path[::-1]

    def special_values_on(self, path: Sequence[tuple[int, bool]], node: int) -> list[float]:
        """Return the special values of a node's column that take a path, if the node is a cut.

        Parameters
        ----------
        path : sequence of (int, bool)
            Nodes, and whether the path goes to their right child.
        node : int
        """
        j = int(self.feature[node])
        tests = [(other, right) for other, right in path if self.feature[other] == j]
        if self.kind_of(node) != "cut":
            return []
        return [one for one in self.special.get(j, ()) if all(self._goes_right(at, one) == right for at, right in tests)]

    def _goes_right(self, node: int, number: float) -> bool:
        if node in self.asks_special:
            return number == float(self.threshold[node])
        return node not in self.asks_missing and number > float(self.threshold[node])

    def test_in_words(
        self,
        node: int,
        goes_right: bool,
        feature_names: Sequence[str],
        columns: Columns | None = None,
        special: Sequence[float] = (),
    ) -> str:
        """Describe the rows that go to one side of an inner node, such as ``RM > 6.94``.

        Parameters
        ----------
        node : int
        goes_right : bool
            True for the rows that go to the right, False for those that go to the left.
        feature_names : sequence of str
        columns : Columns, optional
            Descriptions of the columns; None if all columns are numeric without missing values.
        special : sequence of float, default=()
            Special values on this side of a cut.
        """
        j = int(self.feature[node])
        codes = self.categories.get(node)
        kind = "one" if node in self.asks_one else self.kind_of(node)
        labels = None if codes is None or columns is None else [columns.label(j, code) for code in codes]
        threshold = float(self.threshold[node])
        missing = columns is not None and columns[j].missing and goes_right == (node in self.missing_right)
        in_words = condition_in_words if goes_right else negation_in_words
        text = in_words(feature_names[j], kind, threshold, labels) + or_special_in_words(special)
        return text + OR_MISSING if missing and kind in ("cut", "one") else text

    def branches_in_words(
        self, feature_names: Sequence[str], columns: Columns | None = None
    ) -> list[tuple[str, str] | None]:
        """Describe the rows that go left and right at each node; None for a leaf.

        If an earlier test on the path already excludes missing values in a column, the texts do not mention them. The same
        holds for special values.
        """
        said: list[tuple[str, str] | None] = [None] * len(self.feature)
        pending = [(0, columns)]
        while pending:
            node, known = pending.pop()
            if self.feature[node] < 0:
                continue
            path = self.path_to(node)
            left, right = (
                self.test_in_words(node, side, feature_names, known, self.special_values_on([*path, (node, side)], node))
                for side in (False, True)
            )
            said[node] = (left, right)
            present = _without_gaps(known, int(self.feature[node]))
            missing_go_right = node in self.asks_missing or node in self.missing_right
            pending.append((int(self.left[node]), present if missing_go_right else known))
            pending.append((int(self.right[node]), known if missing_go_right else present))
        return said

    def rules(self, feature_names: Sequence[str], classes: NDArray[np.generic], columns: Columns | None = None) -> list[str]:
        """Return the rule of each leaf as one line of text.

        The line has the conditions on the path to the leaf, the predicted class, and the share of this class in the leaf.
        """
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
        """Describe a path by its tests, without redundant tests.

        For example, ``x > 2`` is left out if the path also contains ``x > 3``.

        Parameters
        ----------
        path : list of (int, bool)
            Result of :meth:`path_to`.
        feature_names : sequence of str
        columns : Columns or None
            Descriptions of the columns; None if all columns are numeric without missing values.
        """
        is_present, is_missing, compared, is_special = set(), set(), set(), set()
        implied = self._implied_cuts(path)
        for node, goes_right in path:
            j = int(self.feature[node])
            kind = self.kind_of(node)
            if kind == "cut" or (kind == "special" and goes_right):
                compared.add(j)
            if kind == "special" and goes_right:
                is_special.add(j)
            if goes_right != (node in self.asks_missing or node in self.missing_right):
                is_present.add(j)
            elif goes_right and node in self.asks_missing:
                is_missing.add(j)
        if columns is not None:
            gaps = enumerate(columns)
            columns = Columns(tuple(replace(c, missing=c.missing and j not in is_present) for j, c in gaps))
        texts = []
        for node, goes_right in path:
            j, asks = int(self.feature[node]), node in self.asks_missing
            is_said = asks if j in is_missing else not (asks and j in compared)
            if is_said and node not in implied and not (j in is_special and self.kind_of(node) == "cut"):
                special = self.special_values_on(path, node)
                text = self.test_in_words(node, goes_right, feature_names, columns, special)
                texts.append((text, bool(special) or text.endswith(OR_MISSING)))
        return [f"({text})" if is_choice and len(texts) > 1 else text for text, is_choice in texts]

    def _implied_cuts(self, path: list[tuple[int, bool]]) -> set[int]:
        """Find the nodes on a path whose test follows from the test of another node.

        For example, ``x > 3`` implies ``x > 2``.
        """
        tightest: dict[tuple[int, bool], int] = {}
        implied = set()
        for node, goes_right in path:
            if self.kind_of(node) != "cut":
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
        """Convert to a fitted DecisionTreeClassifier; all inner nodes must test ``x > threshold``.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            Labels of the classes.
        n_features : int
            Number of columns of X.
        feature_names : ndarray of str, optional
        above : ndarray of shape (n_nodes,), optional
            For each node, the smallest training value above its threshold; NaN if unknown. The thresholds are then adjusted
            to the 32-bit floats of scikit-learn's trees.
        """
        if not self.has_cuts_only:
            raise InvalidInputError(
                "This tree cannot be converted: scikit-learn's trees only compare with thresholds, but this tree also tests "
                "categories, special values or missing values."
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
        nodes["missing_go_to_left"] = (self.feature >= 0) & ~np.isin(np.arange(n_nodes), list(self.missing_right))
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

    The cast can make a value that equals the threshold larger than the threshold. So the threshold is cast as well, which
    keeps this value on the left side. If the next larger training value is cast to the same 32-bit float, the two values
    cannot be told apart. Then the threshold is left unchanged.

    Parameters
    ----------
    threshold, above : ndarray of shape (n_nodes,)
        Thresholds, and the smallest training value above each of them; NaN if unknown.
    """
    with np.errstate(over="ignore"):
        narrow, following = threshold.astype(np.float32), above.astype(np.float32)
    kept: Floats = np.where((following > narrow) & np.isfinite(narrow), narrow, threshold)
    return kept


def _without_gaps(columns: Columns | None, feature: int) -> Columns | None:
    if columns is None:
        return None
    return Columns(tuple(replace(column, missing=column.missing and j != feature) for j, column in enumerate(columns)))
