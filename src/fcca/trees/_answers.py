"""Predictions and rules of a fitted tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from fcca.tables import Columns
from fcca.trees._structure import TreeStructure

# 0/1 columns may stay bytes. So a table of a million rows is not copied into eight times its size.
ACCEPTED_TYPES = (np.float64, np.uint8, np.int8, np.bool_)


class TreeAnswersMixin:
    """Predictions, rules and conversion of the tree ``_structure``, which is in the units of X."""

    classes_: NDArray[Any]
    n_features_in_: int

    @property
    def _structure(self) -> TreeStructure:
        raise NotImplementedError

    @property
    def _columns(self) -> Columns | None:
        """Columns with categories and missing values; None if all are plain numbers."""
        return None

    def _checked_table(self, X: Any) -> NDArray[Any]:
        """Convert X to numbers that the nodes can test."""
        table: NDArray[Any] = validate_data(self, X, dtype=ACCEPTED_TYPES, reset=False)
        return table

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf of every row."""
        check_is_fitted(self)
        return self._structure.leaf_of(self._checked_table(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of a row's leaf: ``(weight + ½) / (total weight + ½ · classes)``."""
        leaves = self.apply(X)
        return self._structure.probability[leaves]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest weight in each row's leaf."""
        heaviest = self.predict_proba(X).argmax(axis=1)
        answers: NDArray[Any] = self.classes_[heaviest]
        return answers

    def rules(self) -> list[str]:
        """Return one line per leaf, such as ``"LSTAT ≤ 9.725 and RM > 6.94 → 1 (0.97)"``."""
        check_is_fitted(self)
        names = [str(name) for name in _check_feature_names_in(self)]
        return self._structure.rules(names, self.classes_, self._columns)

    def to_sklearn(self) -> DecisionTreeClassifier:
        """Convert to a fitted DecisionTreeClassifier, for ``plot_tree``, dtreeviz or shap.

        Its predictions are the same, except that scikit-learn's trees cast X to 32-bit floats first. A value very close to
        a threshold may go to the other side.
        """
        check_is_fitted(self)
        return self._structure.to_sklearn(self.classes_, self.n_features_in_, getattr(self, "feature_names_in_", None))
