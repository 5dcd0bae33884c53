"""Measure how long the steps of a command take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Measures how many seconds each step of a command takes.

    Parameters
    ----------
    *steps : str
        Names of steps that are listed with 0 seconds before they begin.

    Attributes
    ----------
    seconds : dict of str to float
        Seconds of each step so far.
    """

    def __init__(self, *steps: str) -> None:
        self.seconds = dict.fromkeys(steps, 0.0)

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Measure a ``with`` block, and add its seconds to those of ``step``."""
        began = perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + perf_counter() - began
