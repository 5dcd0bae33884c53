"""interpret's ExplainableBoostingClassifier without pairs: a step function per feature."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnsupportedModelError
from fcca.models._joined import first_nodes, shifted
from fcca.models._links import Logistic, Softmax
from fcca.models._model import TreeEnsemble

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class InterpretLogistic(Logistic):
    """Log-odds of the second class, turned into probabilities by interpret itself."""

    def both_classes(self, score: Floats) -> Floats:
        """Probabilities of the two classes."""
        # By name, so that interpret is not needed to check the types of this file.
        probabilities: Floats = import_module("interpret.utils").inv_link(score, "logit")
        return probabilities


LINKS = {"logit": InterpretLogistic(), "mlogit": Softmax()}


def check(estimator: Any) -> None:
    """Refuse what cannot be read before hours are spent on fitting it."""
    if not isinstance(estimator.interactions, (list, tuple)) and estimator.interactions == 0:
        return
    if isinstance(estimator.interactions, (list, tuple)) and len(estimator.interactions) == 0:
        return
    raise UnsupportedModelError(
        f"ExplainableBoostingClassifier(interactions={estimator.interactions!r}) adds terms of two or more features, which "
        "are not supported so far. Set interactions=0."
    )


def read(estimator: Any) -> TreeEnsemble:
    """Read a fitted ExplainableBoostingClassifier."""
    pairs = [term for term in estimator.term_features_ if len(term) > 1]
    if pairs:
        names = [" × ".join(estimator.feature_names_in_[j] for j in pair) for pair in pairs]
        raise UnsupportedModelError(
            f"The ExplainableBoostingClassifier has {len(pairs)} terms of two or more features ({names[0]}, …), which are "
            "not supported so far. Fit with interactions=0."
        )
    features = [term[0] for term in estimator.term_features_]
    kinds = {estimator.feature_types_in_[j] for j in features}
    if kinds - {"continuous"}:
        raise UnsupportedModelError(
            f"The ExplainableBoostingClassifier has {', '.join(sorted(kinds - {'continuous'}))} features, which are not "
            "supported so far. Encode them as numbers and fit with feature_types=['continuous', …]."
        )
    if estimator.link_ not in LINKS:
        raise UnsupportedModelError(
            f"The ExplainableBoostingClassifier's link {estimator.link_!r} is not supported. Supported: {', '.join(LINKS)}."
        )
    base = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
    # The first score is that of missing values, the last that of unknown categories.
    steps = [
        _steps(estimator.bins_[j][0], np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)[1:-1])
        for j, scores in zip(features, estimator.term_scores_, strict=True)
    ]
    sizes = np.array([2 * len(values) - 1 for _, values in steps], dtype=np.int64)
    roots = first_nodes(sizes)
    trees = [_balanced(len(values)) for _, values in steps]
    left = shifted(np.concatenate([tree[0] for tree in trees]), roots, sizes)
    right = shifted(np.concatenate([tree[1] for tree in trees]), roots, sizes)
    inner = left >= 0
    native, value = np.zeros(len(left)), np.zeros((len(left), len(base)))
    native[inner] = np.concatenate([cuts[tree[2][tree[0] >= 0]] for (cuts, _), tree in zip(steps, trees, strict=True)])
    value[~inner] = np.concatenate([values[tree[2][tree[0] < 0]] for (_, values), tree in zip(steps, trees, strict=True)])
    return TreeEnsemble(
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        link=LINKS[estimator.link_],
        base=base,
        roots=roots,
        feature=np.where(inner, np.repeat(features, sizes), -1).astype(np.int32),
        threshold=np.where(inner, np.nextafter(native, -np.inf), 0.0),  # a value on a cut belongs to the bin above
        native_threshold=native,
        left=left,
        right=right,
        value=value,
    )


def _steps(cuts: Floats, values: Floats) -> tuple[Floats, Floats]:
    """A step function without the steps of height zero."""
    step = np.any(values[1:] != values[:-1], axis=1)
    return np.asarray(cuts, dtype=np.float64)[step], values[np.concatenate([[True], step])]


def _balanced(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """A balanced tree over n bins: children to the left and right, -1 for a leaf, and the number of its cut or bin."""
    left, right, number = (np.full(2 * n - 1, -1, dtype=np.int64) for _ in range(3))
    bins = [(0, n)]
    for node, (begin, end) in enumerate(bins):  # grows while it is walked
        if end - begin == 1:
            number[node] = begin
            continue
        middle = (begin + end) // 2
        left[node], right[node], number[node] = len(bins), len(bins) + 1, middle - 1
        bins += [(begin, middle), (middle, end)]
    return left, right, number
