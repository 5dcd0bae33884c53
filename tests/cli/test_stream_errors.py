"""``fcca distill`` on a Parquet file read in chunks: errors, and no half-written files."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fcca.cli._split
from command_line import COMMAND, check_refused, distill, files_in
from fcca.cli._split import Split
from fcca.discretizers import _counted_rows, _stages as stages
from fcca.streaming import ParquetTable
from streamed_tables import people


@pytest.fixture(autouse=True)
def _small_chunks_and_models(monkeypatch):
    monkeypatch.setattr("fcca.cli._models.ROUNDS", 40)
    monkeypatch.setitem(ParquetTable.__init__.__kwdefaults__, "rows_at_a_time", 70)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("t.csv", "--stream"), ("t.csv", "read_csv('t.csv').to_parquet('t.parquet')", "write_dataset")),
        (("--stream",), ("without a file",)),
        (("t.parquet", "--stream", "--thresholds", "auto"), ("--thresholds auto", "--no-stream")),
        (("t.parquet", "--stream", "--open"), ("--open", "--no-stream")),
        (("t.parquet", "--stream", "--title", "T"), ("--title", "--no-stream")),
        (("t.parquet", "--sample", "1"), ("--sample is 1",)),
        (("t.parquet", "--sample", "9", "--model-file", "t.csv"), ("--sample", "--model-file")),
    ],
    ids=lambda given: " ".join(given) if given[0].startswith(("t.", "--")) else "",
)
def test_invalid_options_raise_errors_before_large_imports(tmp_path, options, words):
    frame = people(20)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    code = "import sys; from fcca.cli import main\ntry: main()\nfinally: print('pandas' in sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, "distill", *options]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode == 2, result.stderr
    assert result.stderr.endswith("False\n")
    for word in words:
        assert word in result.stderr
    assert files_in(tmp_path) == ["t.csv", "t.parquet"]


def broken(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    frame = frame.copy()
    if what == "infinite":
        frame.loc[131, "height"] = np.inf
    elif what == "huge":
        frame.loc[131, "height"] = 1e301
    elif what == "no label":
        frame.loc[[131, 140], "label"] = None
    elif what == "one class":
        frame["label"] = "yes"
    elif what == "fractions":
        frame["label"] = frame["height"]
    elif what == "dates":
        frame["age"] = pd.Timestamp("2020-01-01")
    elif what == "empty column":
        frame["age"] = np.nan
    elif what == "no rows":
        frame = frame[:0]
    elif what == "no column":
        frame = frame[["label"]]
    elif what == "other label":
        frame = frame.rename(columns={"label": "outcome"})
    return frame


@pytest.mark.parametrize(
    "what",
    [
        "infinite",
        "huge",
        "no label",
        "one class",
        "fractions",
        "dates",
        "empty column",
        "no rows",
        "no column",
        "other label",
    ],
)
def test_invalid_tables_raise_the_same_error_in_memory_and_in_chunks(tmp_path, what):
    path = tmp_path / "t.parquet"
    broken(people(), what).to_parquet(path)
    said = [distill(path, mode, "--sample", 60, "--out", tmp_path / "out") for mode in ("--stream", "--no-stream")]
    check_refused(said[0])
    assert said[0].stderr == said[1].stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("mode", ["--stream", "--no-stream"])
def test_repeated_names_are_refused(tmp_path, mode):
    found = pa.Table.from_pandas(people(), preserve_index=False)
    pq.write_table(found.rename_columns(["height", "height", *found.column_names[2:]]), tmp_path / "t.parquet")
    refused = distill(tmp_path / "t.parquet", mode)
    check_refused(refused, "Column names must be unique; repeated: 'height'. Rename or remove them.")


@pytest.mark.parametrize("mode", ["--stream", "--no-stream"])
def test_a_limit_of_time_that_ends_all_searches_is_named_as_the_option_is(tmp_path, mode):
    people().to_parquet(tmp_path / "t.parquet")
    refused = distill(tmp_path / "t.parquet", mode, "--time-limit", 0, "--out", tmp_path / "out")
    check_refused(refused, "All were stopped by a time limit. Raise --time-limit.")
    both = distill(tmp_path / "t.parquet", mode, "--time-limit", 0, "--time-limit-per-row", 9, "--out", tmp_path / "out")
    check_refused(both, "Raise --time-limit and --time-limit-per-row.")


@pytest.mark.parametrize("stratified", [True, False])
def test_a_class_without_training_rows_raises_the_same_error_in_memory_and_in_chunks(tmp_path, monkeypatch, stratified):
    monkeypatch.setattr(fcca.cli._split, "MOST_STRATIFIED", 1000 if stratified else 100)
    monkeypatch.setattr("fcca.cli._row_sources.MOST_STRATIFIED", 1000 if stratified else 100)
    monkeypatch.setattr("fcca.cli._black_box.target_model", lambda *args: pytest.fail("work has begun"))
    rare = [3, 90]
    split = Split(150, 0.9, 0)
    seed = (
        0
        if stratified
        else next(seed for seed in range(99) if replace(split, random_state=seed).held_out(0, 150)[rare].all())
    )
    frame = people()
    frame["label"] = np.where(np.isin(np.arange(150), rare), "rare", frame["label"])
    frame.to_parquet(tmp_path / "t.parquet")
    said = [
        distill(tmp_path / "t.parquet", mode, "--test-size", 0.9, "--random-state", seed)
        for mode in ("--stream", "--no-stream")
    ]
    check_refused(
        said[0],
        f"--test-size 0.9 with --random-state {seed} holds out all 2 rows of class 'rare' of 'label'",
        "another --random-state",
    )
    assert said[0].stderr == said[1].stderr


def test_a_sample_of_one_class_is_refused(tmp_path):
    frame = people()
    frame["label"] = np.where(np.arange(150) < 4, "rare", "common")
    frame.to_parquet(tmp_path / "t.parquet")
    for mode in ("--stream", "--no-stream"):
        check_refused(distill(tmp_path / "t.parquet", mode, "--sample", 5), "sample have class common", "larger --sample")


def test_a_file_that_is_broken_in_the_middle_is_refused_and_leaves_nothing(tmp_path, out):
    path = tmp_path / "t.parquet"
    frame = people(2000)
    frame["noise"] = np.random.default_rng(0).normal(size=2000)
    frame.to_parquet(path, row_group_size=200, compression="snappy")
    column = pq.ParquetFile(path).metadata.row_group(7).column(0)
    content = bytearray(path.read_bytes())
    begin = column.dictionary_page_offset or column.data_page_offset
    content[begin : begin + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(bytes(content))
    check_refused(distill(path, "--stream", "--sample", 60, "--out", out), "Cannot read", "t.parquet")
    assert not out.exists()


def test_a_file_that_changes_while_it_is_read_is_refused_and_leaves_nothing(tmp_path, out, monkeypatch):
    path = tmp_path / "t.parquet"
    people().to_parquet(path)
    searched = stages.count_crossings

    def changing(*args, **kwargs):
        people(170).to_parquet(path)
        return searched(*args, **kwargs)

    monkeypatch.setattr(stages, "count_crossings", changing)
    check_refused(distill(path, "--stream", "--sample", 60, "--out", out), "was changed while it was being read")
    assert not out.exists()


def test_too_many_distinct_rows_are_refused_with_the_option_that_helps(tmp_path, monkeypatch):
    monkeypatch.setattr("fcca.cli._models.ROUNDS", 100)
    monkeypatch.setattr(_counted_rows, "MOST_BYTES", 2000)
    people(1500).to_parquet(tmp_path / "t.parquet")
    result = distill(tmp_path / "t.parquet", "--stream", "--sample", 500, "--out", tmp_path / "out")
    check_refused(result, "thresholds at --q 0 give", "memory")
    assert re.search(r"--q 0\.\d+ keeps|Increase --q", result.stderr)
    assert "Q" not in result.stderr.replace("--q", "")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_in_the_middle_of_the_counterfactuals_leaves_nothing(tmp_path):
    n = 200_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 10)), columns=[f"x{j}" for j in range(10)])
    frame["label"] = (frame.sum(axis=1) > 0).astype(int)
    frame.to_parquet(tmp_path / "t.parquet")
    out = tmp_path / "out"
    process = subprocess.Popen(
        [
            *COMMAND,
            "distill",
            str(tmp_path / "t.parquet"),
            "--stream",
            "--sample",
            "500",
            "--preset",
            "paper",
            "--out",
            str(out),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begin = time.monotonic()
    while not list(out.glob(".counterfactuals*")) and process.poll() is None and time.monotonic() < begin + 60:
        time.sleep(0.01)  # until lines are being written
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (130, "")
    lines = stderr.splitlines()  # on a slow machine, lines of progress come first
    assert lines[-1] == "Interrupted."
    assert all(line.endswith((" so far", " left")) for line in lines[:-1])
    assert files_in(tmp_path) == ["t.parquet"]


def test_a_full_disk_raises_a_clear_error(tmp_path, monkeypatch):
    people().to_parquet(tmp_path / "t.parquet")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    result = distill(tmp_path / "t.parquet", "--stream", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "Cannot write to" in result.stderr
    assert "No space left on device. No file was left half-written" in result.stderr
    assert files_in(tmp_path) == ["t.parquet"]
