"""Show the progress of long computations.

A terminal shows bars. Files and pipes get lines of text.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from rich.console import Console

Update = Callable[..., None]  # takes the work done and, optionally, the new total

SECONDS_BETWEEN_LINES = 10.0
NARROW = 90


class ProgressDisplay(Protocol):
    """An object that shows the progress of running jobs."""

    def job(self, label: str, total: int | None) -> AbstractContextManager[Update]:
        """Show the progress of a job while a ``with`` block runs.

        The block receives a function and calls it to report the progress. ``total`` is the amount of work, or None if it is
        unknown.
        """


_display: ContextVar[ProgressDisplay | None] = ContextVar("display", default=None)


@contextmanager
def shown_on(display: ProgressDisplay | None) -> Iterator[None]:
    """Show all jobs that run inside a ``with`` block on the given display.

    If ``display`` is None, a job opens a display only if its argument ``shown`` is True, see :func:`progress_bar`.
    """
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


@contextmanager
def step(label: str) -> Iterator[None]:
    """Show that a job of unknown length is running, if a display is open."""
    display = _display.get()
    with nullcontext() if display is None else display.job(label, None):
        yield


@contextmanager
def progress_bar(label: str, total: int | None, shown: bool) -> Iterator[Update | None]:
    """Show the progress of a job while a ``with`` block runs.

    The block receives a function and calls it to report the progress. It receives None if nothing is shown.

    Parameters
    ----------
    label : str
        Name of the job.
    total : int or None
        Amount of work. None if it is not known yet; the block can report it later.
    shown : bool
        If True, open a display on standard error if no display is open.
    """
    display = _display.get()
    if display is not None:
        with display.job(label, total) as update:
            yield update
    elif shown:
        with standard_error_display() as display, display.job(label, total) as update:
            yield update
    else:
        yield None


def standard_error_display() -> TerminalDisplay | PlainDisplay:
    """Create a display on standard error.

    A terminal or a notebook shows bars. Files and pipes get lines of text.
    """
    from rich.console import Console

    console = Console(stderr=True)
    return TerminalDisplay(console) if console.is_terminal or console.is_jupyter else PlainDisplay(sys.stderr)


# --- terminals ----------------------------------------------------------------------------------------------------------


class TerminalDisplay:
    """A display on a terminal, with a bar and the time left for each job."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
        from rich.text import Text

        class TimeColumn(ProgressColumn):
            """Column with the time left if it is known, otherwise with the elapsed time."""

            def render(self, task: Task) -> Text:
                left = task.time_remaining
                return Text(so_far(task.elapsed or 0.0) if left is None else time_left(left), style="cyan")

        class CountColumn(ProgressColumn):
            """Column with the amount of work done and the total amount."""

            def render(self, task: Task) -> Text:
                return Text("" if task.total is None else f"{int(task.completed):,} of {int(task.total):,}")

        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=10 if console.width < NARROW else 30),
            CountColumn(),
            TimeColumn(),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    @contextmanager
    def job(self, label: str, total: int | None) -> Iterator[Update]:
        """Show the progress of a job while a ``with`` block runs; see :meth:`ProgressDisplay.job`."""
        task = self._progress.add_task(label, total=total)

        def update(done: int, of: int | None = None) -> None:
            changed: dict[str, Any] = {} if of is None else {"total": of}
            self._progress.update(task, completed=done, **changed)

        try:
            yield update
        finally:
            self._progress.remove_task(task)


# --- files and pipes ----------------------------------------------------------------------------------------------------


@dataclass
class _Job:
    label: str
    total: int | None
    done: int = 0
    began: float = field(default_factory=perf_counter)

    def line(self) -> str:
        passed = perf_counter() - self.began
        if not self.total or not self.done:
            return f"{self.label}: {so_far(passed)}"
        left = passed / self.done * (self.total - self.done)
        return f"{self.label}: {self.done:,} of {self.total:,}, {time_left(left)}"


class PlainDisplay:
    """A display for files and logs, which get a line of text every few seconds.

    Short jobs show nothing.

    Parameters
    ----------
    stream : text stream
    seconds : float, optional
        Time between two lines. Default: ``SECONDS_BETWEEN_LINES``.
    """

    def __init__(self, stream: IO[str], seconds: float | None = None) -> None:
        self._stream, self._seconds = stream, SECONDS_BETWEEN_LINES if seconds is None else seconds
        self._jobs: list[_Job] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write_lines, name="fcca progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _write_lines(self) -> None:
        while not self._over.wait(self._seconds):
            jobs = list(self._jobs)
            if jobs:
                # The outermost job of known size estimates the time of all inner ones.
                shown = next((job for job in jobs if job.total and job.done), jobs[-1])
                with suppress(OSError, ValueError):  # the stream is closed
                    self._stream.write(shown.line() + "\n")
                    self._stream.flush()

    @contextmanager
    def job(self, label: str, total: int | None) -> Iterator[Update]:
        """Show the progress of a job while a ``with`` block runs; see :meth:`ProgressDisplay.job`."""
        job = _Job(label, total)

        def update(done: int, of: int | None = None) -> None:
            job.done, job.total = done, job.total if of is None else of

        self._jobs.append(job)
        try:
            yield update
        finally:
            self._jobs.remove(job)


# --- times --------------------------------------------------------------------------------------------------------------


def time_left(seconds: float) -> str:
    """Format the time left, such as ``about 40 s left``."""
    return f"about {_rough(seconds)} left"


def so_far(seconds: float) -> str:
    """Format the elapsed time, such as ``20 s so far``."""
    return f"{_rough(seconds)} so far"


def _rough(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
