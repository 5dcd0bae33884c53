"""scikit-learn's trees from a file: it follows their node numbers unchecked, so a damaged one would crash the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError


def check_stored_trees(model: Any, path: Path) -> None:
    """Refuse a model with a tree whose nodes point outside of it or backwards."""
    for tree, n_features in _trees(model):
        if type(tree).__name__ == "TreePredictor":
            nodes = tree.nodes
            inner = ~nodes["is_leaf"].astype(bool)
            sound = _is_sound(nodes["left"], nodes["right"], nodes["feature_idx"], inner, n_features)
            by_category = nodes["bitset_idx"][inner & nodes["is_categorical"].astype(bool)]
            sound &= bool(np.all(by_category < len(tree.raw_left_cat_bitsets)))
        else:
            left, right = tree.children_left, tree.children_right
            sound = len(tree.value) == len(left) and _is_sound(left, right, tree.feature, left != -1, tree.n_features)
            sound &= tree.n_features == n_features
        if not sound:
            raise InvalidInputError(
                f"{path} holds a tree with a node that points to none of its nodes or columns. It is damaged; save it again."
            )


def _is_sound(
    left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], inner: NDArray[np.bool_], n_features: int
) -> bool:
    """Children after their parents, within the tree, so that every walk ends; columns within the rows."""
    node, n_nodes = np.flatnonzero(inner), len(left)
    children = [side[inner].astype(np.int64) for side in (left, right)]
    columns = feature[inner].astype(np.int64)
    return (
        n_nodes > 0
        and all(bool(np.all((child > node) & (child < n_nodes))) for child in children)
        and bool(np.all((columns >= 0) & (columns < n_features)))
    )


def _trees(model: Any) -> Iterator[tuple[Any, int]]:
    """All trees anywhere inside a model, each with the number of columns of the estimator around it."""
    seen: set[int] = set()
    pending: list[tuple[Any, int]] = [(model, 0)]
    while pending:
        item, n_features = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if type(item).__module__.startswith("sklearn.") and type(item).__name__ in ("Tree", "TreePredictor"):
            yield item, n_features
        elif isinstance(item, dict):
            pending += [(value, n_features) for value in item.values()]
        elif isinstance(item, (list, tuple)) or (isinstance(item, np.ndarray) and item.dtype == object):
            pending += [(value, n_features) for value in (item.ravel() if isinstance(item, np.ndarray) else item)]
        elif hasattr(item, "__dict__"):
            own = vars(item)
            pending += [(value, int(own.get("n_features_in_", n_features))) for value in own.values()]
