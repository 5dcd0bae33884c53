"""`make coverage` fails below 95 %, of branches alone, too."""

import importlib.util
from pathlib import Path

import pytest

from real_data import absent

SCRIPT = Path(__file__).parents[2] / ".ci" / "coverage_verdict.py"


def report(percent, covered):
    return {
        "totals": {"percent_covered": percent, "covered_branches": covered, "num_branches": 1000},
        "files": {
            "a.py": {"summary": {"missing_branches": 3}},
            "b.py": {"summary": {"missing_branches": 0}},
        },
    }


@pytest.mark.parametrize(("percent", "covered", "code"), [(95.0, 950, 0), (94.99, 990, 1), (99.0, 949, 1)])
def test_both_have_to_reach_it(percent, covered, code):
    if not SCRIPT.exists():
        absent("the sdist comes without .ci")
    spec = importlib.util.spec_from_file_location("coverage_verdict", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found, lines = module.verdict(report(percent, covered))
    assert found == code
    assert lines[0] == "   3 branches missed in a.py"
    assert f"{percent:.2f} % of lines and branches; {covered / 10:.2f} % of branches alone" in lines[-1]
    assert len(lines) == 2
