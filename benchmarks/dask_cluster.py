"""Compare one and two workers of a Dask LocalCluster: throughput, bytes sent, and equality with a single process.

Run: python benchmarks/dask_cluster.py [--quick] [--rows N] [--repetitions N] [--tables DIR] [--json FILE]

Workers are processes with one thread. The tables come from synthetic.py.
Throughput: the black box has 30 boosted trees of depth 2, so searches are nearly all of the work. Runs with one and with two
workers alternate, and medians are reported. CPU seconds are reported besides the wall time, because other programs on the
machine hardly change them. The ratio of CPU seconds divides those of the single worker by those of the busier of two
workers. It is also reported with the CPU seconds of this process (client and scheduler) added to both. This process spends
most of them while the workers are working.
Bytes sent: the black box has 100 boosted stumps, and partitions have 100,000 rows. Every byte that a process of the cluster
writes to a connection is counted, in comm.tcp.TCP.write of distributed. This includes heartbeats and this process. The sum
is compared with the size of the Parquet file, which is smaller than the same rows in memory.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

import _results
import synthetic
from fcca import FCCAClassifier, FCCADiscretizer
from fcca.export import to_json
from fcca.streaming import ParquetTable, distill as streamed

LABEL, Q = synthetic.LABEL, 0.9
ROWS, QUICK_ROWS = 400_000, 60_000
WIRE_ROWS, QUICK_WIRE_ROWS = (100_000, 300_000, 1_000_000), (20_000, 100_000)
PARTITIONS = 20
FITTED_ON = 10_000
REPETITIONS = 2
RATIO_BAR, WIRE_BAR = 1.7, 0.01
# With fewer rows, the constant part dominates: starting the passes, and bytes that do not depend on the rows.
FEWEST_ROWS_OF_RATIO, FEWEST_ROWS_OF_WIRE = 100_000, 1_000_000

MODELS = {
    "30 trees of depth 2": GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0),
    "100 stumps": GradientBoostingClassifier(max_depth=1, random_state=0),
}


@contextmanager
def table_of(rows: int, kept: Path | None, *, row_group: int) -> Iterator[Path]:
    """Yield the path of the synthetic table, in which each row group is a partition."""
    with tempfile.TemporaryDirectory() as folder:
        path = (kept or Path(folder)) / f"synthetic-{rows}x{synthetic.N_FEATURES}-by-{row_group}.parquet"
        if not path.exists():
            synthetic.write_synthetic(path, rows, row_group=row_group)
        yield path


def fitted(name: str, path: Path) -> Any:
    """Fit a black box on the first rows."""
    batch = next(pq.ParquetFile(path).iter_batches(FITTED_ON))
    frame: pd.DataFrame = batch.to_pandas()
    return MODELS[name].fit(frame.drop(columns=LABEL), frame[LABEL])


def in_one_process(path: Path, model: Any) -> FCCAClassifier:
    return streamed(ParquetTable(path, LABEL), FCCADiscretizer(FrozenEstimator(model), Q=Q, preset="paper"))


def on_cluster(client: Any, path: Path, model: Any) -> FCCAClassifier:
    import dask.dataframe as dd

    from fcca.dask import distill

    ddf = dd.read_parquet(path, split_row_groups=True)
    return distill(ddf, LABEL, model, discretizer=FCCADiscretizer(Q=Q, preset="paper"), client=client)


def is_same(found: FCCAClassifier, expected: FCCAClassifier) -> bool:
    """Compare the thresholds and the tree byte by byte."""
    tables = [one.discretizer_.all_thresholds_.to_json() for one in (found, expected)]
    return tables[0] == tables[1] and to_json(found) == to_json(expected)


# --- measuring ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One run on a cluster."""

    seconds: float
    here_cpu_seconds: float  # of client and scheduler
    worker_cpu_seconds: list[float]
    found: FCCAClassifier

    @property
    def busiest_cpu_seconds(self) -> float:
        """CPU seconds of the busiest worker."""
        return max(self.worker_cpu_seconds)

    @property
    def share_of_a_core(self) -> float:
        """Mean share of a core that each worker got."""
        return sum(self.worker_cpu_seconds) / len(self.worker_cpu_seconds) / self.seconds


def timed(client: Any, work: Callable[[], FCCAClassifier]) -> Run:
    before, here, begin = client.run(time.process_time), time.process_time(), time.perf_counter()
    found = work()
    seconds, here = time.perf_counter() - begin, time.process_time() - here
    after = client.run(time.process_time)
    return Run(seconds, here, [after[worker] - before[worker] for worker in before], found)


def count_writes() -> None:
    """Start counting the bytes that this process writes to connections."""
    from distributed.comm import tcp

    if not hasattr(tcp, "written_bytes"):
        write = tcp.TCP.write

        async def counted(self: Any, *given: Any, **options: Any) -> int:
            n: int = await write(self, *given, **options)
            tcp.written_bytes += n
            return n

        tcp.TCP.write = counted
    tcp.written_bytes = 0


def writes() -> int:
    from distributed.comm import tcp

    return int(tcp.written_bytes)


def crossed(client: Any, work: Callable[[], Any]) -> int:
    """Count the bytes that all processes write during some work."""
    client.run(count_writes)
    count_writes()
    work()
    return writes() + sum(client.run(writes).values())


@contextmanager
def cluster_of(n_workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(pa.set_cpu_count, 1)
        yield client


# --- what is measured ---------------------------------------------------------------------------------------------------


def throughput(clients: dict[int, Any], path: Path, repetitions: int) -> bool:
    """Print the throughput and the verdict, and return True if all results equal those of one process."""
    name = "30 trees of depth 2"
    model, rows = fitted(name, path), pq.read_metadata(path).num_rows
    expected = in_one_process(path, model)
    runs: dict[int, list[Run]] = {n: [] for n in clients}
    print(f"{name}, {rows:,} rows in {PARTITIONS} partitions")
    print(f"{'workers':>8}{'seconds':>9}{'rows/s':>10}{'CPU s, workers':>26}{'CPU s here':>12}{'of a core':>11}  answers")
    for repetition in range(repetitions + 1):  # the first one loads libraries, and does not count
        order = sorted(clients, reverse=repetition % 2 == 1)
        for n in order:
            run = timed(clients[n], lambda n=n: on_cluster(clients[n], path, model))
            if repetition == 0:
                continue
            runs[n].append(run)
            same = is_same(run.found, expected)
            cpu = " + ".join(f"{seconds:.2f}" for seconds in run.worker_cpu_seconds)
            print(
                f"{n:>8}{run.seconds:>9.2f}{rows / run.seconds:>10,.0f}{cpu:>26}{run.here_cpu_seconds:>12.2f}"
                f"{run.share_of_a_core:>11.0%}  {'the same' if same else 'DIFFER'}",
                flush=True,
            )
            _results.row(
                "Throughput",
                workers=n,
                rows=rows,
                seconds=run.seconds,
                **{
                    "rows per second": rows / run.seconds,
                    "CPU seconds of the workers": run.worker_cpu_seconds,
                    "CPU seconds of client and scheduler": run.here_cpu_seconds,
                    "share of a core": run.share_of_a_core,
                    "same answers": same,
                },
            )
    by_clock, by_cpu, by_all_cpu = (
        statistics.median(value(run) for run in runs[1]) / statistics.median(value(run) for run in runs[2])
        for value in (
            lambda run: run.seconds,
            lambda run: run.busiest_cpu_seconds,
            lambda run: run.busiest_cpu_seconds + run.here_cpu_seconds,
        )
    )
    cores = statistics.median(run.share_of_a_core for run in runs[2])
    _results.row(
        "Two workers beside one",
        rows=rows,
        **{
            "by the clock": by_clock,
            "by the workers' CPU seconds": by_cpu,
            "by all CPU seconds": by_all_cpu,
            "share of a core": cores,
        },
    )
    verdict(
        by_clock >= RATIO_BAR if rows >= FEWEST_ROWS_OF_RATIO else None,
        f"two workers have at least {RATIO_BAR}× the throughput of one: {by_clock:.2f}× by the clock, {by_cpu:.2f}× by the "
        f"workers' CPU seconds, {by_all_cpu:.2f}× by all CPU seconds (the two workers got {cores:.0%} of a core each)",
    )
    return all(is_same(run.found, expected) for every in runs.values() for run in every)


def wire(client: Any, sizes: tuple[int, ...], kept: Path | None) -> bool:
    """Print the bytes sent and the verdict, and return True if all results equal those of one process."""
    same = []
    print(
        f"\n100 stumps, two workers, partitions of {synthetic.ROW_GROUP:,} rows\n"
        f"{'rows':>10}{'kB crossed':>12}{'file, kB':>12}{'share':>9}  answers"
    )
    share = 1.0
    for rows in sizes:
        with table_of(rows, kept, row_group=synthetic.ROW_GROUP) as path:
            model = fitted("100 stumps", path)
            found: list[FCCAClassifier] = []
            n_bytes = crossed(client, lambda: found.append(on_cluster(client, path, model)))  # noqa: B023
            file_bytes = path.stat().st_size
            same.append(is_same(found[0], in_one_process(path, model)))
        share = n_bytes / file_bytes
        print(
            f"{rows:>10,}{n_bytes / 1e3:>12,.0f}{file_bytes / 1e3:>12,.0f}{share:>9.2%}  "
            f"{'the same' if same[-1] else 'DIFFER'}",
            flush=True,
        )
        _results.row(
            "What crosses the wire",
            rows=rows,
            **{"kB crossed": n_bytes / 1e3, "file, kB": file_bytes / 1e3, "share": share, "same answers": same[-1]},
        )
    text = f"what crosses the wire is less than {WIRE_BAR:.0%} of the table's bytes: {share:.2%} of {sizes[-1]:,} rows"
    verdict(share < WIRE_BAR if sizes[-1] >= FEWEST_ROWS_OF_WIRE else None, text)
    return all(same)


def killed(client: Any, path: Path) -> None:
    """Kill a worker during a run, and check the result."""
    model = fitted("30 trees of depth 2", path)
    expected = in_one_process(path, model)
    usual = timed(client, lambda: on_cluster(client, path, model)).seconds
    victim = min(client.run(os.getpid).values())
    killer = threading.Timer(usual / 2, os.kill, [victim, signal.SIGKILL])
    killer.start()
    begin = time.perf_counter()
    found = on_cluster(client, path, model)
    seconds = time.perf_counter() - begin
    killer.join()
    client.wait_for_workers(2, timeout=60)
    died, same = victim not in client.run(os.getpid).values(), is_same(found, expected)
    _results.row("A worker killed", seconds=seconds, **{"seconds without": usual, "same answers": same})
    verdict(
        died and same,
        f"a worker killed after {usual / 2:.1f} s changes nothing: {'the same' if same else 'OTHER'} answers after "
        f"{seconds:.1f} s ({usual:.1f} s without)",
    )


def verdict(is_met: bool | None, text: str) -> None:
    """Print one line for a bar. With None, there are too few rows for a verdict."""
    print(f"{'Too few rows to judge:' if is_met is None else 'PASS ' if is_met else 'MISS '} {text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows, one repetition")
    parser.add_argument("--rows", type=int, help=f"rows of the table for the throughput ({ROWS:,})")
    parser.add_argument("--repetitions", type=int, help=f"number of repetitions ({REPETITIONS})")
    parser.add_argument("--tables", type=Path, metavar="DIR", help="folder in which tables are kept for later runs")
    options = parser.parse_args()
    if options.tables is not None and not options.tables.is_dir():
        parser.error(f"There is no folder {options.tables}. Make it first.")
    if not (_results.is_installed("dask") and _results.is_installed("distributed")):
        return
    rows = options.rows or (QUICK_ROWS if options.quick else ROWS)
    repetitions = options.repetitions or (1 if options.quick else REPETITIONS)
    with ExitStack() as stack:
        path = stack.enter_context(table_of(rows, options.tables, row_group=-(-rows // PARTITIONS)))
        clients = {n: stack.enter_context(cluster_of(n)) for n in (1, 2)}
        same = [throughput(clients, path, repetitions)]
        same.append(wire(clients[2], QUICK_WIRE_ROWS if options.quick else WIRE_ROWS, options.tables))
        verdict(all(same), "thresholds and tree are those of one process, byte for byte, in every run")
        killed(clients[2], path)


if __name__ == "__main__":
    _results.recorded(main)
