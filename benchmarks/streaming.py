"""Measure time and peak memory of ``fcca distill`` for tables read in chunks, by number of rows, with one thread.

Run: python benchmarks/streaming.py [--quick] [--full] [--memory-rows N] [--tables DIR] [--json FILE]
     (to a million rows; --quick: to 300,000; --full: to 20 million)

The tables come from synthetic.py, and covertype_2v4 is added if FCCA_DATA has it. Each run is a separate process, whose CPU
seconds and peak memory are counted by the system. The time over all rows is the time of the steps that read all rows, as the
command reports it. It excludes the start of Python and the fit of the black box on a sample of fixed size. Tables of up to
--memory-rows rows are also run in memory, and the files of both runs are compared byte by byte.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _results

# numpy and pyarrow are not imported here: the system counts the memory of this process for the processes that it starts.
HERE = Path(__file__).parent
# The command reports the seconds of its steps. Here they are CPU seconds, which do not depend on other work on the machine.
FCCA = [sys.executable, "-c", "import time; time.perf_counter = time.process_time; from fcca.cli import main; main()"]
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")} | {"ARROW_IO_THREADS": "1"}
COMPARED = ("tree.json", "thresholds.json", "thresholds.csv")

QUICK_SIZES = (100_000, 300_000)
SIZES = (*QUICK_SIZES, 1_000_000)
FULL_SIZES = (*SIZES, 3_000_000, 10_000_000, 20_000_000)
SAMPLE, QUICK_SAMPLE = 100_000, 10_000
MEMORY_ROWS = 1_000_000
FEATURES, Q = 30, 0.9
STEPS = ("labels", "sample", "fcca", "rates", "files")  # that go through all rows

PEAK_BAR = 1500.0
SLOPE_BAR = (0.9, 1.1)
SHORTEST_RANGE = 10.0  # of rows, from the smallest to the largest table, that a slope is judged on
EXTRAPOLATED_ROWS, EXTRAPOLATED_CORES = 10**9, (1, 16, 128)


# --- measuring ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One process: its time, memory and output."""

    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    printed: str


def run(command: list[str]) -> Run:
    """Run a command with one thread, and return its time, memory and output."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed, tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=printed, stderr=errors, env=os.environ | ONE_THREAD)
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        errors.seek(0)
        if process.returncode:
            sys.exit(f"{' '.join(command[2:])}\nended with {process.returncode}: {errors.read().strip()}")
        bytes_per_unit = 1 if sys.platform == "darwin" else 1024
        return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * bytes_per_unit / 1e6, printed.read())


@dataclass(frozen=True)
class Distilled:
    """One run of ``fcca distill``, and its CPU seconds over all rows."""

    rows: int
    run: Run
    row_cpu_seconds: float
    files: dict[str, bytes]

    @property
    def row_seconds(self) -> float:
        """Estimated wall seconds over all rows, under the assumption that waiting times are spread evenly over the run."""
        return self.row_cpu_seconds * self.run.seconds / self.run.cpu_seconds

    @property
    def rows_per_second(self) -> float:
        """Rows per CPU second over all rows."""
        return self.rows / self.row_cpu_seconds


def distilled(table: Path, out: Path, *, sample: int, in_memory: bool = False) -> Distilled:
    """Run ``fcca distill`` over a table."""
    options = [
        "--label",
        "label",
        "--no-stream" if in_memory else "--stream",
        "--sample",
        str(sample),
        "--random-state",
        "0",
    ]
    options += ["--test-size", "0", "--q", str(Q), "--no-report", "--jobs", "1", "--json", "--out", str(out)]
    found = run([*FCCA, "distill", str(table), *options])
    document: dict[str, Any] = json.loads(found.printed)
    steps = sum(document["seconds"].get(step, 0.0) for step in STEPS)
    return Distilled(document["rows"]["total"], found, steps, {name: (out / name).read_bytes() for name in COMPARED})


@dataclass(frozen=True)
class Case:
    """A table, read in chunks and, if it fits, in memory."""

    name: str
    streamed: Distilled
    in_memory: Distilled | None

    @property
    def differing(self) -> list[str]:
        """The files in which the two runs differ."""
        if self.in_memory is None:
            return []
        return [name for name in COMPARED if self.streamed.files[name] != self.in_memory.files[name]]

    def figures(self) -> dict[str, Any]:
        """Return the figures of the table's line, by column name."""
        one, other = self.streamed, self.in_memory
        return {
            "rows": one.rows,
            "seconds": one.run.seconds,
            "CPU seconds": one.run.cpu_seconds,
            "over all rows, seconds": one.row_seconds,
            "over all rows, CPU seconds": one.row_cpu_seconds,
            "rows per CPU second": one.rows_per_second,
            "peak MB": one.run.peak_megabytes,
            "in memory, CPU seconds": None if other is None else other.run.cpu_seconds,
            "in memory, peak MB": None if other is None else other.run.peak_megabytes,
            "same files": None if other is None else not self.differing,
        }


def measured(name: str, table: Path, *, sample: int, with_memory: bool) -> Case:
    """Run the table in chunks and in memory, and print one line."""
    in_memory = None
    with tempfile.TemporaryDirectory() as folder:
        streamed = distilled(table, Path(folder) / "streamed", sample=sample)
        if with_memory:
            in_memory = distilled(table, Path(folder) / "in_memory", sample=sample, in_memory=True)
    case = Case(name, streamed, in_memory)
    print(line(case), flush=True)
    _results.row("By the number of rows", table=name, **case.figures())
    return case


# --- the tables ---------------------------------------------------------------------------------------------------------


@contextmanager
def table_of(what: int | Path, kept: Path | None) -> Iterator[Path]:
    """Yield the Parquet file of a synthetic table or of a CSV file, in the folder ``kept`` or in a temporary folder."""
    name = f"synthetic-{what}x{FEATURES}" if isinstance(what, int) else what.name.split(".")[0]
    how = ["--rows", str(what), "--features", str(FEATURES)] if isinstance(what, int) else ["--csv", str(what)]
    with tempfile.TemporaryDirectory() as folder:
        path = (kept or Path(folder)) / f"{name}.parquet"
        if not path.exists():
            run([sys.executable, str(HERE / "synthetic.py"), str(path), *how])
        yield path


def covertype() -> Path | None:
    """Find the file of covertype_2v4; None if it is not available."""
    folder = os.environ.get("FCCA_DATA")
    paths = [Path(folder) / f"covertype_2v4{ending}" for ending in (".csv.gz", ".csv")] if folder else []
    return next((path for path in paths if path.is_file()), None)


# --- what is printed ----------------------------------------------------------------------------------------------------

HEADER = (
    f"{'':<25} | {'the whole command':>19} | {'over all rows':>19} {'rows per':>10} | {'peak':>6} | {'in memory':>8}\n"
    f"{'table':<14}{'rows':>11} | {'seconds':>9} {'CPU s':>9} | {'seconds':>9} {'CPU s':>9} {'CPU s':>10} | {'MB':>6} | "
    f"{'CPU s':>8} {'MB':>6}  files"
)


def line(case: Case) -> str:
    """Format one line of the printed table."""
    one, other = case.streamed, case.in_memory
    text = f"{case.name:<14}{one.rows:>11,} | {one.run.seconds:>9.1f} {one.run.cpu_seconds:>9.1f} | {one.row_seconds:>9.1f} "
    text += f"{one.row_cpu_seconds:>9.1f} {one.rows_per_second:>10,.0f} | {one.run.peak_megabytes:>6,.0f} | "
    if other is None:
        return f"{text}{'–':>8} {'–':>6}"
    same = f"differ: {', '.join(case.differing)}" if case.differing else "the same"
    return f"{text}{other.run.cpu_seconds:>8.1f} {other.run.peak_megabytes:>6,.0f}  {same}"


def slope(rows: list[int], seconds: list[float]) -> float:
    """Fit the slope of log seconds against log rows by least squares; 1 if time is linear in rows."""
    return statistics.linear_regression([math.log(n) for n in rows], [math.log(s) for s in seconds]).slope


def verdict(is_met: bool, text: str) -> None:
    """Print one line for a bar."""
    print(f"{'PASS' if is_met else 'MISS'}  {text}")


def judge(cases: list[Case], sized: list[Case]) -> None:
    """Check the bars. ``sized`` are the tables that differ only in the number of rows."""
    largest = max(cases, key=lambda case: case.streamed.run.peak_megabytes)
    peak = largest.streamed.run.peak_megabytes
    verdict(peak < PEAK_BAR, f"peak memory below {PEAK_BAR:,.0f} MB: at most {peak:,.0f} MB ({largest.name})")
    judge_slope([case.streamed for case in sized])
    both = [case for case in cases if case.in_memory is not None]
    if not both:
        print("No table was run in memory: nothing to compare the files with.")
        return
    same = [case for case in both if not case.differing]
    text = f"{', '.join(COMPARED)} are those of the run in memory: {len(same)} of {len(both)} tables"
    verdict(len(same) == len(both), text)
    for case in both:
        if case.differing:
            print(f"      {case.name} differs in {', '.join(case.differing)}")


def judge_slope(runs: list[Distilled]) -> None:
    """Check how the time grows with the number of rows."""
    rows = [one.rows for one in runs]
    slopes = {
        "over all rows, CPU": slope(rows, [one.row_cpu_seconds for one in runs]),
        "over all rows, wall": slope(rows, [one.row_seconds for one in runs]),
        "the whole command, CPU": slope(rows, [one.run.cpu_seconds for one in runs]),
        "the whole command, wall": slope(rows, [one.run.seconds for one in runs]),
    }
    span = f"{min(rows):,} to {max(rows):,} rows"
    for name, found in slopes.items():
        _results.row("Slope of log seconds against log rows", time=name, span=span, slope=found)
    judged = slopes["over all rows, CPU"]
    others = ", ".join(f"{name} {found:.2f}" for name, found in slopes.items() if name != "over all rows, CPU")
    text = f"log–log slope of the CPU seconds over all rows, {span}: {judged:.2f} ({others})"
    if max(rows) / min(rows) < SHORTEST_RANGE:
        print(f"Too short a range to judge: {text}")
    else:
        verdict(SLOPE_BAR[0] <= judged <= SLOPE_BAR[1], f"{text}; bar {SLOPE_BAR[0]} to {SLOPE_BAR[1]}")


def extrapolate(largest: Distilled) -> None:
    """Print the estimated time of a larger table at the measured rate."""
    rate = largest.rows_per_second
    hours = {cores: EXTRAPOLATED_ROWS / rate / cores / 3600 for cores in EXTRAPOLATED_CORES}
    told = ", ".join(f"{found:.2f} hours on {cores} core{'s' if cores > 1 else ''}" for cores, found in hours.items())
    print(f"{rate:,.0f} rows per second and core, as measured on {largest.rows:,} rows. At that rate {EXTRAPOLATED_ROWS:,}")
    print(f"rows take {told}: divided, not measured, and without the black box.")
    for cores, found in hours.items():
        _results.row(f"{EXTRAPOLATED_ROWS:,} rows at the measured rate (divided, not measured)", cores=cores, hours=found)


# --- the command --------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help=f"two small tables, a sample of {QUICK_SAMPLE:,} rows")
    sizes.add_argument(
        "--full", action="store_true", help=f"up to {max(FULL_SIZES):,} rows; needs disk space for the largest table"
    )
    parser.add_argument(
        "--memory-rows",
        type=int,
        default=MEMORY_ROWS,
        help=f"maximum number of rows of tables that are also run in memory ({MEMORY_ROWS:,})",
    )
    parser.add_argument("--tables", type=Path, metavar="DIR", help="folder in which tables are kept for later runs")
    options = parser.parse_args()
    if options.tables is not None and not options.tables.is_dir():
        parser.error(f"There is no folder {options.tables}. Make it first.")
    return options


def main() -> None:
    if not hasattr(os, "wait4"):
        sys.exit("This benchmark has the system count a process's memory with wait4, which Windows does not have.")
    options = arguments()
    sizes = QUICK_SIZES if options.quick else FULL_SIZES if options.full else SIZES
    sample = QUICK_SAMPLE if options.quick else SAMPLE
    print(f"fcca distill --stream --jobs 1 --q {Q}; gradient boosting of 100 stumps, fitted on a sample of {sample:,} rows")
    print(HEADER, flush=True)
    cases = []
    for rows in sizes:
        with table_of(rows, options.tables) as table:
            cases.append(measured(f"{FEATURES} columns", table, sample=sample, with_memory=rows <= options.memory_rows))
    sized = list(cases)
    path = covertype()
    if options.quick:
        _results.skipped("covertype_2v4 (--quick)")
    elif path is None:
        _results.skipped("covertype_2v4: FCCA_DATA names no folder that has covertype_2v4.csv.gz")
    else:
        with table_of(path, options.tables) as table:
            cases.append(measured("covertype_2v4", table, sample=sample, with_memory=True))
    constant = statistics.median(case.streamed.run.cpu_seconds - case.streamed.row_cpu_seconds for case in sized)
    print(f"Besides the steps over all rows: {constant:.1f} CPU seconds (median), for Python and the black box")
    extrapolate(sized[-1].streamed)
    judge(cases, sized)


if __name__ == "__main__":
    _results.recorded(main)
