"""``fcca distill``, killed at any moment: every file is old or new, whole, and the certificate is replaced last."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest

from command_line import files_in, run_process, table
from fcca.cli._options import CERTIFICATE
from fcca.utils import atomic_outputs
from hardening.processes import run_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")

LONGEST = 2.4  # seconds of processor time, about what a run takes


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two tables and the files of undisturbed runs on them."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for seed in (0, 1):
        csv = folder / f"people-{seed}.csv"
        table(200, seed).to_csv(csv, index=False)
        distill(csv, folder / f"out-{seed}")
        found[csv] = contents(folder / f"out-{seed}")
    return found


def distill(csv: Path, out: Path) -> None:
    done = run_process("distill", csv, "--out", out, "--quiet", "--no-report")
    assert done.returncode == 0, done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """The files under their own names; what they say of time is left out."""
    return {path.name: timeless(path) for path in sorted(folder.iterdir()) if not path.name.startswith(".")}


def timeless(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".json":
        return content
    document = json.loads(content)
    for name in ("created", "seconds", "written", "environment"):
        document.pop(name, None)
    return json.dumps(document, sort_keys=True).encode()


def check_killed(runs, out: Path, moment: float) -> bool:
    """Replace files of one table by those of another, and kill that; returns whether it was at work."""
    (first, old), (second, new) = runs.items()
    if not out.exists():
        distill(first, out)
    assert contents(out) == old
    ended = run_until(moment, signal.SIGKILL, "distill", second, "--out", out, "--quiet", "--no-report")
    found = contents(out)
    assert found.keys() == old.keys() == new.keys()
    assert all(found[name] in (old[name], new[name]) for name in found), f"half a file after a kill at {moment}"
    assert found[CERTIFICATE] != new[CERTIFICATE] or found == new, f"a certificate of old files after a kill at {moment}"
    check_leftovers(out)
    distill(second, out)
    assert contents(out) == new
    distill(first, out)
    return ended.signalled


def check_leftovers(folder: Path) -> None:
    """Remove what a killed run has left; only hidden temporary files are."""
    for name in files_in(folder):
        if name.startswith("."):
            assert name.endswith(".tmp")
            (folder / name).unlink()


@pytest.mark.slow
def test_a_kill_leaves_whole_files_and_the_next_run_is_undisturbed(runs, tmp_path):
    moments = random.Random(0)
    killed = [check_killed(runs, tmp_path / "out", moments.uniform(0.3, LONGEST * 0.8)) for _ in range(4)]
    assert any(killed)


@pytest.mark.verify
def test_fifty_kills_leave_whole_files(runs, tmp_path):
    moments = random.Random(1)
    killed = [check_killed(runs, tmp_path / "out", moments.uniform(0.1, LONGEST)) for _ in range(50)]
    print(f"{sum(killed)} of 50 were at work")
    assert sum(killed) > 15


# --- at every step of the replacing itself --------------------------------------------------------------------------------


NAMES = ("a", CERTIFICATE, "b")


def replaced_until(step: int, folder: Path) -> int:
    """Replace three files in a process that kills itself before a step of it; returns its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = step

    def killing(real):
        def counted(*args: object, **kwargs: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return counted

    try:
        for name in ("replace", "fsync", "unlink", "open", "close", "lstat", "stat", "chmod"):
            setattr(os, name, killing(getattr(os, name)))
        with atomic_outputs(folder, last=CERTIFICATE) as out:
            for name in NAMES:
                out.path(name).write_text("new")
    finally:
        os._exit(0)


def test_a_kill_before_any_step_leaves_each_file_old_or_new_and_the_certificate_last(tmp_path):
    seen = set()
    for step in range(100):
        folder = tmp_path / str(step)
        folder.mkdir()
        for name in NAMES:
            (folder / name).write_text("old")
        code = replaced_until(step, folder)
        check_leftovers(folder)
        assert files_in(folder) == sorted(NAMES)
        found = tuple((folder / name).read_text() for name in ("a", "b", CERTIFICATE))
        assert found in [("old", "old", "old"), ("new", "old", "old"), ("new", "new", "old"), ("new", "new", "new")]
        seen.add(found)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert code == 0
    assert step > 10
    assert len(seen) == 4


def test_the_next_run_is_not_disturbed_by_what_a_killed_one_left(tmp_path):
    (tmp_path / "a").write_text("old")
    assert replaced_until(5, tmp_path) == -signal.SIGKILL
    with atomic_outputs(tmp_path) as out:
        out.path("a").write_text("newer")
    check_leftovers(tmp_path)
    assert {name: (tmp_path / name).read_text() for name in files_in(tmp_path)} == {"a": "newer"}
