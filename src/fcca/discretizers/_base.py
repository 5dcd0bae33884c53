"""Base classes of the discretizers, which turn a table into binary columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, _num_samples, check_is_fitted, validate_data

from fcca.discretizers._rows import BinaryRows, EncodedRows
from fcca.exceptions import InvalidInputError
from fcca.models import as_fitted_on
from fcca.selection import OptimalSelection, Selection
from fcca.tables import (
    Columns,
    SoftLabels,
    Special,
    StandIns,
    check_column_names,
    weighted_rows,
    without_special,
)
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]


class ThresholdTransformer(TransformerMixin, BaseEstimator):
    """Base class of the discretizers.

    ``fit`` finds the conditions ``all_thresholds_``. A selection chooses the conditions ``thresholds_`` among them, and
    ``transform`` computes their binary columns.
    """

    selection: OptimalSelection | None
    handle_unknown: str
    thresholds_: ThresholdTable
    all_thresholds_: ThresholdTable
    selection_: Selection  # only if there is a selection

    def _begin(self) -> None:
        """Check the parameter ``selection``, and delete the thresholds of an earlier fit."""
        self._check_selection(self.selection)
        for name in ("thresholds_", "all_thresholds_", "selection_"):
            if hasattr(self, name):
                delattr(self, name)

    def set_selection(
        self, selection: OptimalSelection | None, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose other thresholds among those found, without a new fit.

        Parameters
        ----------
        selection : OptimalSelection or None
            None keeps all thresholds.
        X, y, sample_weight : as in fit, optional
            The rows on which the selection minimizes the inconsistency, usually the training rows. They are not needed if
            ``selection`` is None. If ``selection.fit_to`` is "target", the predictions of the black box replace y, so y is
            not needed.

        Returns
        -------
        self
        """
        self._check_fitted("all_thresholds_")
        self._check_selection(selection)
        chosen = None
        if selection is not None:
            against_target = selection.fit_to == "target"
            if X is None or (y is None and not against_target):
                raise InvalidInputError("A selection is computed from rows. Give X and y, usually the training rows.")
            labels = np.empty(_num_samples(X)) if y is None else y  # y is not used if fit_to is "target"
            rows = weighted_rows(X, labels, sample_weight)
            candidates = self._candidates()
            table = self.encode(rows.X, asked_by=None if against_target else candidates)
            chosen = self._chosen(selection, candidates, EncodedRows(table, rows.y, rows.sample_weight))
        return self.accept_selection(selection, chosen)

    def accept_selection(self, selection: OptimalSelection | None, chosen: Selection | None) -> Self:
        """Set ``thresholds_`` to the result of a selection that was computed elsewhere.

        Parameters
        ----------
        selection : OptimalSelection or None
            The new value of the parameter ``selection``.
        chosen : Selection or None
            The result of this selection. None keeps all thresholds.

        Returns
        -------
        self
        """
        self.selection = selection
        self._keep(chosen)
        return self

    def _check_selection(self, selection: OptimalSelection | None) -> None:
        if selection is None:
            return
        if not isinstance(selection, OptimalSelection):
            raise InvalidInputError(f"selection must be an OptimalSelection or None, got {selection!r}.")
        selection.check_parameters()
        if selection.fit_to == "target" and not isinstance(self, TargetThresholdTransformer):
            raise InvalidInputError(f"{type(self).__name__} has no black box, so fit_to must be 'labels', got 'target'.")

    def _check_fitted(self, attribute: str = "thresholds_") -> None:
        """Raise ``NotFittedError`` if the fitted attribute named ``attribute`` does not exist."""
        check_is_fitted(self, attribute)

    def _candidates(self) -> ThresholdTable:
        """Return the conditions that a selection chooses from."""
        return self.all_thresholds_

    def _choose(self, rows: EncodedRows) -> None:
        """Set ``thresholds_`` to the selected conditions; without a selection, to all.

        This is the last step of ``fit``.

        Parameters
        ----------
        rows : EncodedRows
            The training rows.
        """
        selection = self.selection
        self._keep(None if selection is None else self._chosen(selection, self._candidates(), rows))

    def _chosen(self, selection: OptimalSelection, candidates: ThresholdTable, rows: EncodedRows) -> Selection:
        return selection.select(candidates, rows.X, rows.y, rows.weight)

    def _keep(self, chosen: Selection | None) -> None:
        if chosen is not None:
            self.selection_ = chosen
        elif hasattr(self, "selection_"):
            del self.selection_
        self.thresholds_ = self._candidates() if chosen is None else chosen.thresholds

    def transform(self, X: Any) -> NDArray[np.int8]:
        """Compute one binary column per condition: 1 where the condition holds, else 0.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            No set of categories contains a category that did not occur in ``fit``. See ``handle_unknown``.

        Returns
        -------
        ndarray of shape (n_rows, n_thresholds)
            A data frame after ``set_output(transform="pandas")``.
        """
        self._check_fitted()
        return self.thresholds_.binarize(self.encode(X, asked_by=self.thresholds_))

    def encode(self, X: Any, *, asked_by: ThresholdTable | None = None) -> Floats:
        """Encode X as float64, with codes for categories and NaN for missing values.

        The code of a category is its position in the ``categories`` of its column.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
        asked_by : ThresholdTable, optional
            Conditions that the encoded rows will be tested with. All other columns may hold any values.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            An unknown category is -1, unless ``handle_unknown`` is "error".
        """
        check_column_names(X)
        columns = self.all_thresholds_.columns
        if columns is None:
            X = validate_data(self, X, dtype=np.float64, order="C", reset=False, ensure_all_finite=False)
            columns = Columns.numbers(self.n_features_in_, getattr(self, "feature_names_in_", None))
        else:
            validate_data(self, X, skip_check_array=True, reset=False)  # compares the columns' names and number
        if asked_by is not None:
            columns = columns.for_prediction(asked_by.feature.tolist())
        return columns.encode(X, handle_unknown=self.handle_unknown)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Get the names of the output columns, such as ``"RM > 6.94"``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns. They are needed only if the X given to ``fit`` had no column names.

        Returns
        -------
        ndarray of str
        """
        self._check_fitted()
        given = tuple(str(name) for name in _check_feature_names_in(self, input_features))
        return np.asarray(self.thresholds_.renamed(given).names(), dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # the output is 0 or 1 for any input
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self._needs_labels
        return tags

    @property
    def _needs_labels(self) -> bool:
        """True if ``fit`` needs the labels y."""
        return self.selection is not None

    def _column_names(self) -> list[str]:
        """Return the column names of the X given to ``fit``, or ``x0``, ``x1``, …."""
        return [str(name) for name in _check_feature_names_in(self)]


class TargetThresholdTransformer(ThresholdTransformer):
    """Base class of the discretizers that find thresholds in a classifier, ``estimator_``."""

    estimator_: Any
    stand_ins_: StandIns
    _training_rows: EncodedRows | None  # only during fit_binary_rows

    def predict_target(self, X: Any) -> NDArray[np.generic]:
        """Predict the classes of rows with the black box.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        self._check_fitted()
        return self._predicted(EncodedRows(self.encode(X), np.empty(0)))

    def binary_rows(self, X: Any, y: Any, sample_weight: Floats | None = None) -> BinaryRows:
        """Compute the binary columns of rows and the predictions of the black box.

        The rows are encoded only once.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,)
        sample_weight : ndarray of shape (n_rows,), optional

        Returns
        -------
        BinaryRows
        """
        self._check_fitted()
        return self._binarized(EncodedRows(self.encode(X), y, sample_weight))

    def fit_binary_rows(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **metadata: Any) -> BinaryRows | None:
        """Call ``fit``, and return the training rows as binary columns.

        Each row is encoded and predicted only once, which is faster than ``fit`` followed by :meth:`binary_rows`.

        Parameters
        ----------
        X, y, sample_weight, **metadata : as in fit

        Returns
        -------
        BinaryRows or None
            The training rows with positive weight. None if the ``fit`` of a subclass does not call ``_choose``.
        """
        self._training_rows = None
        try:
            self.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}), **metadata)
            return None if self._training_rows is None else self._binarized(self._training_rows)
        finally:
            del self._training_rows

    def _choose(self, rows: EncodedRows) -> None:
        if self.selection is not None and self.selection.fit_to == "target":
            rows = replace(rows, predictions=self._predicted(rows))
        super()._choose(rows)
        if hasattr(self, "_training_rows"):
            self._training_rows = rows

    def _binarized(self, rows: EncodedRows) -> BinaryRows:
        B, predictions = self.thresholds_.binarize(rows.X), self._predicted(rows)
        return BinaryRows(B, rows.y, predictions, rows.weight, soft=self.soft_labels(rows))

    def _note_stand_ins(self, X: Floats, columns: Columns | None, special: Special | None = None) -> None:
        """Store what the black box gets instead of values that it cannot take.

        ``X`` has the encoded training rows, ``columns`` are the columns of the black box, and ``special`` holds the special
        values by column.
        """
        self.stand_ins_ = StandIns.of(without_special(X, special or {}), columns)

    def as_black_box_takes(self, X: Floats) -> Any:
        """Convert encoded rows to a table for the black box, ``estimator_``.

        A value that the black box cannot take is replaced: an unknown category with the most frequent training category, a
        missing value with the training median or the most frequent training category.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The result of :meth:`encode`.

        Returns
        -------
        ndarray or DataFrame
        """
        return as_fitted_on(self.estimator_, self.stand_ins_.fill(X), columns=self.all_thresholds_.columns)

    def soft_labels(self, rows: EncodedRows) -> SoftLabels | None:
        """Compute the soft labels of rows: class probabilities of the black box times weights.

        Returns None if the black box has no ``predict_proba``.

        Parameters
        ----------
        rows : EncodedRows
            If ``rows.probability`` is known, it is used instead of ``predict_proba``.
        """
        probability = rows.probability
        if probability is None and hasattr(self.estimator_, "predict_proba"):
            given = self.as_black_box_takes(rows.X)
            probability = np.asarray(self.estimator_.predict_proba(given), dtype=np.float64)
        return None if probability is None else SoftLabels.of(probability, rows.weight)

    def _predicted(self, rows: EncodedRows) -> NDArray[np.generic]:
        """Return ``rows.predictions`` if known, otherwise predict with the black box."""
        if rows.predictions is not None:
            return rows.predictions
        given = self.as_black_box_takes(rows.X)
        # With many classes, CatBoost returns a column.
        return np.asarray(self.estimator_.predict(given)).ravel()

    def _chosen(self, selection: OptimalSelection, candidates: ThresholdTable, rows: EncodedRows) -> Selection:
        if selection.fit_to == "target":
            rows = replace(rows, y=self._predicted(rows))
        return super()._chosen(selection, candidates, rows)

    @property
    def _needs_labels(self) -> bool:
        return True


def clone_to_fit(discretizer: Any) -> Any:
    """Clone a discretizer that is about to be fitted, with arrays as its output.

    Parameters
    ----------
    discretizer : discretizer
        A ``FrozenEstimator`` is refused, because its clone is the user's own fitted discretizer.
    """
    if isinstance(discretizer, FrozenEstimator):
        raise InvalidInputError(
            "discretizer is a FrozenEstimator. Pass an unfitted discretizer, and freeze its black box: "
            "FCCADiscretizer(FrozenEstimator(classifier))."
        )
    return clone(discretizer).set_output(transform="default")
