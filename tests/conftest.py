"""What holds for all tests."""

import os
import signal

import pytest

# Tables and models are so small here that threads only wait for each other: longer than the work takes, and far longer
# where several processes share the tests. Libraries read this once, when they are loaded; so do programs that tests start.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


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
    from command_line import table  # with the libraries that read the above when they are loaded

    path = tmp_path / "people.csv"
    table().to_csv(path, index=False)
    return path
