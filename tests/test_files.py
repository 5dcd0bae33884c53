"""Files appear complete or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from pathlib import Path

import pytest

from fcca._files import atomic_outputs, finish_dead_runs
from fcca.exceptions import InvalidInputError


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_files_appear_under_their_names_when_the_block_ends(tmp_path):
    with atomic_outputs(tmp_path / "a" / "b") as out:
        out.path("one.txt").write_text("1")
        out.path("two.txt").write_text("2")
        assert not (tmp_path / "a" / "b" / "one.txt").exists()
    assert _names(tmp_path / "a" / "b") == ["one.txt", "two.txt"]
    assert (tmp_path / "a" / "b" / "two.txt").read_text() == "2"


def test_files_get_the_permissions_that_any_new_file_gets(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_outputs(tmp_path) as out:
        out.path("one.txt").write_text("1")
    assert (tmp_path / "one.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_name_that_was_reserved_but_not_written_is_left_out(tmp_path):
    with atomic_outputs(tmp_path / "out") as out:
        out.path("one.txt").write_text("1")
        out.path("two.txt")
    assert _names(tmp_path / "out") == ["one.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_after_an_exception_old_files_stand_and_no_litter_is_left(tmp_path, error):
    (tmp_path / "one.txt").write_text("old")
    with pytest.raises(error), atomic_outputs(tmp_path) as out:  # noqa: PT012
        out.path("one.txt").write_text("new")
        raise error
    assert _names(tmp_path) == ["one.txt"]
    assert (tmp_path / "one.txt").read_text() == "old"


def test_directories_made_for_nothing_are_removed_and_others_kept(tmp_path):
    (tmp_path / "mine").mkdir()
    for directory in (tmp_path / "mine", tmp_path / "mine" / "a" / "b"):
        with pytest.raises(RuntimeError), atomic_outputs(directory) as out:  # noqa: PT012
            out.path("one.txt").write_text("new")
            raise RuntimeError
    assert _names(tmp_path) == ["mine"]
    assert _names(tmp_path / "mine") == []


def test_a_made_directory_that_somebody_else_used_is_kept(tmp_path):
    with pytest.raises(RuntimeError), atomic_outputs(tmp_path / "out"):  # noqa: PT012
        (tmp_path / "out" / "theirs.txt").write_text("x")
        raise RuntimeError
    assert _names(tmp_path / "out") == ["theirs.txt"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_old_files(tmp_path, monkeypatch, failing):
    (tmp_path / "one.txt").write_text("old")

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space"), atomic_outputs(tmp_path) as out:  # noqa: PT012
        out.path("one.txt").write_text("new")
        out.path("two.txt").write_text("new")
    assert _names(tmp_path) == ["one.txt"]
    assert (tmp_path / "one.txt").read_text() == "old"


def test_everything_is_flushed_before_anything_is_replaced(tmp_path, monkeypatch):
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b))[1])
    with atomic_outputs(tmp_path) as out:
        out.path("one.txt").write_text("1")
        out.path("two.txt").write_text("2")
    assert calls[:5] == ["fsync", "fsync", "fsync", "replace", "replace"]  # two files, and the note of both


def test_a_file_in_place_of_the_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    for directory in (tmp_path / "file", tmp_path / "file" / "sub"):
        with pytest.raises(InvalidInputError, match="file"), atomic_outputs(directory):
            pytest.fail("the block must not begin")
    assert (tmp_path / "file").read_text() == "x"


def test_a_directory_in_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "one.txt").mkdir()
    with pytest.raises(InvalidInputError, match=r"one\.txt is a directory"), atomic_outputs(tmp_path) as out:
        out.path("one.txt")


def test_a_directory_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    def denied(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "touch", denied)  # root may write to any directory, so permissions cannot be used here
    with pytest.raises(InvalidInputError, match="Permission denied"), atomic_outputs(tmp_path / "out"):
        pytest.fail("the block must not begin")
    assert _names(tmp_path) == []


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    except FileNotFoundError:
        pytest.skip("no mount command")
    if mounted.returncode:
        pytest.skip("mounting is not permitted")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_really_full_leaves_old_files(small_disk):
    (small_disk / "one.txt").write_text("old")
    with pytest.raises(OSError, match="No space"), atomic_outputs(small_disk) as out:  # noqa: PT012
        out.path("two.txt").write_text("small")
        out.path("one.txt").write_text("x" * 200_000)
    assert _names(small_disk) == ["one.txt"]
    assert (small_disk / "one.txt").read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="links, pipes and permissions of POSIX")
def test_links_and_pipes_are_refused_and_permissions_kept(tmp_path):
    (tmp_path / "target.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("target.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    for name, what in (("link.txt", "a link"), ("pipe.txt", "a device or a pipe"), ("dangling.txt", "a link")):
        if name == "dangling.txt":
            (tmp_path / name).symlink_to("nowhere")
        with atomic_outputs(tmp_path) as out, pytest.raises(InvalidInputError, match=what):
            out.path(name)
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "pipe.txt").is_fifo()
    (tmp_path / "target.txt").chmod(0o600)
    with atomic_outputs(tmp_path) as out:
        out.path("target.txt").write_text("new")
    assert (tmp_path / "target.txt").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "target.txt").stat().st_mode) == 0o600


# --- names that are too long, or none -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x" * 250 + ".json", "é" * 125 + ".json", "x" * 101], ids=["ascii", "bytes", "over"])
def test_a_name_that_the_file_system_takes_is_taken(tmp_path, name):
    for content in ("old", "new"):
        with atomic_outputs(tmp_path) as out:
            out.path(name).write_text(content)
            out.path("b").write_text(content)
            assert len(os.listdir(tmp_path)) == (3 if content == "old" else 5)
    assert _names(tmp_path) == sorted(["b", name])
    assert (tmp_path / name).read_text() == "new"


@pytest.mark.parametrize("name", ["x" * 256, "a\0b", "\ud800", "", ".", "..", "a/b", ".fcca-0123abcd.run"])
def test_a_name_that_no_file_can_have_is_told_in_words(tmp_path, name):
    with pytest.raises(InvalidInputError, match="No file can be called"), atomic_outputs(tmp_path) as out:
        out.path(name)
    assert _names(tmp_path) == []


@pytest.mark.parametrize("name", ["x" * 256, "a\0b", "\ud800"])
def test_a_directory_that_cannot_be_is_told_in_words(tmp_path, name):
    with pytest.raises(InvalidInputError, match="Cannot write to the directory"), atomic_outputs(tmp_path / name):
        pytest.fail("the block must not begin")
    assert _names(tmp_path) == []


# --- what others leave in the directory -----------------------------------------------------------------------------------

RUN = ".fcca-00000000.run"
posix = pytest.mark.skipif(os.name != "posix", reason="owners, links and pipes of POSIX")


def _write(directory: Path) -> None:
    """A run that finds what is there, as every later one does."""
    with atomic_outputs(directory) as out:
        out.path("a.json").write_text("new")
    assert (directory / "a.json").read_text() == "new"


def _temporary_of(name: str) -> str:
    return f".{name}.00000000.tmp"


@posix
def test_a_pipe_that_is_called_like_a_run_hangs_nothing(tmp_path):
    os.mkfifo(tmp_path / RUN)
    _write(tmp_path)
    assert _names(tmp_path) == [RUN, "a.json"]


@posix
@pytest.mark.parametrize("kind", ["directory", "link", "dangling link", "two links"])
def test_what_is_called_like_a_run_and_is_none_is_left_alone(tmp_path, kind):
    (tmp_path / "note.txt").write_text('["victim.txt"]\n')
    (tmp_path / "victim.txt").write_text("mine")
    (tmp_path / _temporary_of("victim.txt")).write_text("theirs")
    if kind == "directory":
        (tmp_path / RUN).mkdir()
    elif kind == "two links":
        os.link(tmp_path / "note.txt", tmp_path / RUN)
    else:
        (tmp_path / RUN).symlink_to("note.txt" if kind == "link" else "nowhere")
    before = _names(tmp_path)
    _write(tmp_path)
    assert _names(tmp_path) == sorted([*before, "a.json"])
    assert (tmp_path / "victim.txt").read_text() == "mine"


NOTES = {
    "nested": "[" * 100_000 + "]" * 100_000 + "\n",
    "a number": "[1]\n",
    "null": '[null, {"a": 1}]\n',
    "half a character": '["\\ud800"]\n',
    "nul": '["a\\u0000b"]\n',
    "a run": '[".fcca-11111111.run"]\n',
    "no name": '["", ".", ".."]\n',
    "another directory": '["../victim.txt", "/victim.txt", "sub/victim.txt"]\n',
    "some names and a number": '["victim.txt", 1]\n',
    "too long": f'["{"x" * 300}"]\n',
}


@posix
@pytest.mark.parametrize("note", NOTES)
def test_a_note_that_says_nonsense_is_cleared_away(tmp_path, note):
    (tmp_path / RUN).write_text(NOTES[note])
    (tmp_path / "victim.txt").write_text("mine")
    for name in ("1", "victim.txt", "x"):
        (tmp_path / _temporary_of(name)).write_text("theirs")
    _write(tmp_path)
    assert _names(tmp_path) == ["a.json", "victim.txt"]
    assert (tmp_path / "victim.txt").read_text() == "mine"


@posix
@pytest.mark.parametrize("kind", ["link", "directory", "pipe", "two links"])
def test_only_plain_files_take_the_names_that_a_dead_run_has_noted(tmp_path, kind):
    (tmp_path / RUN).write_text('["victim.txt", "other.txt"]\n')
    (tmp_path / "victim.txt").write_text("mine")
    (tmp_path / "elsewhere").write_text("secret")
    (tmp_path / _temporary_of("other.txt")).write_text("finished")
    odd = tmp_path / _temporary_of("victim.txt")
    {
        "link": lambda: odd.symlink_to("elsewhere"),
        "directory": odd.mkdir,
        "pipe": lambda: os.mkfifo(odd),
        "two links": lambda: os.link(tmp_path / "elsewhere", odd),
    }[kind]()
    _write(tmp_path)
    assert _names(tmp_path) == sorted([odd.name, "a.json", "elsewhere", "other.txt", "victim.txt"])
    assert not (tmp_path / "victim.txt").is_symlink()
    assert (tmp_path / "victim.txt").read_text() == "mine"
    assert (tmp_path / "other.txt").read_text() == "finished"
    assert (tmp_path / "elsewhere").read_text() == "secret"


@posix
@pytest.mark.parametrize("whose", [RUN, _temporary_of("victim.txt")], ids=["run", "temporary"])
def test_files_of_another_user_are_neither_believed_nor_touched(tmp_path, whose):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (tmp_path / RUN).write_text('["victim.txt"]\n')
    (tmp_path / "victim.txt").write_text("mine")
    (tmp_path / _temporary_of("victim.txt")).write_text("theirs")
    os.chown(tmp_path / whose, 65534, 65534)
    _write(tmp_path)
    assert (tmp_path / "victim.txt").read_text() == "mine"
    assert (tmp_path / whose).exists()
    assert (tmp_path / RUN).exists() == (whose == RUN)


@posix
def test_a_dead_run_of_a_long_name_is_finished(tmp_path):
    name = "x" * 250
    out = atomic_outputs(tmp_path)
    outputs = out.__enter__()
    outputs.path(name).write_text("new")
    token = outputs.path(name).name.split(".")[-2]
    outputs.path(name).rename(tmp_path / "kept")
    out.__exit__(None, None, None)
    temporary = outputs.path(name)
    assert len(temporary.name) < 100
    (tmp_path / "kept").rename(temporary)
    (tmp_path / f".fcca-{token}.run").write_text(f'["{name}"]\n')
    finish_dead_runs(tmp_path)
    assert _names(tmp_path) == [name]
