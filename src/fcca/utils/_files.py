"""Paths of input files, and output files that are written whole.

Each output is written to a temporary file beside its target, which then takes the target's name by ``os.replace``. A killed
run leaves every target either old or new, never half-written. It may leave temporary files, ``.<name>.<random>.tmp``: they
are never read and can be deleted.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fcca.exceptions import InvalidInputError

__all__ = ["AtomicOutputs", "as_path", "atomic_outputs", "regular_content"]

NAME_KEPT = 30  # characters of a name that its temporary name repeats; file systems take 143 to 255 bytes
NAME_SHOWN = 80


def as_path(given: Any) -> Path:
    """Turn a text or a path into a Path; raise InvalidInputError for anything else."""
    try:
        return Path(given)
    except TypeError as error:
        raise InvalidInputError(f"Expected the path of a file, a text or a Path; got {type(given).__name__}.") from error


def regular_content(path: Path, largest: int) -> bytes:
    """Read a regular file.

    Devices and pipes are refused without being opened: they may have no end.

    Parameters
    ----------
    path : Path
        Links are followed.
    largest : int
        The largest size to read, in bytes.

    Raises
    ------
    InvalidInputError
        If the path is not a regular file, or the file is larger.
    OSError, ValueError
        If the file does not exist or cannot be read, or if the name is not possible.
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
    """Output files of one directory, under temporary names until they are complete.

    Parameters
    ----------
    directory : Path
    last : str or None
        Name of the file that is replaced after all others.
    """

    def __init__(self, directory: Path, last: str | None = None) -> None:
        self.directory = directory
        self._last = last
        self._temporary: dict[str, Path] = {}

    def path(self, name: str) -> Path:
        """Temporary path for the file ``name``; raise InvalidInputError if no file can be written there."""
        _check_target(self.directory, name)
        self.directory.mkdir(parents=True, exist_ok=True)  # another run may have removed it while it was empty
        unique = f".{name[:NAME_KEPT]}.{secrets.token_hex(4)}.tmp"
        return self._temporary.setdefault(name, self.directory / unique)

    def commit(self) -> None:
        """Flush all files to the disk, then let them replace their targets in the order of their first ``path``."""
        names = [name for name, path in self._temporary.items() if path.exists()]
        names.sort(key=lambda name: name == self._last)
        for name in names:
            with suppress(FileNotFoundError):  # no old file, no permissions to keep
                self._temporary[name].chmod(stat.S_IMODE((self.directory / name).stat().st_mode))
            _flush(self._temporary[name])
        try:
            self._replace(names)
        except KeyboardInterrupt:  # finish the few renames before stopping
            self._replace(names)
            raise
        if names and os.name == "posix":
            with suppress(OSError):  # some file systems cannot flush a directory
                _flush(self.directory)

    def discard(self) -> None:
        """Remove the temporary files that are left."""
        for path in self._temporary.values():
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _replace(self, names: list[str]) -> None:
        for name in names:
            if self._temporary[name].exists():  # False if an interrupted attempt has renamed it
                os.replace(self._temporary[name], self.directory / name)


@contextmanager
def atomic_outputs(directory: str | Path, *, last: str | None = None) -> Iterator[AtomicOutputs]:
    """Write files of ``directory`` that take their names when the block ends without an error.

    A missing directory is made. A directory without write permission is refused before the block begins. After an
    exception, KeyboardInterrupt included, the old files are unchanged, and temporary files and new directories are
    removed. If the process is killed during the renames, some files are new and the others old.

    Parameters
    ----------
    directory : str or Path
    last : str, optional
        Name of the file that is replaced after all others, such as a certificate of them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fcca.utils import atomic_outputs
    >>> directory = Path(tempfile.mkdtemp())
    >>> with atomic_outputs(directory) as out:
    ...     _ = out.path("a.txt").write_text("complete")
    >>> [file.name for file in directory.iterdir()]
    ['a.txt']
    """
    directory = Path(directory)
    made: list[Path] = []
    outputs = AtomicOutputs(directory, last)
    try:
        try:
            _make(directory, made)
            with tempfile.TemporaryFile(dir=directory):
                pass
        except (OSError, ValueError) as error:  # a ValueError for a name that is not possible
            reason = getattr(error, "strerror", None) or error
            raise InvalidInputError(f"Cannot write to the directory {directory}: {reason}. Choose another one.") from error
        yield outputs
        outputs.commit()
    finally:
        outputs.discard()
        for parent in reversed(made):
            with suppress(OSError):  # it holds files
                parent.rmdir()


def _check_target(directory: Path, name: str) -> None:
    """Check that a plain file is at a target, or nothing."""
    target = directory / name
    try:
        if Path(name).name != name or name in ("", ".."):
            raise ValueError("it is not the name of a file")
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # a ValueError for a character that is not possible, such as NUL
        reason = getattr(error, "strerror", None) or error
        shown = repr(name) if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]!r}…"
        raise InvalidInputError(f"No file can be called {shown}: {reason}. Give another name.") from error
    if not stat.S_ISREG(mode):  # a link or /dev/null would be replaced by a file
        what = "a link" if stat.S_ISLNK(mode) else "a directory" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise InvalidInputError(f"{target} is {what}, but a file is to be written there. Move it away, or name another.")


def _make(directory: Path, made: list[Path]) -> None:
    """Make a directory and its missing parents, and add them to ``made``, outermost first."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        with suppress(FileExistsError):  # made by another process in between
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
