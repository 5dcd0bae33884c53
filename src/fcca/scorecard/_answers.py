"""Methods that all fitted scorecards share: predictions, scores, points per column and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from fcca.exceptions import InvalidInputError
from fcca.utils import whole_number

if TYPE_CHECKING:
    from fcca.scorecard._points import Scorecard

Floats = NDArray[np.float64]

AGAINST = ("best", "mean")


class ScorecardAnswersMixin:
    """Predictions and points of a fitted scorecard.

    A subclass provides the scorecard as ``_card``, and the bins of rows with ``_places``.
    """

    @property
    def _card(self) -> Scorecard:
        raise NotImplementedError

    def _places(self, X: Any) -> NDArray[np.intp]:
        """Return the position of each row's bin in each used column."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Floats:
        """Compute the log-odds of the second class, from the coefficients without rounding.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        places = self._places(X)
        return _total(self._card.intercept, [column.coefficient for column in self._card.used], places)

    def predict_proba(self, X: Any) -> Floats:
        """Compute the probability of each class, from the coefficients without rounding.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        log_odds = self.decision_function(X)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the second class where its log-odds are positive.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        is_second = self.decision_function(X) > 0
        found: NDArray[Any] = self._card.classes_[is_second.astype(np.intp)]
        return found

    def score_points(self, X: Any) -> Floats:
        """Compute the score of each row: the base points and the points of its bins.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        places = self._places(X)
        return _total(self._card.base_points, self._card.points, places)

    def contributions(self, X: Any) -> pd.DataFrame:
        """Return the points of each row, with one column per column of the scorecard.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        DataFrame of shape (n_rows, n_columns_used)
            With the index of X if it is a data frame.
        """
        places, card = self._places(X), self._card
        found = {name: points[at] for name, points, at in zip(card.features_used, card.points, places.T, strict=True)}
        return pd.DataFrame(found, index=_labels(X, len(places)))

    def reasons(self, X: Any, n: int = 3, against: str = "best") -> pd.DataFrame:
        """List the columns in which each row lost most points.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
        n : int, default=3
            Maximum number of reasons per row.
        against : {"best", "mean"}, default="best"
            What the points are compared with: the best bin of the column, or the mean of the column, which has 0 points.

        Returns
        -------
        DataFrame
            One line per row and reason, the strongest reason of a row first. ``row``: label of the row in the index of X, or
            its position. ``number``: from 1 to n. ``feature``, ``condition`` and ``points``: the column, and the bin of the
            row. ``drop``: the points lost. Columns in which the row lost nothing are left out.
        """
        whole_number("n", n)
        if against not in AGAINST:
            raise InvalidInputError(f"against must be 'best' or 'mean', got {against!r}.")
        places, card = self._places(X), self._card
        points = np.zeros(places.shape)
        drop = np.zeros(places.shape)
        for k, (column, values) in enumerate(zip(card.used, card.points, strict=True)):
            points[:, k] = values[places[:, k]]
            drop[:, k] = (values[column.in_training].max() if against == "best" else 0.0) - points[:, k]
        order = np.argsort(-drop, axis=1, kind="stable")[:, :n]
        row, number = np.nonzero(np.take_along_axis(drop, order, axis=1) > 0)
        which = order[row, number]
        bins = [card.bins(at) for at in range(len(card.used))]
        return pd.DataFrame(
            {
                "row": _labels(X, len(places))[row],
                "number": number + 1,
                "feature": [card.features_used[at] for at in which],
                "condition": [bins[at][place] for at, place in zip(which, places[row, which], strict=True)],
                "points": points[row, which],
                "drop": drop[row, which],
            }
        )


def _labels(X: Any, n_rows: int) -> pd.Index[Any]:
    return X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(n_rows)


def _total(base: float, of_bins: Sequence[Floats], places: NDArray[np.intp]) -> Floats:
    """Add the numbers of bins column by column, in the order in which exported code adds them."""
    total = np.full(len(places), base)
    for values, at in zip(of_bins, places.T, strict=True):
        total = total + values[at]
    return total
