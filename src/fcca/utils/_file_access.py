"""Safe file access: regular files only for input, atomic replacement for output.

Each output is written to a temporary file next to its destination. ``os.replace`` then renames it. If a run is killed, every
file is either old or new, never half-written. Temporary files named ``.<name>.<random>.tmp`` may remain and can be deleted.
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

NAME_KEPT = 30  # characters of a file name that its temporary name repeats; file systems allow 143 to 255 bytes
NAME_SHOWN = 80


def as_path(given: Any) -> Path:
    """Convert a string or a path to a Path."""
    try:
        return Path(given)
    except TypeError as error:
        raise InvalidInputError(f"A file path must be a string or a Path, got {type(given).__name__}.") from error


def regular_content(path: Path, largest: int) -> bytes:
    """Read the whole content of a regular file.

    Devices and pipes raise an error and are not opened, because reading them may never end.

    Parameters
    ----------
    path : Path
        The file to read. Links are followed.
    largest : int
        Maximum file size in bytes.

    Raises
    ------
    InvalidInputError
        If the path is not a regular file, or the file has more than ``largest`` bytes.
    OSError, ValueError
        If the file does not exist, cannot be read or has an invalid name.
    """
    _check_regular(path, os.stat(path), largest)  # before opening: opening alone can affect a device
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        _check_regular(path, found, largest)
        return file.read(found.st_size)


def _check_regular(path: Path, found: os.stat_result, largest: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise InvalidInputError(f"{path} is a directory. Pass the path of a file.")
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInputError(f"{path} is a device or a pipe. Copy its contents into a file and pass that file.")
    if found.st_size > largest:
        raise InvalidInputError(
            f"{path} has {found.st_size:,} bytes, more than the limit of {largest:,}. Give a smaller file."
        )


class AtomicOutputs:
    """Output files in one directory, with temporary names until all are complete.

    Use :func:`atomic_outputs` to create such an object.

    Parameters
    ----------
    directory : Path
        An existing directory.
    last : str or None
        Name of the file that is renamed after all others.
    """

    def __init__(self, directory: Path, last: str | None = None) -> None:
        self.directory = directory
        self._last = last
        self._temporary: dict[str, Path] = {}

    def path(self, name: str) -> Path:
        """Return the temporary path for writing the output file ``name``."""
        _check_destination(self.directory, name)
        self.directory.mkdir(parents=True, exist_ok=True)  # another run may have removed it while it was empty
        unique = f".{name[:NAME_KEPT]}.{secrets.token_hex(4)}.tmp"
        return self._temporary.setdefault(name, self.directory / unique)

    def commit(self) -> None:
        """Flush all files to disk, then rename them to their final names.

        Files are renamed in the order in which their paths were requested. The file ``last`` is renamed after all others.
        """
        names = [name for name, path in self._temporary.items() if path.exists()]
        names.sort(key=lambda name: name == self._last)
        for name in names:
            with suppress(FileNotFoundError):  # without an old file there are no permissions to copy
                self._temporary[name].chmod(stat.S_IMODE((self.directory / name).stat().st_mode))
            _flush(self._temporary[name])
        try:
            self._replace(names)
        except KeyboardInterrupt:  # finish the renames before stopping
            self._replace(names)
            raise
        if names and os.name == "posix":
            with suppress(OSError):  # some file systems cannot flush a directory
                _flush(self.directory)

    def discard(self) -> None:
        """Remove the temporary files that were not renamed."""
        for path in self._temporary.values():
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _replace(self, names: list[str]) -> None:
        for name in names:
            if self._temporary[name].exists():  # False if an interrupted attempt already renamed it
                os.replace(self._temporary[name], self.directory / name)


@contextmanager
def atomic_outputs(directory: str | Path, *, last: str | None = None) -> Iterator[AtomicOutputs]:
    """Write several files that appear only when the ``with`` block succeeds.

    A missing directory is created. A directory without write permission raises an error before the block begins. After an
    exception or Ctrl-C, the old files are unchanged, and temporary files and new directories are removed. If the process is
    killed while the files are renamed, some of them are new and the others are old.

    Parameters
    ----------
    directory : str or Path
        The directory of the files.
    last : str, optional
        Name of the file that is renamed after all others, such as a certificate.

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
        except (OSError, ValueError) as error:  # ValueError: an invalid name
            reason = getattr(error, "strerror", None) or error
            raise InvalidInputError(
                f"Cannot write to the directory {directory}: {reason}. Choose another directory."
            ) from error
        yield outputs
        outputs.commit()
    finally:
        outputs.discard()
        for parent in reversed(made):
            with suppress(OSError):  # the directory is not empty
                parent.rmdir()


def _check_destination(directory: Path, name: str) -> None:
    """Check that the output file ``name`` is a regular file or does not exist."""
    destination = directory / name
    try:
        if Path(name).name != name or name in ("", ".."):
            raise ValueError("it is not the name of a file")
        mode = os.lstat(destination).st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # ValueError: an invalid character, such as NUL
        reason = getattr(error, "strerror", None) or error
        shown = repr(name) if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]!r}…"
        raise InvalidInputError(f"No file can be called {shown}: {reason}. Choose another name.") from error
    if not stat.S_ISREG(mode):  # the rename would replace the link or the device
        what = "a link" if stat.S_ISLNK(mode) else "a directory" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise InvalidInputError(f"{destination} is {what}. Only regular files are replaced. Choose another name.")


def _make(directory: Path, made: list[Path]) -> None:
    """Create a directory and its parents, if they do not exist.

    Directories that this call creates are appended to ``made``, parents first.
    """
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        with suppress(FileExistsError):  # another process created it in the meantime
            path.mkdir()
            made.append(path)
    if not directory.is_dir():
        raise NotADirectoryError(f"{directory} is a file")


def _flush(path: Path) -> None:
    # Windows flushes only files open for writing. POSIX opens directories for reading only.
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
