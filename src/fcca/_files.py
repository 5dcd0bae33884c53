"""Files that appear complete or not at all, several of them together.

A run that is killed leaves its temporary files, and a file ``.fcca-….run`` that it held a lock on. Killed while it gave
files their own names, it has noted there which these are, so what it began can be finished. The next run in the same
directory does that, and removes what is left of dead runs; locks tell them from those that are still at work. Whoever may
write to the directory can leave such files there, so only plain files of the user who runs this are believed and touched;
all others are left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fcca.exceptions import InvalidInputError

try:
    import fcntl
except ImportError:  # Windows: what a killed run leaves stays until somebody removes it
    fcntl = None  # type: ignore[assignment]

__all__ = ["AtomicOutputs", "as_path", "atomic_outputs", "finish_dead_runs", "regular_content"]

ATTEMPTS = 10
RUN_FILE = re.compile(r"\.fcca-([0-9a-f]{8})\.run")
LONGEST_NOTE = 2**20  # bytes
LONGEST_KEPT = 100  # bytes of a name that its temporary name repeats; file systems take 255 in all, some 143
NAME_SHOWN = 80


def as_path(given: Any) -> Path:
    """A path, or an error that says that it is none."""
    try:
        return Path(given)
    except TypeError as error:
        raise InvalidInputError(f"Expected the path of a file, a text or a Path; got {type(given).__name__}.") from error


def regular_content(path: Path, largest: int) -> bytes:
    """What is in a regular file.

    Devices and pipes, which may have no end or never begin, are not waited for.

    Parameters
    ----------
    path : Path
        Links are followed.
    largest : int
        The most bytes that are read.

    Raises
    ------
    InvalidInputError
        For what is no regular file, and for one that is larger.
    OSError, ValueError
        Where there is none, where it cannot be read, and for what no file can be called.
    """
    _check_regular(path, os.stat(path), largest)  # before it is opened, which alone may do something to a device
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        _check_regular(path, found, largest)
        return file.read(found.st_size)


def _check_regular(path: Path, found: os.stat_result, largest: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise InvalidInputError(f"{path} is a directory. Name a file.")
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInputError(f"{path} is a device or a pipe. Name a file; copy what comes from elsewhere into one first.")
    if found.st_size > largest:
        raise InvalidInputError(f"{path} has {found.st_size:,} bytes; files of at most {largest:,} are read.")


class AtomicOutputs:
    """Files of one directory that are written under temporary names and take their own names together."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._token = secrets.token_hex(4)
        self._names: dict[str, Path] = {}
        self._descriptor: int | None = None
        self._begun = False  # whether some file has its own name already and another does not

    def path(self, name: str) -> Path:
        """Where to write the file that is to be called ``name``."""
        final = self.directory / name
        try:
            if not _is_plain(name):
                raise ValueError("it is no plain name of a file")
            mode = os.lstat(final).st_mode
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:  # a ValueError for what no file system can hold, such as NUL
            reason = getattr(error, "strerror", None) or error
            shown = repr(name) if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]!r}…"
            raise InvalidInputError(f"No file can be called {shown}: {reason}. Give another name.") from error
        else:
            if not stat.S_ISREG(mode):
                # A rename would put a file in its place: of a link, and of /dev/null for whoever may write there.
                what = "a link" if stat.S_ISLNK(mode) else "a directory" if stat.S_ISDIR(mode) else "a device or a pipe"
                raise InvalidInputError(
                    f"{final} is {what}, but a file is to be written there. Move it away, or name another."
                )
        return self._names.setdefault(name, _temporary(self.directory, name, self._token))

    def commit(self) -> list[Path]:
        """Bring what was written safely to the disk, then replace; returns the files' own paths."""
        names = [name for name, path in self._names.items() if path.exists()]
        for name in names:
            with suppress(FileNotFoundError):  # a new file has nothing to keep
                self._names[name].chmod(stat.S_IMODE((self.directory / name).stat().st_mode))
            _flush(self._names[name])
        with _alone(self.directory):
            if len(names) > 1 and self._descriptor is not None:
                os.write(self._descriptor, (json.dumps(names) + "\n").encode())
                os.fsync(self._descriptor)
            try:
                self._replace(names)
            except OSError:
                raise
            except BaseException:  # Ctrl-C between two files: the set is made whole before it is heard
                self._replace(names)
                raise
        if names and os.name == "posix":
            with suppress(OSError):  # the files are in place; some file systems cannot flush a directory
                _flush(self.directory)
        return [self.directory / name for name in names]

    def _replace(self, names: list[str]) -> None:
        for name in names:
            if self._names[name].exists():  # else it has its name already
                os.replace(self._names[name], self.directory / name)
                self._begun = True
        self._begun = False

    def open_run(self) -> None:
        """Show other runs that this one is at work; an OSError where the directory cannot be written to."""
        _run_file(self.directory, self._token).touch(mode=0o600)
        if fcntl is None:
            return
        for _ in range(ATTEMPTS):
            descriptor = os.open(_run_file(self.directory, self._token), os.O_RDWR | os.O_CREAT, 0o600)
            with suppress(OSError):  # no locks here; or another run, which takes this one for dead, and removes the file
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_nlink > 0:
                    self._descriptor = descriptor
                    return
            os.close(descriptor)

    def discard(self) -> None:
        """Remove what was written but not committed; what was half committed is left to the next run."""
        if not self._begun:
            for path in self._names.values():
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            with suppress(OSError, ValueError):  # a ValueError where the directory can be none
                _run_file(self.directory, self._token).unlink(missing_ok=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def finish_dead_runs(directory: Path) -> None:
    """Give files their own names that a killed run of this user was about to, and remove what is left of such runs."""
    if fcntl is None:
        return
    found = [match for entry in os.scandir(directory) if (match := RUN_FILE.fullmatch(entry.name))]
    for match in found:
        path = directory / match[0]
        with suppress(OSError):  # another run has finished it, or it cannot be written to, and concerns nobody
            if not _is_own(os.lstat(path)):
                continue
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if not _is_own(os.fstat(descriptor)):  # put there since
                    continue
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused where the run is at work
                with _alone(directory):
                    _finish(directory, match[1], os.read(descriptor, LONGEST_NOTE))
                path.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _finish(directory: Path, token: str, noted: bytes) -> None:
    """Finish what a dead run has noted, and remove its other files."""
    for name in _noted_names(noted):
        path = _temporary(directory, name, token)
        with suppress(FileNotFoundError):  # it has its name already
            if _is_own(os.lstat(path)):
                os.replace(path, directory / name)
    for entry in list(os.scandir(directory)):
        if entry.name.startswith(".") and entry.name.endswith(f".{token}.tmp") and _is_own(os.lstat(entry.path)):
            os.unlink(entry.path)


def _noted_names(noted: bytes) -> list[str]:
    """The names in a note; none in one that no run has written, or without its end, before which nothing was replaced."""
    try:
        names = json.loads(noted) if noted.endswith(b"]\n") else []
    except (ValueError, RecursionError):
        return []
    is_note = isinstance(names, list) and all(isinstance(name, str) and _is_plain(name) for name in names)
    return names if is_note else []


def _is_own(found: os.stat_result) -> bool:
    """Whether it is a plain file, under this name only, of the user who runs this."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid == os.geteuid()


def _is_plain(name: str) -> bool:
    """Whether a name is that of a file in a directory, and none that runs are marked with."""
    try:
        os.fsencode(name)
    except ValueError:
        return False
    return Path(name).name == name and name not in ("", "..") and "\0" not in name and not RUN_FILE.fullmatch(name)


def _temporary(directory: Path, name: str, token: str) -> Path:
    """The same for the same name in every run; without the name itself where both together could be too long."""
    encoded = os.fsencode(name)
    kept = name if len(encoded) <= LONGEST_KEPT else hashlib.sha256(encoded).hexdigest()
    return directory / f".{kept}.{token}.tmp"


def _run_file(directory: Path, token: str) -> Path:
    return directory / f".fcca-{token}.run"


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """While no other run gives files of the directory their names: sets of two runs are not mixed."""
    descriptor = None
    with suppress(OSError):  # a file system without locks
        if fcntl is not None:
            descriptor = os.open(directory, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def atomic_outputs(directory: str | Path) -> Iterator[AtomicOutputs]:
    """Files of ``directory`` that appear when the block ends, and only if it ends well.

    The directory is made where it is missing, and one that cannot be written to is refused before the block begins. After
    an exception, KeyboardInterrupt included, the old files are as they were and nothing that was made is left. What killed
    runs have left is cleared away first.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fcca._files import atomic_outputs
    >>> directory = Path(tempfile.mkdtemp())
    >>> with atomic_outputs(directory) as out:
    ...     _ = out.path("a.txt").write_text("complete")
    >>> [file.name for file in directory.iterdir()]
    ['a.txt']
    """
    directory = Path(directory)
    made: list[Path] = []
    outputs = AtomicOutputs(directory)
    try:
        try:
            _make(directory, made)
            finish_dead_runs(directory)
            outputs.open_run()
        except (OSError, ValueError) as error:  # a ValueError for a name that no file system can hold
            reason = getattr(error, "strerror", None) or error
            raise InvalidInputError(f"Cannot write to the directory {directory}: {reason}. Choose another one.") from error
        yield outputs
        outputs.commit()
    finally:
        outputs.discard()
        for parent in reversed(made):
            with suppress(OSError):  # it holds files, ours or somebody else's
                parent.rmdir()


def _make(directory: Path, made: list[Path]) -> None:
    """Make a directory and its parents; those that were missing are added to ``made``, outermost first."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        with suppress(FileExistsError):  # somebody else made it in between
            path.mkdir()
            made.append(path)
    if not directory.is_dir():
        raise NotADirectoryError(f"{directory} is a file")


def _flush(path: Path) -> None:
    # Windows flushes only what is open for writing; POSIX opens directories for reading only.
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
