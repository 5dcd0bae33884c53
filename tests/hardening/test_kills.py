"""``fcca distill``, killed at any moment: whole old files or whole new ones, and the next run clears up."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest

from command_line import files_in, run_process, table
from fcca._files import AtomicOutputs, atomic_outputs, finish_dead_runs
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
    finish_dead_runs(out)  # what the next run does first
    assert contents(out) in (old, new), f"a mixed set of files after a kill at {moment}"
    assert files_in(out) == sorted(contents(out)), "something is left"
    distill(second, out)
    assert contents(out) == new
    distill(first, out)
    return ended.signalled


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
        for name in ("replace", "fsync", "write", "unlink", "open", "close"):
            setattr(os, name, killing(getattr(os, name)))
        with atomic_outputs(folder) as out:
            for name in ("a", "b", "c"):
                out.path(name).write_text("new")
    finally:
        os._exit(0)


def test_a_kill_before_any_step_of_replacing_leaves_one_generation_after_the_next_run(tmp_path):
    generations = set()
    for step in range(100):
        folder = tmp_path / str(step)
        folder.mkdir()
        for name in ("a", "b", "c"):
            (folder / name).write_text("old")
        code = replaced_until(step, folder)
        finish_dead_runs(folder)
        assert files_in(folder) == ["a", "b", "c"]
        found = {(folder / name).read_text() for name in ("a", "b", "c")}
        assert len(found) == 1, f"mixed after a kill before step {step}"
        generations |= found
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert code == 0
    assert step > 10
    assert generations == {"old", "new"}


def test_files_of_a_run_that_is_at_work_are_left_alone(tmp_path):
    with atomic_outputs(tmp_path) as at_work:
        at_work.path("a").write_text("mine")
        with atomic_outputs(tmp_path) as other:
            other.path("b").write_text("theirs")
        finish_dead_runs(tmp_path)
        assert at_work.path("a").read_text() == "mine"
    assert files_in(tmp_path) == ["a", "b"]


def test_ctrl_c_between_two_files_is_heard_when_the_set_is_whole(tmp_path, monkeypatch):
    replace, calls = os.replace, []

    def interrupted(*args: object) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        replace(*args)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_outputs(tmp_path) as out:  # noqa: PT012
        for name in ("a", "b", "c"):
            out.path(name).write_text("new")
    assert files_in(tmp_path) == ["a", "b", "c"]


def test_a_file_that_cannot_be_replaced_leaves_the_rest_to_the_next_run(tmp_path, monkeypatch):
    replace, calls = os.replace, []

    def failing(*args: object) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise PermissionError(13, "Permission denied")
        replace(*args)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(PermissionError), atomic_outputs(tmp_path) as out:  # noqa: PT012
        for name in ("a", "b", "c"):
            out.path(name).write_text("new")
    with atomic_outputs(tmp_path) as out:
        out.path("d").write_text("new")
    assert files_in(tmp_path) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("note", ['["../b"]\n', '["/b"]\n', "[1]\n", '{"a": 1}]\n', "\x00]\n", '["a"'])
def test_a_note_that_no_run_has_written_moves_nothing(tmp_path, note):
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / ".fcca-0123abcd.run").write_text(note)
    (inside / ".a.0123abcd.tmp").write_text("x")
    (inside / "mine.tmp").write_text("x")
    (inside / "..").joinpath("b.0123abcd.tmp").write_text("x")
    finish_dead_runs(inside)
    assert files_in(inside) == ["mine.tmp"]
    assert files_in(tmp_path) == ["b.0123abcd.tmp", "in"]


def test_where_there_are_no_locks_files_are_replaced_all_the_same(tmp_path, monkeypatch):
    (tmp_path / ".fcca-0123abcd.run").touch()
    monkeypatch.setattr("fcca._files.fcntl", None)
    with atomic_outputs(tmp_path) as out:
        out.path("a").write_text("new")
        out.path("b").write_text("new")
    assert files_in(tmp_path) == [".fcca-0123abcd.run", "a", "b"]


def test_a_file_system_that_refuses_locks_is_no_error(tmp_path, monkeypatch):
    import fcntl

    def refused(*args: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    outputs = AtomicOutputs(tmp_path)
    outputs.open_run()
    outputs.discard()
    with atomic_outputs(tmp_path) as out:
        out.path("a").write_text("new")
    assert files_in(tmp_path) == ["a"]
