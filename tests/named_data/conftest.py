"""A place in which no test reads the user's folders or gets as far as the real OpenML."""

import pytest

from fcca.datasets import _openml as client
from named_data.openml_server import openml_server


@pytest.fixture(autouse=True)
def sandbox(monkeypatch, tmp_path):
    """No test reads the user's folders, waits for a retry, or gets as far as the real OpenML."""
    monkeypatch.delenv("FCCA_DATA", raising=False)
    monkeypatch.setenv("FCCA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FCCA_OPENML", "http://127.0.0.1:9/api/v1/json")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(client, "PAUSE", 0.001)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    monkeypatch.setenv("FCCA_DATA", str(path))
    return path


@pytest.fixture
def server(monkeypatch):
    with openml_server() as running:
        monkeypatch.setenv("FCCA_OPENML", running.address)
        yield running
