"""CounterfactualExplainer: the cheapest changes that flip the predictions of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import fields, replace
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
from fcca.counterfactuals._explainer_regions import RegionsOfCounterfactuals
from fcca.counterfactuals._explanations import Explanations
from fcca.counterfactuals._probability import check_two_classes, probabilities, score_margin
from fcca.counterfactuals._problem import CounterfactualProblem, Scale
from fcca.counterfactuals._request import (
    Request,
    check_effort,
    check_real,
    is_flat,
    n_columns,
    replaced_values,
    row_labels,
    target_codes,
)
from fcca.counterfactuals._result import Counterfactuals, joined, without_moves
from fcca.counterfactuals._score_margins import DEFAULT_MARGIN, as_share, margin_of_share
from fcca.counterfactuals._workers import reproducible_predictions
from fcca.exceptions import InvalidInputError, SpecialValuesWarning, UnsupportedModelError, UnverifiedCounterfactualWarning
from fcca.models import as_classifier, decide_at, read_model
from fcca.tables import (
    Columns,
    StandIns,
    check_column_names,
    check_columns,
    check_handling,
    check_ordinary_values,
    column_names,
    likely_in_words,
    likely_special_values,
    shown_names,
    special_by_column,
    without_special,
)
from fcca.utils import progress_bar, progress_shown

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

PROBABILITY_TOLERANCE = 1e-6
FITTED_ON, GIVEN_BEFORE = "the classifier was fitted on", "the explainer was given"


class CounterfactualExplainer(RegionsOfCounterfactuals):
    """Find the cheapest changes that flip the predictions of single rows, with proof.

    Parameters
    ----------
    classifier : fitted classifier
        Anything that :func:`fcca.read_model` reads, and trained boosters of XGBoost, LightGBM and CatBoost. A small tree can
        be explained, too: an :class:`fcca.FCCAClassifier`, an :class:`fcca.OptimalTreeClassifier` or a
        :class:`fcca.export.DistilledTree`. The classifier is not changed.
    X : array-like or data frame of shape (n_rows, n_features)
        Training data, or similar data. X determines the units of distance, and a change stays inside the range of X. The
        cuts of the classifier divide a column into cells. A feature that moves into another cell takes the nearest value of
        X in that cell. If the cell contains no value of X, the feature takes the middle of the cell, or the nearest whole
        number of the cell if all values of the column are whole numbers. With rules or ``plausibility``, only the rule
        :class:`fcca.constraints.Integer` makes a column end at whole numbers. A linear classifier has no cuts; its changes
        end at the decision boundary.
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
    special_values : set of float, or mapping of column names to such sets, default=None
        Numbers that stand for something else, such as -9 for "no record". A set applies to all numeric columns. A special
        value is a category of its own: replacing it costs as much as a change of category. No change ends at a special
        value, and ranges, medians and units of distance ignore it. Only for classifiers made of trees. None uses the special
        values that a tree of this package knows, or none for other classifiers.
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
    relative_gap : float, default=0.0
        A search may end when no change can be cheaper by more than this share of the cost. With 0.05, a counterfactual costs
        at most ``bound / 0.95``, where ``bound`` is a proven lower bound of the cheapest cost. Its status is then
        ``within_gap``. Only the branch and bound for ensembles of larger trees uses the gap. For linear models and for
        ensembles in which each tree tests one feature, every proven counterfactual is still ``optimal``.
    verbose : int, default=None
        None shows a progress bar in a terminal or a notebook, if the work takes more than two seconds. 0 shows nothing. 1
        always shows the progress on standard error.
    handle_unknown : {"warn", "ignore", "error"}, default="warn"
        What to do with explained rows that have a category, or a missing value that the classifier does not take, that no
        row of X has in the same column. "ignore": the row is explained with the median or the most frequent category of X
        instead; ``replaced`` of the result lists these values. "warn": the same, with one warning per call. "error": an
        error.

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
    ['Row 5 would be benign if worst texture fell from 23.75 to 19.85 and worst area fell from 741.6 to 726.']
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
        special_values: Any = None,
        margin: float | str = DEFAULT_MARGIN,
        decision_threshold: float | None = None,
        constraints: Iterable[Constraint] | None = None,
        plausibility: float | None = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        time_limit_per_row: float | None = None,
        relative_gap: float = 0.0,
        verbose: int | None = None,
        handle_unknown: str = "warn",
    ) -> None:
        check_handling(handle_unknown)
        share = as_share(margin) if isinstance(margin, str) else None
        least: Any = DEFAULT_MARGIN if share is not None else margin
        problem = CounterfactualProblem(lambda0, lambda1, lambda2, least, scale, category_distance, relative_gap)
        check_effort(n_jobs, time_limit=time_limit, time_limit_per_row=time_limit_per_row)
        if isinstance(classifier, type):
            raise UnsupportedModelError(
                f"classifier is the class {classifier.__name__}, not an instance. Create an instance and fit it."
            )
        self.classifier = as_classifier(classifier)
        if decision_threshold is not None:
            check_real("decision_threshold", decision_threshold)
            self.classifier = decide_at(self.classifier, float(decision_threshold))
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.time_limit_per_row = time_limit_per_row
        self.verbose = verbose
        self.handle_unknown = handle_unknown
        reference = self._read(X, problem, special_values)
        if share is not None:
            of_share = margin_of_share(self.engine.model, self.engine.scores(reference), share)
            self.engine.problem = replace(problem, margin=of_share)
        self.constraints = () if constraints is None else check_rules(constraints)
        self._limits(self.constraints, reference[:0])  # raises an error for impossible rules
        self.plausibility = plausibility
        self._plausibility = None
        if plausibility is not None:
            check_real("plausibility", plausibility)
            self._plausibility = self.engine.plausibility(float(plausibility))

    def _read(self, X: Any, problem: CounterfactualProblem, special_values: Any) -> Floats:
        """Read the classifier, create the engine and the columns, and return the encoded X."""
        check_column_names(X, numbers=True)
        known = getattr(self.classifier, "feature_names_in_", None)
        names, n_given = column_names(X), n_columns(X)
        model = read_model(self.classifier)
        n = model.n_features  # after a second fit, CatBoost keeps n_features_in_ of the first fit
        if n_given is not None:
            check_columns(names, n_given, None if known is None else list(known), n, knower=FITTED_ON)
        self.engine = CounterfactualEngine(self.classifier, problem, like=X, model=model)
        self.classes = model.classes
        self._given_names = names if names is not None or known is None else list(known)
        self.feature_names = tuple(self._given_names or shown_names(X) or (f"x{j}" for j in range(n)))
        special = special_by_column(special_values, self.feature_names, self.engine.is_number)
        if special_values is None:
            special = dict(model.special)
        if special:
            self.engine = CounterfactualEngine(self.classifier, problem, model=self.engine.model, special=special)
        self._coding = self.engine.model.columns or Columns.numbers(n)
        # Rules use the names of the user's table.
        self.columns = Columns(
            tuple(replace(column, name=name) for column, name in zip(self._coding, self.feature_names, strict=True))
        )
        table = self._coding.encode(X, row_labels(X))
        check_columns_of_scale(problem.scale, self.feature_names, self.engine.is_number)
        model = self.engine.model
        self._stand_ins = StandIns.of(without_special(table, special), model.columns, model.like_unknown)
        self.engine.observe(table)
        check_ordinary_values(self.engine.cells.box_low, special, self.feature_names)
        if special_values is None and self.engine.has_cuts:
            likely = likely_special_values(without_special(table, special), self.engine.is_number)
            if likely:
                warnings.warn(likely_in_words(likely, self.feature_names), SpecialValuesWarning, stacklevel=3)
        self.engine.measure_rows(self.feature_names)
        self.category_distance_ = self.engine.category_distance
        present = [values[~np.isnan(values)] for values in without_special(table, special).T]
        self._is_binary = np.array([np.isin(values, (0, 1)).all() for values in present])
        self._ruled_engine = self.engine
        self._is_whole = np.array([(values == np.floor(values)).all() for values in present])
        if self.engine.has_cuts:
            self.engine = self.engine.landing_on_whole_numbers(self._is_whole)
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
            with progress_shown(self.verbose), progress_bar("Counterfactuals", len(open_rows)) as progress:
                first = joined([first, self._solve(request, open_rows, None, progress)])
        answers = first.take(np.argsort(first.rows))
        number = np.ones(len(answers), dtype=np.int64)
        if n > 1:
            n_features = request.table.shape[1]
            n_answers = int(n) * len(answers)
            with progress_shown(self.verbose), progress_bar("Further counterfactuals", n_answers) as progress:
                answers, number = cheapest_alternatives(
                    answers,
                    request.wanted,
                    int(n),
                    n_features,
                    partial(self._solve, request),
                    progress,
                    self.engine.problem.relative_gap,
                )
        return self._explanations(request, answers, number)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the rows of a table, as :meth:`explain` does, with the decision threshold and replaced values.

        For example, ``explainer.explain(X[explainer.predict(X) == "bad"])`` explains the rows that are predicted as bad.
        """
        predicted: NDArray[Any] = self.engine.predict(self._encoded(X)[0])
        return predicted

    def _request(self, X: Any, target: Any, probability: float | None, constraints: Iterable[Constraint] | None) -> Request:
        """Check and encode the arguments of :meth:`explain`."""
        table, labels, replaced = self._encoded(X)
        began = perf_counter()
        rules = self.constraints + (() if constraints is None else check_rules(constraints))
        limits = self._limits(rules, table)
        own = self.engine.class_index(self.engine.predict(table))
        wanted = target_codes(target, own, self.classes.tolist())
        margin = np.full(len(table), self.engine.problem.margin)
        if probability is not None:
            margin = self._probability_margins(probability, wanted)
        return Request(table, labels, own, wanted, margin, probability, rules, limits, began, replaced)

    def _solve(
        self,
        request: Request,
        rows: NDArray[np.int64],
        frozen: NDArray[np.bool_] | None,
        progress: Progress | None = None,
    ) -> Counterfactuals:
        """Find the counterfactuals of the requested ``rows``, without changing ``frozen`` features."""
        left = None if self.time_limit is None else max(0.0, self.time_limit - (perf_counter() - request.began))
        is_free = not request.rules and self._plausibility is None
        found = (self.engine if is_free else self._ruled_engine).solve(
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
        """Check and encode rows; return the encoded table and the row labels.

        Values that the classifier cannot take are replaced; see ``handle_unknown``.
        """
        return self._encoded(X)[:2]

    def _encoded(self, X: Any) -> tuple[Floats, NDArray[Any], pd.DataFrame]:
        """Check and encode rows; return the encoded table, the row labels and the replaced values."""
        check_column_names(X, numbers=True)
        labels, names = row_labels(X), column_names(X)
        if isinstance(X, pd.Series):
            X = X.to_frame().T.infer_objects()
        elif not hasattr(X, "columns") and is_flat(X):
            X = [list(X)]
        if (n_given := n_columns(X)) is not None:
            check_columns(names, n_given, self._given_names, len(self.feature_names), knower=GIVEN_BEFORE)
        given = self._coding.encode(X, labels, handle_unknown=self.handle_unknown)
        table = self._stand_ins.fill(given)
        check_not_far(
            without_special(table, self.engine.special), self.engine.cells, self.feature_names, self.engine.is_number
        )
        labels = np.arange(len(table)) if labels is None else labels
        return table, labels, replaced_values(X, table, self._stand_ins.replaced(given), labels, self.columns)

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
        check_real("target_probability", probability)
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
        answered = np.flatnonzero(found.is_found)
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
            "rules": request.rules,
            "special": self.engine.special,
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
            replaced=request.replaced,
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
