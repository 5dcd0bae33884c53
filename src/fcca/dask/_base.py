"""What all estimators on Dask tables do alike."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fcca.dask._answers import accuracy, answered
from fcca.dask._pieces import DaskPieces
from fcca.dask._tables import Table, is_collection
from fcca.exceptions import InvalidInputError


class OnDask(BaseEstimator):
    """An estimator that does with a cluster what one of fcca's does in memory."""

    _plain: ClassVar[type]  # of fcca
    _own: ClassVar[tuple[str, ...]] = ("retries",)  # parameters that the plain one does not have
    retries: int
    verbose: int
    n_features_in_: int

    @property
    def client(self) -> Any:
        """The cluster's client; None is the active one or, where there is none, Dask's own scheduler.

        It is no parameter: a clone or a pickle does not have it.
        """
        return getattr(self, "_client", None)

    @client.setter
    def client(self, client: Any) -> None:
        self._client = client

    def to_local(self) -> Any:
        """The plain estimator of fcca, fitted, which needs no Dask: for plots, reports and exports."""
        check_is_fitted(self)
        return copy(self._fitted)

    def _unfitted(self) -> Any:
        """The plain estimator with the same parameters."""
        return self._plain(**{name: value for name, value in self.get_params(deep=False).items() if name not in self._own})

    def _pieces(self, X: Any, y: Any, sample_weight: Any) -> DaskPieces:
        if y is None:
            raise InvalidInputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return DaskPieces(
            Table.of_parts(X, y, sample_weight), self.client, retries=self.retries, verbose=bool(getattr(self, "verbose", 0))
        )

    def _take(self, fitted: Any) -> Self:
        """Take over what was fitted, and nothing of an earlier fit."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        self._fitted = fitted
        for name, value in vars(fitted).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        return self

    def _answers(self, X: Any, method: str, like: pd.DataFrame | pd.Series[Any]) -> Any:
        return answered(X, self._fitted, method, like) if is_collection(X) else getattr(self._fitted, method)(X)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_client"}


def plain(part: Any) -> Any:
    """The estimator of fcca with the same parameters, for one on Dask tables; any other comes back as it is."""
    return part._unfitted() if isinstance(part, OnDask) else part


class ClassifierOnDask(ClassifierMixin, OnDask):
    """One that answers with labels."""

    classes_: NDArray[Any]

    def predict(self, X: Any) -> Any:
        """Class of every row.

        Parameters
        ----------
        X : Dask DataFrame or array, or a table in memory

        Returns
        -------
        Series or array
            Of Dask, and not computed yet, where X is of Dask.
        """
        check_is_fitted(self)
        return self._answers(X, "predict", pd.Series(self.classes_).iloc[:0])

    def predict_proba(self, X: Any) -> Any:
        """Share of each class in the training weight of a row's leaf.

        Parameters
        ----------
        X : Dask DataFrame or array, or a table in memory

        Returns
        -------
        DataFrame or array
            Of Dask, and not computed yet, where X is of Dask.
        """
        check_is_fitted(self)
        return self._answers(X, "predict_proba", pd.DataFrame(columns=self.classes_.tolist(), dtype="float64"))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows that are answered with their label.

        Parameters
        ----------
        X, y, sample_weight : as in fit

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if not is_collection(X):
            return float(self._fitted.score(X, y, sample_weight))
        return accuracy(self._pieces(X, y, sample_weight), self._fitted)

    def rules(self) -> list[str]:
        """One line per leaf, such as ``"LSTAT ≤ 9.725 and RM > 6.94 → 1 (0.97)"``."""
        check_is_fitted(self)
        found: list[str] = self._fitted.rules()
        return found
