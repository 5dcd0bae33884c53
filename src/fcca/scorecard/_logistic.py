"""Logistic regression with an l1 penalty, chosen by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

#: Strengths of the penalty, as shares of the strength at which all coefficients are 0.
STRENGTHS = np.geomspace(1.0, 0.004, 20)
MOST_STEPS, MOST_SWEEPS = 50, 200
SMALL_STEP, SMALL_GAIN = 1e-9, 1e-8  # of the length of a step, and of the objective
LEAST_CURVATURE = 1e-9


class Coefficients(NamedTuple):
    """The intercept, and one coefficient per column."""

    intercept: float
    slopes: Floats


@dataclass(frozen=True)
class LogisticProblem:
    """Rows of a logistic regression, and bounds on its coefficients.

    Attributes
    ----------
    Z : ndarray of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
        Share of the second class in each row, from 0 to 1.
    judged_by : ndarray of shape (n_rows,)
        What the predictions for held-out rows are compared with: shares of the second class from 0 to 1.
    weight : ndarray of shape (n_rows,)
    low, high : ndarray of shape (n_columns,)
        Bounds on the coefficients; each pair contains 0.
    """

    Z: Floats
    y: Floats
    judged_by: Floats
    weight: Floats
    low: Floats
    high: Floats

    @property
    def mean(self) -> float:
        """Weighted mean of ``y``."""
        return float(np.average(self.y, weights=self.weight))

    @property
    def start(self) -> Coefficients:
        """The best intercept without any slopes."""
        return Coefficients(float(np.log(self.mean / (1 - self.mean))), np.zeros(self.Z.shape[1]))

    @property
    def strongest(self) -> float:
        """The smallest penalty at which all slopes are 0."""
        return float(np.abs(self.Z.T @ (self.weight * (self.y - self.mean))).max(initial=0.0))

    def columns(self, at: NDArray[np.bool_]) -> LogisticProblem:
        """Select columns."""
        return replace(self, Z=self.Z[:, at], low=self.low[at], high=self.high[at])


class Fold(NamedTuple):
    """Rows to learn from, and held-out rows."""

    train: LogisticProblem
    test: LogisticProblem


def choose_coefficients(problem: LogisticProblem, folds: Sequence[Fold], most: int | None) -> Coefficients:
    """Fit a lasso whose penalty is chosen by cross-validation.

    If the number of conditions is limited, take the strongest penalty that keeps more conditions. Of these conditions, those
    with the largest slopes are kept. Then the penalty of a second lasso, on these conditions, is chosen by cross-validation.

    Parameters
    ----------
    problem : LogisticProblem
        All rows.
    folds : sequence of Fold
    most : int or None
        Maximum number of slopes that are not 0.
    """
    path = list(_lasso_path(problem, problem.strongest))
    above = [] if most is None else [one.slopes for one in path if np.count_nonzero(one.slopes) > most]
    if above:
        kept = np.zeros(len(above[0]), dtype=np.bool_)
        kept[np.argsort(-np.abs(above[0]), kind="stable")[:most]] = True
        parts = [Fold(fold.train.columns(kept), fold.test.columns(kept)) for fold in folds]
        found = choose_coefficients(problem.columns(kept), parts, None)
        slopes = np.zeros(len(kept))
        slopes[kept] = found.slopes
        return Coefficients(found.intercept, slopes)
    losses = [_held_out_losses(fold, problem) for fold in folds if 0 < fold.train.mean < 1]
    # Without a fold, there are too few different rows for a cross-validation.
    return path[int(np.sum(losses, axis=0).argmin())] if losses else path[-1]


def _held_out_losses(fold: Fold, problem: LogisticProblem) -> list[float]:
    """Return the log-loss on the held-out rows of a fold, for each strength of the penalty."""
    test, share = fold.test, float(fold.train.weight.sum() / problem.weight.sum())
    path = _lasso_path(fold.train, problem.strongest * share)
    return [_log_loss(test.Z, test.judged_by, test.weight, found) for found in path]


def _lasso_path(problem: LogisticProblem, unit: float) -> Iterator[Coefficients]:
    """Yield the coefficients for each strength, from the strongest to the weakest penalty."""
    found = problem.start
    for strength in STRENGTHS.tolist():
        found = fit_lasso(problem, strength * unit, found)
        yield found


def fit_lasso(problem: LogisticProblem, penalty: float, start: Coefficients) -> Coefficients:
    """Minimize the log-loss plus ``penalty`` times the sum of the absolute slopes.

    Newton's method: each step minimizes a quadratic model of the log-loss plus the penalty, by coordinate descent.
    """
    Z, y, weight = problem.Z, problem.y, problem.weight
    A = np.column_stack([np.ones(len(Z)), Z])
    bounds = np.append(-np.inf, problem.low), np.append(np.inf, problem.high)
    penalties = np.append(0.0, np.full(Z.shape[1], penalty))
    found = np.append(start.intercept, start.slopes)
    value = _value(problem, found, penalty)
    for _ in range(MOST_STEPS):
        p = expit(A @ found)
        curvature = A.T @ (A * (weight * np.maximum(p * (1 - p), LEAST_CURVATURE))[:, None])
        gradient = A.T @ (weight * (p - y))
        step = _quadratic_minimum(curvature, gradient, found, penalties, bounds, SMALL_GAIN * abs(value)) - found
        length = 1.0
        while (reached := _value(problem, found + length * step, penalty)) > value and length > SMALL_STEP:
            length /= 2
        if reached > value:
            break
        gain, value, found = value - reached, reached, found + length * step
        if gain <= SMALL_GAIN * abs(value):
            break
    return Coefficients(float(found[0]), found[1:])


def _value(problem: LogisticProblem, coefficients: Floats, penalty: float) -> float:
    found = Coefficients(float(coefficients[0]), coefficients[1:])
    return _log_loss(problem.Z, problem.y, problem.weight, found) + penalty * float(np.abs(found.slopes).sum())


def _log_loss(Z: Floats, y: Floats, weight: Floats, found: Coefficients) -> float:
    log_odds = found.intercept + Z @ found.slopes
    return float((weight * (np.logaddexp(0.0, log_odds) - y * log_odds)).sum())


def _quadratic_minimum(
    curvature: Floats, gradient: Floats, start: Floats, penalties: Floats, bounds: tuple[Floats, Floats], tolerance: float
) -> Floats:
    """Minimize a quadratic function plus an l1 penalty within bounds, by coordinate descent.

    ``gradient`` is the gradient of the quadratic function at ``start``. The descent stops when no coordinate improves the
    value by more than ``tolerance``.
    """
    bend, penalty, low, high = (values.tolist() for values in (curvature.diagonal(), penalties, *bounds))
    found, gradient = start.tolist(), gradient.copy()
    everything = [j for j, one in enumerate(bend) if one > 0]
    active = everything
    for _ in range(MOST_SWEEPS):
        largest = 0.0
        for j in active:
            best = found[j] - float(gradient[j]) / bend[j]
            shrunk = max(abs(best) - penalty[j] / bend[j], 0.0)
            change = min(max(math.copysign(shrunk, best), low[j]), high[j]) - found[j]
            if change != 0:
                found[j] += change
                gradient += curvature[j] * change
                largest = max(largest, change * change * bend[j])
        if largest > tolerance:
            active = [j for j in everything if found[j] != 0 or penalty[j] == 0]
        elif active is everything:
            break
        else:
            active = everything
    return np.array(found)
