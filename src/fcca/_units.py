"""Columns in any unit: the range of a column becomes about 1, without a single digit lost."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class PowerOfTwoScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply every column by the power of two that brings its range closest below 1.

    scikit-learn's trees take values closer than 1e-7 for equal, its scalers ranges below 1e-15 for constant. Multiplying
    by a power of two is exact, so a classifier behind this scaler sees the same numbers whatever the unit. Missing values
    stay missing.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,)
        The factors.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the factors."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        with np.errstate(over="ignore"):
            # These leave missing values out.
            width = np.minimum(np.fmax.reduce(X, axis=0) - np.fmin.reduce(X, axis=0), np.finfo(np.float64).max)
        # A factor beyond these would overflow, or make the largest values too large.
        exponent = np.clip(np.frexp(np.where(width > 0, width, 1.0))[1], -1000, 1000)
        self.scale_ = np.ldexp(1.0, -exponent)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Multiply."""
        check_is_fitted(self)
        scaled: NDArray[np.float64] = (
            validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan") * self.scale_
        )
        return scaled
