"""FCCADiscretizer: the thresholds that a classifier's decisions hang on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from fcca._columns import Columns
from fcca._progress import progress_bar
from fcca._units import PowerOfTwoScaler
from fcca.constraints import Constraint, Limits
from fcca.counterfactuals import (
    DEFAULT_MARGIN,
    CounterfactualEngine,
    CounterfactualProblem,
    Counterfactuals,
    as_share,
    margin_of_share,
)
from fcca.discretizers._base import TargetThresholdTransformer
from fcca.discretizers._crossings import Gaps, Points, crossings, deciding_gaps, values_around
from fcca.discretizers._rules import Rules
from fcca.discretizers._validation import (
    TrainingData,
    check_same_columns,
    check_training_data,
    decoded,
    distinct_rows,
    fitted_through,
    table_for,
)
from fcca.exceptions import (
    ConstantFeatureWarning,
    InvalidInputError,
    NoCounterfactualError,
    UnfinishedSearchWarning,
    UnverifiedCounterfactualWarning,
)
from fcca.models import check_supported
from fcca.selection import OptimalSelection, most_frequent
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]

# Linear models have no cuts: every row lands somewhere else, so landings this share of the range apart count as one.
LINEAR_MERGE_TOLERANCE = 0.01


class FCCADiscretizer(TargetThresholdTransformer):
    """Turn a table into the few 0/1 columns that a classifier's decisions hang on.

    The classifier is fitted (or taken as it is); for every row that it gets right with a confidence between ``p0`` and
    ``p1``, the cheapest change that makes it answer otherwise is computed exactly; the thresholds those changes cross are
    counted, and the most frequent ones become columns ``x > threshold``. In a column of categories, a change enters one of
    the sets that the classifier itself tells apart, which becomes a column ``x in {…}``. Where filling in a missing value
    alone makes the classifier answer otherwise, there is a column ``x is missing``.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier that :func:`fcca.read_model` reads. It is cloned and fitted; wrap a fitted one in scikit-learn's
        ``FrozenEstimator`` to use it as it is. None is the paper's gradient boosting of 100 stumps, behind a scaler that
        makes the unit of a column irrelevant, and fitted on the distinct rows with their weights in sorted order, so that
        neither the order of rows nor writing a row twice instead of weighting it changes how it breaks ties.
    p0, p1 : float, default=0.5 and 1.0
        Band of the predicted class's probability, .5 on the decision boundary. Lowering ``p1`` saves time, raising ``p0``
        leaves out the noise at the boundary. With more than two classes the default ``p0`` means no lower limit.
    lambda0, lambda1, lambda2 : float, default=0.1, 1.0 and 0.0
        Cost of a change: ``lambda0`` per feature moved, ``lambda1`` times the distance and ``lambda2`` times its square,
        distances in units of the training range. A higher ``lambda0`` gives fewer features.
    Q : float, default=0.0
        Granularity: keep the thresholds crossed at least as often as the Q-quantile of all counts. See also
        :meth:`set_granularity`.
    margin : float or str, default=1e-4
        By how much of its score the classifier must answer the other class; or a share of the range of its scores, such as
        ``"10%"`` (see :class:`CounterfactualExplainer`).
    merge_tolerance : float or "auto", default="auto"
        Merge thresholds of a feature that are closer than this share of its range; the most crossed one represents them.
        "auto" is 0 for trees and 0.01 for linear models.
    round_thresholds : bool, default=True
        Replace each threshold by the shortest decimal between the two training values around it, which changes nothing on
        training rows. The classifier's own number stays in the column ``cut`` of the table.
    constraints : list of rules, default=None
        Rules from :mod:`fcca.constraints` that the changes keep. A column that may not change carries no condition.
    time_limit : float, default=None
        Seconds for all searches together. What is not proven by then is left out, with a warning.
    time_limit_per_point : float, default=None
        Seconds for the search of each row.
    n_jobs : int, default=None
        Threads; None is 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar.
    selection : OptimalSelection, default=None
        Chooses the best of the thresholds that ``Q`` keeps, with proof; see also :meth:`set_selection`. None keeps them all.

    Attributes
    ----------
    thresholds_ : ThresholdTable
        The conditions kept: at ``Q``, and by the selection where there is one.
    all_thresholds_ : ThresholdTable
        The conditions before any choice.
    selection_ : Selection
        The choice with its proof; only where there is a selection.
    counterfactuals_ : Counterfactuals
        The certified answers, one per row that was asked for.
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray
        Its classes.
    constant_features_ : list of str
        Columns with one value, which were left out.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where X has column names.

    See Also
    --------
    fcca.metrics : compression, inconsistency and fidelity of a discretization.

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
        "p0": [Interval(Real, 0, 1, closed="both")],
        "p1": [Interval(Real, 0, 1, closed="both")],
        "lambda0": [Interval(Real, 0, None, closed="left")],
        "lambda1": [Interval(Real, 0, None, closed="left")],
        "lambda2": [Interval(Real, 0, None, closed="left")],
        "Q": [Interval(Real, 0, 1, closed="both")],
        "margin": [Interval(Real, 0, None, closed="neither"), str],
        "merge_tolerance": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "round_thresholds": ["boolean"],
        "constraints": [list, tuple, None],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "time_limit_per_point": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "selection": [OptimalSelection, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        p0: float = 0.5,
        p1: float = 1.0,
        lambda0: float = 0.1,
        lambda1: float = 1.0,
        lambda2: float = 0.0,
        Q: float = 0.0,
        margin: float | str = DEFAULT_MARGIN,
        merge_tolerance: float | str = "auto",
        round_thresholds: bool = True,
        constraints: Sequence[Constraint] | None = None,
        time_limit: float | None = None,
        time_limit_per_point: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        selection: OptimalSelection | None = None,
    ) -> None:
        self.estimator = estimator
        self.p0 = p0
        self.p1 = p1
        self.lambda0 = lambda0
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.Q = Q
        self.margin = margin
        self.merge_tolerance = merge_tolerance
        self.round_thresholds = round_thresholds
        self.constraints = constraints
        self.time_limit = time_limit
        self.time_limit_per_point = time_limit_per_point
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.selection = selection

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier, compute the counterfactuals and collect the thresholds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Numbers, in their own units; and categories, columns of texts or of pandas' category type. Values may be missing.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weight 2 is the same as the row twice, weight 0 as leaving it out.

        Returns
        -------
        self
        """
        share = as_share(self.margin) if isinstance(self.margin, str) else None
        margin = DEFAULT_MARGIN if isinstance(self.margin, str) else self.margin
        problem = CounterfactualProblem(self.lambda0, self.lambda1, self.lambda2, margin)
        if self.p0 > self.p1:
            raise InvalidInputError(f"p0 must not be above p1, got p0={self.p0} and p1={self.p1}.")
        if self.n_jobs == 0:
            raise InvalidInputError("n_jobs must not be 0: None is one thread, -1 is one per core.")
        if self.estimator is not None:
            check_supported(self.estimator)
        self._begin()
        data = check_training_data(self, X, y, sample_weight)
        self.estimator_ = self._fit_estimator(data)

        engine = CounterfactualEngine(self.estimator_, problem, like=data.given)
        check_same_columns(self, self.estimator_, engine.model.n_features)
        self.classes_ = engine.model.classes
        X, columns = table_for(engine.model, data)
        engine.observe(X)
        if share is not None:
            engine.problem = replace(problem, margin=margin_of_share(engine.model, engine.scores(X), share))
        names = [str(name) for name in _check_feature_names_in(self)]
        self._note_constant_features(engine, X, columns, names)

        points, own_class = self._points(engine, X, data.y)
        rules = Rules.of(self.constraints, columns, names) if self.constraints else None
        limits = None if rules is None else rules.limits(engine, X, points)
        began = perf_counter()

        def solve(which: Points, limits: Limits | None, progress: Any = None) -> Counterfactuals:
            left = None if self.time_limit is None else max(0.0, self.time_limit - (perf_counter() - began))
            found = engine.solve(
                X,
                points[which],
                own_class[which],
                feature_names=names,
                limits=limits,
                n_jobs=self.n_jobs,
                time_limit=left,
                time_limit_per_point=self.time_limit_per_point,
                progress=progress,
            )
            return found if rules is None or limits is None else rules.checked(X, found, limits.fillable)

        with progress_bar("Counterfactuals", len(points), bool(self.verbose)) as progress:
            found = solve(np.arange(len(points)), limits, progress)
        found = replace(
            found,
            columns=columns,
            own_code=own_class,
            box=(engine.cells.box_low, engine.cells.box_high),
            has_cuts=engine.has_cuts,
            exact=rules is not None,
        )
        gaps = None if columns is None else deciding_gaps(X, found, limits, solve)
        self._warn_about(found, gaps)
        self._collect_thresholds(engine, X, found, data.weight, gaps)
        # From here on rows are rows of the caller's X, those of weight 0 included.
        self.counterfactuals_ = replace(found, rows=data.rows[found.rows])
        self._choose(X, data.y, data.weight)
        return self

    def _fit_estimator(self, data: TrainingData) -> Any:
        if self.estimator is not None:
            return fitted_through(clone(self.estimator), data.columns, data.given, data.y, data.weight)
        estimator = make_pipeline(PowerOfTwoScaler(), GradientBoostingClassifier(max_depth=1, random_state=0))
        X, y, weight = distinct_rows(data.X, data.y, data.weight)
        return fitted_through(estimator, data.columns, decoded(self, data.columns, X), y, weight)

    def _note_constant_features(
        self, engine: CounterfactualEngine, X: Floats, columns: Columns | None, names: list[str]
    ) -> None:
        constant = engine.cells.box_low == engine.cells.box_high
        if columns is not None:  # a column with a gap has two values, and categories have no box
            constant = (X.min(axis=0) == X.max(axis=0)) & [not column.ignored for column in columns]
        self.constant_features_ = [names[j] for j in np.flatnonzero(constant)]
        if self.constant_features_:
            shown = ", ".join(self.constant_features_[:5]) + (", …" if len(self.constant_features_) > 5 else "")
            warnings.warn(
                f"{len(self.constant_features_)} column(s) have one value only and were left out: {shown}",
                ConstantFeatureWarning,
                stacklevel=3,
            )

    def _points(
        self, engine: CounterfactualEngine, X: Floats, y: NDArray[np.generic]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The paper's set M: rows that are classified correctly, with a confidence inside the band."""
        predicted = engine.predict(X)
        correct = predicted == y
        confidence = engine.model.confidence(engine.scores(X))
        least = 0.0 if engine.model.n_outputs > 1 and self.p0 == 0.5 else self.p0
        points = np.flatnonzero(correct & (confidence >= least) & (confidence <= self.p1))
        if len(points) == 0:
            if not correct.any():
                raise NoCounterfactualError(
                    f"The classifier gets none of the {len(X)} rows right, so there is no row to compute a counterfactual "
                    f"for. Its classes are {engine.model.classes.tolist()}; y begins with {y[:3].tolist()}."
                )
            raise NoCounterfactualError(
                f"No row is classified correctly with a probability between p0={self.p0} and p1={self.p1}. The "
                f"{int(correct.sum())} correctly classified rows lie between {confidence[correct].min():.4g} and "
                f"{confidence[correct].max():.4g}: widen the band."
            )
        return points, engine.class_index(predicted[points])

    def _warn_about(self, found: Counterfactuals, gaps: Gaps | None) -> None:
        counts = found.counts()
        if unverified := counts.get("unverified", 0):
            broken = ", or break a rule" if self.constraints else ""
            warnings.warn(
                f"{unverified} of {len(found)} counterfactuals do not flip the classifier's own predict{broken}; they "
                "are marked 'unverified' and left out of all counts.",
                UnverifiedCounterfactualWarning,
                stacklevel=3,
            )
        n_searches = len(found) + (0 if gaps is None else gaps.n_searches)
        in_gaps = 0 if gaps is None else gaps.n_unfinished
        if unfinished := counts.get("feasible", 0) + counts.get("unknown", 0) + in_gaps:
            warnings.warn(
                f"The time limit ended {unfinished} of {n_searches} searches before their proof; they are left out of all "
                "counts.",
                UnfinishedSearchWarning,
                stacklevel=3,
            )

    def _collect_thresholds(
        self,
        engine: CounterfactualEngine,
        X: Floats,
        found: Counterfactuals,
        weight: Floats | None,
        gaps: Gaps | None,
    ) -> None:
        """Count, merge and round; and keep, per condition, which rows crossed it."""
        crossed = crossings(engine, found, found.columns, gaps)
        if len(crossed.point) == 0:
            reason = (
                "The time limit ended them all: raise time_limit."
                if found.is_status("feasible", "unknown").all()
                else "A classifier that answers one class everywhere inside the data's range has none, nor one that answers "
                "the other by less than the margin."
            )
            rules = " Rules in constraints may forbid all changes that there are." if self.constraints else ""
            raise NoCounterfactualError(
                f"None of the {len(found)} counterfactual searches gave a threshold: {found.counts()}. {reason}{rules}"
            )
        weights = np.ones(len(crossed.point)) if weight is None else weight[found.rows[crossed.point]]
        table, condition = crossed.table(list(found.feature_names), weights, found.columns)

        tolerance = self.merge_tolerance
        if tolerance == "auto":
            tolerance = 0.0 if engine.has_cuts else LINEAR_MERGE_TOLERANCE
        if float(tolerance) > 0:
            table, merged = table.merged(float(tolerance) * (engine.cells.box_high - engine.cells.box_low))
            condition = merged[condition]
        table = values_around(engine, X, table)
        if self.round_thresholds:
            table, rounded = table.rounded()
            condition = rounded[condition]
        self.all_thresholds_ = table
        order = np.argsort(condition, kind="stable")
        self._crossing_points = crossed.point[order]
        self._first_crossing = np.searchsorted(condition[order], np.arange(len(table) + 1))

    def set_granularity(self, Q: float) -> Self:
        """Keep another share of the thresholds found, the most frequent ones, without computing anything anew.

        A selection is dropped: this is the paper's choice.

        Parameters
        ----------
        Q : float
            Keep the thresholds crossed at least as often as the Q-quantile of all counts.

        Returns
        -------
        self
        """
        check_is_fitted(self, "all_thresholds_")
        most_frequent(self.all_thresholds_, Q)  # refuses a Q that is no share
        self.Q = Q
        return self.set_selection(None)

    def _candidates(self) -> ThresholdTable:
        return self.all_thresholds_.select(most_frequent(self.all_thresholds_, self.Q))

    def rows_crossing(self, condition: str | int) -> NDArray[np.int64]:
        """Rows of the training table whose counterfactual crosses a threshold.

        Parameters
        ----------
        condition : str or int
            A name such as ``"RM > 6.94"``, or a position in ``thresholds_``.

        Returns
        -------
        ndarray of int
        """
        check_is_fitted(self, "thresholds_")
        names = self.thresholds_.names()
        if not isinstance(condition, str):
            if not isinstance(condition, Integral):
                raise InvalidInputError(f"condition must be a name or a position, got {condition!r}.")
            if not -len(names) <= condition < len(names):
                raise InvalidInputError(f"There are {len(names)} thresholds; {condition} is not one of their positions.")
            condition = names[int(condition)]
        all_names = self.all_thresholds_.names()
        if condition not in all_names:
            raise InvalidInputError(f"No threshold named {condition!r}. The thresholds kept are {names}.")
        at = all_names.index(str(condition))
        crossing = self._crossing_points[self._first_crossing[at] : self._first_crossing[at + 1]]
        rows: NDArray[np.int64] = np.sort(self.counterfactuals_.rows[crossing])
        return rows

    def crossed_by(self, row: int) -> list[str]:
        """The thresholds that the counterfactual of a row crosses, kept at ``Q`` or not: the inverse of `rows_crossing`.

        A missing value of the row that decides by itself is among them.

        Parameters
        ----------
        row : int
            A row of the training table.

        Returns
        -------
        list of str
            Names such as ``"RM > 6.94"``; none where no counterfactual was asked for, or proven.
        """
        check_is_fitted(self, "thresholds_")
        if not isinstance(row, Integral) or row < 0:
            raise InvalidInputError(f"row must be the number of a row of the training table, from 0 on, got {row!r}.")
        rows, conditions = self.crossings()
        names = self.all_thresholds_.names()
        return [names[at] for at in conditions[rows == row].tolist()]

    def crossings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which row's counterfactual crosses which threshold, one entry per crossing.

        Returns
        -------
        rows : ndarray of int
            Rows of the training table.
        conditions : ndarray of int
            Positions in ``all_thresholds_``, sorted.
        """
        check_is_fitted(self, "thresholds_")
        conditions = np.repeat(np.arange(len(self.all_thresholds_)), np.diff(self._first_crossing))
        return self.counterfactuals_.rows[self._crossing_points], conditions
