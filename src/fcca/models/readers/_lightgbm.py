"""Read LightGBM's classifiers and boosters, from the text that the library writes.

The library treelite can also read this text, but it drops some information on missing values.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import OTHER, CodedColumn
from fcca.models._links import Link
from fcca.models._model import TreeEnsemble
from fcca.models._native import Floats, NativeClassifier
from fcca.models._nodes import first_nodes, shifted
from fcca.models._precision import last_score_of_first_class
from fcca.models.readers._library_links import PlainLogistic, RoundedOneAgainstRest, RoundedSoftmax
from fcca.tables import Column, Columns

OBJECTIVES = ("binary", "multiclass", "multiclassova")

# LightGBM treats values this close to zero as zero (kZeroThreshold in its source).
ZERO = float(np.float32(1e-35))
BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))

# Bits of a node's decision_type.
CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
MISSING_IS_ZERO, MISSING_IS_NAN = 1, 2
LARGEST_DECISION = 15


class _SavedLightGBM(NamedTuple):
    """The parsed text of a saved booster.

    It contains the trees up to the best iteration.

    Attributes
    ----------
    objective : str
        Name of the objective.
    steepness : float
        Factor of the score in the logistic function, LightGBM's parameter ``sigmoid``.
    n_outputs, n_features : int
        Number of scores per row, and number of columns.
    averaged : bool
        Whether the trees are averaged, as in a random forest, instead of summed.
    trees : list of dict
        The entries of each tree, as strings.
    feature_names, feature_infos : list of str
        For each column, its name, and its range or categories as LightGBM writes them.
    by_category : set of int
        Positions of the columns of categories.
    """

    objective: str
    steepness: float
    n_outputs: int
    n_features: int
    averaged: bool
    trees: list[dict[str, str]]
    feature_names: list[str]
    feature_infos: list[str]
    by_category: set[int]

    @classmethod
    def of(cls, booster: Any, n_iterations: int | None = None) -> _SavedLightGBM:
        text = booster.model_to_string(num_iteration=n_iterations)
        head, *trees = text.split("\nTree=")
        header = dict(line.split("=", 1) for line in head.splitlines() if "=" in line)
        objective, *parameters = header.get("objective", "").split() or ["custom"]
        steepness = next((float(word.partition(":")[2]) for word in parameters if word.startswith("sigmoid:")), 1.0)
        fields = [dict(line.split("=", 1) for line in tree.splitlines() if "=" in line) for tree in _without_tail(trees)]
        infos = header.get("feature_infos", "").split()
        chosen = re.search(r"^\[categorical_feature: ([\d,]+)\]$", text, re.MULTILINE)
        return cls(
            objective,
            steepness,
            int(header["num_tree_per_iteration"]),
            int(header["max_feature_idx"]) + 1,
            "average_output" in head.splitlines(),
            fields,
            header["feature_names"].split(),
            infos,
            # A column without splits has no list of categories.
            {j for j, info in enumerate(infos) if not info.startswith("[") and info != "none"}
            | ({int(j) for j in chosen[1].split(",")} if chosen else set()),
        )

    def numbers(self, key: str, dtype: Any) -> NDArray[Any]:
        """Return the numbers in the entry ``key`` of all trees."""
        return np.array(" ".join(tree[key] for tree in self.trees if key in tree).split(), dtype=dtype)


def _without_tail(trees: list[str]) -> list[str]:
    """Remove the training parameters, which follow the text of the last tree."""
    return [tree.split("\nend of trees", 1)[0] for tree in trees]


def check(estimator: Any) -> None:
    """Check before fitting that the parameters of an LGBMClassifier are supported."""
    parameters = estimator.get_params()
    objective = parameters.get("objective")
    if callable(objective):
        raise UnsupportedModelError(
            "LGBMClassifier with a custom objective predicts scores instead of labels. "
            f"Supported objectives: {', '.join(OBJECTIVES)}."
        )
    _check_predict(parameters)
    if parameters.get("linear_tree"):
        _refuse_linear_trees()
    if parameters.get("zero_as_missing") and not estimator.__sklearn_is_fitted__():  # if fitted, the cuts are checked
        _refuse_zero_as_missing()


def _check_predict(parameters: dict[str, Any]) -> None:
    if parameters.get("pred_early_stop"):
        raise UnsupportedModelError(
            "LGBMClassifier(pred_early_stop=True) predicts with some trees only. Remove pred_early_stop."
        )


def _refuse_linear_trees() -> None:
    raise UnsupportedModelError(
        "LightGBM's linear_tree=True puts linear models into the leaves, which are not supported. Use linear_tree=False."
    )


def _refuse_zero_as_missing() -> None:
    raise UnsupportedModelError(
        "LightGBM's zero_as_missing=True separates zeros from the numbers around them, which is not supported. Use "
        "zero_as_missing=False."
    )


def read(estimator: Any) -> TreeEnsemble:
    """Convert a fitted LGBMClassifier to a TreeEnsemble."""
    _check_predict(estimator.get_params())
    return _read(estimator.booster_, estimator.classes_)


def read_native(classifier: Any) -> TreeEnsemble:
    """Convert the booster inside a :class:`LightGBMBooster` to a TreeEnsemble."""
    return _read(classifier.booster, classifier.classes_)


@cache
def _boundary(steepness: float) -> float:
    """Find the largest score for which the first class is predicted."""
    link = PlainLogistic(steepness)

    def first_class(scores: Floats) -> NDArray[np.bool_]:
        first, second = link.both_classes(scores).T
        return np.asarray(second <= first)

    return last_score_of_first_class(first_class)


def _largest_sent_left(native: Floats) -> Floats:
    """Find the largest float64 that each node sends to its left child.

    LightGBM tests ``x <= native``, after it has set all x near zero to zero.
    """
    return np.where(native >= ZERO, native, np.where(native >= 0, ZERO, np.minimum(native, BELOW_ZERO)))


def _missing_left(native: Floats, decision: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each node sends missing values to its left child.

    If the column had missing values in training, they go to the default child of the node. Otherwise, a missing value is
    treated like 0. In a node that splits by category, a missing value goes to the right.
    """
    by_default = decision >> MISSING_SHIFT == MISSING_IS_NAN
    missing_left = np.where(by_default, (decision & DEFAULT_LEFT) > 0, native >= 0)
    return np.where(decision & CATEGORICAL, False, missing_left)


def _check_zeros(native: Floats, decision: NDArray[np.int64]) -> None:
    """Check the nodes that treat zero as a missing value.

    These nodes must send zero to the same child as the numbers around zero. Otherwise, a single cut cannot describe the
    node.
    """
    zero_is_missing = (decision >> MISSING_SHIFT == MISSING_IS_ZERO) & (decision & CATEGORICAL == 0)
    if np.any(zero_is_missing & (((decision & DEFAULT_LEFT) > 0) != (native >= 0))):
        _refuse_zero_as_missing()


def _sets(saved: _SavedLightGBM, decision: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the category codes that go to the left child.

    The result has an entry for each node that splits by category.
    """
    sets = []
    end = 0
    for tree in saved.trees:
        begin, end = end, end + int(tree["num_leaves"]) - 1
        if int(tree.get("num_cat", 0)) == 0:
            continue
        bounds = np.array(tree["cat_boundaries"].split(), dtype=np.int64)
        words = np.array(tree["cat_threshold"].split(), dtype=np.uint32)
        # The threshold of such a node is the position of its bit set.
        number = np.array(tree["threshold"].split(), dtype=np.float64)[(decision[begin:end] & CATEGORICAL) > 0]
        if number.min(initial=0) < 0 or bounds.min() < 0 or bounds.max() > len(words):  # a damaged file
            raise ValueError("a node splits by a set of categories that does not exist")
        for i in number.astype(np.int64):
            bits = np.unpackbits(words[bounds[i] : bounds[i + 1]].astype("<u4").view(np.uint8), bitorder="little")
            sets.append(np.flatnonzero(bits).astype(np.int64))
    return sets


def _columns(saved: _SavedLightGBM, labels: list[list[Any]] | None) -> Columns:
    """Build the descriptions of the columns.

    ``labels`` has the labels of each column that had pandas' category dtype in training, in the order of the columns.
    """
    by_category = sorted(saved.by_category)
    if labels and len(labels) != len(by_category):
        raise UnsupportedModelError(
            f"The LightGBM model was fitted on {len(labels)} columns of pandas' category dtype, but it treats "
            f"{len(by_category)} columns as categories. It does not store which labels belong to which column. Make ordered "
            "categories unordered (X[c].cat.as_unordered()), leave categorical_feature at 'auto', and refit."
        )
    names = [None if name == f"Column_{j}" else name for j, name in enumerate(saved.feature_names)]
    columns = [Column(name, missing=True) for name in names]
    for position, j in enumerate(by_category):
        if labels:
            columns[j] = Column(names[j], tuple(labels[position]), missing=True)
        else:
            known = saved.feature_infos[j].split(":") if saved.feature_infos[j] != "none" else []
            columns[j] = CodedColumn(names[j], (*sorted(int(code) for code in known if code != "-1"), OTHER), missing=True)
    return Columns(tuple(columns))


def _codes(column: Column, left: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert LightGBM's category codes to positions in the categories of ``column``."""
    if not isinstance(column, CodedColumn):
        return left
    return np.flatnonzero(np.isin(np.array((column.categories or ())[:-1], dtype=np.int64), left)).astype(np.int64)


def _read(booster: Any, classes: NDArray[np.generic]) -> TreeEnsemble:
    saved = _SavedLightGBM.of(booster)
    _check_objective(saved.objective)
    if any(tree.get("is_linear", "0") != "0" for tree in saved.trees):
        _refuse_linear_trees()
    decision = saved.numbers("decision_type", np.int64)
    if np.any((decision < 0) | (decision > LARGEST_DECISION)):  # a damaged file
        raise ValueError("a node has an unknown decision_type")
    if not saved.trees:
        raise UnsupportedModelError("The LightGBM model has no trees. Fit it with at least one round.")

    # A tree's inner nodes come first, then its leaves. A child below zero is the bitwise complement of a leaf's number.
    n_leaves = np.array([int(tree["num_leaves"]) for tree in saved.trees], dtype=np.int64)
    n_inner = n_leaves - 1
    sizes = n_leaves + n_inner
    roots = first_nodes(sizes)
    within = np.arange(sizes.sum()) - np.repeat(roots, sizes)
    inner = within < np.repeat(n_inner, sizes)
    inner_of_tree = np.repeat(n_inner, n_inner)

    def on_inner(values: NDArray[Any], otherwise: Any) -> NDArray[Any]:
        out = np.full(len(inner), otherwise, dtype=values.dtype)
        out[inner] = values
        return out

    def children(key: str) -> NDArray[np.int32]:
        child = saved.numbers(key, np.int64)
        return shifted(on_inner(np.where(child < 0, inner_of_tree + ~child, child), -1), roots, sizes)

    native = saved.numbers("threshold", np.float64)
    _check_zeros(native, decision)
    feature = on_inner(saved.numbers("split_feature", np.int32), -1)
    columns = _columns(saved, booster.pandas_categorical)
    by_set = (decision & CATEGORICAL) > 0
    categories = {
        node: _codes(columns[feature[node]], left)
        for node, left in zip(np.flatnonzero(inner)[by_set].tolist(), _sets(saved, decision), strict=True)
    }
    value = np.zeros((len(inner), saved.n_outputs))
    output = np.repeat(np.arange(len(saved.trees)) % saved.n_outputs, sizes)
    value[~inner, output[~inner]] = saved.numbers("leaf_value", np.float64)
    return TreeEnsemble(
        classes=classes,
        n_features=saved.n_features,
        columns=columns,
        link=_link(saved),
        boundary=_boundary(saved.steepness) if saved.n_outputs == 1 else 0.0,
        base=np.zeros(saved.n_outputs),
        roots=roots,
        feature=feature,
        threshold=on_inner(np.where(by_set, np.nan, _largest_sent_left(native)), 0.0),
        native_threshold=on_inner(np.where(by_set, np.nan, native), 0.0),
        left=children("left_child"),
        right=children("right_child"),
        value=value,
        missing_left=on_inner(_missing_left(native, decision), False),
        categories=categories,
        divisor=float(len(saved.trees) // saved.n_outputs) if saved.averaged else 1.0,
    )


def _check_objective(objective: str) -> None:
    if objective not in OBJECTIVES:
        raise UnsupportedModelError(
            f"LightGBM's objective {objective!r} is not supported. Supported: {', '.join(OBJECTIVES)}."
        )


def _link(saved: _SavedLightGBM) -> Link:
    if saved.objective == "multiclass":
        return RoundedSoftmax()
    return RoundedOneAgainstRest(saved.steepness) if saved.objective == "multiclassova" else PlainLogistic(saved.steepness)


class LightGBMBooster(NativeClassifier):
    """A booster of ``lightgbm.train`` as a scikit-learn classifier.

    The labels are the integers 0, 1 and so on.
    """

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the booster was trained on."""
        return int(self.booster.num_feature())

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The class labels of the training data, integers from 0."""
        return np.arange(max(2, self.booster.num_model_per_iteration()))

    def _feature_names(self) -> list[str] | None:
        names: list[str] = self.booster.feature_name()
        return None if names == [f"Column_{j}" for j in range(len(names))] else names

    def check(self) -> None:
        _check_objective(_SavedLightGBM.of(self.booster, n_iterations=1).objective)

    def predict(self, X: Any) -> NDArray[np.generic]:
        """Predict the class with the largest probability.

        In a tie, predict the first of the tied classes.
        """
        predicted: NDArray[np.generic] = np.argmax(self.predict_proba(X), axis=1)
        return predicted

    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the probabilities of all classes."""
        outputs = np.asarray(self.booster.predict(self._columns(X, by_category=bool(self.booster.pandas_categorical))))
        return outputs if outputs.ndim > 1 else np.column_stack([1.0 - outputs, outputs])
