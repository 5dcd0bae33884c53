"""Methods that all fitted trees share: predictions, rules, reasons, and conversion to scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from fcca.tables import Columns
from fcca.trees._reasons import ReasonsMixin
from fcca.trees._structure import TreeStructure

# Columns of 0 and 1 may stay bytes. As float64, they would need eight times the memory.
ACCEPTED_TYPES = (np.float64, np.uint8, np.int8, np.bool_)


class TreeAnswersMixin(ReasonsMixin):
    """Methods of a fitted tree: predictions, rules, and conversion to scikit-learn.

    A subclass provides the tree as ``_structure``. The nodes of this tree test the columns of X.
    """

    classes_: NDArray[Any]
    n_features_in_: int

    @property
    def _structure(self) -> TreeStructure:
        raise NotImplementedError

    @property
    def _columns(self) -> Columns | None:
        """Descriptions of the columns of X; None if all columns are numeric without missing values."""
        return None

    def _checked_table(self, X: Any) -> NDArray[Any]:
        """Check X and convert it to an array of numbers that the nodes can test."""
        table: NDArray[Any] = validate_data(self, X, dtype=ACCEPTED_TYPES, reset=False)
        return table

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf that each row of X reaches.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of int, shape (n_rows,)
            Position of the leaf among the nodes of the tree.
        """
        check_is_fitted(self)
        return self._structure.leaf_of(self._checked_table(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of each row, in the order of ``classes_``.

        The probability of class k is ``(w_k + 1/2) / (n + K/2)``. Here ``w_k`` is the training weight of class k in the leaf
        that the row reaches. The weight of all ``K`` classes in this leaf is ``n``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        leaves = self.apply(X)
        return self._structure.probability[leaves]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest training weight in the leaf of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels.
        """
        heaviest = self.predict_proba(X).argmax(axis=1)
        answers: NDArray[Any] = self.classes_[heaviest]
        return answers

    def _described(self) -> tuple[TreeStructure, NDArray[Any], Sequence[str], Columns | None]:
        check_is_fitted(self)
        names = [str(name) for name in _check_feature_names_in(self)]
        return self._structure, self.classes_, names, self._columns

    def rules(self) -> list[str]:
        """Return the rule of each leaf, such as ``"LSTAT ≤ 9.725 and RM > 6.94 → 1 (0.97)"``.

        A rule has the conditions on the path to the leaf and the predicted class. The number is the share of this class in
        the training weight of the leaf.
        """
        nodes, classes, names, columns = self._described()
        return nodes.rules(names, classes, columns)

    def to_sklearn(self) -> DecisionTreeClassifier:
        """Convert to a fitted DecisionTreeClassifier, for ``plot_tree``, dtreeviz or shap.

        It predicts the same classes, with one exception: scikit-learn's trees cast X to 32-bit floats before comparing. So a
        value very close to a threshold may end up on the other side of it.
        """
        check_is_fitted(self)
        return self._structure.to_sklearn(self.classes_, self.n_features_in_, getattr(self, "feature_names_in_", None))
