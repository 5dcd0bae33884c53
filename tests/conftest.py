"""What holds for all tests."""

import signal

import pytest

from command_line import table


@pytest.fixture(autouse=True, scope="session")
def _interruptible():
    """A shell may start the tests with Ctrl-C ignored; the programs that they start and interrupt would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "people.csv"
    table().to_csv(path, index=False)
    return path
