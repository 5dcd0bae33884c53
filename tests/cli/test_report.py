"""The report from the command line: ``fcca distill`` and ``fcca report``."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import webbrowser

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.ensemble import GradientBoostingClassifier

import fcca.report
from command_line import FILES, REPORT, check_refused, distill, files_in, loans, run, table
from fcca.cli._running import file_link
from real_data import imported


@pytest.fixture(scope="module")
def lender_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "lender.skops"
    frame = table(200)
    X = frame.drop(columns="label").astype(float)
    model = GradientBoostingClassifier(n_estimators=20, max_depth=1, random_state=0).fit(X, frame["label"])
    imported("skops.io").dump(model, path)
    return path


@pytest.fixture
def calls(monkeypatch):
    """What the page is made from; the page itself is left out."""
    found = []

    def page(classifier, **given):
        found.append((classifier, given))
        for done in range(3):
            if given["progress"] is not None:
                given["progress"](done + 1, 3)
        return "<!doctype html>"

    monkeypatch.setattr(fcca.report, "page", page)
    return found


@pytest.fixture
def opened(monkeypatch):
    found = []
    monkeypatch.setattr(webbrowser, "open", lambda address: found.append(address) or True)
    return found


def report(*args: object, **kwargs: int):
    result = run("report", *args, **kwargs)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


# --- fcca distill -------------------------------------------------------------------------------------------------------


def test_distill_writes_a_real_report_and_says_where(csv, out):
    result = distill(csv, "--out", out, report=True)
    assert result.exit_code == 0, result.stderr
    assert files_in(out) == sorted([REPORT, *FILES])
    assert result.stdout.splitlines()[-1] == f"Report: {out / REPORT}"
    page = (out / REPORT).read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "people.csv" in page
    assert len(page) < 1_000_000


def test_the_page_gets_the_rows_the_facts_and_the_notes(tmp_path, out, calls):
    frame = table().assign(year=2024)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert distill(tmp_path / "t.csv", "--out", out, "--title", "Loans", "--time-limit", 5, report=True).exit_code == 0
    [(classifier, given)] = calls
    rows, X = given["row_numbers"], classifier.training_data().X
    pd.testing.assert_frame_equal(
        X.reset_index(drop=True).astype(float),
        frame.drop(columns=["label", "year"]).iloc[rows].reset_index(drop=True).astype(float),
        check_dtype=False,
    )
    assert len(rows) == 64
    assert len(given["X_test"]) == len(given["y_test"]) == 16
    assert set(given["X_test"].index).isdisjoint(rows)
    assert given["title"] == "Loans"
    assert given["time_limit"] == 5
    assert dict(given["facts"])["Rows"] == "64 for training, 16 held out"
    assert any("year" in note for note in given["notes"])


def test_without_held_out_rows_the_page_gets_none(csv, out, calls):
    assert distill(csv, "--out", out, "--test-size", 0, report=True).exit_code == 0
    assert calls[0][1]["X_test"] is None
    assert calls[0][1]["y_test"] is None


def test_no_report_leaves_an_old_one_and_says_so(csv, out, calls):
    assert distill(csv, "--out", out).exit_code == 0
    assert files_in(out) == FILES
    assert distill(csv, "--out", out, report=True).exit_code == 0
    result = distill(csv, "--out", out)
    assert result.stderr.startswith("Note: ")
    assert "earlier run" in result.stderr
    assert "Report:" not in result.stdout
    assert len(calls) == 1


def test_open_shows_the_report_once_it_is_there(csv, out, calls, opened, monkeypatch):
    assert distill(csv, "--out", out, "--open", report=True).exit_code == 0
    assert opened == [(out / REPORT).resolve().as_uri()]
    check_refused(distill(csv, "--out", out, "--open"), "--open", "--no-report")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert distill(csv, "--out", out, "--open", report=True).exit_code == 1
    assert len(opened) == 1


@pytest.mark.parametrize("failure", ["false", "error"])
def test_without_a_browser_there_is_a_note(csv, out, calls, monkeypatch, failure):
    def no_browser(address: str) -> bool:
        if failure == "error":
            raise webbrowser.Error("could not locate runnable browser")
        return False

    monkeypatch.setattr(webbrowser, "open", no_browser)
    result = distill(csv, "--out", out, "--open", report=True)
    assert result.exit_code == 0
    assert "Note: There is no browser on this machine" in result.stderr


def test_a_report_that_cannot_be_made_leaves_nothing(csv, out, monkeypatch):
    def fails(*args: object, **kwargs: object) -> str:
        raise fcca.exceptions.InvalidInputError("No page today. Come back tomorrow.")

    monkeypatch.setattr(fcca.report, "page", fails)
    result = distill(csv, "--out", out, report=True)
    check_refused(result, "No page today")
    assert not out.exists()


def test_the_path_of_the_report_is_a_link_in_terminals_that_know_links(tmp_path):
    path = tmp_path / "a b;c" / REPORT
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, legacy_windows=False, width=20)
    console.print(file_link(path))
    addresses = re.findall(r"\x1b\]8;[^;]*;([^\x1b]*)\x1b", stream.getvalue())
    assert set(addresses) == {path.resolve().as_uri(), ""}
    plain = io.StringIO()
    Console(file=plain, width=500).print(file_link(path))
    assert plain.getvalue() == f"{path}\n"


# --- --json -------------------------------------------------------------------------------------------------------------


def test_json_says_all_that_the_tables_say(csv, out, calls):
    result = distill(csv, "--out", out, "--json", "--q", 0.5, report=True)
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["data"] == {"name": "people.csv", "label": "label", "columns": 3}
    assert found["rows"] == {"total": 80, "training": 64, "held_out": 16}
    assert sum(line["rows"] for line in found["classes"]) == 80
    assert found["model"] == {"description": "GradientBoostingClassifier, 100 trees of depth up to 2", "file": None}
    assert sum(found["counterfactuals"]["statuses"].values()) == found["counterfactuals"]["asked"]
    written = pd.read_csv(out / "thresholds.csv")
    assert [line["count"] for line in found["thresholds"]["kept"]] == written["count"].tolist()
    assert found["thresholds"]["found"] >= len(written)
    assert set(found["rates"]["held_out"]) == set(found["rates"]["training"])
    assert 0 <= found["rates"]["held_out"]["tree_accuracy"] <= 1
    assert len(found["tree"]["rules"]) == found["tree"]["leaves"]
    assert found["certificate"] == json.loads((out / "tree.json").read_text(encoding="utf-8"))["certificate"]
    assert found["files"] == {name: str(out / name) for name in [REPORT, *sorted(FILES[1:]), FILES[0]]}
    assert all(np.isfinite(seconds) for seconds in found["seconds"].values())


def test_json_holds_the_notes_and_nothing_that_a_terminal_acts_on(tmp_path, out):
    frame = table().assign(year=2024)
    frame.columns = ["\x1b[31m\x9b2J\u202eé", "weight", "member", "label", "year"]
    frame["label"] = np.where(frame["label"] == "yes", "ja\x7f", "né")
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = distill(tmp_path / "t.csv", "--out", out, "--json", "--test-size", 0)
    assert result.stderr == ""
    assert not {"\x1b", "\x9b", "\u202e", "\x7f"} & set(result.stdout)
    found = json.loads(result.stdout)
    assert {line["class"] for line in found["classes"]} == {"ja\x7f", "né"}
    assert any("\x9b2J" in line["condition"] for line in found["thresholds"]["kept"])
    assert any("year" in note for note in found["notes"])
    assert found["rates"]["held_out"] is None


def test_quiet_leaves_the_json_that_was_asked_for(csv, out):
    result = distill(csv, "--out", out, "--json", "--quiet")
    assert json.loads(result.stdout)["rows"]["total"] == 80


# --- fcca report --------------------------------------------------------------------------------------------------------


def test_a_report_of_a_models_file(lender_file, csv, tmp_path):
    page = tmp_path / "pages" / "people.html"
    result = report(lender_file, csv, "--out", page, "--levels", "0,0.5", "--title", "People <b>")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == f"Report: {page}"
    assert "80 for training, none held out" in result.stdout
    assert files_in(page.parent) == ["people.html"]
    text = page.read_text(encoding="utf-8")
    assert "People &lt;b&gt;" in text
    assert "People <b>" not in text


def test_the_report_holds_out_the_rows_of_another_file(lender_file, csv, tmp_path, calls, opened):
    test = table(30, seed=1)
    test.to_csv(tmp_path / "test.csv", index=False)
    options = ("--test", tmp_path / "test.csv", "--q", 0.6, "--levels", "0.9,0,0.5,0", "--max-depth", 2, "--open")
    result = report(lender_file, csv, "--out", tmp_path / "r.html", *options)
    assert result.exit_code == 0, result.stderr
    assert "80 for training, 30 held out" in result.stdout
    [(classifier, given)] = calls
    assert given["y_test"].tolist() == test["label"].tolist()
    assert given["X_test"]["height"].tolist() == test["height"].tolist()
    assert given["row_numbers"].tolist() == list(range(80))
    assert list(given["Q"]) == [0.0, 0.5, 0.9]
    assert classifier.discretizer_.Q == 0.6
    assert classifier.tree_.max_depth == 2
    assert opened == [(tmp_path / "r.html").resolve().as_uri()]
    one = table(30).iloc[:1]
    one.to_csv(tmp_path / "test.csv", index=False)
    assert report(lender_file, csv, "--out", tmp_path / "r.html", *options).exit_code == 0  # one class is enough to test


def test_quiet_prints_nothing(lender_file, csv, tmp_path, calls):
    result = report(lender_file, csv, "--out", tmp_path / "r.html", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_wrong_arguments_are_named_and_nothing_is_written(lender_file, csv, tmp_path, calls):
    page = tmp_path / "new" / "r.html"
    loans().to_csv(tmp_path / "loans.csv", index=False)
    for arguments, mentioned in (
        ((lender_file, csv, "--out", tmp_path / "r.pdf"), ["--out", ".html"]),
        ((lender_file, csv, "--out", page, "--levels", "0,x"), ["--levels is 0,x", "0,0.7,0.9"]),
        ((lender_file, csv, "--out", page, "--q", "2"), ["--q is 2"]),
        ((lender_file, csv, "--out", page, "--test", tmp_path / "absent.csv"), ["absent.csv"]),
        ((lender_file, csv, "--out", page, "--test", tmp_path / "loans.csv"), ["loans.csv", "'height'"]),
        ((lender_file, csv, "--out", page, "--label", "grade"), ["'grade'"]),
        ((csv, csv, "--out", page), ["people.csv", "unknown format"]),
    ):
        check_refused(report(*arguments), *mentioned)
    assert not page.parent.exists()
    assert calls == []
    (tmp_path / "taken.html").mkdir()
    check_refused(report(lender_file, csv, "--out", tmp_path / "taken.html"), "taken.html is a directory")
