"""Consoles, messages, progress and exit codes of all commands."""

from __future__ import annotations

import _thread
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from fcca.cli import EXIT_FAILED, EXIT_INTERRUPTED, SECONDS_OF_A_CALLBACK, is_out_of_memory, out_of_memory
from fcca.cli._console_text import printable
from fcca.exceptions import FCCAError
from fcca.utils import PlainDisplay, TerminalDisplay, escaped_json, shown_on

EXIT_CANNOT_WRITE = EXIT_FAILED
EXIT_INVALID = 2
EXIT_UNVERIFIED = 3


def _console(*, stderr: bool) -> Console:
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


@dataclass(frozen=True)
class Output:
    """Results go to standard output; notes, errors and progress to standard error.

    Attributes
    ----------
    quiet : bool
        Whether nothing but errors, and JSON that was asked for, is printed.
    as_json : bool
        Whether the result is printed as JSON.
    """

    quiet: bool = False
    as_json: bool = False
    console: Console = field(default_factory=lambda: _console(stderr=False))
    errors: Console = field(default_factory=lambda: _console(stderr=True))

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show the work of a block: bars on a terminal, a line now and then elsewhere, nothing where quiet."""
        if self.quiet:
            yield
            return
        terminal = self.errors.is_terminal and not self.errors.is_dumb_terminal
        with TerminalDisplay(self.errors) if terminal else PlainDisplay(self.errors.file) as display, shown_on(display):
            yield

    def result(self, shown: Callable[[], RenderableType], document: Callable[[], Any], notes: tuple[str, ...] = ()) -> None:
        """Print what was found, as tables or as JSON; notes are part of the JSON."""
        if self.as_json:
            self.console.print(json_text(document(), self.console.encoding), soft_wrap=True)
        elif not self.quiet:
            for note in notes:
                self.note(note)
            self.console.print(shown())

    def note(self, message: str) -> None:
        """Say something that is worth knowing."""
        if not self.quiet:
            self._message("Note", message, "yellow")

    def error(self, message: str) -> None:
        """Say what went wrong."""
        self._message("Error", message, "bold red")

    def cannot_write(self, place: Path, failure: OSError) -> int:
        """Say that files could not be written; returns the exit code."""
        reason = failure.strerror or str(failure)
        self.error(f"Cannot write to {place}: {reason}. Nothing was left half-written there.")
        return EXIT_CANNOT_WRITE

    def _message(self, kind: str, message: str, style: str) -> None:
        text = Text(f"{kind}: ", style=style).append(printable(message), style="not bold default")
        self.errors.print(text, soft_wrap=not self.errors.is_terminal)


def json_text(document: Any, encoding: str = "utf-8") -> str:
    """A JSON document that can be printed anywhere: what a terminal could act on is written as escapes."""
    text = json.dumps(document, ensure_ascii="utf" not in encoding.lower(), allow_nan=False, indent=2)
    return escaped_json(text)


@contextmanager
def _lost_interrupts() -> Iterator[list[threading.Timer]]:
    """Send interrupts again that Python could not raise, such as those in a callback of a C library."""
    usual, again = sys.unraisablehook, []

    def send_again(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            usual(unraisable)
            return
        again.append(threading.Timer(SECONDS_OF_A_CALLBACK, _thread.interrupt_main))
        again[-1].start()

    sys.unraisablehook = send_again
    try:
        yield again
    finally:
        sys.unraisablehook = usual
        for timer in again:
            timer.cancel()


def run_command(work: Callable[[], int], output: Output) -> None:
    """Do the work of a command and exit with its code, or with that of an error."""
    lost: list[threading.Timer] = []
    try:
        with _lost_interrupts() as lost:
            code = work()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED  # main says so
    except (FCCAError, ValueError) as error:  # ValueError: scikit-learn's on data and parameters
        if lost:  # the error of a library whose callback was interrupted
            raise typer.Exit(EXIT_INTERRUPTED) from error
        output.error(str(error))
        code = EXIT_INVALID
    except BrokenPipeError:  # whoever read the output has gone: typer ends quietly
        raise
    except (OSError, MemoryError, ImportError, RuntimeError) as error:
        if is_out_of_memory(error):
            output.error(out_of_memory())
        elif isinstance(error, OSError):
            output.error(str(error))
        else:
            raise
        code = EXIT_CANNOT_WRITE
    raise typer.Exit(code)


def file_link(path: Path) -> Text:
    """A path that terminals which know how to can open by a click."""
    text = Text(printable(path), overflow="fold")
    text.stylize(f"link {path.resolve().as_uri()}")
    return text


def open_in_browser(path: Path, output: Output) -> None:
    """Open a page, or say that there is nothing to open it with."""
    import webbrowser

    try:
        opened = webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        opened = False
    if not opened:
        output.note(f"There is no browser here to open {path} with. Open the file in one yourself.")


def leave_streams_whole() -> None:
    """Make standard output and error take any text, and be there at all."""
    import io
    import os

    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≤ shows a question mark
