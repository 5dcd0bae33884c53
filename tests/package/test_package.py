"""What ``import fcca`` gives."""

import subprocess
import sys

import pytest

import fcca


def in_a_new_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_every_public_name_is_there():
    for name in fcca.__all__:
        assert getattr(fcca, name).__name__ == name
        assert name in dir(fcca)


def test_help_works_without_dask(monkeypatch):
    monkeypatch.setattr("fcca.utils._lazy.find_spec", lambda name: None)
    assert "dask" not in dir(fcca)
    assert {"plots", "FCCAClassifier"} <= set(dir(fcca))


def test_the_rooms_need_no_import_of_their_own():
    assert in_a_new_process("import fcca; print(fcca.report.write.__name__, 'plots' in dir(fcca))") == "write True"


def test_importing_fcca_loads_nothing_heavy():
    code = "import fcca, sys; print([name for name in ('sklearn', 'pandas', 'matplotlib', 'jinja2') if name in sys.modules])"
    assert in_a_new_process(code) == "[]"
    assert in_a_new_process("import fcca.plots, fcca.report, sys; print('matplotlib' in sys.modules)") == "False"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'repotr'"):
        _ = fcca.repotr
