"""Progress of long work: steps and bars on a terminal, elsewhere a plain line now and then."""

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

Update = Callable[..., None]  # takes how much is done and, where it has become known, of how much

SECONDS_BETWEEN_LINES = 10.0
NARROW = 90


class Display(Protocol):
    """A place where the work that is going on is shown."""

    def job(self, label: str, total: int | None) -> AbstractContextManager[Update]:
        """Show work while it goes on; total is None where its size is not known."""


_display: ContextVar[Display | None] = ContextVar("display", default=None)


@contextmanager
def shown_on(display: Display | None) -> Iterator[None]:
    """Show all work of a block there, whoever does it; None shows what shows itself."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


@contextmanager
def step(label: str) -> Iterator[None]:
    """Show work of unknown size where there is a display for it."""
    display = _display.get()
    with nullcontext() if display is None else display.job(label, None):
        yield


@contextmanager
def progress_bar(label: str, total: int | None, shown: bool) -> Iterator[Update | None]:
    """Yield a function that takes the work done; None if nothing is shown.

    Parameters
    ----------
    label : str
        What is being done.
    total : int or None
        How much there is to do; None where the function is told.
    shown : bool
        Whether to show it where nobody has opened a display.
    """
    display = _display.get()
    if display is not None:
        with display.job(label, total) as update:
            yield update
    elif shown:
        with own_display() as display, display.job(label, total) as update:
            yield update
    else:
        yield None


def own_display() -> TerminalDisplay | PlainDisplay:
    """A display on standard error, as it suits what that is."""
    from rich.console import Console

    console = Console(stderr=True)
    return TerminalDisplay(console) if console.is_terminal or console.is_jupyter else PlainDisplay(sys.stderr)


# --- terminals ----------------------------------------------------------------------------------------------------------


class TerminalDisplay:
    """One line per running job, with a bar and the time left."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
        from rich.text import Text

        class TimeColumn(ProgressColumn):
            """The time left, or the time so far where that is not known."""

            def render(self, task: Task) -> Text:
                left = task.time_remaining
                return Text(so_far(task.elapsed or 0.0) if left is None else time_left(left), style="cyan")

        class CountColumn(ProgressColumn):
            """The work done and the total."""

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
        """Show work while it goes on."""
        task = self._progress.add_task(label, total=total)

        def update(done: int, of: int | None = None) -> None:
            changed: dict[str, Any] = {} if of is None else {"total": of}
            self._progress.update(task, completed=done, **changed)

        try:
            yield update
        finally:
            self._progress.remove_task(task)


# --- elsewhere ----------------------------------------------------------------------------------------------------------


@dataclass
class _Job:
    label: str
    total: int | None
    done: int = 0
    began: float = field(default_factory=perf_counter)

    def in_words(self) -> str:
        passed = perf_counter() - self.began
        if not self.total or not self.done:
            return f"{self.label}: {so_far(passed)}"
        left = passed / self.done * (self.total - self.done)
        return f"{self.label}: {self.done:,} of {self.total:,}, {time_left(left)}"


class PlainDisplay:
    """Nothing for short work; a line every few seconds for long work, without control characters."""

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
                # The outermost whose size is known tells the time that all of it takes.
                told = next((job for job in jobs if job.total and job.done), jobs[-1])
                with suppress(OSError, ValueError):  # a stream that is closed
                    self._stream.write(told.in_words() + "\n")
                    self._stream.flush()

    @contextmanager
    def job(self, label: str, total: int | None) -> Iterator[Update]:
        """Show work while it goes on."""
        job = _Job(label, total)

        def update(done: int, of: int | None = None) -> None:
            job.done, job.total = done, job.total if of is None else of

        self._jobs.append(job)
        try:
            yield update
        finally:
            self._jobs.remove(job)


# --- words --------------------------------------------------------------------------------------------------------------


def time_left(seconds: float) -> str:
    """``about 40 s left``."""
    return f"about {_rough(seconds)} left"


def so_far(seconds: float) -> str:
    """``20 s so far``."""
    return f"{_rough(seconds)} so far"


def _rough(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
