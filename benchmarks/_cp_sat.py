"""CP-SAT in a separate process, because ortools and highspy cannot be imported together. Started by ``_peers.py``.

The process reads pickled programs from standard input, one after the other, and writes a pickled result for each.
"""

from __future__ import annotations

import pickle
import sys
import time
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

# Any partial sum stays below 2^62, as CP-SAT's overflow checks require, with 4 bits left for its cuts.
LARGEST_SUM = 2**58


def whole_numbers(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Convert values to whole multiples of 1 / scale, and return them with the scale.

    The scale is as large as possible without an overflow of the sum in 64 bits.
    """
    scale = LARGEST_SUM / max(float(np.abs(values).sum()), 1e-300)
    return np.rint(values * scale).astype(np.int64), scale


def model_of(program: dict[str, Any]) -> tuple[cp_model.CpModel, list[Any]]:
    """Build a model with one clause per row: exactly or at most one of some variables or negated variables."""
    model = cp_model.CpModel()
    columns = [model.new_bool_var("") for _ in range(program["n_columns"])]
    begin, column, sign = program["begin"], program["column"], program["sign"]
    for row, is_exact in enumerate(program["is_exact"]):
        entries = range(begin[row], begin[row + 1])
        literals = [columns[column[k]] if sign[k] > 0 else columns[column[k]].negated() for k in entries]
        (model.add_exactly_one if is_exact else model.add_at_most_one)(literals)
    n_steps = len(program["price"])
    gains, scale = whole_numbers(program["gains"])
    model.add(cp_model.LinearExpr.weighted_sum(columns[n_steps:], gains.tolist()) >= int(np.ceil(program["needed"] * scale)))
    price, _ = whole_numbers(program["price"])
    model.minimize(cp_model.LinearExpr.weighted_sum(columns[:n_steps], price.tolist()))
    return model, columns[:n_steps]


def answer(program: dict[str, Any]) -> dict[str, Any]:
    """Solve one program with one worker."""
    begin = time.perf_counter()
    model, steps = model_of(program)
    built = time.perf_counter()
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = program["time_limit"]
    status = solver.solve(model)
    done = time.perf_counter()
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return {
        "status": solver.status_name(status),
        "taken": np.array([solver.boolean_value(step) for step in steps]) if found else None,
        "build": built - begin,
        "solver": done - built,
    }


def main() -> None:
    # The first message says that ortools is loaded, so that no point has to wait for it.
    pickle.dump("ready", sys.stdout.buffer)
    sys.stdout.buffer.flush()
    while True:
        try:
            program = pickle.load(sys.stdin.buffer)  # from the process that started this one
        except EOFError:
            return
        pickle.dump(answer(program), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
