"""A discretizer that takes its rows in pieces."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, _check_y, _num_samples, column_or_1d, validate_data

from fcca._frames import check_column_names, float_table
from fcca._weights import check_weights
from fcca.constraints import Constraint
from fcca.counterfactuals import Cells
from fcca.discretizers._base import TargetThresholdTransformer
from fcca.discretizers._rules import check_for_pieces
from fcca.discretizers._run import Run, Searched
from fcca.discretizers._validation import check_same_columns, is_plain
from fcca.exceptions import ConstantFeatureWarning, InvalidInputError, NoCounterfactualError
from fcca.selection import OptimalSelection
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]

# Parameters that have a say after the searches, or none in what is found.
FREE = frozenset({"Q", "n_jobs", "verbose", "selection", "time_limit", "time_limit_per_point"})
# What an earlier fit has left.
OF_ONE_FIT = ("counterfactuals_", "_crossing_points", "_first_crossing", "statuses_", "_run", "_searched", "_observed")


@dataclass(frozen=True)
class CodedPiece:
    """Rows of weight above 0, in the classifier's codes."""

    X: Floats
    y: NDArray[Any]  # empty where no labels were given
    weight: Floats | None
    rows: NDArray[np.int64]  # which of the rows given

    def __len__(self) -> int:
        return len(self.rows)


def _check_frozen(discretizer: Any) -> bool:
    """Refuse a classifier that is not fitted: pieces of a table do not fit one."""
    if not isinstance(discretizer.estimator, FrozenEstimator):
        raise InvalidInputError(
            "Rows in pieces need a classifier that is fitted already: give estimator as FrozenEstimator(classifier), got "
            f"{type(discretizer.estimator).__name__}."
        )
    return True


class PiecewiseTransformer(TargetThresholdTransformer):
    """One whose fitted classifier's counterfactuals can be computed for one piece of a table after the other."""

    estimator: Any
    margin: float | str
    constraints: Sequence[Constraint] | None
    selection: OptimalSelection | None
    verbose: int
    statuses_: dict[str, int]
    constant_features_: list[str]
    classes_: NDArray[Any]
    _run: Run
    _searched: Searched | None
    _observed: bool

    @available_if(_check_frozen)
    def observe(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Take in the ranges of rows that come in pieces, before the first :meth:`partial_fit`.

        Distances are measured in units of the range of all rows, and changes land on values that rows have: what
        :meth:`partial_fit` computes is the same as that of :meth:`fit` where all pieces have been observed before.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            A piece of the table.
        y : ignored
            Here for convenience.
        sample_weight : array-like of shape (n_rows,), optional
            Rows of weight 0 do not count.

        Returns
        -------
        self
        """
        if getattr(self, "_searched", None) is not None:
            raise InvalidInputError(
                "observe was called after partial_fit. Observe all pieces first, then partial_fit them; to begin anew, take "
                "sklearn.base.clone(discretizer)."
            )
        self._run_for(X)
        piece = coded_piece(self._run, X, None, sample_weight)
        if len(piece):
            self._run.observe(piece.X, keep=False)
        self._observed = True
        return self

    @available_if(_check_frozen)
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the counterfactuals of more rows, and add the thresholds that they cross.

        The classifier must be fitted already and come in a ``FrozenEstimator``. Where the pieces have been given to
        :meth:`observe` before, the thresholds are those that :meth:`fit` finds on all of them; where they have not, each
        piece is searched by the range of the rows so far. The counterfactuals themselves are not kept: ``statuses_``
        tells how many there are so far. Those of a call that are not proven, or not verified, are left out of all counts
        with a warning, as in :meth:`fit`. For a linear classifier thresholds are not rounded, as the values around them are
        not known. What a call of :meth:`fit` found before is forgotten; to begin with pieces anew, take a ``clone``. Labels
        of categories that the classifier itself has not kept (CatBoost's) are those of the first piece.
        Between two pieces ``Q``, ``n_jobs`` and the limits of time may be set anew, and count from the next call on.
        Missing values need :func:`fcca.streaming.distill`, which reads a table often enough to know its medians.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            A piece of the table.
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
        >>> pieces = [(X[:300], y[:300]), (X[300:], y[300:])]
        >>> for piece in pieces:
        ...     discretizer = discretizer.observe(*piece)
        >>> for piece in pieces:
        ...     discretizer = discretizer.partial_fit(*piece)
        >>> discretizer.thresholds_ == FCCADiscretizer(FrozenEstimator(model)).fit(X, y).thresholds_
        True
        """
        if y is None:
            raise InvalidInputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        run = self._run_for(X)
        piece = coded_piece(run, X, y, sample_weight)
        if not len(piece):
            return self
        # A piece that is refused leaves nothing behind: this run is taken over where all went well.
        seen = run.seen()
        if not self._observed:
            alone = run.fresh()
            alone.observe(piece.X, keep=False)
            seen = seen + alone.seen()
        run = run.knowing(seen) if self._searched is None or not self._observed else run
        check_no_gaps(run)
        if self._searched is None and self._observed:
            self._note_constant_features(run, stacklevel=2)
        searched = run.lean(run.search(piece.X, piece.y, piece.weight).searched)
        run.warn_about(searched, stacklevel=2)
        self._searched = searched if self._searched is None else self._searched + searched
        self._run = run
        self.statuses_ = dict(self._searched.statuses)
        if len(self._searched.table):
            merged, _ = run.merged(self._searched)
            self._take_thresholds(run, self._searched, merged, None)
        return self

    def transform(self, X: Any) -> NDArray[np.int8]:
        """0/1 columns, 1 where the condition holds: where the value lies above the threshold, is one of the set, is missing.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            A category that was not there in ``fit`` is an error.

        Returns
        -------
        ndarray of shape (n_rows, n_thresholds)
            Or a data frame, after ``set_output``.
        """
        self._check_some_threshold()
        return super().transform(X)

    def predict_target(self, X: Any) -> NDArray[np.generic]:
        """Answers of the classifier whose thresholds these are.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        self._check_some_threshold()
        return super().predict_target(X)

    def _check_some_threshold(self) -> None:
        """Say why there is no threshold where there are pieces, but none of them has given one."""
        if hasattr(self, "thresholds_") or not hasattr(self, "_run"):
            return
        if self._searched is None:
            raise NotFittedError(
                f"This {type(self).__name__} has no counterfactual yet: no rows were given to partial_fit. observe only "
                "takes in their ranges."
            )
        try:
            self._run.merged(self._searched)
        except NoCounterfactualError as error:
            raise NoCounterfactualError(f"There is no threshold yet, from the pieces so far. {error}") from error

    def _begin_pieces(self, like: Any, categories: Any = None) -> Run:
        """Check the parameters, note the columns and forget an earlier fit.

        Parameters
        ----------
        like : array-like or data frame
            A piece of the table.
        categories : array-like or data frame, optional
            A table with all labels of categories that the classifier has not kept, where ``like`` has not.

        Returns
        -------
        Run
            The searches, before any row.
        """
        self._validate_params()
        self._check_parameters()
        self._begin()
        if isinstance(self.margin, str):
            raise InvalidInputError(
                f"margin is {self.margin!r}, a share of the range of all scores, but the rows come in pieces. Give it as a "
                "number."
            )
        _check_frozen(self)
        self._check_no_selection()
        check_table(like)
        check_column_names(like)
        validate_data(self, like, skip_check_array=True)  # notes the columns
        self.estimator_ = self.estimator
        run = self._new_run(like, as_learned_from(like) if categories is None else categories)
        check_same_columns(self, self.estimator_, run.engine.model.n_features)
        check_for_pieces(self.constraints or (), run.names, is_linear=not run.engine.has_cuts)
        self._run, self._searched, self._observed = run.fresh(), None, False
        return self._run

    def _run_for(self, X: Any) -> Run:
        """The searches that have begun, or new ones for a first piece."""
        if not hasattr(self, "_run"):
            return self._begin_pieces(X)
        now = self.get_params(deep=False)
        begun = {"estimator": self.estimator_} | {k: v for k, v in vars(self._run.given).items() if k not in FREE}
        changed = [name for name, value in begun.items() if now[name] is not value and now[name] != value]
        if changed:
            raise InvalidInputError(
                f"{changed[0]} was changed after the first piece. To begin anew, take sklearn.base.clone(discretizer)."
            )
        self._validate_params()
        self._check_parameters()
        self._check_no_selection()
        self._run = self._run.given_now(now)
        return self._run

    def _check_no_selection(self) -> None:
        if self.selection is not None:
            raise InvalidInputError(
                "A selection is measured on all rows, which partial_fit does not keep. Use set_selection after the last "
                "piece, or fcca.streaming.distill; until then leave it out: set_params(selection=None)."
            )

    def _take_thresholds(self, run: Run, searched: Searched, merged: ThresholdTable, around: Cells | None) -> None:
        """Take what all searches together found.

        Parameters
        ----------
        run : Run
        searched : Searched
        merged : ThresholdTable
            Of ``run.merged``.
        around : Cells or None
            Of ``run.values_around``, where it is known.
        """
        self.all_thresholds_, _ = run.finished(merged, around)
        self.statuses_ = dict(searched.statuses)
        self.constant_features_ = run.constant_features()
        self._keep(None)

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be used, before any work."""
        raise NotImplementedError

    def _new_run(self, like: Any, categories: Any = None) -> Run:
        """The searches of the fitted classifier."""
        names = [str(name) for name in _check_feature_names_in(self)]
        run = Run(self.get_params(deep=False), self.estimator_, names, like, categories)
        self.classes_ = run.engine.model.classes
        return run

    def _note_constant_features(self, run: Run, stacklevel: int) -> None:
        self.constant_features_ = run.constant_features()
        if self.constant_features_:
            shown = ", ".join(self.constant_features_[:5]) + (", …" if len(self.constant_features_) > 5 else "")
            warnings.warn(
                f"{len(self.constant_features_)} column(s) have one value only and were left out: {shown}",
                ConstantFeatureWarning,
                stacklevel=stacklevel + 1,
            )

    def _begin(self) -> None:
        super()._begin()
        for name in OF_ONE_FIT:
            if hasattr(self, name):
                delattr(self, name)


def coded_piece(run: Run, X: Any, y: Any, sample_weight: ArrayLike | None) -> CodedPiece:
    """A piece of a table, checked and in the classifier's codes, without the rows of weight 0.

    Parameters
    ----------
    run : Run
    X : array-like or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or None
    sample_weight : array-like of shape (n_rows,) or None
        They may all be 0.
    """
    n_rows = check_table(X)
    labels: NDArray[Any] = np.empty(0)
    if y is not None:
        labels = check_labels(y)
        if len(labels) != n_rows:
            raise InvalidInputError(f"X has {n_rows} rows and y has {len(labels)}. Expected as many.")
    rows, weight = np.arange(n_rows), None
    if sample_weight is not None:
        weight = check_weights(sample_weight, n_rows, may_all_be_0=True)
        rows = np.flatnonzero(weight > 0)
        weight = weight[rows]
    if len(rows) == 0:
        return CodedPiece(np.empty((0, len(run.names))), labels[:0], weight, rows)
    if len(rows) < n_rows:
        X, labels = _safe_indexing(X, rows), labels[rows] if y is not None else labels
    return CodedPiece(run.coded(X), labels, weight, rows)


def check_table(X: Any) -> int:
    """The number of rows of a piece; refuses what has none because it is no table."""
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise InvalidInputError(f"X must be a table of rows and columns, got {type(X).__name__}.") from error


def check_labels(y: Any) -> NDArray[Any]:
    """The labels of a piece; refuses what are no classes.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    """
    try:
        given = column_or_1d(y)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y must be a column of labels: {error}") from error
    missing = np.flatnonzero(pd.isna(given))
    if len(missing):
        raise InvalidInputError(
            f"y has no label in {len(missing)} row(s), first in row {missing[0]} of the piece: NaN, None and NA count as "
            "missing. Leave these rows out."
        )
    try:
        labels: NDArray[Any] = _check_y(y)
        if len(labels):
            check_classification_targets(labels)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in given}))
        raise InvalidInputError(f"The labels in y are of several types: {kinds}. Give labels of one type.") from error
    except ValueError as error:
        raise InvalidInputError(
            f"y holds {', '.join(map(repr, given[:3].tolist()))}, …: expected classes, as texts or whole numbers. {error}"
        ) from error
    return labels


def as_learned_from(X: Any) -> Any:
    """Rows as a classifier is fitted on them: numbers as float64, whatever their type."""
    return float_table(X) if is_plain(X) else X


def check_no_gaps(run: Run) -> None:
    """Refuse missing numbers: what they would be filled in with is not known from pieces."""
    for j in columns_to_fill(run):
        raise InvalidInputError(
            f"Column {run.names[j]!r} has missing values. To search what filling them in would change, the median of "
            "all rows must be known, which it is not from pieces: use fcca.streaming.distill, or fit."
        )


def columns_to_fill(run: Run) -> list[int]:
    """Columns of numbers in which values are missing."""
    if run.columns is None:
        return []
    return np.flatnonzero(run.has_gaps & ~run.columns.is_category).tolist()
