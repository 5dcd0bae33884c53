"""The suite runs every script, whatever becomes of the others, and its exit code says whether all came to their end."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROLOGUE = "import sys, time, subprocess, pathlib\nsys.path.insert(0, {folder!r})\nimport _results\n"
ROW = '    _results.row("Times", data="a", who="treecf", **{"times faster": 3.0})\n'
SCRIPTS = {
    "good": ROW + '    print("PASS  fast")\n    print("MISS  small")\n',
    "failing": ROW + '    raise ValueError("no such thing")\n',
    "exiting": '    sys.exit("FCCA_DATA is not a folder")\n',
    "crashing": "    import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "slow": ROW
    + '    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])\n'
    + '    pathlib.Path(__file__).with_suffix(".pid").write_text(str(child.pid))\n    time.sleep(60)\n',
    "empty": "    _results.skipped(\"treecf is not installed (pip install 'fcca[bench]')\")\n",
}


@pytest.fixture
def fake(suite, tmp_path, monkeypatch):
    """Scripts of the given names, in a folder of their own."""
    monkeypatch.setattr(suite, "HERE", tmp_path)
    monkeypatch.setattr(suite, "HEARTBEAT_SECONDS", 1.0)

    def scripts(*names, limit=30.0):
        for name in names:
            body = PROLOGUE.format(folder=str(ROOT / "benchmarks")) + f"def main():\n{SCRIPTS[name]}"
            (tmp_path / f"{name}.py").write_text(body + "_results.recorded(main)\n", encoding="utf-8")
        return [suite.Script(name, suite.Size("", limit), suite.Size("--quick", limit)) for name in names]

    return scripts


def test_a_failure_of_one_script_does_not_lose_the_others(suite, fake, tmp_path):
    said = []
    names = ("failing", "exiting", "crashing", "good")
    found = suite.run_all(fake(*names), False, tmp_path / "out", said.append)
    assert [(one.name, one.outcome) for one in found] == [*((name, "failed") for name in names[:3]), ("good", "done")]
    assert found[0].reason == "ended with 1: ValueError: no such thing"
    assert found[1].reason == "ended with 1: FCCA_DATA is not a folder"
    assert (found[3].met, found[3].missed) == (1, 1)
    assert [one.recorded for one in found] == [True, True, False, True]
    kept = json.loads((tmp_path / "out" / "failing.json").read_text(encoding="utf-8"))
    assert kept["ended"] == "ValueError: no such thing"
    assert kept["tables"]["Times"][0]["times faster"] == 3.0
    assert any("good: done" in text for text in said)
    assert "  PASS  fast" in said


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_a_script_past_its_limit_is_ended_with_its_children_and_what_it_found_is_kept(suite, fake, tmp_path):
    said = []
    begin = time.monotonic()
    scripts = [*fake("slow", limit=4.0), *fake("good")]
    slow, good = suite.run_all(scripts, False, tmp_path / "out", said.append)
    assert time.monotonic() - begin < 40
    assert slow.outcome == "timeout"
    assert slow.reason == "ended after 4 s, its limit in the suite; 1 lines of its tables are kept"
    assert good.outcome == "done"
    kept = json.loads((tmp_path / "out" / "slow.json").read_text(encoding="utf-8"))
    assert kept["ended"] == "ended after 4 s, its limit in the suite"
    assert len(kept["tables"]["Times"]) == 1
    assert any(text.strip().startswith("… slow: 0:0") for text in said)
    assert is_gone(int((tmp_path / "slow.pid").read_text()))


def is_gone(pid):
    """Whether a process has ended; one that nobody has asked about yet has ended too."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


def test_what_is_not_there_is_skipped_with_a_line(suite, fake, tmp_path):
    said = []
    absent = suite.Script("later", suite.Size("", 5.0), suite.Size("", 5.0))
    needs = suite.Script("empty", suite.Size("", 5.0), suite.Size("", 5.0), program="no-such-program")
    (empty,) = fake("empty")
    found = suite.run_all([absent, needs, empty], False, tmp_path / "out", said.append)
    assert [one.outcome for one in found] == ["skipped"] * 3
    assert [one.reason for one in found] == [
        "benchmarks/later.py is not there",
        "no-such-program is not installed",
        "treecf is not installed (pip install 'fcca[bench]')",
    ]
    assert "  skipped: benchmarks/later.py is not there" in said


def test_the_summary_takes_no_record_of_an_earlier_run_for_a_script_that_failed(suite, fake, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    old = {"name": "crashing", "tables": {"Times": [{"data": "old", "who": "treecf", "times faster": 99.0}]}, "verdicts": []}
    (out / "crashing.json").write_text(json.dumps(old | {"versions": {}}), encoding="utf-8")
    outcomes = suite.run_all(fake("crashing", "good"), False, out, lambda _: None)
    found = suite.summarised(outcomes, False, out, 0.0)
    assert next(one for one in found["peers"] if one["peer"] == "treecf")["median"] == 3.0
    assert json.loads((out / "summary.json").read_text(encoding="utf-8")) == found
    assert {"date", "machine", "versions", "seconds", "size"} <= set(found)


def test_running_some_scripts_again_keeps_what_is_known_of_the_others(suite, fake, tmp_path):
    out = tmp_path / "out"
    suite.summarised(suite.run_all(fake("good", "failing"), False, out, lambda _: None), False, out, 0.0)
    found = suite.summarised(suite.run_all(fake("good"), False, out, lambda _: None), False, out, 0.0)
    assert {one["name"]: one["outcome"] for one in found["scripts"]} == {"good": "done", "failing": "failed"}


def test_the_command_says_by_its_exit_code_whether_all_came_to_their_end(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    for name in ("__main__", "_suite", "_summary", "_results"):
        text = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
        (tmp_path / "benchmarks" / f"{name}.py").write_text(text, encoding="utf-8")
    for name, body in (("speed", SCRIPTS["good"]), ("rules", SCRIPTS["failing"])):
        script = PROLOGUE.format(folder=str(tmp_path / "benchmarks")) + f"def main():\n{body}"
        script = script.replace("_results.row", "assert len(sys.argv) > 1; _results.row") + "_results.recorded(main)\n"
        (tmp_path / "benchmarks" / f"{name}.py").write_text(script, encoding="utf-8")

    def run(*names):
        command = [sys.executable, "-m", "benchmarks", "--quick", "--only", *names]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)

    good, both = run("speed"), run("speed", "rules")
    assert (good.returncode, both.returncode) == (0, 1)
    assert "rules: failed" in both.stdout
    assert "speed: done" in both.stdout
    assert "How many times faster fcca is, and where not" in both.stdout
    assert (tmp_path / "benchmarks" / "results" / "quick" / "summary.json").is_file()
    # A missed bar is a measurement: it does not change the code.
    assert "1 missed" in good.stdout


def test_the_whole_run_keeps_its_limit_and_names_what_it_did_not_come_to(suite, fake, tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "TOTAL_LIMIT", 3.0)
    slow, good = suite.run_all(fake("slow", "good"), False, tmp_path / "out", lambda _: None)
    assert (slow.outcome, good.outcome) == ("timeout", "timeout")
    assert slow.reason.startswith("ended after 3 s")
    assert good.reason == "the time for the whole run was up before its turn"
    found = suite.summarised([slow, good], False, tmp_path / "out", 0.0)
    assert [one["outcome"] for one in found["scripts"]] == ["timeout", "timeout"]


def test_every_comparison_is_in_the_suite_and_the_run_keeps_the_promised_half_hour(suite):
    assert suite.TOTAL_LIMIT < 30 * 60
    named = {script.name for script in suite.SCRIPTS}
    there = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if not path.name.startswith("_")}
    makes_data = {"synthetic"}
    assert there - makes_data <= named, "a new script joins by one line of SCRIPTS in benchmarks/_suite.py"
    # What is expected to be there in the end; files of others may come later.
    assert {"speed", "ensembles", "trees", "authors", "paper_milp", "paper_figures", "selection", "overhead"} <= there
