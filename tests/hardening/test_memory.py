"""Limits of memory: one line, an exit code, and nothing half-written; no traceback, no crash."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pandas as pd
import pytest

from command_line import COMMAND, files_in
from fcca.cli import LEAST_MEMORY, is_out_of_memory, out_of_memory

resource = pytest.importorskip("resource", reason="limits of memory are POSIX's")

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table that needs some memory, and a model."""
    import skops.io
    from sklearn.ensemble import RandomForestClassifier

    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(150_000, 25)), columns=[f"x{j}" for j in range(25)])
    frame["label"] = (frame["x0"] + frame["x1"] > 0).astype(int)
    frame.to_parquet(folder / "large.parquet")
    frame.iloc[:2000].to_parquet(folder / "small.parquet")
    X, y = frame.drop(columns="label").iloc[:500], frame["label"].iloc[:500]
    skops.io.dump(RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y), folder / "model.skops")
    return folder


def limited(megabytes: int, *args: object) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MEGABYTE,) * 2)

    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS")}
    return subprocess.run(
        [*COMMAND, *map(str, args)], capture_output=True, text=True, preexec_fn=limit, timeout=300, env=environment
    )


def check_limited(files, out, megabytes: int, command: str) -> int:
    """Run a command under a limit: done, or refused in one line; returns its exit code."""
    if command == "distill":
        ended = limited(megabytes, "distill", files / "large.parquet", "--out", out, "--quiet", "--no-report")
    else:
        ended = limited(
            megabytes, "explain", files / "model.skops", files / "large.parquet", "--out", out / "x.csv", "--quiet"
        )
    said = f"{command} under {megabytes} MB: {ended.returncode} {ended.stderr[-1000:]}"
    assert ended.returncode in (0, 1), said
    assert "Traceback" not in ended.stderr, said
    if ended.returncode:
        assert ended.stderr.splitlines()[-1].startswith("Error: There is not enough memory"), said
        assert f"{megabytes:,} MB" in ended.stderr.splitlines()[-1]
        assert not out.exists(), said
    else:
        assert not [name for name in files_in(out) if name.startswith(".")]
    return ended.returncode


@pytest.mark.slow
@pytest.mark.parametrize(
    ("megabytes", "command"),
    [(100, "distill"), (420, "explain"), (600, "distill"), (620, "explain"), (635, "explain"), (650, "explain")],
)
def test_too_little_memory_is_said_in_one_line(files, out, megabytes, command):
    assert check_limited(files, out, megabytes, command) == 1


@pytest.mark.verify
@pytest.mark.parametrize("command", ["distill", "explain"])
def test_under_any_limit_a_command_is_done_or_says_so(files, tmp_path, command):
    codes = {}
    for megabytes in (50, 100, 200, 300, 400, 500, 550, 560, 575, 600, 625, 650, 700, 750, 800, 900, 1000, 1200, 1500, 2000):
        codes[megabytes] = check_limited(files, tmp_path / str(megabytes), megabytes, command)
    print(command, codes)
    assert codes[50] == 1
    assert codes[2000] == 0


@pytest.mark.slow
def test_small_tables_need_little_more_than_the_libraries(files, out):
    megabytes = LEAST_MEMORY // MEGABYTE + 240
    ended = limited(megabytes, "distill", files / "small.parquet", "--out", out, "--quiet", "--no-report", "--jobs", 1)
    assert ended.returncode == 0, ended.stderr


def test_errors_that_mean_no_memory_are_known_by_what_they_say():
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("can't start new thread"))
    assert is_out_of_memory(ImportError("libx.so: failed to map segment from shared object"))
    assert is_out_of_memory(OSError(12, "Cannot allocate memory"))
    outer = RuntimeError("a library's own words")
    outer.__cause__ = MemoryError()
    assert is_out_of_memory(outer)
    for other in (RuntimeError("x"), ImportError("no module"), ValueError("cannot allocate memory"), None):
        assert not is_out_of_memory(other)
    assert out_of_memory().startswith("There is not enough memory")
