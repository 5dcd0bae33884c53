"""Measure time and memory to find the thresholds of a million rows and fifty columns, with one and two threads.

Run: python benchmarks/million.py [--quick] [--rows N] [--target-rows N] [--json FILE]      (--quick: 100,000 rows)

The target is gradient boosting with 100 stumps, fitted on the first 20,000 rows. p1 is 1, so the counterfactual of every
row that the target predicts correctly is searched. Each fit runs in a separate process, so that no memory of an earlier fit
is counted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

import _results
from _data import paper_target
from fcca import FCCADiscretizer

N_ROWS, QUICK_ROWS, N_FEATURES, N_TARGET_ROWS = 1_000_000, 100_000, 50, 20_000
SECONDS_BAR = 60.0
POLL_SECONDS = 0.005
STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Run(NamedTuple):
    """One fit, with its table as JSON so that it can be sent between processes."""

    accuracy: float
    target_seconds: float
    seconds: float
    extra_megabytes: float
    statuses: dict[str, int]
    n_thresholds: int
    table: str


def make_data(n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw standard normal columns, and labels from the logistic of a nonlinear additive rule of ten columns."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, N_FEATURES))
    rule = 1.5 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - np.abs(X[:, 2]) + 2.0 * (X[:, 3] > 0.5) + X[:, 4] * (X[:, 4] > 0)
    rule += 0.8 * X[:, 5:10].sum(axis=1) - 0.8
    y = (random.random(n_rows) < 1 / (1 + np.exp(-2 * rule))).astype(np.int64)
    return X, y


def memory_megabytes(field: str) -> float:
    """Read a field of /proc/self/status, such as VmRSS, in megabytes."""
    line = next(text for text in STATUS.read_text().splitlines() if text.startswith(field + ":"))
    return int(line.split()[1]) * 1024 / 1e6


class PeakMemory:
    """Measure the highest resident memory within a ``with`` block.

    The peak counter of the kernel is used if it can be reset. Otherwise, a thread polls the memory.
    """

    def __enter__(self) -> PeakMemory:
        self.before = memory_megabytes("VmRSS")
        self.peak = self.before
        self.ended = threading.Event()
        self.has_kernel_peak = self._reset_kernel_peak()
        self.thread = threading.Thread(target=self._poll, daemon=True)
        if not self.has_kernel_peak:
            self.thread.start()
        return self

    def _reset_kernel_peak(self) -> bool:
        try:
            CLEAR_REFS.write_text("5")
        except OSError:
            return False
        return memory_megabytes("VmHWM") <= self.before * 1.05

    def _poll(self) -> None:
        while not self.ended.wait(POLL_SECONDS):
            self.peak = max(self.peak, memory_megabytes("VmRSS"))

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        if self.has_kernel_peak:
            self.peak = memory_megabytes("VmHWM")
        else:
            self.thread.join()

    @property
    def extra(self) -> float:
        return self.peak - self.before


def fit(n_rows: int, n_target_rows: int, n_jobs: int) -> Run:
    """Make the data and the target. Then measure the time and the additional memory of one fit."""
    X, y = make_data(n_rows)
    begin = time.perf_counter()
    target = paper_target().fit(X[:n_target_rows], y[:n_target_rows])
    target_seconds = time.perf_counter() - begin
    unseen = slice(n_target_rows, 3 * n_target_rows)
    accuracy = target.score(X[unseen], y[unseen])
    with PeakMemory() as memory:
        begin = time.perf_counter()
        discretizer = FCCADiscretizer(FrozenEstimator(target), p1=1.0, n_jobs=n_jobs, preset="paper").fit(X, y)
        seconds = time.perf_counter() - begin
    statuses = discretizer.counterfactuals_.counts()
    table = discretizer.all_thresholds_
    return Run(accuracy, target_seconds, seconds, memory.extra, statuses, len(table), table.to_json())


def fit_apart(n_rows: int, n_target_rows: int, n_jobs: int) -> Run:
    """Run ``fit`` in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(fit, (n_rows, n_target_rows, n_jobs))


def say(passed: bool, text: str) -> None:
    print(f"{'PASS' if passed else 'MISS'}  {text}")


def main() -> None:
    if not STATUS.is_file():
        sys.exit("This benchmark reads its memory from /proc/self/status, which only Linux has.")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    parser.add_argument("--rows", type=int, help=f"number of rows ({N_ROWS:,})")
    parser.add_argument(
        "--target-rows", type=int, default=N_TARGET_ROWS, help=f"rows on which the target is fitted ({N_TARGET_ROWS:,})"
    )
    options = parser.parse_args()
    n_rows, n_target = options.rows or (QUICK_ROWS if options.quick else N_ROWS), options.target_rows
    if n_rows < 3 * n_target:
        parser.error(
            f"--rows {n_rows} must be at least three times --target-rows {n_target}: twice as many judge the target."
        )
    megabytes = n_rows * N_FEATURES * 8 / 1e6
    runs = {n_jobs: fit_apart(n_rows, n_target, n_jobs) for n_jobs in (1, 2)}
    one, two = runs[1], runs[2]
    print(f"{n_rows:,} × {N_FEATURES} float64 = {megabytes:,.0f} MB; target fitted on the first {n_target:,} rows")
    print(f"(in {one.target_seconds:.1f} s, not counted), accuracy {one.accuracy:.3f} on the next {2 * n_target:,}")
    print(f"{'n_jobs':>6}{'seconds':>10}{'extra MB':>10}{'thresholds':>12}  counterfactuals")
    for n_jobs, run in runs.items():
        print(f"{n_jobs:>6}{run.seconds:>10.2f}{run.extra_megabytes:>10.0f}{run.n_thresholds:>12}  {run.statuses}")
        figures = {"seconds": run.seconds, "extra MB": run.extra_megabytes, "thresholds": run.n_thresholds}
        _results.row(f"{n_rows:,} × {N_FEATURES}", n_jobs=n_jobs, **figures, counterfactuals=str(run.statuses))
    extra = max(one.extra_megabytes, two.extra_megabytes)
    if (
        n_rows >= N_ROWS
    ):  # the bars are for a million rows; what does not grow with the rows is most of a small table's memory
        say(two.seconds <= SECONDS_BAR, f"thresholds in at most {SECONDS_BAR:g} s with n_jobs=2: {two.seconds:.2f} s")
        say(extra <= megabytes, f"at most the data once more in memory: {extra:.0f} of {megabytes:.0f} MB")
    say(one.table == two.table, "n_jobs=1 and n_jobs=2 give identical tables")


if __name__ == "__main__":
    _results.recorded(main)
