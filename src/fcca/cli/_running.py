"""Functions for all commands: print results and errors, show progress, set exit codes."""

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
    """Prints results to standard output, and everything else to standard error.

    Attributes
    ----------
    quiet : bool
        If True, print only errors and, with ``as_json``, the JSON document.
    as_json : bool
        If True, print the result as JSON.
    """

    quiet: bool = False
    as_json: bool = False
    console: Console = field(default_factory=lambda: _console(stderr=False))
    errors: Console = field(default_factory=lambda: _console(stderr=True))

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show the progress of the computations in a ``with`` block.

        A terminal shows progress bars. Files and pipes get lines of text. With ``quiet``, nothing is shown.
        """
        if self.quiet:
            yield
            return
        terminal = self.errors.is_terminal and not self.errors.is_dumb_terminal
        with TerminalDisplay(self.errors) if terminal else PlainDisplay(self.errors.file) as display, shown_on(display):
            yield

    def result(self, shown: Callable[[], RenderableType], document: Callable[[], Any], notes: tuple[str, ...] = ()) -> None:
        """Print a result, either as tables after its notes, or as JSON.

        Parameters
        ----------
        shown : callable
            Returns the tables.
        document : callable
            Returns the document for JSON.
        notes : tuple of str
        """
        if self.as_json:
            self.console.print(json_text(document(), self.console.encoding), soft_wrap=True)
        elif not self.quiet:
            for note in notes:
                self.note(note)
            self.console.print(shown())

    def note(self, message: str) -> None:
        """Print a note to standard error, unless ``quiet``."""
        if not self.quiet:
            self._message("Note", message, "yellow")

    def error(self, message: str) -> None:
        """Print an error message to standard error, even if ``quiet``."""
        self._message("Error", message, "bold red")

    def cannot_write(self, place: Path, failure: OSError) -> int:
        """Print that files cannot be written to the path ``place``, and return the exit code."""
        reason = failure.strerror or str(failure)
        self.error(f"Cannot write to {place}: {reason}. No file was left half-written.")
        return EXIT_CANNOT_WRITE

    def _message(self, kind: str, message: str, style: str) -> None:
        text = Text(f"{kind}: ", style=style).append(printable(message), style="not bold default")
        self.errors.print(text, soft_wrap=not self.errors.is_terminal)


def json_text(document: Any, encoding: str = "utf-8") -> str:
    """Return a document as JSON text that is safe for terminals.

    Control characters are escaped. Characters outside of ASCII are escaped unless ``encoding`` is a UTF encoding, such as
    UTF-8.
    """
    text = json.dumps(document, ensure_ascii="utf" not in encoding.lower(), allow_nan=False, indent=2)
    return escaped_json(text)


@contextmanager
def _lost_interrupts() -> Iterator[list[threading.Timer]]:
    """Send Ctrl-C again if it got lost in a callback of a C library.

    Yield a list of timers, one for each Ctrl-C that got lost. A timer sends Ctrl-C again a moment later.
    """
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
    """Call ``work`` and exit with the code that it returns.

    Errors are printed as messages, without a traceback, and get an exit code.
    """
    lost: list[threading.Timer] = []
    try:
        with _lost_interrupts() as lost:
            code = work()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED  # main prints the message
    except (FCCAError, ValueError) as error:  # ValueError: raised by scikit-learn for invalid data and parameters
        if lost:  # the library failed because its callback was interrupted
            raise typer.Exit(EXIT_INTERRUPTED) from error
        output.error(str(error))
        code = EXIT_INVALID
    except BrokenPipeError:  # the reader of the output has ended; typer exits quietly
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
    """Return a path as text, with a link to the file.

    Only some terminals show the link.
    """
    text = Text(printable(path), overflow="fold")
    text.stylize(f"link {path.resolve().as_uri()}")
    return text


def open_in_browser(path: Path, output: Output) -> None:
    """Open a file in the browser; if there is no browser, print a note."""
    import webbrowser

    try:
        opened = webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        opened = False
    if not opened:
        output.note(f"There is no browser on this machine. Copy {path} elsewhere to open it.")


def leave_streams_whole() -> None:
    """Make sure that standard output and standard error accept any text.

    Characters that a terminal cannot show are replaced with question marks. If the caller has closed standard output, all
    text for it is discarded.
    """
    import io
    import os

    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≤ shows a question mark
