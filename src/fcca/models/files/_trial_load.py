"""Load a file in a child process first, for safety.

If the library that loads the file crashes or hangs, only the child process ends.
"""

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
    """Try to load a file in a child process.

    Time and memory of the child process are limited. If no error is raised, the file can be loaded in this process. The
    loaded object is not returned.

    Parameters
    ----------
    load : callable
        ``load(path, content)``, a function of a module. The child process imports and calls it.
    path : Path
        The file, for messages. The child process reads ``content`` instead, because the file may change.
    content : bytes
        The content of the file.
    what : str
        Format of the file for messages, such as "an XGBoost model".

    Raises
    ------
    InvalidInputError, UnsupportedModelError
        The errors of ``load`` in the child process. An InvalidInputError is also raised if the child process crashes
        or exceeds a limit. The limits grow with the size of the file.
    MemoryError
        If the child process failed, and the memory limit of this process is lower than that of the child process.
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
        raise MemoryError(
            f"The memory limit of this process is too low to load {path}. Raise the limit, or use a machine with more "
            "memory."
        )
    if ended.returncode == EXIT_NO_MEMORY:
        raise _failed(path, what, f"needed more than {memory / 2**30:.1f} GiB of memory")
    raise _failed(path, what, f"crashed ({_cause(ended.returncode)})")


def _run(arguments: list[str], content: bytes, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Call :func:`child` in a new Python process, and wait for it.

    ``content`` is passed as standard input. After ``seconds``, the process is ended.
    """
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
        "damaged. Save the model again. If you trust the file, skip the child process: trusted=True in Python, "
        "--trust-model-file on the command line."
    )


def _cause(code: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"exit code {code}"


def _memory_limit() -> float:
    """Return the limit on the address space of this process, in bytes.

    Return infinity if there is no limit.
    """
    limit = -1 if resource is None else resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit < 0 else limit


# --- in the child -------------------------------------------------------------------------------------------------------


def child(module: str, function: str, path: str, memory: str, seconds: str) -> NoReturn:
    """Load the content from standard input, in the child process.

    This calls ``function`` of ``module`` with ``path`` and the content. The limits are ``memory`` in bytes, and ``seconds``
    of processor time. The exit code is 0 if this succeeds, ``EXIT_REFUSED`` for an error of fcca, and ``EXIT_NO_MEMORY`` for
    a MemoryError.
    """
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
    """Limit the address space and processor time of this process.

    ``memory`` is in bytes.
    """
    if resource is None:
        return
    for kind, limit in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        least = [limit, *(given for given in resource.getrlimit(kind) if given >= 0)]
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (min(least),) * 2)
