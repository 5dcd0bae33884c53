import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
QUALITY = ("tables", "fits", "peers", "ours", "methods", "pool", "summary")
MODULES = ("_results", "_summary", "_suite", "_data", "quality", *(f"_quality_{name}" for name in QUALITY))


def _imported(name, monkeypatch):
    """A module of the benchmarks, and none of the tests' of the same name; forgotten after the test."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for module in MODULES:
        monkeypatch.delitem(sys.modules, module, raising=False)
    module = importlib.import_module(name)
    for loaded in MODULES:
        if loaded in sys.modules:
            monkeypatch.setitem(sys.modules, loaded, sys.modules.pop(loaded))
    return module


@pytest.fixture
def suite(monkeypatch):
    return _imported("_suite", monkeypatch)


@pytest.fixture
def summary(monkeypatch):
    return _imported("_summary", monkeypatch)


@pytest.fixture
def results(monkeypatch):
    return _imported("_results", monkeypatch)


@pytest.fixture
def quality(monkeypatch):
    return _imported("quality", monkeypatch)
