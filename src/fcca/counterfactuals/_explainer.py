"""CounterfactualExplainer: the cheapest changes that flip the predictions of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.constraints import Constraint, Limits, broken_by, check_rules, compile_rules, holds, limits_for
from fcca.counterfactuals._alternatives import cheapest_alternatives
from fcca.counterfactuals._batch import Progress
from fcca.counterfactuals._distance_units import check_columns_of_scale, check_not_far
from fcca.counterfactuals._engine import CounterfactualEngine
from fcca.counterfactuals._explanations import Explanations
from fcca.counterfactuals._probability import check_two_classes, probabilities, score_margin
from fcca.counterfactuals._problem import CounterfactualProblem, Scale, is_number
from fcca.counterfactuals._result import Counterfactuals, joined, without_moves
from fcca.counterfactuals._score_margins import DEFAULT_MARGIN, as_share, margin_of_share
from fcca.counterfactuals._workers import reproducible_predictions
from fcca.exceptions import InvalidInputError, UnsupportedModelError, UnverifiedCounterfactualWarning
from fcca.milp import ANY_OTHER_CLASS
from fcca.models import as_classifier, decide_at, read_model
from fcca.tables import Columns, check_column_names, check_columns, column_names, shown_names
from fcca.utils import progress_bar

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

PROBABILITY_TOLERANCE = 1e-6
FITTED_ON, GIVEN_BEFORE = "the classifier was fitted on", "the explainer was given"


@dataclass(frozen=True)
class Request:
    """The checked and encoded arguments of one call of ``explain``.

    Attributes
    ----------
    table : ndarray of shape (n_rows, n_features)
        The rows to explain, with categories as codes.
    labels : ndarray of shape (n_rows,)
        Names of the rows, such as the index of a data frame.
    own, wanted : ndarray of shape (n_rows,)
        The predicted class and the target class, as positions in ``classes``. A target of -1 is any other class.
    margin : ndarray of shape (n_rows,)
        Score margin by which the target class must win.
    probability : float or None
        Required probability of the target class.
    rules : tuple of Constraint
    limits : Limits or None
        The rules, compiled for these rows.
    began : float
        Start of the call, by ``perf_counter``.
    """

    table: Floats
    labels: NDArray[Any]
    own: Codes
    wanted: Codes
    margin: Floats
    probability: float | None
    rules: tuple[Constraint, ...]
    limits: Limits | None
    began: float


class CounterfactualExplainer:
    """Find the cheapest changes that flip the predictions of single rows, with proof.

    Parameters
    ----------
    classifier : fitted classifier
        Anything that :func:`fcca.read_model` reads, and trained boosters of XGBoost, LightGBM and CatBoost. The classifier
        is not changed.
    X : array-like or data frame of shape (n_rows, n_features)
        Training data, or similar data. X determines the units of distance, and a change stays inside the range of X. The
        cuts of the classifier divide a column into cells. A feature that moves into another cell takes the nearest value of
        X in that cell. If the cell contains no value of X, the feature takes the middle of the cell. A linear classifier
        has no cuts; its changes end at the decision boundary.
    lambda0, lambda1, lambda2 : float, default=0.1, 1.0 and 0.0
        Cost of a change: ``lambda0`` per changed feature, ``lambda1`` times the distance and ``lambda2`` times its square.
    scale : {"range", "rank", "mad"} or mapping of column names to units, default="range"
        Unit of distance of a numeric column. "range": largest minus smallest value in X. "rank": ranks in X replace the
        values, and the unit is the highest minus the lowest rank. Ranks between two values of X are interpolated linearly.
        Only for classifiers made of trees. "mad": the median absolute deviation in X, or the mean absolute deviation if the
        median is 0. A mapping such as ``{"income": 1000}`` gives the unit of each column; columns that are not in the
        mapping use "range".
    category_distance : float or "auto", default="auto"
        Distance of a change without direction: another category, a filled-in missing value, a switch of a one-hot group.
        "auto" computes the mean distance between two rows of X for each numeric column that is not constant. It uses the
        mean over these columns, rounded to two digits, or 1 if there are none. A rule :class:`fcca.constraints.Cost`
        changes the cost of one column.
    margin : float or str, default=1e-4
        Score margin by which the target class must win, or a share of the range of scores, such as ``"10%"``. For a forest,
        ``"10%"`` means a lead of 10 % of the votes. For boosting and linear models, the range is from the 5th to the 95th
        percentile of the scores of X. A larger margin gives more robust counterfactuals (:mod:`fcca.robustness`).
    decision_threshold : float, default=None
        For two classes: predict the second class if its probability is at least this threshold. None uses the classifier's
        ``predict``.
    constraints : list of Constraint, default=None
        Rules of :mod:`fcca.constraints` for every counterfactual. Rules given to :meth:`explain` apply as well.
    plausibility : float, default=None
        Share of the rows of X, such as 0.1. Every counterfactual must be at least as plausible as this share of the rows.
        An isolation forest fitted on X measures plausibility. Only for tree ensembles. The search becomes ten to a hundred
        times slower.
    n_jobs : int, default=None
        Number of threads. None is 1, -1 is all cores. Inside ``joblib.parallel_config`` with a backend of processes, such
        as ``"loky"`` or ``"dask"``, it is the number of processes. The result does not depend on ``n_jobs``.
    time_limit : float, default=None
        Seconds for all searches of a call of :meth:`explain`. The status shows which results are proven.
    time_limit_per_row : float, default=None
        Seconds for each search. There is one search per row and, with ``n`` above 1, a few per counterfactual.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    category_distance_ : float
        Distance of a change of category.

    See Also
    --------
    FCCADiscretizer : find the thresholds that the counterfactuals of the training rows cross.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from fcca import CounterfactualExplainer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = GradientBoostingClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> found = CounterfactualExplainer(classifier, X).explain(X.iloc[[5]])
    >>> found.sentences({0: "malignant", 1: "benign"})
    ['Row 5 would be benign if worst concave points fell from 0.1741 to 0.1357.']
    >>> found.status.tolist()
    ['optimal']

    >>> from fcca.constraints import Immutable
    >>> explainer = CounterfactualExplainer(classifier, X, constraints=[Immutable("worst concave points")])
    >>> explainer.explain(X.iloc[[5]]).sentences({0: "malignant", 1: "benign"})
    ['Row 5 would be benign if worst texture fell from 23.75 to 19.85 and worst area fell from 741.6 to 725.9.']
    """

    def __init__(
        self,
        classifier: Any,
        X: Any,
        *,
        lambda0: float = 0.1,
        lambda1: float = 1.0,
        lambda2: float = 0.0,
        scale: Scale = "range",
        category_distance: float | str = "auto",
        margin: float | str = DEFAULT_MARGIN,
        decision_threshold: float | None = None,
        constraints: Iterable[Constraint] | None = None,
        plausibility: float | None = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        time_limit_per_row: float | None = None,
        verbose: int = 0,
    ) -> None:
        share = as_share(margin) if isinstance(margin, str) else None
        least: Any = DEFAULT_MARGIN if share is not None else margin
        problem = CounterfactualProblem(lambda0, lambda1, lambda2, least, scale, category_distance)
        _check_effort(n_jobs, time_limit=time_limit, time_limit_per_row=time_limit_per_row)
        if isinstance(classifier, type):
            raise UnsupportedModelError(
                f"classifier is the class {classifier.__name__}, not an instance. Create an instance and fit it."
            )
        self.classifier = as_classifier(classifier)
        if decision_threshold is not None:
            _check_real("decision_threshold", decision_threshold)
            self.classifier = decide_at(self.classifier, float(decision_threshold))
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.time_limit_per_row = time_limit_per_row
        self.verbose = verbose
        reference = self._read(X, problem)
        if share is not None:
            of_share = margin_of_share(self.engine.model, self.engine.scores(reference), share)
            self.engine.problem = replace(problem, margin=of_share)
        self.constraints = () if constraints is None else check_rules(constraints)
        self._limits(self.constraints, reference[:0])  # raises an error for impossible rules
        self.plausibility = plausibility
        self._plausibility = None
        if plausibility is not None:
            _check_real("plausibility", plausibility)
            self._plausibility = self.engine.plausibility(float(plausibility))

    def _read(self, X: Any, problem: CounterfactualProblem) -> Floats:
        """Read the classifier, create the engine and the columns, and return the encoded X."""
        check_column_names(X, numbers=True)
        known = getattr(self.classifier, "feature_names_in_", None)
        names, n_given = column_names(X), _n_columns(X)
        model = read_model(self.classifier)
        n = model.n_features  # after a second fit, CatBoost keeps n_features_in_ of the first fit
        if n_given is not None:
            check_columns(names, n_given, None if known is None else list(known), n, knower=FITTED_ON)
        self.engine = CounterfactualEngine(self.classifier, problem, like=X, model=model)
        self.classes = model.classes
        self._given_names = names if names is not None or known is None else list(known)
        self.feature_names = tuple(self._given_names or shown_names(X) or (f"x{j}" for j in range(n)))
        self._coding = self.engine.model.columns or Columns.numbers(n)
        # Rules use the names of the user's table.
        self.columns = Columns(
            tuple(replace(column, name=name) for column, name in zip(self._coding, self.feature_names, strict=True))
        )
        table = self._coding.encode(X, _row_labels(X))
        check_columns_of_scale(problem.scale, self.feature_names, self.engine.is_number)
        self.engine.observe(table)
        self.engine.measure_rows(self.feature_names)
        self.category_distance_ = self.engine.category_distance
        self._is_binary = np.array([np.isin(values[~np.isnan(values)], (0, 1)).all() for values in table.T])
        return table

    def explain(
        self,
        X: Any,
        target: Any = None,
        target_probability: float | None = None,
        n: int = 1,
        constraints: Iterable[Constraint] | None = None,
    ) -> Explanations:
        """Find the cheapest changes that flip the predictions of the given rows.

        Parameters
        ----------
        X : array-like, data frame or Series
            Rows to explain, or one row, with the same columns as the X given to the explainer.
        target : label or array-like of labels, default=None
            The class to reach, one label for all rows or one per row. None: the other class that is cheapest to reach. A
            row that is already predicted as the target has a counterfactual of cost 0.
        target_probability : float, default=None
            For two classes: minimum probability of the target after the change. For classifiers without ``predict_proba``,
            the probability is the logistic function of the decision function.
        n : int, default=1
            Maximum number of counterfactuals per row. Each further counterfactual is the cheapest one that does not change
            all the features of any earlier one. With n above 1, each row needs several searches, so consider a time limit.
        constraints : list of Constraint, default=None
            Rules of :mod:`fcca.constraints` that hold in addition to the rules of the explainer. Rules restrict changes
            only: an unchanged value is accepted even if it violates a rule. ``broken_rules`` of the result lists the rules
            that the given rows violate.

        Returns
        -------
        Explanations
        """
        if not isinstance(n, Integral) or n < 1:
            raise InvalidInputError(f"n must be a whole number of at least 1, got {n!r}.")
        request = self._request(X, target, target_probability, constraints)
        first, open_rows = self._without_search(request)
        if len(open_rows):
            with progress_bar("Counterfactuals", len(open_rows), bool(self.verbose)) as progress:
                first = joined([first, self._solve(request, open_rows, None, progress)])
        answers = first.take(np.argsort(first.rows))
        number = np.ones(len(answers), dtype=np.int64)
        if n > 1:
            n_features = request.table.shape[1]
            with progress_bar("Further counterfactuals", int(n) * len(answers), bool(self.verbose)) as progress:
                answers, number = cheapest_alternatives(
                    answers, request.wanted, int(n), n_features, partial(self._solve, request), progress
                )
        return self._explanations(request, answers, number)

    def _request(self, X: Any, target: Any, probability: float | None, constraints: Iterable[Constraint] | None) -> Request:
        """Check and encode the arguments of :meth:`explain`."""
        table, labels = self.encode_rows(X)
        began = perf_counter()
        rules = self.constraints + (() if constraints is None else check_rules(constraints))
        limits = self._limits(rules, table)
        own = self.engine.class_index(self.engine.predict(table))
        wanted = self._wanted(target, own)
        margin = np.full(len(table), self.engine.problem.margin)
        if probability is not None:
            margin = self._probability_margins(probability, wanted)
        return Request(table, labels, own, wanted, margin, probability, rules, limits, began)

    def _solve(
        self,
        request: Request,
        rows: NDArray[np.int64],
        frozen: NDArray[np.bool_] | None,
        progress: Progress | None = None,
    ) -> Counterfactuals:
        """Find the counterfactuals of the requested ``rows``, without changing ``frozen`` features."""
        left = None if self.time_limit is None else max(0.0, self.time_limit - (perf_counter() - request.began))
        found = self.engine.solve(
            request.table,
            rows,
            request.own[rows],
            feature_names=self.feature_names,
            target=request.wanted[rows],
            margin=request.margin[rows],
            limits=limits_for(request.limits, rows, frozen),
            plausibility=self._plausibility,
            n_jobs=self.n_jobs,
            time_limit=left,
            time_limit_per_row=self.time_limit_per_row,
            progress=progress,
        )
        return self._checked(request, found)

    def _limits(self, rules: tuple[Constraint, ...], table: Floats) -> Limits | None:
        """Check the rules and compile them for the rows of ``table``."""
        if not rules:
            return None
        low, high = self.engine.cells.box_low, self.engine.cells.box_high
        return compile_rules(rules, self.columns, low, high, table, is_binary=self._is_binary)

    # --- arguments ----------------------------------------------------------------------------------------------------

    def encode_rows(self, X: Any) -> tuple[Floats, NDArray[Any]]:
        """Check and encode rows; return the encoded table and the row labels."""
        check_column_names(X, numbers=True)
        labels, names = _row_labels(X), column_names(X)
        if isinstance(X, pd.Series):
            X = X.to_frame().T.infer_objects()
        elif not hasattr(X, "columns") and _is_flat(X):
            X = [list(X)]
        if (n_given := _n_columns(X)) is not None:
            check_columns(names, n_given, self._given_names, len(self.feature_names), knower=GIVEN_BEFORE)
        table = self._coding.encode(X, labels)
        check_not_far(table, self.engine.cells, self.feature_names, self.engine.is_number)
        return table, np.arange(len(table)) if labels is None else labels

    def _wanted(self, target: Any, own: Codes) -> Codes:
        """Convert ``target`` to positions in ``classes``; -1 stands for any other class."""
        n_rows = len(own)
        if target is None:
            return 1 - own if len(self.classes) == 2 else np.full(n_rows, ANY_OTHER_CLASS, dtype=np.int32)
        classes = self.classes.tolist()
        if np.ndim(target) == 0:
            target = [target] * n_rows
        elif np.ndim(target) > 1 or len(target) != n_rows:
            raise InvalidInputError(
                f"target must be one label or one per row ({n_rows} rows), got shape {np.shape(target)}."
            )
        labels = [label.item() if isinstance(label, np.generic) else label for label in target]
        unknown = [label for label in labels if label not in classes]
        if unknown:
            raise InvalidInputError(f"{unknown[0]!r} is not a class of the classifier. Its classes are {classes}.")
        return np.array([classes.index(label) for label in labels], dtype=np.int32)

    # --- probabilities ------------------------------------------------------------------------------------------------

    @property
    def _has_probabilities(self) -> bool:
        return hasattr(self.classifier, "predict_proba")

    def _own_probabilities(self, X: Floats) -> Floats:
        """Compute class probabilities with ``predict_proba`` or, without this method, from scores."""
        given = self.engine.given(X)
        if self._has_probabilities:
            with reproducible_predictions():
                return np.asarray(self.classifier.predict_proba(given), dtype=np.float64)
        score = (
            self.classifier.decision_function(given)
            if hasattr(self.classifier, "decision_function")
            else self.engine.scores(X)
        )
        return probabilities(self.engine.model.link, np.asarray(score, dtype=np.float64).ravel())

    def _probability_of(self, X: Floats, codes: Codes) -> Floats:
        """Compute, for each row of X, the probability of the class ``codes[row]``."""
        return self._own_probabilities(X)[np.arange(len(X)), codes]

    def _probability_margins(self, probability: float, wanted: Codes) -> Floats:
        """Compute, for each row, the score margin at which its target reaches the probability."""
        _check_real("target_probability", probability)
        if not 0 < probability < 1:
            raise InvalidInputError(f"target_probability must be between 0 and 1, got {probability!r}.")
        model = self.engine.model
        check_two_classes(model)
        needed = np.array(
            [score_margin(model, code, float(probability), has_probabilities=self._has_probabilities) for code in (0, 1)]
        )
        margin: Floats = np.maximum(self.engine.problem.margin, needed[wanted])
        return margin

    def _checked(self, request: Request, found: Counterfactuals) -> Counterfactuals:
        """Mark counterfactuals that break a rule or miss the required probability as unverified."""
        answered = np.flatnonzero(found.is_status("optimal", "feasible"))
        if len(answered) == 0 or (not request.rules and request.probability is None):
            return found
        points = found.take(answered).changed_table(request.table)
        good = np.ones(len(answered), dtype=bool)
        if request.rules:
            good &= holds(request.rules, self.columns, request.table[found.rows[answered]], points)
        if request.probability is not None:
            reached = self._probability_of(points, found.target_code[answered])
            good &= ~(reached < request.probability - PROBABILITY_TOLERANCE)
        return found.unverified(answered[~good])

    # --- results ------------------------------------------------------------------------------------------------------

    def _without_search(self, request: Request) -> tuple[Counterfactuals, NDArray[np.int64]]:
        """Build the results of rows that need no search.

        These rows already have the target class, or cannot reach the required probability. Also returns the positions of
        all other rows.
        """
        there = request.own == request.wanted
        if request.probability is not None and there.any():
            rows = np.flatnonzero(there)
            there[rows] = self._probability_of(request.table[rows], request.wanted[rows]) >= request.probability
        unreachable = ~there & np.isinf(request.margin)
        answers = [
            without_moves(
                np.flatnonzero(rows),
                self.classes,
                request.wanted[rows],
                status,
                np.full(rows.sum(), bound),
                self.feature_names,
                self.engine.model.columns,
            )
            for rows, status, bound in ((there, "optimal", 0.0), (unreachable, "infeasible", np.inf))
        ]
        return joined(answers), np.flatnonzero(~there & ~unreachable)

    def _explanations(self, request: Request, answers: Counterfactuals, number: NDArray[np.int64]) -> Explanations:
        broken = broken_by(request.rules, self.columns, request.table)
        columns = {field.name: getattr(answers, field.name) for field in fields(Counterfactuals)}
        columns |= {
            "own_code": request.own[answers.rows],
            "box": (self.engine.cells.box_low, self.engine.cells.box_high),
            "has_cuts": self.engine.has_cuts,
            "exact": bool(request.rules),
        }
        unknown = np.full(len(answers), np.nan)
        found = Explanations(
            **columns,
            answer=number,
            wanted_code=request.wanted[answers.rows],
            table=request.table,
            labels=request.labels,
            probability_before=unknown,
            probability_after=unknown.copy(),
            target_probability=None if request.probability is None else float(request.probability),
            broken_rules=broken.assign(row=request.labels[broken["row"].to_numpy()]),
        )
        if unverified := found.counts().get("unverified", 0):
            warnings.warn(
                f"{unverified} of {len(found)} counterfactuals were not confirmed by the classifier's predict, or break a "
                "rule. They have the status 'unverified'.",
                UnverifiedCounterfactualWarning,
                stacklevel=3,
            )
        if self._has_probabilities:
            self._fill_probabilities(found)
        return found

    def _fill_probabilities(self, found: Explanations) -> None:
        code = found.class_code
        known = np.flatnonzero(code >= 0)
        found.probability_before[known] = self._own_probabilities(found.table)[found.rows[known], code[known]]
        answered = np.flatnonzero(~found.is_status("infeasible", "unknown"))
        if len(answered):
            found.probability_after[answered] = self._probability_of(found.points[answered], code[answered])


def _n_columns(X: Any) -> int | None:
    """Return the number of columns of a table; None for anything else."""
    try:
        shape: tuple[int, ...] = X.shape if hasattr(X, "shape") else np.shape(X)
    except ValueError:  # lists of different lengths
        return None
    return shape[1] if len(shape) == 2 else None


def _is_flat(X: Any) -> bool:
    """Return True if X is a single row of plain values."""
    return X.ndim == 1 if hasattr(X, "ndim") else not any(np.ndim(entry) for entry in X)


def _row_labels(X: Any) -> NDArray[Any] | None:
    """Return the index of a data frame or the name of a Series, else None."""
    if isinstance(X, pd.DataFrame):
        return np.asarray(X.index)
    return np.array([X.name], dtype=object) if isinstance(X, pd.Series) and X.name is not None else None


def _check_real(name: str, value: Any) -> None:
    if not is_number(value):
        raise InvalidInputError(f"{name} must be a number, got {value!r}.")


def _check_effort(n_jobs: Any, **time_limits: Any) -> None:
    for name, limit in time_limits.items():
        if limit is not None:
            _check_real(name, limit)
            if not limit >= 0:
                raise InvalidInputError(f"{name} must be None or a number of seconds of at least 0, got {limit!r}.")
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InvalidInputError(f"n_jobs must be None, a number of threads, or -1 for all cores; got {n_jobs!r}.")
