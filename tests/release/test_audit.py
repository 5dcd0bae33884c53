"""`make audit` says what it knows, and says so where it knows nothing."""

import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "audit.py"


@pytest.fixture(scope="module")
def audit():
    if not SCRIPT.exists():
        pytest.skip("the sdist comes without .ci")
    spec = importlib.util.spec_from_file_location("audit", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ASKED = {"jinja2": "3.1.0", "numpy": "1.26.0"}
CLEAN = {"name": "numpy", "version": "1.26.0", "vulns": []}
VULNERABLE = {"name": "Jinja2", "version": "3.1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.6"]}]}
SKIPPED = {"name": "jinja2", "skip_reason": "Dependency not found on PyPI and could not be audited"}


def test_only_packages_that_were_all_looked_up_pass(audit):
    fine = {"dependencies": [CLEAN, VULNERABLE | {"vulns": []}]}
    assert audit.verdict(ASKED, fine) == (0, ["2 packages, none with a known vulnerability."])


def test_a_vulnerability_is_told_with_the_version_that_mends_it(audit):
    assert audit.verdict(ASKED, {"dependencies": [CLEAN, VULNERABLE]}) == (1, ["jinja2 3.1.0: PYSEC-1, mended in 3.1.6"])
    unmended = VULNERABLE | {"vulns": [{"id": "PYSEC-1", "fix_versions": []}]}
    assert audit.verdict(ASKED, {"dependencies": [CLEAN, unmended]})[1] == [
        "jinja2 3.1.0: PYSEC-1, mended in no version yet"
    ]


@pytest.mark.parametrize("answer", [[CLEAN, SKIPPED], [CLEAN]], ids=["skipped", "left out"])
def test_a_package_that_could_not_be_looked_up_is_no_pass(audit, answer):
    code, lines = audit.verdict(ASKED, {"dependencies": answer})
    assert code == 2
    assert "could not be asked about 1 of 2 packages (jinja2)" in lines[0]
    assert audit.verdict({"scipy": "1.0", **ASKED}, {"dependencies": [SKIPPED, CLEAN | VULNERABLE]})[0] == 1


def test_an_advisory_service_out_of_reach_is_told(audit, monkeypatch, tmp_path):
    broken = tmp_path / "pip_audit.py"
    broken.write_text("raise SystemExit('cannot connect')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code, lines = audit.audit(ASKED)
    assert code == 2
    assert lines == ["pip-audit could not ask the advisory service, so nothing is known: cannot connect"]


def test_everything_that_users_install_is_looked_up(audit):
    needs, absent = audit.installed_needs("fcca", ["plots"])
    assert needs["numpy"] == version("numpy")
    assert {"joblib", "matplotlib", "cycler"} <= needs.keys() | set(absent)  # those of scikit-learn and of the extra
    assert "pytest" not in needs
    assert "colorama" not in needs or sys.platform == "win32"
    assert audit.installed_needs("not-there-at-all", []) == ({}, ["not-there-at-all"])
