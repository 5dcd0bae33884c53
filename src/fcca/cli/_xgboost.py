"""XGBoost's classifier for any labels.

The library is optional, so this module is imported on use.

Files of ``fcca distill --save-model`` store the name of this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray


class XGBClassifier(xgboost.XGBClassifier):
    """XGBoost's classifier with any labels instead of 0, 1, …."""

    labels: NDArray[np.generic] | None = None

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on the positions of the labels."""
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
        """Predict labels."""
        assert self.labels is not None
        labels: NDArray[np.generic] = self.labels[super().predict(X)]
        return labels
