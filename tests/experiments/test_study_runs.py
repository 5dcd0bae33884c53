"""A small study from the command line: it ends in a page, and a killed one goes on where it was."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments.__main__ import app

ROOT = Path(__file__).resolve().parents[2]
METHODS = "continuous,gtre,fcca,lambda0-path,kbins"


def command(out, *more):
    return [sys.executable, "-m", "experiments", "run", "quick", "--out", str(out), *more]


def small(out):
    return command(out, "--datasets", "breast_cancer", "--methods", METHODS, "--folds", "0,1", "--jobs", "2")


def run(arguments):
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=300)


def numbers(out):
    """What must not depend on when the run was killed."""
    rows = pd.read_parquet(out / "results.parquet")
    return rows.drop(columns=[column for column in rows if column.startswith("seconds")])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    begin = time.perf_counter()
    done = run(small(out))
    assert done.returncode == 0, done.stderr
    return out, done, time.perf_counter() - begin


def test_a_small_study_ends_in_a_page(whole):
    out, done, _ = whole
    assert str(out / "index.html") in done.stdout
    assert {"results.parquet", "about.json", "claims.csv", "table-1.csv", "table-2.csv", "all-methods.csv"} <= {
        path.name for path in out.iterdir()
    }
    assert {"fcca", "gtre"} < set(numbers(out)["method"])


def test_a_finished_study_is_not_run_again(whole):
    out, _, _ = whole
    before = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    done = CliRunner().invoke(app, small(out)[3:])
    assert done.exit_code == 0, done.output
    assert {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()} == before


def kill_and_resume(whole, out, n_kills, seed):
    """Kill runs at random moments, then let one end; a run that ends before its moment is begun anew."""
    uninterrupted, _, seconds = whole
    moments = random.Random(seed)
    kills = 0
    while kills < n_kills:
        process = subprocess.Popen(
            small(out), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(timeout=moments.uniform(0.05, 0.7) * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
        else:
            assert process.returncode == 0
            shutil.rmtree(out)
    done = run(small(out))
    assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(numbers(out), numbers(uninterrupted))
    assert not [path for path in out.rglob(".*") if path.suffix == ".html"]


@pytest.mark.skipif(os.name != "posix", reason="process groups are killed")
def test_a_killed_study_ends_as_if_it_had_not_been(whole, tmp_path):
    kill_and_resume(whole, tmp_path, n_kills=1, seed=5)  # about when half of the cells are finished


@pytest.mark.verify
@pytest.mark.skipif(os.name != "posix", reason="process groups are killed")
def test_a_study_killed_ten_times_ends_as_if_it_had_not_been(whole, tmp_path):
    kill_and_resume(whole, tmp_path, n_kills=10, seed=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "magic-wand"), "No method is called 'magic-wand'"),
        (("--datasets", "nowhere"), "nowhere"),
        (("--folds", "7"), "from 0 to 4"),
        (("--datasets", "breast_cancer", "--methods", "fcca-svm"), "Nothing to run"),
    ],
)
def test_wrong_input_is_refused_in_words(tmp_path, arguments, message):
    done = CliRunner().invoke(app, ["run", "quick", "--out", str(tmp_path), *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_page_of_nothing_is_refused(tmp_path):
    done = CliRunner().invoke(app, ["page", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "python -m experiments run" in done.stderr


def test_a_method_whose_library_is_absent_is_left_out_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.__main__.find_spec", lambda library: None)
    done = CliRunner().invoke(app, ["run", "quick", "--out", str(tmp_path), "--methods", "mdlp"])
    assert done.exit_code == 2
    assert "Nothing to run" in done.stderr
    assert "mdlp is left out: optbinning is not installed." in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_interrupting_says_how_to_go_on(tmp_path):
    process = subprocess.Popen(small(tmp_path), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not process.stdout.readline().startswith("1/"):  # until the first cell is finished
        pass
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "run the same command again" in errors
    assert list((tmp_path / "cells").iterdir())
