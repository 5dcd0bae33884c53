"""Settings of all tests, and their two parts: ``--part quick`` is what ``make test`` runs, ``--part rest`` all others."""

import os
import signal
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

# Tables and models are so small here that threads only wait for each other: longer than the work takes, and far longer
# where several processes share the tests. Libraries read this once, when they are loaded; so do programs that tests start.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


#: How many parameter sets of each test the quick part runs.
MOST_PARAMETER_SETS = 2
#: Folders about what stands beside the package.
BESIDE_THE_PACKAGE = {"benchmarks", "docs", "experiments", "release"}


def pytest_addoption(parser):
    parser.addoption("--part", choices=("quick", "rest"), help="run a part of the tests; all of them without it")


def pytest_collection_modifyitems(config, items):
    part = config.getoption("--part")
    if part is None:
        return
    quick = _quick(items)
    chosen = [item for item in items if (item.nodeid in quick) == (part == "quick")]
    config.hook.pytest_deselected(items=[item for item in items if (item.nodeid in quick) != (part == "quick")])
    items[:] = chosen


def _quick(items):
    """Every test of the package that is not slow, with its first and its last parameter sets."""
    by_test = defaultdict(list)
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder not in BESIDE_THE_PACKAGE and item.get_closest_marker("slow") is None:
            by_test[item.nodeid.partition("[")[0]].append(item.nodeid)
    return {
        same[round(at * (len(same) - 1) / max(1, n - 1))]
        for same in by_test.values()
        for n in [min(len(same), MOST_PARAMETER_SETS)]
        for at in range(n)
    }


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


@pytest.fixture(autouse=True, scope="session")
def _in_child():
    """Model files are not tried in a child process, which takes seconds each; those who ask for trial_load have it."""
    from fcca.models.files import _trial_load

    real, _trial_load._run = _trial_load._run, lambda *arguments: subprocess.CompletedProcess(arguments, 0)
    yield real
    _trial_load._run = real


@pytest.fixture
def trial_load(_in_child, monkeypatch):
    """Model files are tried in a child process, as they are for users."""
    from fcca.models.files import _trial_load

    monkeypatch.setattr(_trial_load, "_run", _in_child)
