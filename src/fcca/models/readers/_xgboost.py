"""Read XGBoost's classifiers and boosters, from the JSON that the library writes.

The library treelite can also read this JSON, but it rounds differently. It computes the logit of the base score in double
precision, whereas XGBoost uses single precision. It multiplies the leaf values of the booster DART by the weights of the
trees directly. XGBoost first adds and subtracts the base score, which rounds the values.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from fcca.exceptions import UnsupportedModelError
from fcca.models._labels import OTHER, CodedColumn
from fcca.models._links import Link, Logistic, Softmax
from fcca.models._model import TreeEnsemble
from fcca.models._native import Floats, NativeClassifier
from fcca.models._nodes import first_nodes, shifted
from fcca.models._precision import largest_float64_below_float32_cut, largest_passing
from fcca.tables import Column, Columns

TWO_CLASSES = ("binary:logistic", "binary:logitraw", "binary:hinge")
MANY_CLASSES = ("multi:softprob", "multi:softmax")

# XGBoost's numbers of the types of a pandas index, except int64.
INTEGERS = {9: np.int8, 10: np.uint8, 11: np.int16, 13: np.int32}


@dataclass(frozen=True)
class XGBoostLogistic(Logistic):
    """Link for a single score of XGBoost, the log-odds of the second class.

    XGBoost itself computes the probability, in float32.
    """

    objective: str = "binary:logistic"

    def second_class(self, score: Floats) -> NDArray[Any]:
        """Return the probability of the second class, computed by XGBoost."""
        return _transformed(self.objective, score)


@dataclass(frozen=True)
class SinglePrecisionLogistic(Logistic):
    """Logistic link of :class:`XGBoostBooster` for the objective ``binary:logitraw``.

    SciPy computes the probability in float32, as in :meth:`XGBoostBooster.predict_proba`.
    """

    def second_class(self, score: Floats) -> NDArray[Any]:
        """Return the probability of the second class."""
        probability: NDArray[Any] = expit(score.astype(np.float32))
        return probability


@dataclass(frozen=True)
class XGBoostSoftmax(Softmax):
    """Softmax in float32, for the objective ``multi:softprob``.

    The class with the largest rounded probability is predicted. Different scores can lead to the same rounded probability.
    In such a tie, the first of the tied classes is predicted.
    """

    def every_class(self, scores: Floats) -> NDArray[Any]:
        """Return the probabilities of all classes, computed by XGBoost."""
        return _transformed("multi:softprob", scores)

    def ranking(self, scores: Floats) -> NDArray[Any]:
        """Return the probabilities, because XGBoost predicts the class with the largest one."""
        return self.every_class(scores)


@dataclass(frozen=True)
class SinglePrecisionSoftmax(Softmax):
    """Softmax in float32, for the objective ``multi:softmax``.

    The class with the largest score is predicted.
    """

    def every_class(self, scores: Floats) -> NDArray[Any]:
        """Return the probabilities of all classes, computed by SciPy as in XGBClassifier."""
        probabilities: NDArray[Any] = softmax(scores.astype(np.float32), axis=1)
        return probabilities


class _SavedXGBoost(NamedTuple):
    """The parts of a saved booster that are needed for the model.

    Attributes
    ----------
    objective : str
        Name of the objective.
    base_score : list of float
        The stored base score, one number or one per class.
    n_outputs : int
        Number of scores per row.
    model : dict
        The part of the JSON that contains the trees.
    tree_weights : ndarray or None
        Weight of each tree, for the booster DART.
    feature_names, feature_types : list of str
        Name and type of each column; empty if unknown.
    """

    objective: str
    base_score: list[float]
    n_outputs: int
    model: dict[str, Any]
    tree_weights: NDArray[np.float32] | None
    feature_names: list[str]
    feature_types: list[str]

    @classmethod
    def of(cls, booster: Any) -> _SavedXGBoost:
        learner = json.loads(bytes(booster.save_raw("json")))["learner"]
        boosted = learner["gradient_booster"]
        if boosted["name"] == "gblinear":
            raise UnsupportedModelError("XGBoost's booster='gblinear' has no trees. Use booster='gbtree' or 'dart'.")
        weights = None
        if boosted["name"] == "dart":
            weights = np.array(boosted["weight_drop"], dtype=np.float32)
            boosted = boosted["gbtree"]
        parameters = learner["learner_model_param"]
        base_score = np.atleast_1d(json.loads(parameters["base_score"])).tolist()  # a single number before XGBoost 3.1
        return cls(
            learner["objective"]["name"],
            base_score,
            max(1, int(parameters["num_class"])),
            boosted["model"],
            weights,
            learner.get("feature_names", []),
            learner.get("feature_types", []),
        )


def check(estimator: Any) -> None:
    """Check before fitting that the parameters of an XGBClassifier are supported."""
    if estimator.booster == "gblinear":
        raise UnsupportedModelError("XGBClassifier(booster='gblinear') has no trees. Use booster='gbtree' or 'dart'.")
    if isinstance(estimator.objective, str):
        _check_objective(estimator.objective)
    if estimator.multi_strategy == "multi_output_tree":
        raise UnsupportedModelError(
            "XGBClassifier(multi_strategy='multi_output_tree') is not supported. Use 'one_output_per_tree'."
        )
    _check_missing(estimator)


def read(estimator: Any) -> TreeEnsemble:
    """Convert a fitted XGBClassifier to a TreeEnsemble."""
    _check_missing(estimator)
    booster = estimator.get_booster()
    saved = _SavedXGBoost.of(booster)
    if estimator.n_classes_ == 2 and saved.n_outputs > 1:
        raise UnsupportedModelError(
            f"XGBClassifier(objective={saved.objective!r}) was fitted on two classes, for which it does not predict labels. "
            "Use objective='binary:logistic'."
        )
    return _read(booster, saved, estimator.classes_)


def read_native(classifier: Any) -> TreeEnsemble:
    """Convert the booster inside an :class:`XGBoostBooster` to a TreeEnsemble."""
    saved = _SavedXGBoost.of(classifier.booster)
    model = _read(classifier.booster, saved, classifier.classes_)
    return replace(model, link=SinglePrecisionLogistic(), boundary=0.0) if saved.objective == "binary:logitraw" else model


def _check_objective(objective: str) -> None:
    if objective not in TWO_CLASSES + MANY_CLASSES:
        raise UnsupportedModelError(
            f"XGBoost's objective {objective!r} is not supported. Supported: {', '.join(TWO_CLASSES + MANY_CLASSES)}."
        )


def _check_missing(estimator: Any) -> None:
    if estimator.missing is not None and not np.isnan(estimator.missing):
        raise UnsupportedModelError(
            f"XGBClassifier(missing={estimator.missing!r}) treats a number as a missing value, which is not supported. "
            "Write missing values as NaN in X, and use missing=nan."
        )


def _n_iterations(booster: Any) -> int:
    """Return the number of iterations used for predictions; 0 means all."""
    best = booster.attr("best_iteration")
    return 0 if best is None else int(best) + 1


def _used_trees(booster: Any, saved: _SavedXGBoost) -> list[dict[str, Any]]:
    """Return the trees of the iterations that are used for predictions."""
    trees: list[dict[str, Any]] = saved.model["trees"]
    if (end := _n_iterations(booster)) > 0:
        trees = trees[: saved.model["iteration_indptr"][end]]
    if not trees:
        raise UnsupportedModelError("The XGBoost model has no trees. Fit it with at least one round.")
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise UnsupportedModelError(
            "The XGBoost model has trees whose leaves hold a score of each class. Fit it with "
            "multi_strategy='one_output_per_tree'."
        )
    return trees


def _untrained(objective: str, n_classes: int, base_score: float = 0.5) -> Any:
    """Train a booster whose trees add 0 to the scores.

    It is used to let XGBoost itself convert given scores to probabilities.
    """
    xgboost = import_module("xgboost")
    parameters: dict[str, Any] = {"objective": objective, "base_score": base_score, "eta": 0.0, "nthread": 1, "verbosity": 0}
    if objective in MANY_CLASSES:
        parameters["num_class"] = n_classes
    rows = xgboost.DMatrix(np.zeros((n_classes, 1)), label=np.arange(n_classes), nthread=1)
    return xgboost.train(parameters, rows, num_boost_round=1)


_blank = cache(_untrained)


def _transformed(objective: str, margins: NDArray[Any]) -> NDArray[np.float32]:
    """Compute what XGBoost predicts for given scores, which it calls margins."""
    largest = np.finfo(np.float32).max
    margins = np.clip(margins, -largest, largest).astype(np.float32)
    blank = _blank(objective, margins.shape[1] if margins.ndim > 1 else 2)
    outputs: NDArray[np.float32] = blank.inplace_predict(np.zeros((len(margins), 1)), base_margin=margins)
    return outputs


def _base_margins(saved: _SavedXGBoost) -> NDArray[np.float32]:
    """Compute the scores before the first tree, rounded as in XGBoost."""
    if saved.n_outputs > 1:
        return np.broadcast_to(np.array(saved.base_score, dtype=np.float32), saved.n_outputs)
    untrained = _untrained(saved.objective, 2, saved.base_score[0])
    return np.asarray(untrained.inplace_predict(np.zeros((1, 1)), predict_type="margin"), dtype=np.float32).reshape(1)


@cache
def _boundary(objective: str) -> float:
    """Find the largest float32 score whose probability is at most 0.5."""
    cut = largest_passing(lambda margins: _transformed(objective, margins) <= 0.5, 1).astype(np.float32)
    return float(cut[0] if _transformed(objective, cut)[0] <= 0.5 else np.nextafter(cut, np.float32(-np.inf))[0])


def _leaf_values(
    value: NDArray[np.float32], base: NDArray[np.float32], weight: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Compute the amount that each leaf adds to the score.

    Without ``weight``, this is the value of the leaf. The booster DART first adds and subtracts the base score.
    Then it multiplies the rounded difference by the weight of the tree.
    """
    return value if weight is None else ((base + value) - base) * weight


def _largest_sent_left(native: NDArray[np.float32]) -> Floats:
    """Find the largest float64 that each node sends to its left child.

    XGBoost tests ``float32(x) < native``.
    """
    below = np.nextafter(native, np.float32(-np.inf))
    return np.where(below == -np.inf, -np.inf, largest_float64_below_float32_cut(below.astype(np.float64)))


def _category_nodes(trees: list[dict[str, Any]], roots: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """Return the category codes that go to the right child.

    The result has an entry for each node that splits by category.
    """
    listed: dict[int, NDArray[np.int64]] = {}
    for root, tree in zip(roots.tolist(), trees, strict=True):
        if tree["categories_nodes"]:
            codes = np.array(tree["categories"], dtype=np.int64)
            places = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
            listed |= {root + node: codes[begin : begin + size] for node, begin, size in places}
    return listed


def _columns(saved: _SavedXGBoost, n_features: int, codes: dict[int, set[int]]) -> Columns:
    """Build the descriptions of the columns.

    ``codes`` has, for each column that trees split by category, the category codes in these splits.
    """
    names: list[Any] = saved.feature_names or [None] * n_features
    types = saved.feature_types or [""] * n_features
    kept = saved.model.get("cats", {}).get("enc") or [{}] * n_features  # since XGBoost 3.1, for pandas' category dtype
    return Columns(
        tuple(
            _column(names[j], kept[j], codes.get(j, set()))
            if types[j] == "c" or j in codes
            else Column(names[j], missing=True)
            for j in range(n_features)
        )
    )


def _column(name: str | None, kept: dict[str, Any], codes: set[int]) -> Column:
    """Build the description of a column of categories.

    ``kept`` is XGBoost's record of the labels, which may be empty. Without labels, the categories are ``codes``, the
    category codes by which trees split.
    """
    values = kept.get("values", [])
    if "type" in kept and values:
        # XGBoost expects the same integer type as in training.
        small = INTEGERS.get(kept["type"])
        return Column(name, tuple(values if small is None else np.array(values, dtype=small)), missing=True)
    if not values:
        return CodedColumn(name, (*sorted(codes), OTHER), missing=True)
    offsets, letters = kept["offsets"], bytes(value % 256 for value in values)
    places = list(pairwise(offsets))
    if letters.isascii():
        return Column(name, tuple(letters[begin:end].decode() for begin, end in places), missing=True)
    lengths = tuple(end - begin for begin, end in places)
    return CodedColumn(name, (*range(len(lengths)), OTHER), missing=True, index=(lengths, letters))


def _link(objective: str) -> Link:
    if objective == "multi:softprob":
        return XGBoostSoftmax()
    return SinglePrecisionSoftmax() if objective == "multi:softmax" else XGBoostLogistic(objective=objective)


def _left(column: Column, right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of the categories that go to the left child.

    ``right`` has XGBoost's codes of the categories that go to the right child.
    """
    labels = column.categories or ()
    native = np.array(labels[:-1], dtype=np.int64) if isinstance(column, CodedColumn) else np.arange(len(labels))
    left = np.flatnonzero(~np.isin(native, right))
    return np.append(left, len(native)) if isinstance(column, CodedColumn) else left


def _read(booster: Any, saved: _SavedXGBoost, classes: NDArray[np.generic]) -> TreeEnsemble:
    _check_objective(saved.objective)
    trees = _used_trees(booster, saved)
    sizes = np.array([len(tree["left_children"]) for tree in trees], dtype=np.int64)
    roots = first_nodes(sizes)

    def flat(key: str, dtype: Any) -> NDArray[Any]:
        """Return the entry ``key`` of all trees in one array.

        One large conversion is faster than many small ones.
        """
        return np.array(list(chain.from_iterable(tree[key] for tree in trees)), dtype=dtype)

    left, right = (shifted(flat(key, np.int32), roots, sizes) for key in ("left_children", "right_children"))
    leaf = left < 0
    number = flat("split_conditions", np.float32)  # for a leaf, its value

    base = _base_margins(saved)
    output = np.repeat(saved.model["tree_info"][: len(trees)], sizes)
    if output.min() < 0 or output.max() >= saved.n_outputs:  # a damaged file: XGBoost would write outside of its arrays
        raise ValueError(f"a tree adds to an output that does not exist, as there are {saved.n_outputs} outputs")
    weight = None if saved.tree_weights is None else np.repeat(saved.tree_weights[: len(trees)], sizes)[leaf]
    value = np.zeros((len(left), saved.n_outputs))
    value[leaf, output[leaf]] = _leaf_values(number[leaf], base[output[leaf]], weight)

    feature = np.where(leaf, -1, flat("split_indices", np.int32)).astype(np.int32)
    listed = {node: codes for node, codes in _category_nodes(trees, roots).items() if not leaf[node]}
    codes: dict[int, set[int]] = {}
    for node, right_codes in listed.items():
        codes.setdefault(int(feature[node]), set()).update(right_codes.tolist())
    columns = _columns(saved, booster.num_features(), codes)

    kept = np.unique(np.concatenate([roots, left[~leaf], right[~leaf]]))  # without pruned nodes
    categories = {node: _left(columns[feature[node]], listed[node]) for node in np.intersect1d(list(listed), kept).tolist()}
    native = np.where(leaf, np.float32(0), number)
    native[list(categories)] = np.nan
    model = TreeEnsemble(
        classes=classes,
        n_features=booster.num_features(),
        columns=columns,
        link=_link(saved.objective),
        boundary=_boundary(saved.objective) if saved.n_outputs == 1 else 0.0,
        base=base.astype(np.float64),
        roots=roots,
        feature=feature,
        threshold=np.where(leaf, 0.0, _largest_sent_left(native)),
        native_threshold=native.astype(np.float64),
        left=left,
        right=right,
        value=value,
        missing_left=flat("default_left", np.bool_) & ~leaf,
        categories=categories,
        single_precision=True,
    )
    return model.arranged(kept)


class XGBoostBooster(NativeClassifier):
    """A booster of ``xgboost.train`` as a scikit-learn classifier.

    The labels are the integers 0, 1 and so on.
    """

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the booster was trained on."""
        return int(self.booster.num_features())

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The class labels of the training data, integers from 0."""
        return np.arange(max(2, self._parameters()[1]))

    def _feature_names(self) -> list[str] | None:
        names: list[str] | None = self.booster.feature_names
        return names

    def check(self) -> None:
        _check_objective(self._parameters()[0])

    def _parameters(self) -> tuple[str, int]:
        """Return the objective and XGBoost's ``num_class``, which is 0 for two classes."""
        learner = json.loads(self.booster.save_config())["learner"]
        return learner["objective"]["name"], int(learner["learner_model_param"]["num_class"])

    def _outputs(self, X: Any, *, margin: bool) -> NDArray[np.float32]:
        outputs: NDArray[np.float32] = self.booster.inplace_predict(
            self._columns(X, by_category="c" in (self.booster.feature_types or [])),
            iteration_range=(0, _n_iterations(self.booster)),
            predict_type="margin" if margin else "value",
            validate_features=False,
        )
        return outputs

    def predict(self, X: Any) -> NDArray[np.generic]:
        """Predict class labels.

        For two classes, the label is 1 if the probability is above 0.5. With the objective ``binary:logitraw``, it is 1 if
        the score is above 0.
        """
        objective, _ = self._parameters()
        outputs = self._outputs(X, margin=False)
        if objective == "multi:softprob":
            predicted: NDArray[np.generic] = np.argmax(outputs, axis=1)
            return predicted
        if objective == "multi:softmax":
            return outputs.astype(np.intp).ravel()
        return (outputs > (0.0 if objective == "binary:logitraw" else 0.5)).astype(np.intp)

    def predict_proba(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the probabilities of all classes."""
        objective, _ = self._parameters()
        outputs = self._outputs(X, margin=objective in ("binary:logitraw", "multi:softmax"))
        if objective == "multi:softmax":
            outputs = softmax(outputs, axis=1)
        elif objective == "binary:logitraw":
            outputs = expit(outputs)
        return outputs if outputs.ndim > 1 else np.column_stack([1.0 - outputs, outputs])
