"""Gradient boosting of stumps on binary columns, with fast refits.

At every stage, scikit-learn's ``GradientBoostingClassifier(max_depth=1)`` chooses the column that explains the residuals
best. For binary columns, one product of the table with the residuals finds this column, without sorting any values. If the
best column is better than the second by more than rounding errors, scikit-learn chooses the same one. Otherwise the choice
of scikit-learn depends on random numbers and on the order of its sums. In this case, :meth:`StumpBoosting.fit` returns None.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Floats = NDArray[np.float64]

# Sums over a million rows agree to about 1e-10 in any order. A lead below this share may be a rounding error.
CERTAIN_LEAD = 1e-8
# Reductions of the squared error below this may be wrong in scikit-learn, which subtracts large numbers.
CERTAIN_REDUCTION = 1e-10
# Scores closer to the decision boundary than this may fall on the other side of it.
CERTAIN_SCORE = 1e-9
CHUNK = 4096


class Refit(NamedTuple):
    """The result of a fit: training accuracy and column importances."""

    score: float
    importance: Floats


class Stage(NamedTuple):
    """One stump: the column that it tests, and its effect on errors and scores.

    ``reduction`` is the amount by which the stump reduces the squared error. ``added`` holds the values that the
    stump adds to the scores of rows with 0 and with 1 in the column.
    """

    column: int
    reduction: float
    added: tuple[float, float]


class StumpBoosting:
    """Gradient boosting of stumps for two classes, on a changing set of binary columns.

    Parameters
    ----------
    B : ndarray of int8, shape (n_rows, n_columns)
        Binary columns.
    positive : ndarray of bool, shape (n_rows,)
        Mask of the rows whose label is the second class.
    weight : ndarray of shape (n_rows,) or None
        None means that every row has weight 1.
    n_estimators : int
        Number of stumps.
    learning_rate : float
    """

    def __init__(
        self,
        B: NDArray[np.int8],
        positive: NDArray[np.bool_],
        weight: Floats | None,
        n_estimators: int,
        learning_rate: float,
    ) -> None:
        self.B, self.positive = B, positive
        self.weight = np.ones(len(B)) if weight is None else weight
        self.total = float(self.weight.sum())
        self.n_estimators, self.learning_rate = n_estimators, learning_rate
        self.ones = self._sums(self.weight)
        self.splits = (self.ones > 0) & (self.ones < self.total)
        eps = np.finfo(np.float64).eps
        self.start = float(logit(np.clip(self.weight @ positive / self.total, eps, 1 - eps)))
        self.stages: list[Stage] = []

    def fit(self, columns: NDArray[np.intp]) -> Refit | None:
        """Fit the stumps on the columns at the given positions.

        Returns None if the result of scikit-learn would depend on rounding or chance. The columns must be a subset of those
        of the previous call. So the stages of the previous fit are reused, up to the first stage whose column has been
        dropped.
        """
        usable = np.zeros(self.B.shape[1], dtype=bool)
        usable[columns] = True
        kept = next((i for i, stage in enumerate(self.stages) if not usable[stage.column]), len(self.stages))
        del self.stages[kept:]
        usable &= self.splits
        raw = np.full(len(self.B), self.start)
        for stage in self.stages:
            self._add(raw, stage)
        while len(self.stages) < self.n_estimators:
            found = self._next_stage(raw, usable)
            if found is None:
                return None
            self._add(raw, found)
            self.stages.append(found)
        if np.abs(raw).min() < CERTAIN_SCORE:
            return None
        score = float(self.weight @ ((raw >= 0) == self.positive)) / self.total
        importance = np.zeros(self.B.shape[1])
        for stage in self.stages:
            importance[stage.column] += stage.reduction
        importance = importance[columns]
        if not _has_clear_minimum(importance):
            return None
        return Refit(score, importance / importance.sum())

    def _add(self, raw: Floats, stage: Stage) -> None:
        raw += np.array(stage.added)[self.B[:, stage.column]]

    def _next_stage(self, raw: Floats, usable: NDArray[np.bool_]) -> Stage | None:
        probability = expit(raw)
        residual = self.positive - probability
        weighted = self.weight * residual
        sums, total = self._sums(weighted), float(weighted.sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            between = sums / self.ones - (total - sums) / (self.total - self.ones)
            reduction = np.where(usable, self.ones * (self.total - self.ones) * (between / self.total) ** 2, -np.inf)
        column = int(np.argmax(reduction))
        best = float(reduction[column])
        reduction[column] = -np.inf
        if not best > CERTAIN_REDUCTION or reduction.max() > best * (1 - CERTAIN_LEAD):
            return None
        in_ones = self.B[:, column] == 1
        # A Newton step: residuals over the curvature of the loss.
        curvature = self.weight * probability * (1 - probability)
        of_ones = float(curvature @ in_ones)
        of_zeros = float(curvature @ ~in_ones)
        steps = (total - sums[column]) / of_zeros, sums[column] / of_ones
        return Stage(column, best, (self.learning_rate * float(steps[0]), self.learning_rate * float(steps[1])))

    def _sums(self, values: Floats) -> Floats:
        """Sum, for each binary column, the values of rows with a 1.

        The rows are processed in chunks that fit into the cache.
        """
        out = np.zeros(self.B.shape[1])
        for begin in range(0, len(values), CHUNK):
            chunk = slice(begin, begin + CHUNK)
            out += values[chunk] @ self.B[chunk].astype(np.float64)
        return out


def _has_clear_minimum(importance: Floats) -> bool:
    """Return True if rounding errors cannot change which column is least important."""
    if len(importance) < 2 or importance.min() == 0:  # the importance of a column that no stump uses is exactly 0
        return True
    least, second = np.partition(importance, 1)[:2]
    return bool(second > least * (1 + CERTAIN_LEAD) + CERTAIN_REDUCTION)
