"""scikit-learn's trees from a file: it follows their node numbers unchecked, so a damaged one would crash the process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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


# --- before they are built ----------------------------------------------------------------------------------------------


def check_tree_states(schema: Any, array: Callable[[str], NDArray[Any]]) -> None:
    """Refuse what skops would build a tree of and scikit-learn does not survive, by a ValueError.

    Parameters
    ----------
    schema : object
        The document in a skops file.
    array : callable
        The array in a member of the file.
    """
    states = [state for state in states_in(schema) if state.get("__loader__") == "TreeNode"]
    if not states:
        return
    by_number = states_by_number(schema)

    def part(state: Any, loader: str) -> Any:
        """What a state says; of states that claim to be the same, skops would take the first."""
        if not isinstance(state, dict) or state.get("__loader__") != loader:
            raise ValueError("it holds a tree that is none of scikit-learn's")
        if any(other != state for other in by_number[state.get("__id__")]):
            raise ValueError("it holds two different things under one number")
        return array(str(state.get("file"))) if loader == "NdArrayNode" else state.get("content")

    for state in states:
        reduced, attributes = state.get("__reduce__"), part(state.get("content"), "DictNode")
        given = part(reduced.get("args") if isinstance(reduced, dict) else None, "TupleNode")
        if not isinstance(given, list) or len(given) != 3 or not isinstance(attributes, dict):
            raise ValueError("it holds a tree that is none of scikit-learn's")
        n_features, n_outputs = (json.loads(part(one, "JsonNode")) for one in (given[0], given[2]))
        n_nodes = json.loads(part(attributes.get("node_count"), "JsonNode"))
        n_classes = part(given[1], "NdArrayNode")
        nodes, values = (part(attributes.get(name), "NdArrayNode") for name in ("nodes", "values"))
        if not (
            all(type(n) is int and 0 < n < 2**31 for n in (n_features, n_outputs, n_nodes))
            and n_classes.dtype == np.intp
            and n_classes.shape == (n_outputs,)
            and n_classes.min() > 0
            and nodes.shape == (n_nodes,)
            and nodes.dtype.names is not None
            and values.dtype == np.float64
            and values.shape == (n_nodes, n_outputs, n_classes.max())
        ):
            raise ValueError("it holds a tree whose parts do not fit each other")


def states_by_number(schema: Any) -> dict[Any, list[dict[str, Any]]]:
    """All objects in a document under the numbers that skops knows them by, None where there is none."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for state in states_in(schema):
        found.setdefault(state.get("__id__"), []).append(state)
    return found


def states_in(schema: Any) -> Iterator[dict[str, Any]]:
    """All objects in a document."""
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending += value.values()
        elif isinstance(value, list):
            pending += value
