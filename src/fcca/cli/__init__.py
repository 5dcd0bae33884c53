"""The command line program ``fcca``: Ctrl-C, memory limits and the entry point.

The commands distill, explain, predict, report, export, verify and benchmark are in the other modules of this package.
"""

import _thread
import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130

# Functions of xgboost/core.py that its C++ code calls.
XGBOOST_CALLBACKS = ("_next_wrapper", "_reset_wrapper")
SECONDS_OF_A_CALLBACK = 0.05

OUT_OF_MEMORY = (
    "There is not enough memory{limit}. No file was left half-written. Allow more memory, or use fewer rows, --jobs 1, or a "
    "Parquet file with --stream."
)
# Messages of other errors that mean a lack of memory.
OUT_OF_MEMORY_MESSAGES = ("failed to map segment", "cannot allocate memory", "start new thread")

# All computations import these modules. Each import takes less than half a second.
LIBRARIES = ("numpy", "pandas", "scipy.sparse.linalg", "scipy.spatial", "scipy.optimize", "scipy.stats", "sklearn.ensemble")

# With less memory, importing OpenBLAS hangs (measured: at 420 MB, and at 500 MB with a second thread).
LEAST_MEMORY, SCARCE_MEMORY = 560 * 2**20, 2 * 2**30
# Library threads end the process if they get no memory.
FRUGAL = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "LOKY_MAX_CPU_COUNT": "1",  # the meaning of --jobs -1
    "ARROW_IO_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


def interrupt(signal_number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C by raising ``KeyboardInterrupt``.

    An exception inside a Python callback of XGBoost would crash XGBoost. In that case, Ctrl-C is sent again a moment
    later, when the callback has ended.
    """
    while frame is not None:
        if frame.f_code.co_name in XGBOOST_CALLBACKS and "xgboost" in frame.f_code.co_filename:
            threading.Timer(SECONDS_OF_A_CALLBACK, _thread.interrupt_main).start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


@contextmanager
def interrupts_deferred(*, libraries: bool = True) -> Iterator[None]:
    """Delay Ctrl-C until the end of the ``with`` block, which contains imports.

    During an import, Ctrl-C may get lost or look like a broken library. If ``libraries`` is True, the largest libraries are
    imported before the block, one by one. Ctrl-C then works between two of these imports.
    """
    for name in LIBRARIES if libraries else ():
        with interrupts_deferred(libraries=False):
            import_module(name)
    pending = False

    def remember(signal_number: int, frame: FrameType | None) -> None:
        nonlocal pending
        pending = True

    usual = signal.getsignal(signal.SIGINT)
    if usual not in (signal.default_int_handler, interrupt) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if pending:
        raise KeyboardInterrupt


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return True if an error means a lack of memory.

    The other errors in its exception chain are checked in the same way.
    """
    while error is not None:
        message = str(error).lower() if isinstance(error, ImportError | RuntimeError | OSError) else ""
        if isinstance(error, MemoryError) or any(words in message for words in OUT_OF_MEMORY_MESSAGES):
            return True
        error = error.__cause__ or error.__context__
    return False


def out_of_memory() -> str:
    """Return the error message for a lack of memory."""
    limit = memory_limit()
    return OUT_OF_MEMORY.format(limit="" if limit is None else f": the limit (ulimit -v) is {limit >> 20:,} MB")


def memory_limit() -> int | None:
    """Return the memory limit of the process in bytes (``ulimit -v``); None without one."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def memory_is_scarce() -> bool:
    """Return True if the process has a memory limit below 2 GB."""
    limit = memory_limit()
    return limit is not None and limit < SCARCE_MEMORY


def check_memory(needed: int) -> None:
    """Raise a ``MemoryError`` if fewer than ``needed`` bytes are left below the memory limit.

    Call this function before work that needs much memory. Otherwise, a library thread whose allocation fails would end
    the whole process, without an error message. Memory limits of 2 GB and more are not checked.
    """
    limit, used = memory_limit(), Path("/proc/self/statm")
    if limit is not None and memory_is_scarce() and used.exists():
        n_pages = int(used.read_text(encoding="ascii").split()[0])
        if n_pages * os.sysconf("SC_PAGE_SIZE") + needed > limit:
            raise MemoryError


def main() -> None:
    """Run the program; the entry point of the console script ``fcca``."""
    try:
        _main()
    except (MemoryError, ImportError, RuntimeError, OSError) as error:
        if not is_out_of_memory(error):
            raise
        os.write(2, f"Error: {out_of_memory()}\n".encode())
        sys.exit(EXIT_FAILED)


def _main() -> None:
    if memory_is_scarce():
        for name, value in FRUGAL.items():
            os.environ.setdefault(name, value)  # read when libraries are imported
        if (memory_limit() or 0) < LEAST_MEMORY:
            raise MemoryError
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # no Ctrl-C while the finished process ends
    try:
        with interrupts_deferred(libraries=False):  # imported here, so that Ctrl-C during the import is handled below
            from fcca.cli._app import run
        run()
    except (KeyboardInterrupt, SystemExit) as leaving:
        if isinstance(leaving, SystemExit) and leaving.code != EXIT_INTERRUPTED:
            raise
        os.write(2, b"Interrupted.\n")
        sys.exit(EXIT_INTERRUPTED)
