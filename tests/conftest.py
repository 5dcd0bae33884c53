"""What holds for all tests."""

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def _interruptible():
    """A shell may start the tests with Ctrl-C ignored; the programs that they start and interrupt would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
