"""The conditions of a scorecard as columns of a logistic regression, and back to bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fcca.scorecard._columns import ScorecardColumn, numbered_groups
from fcca.scorecard._logistic import Coefficients, Fold, LogisticProblem
from fcca.tables import Special
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]

N_FOLDS = 5


@dataclass(frozen=True)
class Terms:
    """Conditions as columns of a logistic regression.

    A cut or a set of categories asks only about ordinary values: numbers that are not special, and categories. Its column
    has the weighted mean 0 over the rows with an ordinary value, and is 0 in all other rows. So a special or missing value
    whose own condition has the coefficient 0 gets the mean of the ordinary values.

    Attributes
    ----------
    table : ThresholdTable
        The conditions. Every column with a condition also has one for each special value, and one for missing values, if
        training rows have them.
    X : ndarray of shape (n_rows, n_features)
        The encoded training rows.
    weight : ndarray of shape (n_rows,)
    special : mapping of int to ndarray
        Special values by column.
    """

    table: ThresholdTable
    X: Floats
    weight: Floats
    special: Special

    @classmethod
    def of(cls, table: ThresholdTable, X: Floats, weight: Floats, special: Special) -> Terms:
        """Add conditions for special and missing values to the conditions of a discretizer."""
        feature: list[int] = []
        kind: list[str] = []
        value: list[float] = []
        for j in np.unique(table.feature).tolist():
            for one in special.get(j, np.zeros(0)).tolist():
                if (X[:, j] == one).any():
                    feature, kind, value = [*feature, j], [*kind, "special"], [*value, one]
            if np.isnan(X[:, j]).any():
                feature, kind, value = [*feature, j], [*kind, "missing"], [*value, np.nan]
        extra, _ = ThresholdTable.from_counts(
            table.feature_names,
            feature,
            value,
            np.zeros(len(feature)),
            kind=np.array(kind, dtype="U7"),
            columns=table.columns,
        )
        terms = cls(table + extra, X, weight, special)
        return cls(terms.table.select(terms.separating), X, weight, special)

    @property
    def separating(self) -> NDArray[np.bool_]:
        """Mask of the conditions without the cuts that would make a bin without training rows."""
        keep = np.ones(len(self.table), dtype=np.bool_)
        for j in np.unique(self.table.feature).tolist():
            mine = np.flatnonzero((self.table.feature == j) & (self.table.kind == "cut"))
            above = self.binary[:, mine].sum(axis=0, dtype=np.int64)
            n_ordinary = np.count_nonzero(~np.isnan(self.X[:, j]) & ~np.isin(self.X[:, j], self.special.get(j, [])))
            keep[mine] = (np.diff(above, prepend=n_ordinary) < 0) & (above > 0)
        return keep

    @cached_property
    def is_ordinary(self) -> NDArray[np.bool_]:
        """Mask of the conditions that ask about ordinary values: cuts and sets."""
        return np.isin(self.table.kind, ("cut", "set"))

    @cached_property
    def binary(self) -> NDArray[np.int8]:
        """The binary columns; a cut does not hold for special values."""
        found = self.table.binarize(self.X)
        for j, values in self.special.items():
            mine = np.flatnonzero((self.table.feature == j) & (self.table.kind == "cut"))
            found[np.ix_(np.isin(self.X[:, j], values), mine)] = 0
        return found

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
        found, inverse = np.unique(self.binary, axis=0, return_inverse=True)
        return found, inverse.ravel()

    def problem(
        self, y: Floats, probability: Floats, trends: Mapping[int, int], rows: NDArray[np.bool_] | None = None
    ) -> LogisticProblem:
        """Return the logistic regression on the distinct binary rows.

        Predictions for held-out rows are compared with the mean of ``y`` and ``probability``.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            1 for the second class, 0 for the first.
        probability : ndarray of shape (n_rows,)
            Probability of the second class by the black box.
        trends : mapping of int to int
            1 for a column in which the log-odds may not fall, -1 for one in which they may not rise.
        rows : ndarray of bool, shape (n_rows,), optional
            The rows to use; all by default.
        """
        used = self.weight if rows is None else self.weight * rows
        weight, of_label, of_probability = (self._sums(used * values) for values in (1.0, y, probability))
        divisor = np.where(weight > 0, weight, 1.0)
        low, high = np.full(len(self.table), -np.inf), np.full(len(self.table), np.inf)
        for j, sign in trends.items():
            (low if sign > 0 else high)[(self.table.feature == j) & (self.table.kind == "cut")] = 0.0
        judged_by = (of_label + of_probability) / 2 / divisor
        return LogisticProblem(self.columns_of_regression, of_label / divisor, judged_by, weight, low, high)

    def folds(self, y: Floats, probability: Floats, trends: Mapping[int, int]) -> list[Fold]:
        """Split the rows for a cross-validation, with equal rows in the same fold.

        The order of the rows has no effect on the folds. The parameters are those of :meth:`problem`.
        """
        values = np.where(np.isnan(self.X), np.inf, self.X)
        fold = np.unique(values, axis=0, return_inverse=True)[1].ravel() % N_FOLDS
        parts = [
            (self.problem(y, probability, trends, fold != k), self.problem(y, probability, trends, fold == k))
            for k in range(N_FOLDS)
        ]
        return [Fold(*part) for part in parts if part[0].weight.any() and part[1].weight.any()]

    def _sums(self, values: Floats) -> Floats:
        rows, inverse = self._distinct
        found = np.bincount(inverse, weights=values, minlength=len(rows)).astype(np.float64)
        return found

    @cached_property
    def columns_of_regression(self) -> Floats:
        """The distinct binary rows, with the mean 0 in cuts and sets."""
        weight: Floats = self._sums(self.weight)
        Z: Floats = self._distinct[0].astype(np.float64)
        feature, ordinary = self.table.feature, self.is_ordinary
        for j in np.unique(feature).tolist():
            has_ordinary = ~Z[:, (feature == j) & ~ordinary].any(axis=1)
            mine = np.flatnonzero((feature == j) & ordinary)
            if has_ordinary.any():
                mean: Floats = np.average(Z[np.ix_(has_ordinary, mine)], axis=0, weights=weight[has_ordinary])
                Z[np.ix_(has_ordinary, mine)] -= mean
        return Z

    def trend(self, j: int, y: Floats) -> int:
        """Return 1 if the share of the second class tends to rise with the numbers of column ``j``, else -1."""
        mine = (self.table.feature == j) & (self.table.kind == "cut")
        rank = self.binary[:, mine].sum(axis=1, dtype=np.float64)
        ordinary = ~np.isnan(self.X[:, j]) & ~np.isin(self.X[:, j], self.special.get(j, np.zeros(0)))
        rank, label, weight = rank[ordinary], y[ordinary], self.weight[ordinary]
        if not len(rank):
            return 1
        return 1 if ((rank - np.average(rank, weights=weight)) * label * weight).sum() >= 0 else -1

    def columns(self, found: Coefficients, y: Floats) -> list[ScorecardColumn]:
        """Return the bins of each column with a coefficient other than 0."""
        used = np.unique(self.table.feature[found.slopes != 0]).tolist()
        return [self._column(j, found.slopes, y) for j in used]

    def _column(self, j: int, slopes: Floats, y: Floats) -> ScorecardColumn:
        table = self.table
        kept = (table.feature == j) & (slopes != 0)
        cuts = table.threshold[kept & (table.kind == "cut")]
        special = tuple(self.special.get(j, np.zeros(0)).tolist())
        groups: tuple[tuple[int, ...], ...] = ()
        categories = None if table.columns is None else table.columns[j].categories
        if categories is None:
            ordinary = np.append(0.0, np.cumsum(slopes[kept & (table.kind == "cut")]))
        else:
            sets = np.flatnonzero(kept & (table.kind == "set"))
            member = np.array([[code in (table.codes[at] or ()) for at in sets] for code in range(len(categories))])
            groups = numbered_groups(member.reshape(len(categories), -1))
            ordinary = np.array([slopes[sets] @ member[codes[0]] for codes in groups])
        column = ScorecardColumn(j, tuple(cuts.tolist()), special, groups, np.zeros(0), np.zeros((0, 2)))
        place = column.place(self.X[:, j])
        weight = np.zeros((column.n_bins, 2))
        np.add.at(weight, (place, y.astype(np.intp)), self.weight)
        coefficient = np.zeros(column.n_bins)
        held = weight[: len(ordinary)].sum(axis=1)
        coefficient[: len(ordinary)] = ordinary - (held @ ordinary / held.sum() if held.any() else 0.0)
        for at in np.flatnonzero(kept & ~self.is_ordinary).tolist():
            is_missing = table.kind[at] == "missing"
            where = column.missing if is_missing else column.n_ordinary + special.index(float(table.threshold[at]))
            coefficient[where] = slopes[at]
        coefficient[weight.sum(axis=1) == 0] = 0.0  # such as a declared category without rows that a set contains
        return ScorecardColumn(j, column.cuts, special, groups, coefficient, weight)
