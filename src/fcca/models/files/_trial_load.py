"""Trial loads in a child process: a crash or a hang ends the child only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from fcca.exceptions import FCCAError, InvalidInputError, UnsupportedModelError

try:
    import resource
except ImportError:  # Windows has no such limits, only the timeout applies
    resource = None  # type: ignore[assignment]

LEAST_SECONDS, SECONDS_PER_MEGABYTE = 60.0, 10.0
LEAST_MEMORY, MEMORY_PER_BYTE = 4 * 2**30, 64

EXIT_REFUSED, EXIT_NO_MEMORY = 10, 11
ERRORS: dict[str, type[FCCAError]] = {error.__name__: error for error in (InvalidInputError, UnsupportedModelError)}

# Every thread reserves memory addresses, which are limited. New and freed memory is filled with a pattern, so that a
# library that reads beyond its arrays finds no plausible numbers.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "MALLOC_PERTURB_": "165"}

CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from fcca.models.files._trial_load import child
child(*sys.argv[2:])
"""

Load = Callable[[Path, bytes], Any]


def try_in_child(load: Load, path: Path, content: bytes, what: str) -> None:
    """Load a file in a child process with limits.

    Parameters
    ----------
    load : callable
        A module-level function of the path and the content. The child imports and calls it.
    path : Path
        For messages. The child gets the content, because the file may change.
    content : bytes
    what : str
        Format of the file for messages, such as "an XGBoost model".

    Raises
    ------
    InvalidInputError, UnsupportedModelError
        The errors of ``load`` in the child. An InvalidInputError is also raised if the child crashes, exceeds the time
        limit, or needs too much memory for the size of the file.
    MemoryError
        If this process has less memory than the child needs.
    """
    seconds = LEAST_SECONDS + SECONDS_PER_MEGABYTE * len(content) / 2**20
    memory = LEAST_MEMORY + MEMORY_PER_BYTE * len(content)
    arguments = [load.__module__, load.__qualname__, str(path), str(memory), str(int(seconds) + 1)]
    try:
        ended = _run(arguments, content, seconds)
    except subprocess.TimeoutExpired as error:
        raise _failed(path, what, f"did not finish within {seconds:.0f} seconds") from error
    if ended.returncode == 0:
        return
    if ended.returncode == EXIT_REFUSED:
        name, message = json.loads(ended.stdout)
        raise ERRORS.get(name, InvalidInputError)(message)
    if _memory_limit() < memory:
        raise MemoryError(f"There is not enough memory to load {path}.")
    if ended.returncode == EXIT_NO_MEMORY:
        raise _failed(path, what, f"needed more than {memory / 2**30:.1f} GiB of memory")
    raise _failed(path, what, f"crashed ({_cause(ended.returncode)})")


def _run(arguments: list[str], content: bytes, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Call :func:`child` in a new Python process."""
    return subprocess.run(
        # -I: no import from the working directory, unless this process does so.
        [sys.executable, "-I", "-c", CHILD, json.dumps(sys.path), *arguments],
        input=content,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | ENVIRONMENT,
        timeout=seconds,
        check=False,
    )


def _failed(path: Path, what: str, how: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path} looks like {what}, but it cannot be loaded: the child process that loaded it {how}. The file is probably "
        "damaged. Save it again. If you trust it, skip the child process: trusted=True in Python, --trust-model-file on the "
        "command line."
    )


def _cause(code: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"exit code {code}"


def _memory_limit() -> float:
    """Return the limit of memory addresses, in bytes."""
    limit = -1 if resource is None else resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit < 0 else limit


# --- in the child -------------------------------------------------------------------------------------------------------


def child(module: str, function: str, path: str, memory: str, seconds: str) -> NoReturn:
    """Load the content from standard input. The exit code is the outcome."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as report:
        os.dup2(2, 1)  # output of libraries goes to standard error
        try:
            _set_limits(int(memory), int(seconds))
            content = sys.stdin.buffer.read()
            getattr(import_module(module), function)(Path(path), content)
        except FCCAError as error:
            json.dump([type(error).__name__, str(error)], report)
            sys.exit(EXIT_REFUSED)
        except MemoryError:
            sys.exit(EXIT_NO_MEMORY)
    sys.exit(0)


def _set_limits(memory: int, seconds: int) -> None:
    """Lower the limits of memory addresses and processor time."""
    if resource is None:
        return
    for kind, limit in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        least = [limit, *(given for given in resource.getrlimit(kind) if given >= 0)]
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (min(least),) * 2)
