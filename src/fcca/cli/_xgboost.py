"""XGBoost's classifier, extended to labels of any type.

XGBoost is optional, so this module is imported only if it is needed. Do not rename the module: files written by
``fcca distill --save-model`` store its name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray


class XGBClassifier(xgboost.XGBClassifier):
    """XGBoost's classifier for labels of any type, not only 0, 1, 2, …."""

    labels: NDArray[np.generic] | None = None

    def fit(self, X: Any, y: Any) -> Any:
        """Fit the classifier.

        XGBoost itself is fitted on codes, the indices of the labels in ``classes_``.
        """
        self.labels = None
        labels, codes = np.unique(y, return_inverse=True)
        super().fit(X, codes)
        self.labels = labels
        return self

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The distinct labels, sorted."""
        known: NDArray[np.generic] = super().classes_ if self.labels is None else self.labels
        return known

    def predict(self, X: Any) -> NDArray[np.generic]:
        """Predict the label of each row."""
        assert self.labels is not None
        labels: NDArray[np.generic] = self.labels[super().predict(X)]
        return labels
