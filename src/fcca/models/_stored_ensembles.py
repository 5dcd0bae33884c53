"""scikit-learn's ensembles from a file: parts that do not fit each other take its compiled loops out of their memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fcca.exceptions import InvalidInputError

FORESTS = frozenset({"RandomForestClassifier", "ExtraTreesClassifier"})
WORDS_PER_BITSET = 8


def check_stored_ensembles(model: Any, path: Path) -> None:
    """Refuse a model whose parts are not of the sizes that scikit-learn takes for granted."""
    for part in objects_in(model):
        kind = type(part)
        if not kind.__module__.startswith("sklearn."):
            continue
        if kind.__name__ == "GradientBoostingClassifier" and hasattr(part, "estimators_"):
            sound = _is_boosting(part)
        elif kind.__name__ in FORESTS and hasattr(part, "estimators_"):
            sound = all(one.tree_.n_features == part.n_features_in_ for one in part.estimators_)
        elif kind.__name__ == "HistGradientBoostingClassifier" and hasattr(part, "_predictors"):
            sound = _is_hist_boosting(part)
        elif kind.__name__ in ("SVC", "NuSVC") and hasattr(part, "support_vectors_"):
            sound = _is_machine(part)
        else:
            continue
        if not sound:
            raise InvalidInputError(
                f"{path} holds a {kind.__name__} whose parts do not fit each other. It is damaged; save it again."
            )


def objects_in(model: Any) -> Iterator[Any]:
    """All objects anywhere inside of a model, itself first; containers, numbers and texts left out."""
    seen: set[int] = set()
    pending = [model]
    while pending:
        item = pending.pop()
        if id(item) in seen or isinstance(item, type):
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            if hasattr(item, "_fields"):
                yield item
            pending += item
        elif isinstance(item, np.ndarray):
            pending += item.ravel().tolist() if item.dtype == object else []
        elif hasattr(item, "__dict__"):
            yield item
            pending += vars(item).values()


def _is_boosting(part: Any) -> bool:
    """Its loop writes a number per tree of a round into a row that is as wide as what it starts from."""
    n_outputs = 1 if len(part.classes_) == 2 else len(part.classes_)
    stages = part.estimators_
    if not (isinstance(stages, np.ndarray) and stages.ndim == 2 and stages.shape[1] == n_outputs and len(stages)):
        return False
    if not all(one.tree_.n_features == part.n_features_in_ and one.tree_.value.shape[1:] == (1, 1) for one in stages.flat):
        return False
    if isinstance(part.init_, str):
        return part.init_ == "zero" and part.n_trees_per_iteration_ == n_outputs
    if type(part.init_).__name__ != "DummyClassifier":
        return True  # it cannot be read, and so is never asked
    start = part._raw_predict_init(np.zeros((1, part.n_features_in_), dtype=np.float32))
    return bool(start.shape == (1, n_outputs) and start.dtype == np.float64)


def _is_hist_boosting(part: Any) -> bool:
    """Its loop looks up known categories by the number of their column, and adds to one score per tree of a round."""
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
    asked = {int(j) for tree in trees for j in tree.nodes["feature_idx"][tree.nodes["is_categorical"].astype(bool)]}
    return all(bool(known[j]) for j in asked)


def _is_machine(part: Any) -> bool:
    """libsvm follows the numbers of its support vectors."""
    vectors, n_classes = part.support_vectors_, len(part.classes_)
    if not isinstance(vectors, np.ndarray):  # sparse: it cannot be read
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
