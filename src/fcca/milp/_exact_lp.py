"""Solve small linear programs to the last digits of float64, with a proof.

The proof is a lower bound on the minimum, which is computed without relying on a solver.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Floats = NDArray[np.float64]

MOST_ROUNDS = 6
LARGEST_ZOOM = 1e6  # from one round to the next
ENOUGH = 1e-13
SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
INFEASIBLE = 2


class LeastSum(NamedTuple):
    """The solution of a linear program, and a proven lower bound on its minimum."""

    x: Floats | None  # None if the solver gave up; then only the bound is known
    bound: float  # lower bound of the sum


def least_sum(cost: Floats, rows: Floats, least: Floats, high: Floats, *, more: Floats, slack: Floats) -> LeastSum | None:
    """Solve a linear program with bounded variables.

    The program minimizes ``cost @ x`` subject to ``rows @ x >= least`` and ``0 <= x <= high``. None is returned if the
    constraints cannot be satisfied.

    Parameters
    ----------
    cost : ndarray of shape (n_columns,)
        Must not be negative.
    rows : ndarray of shape (n_rows, n_columns)
    least : ndarray of shape (n_rows,)
    high : ndarray of shape (n_columns,)
        Must be finite.
    more : ndarray of shape (n_rows,)
        Extra amounts as a protection against rounding. The solution satisfies ``rows @ x >= least + more``. The lower bound
        is for the program without these amounts.
    slack : ndarray of shape (n_rows,)
        Rounding error by which a constraint may be violated.
    """
    smallest, largest = np.minimum(rows, 0) @ high, np.maximum(rows, 0) @ high
    if (largest < least + more - slack).any():
        return None
    open_rows = smallest < least + more
    rows, least, more, slack = rows[open_rows], least[open_rows], more[open_rows], slack[open_rows]
    if len(rows) == 0:
        return LeastSum(np.zeros(len(cost)), 0.0)
    if len(rows) == 1:
        return _steepest_first(cost, rows[0], float(least[0]), float(more[0]), high)
    return _refined(cost, rows, least, more, high, slack)


def _steepest_first(cost: Floats, row: Floats, least: float, more: float, high: Floats) -> LeastSum:
    """Solve a linear program with a single constraint.

    The variables are increased one after the other, those with the smallest ``cost / row`` first, until the constraint
    is satisfied.
    """
    x = np.zeros(len(cost))
    missing, price = least + more, 0.0
    useful = np.flatnonzero(row > 0)
    for j in useful[np.argsort(cost[useful] / row[useful], kind="stable")]:
        if missing <= 0:
            break
        x[j] = min(missing / row[j], high[j])
        price = float(cost[j] / row[j])
        missing = least + more - float(row @ x)
    return LeastSum(x, float(cost @ x) - price * more)


def _refined(cost: Floats, rows: Floats, least: Floats, more: Floats, high: Floats, slack: Floats) -> LeastSum | None:
    """Solve a linear program with several constraints by iterative refinement.

    The program minimizes ``cost @ x`` subject to ``rows @ x >= least`` and ``0 <= x <= high``. HiGHS solves it only up to a
    tolerance. So each round computes the remaining error, scales it up, solves the program for this error, and corrects
    ``x``. The rounds end when the error vanishes.

    The dual values ``price`` give the lower bound. For any ``price >= 0``, the minimum is at least ``price @ least`` plus
    the minimum of ``(cost - rows.T @ price) @ x`` over ``0 <= x <= high``.
    """
    size = np.abs(rows).max(axis=1)
    rows, least, more, slack = rows / size[:, None], least / size, more / size, slack / size
    aim = least + more
    x, price = np.zeros(len(cost)), np.zeros(len(rows))
    zoom = cost_zoom = 1.0
    best, best_bound = None, 0.0
    for _ in range(MOST_ROUNDS):
        result = linprog(
            cost_zoom * (cost - rows.T @ price),
            A_ub=-rows,
            b_ub=-zoom * (aim - rows @ x),
            bounds=np.column_stack([-zoom * x, zoom * (high - x)]),
            method="highs-ds",
            options=SOLVER,
        )
        if result.x is None:
            if result.status == INFEASIBLE and best is None:
                return None
            break
        x = np.clip(x + result.x / zoom, 0, high)
        price = np.maximum(0.0, price - result.ineqlin.marginals / cost_zoom)
        left = cost - rows.T @ price
        best_bound = max(best_bound, float(price @ least + np.minimum(left, 0) @ high))
        spent = float(cost @ x)
        short, gap = float((aim - rows @ x).max()), spent - float(price @ aim + np.minimum(left, 0) @ high)
        if (aim - rows @ x <= slack).all() and (best is None or spent < float(cost @ best)):
            best = x
        if short <= ENOUGH and abs(gap) <= ENOUGH * max(1.0, spent):
            break
        zoom = min(1.0 / max(short, 1e-16), zoom * LARGEST_ZOOM)
        cost_zoom = min(1.0 / max(abs(gap), 1e-16), cost_zoom * LARGEST_ZOOM)
    return LeastSum(best, best_bound)
