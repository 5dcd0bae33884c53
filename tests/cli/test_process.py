"""``fcca`` as a process: exit codes, broken streams and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from command_line import COMMAND, FILES, REPORT, distill, files_in, run_process, table


@pytest.mark.slow
def test_exit_codes_reach_the_shell(tmp_path, csv):
    assert run_process("distill", csv, "--out", tmp_path / "out", "--quiet").returncode == 0
    refused = run_process("distill", csv, "--label", "grade", "--out", tmp_path / "other")
    assert refused.returncode == 2
    assert refused.stderr.startswith("Error: ")
    assert refused.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("explain", "--help"),
        ("distill", "absent.csv"),
        ("distill", "--q", "2"),
        ("distill", "--model-file", "absent.skops"),
        ("explain", "absent.skops", "absent.csv"),
        ("explain", __file__, "absent.csv"),
        ("explain", __file__, __file__),
        ("explain", "absent.skops", "absent.csv", "--n", "0"),
        ("distill", "--open", "--no-report"),
        ("report", "--help"),
        ("report", "absent.skops", "absent.csv"),
        ("report", __file__, __file__),
        ("export", "--help"),
        ("export", "absent.json"),
        ("export", __file__, "--out", "tree.docx"),
        ("benchmark", "--help"),
        ("benchmark", "absent.csv"),
        ("benchmark", "--folds", "1"),
        ("benchmark", "--q", "0.7,1.7"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_reported_before_large_imports(arguments, tmp_path):
    code = """
import sys
from fcca.cli import main
try:
    main()
finally:
    print(sorted({"numpy", "scipy", "pandas", "sklearn", "pyarrow"} & set(sys.modules)), file=sys.stderr)
"""
    command = [sys.executable, "-c", code, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode == (0 if "--help" in arguments else 2), result.stderr
    assert result.stderr.splitlines()[-1] == "[]", result.stderr
    assert files_in(tmp_path) == []


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_traceback(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "distill", "--out", str(tmp_path / "out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.wait(60)
    assert files_in(tmp_path / "out") == sorted([REPORT, *FILES])


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_working_says_so_and_leaves_nothing(tmp_path):
    n = 60_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 20)), columns=[f"x{j}" for j in range(20)])
    frame["label"] = (frame.sum(axis=1) > 0).astype(int)
    frame.to_parquet(tmp_path / "t.parquet")
    out = tmp_path / "out"
    process = subprocess.Popen(
        [*COMMAND, "distill", str(tmp_path / "t.parquet"), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not out.exists() and process.poll() is None:  # made when the arguments are known to be good
        time.sleep(0.01)
    time.sleep(3)  # imports, then the work
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout, stderr) == (130, "", "Interrupted.\n")
    assert files_in(tmp_path) == ["t.parquet"]


def test_a_name_too_long_for_a_file_is_an_error_without_traceback(out):
    result = distill("a" * 300 + ".csv", "--out", out)
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith("Error: ")


def test_a_threshold_for_many_classes_is_refused_before_any_work(tmp_path, out, monkeypatch):
    path = tmp_path / "four.csv"
    table().assign(label=["a", "b", "c", "d"] * 20).to_csv(path, index=False)
    monkeypatch.setattr("fcca.cli._black_box.target_model", lambda *args: pytest.fail("work has begun"))
    result = distill(path, "--decision-threshold", 0.3, "--out", out)
    assert result.exit_code == 2
    assert "4 classes" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("redirect", ["> /dev/full", ">&-"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is Linux's")
def test_a_broken_standard_output_is_no_traceback(redirect, csv, out):
    command = f"{sys.executable} -c 'from fcca.cli import main; main()' distill {csv} --out {out} {redirect}"
    result = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("delay", [0.05, 0.2, 0.6, 1.2])
def test_ctrl_c_while_starting_is_quiet(out, delay):
    code = "from fcca.cli import main; print('started', flush=True); main()"
    command = [sys.executable, "-c", code, "distill", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "Interrupted."
