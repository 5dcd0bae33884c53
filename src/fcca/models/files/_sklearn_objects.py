"""Check scikit-learn objects from a file, before compiled code uses their arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError

WORDS_PER_BITSET = 8


def check_sklearn_objects(model: Any, path: Path) -> None:
    """Check all trees and ensembles of scikit-learn inside a loaded object.

    Parameters
    ----------
    model : object
        The loaded object, such as a classifier or a Pipeline.
    path : Path
        File of the object, for messages.

    Raises
    ------
    InvalidInputError
        If an object is damaged.
    """
    found = [
        (item, type(item).__name__, n_features)
        for item, n_features in _with_columns(model)
        if type(item).__module__.startswith("sklearn.")
    ]
    for item, name, n_features in found:  # before the ensembles, whose checks use the trees
        if name in TREES and not TREES[name](item, n_features):
            raise InvalidInputError(
                f"{path} is damaged: it holds a tree whose nodes refer to a missing node or column. Save the model again."
            )
    for item, name, _ in found:
        if name in ENSEMBLES and hasattr(item, ENSEMBLES[name][0]) and not ENSEMBLES[name][1](item):
            raise InvalidInputError(f"{path} is damaged: the parts of its {name} do not fit together. Save the model again.")


def objects_in(model: Any) -> Iterator[Any]:
    """Iterate over ``model`` and all objects inside it, at any depth."""
    return (item for item, _ in _with_columns(model))


def _with_columns(model: Any) -> Iterator[tuple[Any, int]]:
    """Iterate over ``model`` and all objects inside it, each with a column count.

    The column count of an object is the ``n_features_in_`` of the nearest estimator around it, or 0.
    """
    seen: set[int] = set()
    pending: list[tuple[Any, int]] = [(model, 0)]
    while pending:
        item, n_features = pending.pop()
        if id(item) in seen or isinstance(item, type):
            continue
        seen.add(id(item))
        inside: Any = ()
        if isinstance(item, dict):
            inside = item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            if hasattr(item, "_fields"):
                yield item, n_features
            inside = item
        elif isinstance(item, np.ndarray):
            inside = item.ravel().tolist() if item.dtype == object else ()
        elif hasattr(item, "__dict__"):
            yield item, n_features
            n_features = int(vars(item).get("n_features_in_", n_features))
            inside = vars(item).values()
        elif type(item).__name__ == "Tree":  # a compiled class without a __dict__
            yield item, n_features
        pending += [(value, n_features) for value in inside]


# --- trees --------------------------------------------------------------------------------------------------------------


def _is_tree(tree: Any, n_features: int) -> bool:
    if tree.node_count > tree.capacity:  # the arrays are too short
        return False
    left, right = tree.children_left, tree.children_right
    sound = len(tree.value) == len(left) and _has_valid_nodes(left, right, tree.feature, left != -1, tree.n_features)
    return sound and bool(tree.n_features == n_features)


def _is_histogram_tree(tree: Any, n_features: int) -> bool:
    nodes = tree.nodes
    inner = ~nodes["is_leaf"].astype(bool)
    by_category = nodes["bitset_idx"][inner & nodes["is_categorical"].astype(bool)]
    sound = _has_valid_nodes(nodes["left"], nodes["right"], nodes["feature_idx"], inner, n_features)
    return sound and bool(np.all(by_category < len(tree.raw_left_cat_bitsets)))


def _has_valid_nodes(
    left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], inner: NDArray[np.bool_], n_features: int
) -> bool:
    """Return True if the children and the columns of all nodes exist.

    Each child must also come after its parent. ``inner`` marks the nodes that are not leaves.
    """
    node, n_nodes = np.flatnonzero(inner), len(left)
    children = [side[inner].astype(np.int64) for side in (left, right)]
    columns = feature[inner].astype(np.int64)
    return (
        n_nodes > 0
        and all(bool(np.all((child > node) & (child < n_nodes))) for child in children)
        and bool(np.all((columns >= 0) & (columns < n_features)))
    )


# --- ensembles ----------------------------------------------------------------------------------------------------------


def _is_forest(part: Any) -> bool:
    return all(one.tree_.n_features == part.n_features_in_ for one in part.estimators_)


def _is_boosting(part: Any) -> bool:
    """Return True if a GradientBoostingClassifier has consistent trees and initial scores.

    Each iteration must have one tree per score.
    """
    n_outputs = 1 if len(part.classes_) == 2 else len(part.classes_)
    stages = part.estimators_
    if not (isinstance(stages, np.ndarray) and stages.ndim == 2 and stages.shape[1] == n_outputs and len(stages)):
        return False
    if not all(one.tree_.n_features == part.n_features_in_ and one.tree_.value.shape[1:] == (1, 1) for one in stages.flat):
        return False
    if isinstance(part.init_, str):
        return part.init_ == "zero" and part.n_trees_per_iteration_ == n_outputs
    if type(part.init_).__name__ != "DummyClassifier":
        return True  # unsupported, so it never predicts
    start = part._raw_predict_init(np.zeros((1, part.n_features_in_), dtype=np.float32))
    return bool(start.shape == (1, n_outputs) and start.dtype == np.float64)


def _is_histogram_boosting(part: Any) -> bool:
    """Return True if the trees and categories of a HistGradientBoostingClassifier fit together."""
    n_features, n_outputs = part.n_features_in_, 1 if len(part.classes_) == 2 else len(part.classes_)
    trees = [tree for stage in part._predictors for tree in stage]
    if any(len(stage) != n_outputs for stage in part._predictors) or part.n_trees_per_iteration_ != n_outputs:
        return False
    if any(tree.raw_left_cat_bitsets.shape[1:] != (WORDS_PER_BITSET,) for tree in trees):
        return False
    bins = part._bin_mapper
    known = bins.is_categorical_
    if not (isinstance(known, np.ndarray) and known.shape == (n_features,) and len(bins.bin_thresholds_) == n_features):
        return False
    used = {int(j) for tree in trees for j in tree.nodes["feature_idx"][tree.nodes["is_categorical"].astype(bool)]}
    return all(bool(known[j]) for j in used)


def _is_support_vector_machine(part: Any) -> bool:
    """Return True if the arrays of an SVC have consistent sizes.

    libsvm does not check these sizes.
    """
    vectors, n_classes = part.support_vectors_, len(part.classes_)
    if not isinstance(vectors, np.ndarray):  # sparse vectors are not supported
        return False
    n_pairs = n_classes * (n_classes - 1) // 2
    counts = np.asarray(part._n_support)
    return bool(
        vectors.ndim == 2
        and vectors.shape[1] in (0, part.n_features_in_)
        and part.support_.shape == (len(vectors),)
        and counts.shape == (n_classes,)
        and counts.min() >= 0
        and counts.sum() == len(vectors)
        and part._dual_coef_.shape == (n_classes - 1, len(vectors))
        and part._intercept_.shape == (n_pairs,)
        and all(len(one) in (0, n_pairs) for one in (part._probA, part._probB))
    )


TREES: dict[str, Callable[[Any, int], bool]] = {"Tree": _is_tree, "TreePredictor": _is_histogram_tree}
# Class names, each with an attribute of fitted estimators and a check.
ENSEMBLES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "ExtraTreesClassifier": ("estimators_", _is_forest),
    "GradientBoostingClassifier": ("estimators_", _is_boosting),
    "HistGradientBoostingClassifier": ("_predictors", _is_histogram_boosting),
    "NuSVC": ("support_vectors_", _is_support_vector_machine),
    "RandomForestClassifier": ("estimators_", _is_forest),
    "SVC": ("support_vectors_", _is_support_vector_machine),
}
