"""Compute one cell: discretize a fold, fit classifiers on the columns, and return the results as tidy rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.tree import DecisionTreeClassifier

from experiments.data import Fold, load_fold
from experiments.methods import METHODS, SEED, Discretization
from experiments.study import Cell, versions
from fcca import OptimalTreeClassifier
from fcca.counterfactuals import STATUSES
from fcca.metrics import compression_rate, inconsistency_rate

TREE_DEPTH = 3
TREE_SECONDS = 60.0
#: With more columns, only the rates are computed. The paper calls trees on all midpoints "not affordable".
MOST_COLUMNS = 2_000
Rows = NDArray[Any]


def _classifiers(method: str, binary: bool) -> Iterator[tuple[str, Any]]:
    yield "cart", DecisionTreeClassifier(max_depth=TREE_DEPTH, random_state=SEED)
    if not binary:
        continuous_optimal = _continuous_optimal_tree()
        if continuous_optimal is not None:
            yield "pycontree", continuous_optimal
        return
    yield (
        "optimal tree",
        OptimalTreeClassifier(max_depth=TREE_DEPTH, max_leaf_nodes=None, criterion="error", time_limit=TREE_SECONDS),
    )
    if method != "midpoints":
        yield "naive Bayes", BernoulliNB()
        yield "logistic regression", LogisticRegression(max_iter=2_000)


def _continuous_optimal_tree() -> Any:
    try:
        from pycontree import ConTree
    except ImportError:
        return None
    return ConTree(max_depth=TREE_DEPTH, time_limit=TREE_SECONDS)


def measure(cell: Cell) -> pd.DataFrame:
    """Compute all rows of a cell."""
    fold = load_fold(cell.dataset, cell.fold)
    rows = []
    for discretization in METHODS[cell.method].discretize(fold):
        rows.extend(_rows(cell, fold, discretization))
    used = versions()
    frame = pd.DataFrame(rows)
    frame["seed"] = SEED
    for package in sorted(used):
        frame[f"version {package}"] = used[package]
    return frame


def _rows(cell: Cell, fold: Fold, found: Discretization) -> Iterator[dict[str, Any]]:
    table = found.table
    too_many = table is not None and len(table) > MOST_COLUMNS
    binarize = (lambda X: X) if table is None else (lambda X: _bins(table, X)) if too_many else table.binarize
    B, held_out, test = binarize(fold.X), binarize(fold.held_out[0]), binarize(fold.test[0])
    feature_of_column = np.arange(fold.X.shape[1]) if table is None else table.feature
    shared: dict[str, Any] = {
        "dataset": cell.dataset,
        "note": fold.note,
        "fold": cell.fold,
        "method": cell.method,
        "Q": found.Q,
        "lambda0": found.lambda0,
        "rows": len(fold.X),
        "columns": fold.X.shape[1],
        "test rows": len(test),
        "thresholds": np.nan if table is None else len(table),
        "features": len(np.unique(feature_of_column)),
        "compression": compression_rate(held_out),
        "inconsistency": inconsistency_rate(held_out, fold.held_out[1]),
        "training compression": compression_rate(B),
        "training inconsistency": inconsistency_rate(B, fold.y),
        "test inconsistency": inconsistency_rate(test, fold.test[1]),
        "target accuracy": np.nan if found.target is None else float(found.target.score(*fold.test)),
        "seconds target": found.seconds_target,
        "seconds": found.seconds,
        **{f"points {status}": found.statuses.get(status, 0) for status in STATUSES},
    }
    survives = found.survives is not None and table is not None
    shared["threshold feature"] = table.feature.tolist() if survives and table is not None else None
    shared["threshold value"] = _scaled(fold, table) if survives and table is not None else None
    shared["threshold survives"] = found.survives.tolist() if found.survives is not None else None
    if too_many:
        yield shared | {"classifier": None}
        return
    for name, classifier in _classifiers(cell.method, table is not None):
        begin = time.perf_counter()
        fitted = classifier.fit(B, fold.y)
        seconds = time.perf_counter() - begin
        optimal = isinstance(fitted, OptimalTreeClassifier)
        yield shared | {
            "classifier": name,
            "accuracy": _accuracy(fitted, test, fold.test[1]),
            "held-out accuracy": _accuracy(fitted, held_out, fold.held_out[1]),
            "training accuracy": _accuracy(fitted, B, fold.y),
            "classifier features": _features_asked(fitted, feature_of_column),
            "leaves": float(fitted.get_n_leaves()) if isinstance(fitted, DecisionTreeClassifier) else _leaves(fitted),
            "proven": bool(fitted.is_optimal_) if optimal else None,
            "gap": float(fitted.gap_) if optimal else np.nan,
            "seconds classifier": seconds,
        }
        shared["threshold feature"] = shared["threshold value"] = shared["threshold survives"] = None  # once per table


def _bins(table: Any, X: Rows) -> Rows:
    """Return the bin number of every value, one column per feature.

    The bins distinguish the same rows as the binary columns, but need less memory.
    """
    bins = np.zeros(X.shape, dtype=np.int64)
    for j in np.unique(table.feature):
        bins[:, j] = np.searchsorted(np.sort(table.threshold[table.feature == j]), X[:, j], side="left")
    return bins


def _scaled(fold: Fold, table: Any) -> list[float]:
    """Return the thresholds as shares of the training range of their features."""
    low, high = fold.X.min(axis=0)[table.feature], fold.X.max(axis=0)[table.feature]
    return ((table.threshold - low) / np.where(high > low, high - low, 1.0)).tolist()


def _accuracy(classifier: Any, X: Rows, y: Rows) -> float:
    return float(np.mean(np.asarray(classifier.predict(X)).ravel() == y))


def _leaves(classifier: Any) -> float:
    return float(classifier.n_leaves_) if isinstance(classifier, OptimalTreeClassifier) else np.nan


def _features_asked(classifier: Any, feature_of_column: Rows) -> float:
    """Count the features that the nodes of a tree test; NaN for other classifiers."""
    if not isinstance(classifier, DecisionTreeClassifier | OptimalTreeClassifier):
        return np.nan
    columns = classifier.tree_.feature
    return float(len(np.unique(feature_of_column[columns[columns >= 0]])))
