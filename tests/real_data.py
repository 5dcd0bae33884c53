"""Data sets and libraries that tests use where they are at hand."""

import os
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = os.environ.get("FCCA_DATA")


def absent(what):
    """Skip; or fail, where the environment promises that everything is there."""
    if os.environ.get("FCCA_REQUIRE_ALL"):
        pytest.fail(f"{what} (FCCA_REQUIRE_ALL is set, so nothing may skip)")
    pytest.skip(what)


def data_file(name):
    """Path of a data set's CSV."""
    if not FOLDER:
        absent(f"needs {name}.csv: set FCCA_DATA to the folder that has it")
    path = Path(FOLDER) / f"{name}.csv"
    if not path.exists():
        absent(f"{path.name} is not in FCCA_DATA={FOLDER}")
    return path


def imported(name):
    """An optional library."""
    try:
        return import_module(name)
    except ImportError:
        absent(f"{name} is not installed")
