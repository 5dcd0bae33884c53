"""Run the cells of a study in several processes. Finished cells are kept; a killed run can be continued."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.store import Store
from experiments.study import Cell

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class CellFailedError(RuntimeError):
    """Raised if a cell cannot be computed. The message has the name of the cell."""


def end_with_parent() -> None:
    """End this process as soon as its parent process ends, even if the parent is killed."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            multiprocessing.connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def run_cell(cell: Cell, folder: Path) -> float:
    """Compute and store one cell, and return the seconds that it took."""
    from experiments.measure import measure

    begin = time.perf_counter()
    Store(folder).put(cell, measure(cell))
    return time.perf_counter() - begin


def run(cells: Sequence[Cell], folder: Path, jobs: int) -> int:
    """Run the cells that are not finished yet, and return how many cells were already finished."""
    store = Store(folder)
    open_cells = [cell for cell in cells if not store.has(cell)]
    finished = len(cells) - len(open_cells)
    for name in THREAD_VARIABLES:  # one thread per process, because the cells already run in parallel
        os.environ.setdefault(name, "1")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    live = sys.stdout.isatty()
    with (
        Progress(*columns, disable=not live) as progress,
        ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=end_with_parent) as pool,
    ):
        task = progress.add_task("cells", total=len(cells), completed=finished)
        waiting = {pool.submit(run_cell, cell, folder): cell for cell in open_cells}
        try:
            for n, future in enumerate(as_completed(waiting), start=1):
                cell = waiting[future]
                try:
                    seconds = future.result()
                except BrokenProcessPool:
                    raise
                except Exception as error:  # any error is raised again with the name of the cell
                    raise CellFailedError(f"{cell.key} failed: {type(error).__name__}: {error}") from error
                progress.update(task, advance=1, description=f"{cell.key}")
                if not live:
                    print(f"{finished + n}/{len(cells)} {cell.key} {seconds:.1f} s", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return finished
