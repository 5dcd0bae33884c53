"""What all discretizers do alike once they have a threshold table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import _check_feature_names_in, _num_samples, check_is_fitted, column_or_1d, validate_data

from fcca._frames import check_column_names
from fcca._weights import check_weights
from fcca.exceptions import InvalidInputError
from fcca.models import as_fitted_on
from fcca.selection import OptimalSelection, Selection
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]


class ThresholdTransformer(TransformerMixin, BaseEstimator):
    """A transformer whose ``fit`` ends in ``all_thresholds_``, and in ``thresholds_``, those of them that are kept."""

    selection: OptimalSelection | None
    thresholds_: ThresholdTable
    all_thresholds_: ThresholdTable
    selection_: Selection  # only where there is a selection

    def _begin(self) -> None:
        """Refuse a selection that cannot be made, and drop the thresholds of an earlier fit: they are not to be used."""
        self._check_selection(self.selection)
        for name in ("thresholds_", "all_thresholds_", "selection_"):
            if hasattr(self, name):
                delattr(self, name)

    def set_selection(
        self, selection: OptimalSelection | None, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose among the thresholds found in another way, without fitting anything anew.

        Parameters
        ----------
        selection : OptimalSelection or None
            None keeps all that there are to choose from.
        X, y, sample_weight : as in fit, optional
            The rows to measure the inconsistency on, those of ``fit`` as a rule. Not asked for where selection is None; y
            neither, where the selection is against the target.

        Returns
        -------
        self
        """
        check_is_fitted(self, "all_thresholds_")
        self._check_selection(selection)
        chosen = None
        if selection is not None:
            against_target = selection.against == "target"
            if X is None or (y is None and not against_target):
                raise InvalidInputError("A selection is measured on rows: give X and y, those of fit as a rule.")
            y = None if y is None else column_or_1d(y)
            if y is not None and len(y) != _num_samples(X):
                raise InvalidInputError(f"X has {_num_samples(X)} rows and y has {len(y)}. Expected as many.")
            weight = check_weights(sample_weight, _num_samples(X))
            if not weight.all():  # such rows may hold categories that no other row has
                rows = np.flatnonzero(weight)
                X, y, weight = _safe_indexing(X, rows), None if y is None else y[rows], weight[rows]
            candidates = self._candidates()
            table = self._encoded(X, asked_by=None if against_target else candidates)
            chosen = self._chosen(selection, candidates, table, y, weight)
        self.selection = selection
        self._keep(chosen)
        return self

    def _check_selection(self, selection: OptimalSelection | None) -> None:
        if selection is None:
            return
        if not isinstance(selection, OptimalSelection):
            raise InvalidInputError(f"selection must be an OptimalSelection or None, got {selection!r}.")
        selection.check_parameters()
        if selection.against == "target" and not isinstance(self, TargetThresholdTransformer):
            raise InvalidInputError(f"{type(self).__name__} has no target model, so against must be 'labels', got 'target'.")

    def _candidates(self) -> ThresholdTable:
        """The conditions that a selection chooses from."""
        return self.all_thresholds_

    def _choose(self, table: Floats, y: Any, weight: Floats | None) -> None:
        """Keep what the selection takes, measured on a table in the codes of the conditions; or all, where there is none."""
        selection = self.selection
        self._keep(None if selection is None else self._chosen(selection, self._candidates(), table, y, weight))

    def _chosen(
        self, selection: OptimalSelection, candidates: ThresholdTable, table: Floats, y: Any, weight: Floats | None
    ) -> Selection:
        return selection.select(candidates, table, y, weight)

    def _keep(self, chosen: Selection | None) -> None:
        if chosen is not None:
            self.selection_ = chosen
        elif hasattr(self, "selection_"):
            del self.selection_
        self.thresholds_ = self._candidates() if chosen is None else chosen.thresholds

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
        check_is_fitted(self, "thresholds_")
        table = self._encoded(X, conditions_only=True)
        return self.thresholds_.binarize(table)

    def _encoded(self, X: Any, *, conditions_only: bool = False, asked_by: ThresholdTable | None = None) -> Floats:
        """X as a table of float64, categories as positions in their column's ``categories``, NaN for missing values.

        For conditions, those that are kept or those of another table, gaps may be anywhere, and columns without a condition
        hold anything.
        """
        asked_by = self.thresholds_ if conditions_only else asked_by
        check_column_names(X)
        columns = self.all_thresholds_.columns
        if columns is None:
            table: Floats = validate_data(self, X, dtype=np.float64, order="C", reset=False)
            return table
        validate_data(self, X, skip_check_array=True, reset=False)  # compares the columns' names and number
        if asked_by is not None:
            columns = columns.for_answers(asked_by.feature.tolist())
        return columns.encode(X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the output columns, such as ``"RM > 6.94"`` or ``'purpose = "car"'``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, where X had none.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "thresholds_")
        given = tuple(str(name) for name in _check_feature_names_in(self, input_features))
        return np.asarray(self.thresholds_.renamed(given).names(), dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # the answer is 0/1 whatever comes in
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class TargetThresholdTransformer(ThresholdTransformer):
    """One that takes its thresholds from a classifier, ``estimator_``, and so needs labels."""

    estimator_: Any

    def predict_target(self, X: Any) -> NDArray[np.generic]:
        """Answers of the classifier whose thresholds these are.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "thresholds_")
        return self._answers(self._encoded(X))

    def _answers(self, table: Floats) -> NDArray[np.generic]:
        given = as_fitted_on(self.estimator_, table, columns=self.all_thresholds_.columns)
        # CatBoost gives many classes as a column.
        return np.asarray(self.estimator_.predict(given)).ravel()

    def _chosen(
        self, selection: OptimalSelection, candidates: ThresholdTable, table: Floats, y: Any, weight: Floats | None
    ) -> Selection:
        learned = self._answers(table) if selection.against == "target" else y
        return super()._chosen(selection, candidates, table, learned, weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
