"""XGBoost's classifier for any labels; imported only where it is used, for the library is optional."""

from __future__ import annotations

from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray


class XGBClassifier(xgboost.XGBClassifier):
    """XGBoost's classifier takes 0, 1, … only; this one takes any labels."""

    labels: NDArray[np.generic] | None = None

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on the labels' positions."""
        self.labels = None
        labels, codes = np.unique(y, return_inverse=True)
        super().fit(X, codes)
        self.labels = labels
        return self

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The labels."""
        known: NDArray[np.generic] = super().classes_ if self.labels is None else self.labels
        return known

    def predict(self, X: Any) -> NDArray[np.generic]:
        """Labels."""
        assert self.labels is not None
        labels: NDArray[np.generic] = self.labels[super().predict(X)]
        return labels
