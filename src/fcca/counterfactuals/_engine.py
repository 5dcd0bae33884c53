"""The counterfactual engine: chooses a search, runs it, and checks results with ``predict``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from fcca import _core
from fcca.cells import Cells, Distances, TrainingValues
from fcca.constraints import Limits
from fcca.counterfactuals._batch import Batch, Progress, slices_of_rows
from fcca.counterfactuals._distance_units import (
    BinCounts,
    ValueCounts,
    check_columns_of_scale,
    check_scale_of_model,
    check_special_of_model,
    measured,
)
from fcca.counterfactuals._examples import Examples
from fcca.counterfactuals._forest import Forest
from fcca.counterfactuals._observations import Observations
from fcca.counterfactuals._plausibility import Plausibility
from fcca.counterfactuals._problem import CounterfactualProblem
from fcca.counterfactuals._result import Counterfactuals, Moves
from fcca.counterfactuals._search_space import NO_LIMITS, OneHotGroup, SearchSpace, candidate_cuts, core_limits, ungrouped
from fcca.counterfactuals._search_tables import AdditiveTables, EnsembleTables
from fcca.counterfactuals._workers import n_worker_processes, reproducible_predictions, solve_by_workers
from fcca.exceptions import InvalidInputError, UnsupportedModelError
from fcca.milp import ANY_OTHER_CLASS, Answers, solve_milp
from fcca.models import LinearModel, Model, TreeEnsemble, as_fitted_on, labelled, read_model
from fcca.tables import Special, called, is_special, without_special

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_THREADS = 256
# The boundary of a classifier that predicts a single class may be infinite.
BEYOND_ANY_SCORE = 1e300


class CounterfactualEngine:
    """Compute exact counterfactuals of one fitted classifier.

    The kind of model determines the search: a knapsack search if every tree tests only one feature, a fixed-charge search
    for linear models, and branch and bound for all other models.

    Parameters
    ----------
    estimator : fitted classifier
        Anything that :func:`fcca.read_model` reads.
    problem : CounterfactualProblem
        Costs of a change, and the score margin by which another class must win.
    method : {"search", "milp"}, default="search"
        "milp" solves tree ensembles with HiGHS. This method is independent of "search" and far slower, and does not support
        plausibility.
    like : array-like or data frame, optional
        A raw table with the columns of the training data. It provides category labels that the classifier does not keep.
    model : Model, optional
        The result of :func:`fcca.read_model`, if the classifier has already been read.
    special : mapping of int to ndarray, optional
        Special values of numeric columns, by position (:func:`fcca.tables.special_by_column`). Only for tree ensembles.

    Notes
    -----
    All tables are float64, with the codes of ``model.columns`` for categories. Call :meth:`observe` with the training rows,
    in one or more chunks, before :meth:`solve`. These rows define the range of the data and the values at which changes
    end. If :meth:`measure` is not called, :meth:`solve` computes the units of distance from the rows. In this case, call
    ``observe`` with ``keep=True``.
    """

    def __init__(
        self,
        estimator: Any,
        problem: CounterfactualProblem,
        *,
        method: Literal["search", "milp"] = "search",
        like: Any = None,
        model: Model | None = None,
        special: Special | None = None,
    ) -> None:
        self.estimator = estimator
        self.problem = problem
        self.method = method
        self.model = read_model(estimator) if model is None else model
        if like is not None:
            self.model = labelled(self.model, like)
        self.tables: AdditiveTables | EnsembleTables | None = None
        self.examples = Examples(self.model.n_features)
        self.training = TrainingValues(special=special or {})
        if isinstance(self.model, TreeEnsemble):
            self.forest = Forest.of(self.model)
            self.cells, self.native_cuts = self.forest.cells(special=special)
            self.tables = AdditiveTables.from_trees(self.forest, self.cells) or EnsembleTables.from_trees(
                self.forest, self.cells
            )
        elif isinstance(self.model, LinearModel):
            self.cells = Cells.from_cuts([np.empty(0)] * self.model.n_features)
        else:
            raise UnsupportedModelError(f"Expected a TreeEnsemble or a LinearModel, got a {type(self.model).__name__}.")
        check_scale_of_model(problem.scale, is_linear=not self.has_cuts)
        check_special_of_model(special, is_linear=not self.has_cuts)
        self.cells.distances = self._unmeasured

    @property
    def has_cuts(self) -> bool:
        """True for a tree ensemble, whose splits are cuts; False for a linear model."""
        return self.tables is not None

    @property
    def takes_missing(self) -> bool:
        """True if the model accepts missing values."""
        return getattr(self.model, "missing_left", None) is not None or getattr(self.model, "missing", None) is not None

    @property
    def special(self) -> Special:
        """Special values of numeric columns, by position."""
        return self.cells.special

    @property
    def is_number(self) -> list[bool]:
        """One entry per column: True for a numeric column, False for categories."""
        columns = self.model.columns
        return [True] * self.model.n_features if columns is None else (~columns.is_category).tolist()

    @property
    def _unmeasured(self) -> Distances | None:
        """Units of distance before :meth:`measure`; None if only this method can compute them."""
        scale, unordered = self.problem.scale, self.problem.category_distance
        return Distances(unordered=unordered) if scale == "range" and not isinstance(unordered, str) else None

    def measure(
        self,
        names: Sequence[str],
        values: ValueCounts | None = None,
        bins: BinCounts | None = None,
        *,
        compare: bool = True,
    ) -> CounterfactualEngine:
        """Compute the units of distance from statistics of the training rows; return self.

        Parameters
        ----------
        names : sequence of str
            Names of the columns.
        values : ValueCounts, optional
            Required for the scales "rank" and "mad".
        bins : BinCounts, optional
            Required for the category distance "auto" if ``values`` is None.
        compare : bool, default=True
            Whether to compute the category distance "auto" from the rows. If False, the distance "auto" is 1.
        """
        problem = self.problem
        check_columns_of_scale(problem.scale, names, self.is_number)
        unordered = problem.category_distance if compare or problem.category_distance != "auto" else 1.0
        distances = measured(problem.scale, unordered, self.cells, names, values=values, bins=bins)
        self.cells = replace(self.cells, distances=distances)
        return self

    def measure_rows(self, names: Sequence[str]) -> CounterfactualEngine:
        """Compute the units of distance from the kept training rows; return self."""
        rows = without_special(np.concatenate(self.training.rows()), self.special)
        return self.measure(names, ValueCounts.of(rows, self.is_number, None))

    @property
    def category_distance(self) -> float:
        """Distance of a change of category. Available after :meth:`measure`."""
        assert self.cells.distances is not None
        return self.cells.distances.unordered

    def with_missing_codes(self, X: Floats) -> Floats:
        """Replace missing categories with an additional code, the number of categories in the column."""
        for j, cell in self.cells.code_cell.items():
            missing = np.isnan(X[:, j])
            if missing.any():
                X = X.copy()
                X[missing, j] = len(cell) - 1
        return X

    def observe(self, X: Floats, *, keep: bool = True) -> None:
        """Update ranges, category counts and examples with training rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        keep : bool, default=True
            Keep a reference to the rows. The rows are needed for rules that involve several columns, and for plausibility.
        """
        X = self.with_missing_codes(X)
        if not keep:
            self.training = self.training.without_rows()
            for j in self._linear_categories:
                seen = np.unique(X[:, j])
                self.training.codes[j] = np.union1d(self.training.codes.get(j, seen[:0]), seen[~np.isnan(seen)])
        elif self.training.chunks is not None:
            self.training.chunks.append(X)
        self.cells.observe(X)
        if isinstance(self.tables, EnsembleTables):
            self.examples.observe(X, self.cells.of(X))

    @property
    def _linear_categories(self) -> list[int]:
        return list(self.model.effects) if isinstance(self.model, LinearModel) else []

    def observations(self) -> Observations:
        """Return the statistics of all observed training rows, without the rows."""
        cells, known = self.cells, self.training
        return Observations(
            cells.smallest,
            cells.largest,
            dict(cells.code_count),
            {j: known.distinct(j) for j in self._linear_categories},
            self.examples.numbers,
            self.examples.rows,
        )

    def fresh(self) -> CounterfactualEngine:
        """Copy the engine without its training rows and their statistics."""
        nowhere = np.full(len(self.cells.smallest), np.nan)
        nothing = {j: np.zeros(len(count)) for j, count in self.cells.code_count.items()}
        none = np.empty((0, self.model.n_features))
        codes = {j: np.empty(0) for j in self._linear_categories}
        return self.knowing(Observations(nowhere, nowhere.copy(), nothing, codes, np.empty(0, dtype=np.uint64), none))

    def knowing(
        self, seen: Observations, medians: Mapping[int, float] | None = None, rows: Floats | None = None
    ) -> CounterfactualEngine:
        """Copy the engine with the given statistics of training rows.

        Parameters
        ----------
        seen : Observations
        medians : mapping of int to float, optional
            Medians of the numeric columns with missing values, by column.
        rows : ndarray of shape (n_rows, n_features), optional
            The training rows. A reference to them is kept.
        """
        engine = copy(self)
        engine.cells = replace(
            self.cells,
            smallest=seen.smallest,
            largest=seen.largest,
            code_count=dict(seen.code_count),
            distances=self._unmeasured,
        )
        engine.examples = Examples(self.model.n_features)
        engine.examples.take(seen.example_numbers, seen.example_rows)
        kept = None if rows is None else [self.with_missing_codes(rows)]
        engine.training = TrainingValues(kept, dict(medians or {}), dict(seen.codes), self.special)
        return engine

    def landing_on_whole_numbers(self, columns: Bools) -> CounterfactualEngine:
        """Copy the engine so that changes of some columns end at whole numbers (:meth:`Cells.with_whole_numbers`).

        The copy is for searches without rules and without plausibility.
        """
        engine = copy(self)
        engine.cells = self.cells.with_whole_numbers(columns)
        return engine

    def scores(self, X: Floats) -> Floats:
        """Compute the scores of rows with ``model``, which was read from the classifier."""
        if isinstance(self.tables, AdditiveTables):
            # The two summations differ in the last digit, so the choice depends on the row alone.
            has_missing = np.isnan(X).any(axis=1) if self.takes_missing else np.zeros(len(X), dtype=bool)
            if not has_missing.any():
                return self.tables.scores(X)
            scores = np.empty((len(X), self.model.n_outputs))
            scores[~has_missing] = self.tables.scores(X[~has_missing])
            scores[has_missing] = self.model.scores(X[has_missing])
            return scores
        scores = np.empty((len(X), self.model.n_outputs))
        for chunk in slices_of_rows(len(X)):
            scores[chunk] = self.model.scores(X[chunk])
        return scores

    def predict(self, X: Floats) -> NDArray[np.generic]:
        """Predict rows with the ``predict`` method of the classifier."""
        return np.concatenate([self._predicted(X[chunk]) for chunk in slices_of_rows(len(X))])

    def given(self, X: Floats) -> Any:
        """Convert encoded rows to the kind of table that the classifier was fitted on."""
        return as_fitted_on(self.estimator, X, columns=self.model.columns)

    def _predicted(self, X: Floats) -> NDArray[np.generic]:
        given = self.given(X)
        with reproducible_predictions():
            try:
                found = self.estimator.predict(given)
            except ValueError as error:  # such as a scaler that overflows
                raise InvalidInputError(f"{type(self.estimator).__name__} cannot predict these rows: {error}") from error
        return np.asarray(found).ravel()  # flat: CatBoost returns a column for many classes

    def class_index(self, labels: NDArray[np.generic]) -> NDArray[np.int32]:
        """Find the positions of labels in ``model.classes``; -1 for unknown labels."""
        classes = self.model.classes
        order = np.argsort(classes)
        position = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
        found = order[position]
        return np.where(classes[found] == labels, found, -1).astype(np.int32)

    def plausibility(self, share: float) -> Plausibility:
        """Fit an isolation forest on the training rows, as a measure of plausibility.

        With a ``share`` of 0.1, a counterfactual must be at least as plausible as 10 % of the training rows.
        """
        if isinstance(self.model, LinearModel):
            raise UnsupportedModelError(
                f"plausibility is supported only for tree ensembles, but {type(self.estimator).__name__} is linear. Leave "
                "out plausibility."
            )
        return Plausibility.fit(np.concatenate(self.training.rows()), self.forest.n_codes, share)

    def solve(
        self,
        X: Floats,
        points: NDArray[np.int64],
        own_class: NDArray[np.int32],
        *,
        feature_names: Sequence[str],
        target: NDArray[np.int32] | None = None,
        margin: Floats | None = None,
        limits: Limits | None = None,
        plausibility: Plausibility | None = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        time_limit_per_row: float | None = None,
        progress: Progress | None = None,
    ) -> Counterfactuals:
        """Find the cheapest change to another class for some rows of X.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        points : ndarray of shape (n_points,)
            Positions of the rows for which a counterfactual is searched.
        own_class : ndarray of shape (n_points,)
            Predictions of these rows, as positions in ``model.classes``.
        feature_names : sequence of str
        target : ndarray of shape (n_points,), optional
            The class to reach, as a position in ``model.classes``. -1 or None: the other class that is cheapest to reach.
        margin : ndarray of shape (n_points,), optional
            Score margin by which the target must win. Default: the margin of the problem.
        limits : Limits, optional
            Compiled rules for the changes. Fields that depend on the row have one entry per point.
        plausibility : Plausibility, optional
            Required plausibility of the changed rows.
        n_jobs : int, optional
            Number of threads, or number of processes if a joblib backend of processes is active.
        time_limit, time_limit_per_row : float, optional
            Seconds for all points together and for each point. The status shows which results are proven.
        progress : callable, optional
            Called with the number of points finished so far.
        """
        if self.cells.distances is None:
            self.measure_rows(feature_names)
        n = len(points)
        limits = NO_LIMITS if limits is None else limits
        batch = Batch(
            X,
            points,
            own_class,
            np.full(n, ANY_OTHER_CLASS, dtype=np.int32) if target is None else target.astype(np.int32),
            np.full(n, self.problem.margin) if margin is None else np.asarray(margin, dtype=np.float64),
            limits,
            self.problem,
            plausibility,
            self._prepared(X, points, limits, plausibility),
            np.inf if time_limit is None else time_limit,
            np.inf if time_limit_per_row is None else time_limit_per_row,
            min(MOST_THREADS, effective_n_jobs(n_jobs)),
            progress,
        )
        by_workers = n > 1 and n_worker_processes(n_jobs) > 1
        found = solve_by_workers(self, batch, n_jobs) if by_workers else self.solve_here(batch)
        return replace(found, feature_names=tuple(feature_names))

    def solve_here(self, batch: Batch) -> Counterfactuals:
        """Find the counterfactuals of a batch in this process, with threads."""
        X, points, limits = batch.rows, batch.points, batch.limits
        groups: tuple[OneHotGroup, ...] = () if batch.space is None else batch.space.groups
        found = self._solve_by_milp(batch) if self.method == "milp" else self._search(batch)
        point, feature, landing, cut = found.point, found.feature, found.landing, found.cut
        if groups:
            point, feature, landing, cut = ungrouped(groups, X[points], point, feature, landing, cut)
        moves = Moves(point, feature, X[points[point], feature], landing, cut)
        between = limits.linear or limits.implications or limits.groups or batch.plausibility is not None
        if self.has_cuts and (between or self.special):
            moves = moves._replace(cut=self.last_crossed(*moves[1:]))
        return self._verified(
            X,
            Counterfactuals(
                rows=points,
                classes=self.model.classes,
                target_code=found.target,
                status_code=found.status,
                cost=found.cost,
                bound=found.bound,
                nodes=found.nodes,
                seconds=found.seconds,
                moves=moves,
                feature_names=(),
                columns=self.model.columns,
            ),
        )

    def last_crossed(self, feature: NDArray[np.int32], origin: Floats, landing: Floats, cut: Floats) -> Floats:
        """Find the cut of the classifier that each change crosses last.

        The arguments are those of :meth:`Cells.last_crossed`. The result is NaN if a special value is replaced.
        """
        if not self.special:
            return self.cells.last_crossed(feature, origin, landing, cut)
        cuts = self.forest.cells()[0].last_crossed(feature, origin, landing, cut)  # without cuts around special values
        cuts[is_special(self.special, feature, origin)] = np.nan
        return cuts

    # --- the searches -------------------------------------------------------------------------------------------------

    def _prepared(
        self, X: Floats, points: NDArray[np.int64], limits: Limits, plausibility: Plausibility | None
    ) -> SearchSpace | None:
        """Build the cells and trees for the search; None for linear models and MILPs."""
        if self.method == "milp":
            self._check_milp(plausibility)
        if self.method == "milp" or isinstance(self.model, LinearModel):
            return None
        return self._space(self.with_missing_codes(X), points, limits, plausibility)

    def _search(self, batch: Batch) -> Answers:
        """Run the search that fits the kind of model."""
        # In the core, the boundary between two classes is at 0.
        boundary = np.clip(self.model.boundary, -BEYOND_ANY_SCORE, BEYOND_ANY_SCORE) if self.model.n_outputs == 1 else 0.0
        if isinstance(self.model, LinearModel):
            from fcca.counterfactuals._linear_solver import LinearSolver

            return LinearSolver(self.model, self.cells, self.training, boundary).solve(batch)
        space, limits, coded = batch.space, batch.limits, self.with_missing_codes(batch.rows)
        assert space is not None
        tables = space.tables
        base = tables.base.copy()
        base[: self.model.n_outputs] -= boundary
        search = batch.arguments() | {
            "rows": coded,
            "n_threads": batch.n_threads,
            "cells": space.cells.as_core(),
            "limits": core_limits(space.cells, limits, space.groups, self._fill_near(limits)),
            "values": tables.values,
            "base": base,
        }
        if space.groups:  # the allowed moves of a group differ between points
            search["rows"] = space.rows(coded[batch.points], limits.frozen)
            search["points"] = np.arange(len(batch))
        if isinstance(tables, AdditiveTables):
            return Answers(*_core.solve_additive(**search))
        found = _core.solve_ensemble(
            **search | tables.nodes,
            side_least=np.array([] if batch.plausibility is None else [batch.plausibility.least]),
            examples=space.cells.of(space.rows(self.examples.rows)),
            relative_gap=self.problem.relative_gap,
        )
        return Answers(*found)

    def _space(self, X: Floats, points: NDArray[np.int64], limits: Limits, plausibility: Plausibility | None) -> SearchSpace:
        """Build the cells and trees for a search with certain missing values and rules."""
        assert self.tables is not None
        has_missing: Bools = np.zeros(self.model.n_features, dtype=bool)
        if self.takes_missing:  # column by column: the table may be large
            has_missing[:] = [np.isnan(X[points, j]).any() for j in range(X.shape[1])]
            has_missing[[j for columns in limits.groups for j in columns]] = False  # these have codes
        self._check_rules_of_special(limits)
        groups = tuple(OneHotGroup.of(columns, X[points], limits.frozen) for columns in limits.groups)
        between = limits.has_rules_between
        cuts = self._rule_cuts(limits)
        has_new_cells = has_missing.any() or groups or cuts or plausibility is not None
        if not has_new_cells and (not between or isinstance(self.tables, EnsembleTables)):
            return SearchSpace(self.cells, self.tables)
        forest = self.forest if plausibility is None else self.forest.beside(plausibility.forest)
        finer = plausibility is not None
        return SearchSpace.build(
            forest, self.cells, self.training, has_missing, groups, cuts, additive=not between and not finer, finer=finer
        )

    def _rule_cuts(self, limits: Limits) -> dict[int, Floats]:
        """Choose additional cuts for the columns of rules that involve several columns."""
        return {j: candidate_cuts(self.training.column(j), self.cells.cuts_of(j)) for j in sorted(limits.columns_between)}

    def _fill_near(self, limits: Limits) -> Floats | None:
        """Return the training medians of columns whose missing or special values may be replaced."""
        if limits.fillable is None and not self.special:
            return None
        near = np.zeros(self.model.n_features)
        fillable = [] if limits.fillable is None else np.flatnonzero(limits.fillable).tolist()
        for j in {*fillable, *self.special}.difference(self.cells.code_cell):
            near[j] = self.training.median(j)
        return near if self.cells.whole is None else np.where(self.cells.whole, np.floor(near), near)

    def _check_rules_of_special(self, limits: Limits) -> None:
        """Check that no rule between columns involves a column with special values."""
        between = set(limits.columns_between).union(*limits.groups)
        if wrong := sorted(between.intersection(self.special)):
            names = self.model.columns.names if self.model.columns is not None else None
            raise InvalidInputError(
                f"A rule involves several columns, among them {called(names, wrong[0])}, which has special values. Such "
                "rules cannot be combined with special values. Leave out the rule, or the special values of this column."
            )

    def _check_milp(self, plausibility: Plausibility | None) -> None:
        if not isinstance(self.model, TreeEnsemble):
            raise UnsupportedModelError(
                f"method='milp' is supported only for tree ensembles, but {type(self.estimator).__name__} is linear. Use "
                "method='search'."
            )
        if plausibility is not None:
            raise UnsupportedModelError(
                "method='milp' does not support plausibility. Leave plausibility out, or use method='search'."
            )

    def _solve_by_milp(self, batch: Batch) -> Answers:
        assert isinstance(self.model, TreeEnsemble)
        cells, cuts = self.cells, self._rule_cuts(batch.limits)
        if cuts:
            cells = replace(self.forest.cells(cuts, self.special)[0], distances=cells.distances)
            for rows in self.training.rows():
                cells.observe(rows)
        return solve_milp(**batch.arguments(), model=self.model, cells=cells, limits=batch.limits, training=self.training)

    # --- the check by the classifier ----------------------------------------------------------------------------------

    def _verified(self, X: Floats, found: Counterfactuals) -> Counterfactuals:
        """Set the status 'unverified' for counterfactuals that ``predict`` does not confirm."""
        wrong = np.zeros(len(found), dtype=bool)
        answered = np.flatnonzero(found.is_found)
        for chunk in slices_of_rows(len(answered)):
            chosen = answered[chunk]
            changed = X[found.rows[chosen]]
            begin = np.searchsorted(found.moves.point, chosen[0])
            end = np.searchsorted(found.moves.point, chosen[-1], side="right")
            within = np.searchsorted(chosen, found.moves.point[begin:end])
            changed[within, found.moves.feature[begin:end]] = found.moves.landing[begin:end]
            wrong[chosen] = self._predicted(changed) != self.model.classes[found.target_code[chosen]]
        return found.unverified(np.flatnonzero(wrong))
