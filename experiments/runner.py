"""Runs the cells of a study on several processes; what is finished is kept, what was killed starts again."""

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
    """A cell that could not be computed, by name."""


def end_with_parent() -> None:
    """Have this process end when the one that started it does, however that ends."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            multiprocessing.connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def run_cell(cell: Cell, folder: Path) -> float:
    """Compute and keep one cell; returns its seconds."""
    from experiments.measure import measure

    begin = time.perf_counter()
    Store(folder).put(cell, measure(cell))
    return time.perf_counter() - begin


def run(cells: Sequence[Cell], folder: Path, jobs: int) -> int:
    """Run the cells that are not finished yet; returns how many were."""
    store = Store(folder)
    open_cells = [cell for cell in cells if not store.has(cell)]
    finished = len(cells) - len(open_cells)
    for name in THREAD_VARIABLES:  # one thread per process: the cells are what runs side by side
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
                except Exception as error:  # whatever it was, it is thrown on with the cell's name
                    raise CellFailedError(f"{cell.key} failed: {type(error).__name__}: {error}") from error
                progress.update(task, advance=1, description=f"{cell.key}")
                if not live:
                    print(f"{finished + n}/{len(cells)} {cell.key} {seconds:.1f} s", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return finished
