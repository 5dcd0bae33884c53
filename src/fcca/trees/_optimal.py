"""OptimalTreeClassifier: the decision tree with the lowest cost on the training rows, with proof."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import Tags, check_array, check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from fcca import _core
from fcca.exceptions import InvalidInputError, LightWeightsWarning, UnfinishedSearchWarning
from fcca.tables import Column, Columns, SoftLabels, check_weights
from fcca.trees._answers import ACCEPTED_TYPES, TreeAnswersMixin
from fcca.trees._columns import check_number_of_columns, zeros_and_ones
from fcca.trees._criteria import CRITERIA, default_leaf_price, leaf_cost
from fcca.trees._labels import HardLabels
from fcca.trees._numeric_columns import NumericColumns
from fcca.trees._structure import TreeStructure
from fcca.utils import limits_in_words, progress_shown, proof_in_words, step

Floats = NDArray[np.float64]

DEEPEST = 1_000_000  # no tree that can be searched is deeper
MOST_LEAVES = 1_000_000


class _Found(NamedTuple):
    """The tree that a search found, and the lower bound that it proved."""

    structure: TreeStructure  # without weights
    bound: float
    is_optimal: bool
    n_nodes: int
    n_midpoints: int  # number of thresholds of columns that are split at all midpoints
    missing_columns: NDArray[np.int32]


class OptimalTreeClassifier(TreeAnswersMixin, ClassifierMixin, BaseEstimator):
    """Decision tree proven to have the lowest objective on the training rows.

    The objective is ``cost of all leaves / training weight + regularization * number of leaves``. The training weight is the
    sum of the weights of all training rows. The proof covers all trees within the limits on depth, leaves and leaf size that
    split at the thresholds described in :meth:`fit`.

    Parameters
    ----------
    max_depth : int or None, default=4
        Longest path from the root to a leaf. With None, only ``max_leaf_nodes`` and ``regularization`` limit the depth.
    max_leaf_nodes : int or None, default=8
        Maximum number of leaves; None for no limit.
    criterion : {"error", "gini", "log_loss", "evidence", "error+log_loss"}, default="error+log_loss"
        How to compute the cost of a leaf. Let ``w_k`` be the training weight of class k in the leaf, and ``n`` their sum.
        ``"error"``: the weight of all classes except the class with the largest weight.
        ``"gini"``: ``n`` times the Gini impurity. ``"log_loss"``: ``n`` times the log-loss of the smoothed class
        probabilities of the leaf. ``"evidence"``: minus the logarithm of the marginal likelihood of the labels, with a
        Dirichlet(½) prior on the class probabilities. ``"error+log_loss"``: the log-loss plus half the error.
    regularization : float, default=None
        Penalty per leaf, in units of the criterion per row. None uses the description length of a leaf divided by the
        training weight. The description length is a sum of two terms. The first is the logarithm of the number of conditions
        that a node can test. The second is the number of classes minus 1, as in Akaike's criterion. ``"evidence"`` already
        includes a penalty for the classes, so only the logarithm is used. ``"error"`` uses the paper's penalty of ten rows.
        With soft labels, the default penalty is half as large.
    min_samples_leaf : int, default=1
        Minimum number of training rows in a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Minimum share of the training weight in a leaf.
    class_weight : dict or "balanced", default=None
        Weights of classes, as in scikit-learn.
    time_limit : float, default=None
        Maximum duration of the search in seconds. After that, the best tree found so far is used, with a warning.
        ``lower_bound_`` says how much better another tree could be.
    max_nodes : int, default=None
        Maximum number of branches of the search. It works like ``time_limit``, but gives the same tree on every machine.

    Attributes
    ----------
    objective_ : float
        ``cost of all leaves / training weight + regularization_ * n_leaves_``.
    lower_bound_ : float
        No tree within the limits has a smaller objective than this.
    gap_ : float
        ``(objective_ - lower_bound_) / objective_``; 0 if the tree is proven optimal.
    is_optimal_ : bool
        Whether it is proven that no tree within the limits has a smaller objective on the training rows.
    n_leaves_, depth_ : int
        Size of the tree.
    regularization_ : float
        Penalty per leaf that was used.
    tree_ : TreeStructure
        The nodes of the tree.
    classes_ : ndarray
    missing_columns_ : ndarray of int
        Columns with missing values in the training rows. Without such columns, missing values are an error in ``predict``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCADiscretizer, OptimalTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> B = FCCADiscretizer(Q=0.7).fit_transform(X, y)
    >>> tree = OptimalTreeClassifier(max_depth=3).fit(B, y)
    >>> tree.is_optimal_, tree.n_leaves_ <= 8
    (True, True)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 2, MOST_LEAVES, closed="both"), None],
        "criterion": [StrOptions(set(CRITERIA))],
        "min_samples_leaf": [Interval(Integral, 1, 2**52, closed="left")],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "regularization": [Interval(Real, 0, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "max_nodes": [Interval(Integral, 0, 2**63, closed="left"), None],
    }

    def __init__(
        self,
        max_depth: int | None = 4,
        *,
        max_leaf_nodes: int | None = 8,
        criterion: str = "error+log_loss",
        regularization: float | None = None,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
        time_limit: float | None = None,
        max_nodes: int | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.criterion = criterion
        self.regularization = regularization
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.max_nodes = max_nodes

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, probability: ArrayLike | None = None) -> Self:
        """Search for the tree with the lowest objective on the training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Training rows. Columns of 0 and 1 are used directly. Other columns may be split at every midpoint between
            neighbouring training values, and their values may be missing, as NaN. The search chooses the side of the
            missing values at every split, and may also separate them from all other values.
        y : array-like of shape (n_rows,)
            Labels of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Real numbers. A row with weight 2 counts as two identical rows. A row with weight 0 is left out.
        probability : array-like of shape (n_rows, n_classes), optional
            Class probabilities of a black box, in the order of the sorted labels. They are rounded to multiples of 1/16 and
            used as soft labels: the tree is fitted to these probabilities, and ``objective_`` is computed from them. The
            nodes still hold the weights of the labels.

        Returns
        -------
        self
        """
        soft = None
        if probability is not None:
            shares = check_array(probability, dtype=np.float64, input_name="probability")
            check_consistent_length(X, shares)
            if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1):
                raise InvalidInputError("'probability' must not have negative values, and each row must sum to 1.")
            soft = SoftLabels.of(shares, check_weights(sample_weight, len(shares)))
        return self.fit_counted(X, y, sample_weight, soft=soft)

    def fit_counted(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        n_rows: NDArray[np.int64] | None = None,
        soft: SoftLabels | None = None,
    ) -> Self:
        """Search for the tree, given distinct rows with counts.

        Parameters
        ----------
        X, y : as in fit
        sample_weight : array-like of shape (n_rows,), optional
            Total weight of the equal rows that each row of X represents.
        n_rows : ndarray of shape (n_rows,), optional
            Number of equal rows that each row of X represents. None means one each.
        soft : SoftLabels, optional
            Soft labels that the tree learns instead of the labels, such as the class probabilities of a black box.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=ACCEPTED_TYPES, order="C", ensure_all_finite="allow-nan")
        if y.dtype.kind not in "iub":
            check_classification_targets(y)
        weight = check_weights(sample_weight, len(X))
        n_rows = np.ones(len(X), dtype=np.int64) if n_rows is None else n_rows
        kept = weight > 0
        if not kept.all():
            X, y, weight, n_rows = X[kept], y[kept], weight[kept], n_rows[kept]
            soft = None if soft is None else soft.rows(kept)
        label, classes = pd.factorize(y, sort=True)  # by hashing: np.unique would sort all rows
        if y.dtype.kind in "iub" and 2 * len(classes) > len(y):  # with fewer classes, whole numbers pass the check
            check_classification_targets(y)
        self.classes_ = np.asarray(classes, dtype=y.dtype)
        labels = HardLabels(label.astype(np.int32), self.row_weights(y, weight), n_rows, len(self.classes_))
        if soft is not None:
            _check_soft(soft, len(X), len(self.classes_))
        if soft is None or len(self.classes_) == 1:  # a single class has nothing to learn
            return self._grow(X, labels, labels)
        if self.class_weight is not None:
            factor = np.ones(len(self.classes_))
            factor[label] = labels.weight / weight
            soft = soft.times(factor)
        return self._grow(X, labels, soft)

    def _grow(self, X: NDArray[Any], labels: HardLabels, learned: HardLabels | SoftLabels) -> Self:
        """Search for the tree with the lowest objective, and compute its class weights.

        ``learned`` are the labels or soft labels that the objective is computed from. The nodes get the weights of
        ``labels``.
        """
        with progress_shown(None), step("Optimal tree"):
            found = self._search(X, learned)
        soft = learned if isinstance(learned, SoftLabels) else None
        self.tree_ = found.structure.grown(X, labels, soft)
        self.missing_columns_ = found.missing_columns
        self.is_optimal_, self.n_nodes_searched_ = found.is_optimal, found.n_nodes
        # The objective is recomputed from the tree itself. The sum of the search only guides the search.
        total = learned.total
        cost = leaf_cost(self.tree_.learned_weight[self.tree_.feature < 0], self.criterion).sum()
        self.objective_ = float(max(0.0, cost) / total + self.regularization_ * self.tree_.n_leaves)
        self.lower_bound_ = (
            self.objective_ if found.is_optimal else float(min(found.bound / (total * learned.units), self.objective_))
        )
        self.gap_ = (self.objective_ - self.lower_bound_) / self.objective_ if self.objective_ > 0 else 0.0
        self.n_leaves_, self.depth_ = self.tree_.n_leaves, self.tree_.depth
        if not self.is_optimal_:
            self._warn_unfinished(found.n_midpoints)
        return self

    def _search(self, X: NDArray[Any], rows: HardLabels | SoftLabels) -> _Found:
        """Choose the search for the columns, and run it."""
        binary = zeros_and_ones(X)
        if binary is not None:
            check_number_of_columns(binary.shape[1], len(self.classes_))
            return self._search_binary_columns(binary, rows)
        return self._search_raw_columns(NumericColumns.of(X), rows)

    def _search_binary_columns(self, table: NDArray[np.uint8], rows: HardLabels | SoftLabels) -> _Found:
        self.regularization_ = self._checked_regularization(rows, table.shape[1])
        _, bound, is_optimal, n_nodes, column, left, right = _core.solve_tree(table=table, **self._task(rows))
        structure = TreeStructure.of_splits(column, np.where(column >= 0, 0.5, np.nan), left, right)
        return _Found(structure, bound, bool(is_optimal), int(n_nodes), 0, np.empty(0, dtype=np.int32))

    def _search_raw_columns(self, columns: NumericColumns, rows: HardLabels | SoftLabels) -> _Found:
        self.regularization_ = self._checked_regularization(rows, columns.n_thresholds)
        _, bound, is_optimal, n_nodes, copy, rank_left, rank_right, left, right = _core.solve_raw_tree(
            rank=columns.rank, **self._task(rows)
        )
        inner = np.flatnonzero(copy >= 0)
        feature, threshold = np.full(len(copy), -1, dtype=np.int32), np.full(len(copy), np.nan)
        feature[inner] = columns.feature[copy[inner]]
        for node in inner:
            threshold[node] = columns.threshold(copy[node], rank_left[node], rank_right[node])
        sends_missing_right = inner[columns.missing_right[copy[inner]]]
        asks_missing = frozenset(sends_missing_right[np.isnan(threshold[sends_missing_right])].tolist())
        missing_right = frozenset(sends_missing_right.tolist()) - asks_missing
        structure = TreeStructure.of_splits(feature, threshold, left, right, asks_missing, missing_right)
        missing = columns.feature[columns.missing_right]
        return _Found(structure, bound, bool(is_optimal), int(n_nodes), columns.n_thresholds, missing)

    def _task(self, rows: HardLabels | SoftLabels) -> dict[str, Any]:
        """Return the arguments that both searches share."""
        total = rows.total * rows.units
        return {
            "label": rows.label,
            "weight": rows.weight.ravel(),
            "units": rows.units,
            "count": rows.n_rows if self.min_samples_leaf > 1 else None,
            "n_classes": max(2, len(self.classes_)),
            "criterion": CRITERIA[self.criterion],
            "penalty": self.regularization_ * total,
            "max_depth": DEEPEST if self.max_depth is None else min(self.max_depth, DEEPEST),
            "max_leaves": self.max_leaf_nodes,
            "min_weight": self.min_weight_fraction_leaf * total,
            "min_rows": self.min_samples_leaf,
            "max_nodes": self.max_nodes,
            "time_limit": np.inf if self.time_limit is None else self.time_limit,
        }

    def _warn_unfinished(self, n_midpoints: int) -> None:
        advice = (
            f" X was split at all {n_midpoints} midpoints. With fewer thresholds, for example from FCCADiscretizer, "
            "the search is far smaller."
            if n_midpoints
            else ""
        )
        proof = proof_in_words(self.objective_, self.lower_bound_, is_optimal=False)
        warnings.warn(
            f"{limits_in_words(self.time_limit, self.max_nodes)} stopped the search. The tree is {proof}.{advice}",
            UnfinishedSearchWarning,
            stacklevel=4,
        )

    def check_parameters(self) -> None:
        """Check the types and values of the parameters without fitting."""
        self._validate_params()

    def row_weights(self, y: NDArray[Any], weight: Floats) -> Floats:
        """Multiply the weight of each row by the weight that ``class_weight`` gives to its class.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Label of each row.
        weight : ndarray of shape (n_rows,)
            Weight of each row, such as a sample weight.
        """
        if self.class_weight is None:
            return weight
        weight = weight * _class_weights(self.class_weight, y, weight)
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
            raise InvalidInputError(
                f"class_weight must be finite, not negative, and not 0 for all classes in y, got {self.class_weight}."
            )
        return weight

    def _checked_regularization(self, learned: HardLabels | SoftLabels, n_conditions: int) -> float:
        if self.regularization is not None:
            if not np.isfinite(self.regularization):
                raise InvalidInputError(f"regularization must be finite, got {self.regularization!r}.")
            return float(self.regularization)
        total, n_rows = learned.total, int(learned.n_rows.sum())
        is_soft = isinstance(learned, SoftLabels)
        regularization = default_leaf_price(self.criterion, len(self.classes_), n_conditions, is_soft=is_soft) / total
        if total < n_rows / 10:
            warnings.warn(
                f"The weights of {n_rows} rows sum to {total:.4g}, so the default regularization of {regularization:.4g} "
                "allows only leaves with a large share of the weight. Scale the weights to mean 1 or set regularization.",
                LightWeightsWarning,
                stacklevel=7,
            )
        return regularization

    @property
    def _structure(self) -> TreeStructure:
        return self.tree_

    @property
    def _columns(self) -> Columns | None:
        if not len(self.missing_columns_):
            return None
        return Columns(tuple(Column(missing=j in self.missing_columns_) for j in range(self.n_features_in_)))

    def _checked_table(self, X: Any) -> NDArray[Any]:
        allowed = "allow-nan" if len(self.missing_columns_) else True
        table: NDArray[Any] = validate_data(self, X, dtype=ACCEPTED_TYPES, reset=False, ensure_all_finite=allowed)
        return table

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _check_soft(soft: SoftLabels, n_rows: int, n_classes: int) -> None:
    """Raise an error if soft labels do not have the shape ``(n_rows, n_classes)``."""
    if soft.weight.shape != (n_rows, n_classes):
        raise InvalidInputError(
            "'probability' must have one row per row of X and one column per class of y. Expected the shape "
            f"{(n_rows, n_classes)}, got {soft.weight.shape}."
        )


def _class_weights(class_weight: dict[Any, float] | str, y: NDArray[np.generic], weight: Floats) -> Floats:
    """Return the factor that ``class_weight`` gives to each row.

    ``balanced`` gives all classes the same total weight.
    """
    if class_weight != "balanced":
        per_row: Floats = compute_sample_weight(class_weight, y)
        return per_row
    classes, label = np.unique(y, return_inverse=True)
    mass = np.bincount(label, weights=weight)
    balanced: Floats = (weight.sum() / (len(classes) * mass))[label]
    return balanced
