"""FCCAClassifier: black box, bins and certified tree in one estimator, in the user's own units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from numbers import Integral
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from fcca._columns import Columns
from fcca._paths import (
    choose_granularity,
    choose_n_thresholds,
    folds,
    granularities_of_fold,
    path_frame,
    selections_of_fold,
)
from fcca._training_table import TrainingTable, weighted_rows
from fcca.discretizers import FCCADiscretizer
from fcca.exceptions import InvalidInputError
from fcca.metrics import fidelity
from fcca.selection import NUMBERS_OF_THRESHOLDS, OptimalSelection
from fcca.selection._admissible import whole_numbers
from fcca.trees import OptimalTreeClassifier, TreeAnswersMixin, TreeStructure

__all__ = ["FCCAClassifier", "TrainingTable", "choose_granularity", "choose_n_thresholds"]

Floats = NDArray[np.float64]

#: The levels of granularity in the paper.
GRANULARITIES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

# Branches of a search: for the choice itself; and for each of the many that are only compared with each other none, as what
# a search starts from is close enough.
NODES_OF_CHOICE, NODES_OF_PATH = 2_000, 0


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
    n_thresholds : int or "auto", default=None
        Give the tree so many thresholds, those that tell best what it learns, with proof: an
        :class:`~fcca.selection.OptimalSelection` of those that the discretizer finds. "auto" takes the smallest number up to
        16 whose tree, by cross-validation, is within one standard error of the best. None gives it all.
        The search ends after 2,000 branches; for another limit, and for constraints, give the discretizer a selection
        that does not say how many, such as ``OptimalSelection(time_limit=60, forbid=["age"])``.

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
    n_thresholds_ : int
        How many thresholds the tree was given.
    selection_path_ : DataFrame
        What :meth:`selection_path` found; only with ``n_thresholds="auto"``.
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

    With the best four thresholds only:

    >>> small = FCCAClassifier(n_thresholds=4).fit(X, y)
    >>> small.n_thresholds_, small.discretizer_.selection_.proof
    (4, 'proven optimal')
    """

    selection_path_: pd.DataFrame

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "discretizer": [HasMethods(["fit", "transform", "predict_target"]), None],
        "tree": [HasMethods(["fit", "predict"]), None],
        "fit_to": [StrOptions({"labels", "target"})],
        "n_thresholds": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        discretizer: Any = None,
        tree: Any = None,
        fit_to: str = "labels",
        n_thresholds: int | str | None = None,
    ) -> None:
        self.discretizer = discretizer
        self.tree = tree
        self.fit_to = fit_to
        self.n_thresholds = n_thresholds

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
        if hasattr(self, "selection_path_"):
            del self.selection_path_
        discretizer = self._new_discretizer()
        if self.n_thresholds is not None:
            selection = self._limits_of_selection(discretizer)
            n: Any = self.n_thresholds
            if n == "auto":
                self.selection_path_ = self.selection_path(X, y, sample_weight=sample_weight)
                n = choose_n_thresholds(self.selection_path_)
            discretizer.set_params(selection=selection.set_params(n_thresholds=n))
        self.discretizer_ = discretizer.fit(X, y, **weights)
        validate_data(self, X, skip_check_array=True)  # notes the columns
        self._training = weighted_rows(X, y, sample_weight)
        self._grow(self._training)
        return self

    def _limits_of_selection(self, discretizer: Any) -> OptimalSelection:
        """What ``n_thresholds`` is to be set in: the discretizer's own selection, or one of so many branches."""
        _check_selects(discretizer)
        own = discretizer.selection
        if own is None:
            return OptimalSelection(against=self.fit_to, max_nodes=NODES_OF_CHOICE)
        if own.n_thresholds is not None or own.max_inconsistency is not None:
            raise InvalidInputError(
                f"n_thresholds={self.n_thresholds!r} was given, and the discretizer's selection says how many, too. Give "
                "one of them."
            )
        limits: OptimalSelection = clone(own)
        return limits

    def _grow(self, rows: TrainingTable) -> None:
        """Grow the tree on the thresholds that the discretizer has."""
        weights = {} if rows.sample_weight is None else {"sample_weight": rows.sample_weight}
        answers = self.discretizer_.predict_target(rows.X)
        B = self.discretizer_.transform(rows.X)
        self._take_tree(
            self._new_tree().fit(B, rows.y if self.fit_to == "labels" else answers, **weights), B, answers, weights
        )

    def _take_tree(self, tree: Any, B: NDArray[np.int8], answers: NDArray[np.generic], weights: dict[str, Any]) -> None:
        """Take a tree that was grown on 0/1 rows, of which the black box's answers are known."""
        self.tree_ = tree
        self.classes_ = self.tree_.classes_
        structure: TreeStructure = self.tree_.tree_.with_conditions(self.discretizer_.thresholds_)
        self.structure_ = structure
        self.fidelity_ = fidelity(self.tree_.predict(B), answers, **weights)
        self.n_thresholds_ = len(self.discretizer_.thresholds_)

    def at_granularity(
        self, Q: float, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> FCCAClassifier:
        """The classifier at another granularity: same black box, same counterfactuals, only the tree is grown anew.

        A selection is dropped: this is the paper's choice, by frequency.

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
        return self._with(copy(self.discretizer_).set_granularity(Q), rows, Q=Q, selection=None)

    def at_selection(
        self,
        selection: OptimalSelection | None,
        X: Any = None,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> FCCAClassifier:
        """The classifier on other of its thresholds: same black box, same counterfactuals, only the tree is grown anew.

        Parameters
        ----------
        selection : OptimalSelection or None
            Chooses among the thresholds of the discretizer; None keeps them all.
        X, y, sample_weight : as in fit, optional
            The training rows; see :meth:`training_data`.

        Returns
        -------
        FCCAClassifier
            A new one; this one stays as it is.
        """
        rows = self.training_data(X, y, sample_weight)
        _check_selects(self.discretizer_)
        discretizer = copy(self.discretizer_).set_selection(selection, rows.X, rows.y, rows.sample_weight)
        return self._with(discretizer, rows, selection=selection)

    def _with(self, discretizer: Any, rows: TrainingTable, **parameters: Any) -> FCCAClassifier:
        """The classifier on a fitted discretizer that differs from its own in some parameters."""
        other: FCCAClassifier = clone(self).set_params(n_thresholds=None)
        other.discretizer = FCCADiscretizer() if self.discretizer is None else other.discretizer
        known = other.discretizer.get_params(deep=False)
        other.discretizer.set_params(**{name: value for name, value in parameters.items() if name in known})
        other.discretizer_ = discretizer
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
                "The rows that this classifier was fitted on are not in memory: it was loaded or copied, or they came in "
                "pieces. Give X and y."
            )
        rows = self._training if X is None else weighted_rows(X, y, sample_weight)
        if not (self._fills_the_tree(rows) and self._starts_the_counterfactuals(rows)):
            reason = "They were changed since." if X is None else "Give X, y and sample_weight as they were in fit."
            raise InvalidInputError(f"These are not the rows that the classifier was fitted on. {reason}")
        return rows

    def _fills_the_tree(self, rows: TrainingTable) -> bool:
        """Whether the leaves hold as many of these rows, and as much weight of each class, as they did in fit."""
        nodes = self.structure_
        is_leaf, shape = nodes.feature < 0, nodes.weight.shape
        leaf = nodes.leaf_of(self._checked_table(rows.X))
        learned = np.asarray(rows.y if self.fit_to == "labels" else self.discretizer_.predict_target(rows.X))
        label = pd.Index(self.classes_).get_indexer(learned)
        if (label < 0).any():
            return False
        weight = np.ones(len(leaf)) if rows.sample_weight is None else rows.sample_weight
        weight = self.tree_.row_weights(learned, weight)
        held = np.bincount(leaf * shape[1] + label, weights=weight, minlength=shape[0] * shape[1]).reshape(shape)
        n_rows = np.bincount(leaf, minlength=shape[0])
        return np.array_equal(n_rows[is_leaf], nodes.n_rows[is_leaf]) and np.allclose(
            held[is_leaf], nodes.weight[is_leaf], rtol=1e-9
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

        It takes X, in raw units, where all conditions of the tree are thresholds. scikit-learn's trees cast X to
        32-bit floats first; the thresholds are moved so that training rows end where they should, unless those floats
        cannot tell them apart. Another value closer to a threshold than they can tell may go to the other side. Where
        some are sets of categories or ask for missing values, which scikit-learn's trees cannot test, it takes the
        0/1 columns, ``discretizer_.transform(X)``, and its columns are named for their conditions.
        """
        check_is_fitted(self)
        if self.structure_.has_cuts_only and not (self._columns is not None and self._columns.has_categories):
            above = np.append(self.discretizer_.thresholds_.above, np.nan)[self.tree_.tree_.feature]  # NaN for leaves: -1
            names = getattr(self, "feature_names_in_", None)
            return self.structure_.to_sklearn(self.classes_, self.n_features_in_, names, above)
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

        The black box is fitted once per fold, the counterfactuals are computed once per fold and ``lambda0``. The thresholds
        are those crossed most often: a selection plays no part.

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
        lines = [
            line | {"fold": fold.number}
            for fold in folds(X, y, sample_weight, cv)
            for line in granularities_of_fold(fold, self._without_selection(), self._new_tree, self.fit_to, levels, lambda0)
        ]
        return path_frame(lines, ["lambda0", "Q"], per_fold=per_fold)

    def selection_path(
        self,
        X: Any,
        y: Any,
        *,
        n_thresholds: Iterable[int] = NUMBERS_OF_THRESHOLDS,
        selection: OptimalSelection | None = None,
        cv: Any = 5,
        sample_weight: ArrayLike | None = None,
        per_fold: bool = False,
    ) -> pd.DataFrame:
        """What becomes of the tree as it is given fewer thresholds, the best of them, by cross-validation.

        Black box and counterfactuals are computed once per fold.

        Parameters
        ----------
        X, y : as in fit
        n_thresholds : iterable of int, default=range(1, 17)
            How many thresholds to keep; all, where a fold has fewer.
        selection : OptimalSelection, optional
            Chooses them; its ``n_thresholds`` and ``max_inconsistency`` play no part. Default is the discretizer's own, or
            one against what the tree learns, which takes what the search starts from (``max_nodes=0``). Conditions that it
            names must be there in every fold.
        cv : int or splitter, default=5
        sample_weight : array-like of shape (n_rows,), optional
        per_fold : bool, default=False
            One line per fold instead of their means.

        Returns
        -------
        DataFrame
            Per ``n_thresholds``: ``thresholds`` and ``features`` kept; ``compression`` and ``inconsistency`` on training
            rows; ``accuracy`` and ``fidelity`` on held-out rows; ``leaves``; ``optimal``, the share of folds whose tree is
            proven, and ``selection_optimal``, of those whose thresholds are. Means over folds, with the standard error of
            the accuracy as ``accuracy_se``.

        See Also
        --------
        choose_n_thresholds : ways to choose from it.
        """
        numbers = sorted(set(whole_numbers("n_thresholds", n_thresholds)))
        discretizer = self._new_discretizer()
        _check_selects(discretizer)
        selection = discretizer.selection if selection is None else selection
        if selection is None:
            selection = OptimalSelection(against=self.fit_to, max_nodes=NODES_OF_PATH)
        if not isinstance(selection, OptimalSelection):
            raise InvalidInputError(f"selection must be an OptimalSelection or None, got {selection!r}.")
        selection.check_parameters(for_frontier=True)
        lines = [
            line | {"fold": fold.number}
            for fold in folds(X, y, sample_weight, cv)
            for line in selections_of_fold(fold, self._without_selection(), self._new_tree, self.fit_to, numbers, selection)
        ]
        return path_frame(lines, ["n_thresholds"], per_fold=per_fold)

    def _without_selection(self) -> Any:
        discretizer = self._new_discretizer()
        return discretizer.set_params(selection=None) if hasattr(discretizer, "selection") else discretizer


def _check_selects(discretizer: Any) -> None:
    if not hasattr(discretizer, "set_selection"):
        raise InvalidInputError(f"{type(discretizer).__name__} cannot choose among its thresholds: it has no set_selection.")
