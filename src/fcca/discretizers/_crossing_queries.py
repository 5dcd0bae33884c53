"""Which training rows have counterfactuals that cross which thresholds."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals import Counterfactuals
from fcca.discretizers._base import ThresholdTransformer
from fcca.exceptions import InvalidInputError
from fcca.thresholds import ThresholdTable


class CrossingQueries(ThresholdTransformer):
    """Queries about the thresholds that the counterfactuals of training rows cross."""

    all_thresholds_: ThresholdTable
    counterfactuals_: Counterfactuals
    _crossing_points: NDArray[np.int64]
    _first_crossing: NDArray[np.int64]

    def _keep_crossings(self, point: NDArray[np.int64], condition: NDArray[np.int64]) -> None:
        """Store, for each condition, the counterfactuals that cross it."""
        order = np.argsort(condition, kind="stable")
        self._crossing_points = point[order]
        self._first_crossing = np.searchsorted(condition[order], np.arange(len(self.all_thresholds_) + 1))

    def rows_crossing(self, condition: str | int) -> NDArray[np.int64]:
        """Find the training rows whose counterfactual crosses a threshold.

        Parameters
        ----------
        condition : str or int
            A name such as ``"RM > 6.94"``, or a position in ``thresholds_``.

        Returns
        -------
        ndarray of int
            Positions of the rows in the training table, sorted.
        """
        self._check_fitted()
        names = self.thresholds_.names()
        if not isinstance(condition, str):
            if not isinstance(condition, Integral):
                raise InvalidInputError(f"condition must be a name or a position, got {condition!r}.")
            if not -len(names) <= condition < len(names):
                raise InvalidInputError(f"condition={condition} is out of range: there are {len(names)} thresholds.")
            condition = names[int(condition)]
        points, first = self.crossing_points()
        all_names = self.all_thresholds_.names()
        if condition not in all_names:
            raise InvalidInputError(f"No threshold named {condition!r}. The thresholds kept are {names}.")
        at = all_names.index(str(condition))
        rows: NDArray[np.int64] = np.sort(self.counterfactuals_.rows[points[first[at] : first[at + 1]]])
        return rows

    def crossed_by(self, row: int) -> list[str]:
        """Get the thresholds that the counterfactual of a row crosses.

        This is the inverse of :meth:`rows_crossing`. The result includes thresholds that ``Q`` leaves out. If filling in a
        single missing value of the row flips the prediction, the result also includes ``x is missing``.

        Parameters
        ----------
        row : int
            Position of a row in the training table.

        Returns
        -------
        list of str
            Names such as ``"RM > 6.94"``. The list is empty if the row has no proven counterfactual.
        """
        self._check_fitted()
        if not isinstance(row, Integral) or row < 0:
            raise InvalidInputError(f"row must be the number of a training row, starting at 0, got {row!r}.")
        rows, conditions = self.crossings()
        names = self.all_thresholds_.names()
        return [names[at] for at in conditions[rows == row].tolist()]

    def crossings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Get all pairs of a training row and a threshold that its counterfactual crosses.

        Returns
        -------
        rows : ndarray of int
            For each pair, the position of the row in the training table.
        conditions : ndarray of int
            For each pair, the position of the threshold in ``all_thresholds_``, in ascending order.
        """
        points, first = self.crossing_points()
        return self.counterfactuals_.rows[points], np.repeat(np.arange(len(self.all_thresholds_)), np.diff(first))

    def crossing_points(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Get the counterfactuals that cross each threshold.

        Returns
        -------
        points : ndarray of shape (n_crossings,)
            Positions in ``counterfactuals_``, threshold by threshold.
        first : ndarray of shape (n_thresholds + 1,)
            The counterfactuals that cross threshold ``i`` of ``all_thresholds_`` are ``points[first[i] : first[i + 1]]``.
        """
        self._check_fitted()
        if not hasattr(self, "counterfactuals_"):
            raise InvalidInputError(
                "The rows came in chunks, so the thresholds that each row crosses were not stored. Use fit instead."
            )
        return self._crossing_points, self._first_crossing
