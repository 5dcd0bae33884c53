"""The contract of a counterfactual in plain numpy: cells, box, where a move lands, what it costs.

Nothing here comes from the package's cells or core. For scikit-learn's trees even the cuts are derived here; behind a
scaler they are the reader's, which is tested by itself.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fcca import read_model


@dataclass(frozen=True)
class Option:
    """One cell that a feature can be in, and where it would stand there."""

    feature: int
    cell: int
    landing: float
    cost: float
    stays: bool


def last_float64_sent_left(threshold):
    """The largest float64 that passes scikit-learn's test float32(x) <= threshold, by bisection."""
    passing = float(np.float32(threshold))
    if passing > threshold:
        passing = float(np.nextafter(np.float32(passing), np.float32(-np.inf)))
    failing = float(np.nextafter(np.float32(passing), np.float32(np.inf)))
    while True:
        middle = passing + (failing - passing) / 2
        if middle in (passing, failing):
            return passing
        if np.float32(middle) <= threshold:
            passing = middle
        else:
            failing = middle


def sklearn_trees(estimator):
    """The trees of scikit-learn's boosting, forests and single trees; None for all else."""
    if type(estimator) in (DecisionTreeClassifier, ExtraTreeClassifier):
        return [estimator.tree_]
    if type(estimator) in (GradientBoostingClassifier, RandomForestClassifier, ExtraTreesClassifier, AdaBoostClassifier):
        return [tree.tree_ for tree in np.ravel(estimator.estimators_)]
    return None


@lru_cache(maxsize=64)
def cuts_by_feature(estimator):
    """Sorted cuts t* of every feature: the model sends x to the left where x <= t* in float64."""
    trees = sklearn_trees(estimator)
    if trees is not None:
        tests = [
            (int(feature), last_float64_sent_left(threshold))
            for tree in trees
            for feature, threshold in zip(tree.feature, tree.threshold, strict=True)
            if feature >= 0
        ]
    elif isinstance(estimator, HistGradientBoostingClassifier):  # compares in float64
        tests = [
            (int(node["feature_idx"]), float(node["num_threshold"]))
            for stage in estimator._predictors
            for tree in stage
            for node in tree.nodes
            if not node["is_leaf"] and np.isfinite(node["num_threshold"])
        ]
    else:
        model = read_model(estimator)
        inner = (model.feature >= 0) & np.isfinite(model.threshold)
        tests = list(zip(model.feature[inner].tolist(), model.threshold[inner].tolist(), strict=True))
    cuts = [set() for _ in range(estimator.n_features_in_)]
    for feature, cut in tests:
        cuts[feature].add(cut)
    return [np.array(sorted(mine)) for mine in cuts]


def ranges(X_train):
    """The unit of distance of every feature: its range on the training rows."""
    width = X_train.max(axis=0) - X_train.min(axis=0)
    return np.where(width > 0, width, 1.0)


def price(distance, problem):
    """Cost of moving one feature by a distance above 0."""
    return problem.lambda0 + problem.lambda1 * distance + problem.lambda2 * distance**2


def landing_in(low, high, x0, column):
    """Where a move from x0 into the cell (low, high] stands, None where the box does not reach the cell."""
    seen = column[(column > low) & (column <= high)]
    if len(seen):
        return float(seen[np.argmin(np.abs(seen - x0))])
    bottom, top = min(column.min(), x0), min(max(column.max(), x0), high)
    if top <= low or bottom > top:
        return None
    bottom = max(bottom, low)
    middle = bottom + (top - bottom) / 2
    return float(middle if middle > low else top)


def options(j, x0, cuts, X_train, problem):
    """All cells that feature j can be in, its own first."""
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    own = int(np.searchsorted(cuts, x0))  # the first cell whose upper end is not below x0
    column, unit = X_train[:, j], ranges(X_train)[j]
    found = [Option(j, own, float(x0), 0.0, stays=True)]
    for cell in range(len(cuts) + 1):
        landing = None if cell == own else landing_in(edges[cell], edges[cell + 1], x0, column)
        if landing is not None:
            found.append(Option(j, cell, landing, float(price(abs(landing - x0) / unit, problem)), stays=False))
    return found


def scores_of(estimator, points):
    """The real model's decision function, or its probabilities where it has none; always with two dimensions."""
    score = estimator.decision_function if hasattr(estimator, "decision_function") else estimator.predict_proba
    return np.asarray(score(points), dtype=np.float64).reshape(len(points), -1)


def leads(scores, target):
    """By how much each row's score is on the target's side, one column per rival."""
    if scores.shape[1] == 1:
        return scores if target == 1 else -scores
    return scores[:, [target]] - np.delete(scores, target, axis=1)


def other_classes(estimator, x0):
    """Positions in ``classes_`` of the classes that the model does not answer at x0."""
    answer = estimator.predict(x0[None, :])[0]
    return [k for k, label in enumerate(estimator.classes_) if label != answer]
