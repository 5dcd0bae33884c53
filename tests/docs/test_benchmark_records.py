"""A benchmark's record says what the script printed, and the page says plainly where it falls short."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from real_data import imported

ROOT = Path(__file__).parents[2]
# By its path: the folder has modules of the same names as the tests'.
_spec = importlib.util.spec_from_file_location("_results", ROOT / "benchmarks" / "_results.py")
_results = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_results)

PRINTED = """data   ms
boston  3
PASS  fast enough: 3 ms
MISS: 2 of 3 are small
        boston is not
PASS  the end
"""


@pytest.fixture
def records():
    imported("sphinx")
    import benchmark_records

    return benchmark_records


@pytest.fixture
def record(tmp_path, monkeypatch, capsys):
    path = tmp_path / "new" / "quick.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks/quick.py", "--points", "3", "--json", str(path), "--quick"])
    monkeypatch.setattr(_results, "_tables", {})

    def main():
        assert sys.argv[1:] == ["--points", "3", "--quick"]
        print(PRINTED, end="")
        _results.row(
            "Times", table="2×2", data="boston", ms=3.0, **{"times faster than X": 0.5, "times faster than Y": float("inf")}
        )

    _results.recorded(main)
    assert capsys.readouterr().out == PRINTED
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_record_holds_rows_verdicts_machine_and_versions(record):
    assert record["name"] == "quick"
    assert record["command"] == "python benchmarks/quick.py --points 3 --quick"
    assert record["tables"] == {
        "Times": [{"table": "2×2", "data": "boston", "ms": 3.0, "times faster than X": 0.5, "times faster than Y": None}]
    }
    assert record["verdicts"] == [
        {"passed": True, "text": "fast enough: 3 ms"},
        {"passed": False, "text": "2 of 3 are small; boston is not"},
        {"passed": True, "text": "the end"},
    ]
    assert record["machine"]["cores"] >= 1
    assert {"fcca", "numpy"} <= set(record["versions"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])


def test_the_page_says_first_where_a_bar_was_missed_or_another_is_faster(record, records):
    nodes = records.recorded(record)
    text = "\n".join(node.astext() for node in nodes)
    assert text.index("Missed: 2 of 3 are small") < text.index("fast enough")
    assert "fcca is slower than X on boston, 2×2: 2 times as long" in text
    assert "slower than Y" not in text


def test_without_the_option_nothing_is_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks/quick.py", "--quick"])
    monkeypatch.chdir(tmp_path)
    _results.recorded(lambda: print("PASS"))
    assert capsys.readouterr().out == "PASS\n"
    assert list(tmp_path.iterdir()) == []


def test_every_script_can_be_recorded():
    scripts = [path for path in (ROOT / "benchmarks").glob("*.py") if not path.name.startswith("_")]
    assert len(scripts) >= 9
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        assert "_results.recorded(main)" in text, path.name
        assert "_results.row(" in text, path.name
        assert "[--json FILE]" in text, path.name


def test_records_in_the_repository_can_be_shown(records):
    for script in records.scripts():
        found = records.record_of(script)
        if found is not None:
            assert found["name"] == script.stem
            assert records.recorded(found)
