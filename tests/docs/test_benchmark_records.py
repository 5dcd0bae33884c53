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


def test_the_page_says_what_a_run_left_out_and_that_it_was_ended(record, records):
    partial = record | {"ended": "ended after 3 s", "skipped": ["treecf is not installed"]}
    partial["shortfalls"] = [{"who": "pycontree", "text": "a better tree in 3 of 5 cases"}]
    text = "\n".join(node.astext() for node in records.recorded(partial))
    for expected in ("stopped before its end: ended after 3 s", "treecf is not installed", "pycontree: a better tree"):
        assert expected in text
        assert expected not in "\n".join(node.astext() for node in records.recorded(record))


def test_a_record_of_a_script_that_fails_holds_what_was_found_until_then(tmp_path, monkeypatch):
    path = tmp_path / "failing.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks/failing.py", "--json", str(path)])
    monkeypatch.setattr(_results, "_tables", {})

    def main():
        _results.row("Times", data="boston", ms=3.0)
        assert json.loads(path.read_text(encoding="utf-8"))["ended"] == _results.RUNNING
        _results.skipped("treecf is not installed")
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        _results.recorded(main)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["ended"] == "ValueError: no such thing"
    assert found["tables"] == {"Times": [{"data": "boston", "ms": 3.0}]}
    assert found["skipped"] == ["treecf is not installed"]


def test_a_run_at_full_size_goes_before_the_one_of_the_suite(records, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    script = Path("benchmarks/speed.py")
    assert records.record_of(script) is None
    (tmp_path / "speed.json").write_text('{"size": "suite"}', encoding="utf-8")
    assert records.record_of(script) == {"size": "suite"}
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "speed.json").write_text('{"size": "full"}', encoding="utf-8")
    assert records.record_of(script) == {"size": "full"}


def peer(name, *, cases=3, where_not=(), not_measured=()):
    ratios = {"median": 40.0, "median text": "≥ 40", "range": "2 – ≥ 90"} if cases else {"median text": "–", "range": ""}
    compared = [{"script": "trees", "text": "one tree", "ratios": "≥ 40 × (2 – ≥ 90, 3 cases)"}] if cases else []
    texts = {"where not": list(where_not), "not measured": list(not_measured)}
    return {"peer": name, "version": "1.0", "cases": cases, "compared": compared, **ratios, **texts}


def test_the_first_table_has_one_line_per_peer_with_ratio_cases_and_where_not(records):
    machine = {"cpu": "x", "cores": 2, "system": "Linux", "python": "3", "load before": 0.1, "load after": 0.2}
    many = [f"slower on {i}" for i in range(records.MOST_TEXTS + 2)]
    found = {"size": "bench", "date": "2026-01-01", "seconds": 65.0, "machine": machine, "versions": {"fcca": "0.1"}}
    found["peers"] = [
        peer("gosdt"),
        peer("pystreed", where_not=many),
        peer("treecf", cases=0, not_measured=["treecf is not installed"]),
    ]
    ended = {"name": "trees", "outcome": "timeout", "reason": "ended after 3 s"}
    found["scripts"] = [{"name": "speed", "outcome": "done", "reason": ""}, ended]
    about, table, note, versions, *unfinished = records.summarised(found)
    assert "2026-01-01" in about.astext()
    assert "fcca 0.1" in versions.astext()
    rows = [
        [cell.astext().replace("\u00a0", " ") for cell in row.children]
        for row in table.findall(lambda node: node.tagname == "row")
    ]
    assert rows[1] == ["gosdt\n\n1.0", "one tree", "≥ 40 ×", "2 – ≥ 90 (3)", "nowhere in this run"]
    assert rows[2][4].startswith("slower on 0")
    assert rows[2][4].endswith("and 2 more, in the sections below")
    assert rows[3][1:] == ["–", "–", "–", "not measured: treecf is not installed"]
    assert "stopped at their time limit" in note.astext()
    assert "trees: timeout, ended after 3 s" in "".join(node.astext() for node in unfinished)
    assert "speed" not in "".join(node.astext() for node in unfinished)


def test_without_the_option_nothing_is_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks/quick.py", "--quick"])
    monkeypatch.chdir(tmp_path)
    _results.recorded(lambda: print("PASS"))
    assert capsys.readouterr().out == "PASS\n"
    assert list(tmp_path.iterdir()) == []


def test_every_script_can_be_recorded():
    scripts = [path for path in (ROOT / "benchmarks").glob("*.py") if not path.name.startswith("_")]
    # These compare fcca with itself and keep their figures elsewhere.
    scripts = [path for path in scripts if path.stem not in ("instructions", "workers")]
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


def test_tables_with_a_page_are_not_shown_twice(records, record):
    def tables(name):
        return [node for node in records.recorded(record | {"name": name}) if node.tagname == "table"]

    assert len(tables("quick")) == 1
    assert tables("quality") == []
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {records.OWN_PAGE['quality']}\n")
