"""FCCAClassifier: black box, bins and certified tree in one estimator, in the user's own units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, validate_data

from fcca._columns import Columns
from fcca._weights import check_weights
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import InvalidInputError
from fcca.metrics import compression_rate, fidelity, inconsistency_rate
from fcca.trees import OptimalTreeClassifier, TreeAnswersMixin, TreeStructure

__all__ = ["FCCAClassifier", "TrainingTable", "choose_granularity"]

Floats = NDArray[np.float64]

#: The levels of granularity in the paper.
GRANULARITIES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


class TrainingTable(NamedTuple):
    """The rows that a classifier was fitted on, those of weight 0 left out."""

    X: Any
    y: NDArray[Any]
    sample_weight: Floats | None
    rows: NDArray[np.int64]  # which rows of the table that fit was given


class FCCAClassifier(TreeAnswersMixin, ClassifierMixin, BaseEstimator):
    """A small decision tree in place of a black box: provably the best one on the thresholds that the black box hangs on.

    Parameters
    ----------
    discretizer : FCCADiscretizer, default=None
        Finds the thresholds, or another one that takes them from a classifier, such as GTREDiscretizer; None is
        ``FCCADiscretizer()``.
    tree : OptimalTreeClassifier, default=None
        The tree on the 0/1 columns; None is ``OptimalTreeClassifier(max_depth=3)``.
    fit_to : {"labels", "target"}, default="labels"
        What the tree learns: the labels, or the answers of the black box.

    Attributes
    ----------
    discretizer_ : FCCADiscretizer
        Fitted; its ``estimator_`` is the black box.
    tree_ : OptimalTreeClassifier
        Fitted on the 0/1 columns. Its ``objective_``, ``lower_bound_``, ``gap_`` and ``is_optimal_`` are the certificate.
    structure_ : TreeStructure
        The same tree in raw units; categories by their codes, positions in ``discretizer_.thresholds_.columns``.
    fidelity_ : float
        Share of the training weight that the tree answers as the black box does.
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> classifier.tree_.is_optimal_
    True
    >>> classifier.score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "discretizer": [HasMethods(["fit", "transform", "predict_target"]), None],
        "tree": [HasMethods(["fit", "predict"]), None],
        "fit_to": [StrOptions({"labels", "target"})],
    }

    def __init__(self, discretizer: Any = None, tree: Any = None, fit_to: str = "labels") -> None:
        self.discretizer = discretizer
        self.tree = tree
        self.fit_to = fit_to

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit black box, thresholds and tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Numbers, in their own units; and categories, columns of texts or of pandas' category type. Values may be missing.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.discretizer_ = self._new_discretizer().fit(X, y, **weights)
        validate_data(self, X, skip_check_array=True)  # notes the columns
        self._training = _weighted_rows(X, y, sample_weight)
        self._grow(self._training)
        return self

    def _grow(self, rows: TrainingTable) -> None:
        """Grow the tree on the thresholds that the discretizer has."""
        weights = {} if rows.sample_weight is None else {"sample_weight": rows.sample_weight}
        answers = self.discretizer_.predict_target(rows.X)
        B = self.discretizer_.transform(rows.X)
        self.tree_ = self._new_tree().fit(B, rows.y if self.fit_to == "labels" else answers, **weights)
        self.classes_ = self.tree_.classes_
        structure: TreeStructure = self.tree_.tree_.with_conditions(self.discretizer_.thresholds_)
        self.structure_ = structure
        self.fidelity_ = fidelity(self.tree_.predict(B), answers, **weights)

    def at_granularity(
        self, Q: float, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> FCCAClassifier:
        """The classifier at another granularity: same black box, same counterfactuals, only the tree is grown anew.

        Parameters
        ----------
        Q : float
            Keep the thresholds crossed at least as often as the Q-quantile of all counts.
        X, y, sample_weight : as in fit, optional
            The training rows; see :meth:`training_data`.

        Returns
        -------
        FCCAClassifier
            A new one; this one stays as it is.
        """
        rows = self.training_data(X, y, sample_weight)
        if not hasattr(self.discretizer_, "set_granularity"):
            raise InvalidInputError(f"{type(self.discretizer_).__name__} has no granularity; FCCADiscretizer has.")
        other: FCCAClassifier = clone(self)
        other.discretizer = (FCCADiscretizer() if self.discretizer is None else other.discretizer).set_params(Q=Q)
        other.discretizer_ = copy(self.discretizer_).set_granularity(Q)
        validate_data(other, rows.X, skip_check_array=True)
        other._training = rows
        other._grow(rows)
        return other

    def training_data(self, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None) -> TrainingTable:
        """The rows that it was fitted on, those of weight 0 left out.

        The classifier keeps them by reference, in memory only: a pickle or a copy does not hold them, and then they have to
        be given again.

        Parameters
        ----------
        X, y, sample_weight : as in fit, optional
            The rows; None takes those in memory.

        Returns
        -------
        TrainingTable
            ``X``, ``y``, ``sample_weight``, and ``rows``, which rows of the table given to fit they are.
        """
        check_is_fitted(self)
        if (X is None) != (y is None) or (X is None and sample_weight is not None):
            raise InvalidInputError("X, y and sample_weight belong together: give them all, or none.")
        if X is None and not hasattr(self, "_training"):
            raise InvalidInputError(
                "This classifier was loaded or copied, so the rows that it was fitted on are not in memory. Give X and y."
            )
        rows = self._training if X is None else _weighted_rows(X, y, sample_weight)
        if not (self._fills_the_tree(rows) and self._starts_the_counterfactuals(rows)):
            reason = "They were changed since." if X is None else "Give X, y and sample_weight as they were in fit."
            raise InvalidInputError(f"These are not the rows that the classifier was fitted on. {reason}")
        return rows

    def _fills_the_tree(self, rows: TrainingTable) -> bool:
        """Whether the leaves hold as many of these rows, and as much weight of each class, as they did in fit."""
        nodes = self.structure_
        is_leaf = nodes.feature < 0
        leaf = nodes.leaf_of(self._checked_table(rows.X))
        weight = np.ones(len(leaf)) if rows.sample_weight is None else rows.sample_weight
        shape = nodes.weight.shape
        if self.fit_to == "labels":
            label, known = pd.Index(self.classes_).get_indexer(rows.y), nodes.weight
            if (label < 0).any():
                return False
        else:
            label, known, shape = np.zeros(len(leaf), dtype=np.int64), nodes.weight.sum(axis=1), (shape[0], 1)
        held = np.bincount(leaf * shape[1] + label, weights=weight, minlength=shape[0] * shape[1]).reshape(known.shape)
        n_rows = np.bincount(leaf, minlength=shape[0])
        return np.array_equal(n_rows[is_leaf], nodes.n_rows[is_leaf]) and np.allclose(
            held[is_leaf], known[is_leaf], rtol=1e-9
        )

    def _starts_the_counterfactuals(self, rows: TrainingTable) -> bool:
        """Whether every move of a counterfactual starts where its row is: the order of the rows matters, too."""
        found = getattr(self.discretizer_, "counterfactuals_", None)
        if found is None:
            return True
        at = np.searchsorted(rows.rows, found.rows)
        if len(at) and (at.max() >= len(rows.rows) or not np.array_equal(rows.rows[at], found.rows)):
            return False
        table = self._checked_table(rows.X) if self._columns is None else self._columns.encode(rows.X)
        origin = np.asarray(table[at[found.moves.point], found.moves.feature], dtype=np.float64)
        return np.array_equal(origin, found.moves.origin, equal_nan=True)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_training"}

    def _new_discretizer(self) -> Any:
        discretizer = FCCADiscretizer() if self.discretizer is None else clone(self.discretizer)
        return discretizer.set_output(transform="default")

    def _new_tree(self) -> Any:
        return OptimalTreeClassifier(max_depth=3) if self.tree is None else clone(self.tree)

    @property
    def _structure(self) -> TreeStructure:
        return self.structure_

    @property
    def _columns(self) -> Columns | None:
        columns: Columns | None = self.discretizer_.thresholds_.columns
        return columns

    def _checked_table(self, X: Any) -> NDArray[Any]:
        if self._columns is None:
            return super()._checked_table(X)
        validate_data(self, X, skip_check_array=True, reset=False)  # compares the columns' names and number
        asked = self.structure_.feature
        return self._columns.for_answers(asked[asked >= 0].tolist()).encode(X)

    def to_sklearn(self) -> DecisionTreeClassifier:
        """A fitted DecisionTreeClassifier with the same nodes, for ``plot_tree``, ``export_text``, dtreeviz or shap.

        It takes X, in raw units, where all conditions of the tree are thresholds, and answers alike, except that
        scikit-learn's trees cast X to 32-bit floats first: a value closer to a threshold than those can tell may go to the
        other side. Where some are sets of categories or ask for missing values, which scikit-learn's trees cannot test, it
        takes the 0/1 columns, ``discretizer_.transform(X)``, and its columns are named for their conditions.
        """
        check_is_fitted(self)
        if self.structure_.has_cuts_only and not (self._columns is not None and self._columns.has_categories):
            return super().to_sklearn()
        names = self.discretizer_.get_feature_names_out()
        on_conditions: TreeStructure = self.tree_.tree_
        return on_conditions.to_sklearn(self.classes_, len(names), names)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(FCCADiscretizer() if self.discretizer is None else self.discretizer).input_tags
        for name in ("allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def fidelity(self, X: Any, sample_weight: ArrayLike | None = None) -> float:
        """Share of rows that the tree answers as the black box does."""
        check_is_fitted(self)
        return fidelity(self.predict(X), self.discretizer_.predict_target(X), sample_weight)

    def granularity_path(
        self,
        X: Any,
        y: Any,
        *,
        Q: Sequence[float] = GRANULARITIES,
        lambda0: Sequence[float] | None = None,
        cv: Any = 5,
        sample_weight: ArrayLike | None = None,
        per_fold: bool = False,
    ) -> pd.DataFrame:
        """What becomes of the tree as the discretization gets coarser, by cross-validation.

        The black box is fitted once per fold, the counterfactuals are computed once per fold and ``lambda0``.

        Parameters
        ----------
        X, y : as in fit
        Q : sequence of float
            Levels of granularity.
        lambda0 : sequence of float, optional
            Costs per moved feature, the paper's other knob; default is the discretizer's own.
        cv : int or splitter, default=5
        sample_weight : array-like of shape (n_rows,), optional
        per_fold : bool, default=False
            One line per fold instead of their means.

        Returns
        -------
        DataFrame
            Per ``lambda0`` and ``Q``: ``thresholds`` and ``features`` kept; ``compression`` and ``inconsistency`` on
            training rows; ``accuracy`` and ``fidelity`` on held-out rows; ``leaves``; ``optimal``, the share of folds whose
            tree is proven. Means over folds, with the standard error of the accuracy as ``accuracy_se``.

        See Also
        --------
        choose_granularity : ways to choose from it.
        """
        levels = list(Q)
        if not levels:
            raise InvalidInputError("Q must name at least one level.")
        y = column_or_1d(y)
        weight = None if sample_weight is None else check_weights(sample_weight, _num_samples(X))
        lines = [
            line | {"fold": fold}
            for fold, (train, test) in enumerate(check_cv(cv, y, classifier=True).split(X, y))
            for line in self._path_of_fold(X, y, weight, train, test, levels, lambda0)
        ]
        frame = pd.DataFrame(lines)
        if per_fold:
            return frame[["lambda0", "Q", "fold", *frame.columns.drop(["lambda0", "Q", "fold"])]]
        groups = frame.drop(columns="fold").groupby(["lambda0", "Q"])
        path = groups.mean()
        path["accuracy_se"] = groups["accuracy"].sem(ddof=1)
        return path.reset_index()

    def _path_of_fold(
        self,
        X: Any,
        y: NDArray[np.generic],
        weight: Floats | None,
        train: NDArray[np.int64],
        test: NDArray[np.int64],
        levels: list[float],
        lambda0: Sequence[float] | None,
    ) -> Iterator[dict[str, float]]:
        X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
        weights = {} if weight is None else {"sample_weight": weight[train]}
        test_weight = None if weight is None else weight[test]
        first = self._new_discretizer().fit(X_train, y[train], **weights)
        answers = first.predict_target(X_test)
        learned = y[train] if self.fit_to == "labels" else first.predict_target(X_train)
        for cost in [first.lambda0] if lambda0 is None else lambda0:
            discretizer = first
            if cost != first.lambda0:
                discretizer = clone(first).set_params(estimator=FrozenEstimator(first.estimator_), lambda0=cost)
                discretizer.set_output(transform="default").fit(X_train, y[train], **weights)
            for Q in levels:
                discretizer.set_granularity(Q)
                B, B_test = discretizer.transform(X_train), discretizer.transform(X_test)
                tree = self._new_tree().fit(B, learned, **weights)
                predicted = tree.predict(B_test)
                yield {
                    "lambda0": cost,
                    "Q": Q,
                    "thresholds": len(discretizer.thresholds_),
                    "features": len(discretizer.thresholds_.features_used),
                    "compression": compression_rate(B, **weights),
                    "inconsistency": inconsistency_rate(B, y[train], **weights),
                    "accuracy": fidelity(predicted, y[test], test_weight),
                    "fidelity": fidelity(predicted, answers, test_weight),
                    "leaves": getattr(tree, "n_leaves_", np.nan),
                    "optimal": float(getattr(tree, "is_optimal_", np.nan)),
                }


def _weighted_rows(X: Any, y: Any, sample_weight: ArrayLike | None) -> TrainingTable:
    """The rows that count: those of weight 0 may hold categories that no other row has."""
    y = column_or_1d(y)
    if _num_samples(X) != len(y):
        raise InvalidInputError(f"X has {_num_samples(X)} rows and y has {len(y)}. Expected as many.")
    if sample_weight is None:
        return TrainingTable(X, y, None, np.arange(len(y)))
    weight = check_weights(sample_weight, len(y))
    kept = np.flatnonzero(weight > 0)
    if len(kept) == len(y):
        return TrainingTable(X, y, weight, kept)
    return TrainingTable(_safe_indexing(X, kept), y[kept], weight[kept], kept)


def choose_granularity(path: pd.DataFrame, rule: str = "one_standard_error", *, tradeoff: float = 0.8) -> dict[str, float]:
    """Choose a line of a granularity path.

    Parameters
    ----------
    path : DataFrame
        What :meth:`FCCAClassifier.granularity_path` returns.
    rule : {"best", "one_standard_error", "tradeoff"}, default="one_standard_error"
        The most accurate; the fewest thresholds within one standard error of the most accurate; or the trade-off of the
        paper's authors, the largest ``(1 - tradeoff) · compression - tradeoff · inconsistency``.
    tradeoff : float, default=0.8
        Weight of the inconsistency.

    Returns
    -------
    dict
        ``lambda0`` and ``Q``.
    """
    if rule == "best":
        chosen = path.sort_values(["accuracy", "thresholds"], ascending=[False, True], kind="stable")
    elif rule == "one_standard_error":
        best = path.sort_values(["accuracy", "thresholds"], ascending=[False, True], kind="stable").iloc[0]
        close = path[path["accuracy"] >= best["accuracy"] - np.nan_to_num(best["accuracy_se"])]
        chosen = close.sort_values(["thresholds", "accuracy"], ascending=[True, False], kind="stable")
    elif rule == "tradeoff":
        gain = (1 - tradeoff) * path["compression"] - tradeoff * path["inconsistency"]
        chosen = path.loc[gain.sort_values(ascending=False, kind="stable").index]
    else:
        raise InvalidInputError(f"rule must be 'best', 'one_standard_error' or 'tradeoff', got {rule!r}.")
    return {"lambda0": float(chosen.iloc[0]["lambda0"]), "Q": float(chosen.iloc[0]["Q"])}
