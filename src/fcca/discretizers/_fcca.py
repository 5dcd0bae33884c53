"""FCCADiscretizer: the thresholds that a classifier's counterfactuals cross."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _raise_for_params

from fcca.constraints import Constraint
from fcca.counterfactuals import DEFAULT_MARGIN, check_columns_of_scale, check_scale_of_model, check_special_of_model
from fcca.discretizers._chunks import Chunks, MemoryChunks
from fcca.discretizers._crossing_queries import CrossingQueries
from fcca.discretizers._fit_callbacks import CallbackSupportMixin, reported_to_callbacks, with_callbacks
from fcca.discretizers._partial_fit import PartialFitTransformer
from fcca.discretizers._pipeline import FoundThresholds, find_thresholds
from fcca.discretizers._presets import BLACK_BOX_DEPTH, most_thresholds
from fcca.discretizers._rows import EncodedRows, n_rows_of
from fcca.discretizers._threshold_search import ThresholdSearch
from fcca.discretizers._validation import (
    TrainingData,
    check_training_data,
    decoded,
    distinct_rows,
    fitted_through,
    problem_of,
    table_for,
)
from fcca.exceptions import InvalidInputError
from fcca.models import check_supported, is_linear
from fcca.selection import OptimalSelection, most_frequent
from fcca.tables import HANDLINGS, Columns, PowerOfTwoScaler, routed_metadata, special_by_column
from fcca.thresholds import ThresholdTable
from fcca.utils import progress_shown, step

Floats = NDArray[np.float64]


class FCCADiscretizer(CallbackSupportMixin, CrossingQueries, PartialFitTransformer):
    """Turn a table into the few binary columns behind a classifier's decisions.

    First, the classifier (black box) is fitted, unless a fitted one is given. The counterfactual of a row is the cheapest
    change that flips its prediction. It is computed exactly for every training row that the black box predicts correctly,
    with a confidence between ``p0`` and ``p1``. The thresholds that counterfactuals cross are counted. The thresholds
    crossed most often become binary columns ``x > threshold``. In a column of categories, a change enters one of the sets
    of categories that the classifier distinguishes; this set becomes a binary column ``x in {…}``. If filling in a single
    missing value flips a prediction, there is a binary column ``x is missing``.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier that :func:`fcca.read_model` reads. It is cloned and fitted. Wrap a fitted classifier in
        scikit-learn's ``FrozenEstimator`` to use it without refitting. None is gradient boosting with 100 trees of depth 2
        (depth 1 with ``preset="paper"``), after a scaler that makes the units of the columns irrelevant. This default is
        fitted on the sorted distinct rows with their weights. So the order of the rows does not decide between equally good
        splits, and a row given twice has the same effect as a row with weight 2.
    preset : {"paper"}, default=None
        "paper" uses the paper's values for all parameters that are None: stumps as the black box, no limit on the number
        of thresholds, a distance of 1 for a change of category, and one counterfactual per row.
    p0, p1 : float, default=0.5 and 1.0
        Smallest and largest confidence of the rows whose counterfactuals are computed. The confidence is the probability of
        the predicted class; it is 0.5 on the decision boundary. A ``p1`` below 1 saves time. A ``p0`` above 0.5 leaves out
        noisy rows near the boundary. With more than two classes, the default ``p0`` means no lower limit.
    lambda0, lambda1, lambda2 : float, default=0.1, 1.0 and 0.0
        Cost of a change: ``lambda0`` per changed feature, ``lambda1`` times the distance and ``lambda2`` times its square.
        The unit of distance is set by ``scale``. With a higher ``lambda0``, counterfactuals change fewer features.
    scale : {"range", "rank", "mad"} or mapping of column names to units, default=None
        Unit of distance of a numeric column. "range": largest minus smallest training value, as in the paper. "rank": ranks
        replace the values, and the unit is the highest minus the lowest rank of the training values. Ranks between two
        training values are interpolated linearly. Only for classifiers made of trees. "mad": the median absolute deviation
        of the training values, or the mean absolute deviation if the median is 0. A mapping such as ``{"income": 1000}``
        gives the unit of each column; columns that are not in the mapping use "range". None is "range" in all presets.
    category_distance : float or "auto", default=None
        Distance of a change without direction: another category, a filled-in missing value, a switch of a one-hot group.
        "auto" computes the mean distance between two training rows for each numeric column that is not constant. It uses
        the mean over these columns, rounded to two digits. So changes of categories and of numbers are comparable. A
        distance of 1 equals the full range of a numeric column; then few conditions are on categories. None is "auto", or 1
        with ``preset="paper"``.
    special_values : set of float, or mapping of column names to such sets, default=None
        Numbers that stand for something else, such as -9 for "no record". A set applies to all numeric columns. A special
        value is a category of its own inside its column. Replacing it costs as much as a change of category, and gives a
        binary column ``x is -9``. No change ends at a special value, and ranges, medians and units of distance ignore it.
        A condition ``x > t`` compares a special value as the number that it is. Only for classifiers made of trees.
    count_ties : bool, default=None
        Whether to count further counterfactuals of a row that cost the same as the first and change none of its columns.
        They are common for categories, because a change of category costs the same in every column. Rows are searched again
        if their counterfactual changes only categories or columns in which the black box separates all training values,
        such as 0 and 1. None is True, or False with ``preset="paper"``.
    Q : float, default=0.0
        Granularity: keep the thresholds whose count is at least the Q-quantile of all counts. The count of a threshold says
        how often counterfactuals cross it. A higher Q keeps fewer thresholds. See also :meth:`set_granularity`.
    max_thresholds : int or "all", default=None
        Maximum number of thresholds. The thresholds crossed most often are kept. None is 100; with so many, a tree of depth
        4 is found within seconds. With ``preset="paper"``, None keeps all thresholds.
    max_rows : int, "auto" or "all", default=None
        How many rows to search for counterfactuals. The rows are searched in a random order that depends only on their
        values and classes. The shares of the thresholds then have confidence intervals (``share_low`` and ``share_high`` of
        the table). "auto" stops after 250, 500, 1,000, … rows, at most half of all, if further rows can hardly change which
        thresholds ``Q`` and ``max_thresholds`` keep (see Notes). It never stops because of the time, so the result is the
        same on every machine. None is "all" for linear classifiers, for ensembles in which each tree tests only one column,
        for ensembles of at most 1,000 leaves, and with ``preset="paper"``. It is "auto" for larger ensembles.
        :meth:`partial_fit` and fits in chunks search all rows. A sample requires weights that are whole numbers: with other
        weights, "auto" searches all rows, and a number raises an error.
    margin : float or str, default=1e-4
        Score margin by which another class must win after the change, or a share of the range of scores, such as ``"10%"``
        (see :class:`CounterfactualExplainer`).
    decision_threshold : float, default=None
        For two classes: the black box predicts the second class if its probability is at least this threshold. None uses
        the ``predict`` of the black box.
    merge_tolerance : float or "auto", default="auto"
        Merge thresholds of a feature that are closer together than this share of the feature's range. The merged threshold
        is the one crossed most often. "auto" is 0 for trees and 0.01 for linear models.
    round_thresholds : bool, default=True
        Replace each threshold with the shortest decimal between the two training values around it. This does not change
        the binary columns of the training rows. The original number stays in the column ``cut`` of the table.
    constraints : list of rules, default=None
        Rules from :mod:`fcca.constraints` that the changes must obey. A column that may not change has no conditions.
    time_limit : float, default=None
        Seconds for all searches together. Counterfactuals that are not proven to be cheapest by then are not counted, and a
        warning is issued.
    time_limit_per_row : float, default=None
        Seconds for the search of each row.
    relative_gap : float, default=0.0
        A search may end when no change can be cheaper by more than this share of the cost, such as 0.05
        (see :class:`CounterfactualExplainer`). Such counterfactuals have the status ``within_gap``. They are counted like
        the cheapest ones, but without equally cheap ones (``count_ties``).
    n_jobs : int, default=None
        Number of threads. None is 1, -1 is all cores. Inside ``joblib.parallel_config`` with a backend of processes, such
        as ``"loky"`` or ``"dask"``, it is the number of processes. The result does not depend on ``n_jobs``.
    verbose : int, default=None
        None shows a progress bar in a terminal or a notebook, if the work takes more than two seconds. 0 shows nothing. 1
        always shows the progress on standard error. With scikit-learn 1.9, ``set_callbacks`` reports it to callbacks, too.
    selection : OptimalSelection, default=None
        Chooses, among the thresholds that ``Q`` and ``max_thresholds`` keep, those with the smallest inconsistency on the
        training rows. None keeps all of these thresholds. See also :meth:`set_selection`.
    handle_unknown : {"warn", "ignore", "error"}, default="warn"
        What to do with rows that have a category, or a missing value, that no training row has in the same column. "ignore":
        no set of categories contains an unknown category, and every other condition on a missing value is false. The
        black box gets the most frequent training category instead of an unknown one. If it does not take missing values in
        the column, it gets the training median instead. After a fit in chunks, they are taken from the first chunk.
        "warn": the same, with one warning per call that counts these values. "error": an error.

    Attributes
    ----------
    thresholds_ : ThresholdTable
        The conditions that ``Q``, ``max_thresholds`` and the selection, if there is one, keep.
    all_thresholds_ : ThresholdTable
        All conditions found, before ``Q``, ``max_thresholds`` and the selection are applied.
    selection_ : Selection
        The chosen conditions, with the proof. Only if there is a selection.
    counterfactuals_ : Counterfactuals
        One counterfactual per training row that is predicted correctly with a confidence between ``p0`` and ``p1``. The
        status says whether it is proven to be the cheapest one. Further, equally cheap counterfactuals (``count_ties``) are
        counted, but not kept. :meth:`partial_fit` does not keep any.
    statuses_ : dict of str to int
        Number of counterfactuals with each status.
    row_sample_ : RowSample or None
        The rows that were searched, and the precision of their shares; None if all rows were searched. It has the attributes
        ``n_searched``, ``n_rows``, and ``reason``: "settled", "max_rows" or "interrupted".
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray
        Classes of the classifier.
    stand_ins_ : StandIns
        What the black box gets instead of values that it cannot take: the training median or the most frequent category.
    constant_features_ : list of str
        Columns with only one value, which have no conditions.
    category_distance_ : float
        Distance of a change of category. With "auto", it is 1 if it is not needed, or if no numeric column varies.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    See Also
    --------
    fcca.metrics : compression, inconsistency and fidelity of a discretization.

    Notes
    -----
    With ``max_rows="auto"``, each look at the shares tests all conditions that the black box can give. Look ``k`` has the
    level 0.05 / 2^(k+1), so all intervals of all looks hold the shares of all rows with a probability of at least 95 %. The
    cut of the selection is the smallest share of a kept threshold. The search stops if the interval of every kept threshold
    reaches the cut, and the interval of every other condition, found or not, does not exceed it. A tolerance applies: two
    percentage points, or 20 % of the cut if this is more.

    Ctrl-C in a terminal or a notebook stops only the search, unless the fit is part of other work, such as a bootstrap. The
    fit goes on with the rows searched so far, and a warning counts them. A second Ctrl-C stops the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCADiscretizer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> discretizer = FCCADiscretizer(Q=0.9).fit(X, y)
    >>> discretizer.transform(X).shape[0]
    569
    >>> set(discretizer.counterfactuals_.status.tolist())
    {'optimal'}
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "preset": [StrOptions({"paper"}), None],
        "p0": [Interval(Real, 0, 1, closed="both")],
        "p1": [Interval(Real, 0, 1, closed="both")],
        "lambda0": [Interval(Real, 0, None, closed="left")],
        "lambda1": [Interval(Real, 0, None, closed="left")],
        "lambda2": [Interval(Real, 0, None, closed="left")],
        "scale": [str, Mapping, None],
        "category_distance": [str, Real, None],
        "special_values": [Mapping, Collection, None],
        "count_ties": ["boolean", None],
        "Q": [Interval(Real, 0, 1, closed="both")],
        "max_thresholds": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"}), None],
        "max_rows": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto", "all"}), None],
        "margin": [Interval(Real, 0, None, closed="neither"), str],
        "decision_threshold": [Interval(Real, 0, 1, closed="neither"), None],
        "merge_tolerance": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "round_thresholds": ["boolean"],
        "constraints": [list, tuple, None],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "time_limit_per_row": [Interval(Real, 0, None, closed="left"), None],
        "relative_gap": [Interval(Real, 0, 1, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose", None],
        "selection": [OptimalSelection, None],
        "handle_unknown": [StrOptions(set(HANDLINGS))],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        preset: str | None = None,
        p0: float = 0.5,
        p1: float = 1.0,
        lambda0: float = 0.1,
        lambda1: float = 1.0,
        lambda2: float = 0.0,
        scale: str | Mapping[str, float] | None = None,
        category_distance: float | str | None = None,
        special_values: Any = None,
        count_ties: bool | None = None,
        Q: float = 0.0,
        max_thresholds: int | str | None = None,
        max_rows: int | str | None = None,
        margin: float | str = DEFAULT_MARGIN,
        decision_threshold: float | None = None,
        merge_tolerance: float | str = "auto",
        round_thresholds: bool = True,
        constraints: Sequence[Constraint] | None = None,
        time_limit: float | None = None,
        time_limit_per_row: float | None = None,
        relative_gap: float = 0.0,
        n_jobs: int | None = None,
        verbose: int | None = None,
        selection: OptimalSelection | None = None,
        handle_unknown: str = "warn",
    ) -> None:
        self.estimator = estimator
        self.preset = preset
        self.p0 = p0
        self.p1 = p1
        self.lambda0 = lambda0
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.scale = scale
        self.category_distance = category_distance
        self.special_values = special_values
        self.count_ties = count_ties
        self.Q = Q
        self.max_thresholds = max_thresholds
        self.max_rows = max_rows
        self.margin = margin
        self.decision_threshold = decision_threshold
        self.merge_tolerance = merge_tolerance
        self.round_thresholds = round_thresholds
        self.constraints = constraints
        self.time_limit = time_limit
        self.time_limit_per_row = time_limit_per_row
        self.relative_gap = relative_gap
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.selection = selection
        self.handle_unknown = handle_unknown

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **metadata: Any) -> Self:
        """Fit the classifier, compute the counterfactuals and collect the thresholds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Numeric columns, in their original units, and columns of categories: strings or pandas' category dtype. Values
            may be missing.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two identical rows. A row of weight 0 is left out.
        **metadata : dict
            Additional arguments that the black box requests through scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        self.check_parameters()
        _raise_for_params(metadata, self, "fit")
        with progress_shown(self.verbose, stops_early=True), reported_to_callbacks(self, X, y):
            return self._fit(X, y, sample_weight, metadata)

    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, metadata: Mapping[str, Any]) -> Self:
        self._begin()
        data = check_training_data(self, X, y, sample_weight)
        self._check_scale(data)
        with step("Black box"):
            self.estimator_ = self._fitted_estimator(data, routed_metadata(self, "estimator", metadata, X, sample_weight))
        search = self._new_search(data.given)
        rows = EncodedRows(table_for(search.engine.model, data), data.y, data.weight)
        self._note_stand_ins(rows.X, search.engine.model.columns, search.engine.special)
        chunks = MemoryChunks(rows)
        found = self._find_thresholds(chunks, search)
        result = chunks.results[0]
        self._keep_crossings(result.crossings.point, found.position[result.condition])
        # From here on, row numbers are positions in the caller's X, which includes rows of weight 0.
        self.counterfactuals_ = replace(result.counterfactuals, rows=data.rows[result.counterfactuals.rows])
        self._choose(replace(rows, predictions=result.predictions, probability=result.probability))
        return self

    def fit_chunks(self, chunks: Chunks) -> FoundThresholds:
        """Find the thresholds of a whole table that is given in chunks.

        The result is the same as after :meth:`fit` on all rows, but a selection is not applied.

        Parameters
        ----------
        chunks : Chunks
            For example :class:`fcca.discretizers.LocalChunks`. ``estimator`` must be a fitted classifier in a
            ``FrozenEstimator``.

        Returns
        -------
        FoundThresholds
        """
        first = chunks.first()
        search = self._search_for_chunks(first)
        known = search.engine.model.columns or Columns.numbers(len(search.names), search.names)
        rows = known.encode(first, handle_unknown="ignore") if n_rows_of(first) else np.empty((0, len(known)))
        self._note_stand_ins(rows, search.engine.model.columns, search.engine.special)
        search.stand_ins = self.stand_ins_
        del first, rows  # at most two chunks are in memory
        found = self._find_thresholds(chunks, search)
        self._keep(None)
        return found

    def _find_thresholds(self, chunks: Chunks, search: ThresholdSearch) -> FoundThresholds:
        found = find_thresholds(chunks, search)
        self._accept(found.search, found.counts)
        self.all_thresholds_ = found.thresholds
        return found

    def check_parameters(self) -> None:
        """Check all parameters, before any rows are read."""
        super().check_parameters()
        problem = problem_of(self)
        if self.p0 > self.p1:
            raise InvalidInputError(f"p0 must not be above p1, got p0={self.p0} and p1={self.p1}.")
        if self.n_jobs == 0:
            raise InvalidInputError("n_jobs must not be 0: None is one thread, -1 is one per core.")
        if self.estimator is not None:
            check_supported(self.estimator)
            check_scale_of_model(problem.scale, is_linear=is_linear(self.estimator))

    def _check_scale(self, data: TrainingData) -> None:
        """Check the columns that ``scale`` and ``special_values`` name, before the black box is fitted."""
        is_number = [True] * data.X.shape[1] if data.columns is None else (~data.columns.is_category).tolist()
        check_columns_of_scale(problem_of(self).scale, self._column_names(), is_number)
        special = special_by_column(self.special_values, self._column_names(), is_number)
        check_special_of_model(special, is_linear=self.estimator is not None and is_linear(self.estimator))

    def fit_black_box(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        """Fit and return only the black box, exactly as :meth:`fit` does.

        Parameters
        ----------
        X, y, sample_weight : as in fit

        Returns
        -------
        fitted classifier
        """
        self.check_parameters()
        return self._fitted_estimator(check_training_data(self, X, y, sample_weight))

    def _fitted_estimator(self, data: TrainingData, metadata: Mapping[str, Any] | None = None) -> Any:
        if self.estimator is not None:
            return self._decided(
                fitted_through(clone(self.estimator), data.columns, data.given, data.y, data.weight, metadata)
            )
        depth = BLACK_BOX_DEPTH[self.preset]
        estimator = make_pipeline(PowerOfTwoScaler(), GradientBoostingClassifier(max_depth=depth, random_state=0))
        X, y, weight = distinct_rows(data.X, data.y, data.weight)
        return self._decided(fitted_through(estimator, data.columns, decoded(self, data.columns, X), y, weight))

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing, which passes arguments of ``fit`` to the black box.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        fit_to_fit = MethodMapping().add(caller="fit", callee="fit")
        return router if self.estimator is None else router.add(estimator=self.estimator, method_mapping=fit_to_fit)

    def set_granularity(self, Q: float) -> Self:
        """Change how many of the thresholds are kept, without a new fit.

        The thresholds crossed most often are kept, as in the paper. The parameter ``selection`` is set to None.

        Parameters
        ----------
        Q : float
            Keep the thresholds whose count is at least the Q-quantile of all counts.

        Returns
        -------
        self
        """
        self._check_fitted("all_thresholds_")
        self.kept_at(Q)  # raises an error if Q is not between 0 and 1
        self.Q = Q
        return self.set_selection(None)

    def kept_at(self, Q: float) -> NDArray[np.bool_]:
        """Return a mask of the conditions that ``Q`` and ``max_thresholds`` keep.

        Parameters
        ----------
        Q : float
            Granularity between 0 and 1, as in the parameter ``Q``.

        Returns
        -------
        ndarray of bool
            One entry per condition in ``all_thresholds_``.
        """
        self._check_fitted("all_thresholds_")
        return most_frequent(self.all_thresholds_, Q, most_thresholds(self.preset, self.max_thresholds))

    def _candidates(self) -> ThresholdTable:
        return self.all_thresholds_.select(self.kept_at(self.Q))
