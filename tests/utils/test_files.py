"""Files appear complete or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from fcca.exceptions import InvalidInputError
from fcca.utils import atomic_outputs


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_directory_that_another_process_removed_is_made_again(tmp_path):
    folder = tmp_path / "new" / "out"
    with atomic_outputs(folder) as outputs:
        outputs.path("a.txt")
        folder.rmdir()  # as another process does that made the folder and failed
        outputs.path("a.txt").write_text("complete")
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("a.txt", "complete")]


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
    assert calls[:4] == ["fsync", "fsync", "replace", "replace"]


def test_files_are_replaced_in_the_order_given_and_the_last_one_last(tmp_path, monkeypatch):
    replaced: list[str] = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (replaced.append(b.name), replace(a, b))[1])
    with atomic_outputs(tmp_path, last="certificate.json") as out:
        for name in ("b", "certificate.json", "a"):
            out.path(name)
        for name in ("a", "b", "certificate.json"):
            out.path(name).write_text("new")
    assert replaced == ["b", "a", "certificate.json"]


def test_a_temporary_file_is_hidden_and_beside_its_target(tmp_path):
    with atomic_outputs(tmp_path) as out:
        path = out.path("one.txt")
        path.write_text("1")
        assert path.parent == tmp_path
        assert path.name.startswith(".one.txt.")
        assert out.path("one.txt") == path
    with atomic_outputs(tmp_path) as out:
        assert out.path("one.txt") != path


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

    monkeypatch.setattr(
        tempfile, "TemporaryFile", denied
    )  # root may write to any directory, so permissions cannot be used here
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
            assert len(os.listdir(tmp_path)) == (2 if content == "old" else 4)
    assert _names(tmp_path) == sorted(["b", name])
    assert (tmp_path / name).read_text() == "new"


@pytest.mark.parametrize("name", ["x" * 256, "a\0b", "\ud800", "", ".", "..", "a/b"])
def test_invalid_file_names_raise_errors(tmp_path, name):
    with pytest.raises(InvalidInputError, match="No file can be called"), atomic_outputs(tmp_path) as out:
        out.path(name)
    assert _names(tmp_path) == []


@pytest.mark.parametrize("name", ["x" * 256, "a\0b", "\ud800"])
def test_invalid_directory_names_raise_errors(tmp_path, name):
    with pytest.raises(InvalidInputError, match="Cannot write to the directory"), atomic_outputs(tmp_path / name):
        pytest.fail("the block must not begin")
    assert _names(tmp_path) == []


def test_two_long_names_that_begin_alike_are_two_files(tmp_path):
    names = ["x" * 100 + end for end in "ab"]
    with atomic_outputs(tmp_path) as out:
        for name in names:
            out.path(name).write_text(name[-1])
    assert [(tmp_path / name).read_text() for name in names] == ["a", "b"]


# --- several runs in one directory ----------------------------------------------------------------------------------------


def test_a_run_leaves_the_temporary_files_of_another_alone(tmp_path):
    with atomic_outputs(tmp_path) as at_work:
        at_work.path("a").write_text("mine")
        with atomic_outputs(tmp_path) as other:
            other.path("a").write_text("theirs")
            other.path("b").write_text("theirs")
        assert (tmp_path / "a").read_text() == "theirs"
        assert at_work.path("a").read_text() == "mine"
    assert _names(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "mine"


def _failing_at_the_second_file(monkeypatch, error: BaseException) -> None:
    replace, calls = os.replace, []

    def failing(*args: object) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise error
        replace(*args)

    monkeypatch.setattr(os, "replace", failing)


def test_ctrl_c_between_two_files_is_heard_when_all_are_replaced(tmp_path, monkeypatch):
    _failing_at_the_second_file(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), atomic_outputs(tmp_path) as out:  # noqa: PT012
        for name in ("a", "b", "c"):
            out.path(name).write_text("new")
    assert _names(tmp_path) == ["a", "b", "c"]


def test_a_file_that_cannot_be_replaced_keeps_later_ones_old(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("old")
    _failing_at_the_second_file(monkeypatch, PermissionError(errno.EACCES, "Permission denied"))
    with pytest.raises(PermissionError), atomic_outputs(tmp_path) as out:  # noqa: PT012
        for name in ("a", "b", "c"):
            out.path(name).write_text("new")
    assert {name: (tmp_path / name).read_text() for name in _names(tmp_path)} == {"a": "new", "b": "old", "c": "old"}
