"""Adapters that give XGBoost, LightGBM and CatBoost boosters the interface of scikit-learn."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from fcca.exceptions import InvalidInputError, UnsupportedModelError

Floats = NDArray[np.float64]

# By dotted names, so that no library is imported.
ADAPTERS = {
    "xgboost.core.Booster": ("_xgboost", "XGBoostBooster"),
    "lightgbm.basic.Booster": ("_lightgbm", "LightGBMBooster"),
    "catboost.core.CatBoost": ("_catboost", "CatBoostModel"),
}


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """Base class of classifiers that are already fitted, like scikit-learn's FrozenEstimator.

    ``fit`` does nothing, and ``clone`` returns the same object.
    """

    def fit(self, X: Any, y: Any = None, **parameters: Any) -> Self:
        """Do nothing, because the classifier is already fitted."""
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class NativeClassifier(FittedClassifier):
    """Base class of scikit-learn classifiers around a trained booster.

    Parameters
    ----------
    booster : object
        The booster, such as the result of ``xgboost.train``.
    """

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the booster was trained on."""
        raise NotImplementedError

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The class labels."""
        raise NotImplementedError

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the columns that the booster was trained on.

        Accessing it raises an AttributeError if the booster was trained without names.
        """
        names = self._feature_names()
        if names is None:
            raise AttributeError(f"the {type(self).__name__} was trained without column names")
        return np.array(names, dtype=object)

    def _feature_names(self) -> list[str] | None:
        raise NotImplementedError

    def check(self) -> None:
        """Raise an UnsupportedModelError unless the booster was trained as a classifier."""
        raise NotImplementedError

    def _columns(self, X: Any, *, by_category: bool = False) -> Any:
        """Check the number of columns, and convert ``X`` for the booster.

        With ``by_category``, a table with category labels keeps its labels. All other tables become float64 arrays.
        """
        labels = by_category and not (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")
        columns = X if labels and hasattr(X, "shape") else np.asarray(X, dtype=object if labels else np.float64)
        if len(columns.shape) != 2 or columns.shape[1] != self.n_features_in_:
            raise InvalidInputError(
                f"X has the shape {columns.shape}, but the booster expects {self.n_features_in_} columns."
            )
        return columns


def as_classifier(model: Any) -> Any:
    """Give a native booster the methods of a scikit-learn classifier.

    Parameters
    ----------
    model : object
        A booster of ``xgboost.train`` or ``lightgbm.train``, or a ``catboost.CatBoost``. A classifier is returned
        unchanged.

    Returns
    -------
    object
        A classifier with ``predict``, ``predict_proba``, ``classes_``, ``n_features_in_`` and, if the booster has column
        names, ``feature_names_in_``. After early stopping, it predicts with the best iteration.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fcca.models import as_classifier
    >>> as_classifier(LogisticRegression())
    LogisticRegression()
    """
    if isinstance(model, NativeClassifier):
        return model
    if not isinstance(model, ClassifierMixin) and getattr(model, "_estimator_type", None) != "classifier":
        for base in type(model).__mro__:
            if (name := f"{base.__module__}.{base.__qualname__}") in ADAPTERS:
                module, adapter = ADAPTERS[name]
                classifier: NativeClassifier = getattr(import_module(f"fcca.models.readers.{module}"), adapter)(model)
                classifier.check()
                return classifier
    if not hasattr(model, "predict"):
        raise UnsupportedModelError(
            f"{type(model).__name__} is neither a classifier nor a supported booster. Supported boosters: "
            f"{', '.join(ADAPTERS)}."
        )
    return model
