"""Worker processes of the quality benchmark. Each runs one fit at a time and is stopped at the time limit."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from _quality_fits import run_fit

#: On a shared machine, a fit gets less than one core. The limit is in CPU seconds, and a fit is stopped after this many
#: times the limit in any case.
PATIENCE = 4.0
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
DONE, TIMEOUT, FAILED = "done", "time limit", "failed"


@dataclass(frozen=True)
class Cell:
    """One split of one table, with the methods to fit."""

    table: str
    split: int
    methods: tuple[str, ...]


Outcome = dict[str, Any]


def serve(pipe: Connection) -> None:
    """Run the requested fits until the pipe is closed."""
    from _quality_methods import METHODS

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # some libraries print from C++
    while True:
        try:
            name, table, split, limit = pipe.recv()
        except EOFError:
            return
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, limit)  # its signal ends the process, also inside of C++
        try:
            outcome = {"status": DONE, **run_fit(METHODS[name], table, split, limit)}
        except Exception as error:  # reported by the parent: one method does not end the run
            outcome = {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(outcome)


class Worker:
    """A process, and the cell whose methods it fits."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.cell: Cell | None = None
        self.left: deque[str] = deque()
        self.method, self.began = "", 0.0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def take(self, cell: Cell) -> None:
        """Start with the methods of a cell."""
        self.cell, self.left = cell, deque(cell.methods)
        self.next()

    def next(self) -> None:
        """Request the next fit. If there is none, the worker is free."""
        if self.cell is None or not self.left:
            self.cell = None
            return
        self.method, self.began = self.left.popleft(), time.monotonic()
        self.pipe.send((self.method, self.cell.table, self.cell.split, self.limit))

    def outcome(self) -> Outcome | None:
        """Return the result of the fit; None while it runs."""
        assert self.cell is not None
        about = {"table": self.cell.table, "split": self.cell.split, "method": self.method}
        if self.pipe.poll():
            try:
                return about | self.pipe.recv()
            except EOFError:
                self.process.join()
                is_timeout = hasattr(signal, "SIGPROF") and self.process.exitcode == -signal.SIGPROF
                self.restart()
                reason = "" if is_timeout else "the process ended"
                return about | {"status": TIMEOUT if is_timeout else FAILED, "reason": reason}
        if time.monotonic() - self.began > PATIENCE * self.limit:
            self.restart()
            return about | {"status": TIMEOUT, "reason": ""}
        return None

    def restart(self) -> None:
        """End the process and start a new one."""
        self.close()
        self._start()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_cells(
    cells: Sequence[Cell], n_workers: int, limit: float, deadline: float, keep: Callable[[Outcome], None]
) -> Mapping[str, int]:
    """Fit the cells in order until the deadline. Return the number of finished and of remaining fits."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    waiting, n_done = deque(cells), 0
    workers = [Worker(limit) for _ in range(min(n_workers, len(cells)))]
    try:
        while time.monotonic() < deadline:
            for worker in workers:
                if worker.cell is None and waiting:
                    worker.take(waiting.popleft())
            busy = [worker for worker in workers if worker.cell is not None]
            if not busy:
                break
            wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in busy:
                outcome = worker.outcome()
                if outcome is not None:
                    keep(outcome)
                    n_done += 1
                    worker.next()
    finally:
        for worker in workers:
            worker.close()
    return {"done": n_done, "left": sum(len(cell.methods) for cell in cells) - n_done}
