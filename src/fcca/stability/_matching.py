"""Match the thresholds of two fits: on all rows, and on a sample of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.tables import Columns
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class RankedColumn:
    """The training values of a numeric column, sorted.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        The sorted values.
    share : ndarray of shape (n_values + 1,)
        Entry i is the weight of the first i values, as a share of the weight of all values.
    """

    values: Floats
    share: Floats  # one more entry than values, because it begins with 0

    def rank(self, at: Floats) -> NDArray[np.intp]:
        """Count, for each number in ``at``, the training values that are at most this number."""
        return np.searchsorted(self.values, at, side="right")


class Match(NamedTuple):
    """Comparison of the thresholds of the full fit with those of another fit.

    Each array has one entry per threshold of the full fit.

    Attributes
    ----------
    same : ndarray of bool
        Whether the other fit has the same condition. Two numeric thresholds are the same if no training row separates them.
    rows : ndarray of float
        Share of the training rows between a numeric threshold and the nearest threshold of the other fit on the same column.
        NaN if the other fit has no threshold on this column.
    distance : ndarray of float
        Difference between these two thresholds, in the units of the column.
    """

    same: Booleans  # no training row separates the two
    rows: Floats  # share of the training rows between it and the nearest cut of its column; NaN if there is none
    distance: Floats  # the same in the column's units


class Matcher:
    """Matches the thresholds of a fit on all rows with the thresholds of other fits.

    Parameters
    ----------
    table : ThresholdTable
        Thresholds of the full fit.
    X : array-like or data frame of shape (n_rows, n_features)
        The training rows.
    weight : ndarray of shape (n_rows,)
    """

    def __init__(self, table: ThresholdTable, X: Any, weight: Floats) -> None:
        self.table = table
        cut_columns = np.unique(table.feature[table.kind == "cut"]).tolist()
        columns = table.columns or Columns.numbers(len(table.feature_names))
        encoded = columns.for_prediction(cut_columns).encode(X, handle_unknown="ignore")
        self._ranked = {j: _ranked(encoded[:, j], weight) for j in cut_columns}

    def __call__(self, other: ThresholdTable) -> Match:
        """For each threshold of the full fit, find the best match in another fit.

        Parameters
        ----------
        other : ThresholdTable
            Thresholds of the other fit, on the same columns. Some categories may not occur in that fit.
        """
        n = len(self.table)
        same, rows, distance = np.zeros(n, dtype=bool), np.full(n, np.nan), np.full(n, np.nan)
        for j, ranked in self._ranked.items():
            mine = np.flatnonzero((self.table.feature == j) & (self.table.kind == "cut"))
            cuts = other.threshold[(other.feature == j) & (other.kind == "cut")]
            if len(cuts):
                same[mine], rows[mine], distance[mine] = _nearest(self.table.threshold[mine], cuts, ranked)
        for at in np.flatnonzero(self.table.kind != "cut").tolist():
            theirs = np.flatnonzero(other.feature == self.table.feature[at])
            same[at] = any(self._is_same(at, other, its) for its in theirs.tolist())
        return Match(same, rows, distance)

    def _is_same(self, at: int, other: ThresholdTable, its: int) -> bool:
        if self.table.kind[at] != other.kind[its]:
            return False
        if self.table.kind[at] == "missing":
            return True
        if self.table.kind[at] == "special":
            return bool(self.table.threshold[at] == other.threshold[its])
        assert other.columns is not None
        # A category that the other fit lacks may be on either side.
        seen = set(other.columns[int(other.feature[its])].categories or ())
        mine, theirs = set(self.table.labels[at] or ()) & seen, set(other.labels[its] or ())
        return theirs in (mine, seen - mine)


def _ranked(values: Floats, weight: Floats) -> RankedColumn:
    """Sort the values of a column, without missing values and rows with weight 0."""
    counted = (weight > 0) & ~np.isnan(values)
    order = np.argsort(values[counted], kind="stable")
    share = np.concatenate([[0.0], np.cumsum(weight[counted][order])]) / weight.sum()
    return RankedColumn(values[counted][order], share)


def _nearest(mine: Floats, theirs: Floats, column: RankedColumn) -> tuple[Booleans, Floats, Floats]:
    """For each threshold in ``mine``, find the nearest one in ``theirs``, which is sorted.

    The nearest threshold is the one with the fewest training rows in between. Ties are broken by the difference of the
    values.

    Returns
    -------
    same : ndarray of bool
        Whether no training row lies in between.
    rows, distance : ndarray of float
        Share of the training rows in between, and the difference of the two thresholds.
    """
    rank, their_rank = column.rank(mine), column.rank(theirs)
    right = np.searchsorted(theirs, mine)
    # Shares rise with the cuts, so one of the two neighbours has the fewest rows between.
    sides = np.stack([np.clip(right - 1, 0, None), np.clip(right, None, len(theirs) - 1)])
    rows = np.abs(column.share[their_rank[sides]] - column.share[rank])
    distance = np.abs(theirs[sides] - mine)
    left_wins = (rows[0] < rows[1]) | ((rows[0] == rows[1]) & (distance[0] <= distance[1]))
    side, at = np.where(left_wins, 0, 1), np.arange(len(mine))
    same = np.any(their_rank[sides] == rank, axis=0)
    return same, rows[side, at], distance[side, at]
