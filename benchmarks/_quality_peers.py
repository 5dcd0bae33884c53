"""Other methods in the quality benchmark: small trees as baselines, and black boxes as an upper benchmark."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from _quality_fits import Fitted, Method, leaf_probability, smoothed, timed
from _quality_tables import Split

SEED = 0
MAX_LEAVES = 8
MAX_DEPTH = 4
MOST_ALPHAS = 15
ROWS_PER_LEAF = 10.0  # the paper's penalty per leaf, in rows
PYCONTREE_DEPTH = 3
PYCONTREE_SECONDS = 20.0
EBM_BAGS = 2


# --- CART -------------------------------------------------------------------------------------------------------------


def cart(**settings: Any) -> Callable[[Split, float], Fitted]:
    """Return a function that fits CART with these settings."""

    def fit(split: Split, limit: float) -> Fitted:
        X, _ = split.encoded
        with timed() as timer:
            tree = DecisionTreeClassifier(random_state=SEED, **settings).fit(X, split.y)
        return cart_fitted(split, tree, timer.seconds)

    return fit


def cart_fitted(split: Split, tree: DecisionTreeClassifier, seconds: float) -> Fitted:
    """Collect the results of a fitted scikit-learn tree on the encoded rows."""
    X, X_test = split.encoded
    inner = tree.tree_.children_left >= 0
    conditions = set(zip(tree.tree_.feature[inner].tolist(), tree.tree_.threshold[inner].tolist(), strict=True))
    probability = leaf_probability(tree.apply(X), split.y, tree.apply(X_test), split.n_classes)
    return Fitted(probability, seconds, leaves=int(tree.get_n_leaves()), conditions=len(conditions))


def fit_pruned(split: Split, limit: float) -> Fitted:
    """Fit CART with the cost-complexity penalty that has the highest accuracy in 5-fold cross-validation."""
    (X, _), tree = split.encoded, DecisionTreeClassifier(random_state=SEED)
    with timed() as timer:
        alphas = np.unique(np.maximum(tree.cost_complexity_pruning_path(X, split.y).ccp_alphas, 0.0))
        positions = np.linspace(0, len(alphas) - 1, min(MOST_ALPHAS, len(alphas))).round().astype(int)
        search = GridSearchCV(tree, {"ccp_alpha": alphas[positions]}, cv=5).fit(X, split.y)
    return cart_fitted(split, search.best_estimator_, timer.seconds)


# --- other trees ------------------------------------------------------------------------------------------------------


def fit_pycontree(split: Split, limit: float) -> Fitted:
    """Fit the optimal tree of depth 3 on the encoded rows, with the paper's cost per leaf."""
    from pycontree import ConTree

    X, X_test = split.encoded
    settings = {"complexity_cost": ROWS_PER_LEAF / len(X), "time_limit": min(PYCONTREE_SECONDS, limit)}
    with warnings.catch_warnings(record=True) as caught, timed() as timer:
        warnings.simplefilter("always")
        model = ConTree(PYCONTREE_DEPTH, **settings).fit(X, split.y)
    proven = not any("time limit" in str(warning.message) for warning in caught)
    paths = list(_contree_paths(model.tree_, ()))
    conditions = {(feature, cut) for path in paths for feature, cut, _ in path}

    def leaf(rows: Any) -> Any:
        found = np.empty(len(rows), dtype=np.int64)
        for number, path in enumerate(paths):
            inside = np.ones(len(rows), dtype=bool)
            for feature, cut, is_left in path:
                inside &= (rows[:, feature] <= cut) == is_left
            found[inside] = number
        return found

    probability = leaf_probability(leaf(X), split.y, leaf(X_test), split.n_classes)
    return Fitted(probability, timer.seconds, leaves=len(paths), conditions=len(conditions), proven=proven)


def _contree_paths(node: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each leaf: feature, cut, and whether the path goes left."""
    if node.is_leaf_node():
        yield path
        return
    feature, cut = node.get_split_feature(), node.get_split_threshold()
    yield from _contree_paths(node.get_left(), (*path, (feature, cut, True)))
    yield from _contree_paths(node.get_right(), (*path, (feature, cut, False)))


def fit_licketysplit(split: Split, limit: float) -> Fitted:
    """Fit LicketySPLIT with its default cost per leaf, on all thresholds of its binarizer."""
    from licketysplit import LicketySPLITClassifier, ThresholdGuessBinarizer

    X, X_test = split.encoded
    with timed() as timer:
        binarizer = ThresholdGuessBinarizer(max_depth=2, column_elimination=False, random_state=SEED).fit(X, split.y)
        B = np.asarray(binarizer.transform(X)).astype(np.uint8)
        model = LicketySPLITClassifier(depth_budget=MAX_DEPTH).fit(B, split.y)
    B_test = np.asarray(binarizer.transform(X_test)).astype(np.uint8)
    paths, _ = model.get_tree_paths()
    leaf, leaf_test = model._leaf_ids_from_paths(B), model._leaf_ids_from_paths(B_test)
    return Fitted(
        leaf_probability(leaf, split.y, leaf_test, split.n_classes),
        timer.seconds,
        leaves=len(paths),
        conditions=len({abs(int(literal)) for path in paths for literal in path}),
        columns=B.shape[1],
    )


def fit_figs(split: Split, limit: float) -> Fitted:
    """Fit FIGS, a sum of trees, with seven splits, the number of splits of a tree with eight leaves."""
    from imodels import FIGSClassifier

    X, X_test = split.encoded
    with timed() as timer:
        model = FIGSClassifier(max_rules=MAX_LEAVES - 1, random_state=SEED).fit(X, split.y)
    clipped = np.maximum(model.predict_proba(X_test, use_clipped_prediction=True), 0.0)
    total = clipped.sum(axis=1, keepdims=True)
    probability = np.where(total > 0, clipped / np.where(total > 0, total, 1.0), 1.0 / split.n_classes)
    nodes = [node for root in model.trees_ for node in _nodes(root)]
    conditions = {(node.feature, node.threshold) for node in nodes if node.left is not None}
    leaves = sum(node.left is None for node in nodes)
    return Fitted(smoothed(probability, len(X)), timer.seconds, leaves=leaves, conditions=len(conditions))


def _nodes(node: Any) -> Iterator[Any]:
    """Yield a node of FIGS and all nodes below it."""
    yield node
    if node.left is not None:
        yield from _nodes(node.left)
        yield from _nodes(node.right)


# --- ceilings ---------------------------------------------------------------------------------------------------------


def random_forest() -> Any:
    """Create a random forest with default parameters."""
    return RandomForestClassifier(random_state=SEED, n_jobs=1)


def xgboost() -> Any:
    """Create an XGBoost classifier with default parameters."""
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=SEED, n_jobs=1)


def lightgbm() -> Any:
    """Create a LightGBM classifier with default parameters."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=SEED, n_jobs=1, verbose=-1)


def ceiling(make: Callable[[], Any]) -> Callable[[Split, float], Fitted]:
    """Return a function that fits a black box on the encoded rows."""

    def fit(split: Split, limit: float) -> Fitted:
        X, X_test = split.encoded
        with timed() as timer:
            model = make().fit(X, split.y)
        return Fitted(smoothed(np.asarray(model.predict_proba(X_test), dtype=np.float64), len(X)), timer.seconds)

    return fit


def ebm() -> Any:
    """Create an EBM with fewer outer bags than its default of 14, which takes minutes per fit."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(outer_bags=EBM_BAGS, random_state=SEED, n_jobs=1)


CARTS = "CART"
PEERS = "other trees"
CEILINGS = "ceilings"
#: Baselines with at most eight leaves, with which the default is compared.
SMALL_CARTS = ("CART depth 3", "CART 8 leaves", "CART 8 leaves log-loss")

METHODS = (
    Method("CART depth 3", CARTS, cart(max_depth=3)),
    Method("CART depth 4", CARTS, cart(max_depth=4)),
    Method("CART 8 leaves", CARTS, cart(max_leaf_nodes=MAX_LEAVES)),
    Method("CART 8 leaves log-loss", CARTS, cart(max_leaf_nodes=MAX_LEAVES, criterion="log_loss", min_samples_leaf=5)),
    Method("CART pruned by CV", CARTS, fit_pruned, most_splits=5),
    Method("pycontree", PEERS, fit_pycontree, ("pycontree", "pycontree"), most_splits=1),
    Method("LicketySPLIT", PEERS, fit_licketysplit, ("licketysplit", "licketysplit"), most_splits=5),
    Method("FIGS", PEERS, fit_figs, ("imodels", "imodels"), most_splits=5),
    Method("XGBoost", CEILINGS, ceiling(xgboost), ("xgboost", "xgboost"), most_splits=5),
    Method("random forest", CEILINGS, ceiling(random_forest), most_splits=5),
    Method("LightGBM", CEILINGS, ceiling(lightgbm), ("lightgbm", "lightgbm"), most_splits=5),
    Method("EBM", CEILINGS, ceiling(ebm), ("interpret", "interpret-core"), most_splits=1),
)
