"""FCCAClassifier: an estimator that fits a black box, its thresholds and an optimal tree on them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
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
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _raise_for_params
from sklearn.utils.validation import check_is_fitted, validate_data

from fcca.classifier._cross_validation import CrossValidationMixin, check_selects, choose_n_thresholds
from fcca.classifier._fit_tree import binary_rows, fit_tree, resolve_fit_to, selection_fit_to
from fcca.classifier._training_rows import are_training_rows
from fcca.discretizers import (
    BinaryRows,
    CallbackSupportMixin,
    FCCADiscretizer,
    clone_to_fit,
    reported_to_callbacks,
    with_callbacks,
)
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.metrics import fidelity
from fcca.selection import OptimalSelection
from fcca.tables import Columns, TrainingTable, check_column_names, routed_metadata, weighted_rows
from fcca.trees import OptimalTreeClassifier, TreeAnswersMixin, TreeStructure
from fcca.utils import FIT_TO, progress_shown

#: Maximum number of branches of the search for the best thresholds.
NODES_OF_CHOICE = 2_000

PARTS = ("discretizer", "tree")
#: Parameters of the default tree, for each preset.
TREES: dict[str | None, dict[str, Any]] = {None: {}, "paper": {"max_depth": 3, "max_leaf_nodes": None, "criterion": "error"}}


class FCCAClassifier(CallbackSupportMixin, CrossValidationMixin, TreeAnswersMixin, ClassifierMixin, BaseEstimator):
    """A small decision tree that explains or replaces a black box.

    The tree uses only thresholds of the black box, by default those that counterfactuals cross. It is proven optimal on the
    training rows: no tree on these thresholds, within the limits on depth and leaves, has a lower cost.

    Parameters
    ----------
    discretizer : FCCADiscretizer, default=None
        Fits the black box and finds its thresholds. Another discretizer that finds thresholds of a classifier, such as
        GTREDiscretizer, can be used too. None stands for ``FCCADiscretizer()``.
    tree : OptimalTreeClassifier, default=None
        The tree to fit on the binary columns, one per threshold. None stands for ``OptimalTreeClassifier()``.
    fit_to : {"mixture", "probability", "labels", "target"}, default=None
        What the tree learns: the class probabilities of the black box, the labels, a mixture of both, or the predictions of
        the black box. The share of the probabilities in the mixture is 5,000 / (5,000 + training weight), rounded to
        quarters, and at least one quarter. The class counts in the nodes are counts of labels, or with "target" counts of
        predictions. None stands for "mixture" if the black box has ``predict_proba`` and the tree is an
        OptimalTreeClassifier with a criterion other than "error". Otherwise, None stands for "labels".
    n_thresholds : int or "auto", default=None
        Number of thresholds that the tree may use; None for all thresholds that the discretizer keeps. An
        :class:`~fcca.selection.OptimalSelection` chooses the thresholds with the smallest inconsistency, with proof. "auto"
        chooses the number by cross-validation. It is the smallest number up to 16 whose tree is no worse than the tree on
        all thresholds. If there is no such number, all thresholds are used. The search stops after 2,000 branches. For
        another limit or for constraints, set the ``selection`` of the discretizer, but not its number of thresholds:
        ``OptimalSelection(time_limit=60, forbid=["age"])``.
    preset : {"paper"}, default=None
        "paper" is the method as published. The discretizer gets ``preset="paper"`` unless it has another preset. The
        default tree has depth at most 3 and minimizes the number of errors plus ten times the number of leaves.

    Attributes
    ----------
    discretizer_ : FCCADiscretizer
        The fitted discretizer. Its ``estimator_`` is the black box.
    tree_ : OptimalTreeClassifier
        The tree fitted on the binary columns. Its ``objective_``, ``lower_bound_``, ``gap_`` and ``is_optimal_`` say what is
        proven.
    structure_ : TreeStructure
        The same tree on the columns of X. Categories are given by their codes, see ``discretizer_.thresholds_.columns``.
    fit_to_ : {"mixture", "probability", "labels", "target"}
        What the tree learned.
    fidelity_ : float
        Share of the training rows, by weight, for which tree and black box predict the same class.
    n_thresholds_ : int
        Number of thresholds that the tree could use.
    selection_path_ : DataFrame
        Result of :meth:`selection_path`; only with ``n_thresholds="auto"``.
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

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

    With only the four thresholds of smallest inconsistency:

    >>> small = FCCAClassifier(n_thresholds=4).fit(X, y)
    >>> small.n_thresholds_, small.discretizer_.selection_.proof
    (4, 'proven optimal')
    """

    selection_path_: pd.DataFrame

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "discretizer": [HasMethods(["fit", "transform", "predict_target"]), None],
        "tree": [HasMethods(["fit", "predict"]), None],
        "fit_to": [StrOptions(set(FIT_TO)), None],
        "n_thresholds": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "preset": [StrOptions({"paper"}), None],
    }

    def __init__(
        self,
        discretizer: Any = None,
        tree: Any = None,
        fit_to: str | None = None,
        n_thresholds: int | str | None = None,
        preset: str | None = None,
    ) -> None:
        self.discretizer = discretizer
        self.tree = tree
        self.fit_to = fit_to
        self.n_thresholds = n_thresholds
        self.preset = preset

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **metadata: Any) -> Self:
        """Fit the black box, find its thresholds, and fit the tree on them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Training rows. Columns are numeric, in their original units, or hold categories: strings or pandas' category
            dtype. Values may be missing.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, used for the black box, the counts of the thresholds and the tree.
        **metadata : dict
            Further arguments for the ``fit`` of the black box or the tree, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        self
        """
        _raise_for_params(metadata, self, "fit")
        if metadata and self.n_thresholds == "auto":
            raise InvalidInputError(
                f'n_thresholds="auto" cannot be combined with {", ".join(metadata)}. The cross-validation does not use '
                f"{', '.join(metadata)}, so it would evaluate a different black box or tree. Set n_thresholds to a number."
            )
        if hasattr(self, "selection_path_"):
            del self.selection_path_
        check_column_names(X)
        discretizer, tree = self.new_parts()
        shown = progress_shown(getattr(discretizer, "verbose", None), stops_early=True)
        with shown, reported_to_callbacks(self, X, y):
            return self._fit(discretizer, tree, X, y, sample_weight, metadata)

    def _fit(
        self, discretizer: Any, tree: Any, X: Any, y: Any, sample_weight: ArrayLike | None, metadata: Mapping[str, Any]
    ) -> Self:
        if self.n_thresholds == "auto":
            self.selection_path_ = self.selection_path(X, y, sample_weight=sample_weight)
            n = choose_n_thresholds(self.selection_path_)
            discretizer.set_params(selection=None if n is None else discretizer.selection.set_params(n_thresholds=n))
        validate_data(self, X, skip_check_array=True)  # notes the columns
        searched = routed_metadata(self, "discretizer", metadata, X, None)
        table, rows = _fit_discretizer(discretizer, X, y, sample_weight, searched)
        return self.grow(discretizer, tree, rows, table, routed_metadata(self, "tree", metadata, X, sample_weight))

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing: which arguments of ``fit`` the black box and the tree get.

        Returns
        -------
        MetadataRouter
        """
        fit_to_fit = MethodMapping().add(caller="fit", callee="fit")
        parts = {name: self._part(name) for name in PARTS}
        return MetadataRouter(owner=self).add_self_request(self).add(**parts, method_mapping=fit_to_fit)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters, including the parameters of the default discretizer and tree.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the discretizer and the tree, such as ``discretizer__Q``.
        """
        parameters: dict[str, Any] = super().get_params(deep)
        for name in PARTS if deep else ():
            if getattr(self, name) is None:
                default = _default_part(name, self.preset)
                parameters |= {f"{name}__{key}": value for key, value in default.get_params().items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, including those of the default discretizer and tree.

        Parameters
        ----------
        **parameters : dict
            For example ``discretizer__Q=0.7`` or ``tree__max_depth=4``.

        Returns
        -------
        self
        """
        for name in PARTS:
            if parameters.get(name, getattr(self, name)) is None and any(key.startswith(f"{name}__") for key in parameters):
                parameters[name] = _default_part(name, parameters.get("preset", self.preset))
        super().set_params(**parameters)
        return self

    def new_parts(self) -> tuple[Any, Any]:
        """Check the parameters, and create the unfitted discretizer and tree.

        Returns
        -------
        discretizer : discretizer
            If ``n_thresholds`` is a number, the discretizer is set to select this number of thresholds.
        tree : classifier
        """
        self._validate_params()
        discretizer, tree = self._new_discretizer(), self._new_tree()
        if self.n_thresholds is not None:
            selection = self._limits_of_selection(discretizer)
            n = None if self.n_thresholds == "auto" else self.n_thresholds
            discretizer.set_params(selection=selection.set_params(n_thresholds=n))
        return discretizer, tree

    def _limits_of_selection(self, discretizer: Any) -> OptimalSelection:
        """Return a copy of the discretizer's selection, which has no number of thresholds yet.

        If the discretizer has no selection, return a new one whose search is limited.
        """
        check_selects(discretizer)
        own = discretizer.selection
        if own is None:
            return OptimalSelection(fit_to=selection_fit_to(self.fit_to), max_nodes=NODES_OF_CHOICE)
        if own.n_thresholds is not None or own.max_inconsistency is not None:
            raise InvalidInputError(
                f"n_thresholds={self.n_thresholds!r} was given, but the discretizer's selection also sets the number of "
                "thresholds. Set only one of them."
            )
        limits: OptimalSelection = clone(own)
        return limits

    def grow(
        self,
        discretizer: Any,
        tree: Any,
        rows: BinaryRows,
        table: TrainingTable | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit the tree on the binary columns of a fitted discretizer, and set the fitted attributes.

        Parameters
        ----------
        discretizer : discretizer
            Fitted.
        tree : classifier
            Not fitted. It is fitted in place.
        rows : BinaryRows
            The training rows as binary columns.
        table : TrainingTable, optional
            The training rows as they were given to ``fit``, for :meth:`training_data`.
        metadata : mapping, optional
            Further arguments for the ``fit`` of the tree.

        Returns
        -------
        self
        """
        if table is not None:
            self._training = table
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(discretizer, name):
                setattr(self, name, getattr(discretizer, name))
        weights = {} if rows.weight is None else {"sample_weight": rows.weight}
        self.fit_to_ = resolve_fit_to(self.fit_to, tree, rows, discretizer, metadata)
        fit_tree(tree, rows, self.fit_to_, metadata)
        self.discretizer_, self.tree_ = discretizer, tree
        self.classes_ = tree.classes_
        structure: TreeStructure = tree.tree_.with_conditions(discretizer.thresholds_)
        self.structure_ = structure
        self.fidelity_ = fidelity(tree.predict(rows.B), rows.predictions, **weights)
        self.n_thresholds_ = len(discretizer.thresholds_)
        return self

    def at_granularity(
        self, Q: float, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> FCCAClassifier:
        """Fit a new tree on the thresholds of another granularity.

        The black box and the counterfactuals stay the same. Thresholds are kept by frequency, as in the paper. A selection
        of the discretizer is ignored.

        Parameters
        ----------
        Q : float
            From 0 to 1. A threshold is kept if its count is at least the Q-quantile of all counts.
        X, y, sample_weight : as in fit, optional
            The training rows; see :meth:`training_data`.

        Returns
        -------
        FCCAClassifier
            A new classifier. This one is not changed.
        """
        rows = self.training_data(X, y, sample_weight)
        if not hasattr(self.discretizer_, "set_granularity"):
            raise InvalidInputError(
                f"{type(self.discretizer_).__name__} does not have a granularity. Use FCCADiscretizer, or at_selection."
            )
        return self._with(copy(self.discretizer_).set_granularity(Q), rows, Q=Q, selection=None)

    def at_selection(
        self,
        selection: OptimalSelection | None,
        X: Any = None,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> FCCAClassifier:
        """Fit a new tree on the thresholds that another selection chooses.

        The black box and the counterfactuals stay the same.

        Parameters
        ----------
        selection : OptimalSelection or None
            Chooses among the thresholds of the discretizer; None keeps them all.
        X, y, sample_weight : as in fit, optional
            The training rows; see :meth:`training_data`.

        Returns
        -------
        FCCAClassifier
            A new classifier. This one is not changed.
        """
        rows = self.training_data(X, y, sample_weight)
        check_selects(self.discretizer_)
        discretizer = copy(self.discretizer_).set_selection(selection, rows.X, rows.y, rows.sample_weight)
        return self._with(discretizer, rows, selection=selection)

    def _with(self, discretizer: Any, rows: TrainingTable, **parameters: Any) -> FCCAClassifier:
        """Return a copy of the classifier with another fitted discretizer and a new tree.

        ``parameters`` are set on the unfitted discretizer of the copy. Parameters that this discretizer does not have are
        ignored. The ``n_thresholds`` of the copy is None.
        """
        other: FCCAClassifier = clone(self).set_params(n_thresholds=None)
        other.discretizer = clone(self._part("discretizer"))
        known = other.discretizer.get_params(deep=False)
        other.discretizer.set_params(**{name: value for name, value in parameters.items() if name in known})
        _, tree = other.new_parts()
        return other.grow(discretizer, tree, binary_rows(discretizer, rows.X, rows.y, rows.sample_weight), rows)

    def training_data(self, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None) -> TrainingTable:
        """Return the training rows, without rows of weight 0.

        After ``fit``, the classifier refers to these rows in memory. A pickle or a copy of the classifier does not contain
        them, so they must be given again.

        Parameters
        ----------
        X, y, sample_weight : as in fit, optional
            The training rows. None uses the rows in memory.

        Returns
        -------
        TrainingTable
            ``X``, ``y``, ``sample_weight``, and ``rows``, the positions of the rows in the table given to ``fit``.
        """
        check_is_fitted(self)
        if (X is None) != (y is None) or (X is None and sample_weight is not None):
            raise InvalidInputError("X, y and sample_weight belong together. Pass all of them, or none.")
        if X is None and not hasattr(self, "_training"):
            raise InvalidInputError(
                "The rows that this classifier was fitted on are not in memory: the classifier was loaded or copied, or the "
                "rows came in chunks. Pass X and y."
            )
        rows = self._training if X is None else weighted_rows(X, y, sample_weight)
        if not are_training_rows(self, rows):
            reason = "They were changed after fit." if X is None else "Pass X, y and sample_weight as they were in fit."
            raise InvalidInputError(f"These are not the rows that the classifier was fitted on. {reason}")
        return rows

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_training"}

    def _part(self, name: str) -> Any:
        """Return the parameter ``discretizer`` or ``tree``, or its default if it is None."""
        part = getattr(self, name)
        if part is None:
            return _default_part(name, self.preset)
        follows = self.preset is not None and getattr(part, "preset", self.preset) is None
        return clone(part).set_params(preset=self.preset) if follows else part

    def _new_discretizer(self) -> Any:
        return clone_to_fit(self._part("discretizer"))

    def _new_tree(self) -> Any:
        return clone(self._part("tree"))

    @property
    def _structure(self) -> TreeStructure:
        return self.structure_

    @property
    def _columns(self) -> Columns | None:
        columns: Columns | None = self.discretizer_.thresholds_.columns
        return columns

    def _checked_table(self, X: Any) -> NDArray[Any]:
        asked, columns = self.structure_.feature, self._columns
        if columns is None:
            X = validate_data(self, X, dtype=np.float64, order="C", reset=False, ensure_all_finite="allow-nan")
            columns = Columns.numbers(self.n_features_in_, getattr(self, "feature_names_in_", None))
        else:
            validate_data(self, X, skip_check_array=True, reset=False)  # compares the columns' names and number
        used = columns.for_prediction(asked[asked >= 0].tolist())
        return used.encode(X, handle_unknown=self.discretizer_.handle_unknown)

    def to_sklearn(self) -> DecisionTreeClassifier:
        """Convert the tree to a fitted DecisionTreeClassifier, for example for ``plot_tree``.

        If every node compares a column with a threshold, the returned tree takes X itself as input. scikit-learn's trees
        cast X to 32-bit floats before comparing. The thresholds are adjusted so that training rows reach the same leaf,
        unless 32-bit floats cannot tell them apart. Other values very close to a threshold may end up on the other side of
        it.

        scikit-learn's trees cannot test sets of categories or missing values. If the tree has such nodes, the returned tree
        takes the binary columns ``discretizer_.transform(X)`` as input. These columns are named after their conditions.
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
        inner = get_tags(self._part("discretizer")).input_tags
        for name in ("allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def fidelity(self, X: Any, sample_weight: ArrayLike | None = None) -> float:
        """Compute the share of rows for which tree and black box predict the same class."""
        check_is_fitted(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownValuesWarning)  # predict_target warns of all columns
            predictions = self.predict(X)
        return fidelity(predictions, self.discretizer_.predict_target(X), sample_weight)


def _default_part(name: str, preset: str | None) -> Any:
    """Return the default value of the parameter ``discretizer`` or ``tree`` for a preset."""
    if name == "discretizer":
        return FCCADiscretizer(preset=preset)
    return OptimalTreeClassifier(**TREES["paper" if preset == "paper" else None])


def _fit_discretizer(
    discretizer: Any, X: Any, y: Any, sample_weight: ArrayLike | None, metadata: Mapping[str, Any]
) -> tuple[TrainingTable, BinaryRows]:
    """Fit a discretizer, and return the training rows as given and as binary columns."""
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    fit = getattr(discretizer, "fit_binary_rows", discretizer.fit)  # fit_binary_rows encodes and predicts each row only once
    fitted = fit(X, y, **weights, **metadata)
    table = weighted_rows(X, y, sample_weight)
    if isinstance(fitted, BinaryRows):
        return table, fitted
    return table, binary_rows(discretizer, table.X, table.y, table.sample_weight)
