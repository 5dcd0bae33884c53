"""scikit-learn's GradientBoostingClassifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from fcca.exceptions import UnsupportedModelError
from fcca.models._links import Logistic, Softmax
from fcca.models._model import TreeEnsemble
from fcca.models._precision import largest_float64_below_float32_cut


def check(estimator: Any) -> None:
    """Refuse what cannot be read before hours are spent on fitting it."""
    if estimator.max_depth != 1 and estimator.max_leaf_nodes != 2:
        raise UnsupportedModelError(
            f"GradientBoostingClassifier(max_depth={estimator.max_depth}) has trees that test more than one feature. "
            "Supported so far are trees that test one feature each: set max_depth=1."
        )
    _check_start(estimator)


def _check_start(estimator: Any) -> None:
    if estimator.init is not None and estimator.init != "zero" and not isinstance(estimator.init, DummyClassifier):
        raise UnsupportedModelError(
            f"GradientBoostingClassifier(init={estimator.init!r}) starts from another classifier's answer, which is not "
            "part of the trees. Supported: init=None and init='zero'."
        )


def read(estimator: Any) -> TreeEnsemble:
    """Read a fitted GradientBoostingClassifier."""
    _check_start(estimator)
    trees = estimator.estimators_  # (stages, outputs)
    n_outputs = trees.shape[1]
    base = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), dtype=np.float32))[0]
    link = Softmax() if n_outputs > 1 else Logistic(2.0 if estimator.loss == "exponential" else 1.0)

    structures = [(tree.tree_, output) for stage in trees for output, tree in enumerate(stage)]
    sizes = [tree.node_count for tree, _ in structures]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    value = np.zeros((sum(sizes), n_outputs))
    for (tree, output), root in zip(structures, roots, strict=True):
        value[root : root + tree.node_count, output] = estimator.learning_rate * tree.value[:, 0, 0]

    def joined(name: str) -> Any:
        return np.concatenate([getattr(tree, name) for tree, _ in structures])

    def children(name: str) -> Any:
        shifted = [
            np.where(getattr(tree, name) < 0, -1, getattr(tree, name) + root)
            for (tree, _), root in zip(structures, roots, strict=True)
        ]
        return np.concatenate(shifted).astype(np.int32)

    left = children("children_left")
    native = joined("threshold")
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        link=link,
        base=np.asarray(base, dtype=np.float64),
        roots=roots.astype(np.int64),
        feature=np.where(left < 0, -1, joined("feature")).astype(np.int32),
        threshold=largest_float64_below_float32_cut(native),
        native_threshold=native,
        left=left,
        right=children("children_right"),
        value=value,
    )
