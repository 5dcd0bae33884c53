"""Read CatBoost's classifiers, from the JSON that the library writes."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import OTHER, HashedColumn
from fcca.models._links import Link, Softmax
from fcca.models._model import TreeBlock, TreeEnsemble
from fcca.models._native import Floats, NativeClassifier
from fcca.models._nodes import first_nodes, shifted
from fcca.models._precision import largest_float64_below_float32_cut, last_score_of_first_class
from fcca.models.readers._library_links import OneAgainstRest, PlainLogistic
from fcca.tables import Column, Columns

LOSSES = ("Logloss", "MultiClass", "MultiClassOneVsAll")
OTHER_FEATURES = {"text_features": "text", "embedding_features": "embedding"}

# A split by number or by category: the position of the feature among features of its kind, and the border or the hash.
Split = tuple[bool, int, float]


class _Tree(NamedTuple):
    """The nodes of one tree.

    Children are positions within the tree. A leaf has the children -1.
    """

    split: NDArray[np.int64]  # position of the node's split in the list of all splits
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Floats


def check(estimator: Any) -> None:
    """Check before fitting that the loss function and the features are supported."""
    parameters = estimator.get_params()
    loss = parameters.get("loss_function") or parameters.get("objective")
    if loss is not None:
        _check_loss(loss if isinstance(loss, str) else type(loss).__name__)
    for key, kind in OTHER_FEATURES.items():
        if parameters.get(key) is not None and len(parameters[key]) > 0:
            _refuse_features(kind)


def _check_loss(loss: str) -> None:
    if loss.partition(":")[0] not in LOSSES:
        raise UnsupportedModelError(f"CatBoost's loss_function {loss!r} is not supported. Supported: {', '.join(LOSSES)}.")


def _refuse_features(kind: str) -> None:
    raise UnsupportedModelError(f"The CatBoost model has {kind} features, which are not supported. Encode them as numbers.")


def _refuse_statistics() -> None:
    raise UnsupportedModelError(
        "The CatBoost model splits by statistics of y over categories (CTRs), which are not supported. Fit it with "
        "one_hot_max_size=255, so that it splits columns of up to 255 categories by category. Encode columns with more "
        "categories as numbers."
    )


def read(estimator: Any) -> TreeEnsemble:
    """Convert a fitted CatBoostClassifier to a TreeEnsemble."""
    loss = _loss(estimator)
    _check_loss(loss)
    saved = _saved(estimator)
    features = saved["features_info"]
    for key, kind in OTHER_FEATURES.items():
        if features.get(key):
            _refuse_features(kind)

    splits: dict[Split, int] = {}
    trees = [_oblivious(tree, splits) for tree in saved.get("oblivious_trees", [])]
    trees += [_by_branches(tree, splits) for tree in saved.get("trees", [])]
    if not trees:
        raise UnsupportedModelError("The CatBoost model has no trees. Fit it with at least one iteration.")
    sizes = np.array([len(tree.left) for tree in trees], dtype=np.int64)
    roots = first_nodes(sizes)
    left = shifted(np.concatenate([tree.left for tree in trees]), roots, sizes)
    right = shifted(np.concatenate([tree.right for tree in trees]), roots, sizes)
    leaf = left < 0

    known = [
        {feature["feature_index"]: feature for feature in features.get(kind, [])}
        for kind in ("float_features", "categorical_features")
    ]
    of_split = [known[by_category][index] for by_category, index, _ in splits]
    column = np.array([feature["flat_feature_index"] for feature in of_split] + [-1], dtype=np.int32)
    # Without an entry, the column holds categories, which are never missing.
    right_if_missing = np.array([feature.get("nan_value_treatment") == "AsTrue" for feature in of_split] + [True])
    border = np.array([np.nan if kind else value for kind, _, value in splits] + [0.0], dtype=np.float32).astype(np.float64)
    split = np.where(leaf, len(splits), np.concatenate([tree.split for tree in trees]))
    columns = _columns(estimator, known[1], splits)
    sets = {number: _left(columns[column[number]], hash_) for (kind, _, hash_), number in splits.items() if kind}

    value = np.concatenate([tree.value for tree in trees])
    scale, bias = saved["scale_and_bias"]
    base = np.zeros(value.shape[1]) + np.array(bias, dtype=np.float64)
    return TreeEnsemble(
        classes=np.asarray(estimator.classes_),
        n_features=len(estimator.feature_names_),  # a loaded model has no n_features_in_
        columns=columns,
        link=_link(loss),
        boundary=_boundary(estimator, saved) if value.shape[1] == 1 else 0.0,
        base=base,
        roots=roots,
        feature=column[split],
        threshold=np.where(leaf, 0.0, largest_float64_below_float32_cut(border)[split]),
        native_threshold=border[split],
        left=left,
        right=right,
        value=value,
        missing_left=~right_if_missing[split],
        categories={node: sets[split[node]] for node in np.flatnonzero(np.isin(split, list(sets))).tolist()},
        # CatBoost sums the trees first, then scales and shifts.
        parts=(TreeBlock(len(trees), 1.0, float(scale)),) if scale != 1 or base.any() else (),
    )


def read_native(classifier: Any) -> TreeEnsemble:
    """Convert the ``catboost.CatBoost`` inside a :class:`CatBoostModel` to a TreeEnsemble."""
    return read(classifier.booster)


def _saved(estimator: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(str(path), format="json")
        saved: dict[str, Any] = json.loads(path.read_bytes())
    return saved


def _loss(estimator: Any) -> str:
    """Return the name of the loss function used in training."""
    metadata = estimator.get_metadata()
    parameters = json.loads((metadata["params"] if "params" in metadata.keys() else "") or "null")  # noqa: SIM118 - no dict
    return str(((parameters or {}).get("loss_function") or {}).get("type", "unknown"))


def _link(loss: str) -> Link:
    if loss == "Logloss":
        return PlainLogistic()
    return Softmax() if loss == "MultiClass" else OneAgainstRest()


def _boundary(estimator: Any, saved: dict[str, Any]) -> float:
    """Find the largest score for which the first class is predicted.

    This is 0, unless the model stores a probability threshold. Then it is found by bisection, with CatBoost's
    predictions for trial scores.
    """
    if "binclass_probability_threshold" not in saved["model_info"]:
        return 0.0
    only_bias = estimator.copy()
    row = np.zeros((1, len(estimator.feature_names_)), dtype=object)
    row[0, estimator.get_cat_feature_indices()] = "any"

    def first_class(scores: Floats) -> NDArray[np.bool_]:
        only_bias.set_scale_and_bias(0.0, [float(scores[0])])
        return np.array([only_bias.predict(row, prediction_type="Class")[0] == estimator.classes_[0]])

    return last_score_of_first_class(first_class)


def _split_number(split: dict[str, Any], splits: dict[Split, int]) -> int:
    """Return the position of ``split`` in ``splits``, the splits of all trees.

    A split that is not yet in ``splits`` is added at the end.
    """
    if split["split_type"] == "FloatFeature":
        return splits.setdefault((False, split["float_feature_index"], split["border"]), len(splits))
    if split["split_type"] == "OnlineCtr":
        _refuse_statistics()
    if split["split_type"] != "OneHotFeature":
        _refuse_features("other")
    return splits.setdefault((True, split["cat_feature_index"], split["value"]), len(splits))


def _feature_names(estimator: Any) -> list[str] | None:
    names: list[str] = estimator.feature_names_
    return None if names == [str(j) for j in range(len(names))] else names


def _columns(estimator: Any, by_category: dict[int, dict[str, Any]], splits: dict[Split, int]) -> Columns:
    """Build the descriptions of the columns.

    CatBoost keeps only hashes of the category labels, and does not support missing categories.
    """
    names: list[Any] = _feature_names(estimator) or [None] * len(estimator.feature_names_)
    hashes: dict[int, list[Any]] = {j: [] for j in estimator.get_cat_feature_indices()}
    for kind, index, value in splits:
        if kind:
            hashes[by_category[index]["flat_feature_index"]].append(value)
    return Columns(
        tuple(
            HashedColumn(name, (*hashes[j], OTHER), as_category=False) if j in hashes else Column(name, missing=True)
            for j, name in enumerate(names)
        )
    )


def _left(column: Column, value: float) -> NDArray[np.int64]:
    """Return the category codes that go to the left child.

    These are all codes except the code of the category with the hash ``value``.
    """
    labels = column.categories or ()
    return np.array([code for code, label in enumerate(labels) if label != value], dtype=np.int64)


def _oblivious(tree: dict[str, Any], splits: dict[Split, int]) -> _Tree:
    """Read an oblivious tree, with one split per depth.

    All nodes at the same depth have the same split. The results of the splits, 0 or 1, are the bits of the leaf's position.
    The first split in the file gives the lowest bit.
    """
    numbers = [_split_number(split, splits) for split in reversed(tree.get("splits") or [])]  # the highest bit at the root
    level, left, right = _complete(len(numbers))
    leaves = np.array(tree["leaf_values"], dtype=np.float64).reshape(2 ** len(numbers), -1)
    value = np.concatenate([np.zeros((len(leaves) - 1, leaves.shape[1])), leaves])
    return _Tree(np.array([*numbers, -1], dtype=np.int64)[level], left, right, value)


@cache
def _complete(depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Build a complete binary tree of the given depth.

    Return the depth, the left child and the right child of each node. The nodes are sorted by depth.
    """
    level = np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1))
    node = np.arange(len(level))
    return level, np.where(level < depth, 2 * node + 1, -1), np.where(level < depth, 2 * node + 2, -1)


def _by_branches(tree: dict[str, Any], splits: dict[Split, int]) -> _Tree:
    """Read an asymmetric tree.

    Nodes at the same depth may have different splits.
    """
    nodes = [tree]
    left: list[int] = []
    right: list[int] = []
    for node in nodes:  # the list grows during the loop
        inner = "split" in node
        left.append(len(nodes) if inner else -1)
        right.append(len(nodes) + 1 if inner else -1)
        if inner:
            nodes += [node["left"], node["right"]]
    n_outputs = next(np.size(node["value"]) for node in nodes if "split" not in node)
    value = [np.zeros(n_outputs) if "split" in node else np.atleast_1d(node["value"]) for node in nodes]
    split = [_split_number(node["split"], splits) if "split" in node else -1 for node in nodes]
    return _Tree(np.array(split), np.array(left), np.array(right), np.array(value, dtype=np.float64))


class CatBoostModel(NativeClassifier):
    """A ``catboost.CatBoost`` as a scikit-learn classifier.

    It predicts class labels as in the training data.
    """

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the booster was trained on."""
        return len(self.booster.feature_names_)

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The class labels."""
        return np.asarray(self.booster.classes_)

    def _feature_names(self) -> list[str] | None:
        return _feature_names(self.booster)

    def check(self) -> None:
        _check_loss(_loss(self.booster))

    def _outputs(self, X: Any, kind: str) -> NDArray[Any]:
        by_category = bool(self.booster.get_cat_feature_indices())
        return np.asarray(self.booster.predict(self._columns(X, by_category=by_category), prediction_type=kind))

    def predict(self, X: Any) -> NDArray[np.generic]:
        """Predict class labels."""
        return self._outputs(X, "Class").ravel()

    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the probabilities of all classes."""
        return self._outputs(X, "Probability")
