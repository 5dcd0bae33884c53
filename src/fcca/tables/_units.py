"""Scale columns by powers of two, so that their units do not matter."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

LARGEST_EXPONENT = 90


class PowerOfTwoScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale columns by powers of two to a range near 1.

    scikit-learn's trees treat values closer than 1e-7 as equal, and its scalers treat ranges below 1e-15 as constant. After
    this scaler, a classifier does not depend on the units of the columns. Multiplying by a power of two is exact. The factor
    is computed from the middle half of the distinct values, so a single huge value has little effect on it. Missing values
    stay missing.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,)
        The factor of each column, a power of two.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the factor of each column from the values in X. ``y`` is ignored."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        with np.errstate(over="ignore"):
            # These functions skip missing values.
            width = np.minimum(np.fmax.reduce(X, axis=0) - np.fmin.reduce(X, axis=0), np.finfo(np.float64).max)
        middle = np.array([_middle_half(column) for column in X.T])
        exponent = np.frexp(np.where(width > 0, middle, 1.0))[1]
        # A larger or smaller factor would overflow, or make the largest values too large for float32.
        least = np.frexp(np.where(width > 0, width, 1.0))[1] - LARGEST_EXPONENT
        self.scale_ = np.ldexp(1.0, -np.clip(np.maximum(exponent, least), -1000, 1000))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Multiply each column by its factor."""
        check_is_fitted(self)
        scaled: NDArray[np.float64] = (
            validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan") * self.scale_
        )
        return scaled


def _middle_half(column: NDArray[np.float64]) -> float:
    """Return the interquartile range of the distinct values of a column.

    Return 1 if the column has a single value.
    """
    values = np.unique(column[~np.isnan(column)])
    if len(values) < 2:
        return 1.0
    low, high = values[(len(values) - 1) // 4], values[-1 - (len(values) - 1) // 4]
    with np.errstate(over="ignore"):
        return float(min(high - low, np.finfo(np.float64).max))
