"""Seconds that the steps of a command take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Seconds by step, in the order of the steps.

    Parameters
    ----------
    *steps : str
        Steps that come first, whether they are timed or not.

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
