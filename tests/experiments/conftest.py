"""The study's package stands at the root of the repository, outside the installed one."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture
def openml(monkeypatch):
    """A stand-in for scikit-learn's ``fetch_openml``, and no folder of data."""
    from dataset_tables import StandIn

    stand_in = StandIn()
    monkeypatch.setattr("experiments.datasets.openml.fetch_openml", stand_in)
    monkeypatch.delenv("FCCA_DATA", raising=False)
    return stand_in


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder of data."""
    path = tmp_path / "data"
    path.mkdir()
    monkeypatch.setenv("FCCA_DATA", str(path))
    return path
