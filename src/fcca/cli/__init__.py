"""The command line: distill, explain, report, export and benchmark."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_INTERRUPTED = 130


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Let Ctrl-C wait for the end of a block of imports: in their midst it may get lost, or look like a broken library."""
    pending = False

    def remember(signal_number: int, frame: FrameType | None) -> None:
        nonlocal pending
        pending = True

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pending:
        raise KeyboardInterrupt


def main() -> None:
    """Run the command line."""
    try:
        with interrupts_deferred():  # imported here and not above, so that Ctrl-C ends as quietly as later on
            from fcca.cli._app import run
        run()
    except (KeyboardInterrupt, SystemExit) as leaving:
        if isinstance(leaving, SystemExit) and leaving.code != EXIT_INTERRUPTED:
            raise
        os.write(2, b"Interrupted.\n")
        sys.exit(EXIT_INTERRUPTED)
