"""Mixed-integer programs on HiGHS."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scipy.optimize import milp

STANDARD_OUTPUT = 1


@contextmanager
def _silent() -> Iterator[None]:
    """Keep what HiGHS prints past all its options out of what the program prints, which may be JSON."""
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
    """As :func:`scipy.optimize.milp`, and without a sound."""
    with _silent():
        return milp(**arguments)
