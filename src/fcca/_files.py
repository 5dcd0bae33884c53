"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fcca.exceptions import InvalidInputError

__all__ = ["AtomicOutputs", "atomic_outputs"]


class AtomicOutputs:
    """Files of one directory that are written under temporary names and take their own names together."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._temporary: dict[str, Path] = {}

    def path(self, name: str) -> Path:
        """Where to write the file that is to be called ``name``."""
        if (self.directory / name).is_dir():
            raise InvalidInputError(
                f"{self.directory / name} is a directory, but a file is to be written there. Move it away."
            )
        if name not in self._temporary:
            self._temporary[name] = self.directory / f".{name}.{secrets.token_hex(4)}.tmp"
        return self._temporary[name]

    def commit(self) -> list[Path]:
        """Bring what was written safely to the disk, then replace; returns the files' own paths."""
        written = {self.directory / name: path for name, path in self._temporary.items() if path.exists()}
        for path in written.values():
            _flush(path)
        for final, path in written.items():
            os.replace(path, final)
        if written and os.name == "posix":
            with suppress(OSError):  # the files are in place; some file systems cannot flush a directory
                _flush(self.directory)
        return list(written)

    def discard(self) -> None:
        """Remove what was written but not committed."""
        for path in self._temporary.values():
            with suppress(OSError):
                path.unlink(missing_ok=True)


@contextmanager
def atomic_outputs(directory: str | Path) -> Iterator[AtomicOutputs]:
    """Files of ``directory`` that appear when the block ends, and only if it ends well.

    The directory is made where it is missing, and one that cannot be written to is refused before the block begins. After
    an exception, KeyboardInterrupt included, the old files are as they were and nothing that was made is left.

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
            _check_writable(directory)
        except OSError as error:
            reason = error.strerror or error
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


def _check_writable(directory: Path) -> None:
    probe = directory / f".{secrets.token_hex(4)}.tmp"
    probe.touch(exist_ok=False)
    probe.unlink()


def _flush(path: Path) -> None:
    # Windows flushes only what is open for writing; POSIX opens directories for reading only.
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
