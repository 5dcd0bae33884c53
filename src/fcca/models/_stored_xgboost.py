"""What XGBoost saves, checked before XGBoost gets to see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcca.exceptions import UnsupportedModelError
from fcca.models._sound import MOST_CATEGORIES, count, entry, floats, is_tree, texts, whole
from fcca.models._ubjson import read_ubjson
from fcca.models._xgboost import refuse_trees_for_all_classes

NO_PARENT = 2**31 - 1
MOST_FEATURES = 2**24
SCORES = ("split_conditions", "base_weights", "loss_changes", "sum_hessian")


def check_ubjson(content: bytes) -> None:
    """Refuse a damaged .ubj file, or what a pickled booster keeps, by a ValueError."""
    document = read_ubjson(content)
    if isinstance(document, dict) and "Model" in document:
        entry(document, "Config", dict)
        document = document["Model"]
    check_document(document)


def check_document(document: Any) -> None:
    """Refuse a damaged document by a ValueError."""
    learner = entry(document, "learner", dict)
    whole(document.get("version"), "version", 3, least=0)
    entry(entry(learner, "objective", dict), "name", str)
    parameters = entry(learner, "learner_model_param", dict)
    n_features = count(parameters, "num_feature", least=1, most=MOST_FEATURES)
    n_outputs = max(1, count(parameters, "num_class", most=MOST_CATEGORIES))
    for name in ("feature_names", "feature_types"):
        given = texts(learner.get(name, []), name)
        if len(given) not in (0, n_features):
            raise ValueError(f"it has {len(given)} {name!r} and {n_features} columns")
    booster = entry(learner, "gradient_booster", dict)
    name = entry(booster, "name", str)
    if name == "gblinear":
        raise UnsupportedModelError("XGBoost's booster='gblinear' has no trees. Use booster='gbtree' or 'dart'.")
    weights = booster.get("weight_drop")
    model = entry(entry(booster, "gbtree", dict) if name == "dart" else booster, "model", dict)
    n_trees = _check_trees(model, n_features, n_outputs)
    attributes = entry(learner, "attributes", dict) if "attributes" in learner else {}
    texts(list(attributes.values()), "attributes")
    if "best_iteration" in attributes:
        count(attributes, "best_iteration", most=max(0, n_trees - 1))
    if name == "dart":
        floats(weights, "weight_drop", n_trees)
    if "cats" in model:
        _check_labels(entry(model, "cats", dict), n_features)


def _check_trees(model: dict[str, Any], n_features: int, n_outputs: int) -> int:
    parameters = entry(model, "gbtree_model_param", dict)
    trees = entry(model, "trees", list)
    if count(parameters, "num_trees") != len(trees):
        raise ValueError(f"{len(trees)} of {parameters['num_trees']} trees are there")
    count(parameters, "num_parallel_tree", most=2**20) if "num_parallel_tree" in parameters else None
    whole(model.get("tree_info"), "tree_info", len(trees), least=0, most=n_outputs - 1)
    if "iteration_indptr" in model:
        ends = whole(model["iteration_indptr"], "iteration_indptr", least=0, most=len(trees))
        if len(ends) == 0 or ends[0] != 0 or ends[-1] != len(trees) or np.any(np.diff(ends) < 0):
            raise ValueError("its 'iteration_indptr' does not go up to its trees")
    for number, tree in enumerate(trees):
        try:
            _check_tree(tree, number, n_features)
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from error
    return len(trees)


def _check_tree(tree: Any, number: int, n_features: int) -> None:
    parameters = entry(tree, "tree_param", dict)
    n = count(parameters, "num_nodes", least=1)
    if count(tree, "id") != number:
        raise ValueError(f"it is called tree {tree['id']}")
    if count(parameters, "size_leaf_vector", most=2**20) > 1:
        refuse_trees_for_all_classes()
    if count(parameters, "num_feature") != n_features:
        raise ValueError(f"it has {parameters['num_feature']} columns and not {n_features}")
    left = whole(tree.get("left_children"), "left_children", n, least=-1, most=n - 1)
    right = whole(tree.get("right_children"), "right_children", n, least=-1, most=n - 1)
    inner = left >= 0
    if np.any(inner != (right >= 0)) or not is_tree(left, right, inner):
        raise ValueError("its nodes do not form a tree")
    parents = whole(tree.get("parents"), "parents", n, least=0)
    for children in (left, right):
        if np.any(parents[children[inner]] != np.flatnonzero(inner)):
            raise ValueError("a node is not the child of its parent")
    if parents[0] != NO_PARENT:
        raise ValueError("its first node has a parent")
    columns = whole(tree.get("split_indices"), "split_indices", n)
    if np.any((columns[inner] < 0) | (columns[inner] >= n_features)):
        raise ValueError("it splits by a column that is not there")
    for name in SCORES:
        _check_scores(tree.get(name), name, n)
    whole(tree.get("default_left"), "default_left", n, least=0, most=1)
    _check_categories(tree, n)


def _check_scores(given: Any, name: str, n: int) -> None:
    if isinstance(given, np.ndarray) and given.dtype.kind == "f" and given.shape == (n,) and name != "split_conditions":
        return  # how good a split was may be anything, and is not used
    floats(given, name, n)


def _check_categories(tree: dict[str, Any], n: int) -> None:
    by_category = whole(tree.get("split_type", [0] * n), "split_type", n, least=0, most=1)
    nodes = whole(tree.get("categories_nodes", []), "categories_nodes", least=0, most=n - 1)
    codes = whole(tree.get("categories", []), "categories", least=0, most=MOST_CATEGORIES)
    first = whole(tree.get("categories_segments", []), "categories_segments", len(nodes), least=0, most=len(codes))
    sizes = whole(tree.get("categories_sizes", []), "categories_sizes", len(nodes), least=1, most=len(codes))
    if np.any(first + sizes > len(codes)) or np.any(np.diff(nodes) <= 0):
        raise ValueError("its categories are not where they are said to be")
    if not np.array_equal(np.flatnonzero(by_category), nodes):
        raise ValueError("its nodes that split by category are others than those with categories")


def _check_labels(kept: dict[str, Any], n_features: int) -> None:
    """The labels of categories, which are kept since XGBoost 3.1."""
    columns = entry(kept, "enc", list)
    if len(columns) not in (0, n_features):
        raise ValueError(f"it has labels of {len(columns)} columns and {n_features} columns")
    sizes = []
    for column in columns:
        values = column.get("values") if isinstance(column, dict) else None
        if "type" in (column if isinstance(column, dict) else {}):
            count(column, "type", most=255)
            if not isinstance(values, list | np.ndarray) or np.asarray(values).ndim != 1:
                raise ValueError("it has labels that are no list")
            sizes.append(len(values))
            continue
        letters = whole(values, "values", least=-128, most=255)
        offsets = whole(column.get("offsets"), "offsets", least=0, most=len(letters))
        if np.any(np.diff(offsets) < 0) or (len(offsets) and (offsets[0] != 0 or offsets[-1] != len(letters))):
            raise ValueError("its labels are not where they are said to be")
        sizes.append(max(0, len(offsets) - 1))
    total = sum(sizes)
    ends = whole(kept.get("feature_segments", []), "feature_segments")
    if len(ends) and not np.array_equal(ends, np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])):
        raise ValueError("its labels are not where they are said to be")
    whole(kept.get("sorted_idx", []), "sorted_idx", total if len(ends) else 0, least=0, most=max(0, total - 1))
