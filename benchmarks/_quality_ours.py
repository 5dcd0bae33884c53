"""Trees of fcca in the quality benchmark: on its thresholds, on deciles, and on GTRE's thresholds."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator

import fcca
from _quality_fits import Fitted, Method, leaf_probability, timed
from _quality_peers import lightgbm, random_forest, xgboost
from _quality_tables import Split, split_of
from fcca import FCCAClassifier, FCCADiscretizer, GTREDiscretizer, OptimalTreeClassifier, ThresholdTable, _core
from fcca.tables import SoftLabels

DECILES = np.arange(1, 10) / 10
#: Seconds of the search for the tree, which is then returned with its gap.
TREE_SECONDS = 10.0
#: Seconds for the counterfactuals. Those not found by then are left out.
SEARCH_SECONDS = 30.0
#: The same for a black box that a user brings.
TEACHER_SECONDS = 10.0


# --- the interface of fcca, one function per variant -------------------------------------------------------------------


def optimal_tree(**settings: Any) -> OptimalTreeClassifier:
    """Create an optimal tree with default parameters, except for the given settings."""
    return OptimalTreeClassifier(time_limit=TREE_SECONDS, **settings)


def default_classifier() -> FCCAClassifier:
    """Create ``FCCAClassifier()`` with time limits on its searches."""
    return FCCAClassifier(FCCADiscretizer(time_limit=SEARCH_SECONDS), optimal_tree())


def paper_classifier() -> FCCAClassifier:
    """Create the classifier with the paper's settings."""
    return FCCAClassifier(preset="paper")


def taught_classifier(black_box: Any) -> FCCAClassifier:
    """Create the default classifier with another black box."""
    return FCCAClassifier(FCCADiscretizer(black_box, time_limit=TEACHER_SECONDS), optimal_tree())


# --- fits -------------------------------------------------------------------------------------------------------------


class Default(NamedTuple):
    """The default classifier of a split, with the CPU seconds of its fit and of the steps before the tree."""

    classifier: FCCAClassifier
    seconds: float
    before_tree: float


@lru_cache(maxsize=1)
def fitted_default(table: str, seed: int) -> Default:
    """Fit the default classifier once per split, because other methods use the same thresholds."""
    split, tree_seconds = split_of(table, seed), 0.0
    grow = FCCAClassifier.grow

    def timed_grow(*arguments: Any, **options: Any) -> Any:
        nonlocal tree_seconds
        with timed() as timer:
            found = grow(*arguments, **options)
        tree_seconds += timer.seconds
        return found

    with mock.patch.object(FCCAClassifier, "grow", timed_grow), timed() as timer:
        classifier = default_classifier().fit(split.X, split.y)
    return Default(classifier, timer.seconds, timer.seconds - tree_seconds)


def fit_default(split: Split, limit: float) -> Fitted:
    """Fit ``FCCAClassifier()``."""
    found = fitted_default(split.table, split.seed)
    return classifier_fitted(split, found.classifier, found.seconds)


def classifier_fitted(split: Split, classifier: FCCAClassifier, seconds: float) -> Fitted:
    """Collect the results of a fitted classifier and its black box."""
    leaf, leaf_test = classifier.apply(split.X), classifier.apply(split.X_test)
    return Fitted(
        leaf_probability(leaf, split.y, leaf_test, split.n_classes),
        seconds,
        leaves=classifier.tree_.n_leaves_,
        conditions=n_conditions(classifier.tree_),
        columns=len(classifier.discretizer_.thresholds_),
        black_box=np.asarray(classifier.discretizer_.predict_target(split.X_test)),
        proven=classifier.tree_.is_optimal_,
    )


def n_conditions(tree: OptimalTreeClassifier) -> int:
    """Count the distinct conditions of a tree on binary columns."""
    return len(np.unique(tree.tree_.feature[tree.tree_.feature >= 0]))


def fit_classifier(make: Callable[[], FCCAClassifier]) -> Callable[[Split, float], Fitted]:
    """Return a function that fits a classifier: black box, thresholds and tree."""

    def fit(split: Split, limit: float) -> Fitted:
        with timed() as timer:
            classifier = make().fit(split.X, split.y)
        return classifier_fitted(split, classifier, timer.seconds)

    return fit


def tree_on(split: Split, table: ThresholdTable, seconds: float, *, of_labels: bool = False, **settings: Any) -> Fitted:
    """Fit an optimal tree on the conditions of a table.

    Parameters
    ----------
    split : Split
    table : ThresholdTable
    seconds : float
        CPU seconds to find the conditions.
    of_labels : bool
        True fits the tree to the labels, False to what the default learns: a mixture of the labels and the class
        probabilities of its black box.
    **settings
        Parameters of the tree.
    """
    discretizer = fitted_default(split.table, split.seed).classifier.discretizer_
    soft = None if of_labels else SoftLabels.of(discretizer.estimator_.predict_proba(split.X)).mixed(split.y, None)
    B, B_test = table.binarize(split.X), table.binarize(split.X_test)
    with timed() as timer:
        tree = optimal_tree(**settings).fit_counted(B, split.y, soft=soft)
    return Fitted(
        leaf_probability(tree.apply(B), split.y, tree.apply(B_test), split.n_classes),
        seconds + timer.seconds,
        leaves=tree.n_leaves_,
        conditions=n_conditions(tree),
        columns=len(table),
        black_box=np.asarray(discretizer.predict_target(split.X_test)),
        proven=tree.is_optimal_,
    )


def other_tree(**settings: Any) -> Callable[[Split, float], Fitted]:
    """Return a function that fits a tree on the thresholds of the default, with other settings of :func:`tree_on`."""

    def fit(split: Split, limit: float) -> Fitted:
        found = fitted_default(split.table, split.seed)
        return tree_on(split, found.classifier.discretizer_.thresholds_, found.before_tree, **settings)

    return fit


def fit_deciles(split: Split, limit: float) -> Fitted:
    """Fit the default tree on the deciles of every column."""
    with timed() as timer:
        table = decile_table(split.X)
    return tree_on(split, table, timer.seconds)


def decile_table(X: pd.DataFrame) -> ThresholdTable:
    """Build conditions at the deciles of every numeric column, one per category, and one for missing values."""
    conditions: list[tuple[str, Any]] = []
    for name, column in X.items():
        present = column.dropna()
        if column.dtype == object:
            categories = sorted(present.unique())
            conditions += [(name, {category}) for category in (categories[1:] if len(categories) == 2 else categories)]
        else:
            cuts = np.unique(np.quantile(present, DECILES, method="inverted_cdf"))
            conditions += [(name, float(cut)) for cut in cuts[cuts < present.max()]]
        if len(present) < len(column):
            conditions.append((name, None))
    return ThresholdTable.from_list(conditions, X)


def fit_gtre(split: Split, limit: float) -> Fitted:
    """Fit the default tree on the most important thresholds of GTRE, the same number as the default has.

    The reference ensemble is the default's black box. Its fit is not part of the seconds.
    """
    default = fitted_default(split.table, split.seed).classifier.discretizer_
    reference = FrozenEstimator(default.estimator_)
    with timed() as timer:
        found = GTREDiscretizer(reference, column_elimination=False, as_gosdt=False).fit(split.X, split.y).thresholds_
        order = np.argsort(-found.count, kind="stable")
        table = found.select(np.isin(np.arange(len(found)), order[: len(default.thresholds_)]))
    return tree_on(split, table, timer.seconds)


def taught(make: Callable[[], Any]) -> Callable[[Split, float], Fitted]:
    """Return a function that fits the default tree on the thresholds of another black box."""
    return fit_classifier(lambda: taught_classifier(make()))


def package_files() -> tuple[Path, ...]:
    """List the files of fcca on which its trees depend."""
    return (*sorted(Path(fcca.__file__).parent.rglob("*.py")), Path(_core.__file__))


OURS = "fcca"
THRESHOLDS = "optimal trees on other thresholds"
TEACHERS = "fcca with another black box"
DEFAULT = "fcca default"

FCCA = ("fcca", "fcca")

METHODS = tuple(
    Method(name, group, fit, library, most_splits, package_files)
    for name, group, fit, library, most_splits in (
        (DEFAULT, OURS, fit_default, FCCA, 10),
        ("fcca labels", OURS, other_tree(of_labels=True), FCCA, 5),
        ("fcca error", OURS, other_tree(of_labels=True, criterion="error"), FCCA, 5),
        ("fcca log_loss", OURS, other_tree(criterion="log_loss"), FCCA, 5),
        ("fcca evidence", OURS, other_tree(criterion="evidence"), FCCA, 5),
        ("fcca paper", OURS, fit_classifier(paper_classifier), FCCA, 5),
        ("deciles", THRESHOLDS, fit_deciles, FCCA, 5),
        ("GTRE", THRESHOLDS, fit_gtre, FCCA, 5),
        ("fcca of XGBoost", TEACHERS, taught(xgboost), ("xgboost", "xgboost"), 1),
        ("fcca of random forest", TEACHERS, taught(random_forest), FCCA, 1),
        ("fcca of LightGBM", TEACHERS, taught(lightgbm), ("lightgbm", "lightgbm"), 1),
    )
)
