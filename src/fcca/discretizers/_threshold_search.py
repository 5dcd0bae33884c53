"""The search for the thresholds of one fitted black box."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Cells
from fcca.constraints import Constraint, Fillable, Limits, check_rules, compile_rules, holds
from fcca.counterfactuals import (
    STATUSES,
    BinCounts,
    CounterfactualEngine,
    Counterfactuals,
    EnsembleTables,
    ValueCounts,
    as_share,
    check_columns_of_scale,
    margin_of_share,
)
from fcca.discretizers._counterfactual_search import find_counterfactuals
from fcca.discretizers._crossings import Points, crossings, observed_cells, values_around
from fcca.discretizers._landings import LandingCounts
from fcca.discretizers._presets import resolved
from fcca.discretizers._row_sample import RowSample
from fcca.discretizers._search_results import (
    CrossingCounts,
    FoundCounterfactuals,
    PredictedRows,
    SearchResult,
    TableStatistics,
    check_some_condition,
)
from fcca.discretizers._ties import NO_TIES, TiedCounterfactuals, discrete_columns, find_ties
from fcca.discretizers._validation import columns_for, problem_of
from fcca.exceptions import InvalidInputError
from fcca.models import NoProbability, OpenColumn, read_model
from fcca.tables import (
    Columns,
    StandIns,
    check_column_names,
    check_columns,
    check_ordinary_values,
    column_names,
    special_by_column,
    without_special,
)
from fcca.thresholds import ThresholdTable
from fcca.utils import progress_bar

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Labels = NDArray[Any]

# Linear models have no cuts, so every row has a different landing. Landings closer than this share of the range are merged.
LINEAR_MERGE_TOLERANCE = 0.01
# Ensembles of at most this many leaves need about a millisecond per row.
SMALL_ENSEMBLE = 1000


class ThresholdSearch:
    """Finds the thresholds that the counterfactuals of a black box cross.

    A new search has no statistics of rows. First, :meth:`statistics` collects statistics of each chunk of rows. Then
    :meth:`with_statistics` returns a search that holds the sum of these statistics. Its method :meth:`search` finds the
    counterfactuals of a chunk and counts the conditions that they cross. These counts can be summed over chunks.

    Parameters
    ----------
    parameters : dict
        Parameters of an ``FCCADiscretizer``.
    estimator : fitted classifier
        The black box.
    names : sequence of str
        Names of the columns.
    like : array-like or data frame
        Unencoded rows. They provide the categories that the black box does not store.

    Attributes
    ----------
    parameters : namespace
    names : list of str
    engine : CounterfactualEngine
    columns : Columns or None
        Categories and missing values; None if all columns are plain numbers. ``columns``, ``rules`` and ``in_memory`` are
        set by :meth:`with_statistics`.
    rules : tuple of rules
    in_memory : bool
        Whether all rows are in memory. Otherwise, landings of a linear model are stored as ``LandingCounts``.
    stand_ins : StandIns or None
        What the black box gets instead of values of held-out rows that it cannot take. None without held-out rows.
    """

    def __init__(self, parameters: Mapping[str, Any], estimator: Any, names: Sequence[str], like: Any) -> None:
        self.parameters = SimpleNamespace(**{name: value for name, value in parameters.items() if name != "estimator"})
        self.names = list(names)
        self.has_names = column_names(like) is not None
        self.engine = CounterfactualEngine(estimator, problem_of(self.parameters), like=like)
        special = special_by_column(getattr(self.parameters, "special_values", None), self.names, self.engine.is_number)
        if special:
            self.engine = CounterfactualEngine(estimator, self.engine.problem, model=self.engine.model, special=special)
        check_columns_of_scale(self.engine.problem.scale, self.names, self.engine.is_number)
        self.columns: Columns | None = None
        self.rules: tuple[Constraint, ...] = ()
        self.in_memory = False
        self.stand_ins: StandIns | None = None
        self.has_missing: Bools = np.zeros(len(self.names), dtype=bool)
        self.is_binary: Bools = np.ones(len(self.names), dtype=bool)
        self.special: Mapping[int, tuple[float, ...]] = {}
        self.seconds = 0.0  # spent on searches

    def with_parameters(self, parameters: Mapping[str, Any]) -> ThresholdSearch:
        """Copy the search with new parameters; the costs of changes stay the same.

        Parameters
        ----------
        parameters : mapping
            Parameters of an ``FCCADiscretizer``. Those that define costs, such as ``lambda0`` and ``scale``, are ignored.
        """
        other = copy(self)
        other.parameters = SimpleNamespace(**{name: parameters[name] for name in vars(self.parameters)})
        return other

    def with_categories(self, table: Any) -> ThresholdSearch:
        """Copy a search that has no statistics yet, with the categories in a table.

        Parameters
        ----------
        table : data frame
            A table in which each column of :meth:`open_columns` contains all its categories.
        """
        other = copy(self)
        other.engine = CounterfactualEngine(
            self.engine.estimator, self.engine.problem, like=table, special=self.engine.special
        )
        return other

    def open_columns(self) -> list[int]:
        """Return the positions of the categorical columns whose labels the black box does not store."""
        columns = self.engine.model.columns
        if columns is None or not columns.has_categories:
            return []
        known = read_model(self.engine.estimator).columns
        return [j for j, column in enumerate(known or ()) if isinstance(column, OpenColumn)]

    # --- rows ---------------------------------------------------------------------------------------------------------

    def encode(self, X: Any, handle_unknown: str = "error") -> Floats:
        """Check the columns of X, and encode X for the black box; see :meth:`fcca.tables.Columns.encode`."""
        self.check_columns(X)
        columns = self.engine.model.columns or Columns.numbers(len(self.names), self.names)
        return columns.encode(X, handle_unknown=handle_unknown)

    def check_columns(self, X: Any) -> None:
        """Check that the chunk X has the same columns as the first chunk."""
        check_column_names(X)
        names = column_names(X)
        n = X.shape[1] if getattr(X, "ndim", 0) == 2 else len(self.names)
        knower = "the first chunk has" if self.has_names else "the classifier was fitted on"
        check_columns(names, n, self.names if self.has_names else None, len(self.names), knower=knower)

    # --- statistics ---------------------------------------------------------------------------------------------------

    def statistics(
        self, X: Floats, y: Labels | None = None, weight: Floats | None = None, *, one_pass: bool = False
    ) -> TableStatistics:
        """Collect the statistics of encoded rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            There may be no rows.
        y : ndarray of shape (n_rows,), optional
        weight : ndarray of shape (n_rows,), optional
        one_pass : bool, default=False
            Whether the rows are read only once. If so, the distinct values that ``category_distance="auto"`` needs are
            collected here. Otherwise a second pass collects histograms (:meth:`bins`).
        """
        engine = self.engine.fresh()
        has_missing: Bools = np.zeros(len(self.names), dtype=bool)
        is_binary: Bools = np.ones(len(self.names), dtype=bool)
        if len(X):
            engine.observe(X, keep=False)
            if np.isnan(X.min()):  # NaN if any value is missing: one pass without a copy
                has_missing[:] = np.isnan(X).any(axis=0)
            ordinary = without_special(X, engine.special)
            if self.parameters.constraints:
                is_binary[:] = [np.isin(values[~np.isnan(values)], (0, 1)).all() for values in ordinary.T]
        classes: Labels = np.empty(0) if y is None else np.unique(y)
        special = {
            j: tuple(value for value in values.tolist() if (X[:, j] == value).any()) for j, values in engine.special.items()
        }
        special = {j: found for j, found in special.items() if found}
        values = None
        if self._needs_values(one_pass):
            values = ValueCounts.of(without_special(X, engine.special), engine.is_number, weight)
        return TableStatistics(engine.observations(), has_missing, is_binary, special, len(X), classes, classes, values)

    def _needs_values(self, one_pass: bool) -> bool:
        problem = self.engine.problem
        unordered = bool(self.engine.special) or not all(self.engine.is_number)
        auto = one_pass and problem.category_distance == "auto" and unordered
        return problem.scale in ("mad", "rank") or auto

    def with_statistics(
        self, statistics: TableStatistics, *, medians: Mapping[int, float] | None = None, rows: Floats | None = None
    ) -> ThresholdSearch:
        """Copy the search with the statistics of all training rows.

        Without ``rows``, the copy is small enough to be sent to workers.

        Parameters
        ----------
        statistics : TableStatistics
        medians : mapping of int to float, optional
            Medians of the columns in :meth:`columns_to_fill`.
        rows : ndarray of shape (n_rows, n_features), optional
            All encoded training rows, if they are in memory. They are required for constraints between columns.
        """
        other = copy(self)
        other.engine = self.engine.knowing(statistics.observations, medians, rows)
        other.in_memory = rows is not None
        other.has_missing, other.is_binary = statistics.has_missing, statistics.is_binary
        other.special = statistics.special
        other.columns = columns_for(self.engine.model, statistics.has_missing.tolist())
        given = self.parameters
        other.rules = check_rules(given.constraints or ())
        other.engine.measure(self.names, statistics.values, compare=statistics.values is not None and other.has_unordered)
        if isinstance(given.margin, str):
            assert rows is not None  # discretizers do not accept such a margin for chunks
            margin = margin_of_share(self.engine.model, self.engine.scores(rows), as_share(given.margin))
            other.engine.problem = replace(self.engine.problem, margin=margin)
        return other

    @property
    def needs_bins(self) -> bool:
        """True if ``category_distance="auto"`` must be computed from histograms."""
        auto = self.engine.problem.category_distance == "auto"
        return auto and self.has_unordered and not self._needs_values(one_pass=False)

    @property
    def has_unordered(self) -> bool:
        """True if there are categories, missing values, special values or one-hot groups.

        A change of such a value has no direction, so its distance is the category distance.
        """
        rules = any(rule.group for rule in self.rules)
        return rules or bool(self.engine.special) or not all(self.engine.is_number) or bool(self.has_missing.any())

    def bins(self, X: Floats, weight: Floats | None) -> BinCounts:
        """Compute histograms of the numeric columns; histograms can be summed."""
        cells = self.engine.cells
        is_number = np.array(self.engine.is_number)
        X = without_special(X, self.engine.special)
        return BinCounts.of(X, np.where(is_number, cells.box_low, np.nan), cells.box_high, weight)

    def with_bins(self, bins: BinCounts) -> ThresholdSearch:
        """Copy the search with ``category_distance="auto"`` computed from histograms.

        ``bins`` are the histograms of all training rows.
        """
        other = copy(self)
        other.engine = copy(self.engine).measure(self.names, bins=bins)
        return other

    @property
    def named_columns(self) -> Columns:
        """The columns with the names of the user's table, which rules refer to."""
        columns = self.columns or Columns.numbers(len(self.names))
        return Columns(tuple(replace(column, name=name) for column, name in zip(columns, self.names, strict=True)))

    def columns_to_fill(self) -> list[int]:
        """Return the numeric columns with missing or special values, for which medians are needed."""
        found = set(self.engine.special)
        if self.columns is not None:
            found.update(np.flatnonzero(self.has_missing & ~self.columns.is_category).tolist())
        return sorted(found)

    def check_some_values(self) -> None:
        """Check that every column has at least one value that is neither missing nor special."""
        check_ordinary_values(self.engine.cells.box_low, self.engine.special, self.names)
        cells, codes = self.engine.cells, self.engine.observations().codes
        for j in np.flatnonzero(self.has_missing).tolist():
            if j in codes:
                empty = len(codes[j]) == 0
            else:
                empty = not cells.code_count[j][:-1].any() if j in cells.code_count else bool(np.isnan(cells.box_low[j]))
            if empty:
                raise InvalidInputError(f"All values of column {self.names[j]!r} in X are missing. Leave the column out.")

    def constant_features(self) -> list[str]:
        """Return the names of the columns with one value and no missing values."""
        cells = self.engine.cells
        constant = (cells.box_low == cells.box_high) & ~self.has_missing
        constant[list(self.engine.special)] = False
        if self.columns is not None:
            for j, count in cells.code_count.items():
                constant[j] = np.sum(count > 0) == 1
            for j, codes in self.engine.observations().codes.items():
                constant[j] = len(codes) == 1 and not self.has_missing[j]
            constant &= [not column.ignored for column in self.columns]
        return [self.names[j] for j in np.flatnonzero(constant)]

    @property
    def has_probability(self) -> bool:
        """True if the black box has ``predict_proba`` and fcca can compute its probabilities."""
        return hasattr(self.engine.estimator, "predict_proba") and not isinstance(self.engine.model.link, NoProbability)

    # --- search -------------------------------------------------------------------------------------------------------

    @property
    def searches_fast(self) -> bool:
        """True for linear models, small ensembles, and ensembles in which every tree tests only one column."""
        if not isinstance(self.engine.tables, EnsembleTables):
            return True
        return int((self.engine.forest.feature < 0).sum()) <= SMALL_ENSEMBLE

    def search(self, X: Floats, y: Labels, weight: Floats | None = None) -> SearchResult:
        """Find the counterfactuals of all rows, and count the conditions that they cross.

        Only rows that the black box predicts correctly, with a confidence between ``p0`` and ``p1``, get a counterfactual.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Encoded rows.
        y : ndarray of shape (n_rows,)
        weight : ndarray of shape (n_rows,), optional
        """
        rows = self.predicted(X, y)
        with progress_bar("Counterfactuals", len(rows.points)) if self.in_memory else nullcontext() as progress:
            found = find_counterfactuals(self, X, rows.points, rows.own_class, progress)
        return self.counted(rows, found, weight)

    def predicted(self, X: Floats, y: Labels) -> PredictedRows:
        """Predict rows with the black box, and choose those that get a counterfactual.

        Parameters
        ----------
        X, y : as in search
        """
        engine, given = self.engine, self.parameters
        predictions, scores = engine.predict(X), engine.scores(X)
        correct = predictions == y
        confidence = engine.model.confidence(scores)
        least = 0.0 if engine.model.n_outputs > 1 and given.p0 == 0.5 else given.p0
        points = np.flatnonzero(correct & (confidence >= least) & (confidence <= given.p1))
        probability = engine.model.probabilities(scores) if self.has_probability else None
        return PredictedRows(predictions, probability, points, engine.class_index(predictions[points]), confidence[correct])

    def counted(
        self, rows: PredictedRows, found: FoundCounterfactuals, weight: Floats | None, sample: RowSample | None = None
    ) -> SearchResult:
        """Count the conditions that counterfactuals cross.

        Parameters
        ----------
        rows : PredictedRows
        found : FoundCounterfactuals
        weight : ndarray of shape (n_rows,) or None
        sample : RowSample, optional
            The rows that were searched, if these are not all.
        """
        engine, first = self.engine, found.counterfactuals
        crossed = crossings(engine, first, self.columns, found.deciding, found.ties)
        weights = np.ones(len(crossed.point)) if weight is None else weight[first.rows[crossed.point]]
        table, condition = crossed.table(self.names, weights, self.columns)
        counts = CrossingCounts(
            table if self.in_memory or engine.has_cuts else LandingCounts.of(table),
            first.counts(),
            n_rows=len(rows.predictions),
            n_correct=len(rows.confidence),
            least=float(rows.confidence.min(initial=np.inf)),
            most=float(rows.confidence.max(initial=-np.inf)),
            n_more_searches=found.deciding.n_searches + found.ties.n_searches,
            n_more_unfinished=found.deciding.n_unfinished + found.ties.n_unfinished,
            sample=sample,
        )
        return SearchResult(counts, first, crossed, condition, rows.predictions, rows.probability)

    def ties(
        self, found: Counterfactuals, limits: Limits | None, solve: Callable[[Points, Limits], Counterfactuals]
    ) -> TiedCounterfactuals:
        """Find further counterfactuals with the same cost, if ``count_ties`` is True.

        Parameters
        ----------
        found, limits, solve
            See :func:`find_ties`.
        """
        if not resolved(vars(self.parameters))["count_ties"]:
            return NO_TIES
        return find_ties(found, discrete_columns(self.engine), self.engine.special, limits, solve)

    def limits(self, rows: Floats) -> Limits | None:
        """Compile the rules for the given encoded rows; None if there are no rules."""
        if not self.rules:
            return None
        low, high = self.engine.cells.box_low, self.engine.cells.box_high
        return compile_rules(self.rules, self.named_columns, low, high, rows, is_binary=self.is_binary)

    def checked(self, X: Floats, found: Counterfactuals, limits: Limits | None) -> Counterfactuals:
        """Set the status 'unverified' for counterfactuals that break a rule.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        found : Counterfactuals
            Counterfactuals of some rows of X.
        limits : Limits or None
            The compiled rules that the search used, including the columns whose missing values may be filled in.
        """
        answered = np.flatnonzero(found.is_found)
        if not self.rules or limits is None or len(answered) == 0:
            return found
        columns, rules = self.named_columns, self.rules
        if limits.fillable is not None and limits.fillable.any():
            rules = (*rules, Fillable(*(columns.names[j] for j in np.flatnonzero(limits.fillable))))
        kept = holds(rules, columns, X[found.rows[answered]], found.take(answered).changed_table(X))
        status = found.status_code.copy()
        status[answered[~kept]] = STATUSES.index("unverified")
        return replace(found, status_code=status)

    # --- thresholds ---------------------------------------------------------------------------------------------------

    def merged(self, counts: CrossingCounts, classes: Sequence[Any] = ()) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Merge thresholds of a column that are closer together than ``merge_tolerance``.

        Parameters
        ----------
        counts : CrossingCounts
            Counts of all training rows.
        classes : sequence
            Classes of y, for the error message if the black box predicts no row correctly.

        Returns
        -------
        table : ThresholdTable
        position : ndarray of int
            For each condition in ``counts.table``, its position in the new table. It is empty if ``counts.table`` is a
            ``LandingCounts``.
        """
        check_some_condition(counts, self.parameters, self.engine.model.classes.tolist(), classes)
        tolerance = self.parameters.merge_tolerance
        if tolerance == "auto":
            tolerance = 0.0 if self.engine.has_cuts else LINEAR_MERGE_TOLERANCE
        widths = self.engine.cells.box_high - self.engine.cells.box_low
        if isinstance(counts.table, LandingCounts):
            return counts.table.merged(float(tolerance) * widths), np.empty(0, dtype=np.int64)
        table: ThresholdTable = counts.table
        if float(tolerance) > 0:
            return table.merged(float(tolerance) * widths)
        return table, np.arange(len(table))

    def n_conditions(self, n_rows: int) -> int:
        """Count the conditions that counterfactuals of the black box can cross.

        A threshold that merges several cuts is a range of neighbouring cuts, so all ranges are counted if thresholds are
        merged. The landings of ``n_rows`` rows take the place of the cuts of a linear model.

        Parameters
        ----------
        n_rows : int
            Number of rows with a counterfactual.
        """
        cells = self.engine.cells
        n_cuts = np.diff(cells.first_cut) if self.engine.has_cuts else np.full(len(self.names), n_rows)
        merges = self.parameters.merge_tolerance not in (0, "auto") or not self.engine.has_cuts
        total = int((n_cuts * (n_cuts + 1) // 2 if merges else n_cuts).sum()) + len(self.names)  # one "is missing" each
        for cell in cells.code_cell.values():  # a set belongs to two cells, or it is a single category
            total += int(cell.max() + 1) ** 2 + len(cell)
        effects = getattr(self.engine.model, "effects", {})
        return total + sum(map(len, effects.values())) + sum(map(len, self.engine.special.values()))

    @property
    def needs_values_around(self) -> bool:
        """True if a pass must collect the training values next to each threshold.

        A linear model needs this pass. For trees, the cells already hold these values.
        """
        return not self.engine.has_cuts

    def values_around(self, merged: ThresholdTable, X: Floats) -> Cells:
        """Collect the values of encoded rows between the thresholds; results can be summed."""
        is_cut = merged.kind == "cut"
        return observed_cells(X, merged.feature[is_cut], merged.threshold[is_cut])

    def finished(self, merged: ThresholdTable, around: Cells | None) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Round the thresholds, if ``round_thresholds`` is True.

        Thresholds are not rounded if the training values next to them are unknown.

        Parameters
        ----------
        merged : ThresholdTable
        around : Cells or None
            For a linear model, the sum of :meth:`values_around` over all rows; None if these values are unknown.

        Returns
        -------
        table : ThresholdTable
        position : ndarray of int
            For each condition in ``merged``, its position in the new table.
        """
        table = merged.with_special(self.special)
        if self.engine.has_cuts:
            table = values_around(self.engine.cells, self.engine.native_cuts, table)
        elif around is not None:
            table = values_around(around, around.cuts, table)
        if self.parameters.round_thresholds and (self.engine.has_cuts or around is not None):
            return table.rounded((self.engine.cells if around is None else around).zero_one)
        return table, np.arange(len(table))
