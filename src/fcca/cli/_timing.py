"""Time the steps of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Measures the seconds of each step.

    Parameters
    ----------
    *steps : str
        First steps, with 0 seconds at the start.

    Attributes
    ----------
    seconds : dict of str to float
    """

    def __init__(self, *steps: str) -> None:
        self.seconds = dict.fromkeys(steps, 0.0)

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Add the seconds of a block to a step."""
        began = perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + perf_counter() - began
