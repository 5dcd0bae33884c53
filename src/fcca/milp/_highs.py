"""Solve mixed-integer programs with HiGHS, through :func:`scipy.optimize.milp`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.optimize import milp

STANDARD_OUTPUT = 1
SOLVED, STOPPED, NOTHING = range(3)  # statuses of HiGHS: optimal, out of time, infeasible
# HiGHS has absolute tolerances of 1e-6 for rows and gap, so rows and objective are scaled up to these sizes.
OBJECTIVE_SCALE = 1e4
ROW_SCALE = 1e3
MOST_ATTEMPTS = 100  # runs of HiGHS for one point and class


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress text that HiGHS prints to standard output despite its options."""
    sys.stdout.flush()
    kept, nowhere = os.dup(STANDARD_OUTPUT), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, STANDARD_OUTPUT)
        yield
    finally:
        os.dup2(kept, STANDARD_OUTPUT)
        os.close(kept)
        os.close(nowhere)


def solve_program(**arguments: Any) -> Any:
    """Call :func:`scipy.optimize.milp`, but print nothing."""
    with _silent():
        return milp(**arguments)


def run_highs(settings: dict[str, Any], constraints: list[Any], deadline: float, *, confirmed: bool = True) -> Any:
    """Solve a mixed-integer program with a relative gap of 0.

    Returns None if no time is left.

    Parameters
    ----------
    settings : dict
        Arguments of :func:`scipy.optimize.milp`, without constraints and options.
    constraints : list of LinearConstraint
    deadline : float
        The time at which to stop, on the clock ``time.monotonic``.
    confirmed : bool, default=True
        If True, a program that HiGHS finds infeasible is solved again without presolve, because presolve may lose solutions.
    """
    result = None
    for presolve in (True, False):  # HiGHS sometimes fails after presolve
        options: dict[str, Any] = {"mip_rel_gap": 0.0, "presolve": presolve}
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        if left < np.inf:
            options["time_limit"] = left
        result = solve_program(constraints=constraints, options=options, **settings)
        if result.status in ((SOLVED, STOPPED) if confirmed else (SOLVED, STOPPED, NOTHING)):
            break
    return result
