"""The counterfactuals of a fitted classifier over a table that is given at once or in pieces, and the thresholds they cross.

It is a map and a reduction: what pieces of a table tell adds up (:class:`Seen`), and so does what their searches find
(:class:`Searched`), in any order and with the same result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from time import perf_counter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca._columns import Columns
from fcca._frames import check_column_names, check_columns, column_names
from fcca.constraints import Limits
from fcca.counterfactuals import (
    DEFAULT_MARGIN,
    STATUSES,
    Cells,
    CounterfactualEngine,
    CounterfactualProblem,
    Counterfactuals,
    Observations,
    as_share,
    margin_of_share,
)
from fcca.discretizers._crossings import Crossings, Points, crossings, deciding_gaps, observed_cells, values_around
from fcca.discretizers._landings import Landings
from fcca.discretizers._rules import Rules
from fcca.discretizers._validation import columns_for
from fcca.exceptions import (
    InvalidInputError,
    NoCounterfactualError,
    UnfinishedSearchWarning,
    UnverifiedCounterfactualWarning,
)
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Linear models have no cuts: every row lands somewhere else, so landings this share of the range apart count as one.
LINEAR_MERGE_TOLERANCE = 0.01


LIMITS = ("time_limit", "time_limit_per_point")


class OutOfTimeError(NoCounterfactualError):
    """The limits of time ended all searches.

    Parameters
    ----------
    what : str
    *limits : str
        What to raise.
    """

    def __init__(self, what: str, *limits: str) -> None:
        super().__init__(what, *limits)
        self.what, self.limits = what, limits

    def __str__(self) -> str:
        return f"{self.what} The time limit ended them all: raise {' and '.join(self.limits)}."


@dataclass(frozen=True)
class Seen:
    """What has to be known of all rows before the first search.

    Attributes
    ----------
    observations : Observations
    has_gaps : ndarray of shape (n_features,)
        In which columns values are missing.
    is_binary : ndarray of shape (n_features,)
        Which columns hold nothing but 0 and 1.
    """

    observations: Observations
    has_gaps: Bools
    is_binary: Bools

    def __add__(self, other: Seen) -> Seen:
        return Seen(self.observations + other.observations, self.has_gaps | other.has_gaps, self.is_binary & other.is_binary)


@dataclass(frozen=True)
class Searched:
    """What the searches of some rows found.

    Attributes
    ----------
    table : ThresholdTable or Landings
        The conditions crossed, as the classifier has them.
    statuses : dict of str to int
        How many counterfactuals there are of each status.
    n_rows, n_correct : int
        Rows, and those of them that the classifier gets right.
    least, most : float
        The confidence of the latter.
    n_gaps, n_gaps_unfinished : int
        Further searches, for missing values; and those that ran out of time.
    """

    table: Any
    statuses: Mapping[str, int]
    n_rows: int
    n_correct: int
    least: float
    most: float
    n_gaps: int = 0
    n_gaps_unfinished: int = 0

    @property
    def n_points(self) -> int:
        """How many counterfactuals there are."""
        return sum(self.statuses.values())

    def __add__(self, other: Searched) -> Searched:
        both = {name: self.statuses.get(name, 0) + other.statuses.get(name, 0) for name in STATUSES}
        return Searched(
            self.table + other.table,
            {name: n for name, n in both.items() if n},
            self.n_rows + other.n_rows,
            self.n_correct + other.n_correct,
            min(self.least, other.least),
            max(self.most, other.most),
            self.n_gaps + other.n_gaps,
            self.n_gaps_unfinished + other.n_gaps_unfinished,
        )


class Answers(NamedTuple):
    """The searches of one piece."""

    searched: Searched
    found: Counterfactuals
    crossed: Crossings
    condition: NDArray[np.int64]  # of ``searched.table``, per crossing


class Run:
    """The searches of one classifier.

    Parameters
    ----------
    parameters : dict
        Of an FCCADiscretizer.
    estimator : fitted classifier
    names : sequence of str
        Of the columns.
    like : array-like or data frame
        Raw rows, from which labels of categories are taken that the classifier has not kept.
    categories : array-like or data frame, optional
        A table with all of these labels, where ``like`` has not.
    """

    def __init__(
        self, parameters: Mapping[str, Any], estimator: Any, names: Sequence[str], like: Any, categories: Any = None
    ) -> None:
        self.has_names = column_names(like) is not None
        self.given = SimpleNamespace(**{name: value for name, value in parameters.items() if name != "estimator"})
        self.names = list(names)
        self.engine = CounterfactualEngine(
            estimator, problem_of(self.given), like=like if categories is None else categories
        )
        self.columns: Columns | None = None
        self.rules: Rules | None = None
        self.is_binary: Bools = np.ones(len(self.names), dtype=bool)
        self.has_gaps: Bools = np.zeros(len(self.names), dtype=bool)
        self.seconds = 0.0

    def given_now(self, parameters: Mapping[str, Any]) -> Run:
        """The same run, with parameters that were set anew; those of the problem and the columns stay as they were.

        Parameters
        ----------
        parameters : mapping
            Of an FCCADiscretizer.
        """
        run = copy(self)
        run.given = SimpleNamespace(**{name: parameters[name] for name in vars(self.given)})
        return run

    def coded(self, X: Any) -> Floats:
        """Raw rows, a piece of a table, in the classifier's codes; refuses other columns than those known.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
        """
        self.check_columns(X)
        return (self.engine.model.columns or Columns.numbers(len(self.names), self.names)).encode(X)

    def check_columns(self, X: Any) -> None:
        """Refuse other columns than those known.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
        """
        check_column_names(X)
        names = column_names(X)
        n = X.shape[1] if getattr(X, "ndim", 0) == 2 else len(self.names)
        knower = "the first piece has" if self.has_names else "the classifier was fitted on"
        check_columns(names, n, self.names if self.has_names else None, len(self.names), knower=knower)

    # --- what has to be known of all rows -----------------------------------------------------------------------------

    def fresh(self) -> Run:
        """The same run before any row."""
        run = copy(self)
        run.engine = self.engine.fresh()
        run.is_binary, run.has_gaps = np.ones(len(self.names), dtype=bool), np.zeros(len(self.names), dtype=bool)
        return run

    def observe(self, X: Floats, *, keep: bool) -> None:
        """Take in rows, in the classifier's codes.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        keep : bool
            Whether rows may be kept, which some rules need.
        """
        self.engine.observe(X, keep=keep)
        if np.isnan(X.min()):  # the least of values one of which is missing is missing
            self.has_gaps = self.has_gaps | np.isnan(X).any(axis=0)
        if self.given.constraints:
            holds = [bool(np.isin(values[~np.isnan(values)], (0, 1)).all()) for values in X.T]
            self.is_binary = self.is_binary & np.array(holds, dtype=bool)

    def seen(self) -> Seen:
        """What the rows taken in so far tell."""
        return Seen(self.engine.observations(), self.has_gaps, self.is_binary)

    def knowing(self, seen: Seen, medians: Mapping[int, float] | None = None) -> Run:
        """The same run, for all the rows that were seen, without them: small enough to be sent.

        Parameters
        ----------
        seen : Seen
        medians : mapping of int to float, optional
            Of the columns of numbers in which values are missing.
        """
        run = copy(self)
        run.engine = self.engine.knowing(seen.observations, medians)
        run.has_gaps, run.is_binary = seen.has_gaps, seen.is_binary
        run.settle()
        return run

    def settle(self, scores: Callable[[], Floats] | None = None) -> None:
        """All rows have been taken in: what the rules and the margin come to.

        Parameters
        ----------
        scores : callable, optional
            Gives the scores of all rows, where the margin is a share of their range.
        """
        self.columns = columns_for(self.engine.model, self.has_gaps.tolist())
        if isinstance(self.given.margin, str):
            assert scores is not None  # pieces have been refused
            margin = margin_of_share(self.engine.model, scores(), as_share(self.given.margin))
            self.engine.problem = replace(self.engine.problem, margin=margin)
        self.rules = Rules.of(self.given.constraints, self.columns, self.names) if self.given.constraints else None

    def check_some_values(self) -> None:
        """Refuse columns without any value, once all rows have been taken in."""
        cells, codes = self.engine.cells, self.engine.observations().codes
        for j in np.flatnonzero(self.has_gaps).tolist():
            if j in codes:
                empty = len(codes[j]) == 0
            else:
                empty = not cells.code_count[j][:-1].any() if j in cells.code_count else bool(np.isnan(cells.box_low[j]))
            if empty:
                raise InvalidInputError(f"X has no value at all in column {self.names[j]!r}. Leave the column out.")

    def constant_features(self) -> list[str]:
        """Columns with one value; one with a gap has two."""
        cells = self.engine.cells
        constant = (cells.box_low == cells.box_high) & ~self.has_gaps
        if self.columns is not None:
            for j, count in cells.code_count.items():
                constant[j] = np.sum(count > 0) == 1
            for j, codes in self.engine.observations().codes.items():
                constant[j] = len(codes) == 1 and not self.has_gaps[j]
            constant &= [not column.ignored for column in self.columns]
        return [self.names[j] for j in np.flatnonzero(constant)]

    # --- the searches -------------------------------------------------------------------------------------------------

    def search(
        self, X: Floats, y: NDArray[np.generic], weight: Floats | None, progress: Callable[[int], Any] | None = None
    ) -> Answers:
        """Counterfactuals of those rows that count, and the conditions they cross.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            In the classifier's codes.
        y : ndarray of shape (n_rows,)
        weight : ndarray of shape (n_rows,) or None
        progress : callable, optional
            Gives, for the number of counterfactuals, a context with what is told how many are done.
        """
        engine, given = self.engine, self.given
        predicted = engine.predict(X)
        correct = predicted == y
        confidence = engine.model.confidence(engine.scores(X))
        least = 0.0 if engine.model.n_outputs > 1 and given.p0 == 0.5 else given.p0
        points = np.flatnonzero(correct & (confidence >= least) & (confidence <= given.p1))
        own_class = engine.class_index(predicted[points])
        limits = None if self.rules is None else self.rules.limits(engine, X[points], self.is_binary)
        began = perf_counter() - self.seconds

        def solve(which: Points, limits: Limits | None, progress: Any = None) -> Counterfactuals:
            left = None if given.time_limit is None else max(0.0, given.time_limit - (perf_counter() - began))
            found = engine.solve(
                X,
                points[which],
                own_class[which],
                feature_names=self.names,
                limits=limits,
                n_jobs=given.n_jobs,
                time_limit=left,
                time_limit_per_point=given.time_limit_per_point,
                progress=progress,
            )
            return found if self.rules is None or limits is None else self.rules.checked(X, found, limits.fillable)

        if progress is None:
            found = solve(np.arange(len(points)), limits)
        else:
            with progress(len(points)) as told:
                found = solve(np.arange(len(points)), limits, told)
        found = replace(
            found,
            columns=self.columns,
            own_code=own_class,
            box=(engine.cells.box_low, engine.cells.box_high),
            has_cuts=engine.has_cuts,
            exact=self.rules is not None,
        )
        gaps = None if self.columns is None else deciding_gaps(X, found, limits, solve)
        self.seconds = perf_counter() - began
        crossed = crossings(engine, found, self.columns, gaps)
        weights = np.ones(len(crossed.point)) if weight is None else weight[found.rows[crossed.point]]
        table, condition = crossed.table(self.names, weights, self.columns)
        of_correct = confidence[correct]
        searched = Searched(
            table,
            found.counts(),
            n_rows=len(X),
            n_correct=len(of_correct),
            least=float(of_correct.min(initial=np.inf)),
            most=float(of_correct.max(initial=-np.inf)),
            n_gaps=0 if gaps is None else gaps.n_searches,
            n_gaps_unfinished=0 if gaps is None else gaps.n_unfinished,
        )
        return Answers(searched, found, crossed, condition)

    def lean(self, searched: Searched) -> Searched:
        """The same, in the memory that it takes to be added up with that of many other rows."""
        return searched if self.engine.has_cuts else replace(searched, table=Landings.of(searched.table))

    # --- from what was crossed to thresholds --------------------------------------------------------------------------

    def merged(self, searched: Searched, labels: Sequence[Any] = ()) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """The conditions crossed, near ones merged; also which one each went to, where they are no Landings.

        Parameters
        ----------
        searched : Searched
            Of all rows.
        labels : sequence
            Some labels, for the message where none is answered correctly.
        """
        self._check_some_threshold(searched, labels)
        tolerance = self.given.merge_tolerance
        if tolerance == "auto":
            tolerance = 0.0 if self.engine.has_cuts else LINEAR_MERGE_TOLERANCE
        widths = self.engine.cells.box_high - self.engine.cells.box_low
        if isinstance(searched.table, Landings):
            return searched.table.merged(float(tolerance) * widths), np.empty(0, dtype=np.int64)
        table: ThresholdTable = searched.table
        if float(tolerance) > 0:
            return table.merged(float(tolerance) * widths)
        return table, np.arange(len(table))

    def needs_values_around(self) -> bool:
        """Whether :meth:`finished` has to be told what rows lie around the thresholds: a classifier with cuts knows."""
        return not self.engine.has_cuts

    def values_around(self, merged: ThresholdTable, X: Floats) -> Cells:
        """The values of some rows around thresholds; those of more rows are ``a.joined(b)``."""
        is_cut = merged.kind == "cut"
        return observed_cells(X, merged.feature[is_cut], merged.threshold[is_cut])

    def finished(self, merged: ThresholdTable, around: Cells | None) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """The thresholds, rounded where that was asked for; also which one each of the merged went to."""
        table = merged
        if self.engine.has_cuts:
            table = values_around(self.engine.cells, self.engine.native_cuts, merged)
        elif around is not None:
            table = values_around(around, around.cuts, merged)
        if self.given.round_thresholds and (self.engine.has_cuts or around is not None):
            return table.rounded()
        return table, np.arange(len(table))

    def _check_some_threshold(self, searched: Searched, labels: Sequence[Any]) -> None:
        given, counts = self.given, dict(searched.statuses)
        if searched.n_correct == 0:
            begins = f"; y begins with {list(labels)}" if len(labels) else ""
            raise NoCounterfactualError(
                f"The classifier gets none of the {searched.n_rows} rows right, so there is no row to compute a "
                f"counterfactual for. Its classes are {self.engine.model.classes.tolist()}{begins}."
            )
        if searched.n_points == 0:
            raise NoCounterfactualError(
                f"No row is classified correctly with a probability between p0={given.p0} and p1={given.p1}. The "
                f"{searched.n_correct} correctly classified rows lie between {searched.least:.4g} and "
                f"{searched.most:.4g}: widen the band."
            )
        if len(searched.table) == 0:
            what = f"None of the {searched.n_points} counterfactual searches gave a threshold: {counts}."
            if counts.get("feasible", 0) + counts.get("unknown", 0) == searched.n_points:
                set_limits = [name for name in LIMITS if getattr(given, name) is not None]
                raise OutOfTimeError(what, *(set_limits or LIMITS[:1]))
            rules = " Rules in constraints may forbid all changes that there are." if given.constraints else ""
            raise NoCounterfactualError(
                f"{what} A classifier that answers one class everywhere inside the data's range has none, nor one that "
                f"answers the other by less than the margin.{rules}"
            )

    def warn_about(self, searched: Searched, stacklevel: int) -> None:
        """Warn of what was left out of all counts."""
        counts = searched.statuses
        if unverified := counts.get("unverified", 0):
            broken = ", or break a rule" if self.given.constraints else ""
            warnings.warn(
                f"{unverified} of {searched.n_points} counterfactuals do not flip the classifier's own predict{broken}; "
                "they are marked 'unverified' and left out of all counts.",
                UnverifiedCounterfactualWarning,
                stacklevel=stacklevel + 1,
            )
        if unfinished := counts.get("feasible", 0) + counts.get("unknown", 0) + searched.n_gaps_unfinished:
            warnings.warn(
                f"The time limit ended {unfinished} of {searched.n_points + searched.n_gaps} searches before their proof; "
                "they are left out of all counts.",
                UnfinishedSearchWarning,
                stacklevel=stacklevel + 1,
            )


def problem_of(given: Any) -> CounterfactualProblem:
    """Costs and margin of an FCCADiscretizer's parameters, checked."""
    margin = given.margin
    if isinstance(margin, str):
        as_share(margin)
        margin = DEFAULT_MARGIN
    return CounterfactualProblem(given.lambda0, given.lambda1, given.lambda2, margin)
