"""A real cluster: failing tasks, Ctrl-C, progress, and the bytes between the processes."""

import signal
import threading
import time

import numpy as np
import pytest
from dask_tables import boosting, features, numbers

from fcca.discretizers import Rows
from real_data import imported

dask = imported("dask")
imported("distributed")

import dask.dataframe as dd  # noqa: E402

from fcca.dask import distill  # noqa: E402
from fcca.dask._dask_chunks import DaskChunks  # noqa: E402
from fcca.dask._partitions import PartitionedTable  # noqa: E402


class Sum:
    """Adds up."""

    def __init__(self, n):
        self.n = n

    def __add__(self, other):
        return Sum(self.n + other.n)


def slowly_counted(rows: Rows, seconds):
    time.sleep(seconds)
    return Sum(len(rows.X))


def failing_at_first(rows: Rows, folder):
    """Fails once per partition."""
    seen = folder / f"{rows.X.index[0]}"
    if not seen.exists():
        seen.touch()
        raise OSError("the disk was busy")
    return Sum(len(rows.X))


def chunks_of(client, n=12, **options):
    return DaskChunks(PartitionedTable(dd.from_pandas(numbers(240), npartitions=n), "label", "weight"), client, **options)


def assert_idle_and_usable(client):
    """Check that no task is left and that the next sum is right."""
    deadline = time.monotonic() + 60
    while any(client.processing().values()) or client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert chunks_of(client).sum("Rows", slowly_counted, 0.0).n == 240


def test_ctrl_c_releases_all_tasks(client):
    chunks = chunks_of(client, n=60)
    interruption = threading.Timer(0.7, signal.raise_signal, [signal.SIGINT])
    begin = time.monotonic()
    interruption.start()
    with pytest.raises(KeyboardInterrupt):
        chunks.sum("Rows", slowly_counted, 1.0)
    assert time.monotonic() - begin < 20  # all of it takes thirty seconds, however fast the machine
    assert_idle_and_usable(client)


def test_an_error_releases_all_tasks(client, tmp_path):
    with pytest.raises(OSError, match="the disk was busy"):
        chunks_of(client, retries=0).sum("Rows", failing_at_first, tmp_path)
    assert_idle_and_usable(client)


def test_a_persisted_table_outlives_an_error(client, tmp_path):
    frame = numbers(240)
    ddf = client.persist(dd.from_pandas(frame, npartitions=20))
    chunks = DaskChunks(PartitionedTable(ddf, "label", "weight"), client, retries=0)
    with pytest.raises(OSError, match="the disk was busy"):
        chunks.sum("Rows", failing_at_first, tmp_path)
    assert client.compute(ddf["weight"].sum()).result() == frame["weight"].sum()
    assert chunks.sum("Rows", slowly_counted, 0.0).n == 240


def test_failed_tasks_are_repeated(client, tmp_path):
    assert chunks_of(client, retries=1).sum("Rows", failing_at_first, tmp_path).n == 240


@pytest.mark.parametrize("asked", ["cluster", None], ids=["cluster", "threads"])
def test_progress_counts_partitions(asked, request, monkeypatch):
    from contextlib import contextmanager

    from fcca.utils import _progress

    told = []

    class Shown:
        @contextmanager
        def job(self, label, total):
            told.append((label, total))
            yield told.append

    client = None if asked is None else request.getfixturevalue("client")
    with _progress.shown_on(Shown()):
        chunks_of(client, 5).sum("Rows", slowly_counted, 0.0)
    assert told[0] == ("Rows", 5)
    assert told[1:] == [1, 2, 3, 4, 5]


def test_the_active_client_is_used_unless_another_scheduler_is_configured(client):
    with client.as_current():
        assert chunks_of(None).client is client
        with dask.config.set(scheduler="threads"):
            assert chunks_of(None).client is None
    with dask.config.set(scheduler="synchronous"):
        assert chunks_of(None).client is None
        assert chunks_of(client).client is client


# --- traffic ------------------------------------------------------------------------------------------------------------


def count_what_is_written():
    """Count every byte that this process writes to a connection from now on: between client, scheduler and workers."""
    from distributed.comm import tcp

    if not hasattr(tcp, "bytes_written_"):
        write = tcp.TCP.write

        async def counted(self, *given, **options):
            n = await write(self, *given, **options)
            tcp.bytes_written_ += n
            return n

        tcp.TCP.write = counted
    tcp.bytes_written_ = 0


def bytes_written():
    from distributed.comm import tcp

    return tcp.bytes_written_


def crossing(client, work):
    """The bytes that all processes of the cluster, this one with the scheduler included, write during some work."""
    count_what_is_written()
    client.run(count_what_is_written)
    work()
    return bytes_written() + sum(client.run(bytes_written).values())


def test_traffic_does_not_grow_with_the_rows(client, tmp_path):
    few, many = numbers(4_000).drop(columns="weight"), numbers(80_000).drop(columns="weight")
    model = boosting(few)
    crossed = {}
    for frame in (few, many):
        path = tmp_path / str(len(frame))
        dd.from_pandas(frame, npartitions=4).to_parquet(path)
        ddf = dd.read_parquet(path)
        distill(ddf, "label", model, client=client)  # what is loaded once is loaded
        # Processes tell each other every second that they live: of several runs the least tells what the work itself sends.
        crossed[len(frame)] = min(
            crossing(client, lambda ddf=ddf: distill(ddf, "label", model, client=client)) for _ in range(6)
        )
    added = features(many).to_numpy(dtype=np.float64).nbytes - features(few).to_numpy(dtype=np.float64).nbytes
    assert crossed[4_000] > 10_000
    assert crossed[80_000] - crossed[4_000] < 0.01 * added


def test_a_broadcast_reaches_each_worker_once(client):
    ballast = np.random.default_rng(0).bytes(1_000_000)
    crossed = crossing(client, lambda: chunks_of(client, 16).sum("Rows", with_ballast, ballast))
    # From here to the scheduler, from there to one worker, and from that to the other.
    assert crossed < 3.5 * len(ballast)


def with_ballast(rows: Rows, ballast):
    time.sleep(0.02)
    return Sum(len(rows.X))
