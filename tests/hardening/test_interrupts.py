"""Ctrl-C at random moments of every command: heard within a second, exit code 130, nothing half-written."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import files_in, run_process
from fcca import cli
from hardening.processes import run_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")

MOST_OWN_SECONDS = 1.0  # of processor time, so that a busy machine does not matter
MOST_SECONDS = 20.0  # by the clock, on a busy machine

# A command, its arguments, and how many seconds of its own it takes at least: moments are chosen in these.
COMMANDS = {
    "distill": (("distill", "large.parquet", "--out", "out"), 4.0),
    "a table that is not large": (("distill", "small.parquet", "--out", "out"), 3.0),
    "selection": (("distill", "small.parquet", "--out", "out", "--thresholds", "8"), 4.0),
    "selection by itself": (("distill", "small.parquet", "--out", "out", "--thresholds", "auto"), 4.0),
    "a deep tree": (("distill", "small.parquet", "--out", "out", "--max-depth", "5"), 4.0),
    "stream": (("distill", "large.parquet", "--out", "out", "--stream", "--sample", "2000"), 2.5),
    "explain": (("explain", "model.skops", "large.parquet", "--label", "label", "--out", "out/x.csv"), 4.0),
    "report": (("report", "model.skops", "small.parquet", "--out", "out/r.html"), 4.0),
    "benchmark": (("benchmark", "small.parquet", "--out", "out/b.csv"), 3.0),
    "export": (("export", "tree.json", "--out", "out/tree.md"), 1.2),
    **{
        name: (("distill", "large.parquet", "--out", "out", "--model", name), 3.0)
        for name in ("rf", "hgb", "xgb", "lgbm", "catboost", "svm", "logistic")
    },
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    import skops.io
    from sklearn.ensemble import RandomForestClassifier

    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60_000, 20)).round(3), columns=[f"x{j}" for j in range(20)])
    frame["label"] = (frame.iloc[:, :5].sum(axis=1) + frame["x5"] * frame["x6"] > 0).astype(int)
    frame.to_parquet(folder / "large.parquet", row_group_size=10_000)
    frame.iloc[:3000].to_parquet(folder / "small.parquet")
    X, y = frame.drop(columns="label").iloc[:5000], frame["label"].iloc[:5000]
    skops.io.dump(RandomForestClassifier(50, max_depth=6, random_state=0).fit(X, y), folder / "model.skops")
    made = run_process("distill", folder / "small.parquet", "--out", folder / "made", "--quiet", "--no-report")
    assert made.returncode == 0, made.stderr
    (folder / "made" / "tree.json").rename(folder / "tree.json")
    for path in (folder / "made").iterdir():
        path.unlink()
    (folder / "made").rmdir()
    return folder


def check_interrupted(files: Path, name: str, moment: float) -> float | None:
    """Interrupt a command; the seconds of its own that it went on for, None where it was done before."""
    arguments, _ = COMMANDS[name]
    before = files_in(files)
    ended = run_until(moment, signal.SIGINT, *arguments, cwd=files)
    said = f"{name} at {moment:.2f} s: {ended}"
    done = ended.code == 0 and (not ended.signalled or ended.seconds < MOST_SECONDS)
    if done or (ended.code == 130 and (files / "out").exists()):  # the files were there already when it came
        names = {path.name for path in (files / "out").iterdir()}
        assert arguments[0] != "distill" or "tree.json" in names, said
        for path in (files / "out").iterdir():
            assert not path.name.startswith("."), said
            assert path.stat().st_size > 0, said
            path.unlink()
        (files / "out").rmdir()
        return None
    assert ended.code == 130, said
    assert ended.err.splitlines()[-1] == "Interrupted.", said
    assert "Traceback" not in ended.err, said
    assert files_in(files) == before, said
    assert ended.own_seconds <= MOST_OWN_SECONDS, said
    assert ended.seconds <= MOST_SECONDS, said
    return ended.own_seconds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["distill", "selection", "explain", "export"])
def test_ctrl_c_is_heard_within_a_second(files, name):
    moment = random.Random(name).uniform(0.2, COMMANDS[name][1] * 0.8)
    assert check_interrupted(files, name, moment) is not None


@pytest.mark.verify
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_at_random_moments_is_heard_within_a_second(files, name):
    moments = random.Random(f"{name} verify")
    heard = [check_interrupted(files, name, moments.uniform(0.1, COMMANDS[name][1])) for _ in range(8)]
    took = [seconds for seconds in heard if seconds is not None]
    print(f"{name}: {len(took)} of {len(heard)} interrupted, at most {max(took):.2f} s of its own")
    assert len(took) >= 4


def test_ctrl_c_waits_for_no_more_than_one_library_to_be_imported(monkeypatch):
    """Chunks of imports, between which it is heard."""
    imported = []

    def importing(name: str) -> None:
        imported.append(name)
        if len(imported) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(cli, "import_module", importing)
    with pytest.raises(KeyboardInterrupt), cli.interrupts_deferred():
        pytest.fail("the rest was imported")
    assert imported == list(cli.LIBRARIES[:2])


def test_ctrl_c_in_a_block_of_imports_waits_for_its_end():
    reached = []
    with pytest.raises(KeyboardInterrupt), cli.interrupts_deferred():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)
        reached.append(True)
    assert reached
