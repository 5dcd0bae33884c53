"""Fit a discretizer chunk by chunk, with ``observe`` and ``partial_fit``."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from fcca.constraints import Constraint, check_rules
from fcca.discretizers._base import TargetThresholdTransformer
from fcca.discretizers._row_sample import RowSample
from fcca.discretizers._rows import Rows, encoded_rows, n_rows_of
from fcca.discretizers._search_results import CrossingCounts, TableStatistics
from fcca.discretizers._stages import as_fitted_table, count_crossings
from fcca.discretizers._threshold_search import ThresholdSearch
from fcca.discretizers._validation import check_same_columns
from fcca.discretizers._warnings import warn_constant_features, warn_uncounted
from fcca.exceptions import InvalidInputError, NoCounterfactualError
from fcca.models import DecidedAt, decide_at
from fcca.selection import OptimalSelection
from fcca.tables import check_column_names

# Parameters that matter only after the search, or that do not change its result.
FREE = frozenset({"Q", "max_thresholds", "n_jobs", "verbose", "selection", "time_limit", "time_limit_per_row"})
# Attributes of an earlier fit.
OF_ONE_FIT = ("counterfactuals_", "_crossing_points", "_first_crossing", "statuses_", "_partial_fit", "stand_ins_")


@dataclass(frozen=True)
class PartialFit:
    """The state of a discretizer between two calls of ``observe`` or ``partial_fit``.

    Attributes
    ----------
    search : ThresholdSearch
    statistics : TableStatistics
        Statistics of the chunks passed to ``observe``. If ``observe`` was not called, statistics of the chunks passed to
        ``partial_fit``.
    counts : CrossingCounts or None
        Counts of the chunks passed to ``partial_fit``; None before the first chunk.
    observed : bool
        Whether ``observe`` was called.
    """

    search: ThresholdSearch
    statistics: TableStatistics
    counts: CrossingCounts | None = None
    observed: bool = False


def _check_frozen(discretizer: Any) -> bool:
    """Check that the classifier is fitted already and wrapped in a ``FrozenEstimator``."""
    if not isinstance(discretizer.estimator, FrozenEstimator):
        raise InvalidInputError(
            "Fitting in chunks requires a fitted classifier. Pass estimator=FrozenEstimator(classifier) instead of "
            f"{type(discretizer.estimator).__name__}."
        )
    return True


class PartialFitTransformer(TargetThresholdTransformer):
    """Base class of a discretizer that can be fitted chunk by chunk."""

    estimator: Any
    decision_threshold: float | None
    margin: float | str
    max_rows: int | str | None
    constraints: Sequence[Constraint] | None
    selection: OptimalSelection | None
    statuses_: dict[str, int]
    constant_features_: list[str]
    category_distance_: float
    row_sample_: RowSample | None
    classes_: NDArray[Any]
    _partial_fit: PartialFit

    @available_if(_check_frozen)
    def observe(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Collect the statistics of a chunk, before the first :meth:`partial_fit`.

        The statistics are the ranges of the columns, the smallest and largest value in each cell and, if needed, the
        distinct values. Counterfactuals depend on these statistics. So :meth:`partial_fit` finds the same thresholds as
        :meth:`fit` on all rows if all chunks have been given to ``observe`` first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            A chunk of the table.
        y : ignored
            Accepted so that the same arguments can be given to :meth:`partial_fit`.
        sample_weight : array-like of shape (n_rows,), optional
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        begun = self._begun(X)
        if begun.counts is not None:
            raise InvalidInputError(
                "observe was called after partial_fit. Give all chunks to observe first, then to partial_fit. To start "
                "over, use sklearn.base.clone(discretizer)."
            )
        rows = encoded_rows(begun.search, X, None, sample_weight)
        statistics = begun.statistics + begun.search.statistics(rows.X, weight=rows.weight, one_pass=True)
        self._partial_fit = replace(begun, statistics=statistics, observed=True)
        return self

    @available_if(_check_frozen)
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the counterfactuals of a chunk of rows, and add the thresholds they cross.

        The classifier must already be fitted and be wrapped in a ``FrozenEstimator``. If all chunks have been given to
        :meth:`observe` first, the thresholds after the last chunk are the same as with :meth:`fit` on all rows. Otherwise
        the search in each chunk uses the column ranges of the rows passed so far.

        The counterfactuals themselves are not stored; ``statuses_`` counts them by status. As in :meth:`fit`, unproven or
        unverified counterfactuals are left out of the counts, and a warning is issued. For a linear classifier, thresholds
        are not rounded, because the training values next to them are not known. The result of an earlier :meth:`fit` is
        discarded. To start over with other chunks, use a ``clone``.

        If the classifier does not store its categories, as with CatBoost, they are read from the first chunk. ``Q``,
        ``n_jobs`` and the time limits may be changed between two chunks. Missing values in numeric columns raise an error.
        For such columns, use :func:`fcca.streaming.distill`, which computes medians in several passes over the table.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            A chunk of the table.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.ensemble import GradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from fcca import FCCADiscretizer
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> model = GradientBoostingClassifier(max_depth=1, random_state=0).fit(X, y)
        >>> discretizer = FCCADiscretizer(FrozenEstimator(model))
        >>> chunks = [(X[:300], y[:300]), (X[300:], y[300:])]
        >>> for chunk in chunks:
        ...     discretizer = discretizer.observe(*chunk)
        >>> for chunk in chunks:
        ...     discretizer = discretizer.partial_fit(*chunk)
        >>> discretizer.thresholds_ == FCCADiscretizer(FrozenEstimator(model)).fit(X, y).thresholds_
        True
        """
        if y is None:
            raise InvalidInputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        begun = self._begun(X)
        rows = Rows(X, y, sample_weight).training(begun.search)
        if not len(rows):
            self._partial_fit = begun
            return self
        statistics = begun.statistics
        if not begun.observed:
            statistics = statistics + begun.search.statistics(rows.X, weight=rows.weight, one_pass=True)
        search = begun.search.with_statistics(statistics)
        _check_no_missing(search)
        if begun.counts is None and begun.observed:
            warn_constant_features(search.constant_features())
        counts = count_crossings(rows, search)
        assert counts is not None
        warn_uncounted(counts, constraints=bool(search.rules))
        # No error is raised after this point, so a rejected chunk does not change the state.
        counts = counts if begun.counts is None else begun.counts + counts
        self._partial_fit = PartialFit(search, statistics, counts, begun.observed)
        self._accept(search, counts)
        if not hasattr(self, "stand_ins_"):
            self._note_stand_ins(rows.X, search.engine.model.columns, search.engine.special)
        if len(counts.table):
            merged, _ = search.merged(counts)
            self.all_thresholds_, _ = search.finished(merged, None)
            self._keep(None)
        return self

    def _check_fitted(self, attribute: str = "thresholds_") -> None:
        """Check that there are thresholds; otherwise raise an error that says why."""
        if hasattr(self, attribute) or not hasattr(self, "_partial_fit"):
            return super()._check_fitted(attribute)
        begun = self._partial_fit
        if begun.counts is None:
            raise NotFittedError(
                f"This {type(self).__name__} has no counterfactuals yet, because no rows were given to partial_fit. "
                "'observe' only collects the ranges of the columns. Call partial_fit with each chunk."
            )
        try:
            begun.search.merged(begun.counts)
        except NoCounterfactualError as error:
            raise NoCounterfactualError(f"No threshold was found in the chunks so far. {error}") from error
        return None

    def without_chunks(self) -> Self:
        """Copy the fitted discretizer, so that ``partial_fit`` cannot continue with the copy.

        The copy lacks the state of ``partial_fit``, so it is smaller and can be saved.
        """
        other = copy(self)
        other.__dict__.pop("_partial_fit", None)
        return other

    # --- start --------------------------------------------------------------------------------------------------------

    def _begun(self, X: Any) -> PartialFit:
        """Return the state after earlier chunks, or a new state before the first chunk.

        Raises an error if a parameter was changed that must stay the same for all chunks.
        """
        if not hasattr(self, "_partial_fit"):
            search = self._search_for_chunks(X)
            return PartialFit(search, search.statistics(np.empty((0, len(search.names))), one_pass=True))
        begun, now = self._partial_fit, self.get_params(deep=False)
        frozen = self.estimator_.estimator if isinstance(self.estimator_, DecidedAt) else self.estimator_
        before = {"estimator": frozen} | {k: v for k, v in vars(begun.search.parameters).items() if k not in FREE}
        changed = [name for name, value in before.items() if now[name] is not value and now[name] != value]
        if changed:
            raise InvalidInputError(
                f"{changed[0]} was changed after the first chunk, but it must be the same for all chunks. To start over, "
                "use sklearn.base.clone(discretizer)."
            )
        self.check_parameters()
        self._check_no_selection()
        return replace(begun, search=begun.search.with_parameters(now))

    def _decided(self, estimator: Any) -> Any:
        """Wrap the fitted black box so that it uses ``decision_threshold``, if given."""
        return estimator if self.decision_threshold is None else decide_at(estimator, self.decision_threshold)

    def _search_for_chunks(self, like: Any) -> ThresholdSearch:
        """Delete the results of an earlier fit, and build a search for ``partial_fit``.

        ``like`` is the first chunk. The columns of the table are read from it.
        """
        self.check_parameters()
        self._begin()
        if isinstance(self.margin, str):
            raise InvalidInputError(
                f"margin={self.margin!r} is a share of the range of all scores. This range is unknown if the rows come in "
                "chunks. Pass margin as a number."
            )
        if self.max_rows not in (None, "all"):
            raise InvalidInputError(
                f"max_rows={self.max_rows!r} requires all rows in memory, because the rows are searched in a random order. "
                "If the rows come in chunks, all of them are searched. Use max_rows=None."
            )
        _check_frozen(self)
        self._check_no_selection()
        n_rows_of(like)
        check_column_names(like)
        validate_data(self, like, skip_check_array=True)  # notes the columns
        self.estimator_ = self._decided(self.estimator)
        search = self._new_search(as_fitted_table(like))
        _check_rules(self.constraints or (), search)
        return search

    def _new_search(self, like: Any) -> ThresholdSearch:
        """Build a threshold search for the fitted black box, without statistics of rows."""
        search = ThresholdSearch(self.get_params(deep=False), self.estimator_, self._column_names(), like)
        check_same_columns(self, self.estimator_, search.engine.model.n_features)
        self.classes_ = search.engine.model.classes
        return search

    def _check_no_selection(self) -> None:
        if self.selection is not None:
            raise InvalidInputError(
                "A selection is computed from all rows, but partial_fit stores no rows. Use set_params(selection=None) "
                "and call set_selection after the last chunk. Or use fcca.streaming.distill."
            )

    def _accept(self, search: ThresholdSearch, counts: CrossingCounts) -> None:
        """Set the fitted attributes from a search and its counts."""
        self.statuses_ = dict(counts.statuses)
        self.constant_features_ = search.constant_features()
        self.category_distance_ = search.engine.category_distance
        self.row_sample_ = counts.sample

    def check_parameters(self) -> None:
        """Check all parameters, before any rows are read."""
        self._validate_params()

    def _begin(self) -> None:
        super()._begin()
        for name in OF_ONE_FIT:
            if hasattr(self, name):
                delattr(self, name)


def _check_rules(constraints: Sequence[Constraint], search: ThresholdSearch) -> None:
    """Check that rules can be used with chunks, and name only columns of the table."""
    for rule in check_rules(constraints):
        if rule.needs_all_rows(is_linear=not search.engine.has_cuts):
            raise InvalidInputError(
                f"The rule {rule!r} is a rule between columns (a sum, an implication or a one-hot group). All rows at once "
                "are required for such a rule, but the rows come in chunks. Leave the rule out, or use fit."
            )
        if unknown := [name for name in rule.columns if name not in search.names]:
            raise InvalidInputError(f"The rule {rule!r} names {unknown[0]!r}, but the columns are {search.names}.")


def _check_no_missing(search: ThresholdSearch) -> None:
    """Check that numeric columns have no missing or special values, because medians are unknown."""
    for j in search.columns_to_fill():
        what = "special" if j in search.engine.special else "missing"
        raise InvalidInputError(
            f"Column {search.names[j]!r} has {what} values. A {what} value is replaced near the median of its column "
            "over all rows, which partial_fit does not know. Use fcca.streaming.distill, or fit."
        )
