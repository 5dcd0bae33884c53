"""Show the progress of long computations.

A terminal or a notebook shows bars. Files and pipes get lines of text.
"""

from __future__ import annotations

import multiprocessing
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
#: Work that is done sooner shows no bar, unless the user asked for one.
SECONDS_UNSEEN = 2.0
NARROW = 90


class ProgressDisplay(Protocol):
    """An object that shows the progress of running jobs."""

    def job(self, label: str, total: int | None) -> AbstractContextManager[Update | None]:
        """Show the progress of a job while a ``with`` block runs.

        The block receives a function and calls it to report the progress, or None if nothing is shown. ``total`` is the
        amount of work, or None if it is unknown.
        """


_display: ContextVar[ProgressDisplay | None] = ContextVar("display", default=None)
_searches_to_stop: ContextVar[list[int] | None] = ContextVar("searches to stop", default=None)


class _Silence:
    """A display that shows nothing."""

    def job(self, label: str, total: int | None) -> AbstractContextManager[None]:
        return nullcontext()


def open_display() -> ProgressDisplay | None:
    """Return the display on which jobs are shown; None if there is none."""
    return _display.get()


@contextmanager
def shown_on(display: ProgressDisplay) -> Iterator[None]:
    """Show all jobs that run inside a ``with`` block on the given display."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


def stop_search() -> bool:
    """Return True if Ctrl-C ends only the running search, and the results so far are kept.

    It does so if a person sees the progress in a terminal or a notebook, and the fit is not a part of other work. It does so
    only once: a second Ctrl-C ends all work.
    """
    left = _searches_to_stop.get()
    display: Any = _display.get()
    while hasattr(display, "shown_on"):
        display = display.shown_on  # a display that passes the jobs on
    if not left or not isinstance(display, TerminalDisplay):
        return False
    left.pop()
    return True


@contextmanager
def stopping_early() -> Iterator[None]:
    """Let the first Ctrl-C inside a ``with`` block end only the running search, if a person sees the progress."""
    token = _searches_to_stop.set([1])
    try:
        yield
    finally:
        _searches_to_stop.reset(token)


@contextmanager
def progress_shown(verbose: int | None, *, stops_early: bool = False) -> Iterator[None]:
    """Show the progress of all jobs inside a ``with`` block, unless a display is already open.

    Parameters
    ----------
    verbose : int or None
        None shows bars in a terminal or a notebook, if the work takes more than two seconds. 0 shows nothing. 1 always
        shows the progress on standard error.
    stops_early : bool, default=False
        Whether Ctrl-C ends only the search, see :func:`stopping_early`. Not if a display is already open.
    """
    if _display.get() is not None:
        yield
        return
    if verbose == 0 or (verbose is None and not _is_first_thread()):
        display: AbstractContextManager[ProgressDisplay] = nullcontext(_Silence())
    else:
        display = _standard_error_display(verbose)
    with display as opened, shown_on(opened), stopping_early() if stops_early else nullcontext():
        yield


def _is_first_thread() -> bool:
    """Return False in threads and processes that others have started, where several bars would mix."""
    is_first_process = multiprocessing.current_process().name == "MainProcess"
    return is_first_process and threading.current_thread() is threading.main_thread()


def _standard_error_display(verbose: int | None) -> AbstractContextManager[ProgressDisplay]:
    is_terminal = getattr(sys.stderr, "isatty", bool)()  # there may be no standard error, or a replacement
    if verbose is None and not is_terminal and "ipykernel" not in sys.modules:
        return nullcontext(_Silence())  # without the import of rich
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter or (console.is_terminal and not console.is_dumb_terminal):
        return TerminalDisplay(console, SECONDS_UNSEEN if verbose is None else 0.0)
    return nullcontext(_Silence()) if verbose is None else PlainDisplay(sys.stderr)


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Update | None]:
    """Show the progress of a job while a ``with`` block runs, if a display is open.

    The block receives a function and calls it to report the progress. It receives None if nothing is shown.

    Parameters
    ----------
    label : str
        Name of the job.
    total : int or None
        Amount of work. None if it is not known yet; the block can report it later.
    """
    display = _display.get()
    with nullcontext() if display is None else display.job(label, total) as update:
        yield update


@contextmanager
def step(label: str) -> Iterator[None]:
    """Show that a job of unknown length is running, if a display is open."""
    with progress_bar(label, None):
        yield


# --- terminals ----------------------------------------------------------------------------------------------------------


class TerminalDisplay:
    """A display on a terminal, with a bar and the time left for each job.

    Parameters
    ----------
    console : Console
    seconds_unseen : float, default=0.0
        The bars appear after this time.
    """

    def __init__(self, console: Console, seconds_unseen: float = 0.0) -> None:
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
        self._start = threading.Timer(seconds_unseen, self._progress.start) if seconds_unseen else None

    def __enter__(self) -> Self:
        if self._start is None:
            self._progress.start()
        else:
            self._start.daemon = True
            self._start.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._start is not None:
            self._start.cancel()
            self._start.join()
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
