"""What all discretizers do alike once they have a threshold table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from fcca._frames import check_column_names
from fcca.models import as_fitted_on
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]


class ThresholdTransformer(TransformerMixin, BaseEstimator):
    """A transformer whose ``fit`` ends in ``thresholds_``, a ThresholdTable."""

    thresholds_: ThresholdTable

    def _forget(self) -> None:
        """Drop the thresholds of an earlier fit: whatever happens in the next one, they are not to be used."""
        if hasattr(self, "thresholds_"):
            del self.thresholds_

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
        table = self._encoded(X, conditions_only=True)
        return self.thresholds_.binarize(table)

    def _encoded(self, X: Any, *, conditions_only: bool) -> Floats:
        """X as a table of float64, categories as positions in their column's ``categories``, NaN for missing values.

        For the conditions gaps may be anywhere, and columns without a condition hold anything.
        """
        check_is_fitted(self, "thresholds_")
        check_column_names(X)
        columns = self.thresholds_.columns
        if columns is None:
            table: Floats = validate_data(self, X, dtype=np.float64, order="C", reset=False)
            return table
        validate_data(self, X, skip_check_array=True, reset=False)  # compares the columns' names and number
        if conditions_only:
            columns = columns.for_answers(self.thresholds_.feature.tolist())
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
        table = self._encoded(X, conditions_only=False)
        given = as_fitted_on(self.estimator_, table, columns=self.thresholds_.columns)
        # CatBoost gives many classes as a column.
        return np.asarray(self.estimator_.predict(given)).ravel()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
