"""Read the trees of this package: FCCAClassifier, OptimalTreeClassifier and DistilledTree."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import named_columns
from fcca.models._links import Share
from fcca.models._model import TreeEnsemble
from fcca.models._nodes import Nodes
from fcca.tables import Columns, special_by_column

Floats = NDArray[np.float64]

MOST_NODES = 100_000


def read_classifier(estimator: Any) -> TreeEnsemble:
    """Convert the tree of a fitted FCCAClassifier to a TreeEnsemble."""
    check_is_fitted(estimator)
    n, discretizer = estimator.n_features_in_, estimator.discretizer_
    columns = discretizer.thresholds_.columns or Columns.numbers(n, discretizer.thresholds_.feature_names)
    is_number = (~columns.is_category).tolist()
    special = special_by_column(getattr(discretizer, "special_values", None), columns.names, is_number)
    return _ensemble(estimator.structure_, estimator.classes_, n, _taking_missing(columns), special)


def read_optimal(estimator: Any) -> TreeEnsemble:
    """Convert a fitted OptimalTreeClassifier to a TreeEnsemble."""
    check_is_fitted(estimator)
    n, missing = estimator.n_features_in_, estimator.missing_columns_
    columns = named_columns(estimator, n, missing=len(missing) > 0)
    if columns is not None:
        columns = Columns(tuple(replace(column, missing=j in missing) for j, column in enumerate(columns)))
    return _ensemble(estimator.tree_, estimator.classes_, n, columns, {})


def read_distilled(tree: Any) -> TreeEnsemble:
    """Convert a DistilledTree to a TreeEnsemble."""
    nodes, table = tree.structure, tree.thresholds
    tested = [(int(nodes.feature[node]), float(nodes.threshold[node])) for node in nodes.asks_special]
    if table is not None:
        is_special = table.kind == "special"
        tested += zip(table.feature[is_special].tolist(), table.threshold[is_special].tolist(), strict=True)
    special = {j: np.unique([value for i, value in tested if i == j]) for j in sorted({j for j, _ in tested})}
    return _ensemble(nodes, tree.classes_, len(tree.columns), _taking_missing(tree.columns), special)


def _taking_missing(columns: Columns) -> Columns:
    """Describe columns in which all values may be missing, because no condition ``x > t`` holds for a missing value."""
    return Columns(tuple(replace(column, missing=True) for column in columns))


def _ensemble(
    structure: Any, classes: NDArray[Any], n_features: int, columns: Columns | None, special: dict[int, Floats]
) -> TreeEnsemble:
    """Convert a TreeStructure to an ensemble of one tree, whose scores are the class probabilities."""
    return TreeEnsemble(
        classes=np.asarray(classes),
        n_features=n_features,
        columns=columns,
        link=Share(),
        base=np.zeros(len(classes)),
        special=special,
        like_unknown=_like_unknown(structure, columns),
        **_nodes(structure, columns).arguments(),
    )


def _like_unknown(structure: Any, columns: Columns | None) -> dict[int, Floats]:
    """Find the codes that the tree treats like an unknown category, which is in no set.

    Returns the codes of each column of categories. NaN, a missing value, is among them if no node treats missing values of
    the column in a special way.
    """
    if columns is None:
        return {}
    found = {}
    for j in np.flatnonzero(columns.is_category).tolist():
        nodes = np.flatnonzero(structure.feature == j).tolist()
        in_sets = [structure.categories[node] for node in nodes if node in structure.categories]
        in_no_set = np.setdiff1d(np.arange(len(columns[j].categories or ())), np.concatenate([[], *in_sets]))
        tests_missing = not structure.asks_missing.isdisjoint(nodes) or not structure.missing_right.isdisjoint(nodes)
        found[j] = in_no_set.astype(np.float64) if tests_missing else np.append(in_no_set, np.nan)
    return found


def _nodes(structure: Any, columns: Columns | None) -> Nodes:
    """Convert the nodes of a TreeStructure to nodes that only compare numbers and look up categories.

    The test ``x is v`` of a special value becomes the two comparisons ``x <= v`` and ``x < v``. All other values reach one
    of two copies of the left branch.
    """
    feature: list[int] = []
    threshold: list[float] = []
    left: list[int] = []
    right: list[int] = []
    missing_left: list[bool] = []
    source: list[int] = []
    categories: dict[int, NDArray[np.int64]] = {}

    def added(node: int, tested: int, cut: float, *, missing_goes_left: bool = True) -> int:
        for entries, entry in ((feature, tested), (left, -1), (right, -1), (source, node)):
            entries.append(entry)
        threshold.append(cut)
        missing_left.append(missing_goes_left)
        if len(feature) > MOST_NODES:
            raise UnsupportedModelError(
                f"The tree tests too many special values. As comparisons, it has more than {MOST_NODES:,} nodes."
            )
        return len(feature) - 1

    pending: deque[tuple[int, list[int], int]] = deque([(0, [], 0)])  # a node, and the entry that points to it
    while pending:
        node, pointers, at = pending.popleft()
        j = int(structure.feature[node])
        value, no, yes = float(structure.threshold[node]), int(structure.left[node]), int(structure.right[node])
        new = len(feature)
        if pointers:
            pointers[at] = new
        if j < 0:
            added(node, -1, 0.0, missing_goes_left=False)
        elif node in structure.asks_special:
            added(node, j, value)
            below = added(node, j, float(np.nextafter(value, -np.inf)))
            left[new] = below
            pending.extend([(no, right, new), (no, left, below), (yes, right, below)])
        else:
            asks_missing, known = node in structure.asks_missing, None if columns is None else columns[j].categories
            goes_left = not asks_missing and node not in structure.missing_right
            added(node, j, np.inf if asks_missing else value, missing_goes_left=goes_left)
            if known is not None:
                goes_right = () if asks_missing else structure.categories[node]
                categories[new] = np.setdiff1d(np.arange(len(known)), goes_right).astype(np.int64)
                threshold[new] = np.nan
            pending.extend([(no, left, new), (yes, right, new)])
    cuts, is_leaf = np.array(threshold), np.array(feature) < 0
    probability: Floats = structure.probability[source]
    return Nodes(
        roots=np.zeros(1, dtype=np.int64),
        feature=np.array(feature, dtype=np.int32),
        threshold=cuts,
        native_threshold=cuts.copy(),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        value=np.where(is_leaf[:, None], probability, 0.0),
        missing_left=np.array(missing_left),
        categories=categories,
    )
