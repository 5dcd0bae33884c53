"""Run the stages of the threshold pipeline on Dask, one task per partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import dask
import numpy as np
from dask.callbacks import Callback

from fcca.dask._partitions import Delayed, PartitionedTable
from fcca.discretizers import Chunks, Rows, summed
from fcca.exceptions import InvalidInputError
from fcca.utils import progress_bar

T = TypeVar("T")

#: Number of results that one task sums.
SPLIT_EVERY = 8
ROWS_OF_FIRST = 100
OF_DISTRIBUTED = ("dask.distributed", "distributed")


class DaskChunks(Chunks):
    """A Dask table whose partitions are the chunks of the threshold pipeline.

    One task per partition computes a result. Other tasks sum the results on the workers, a few at a time. Only the total is
    sent back to this process.

    Parameters
    ----------
    table : PartitionedTable
    client : distributed.Client, optional
        None uses the active client or, if there is none, Dask's local scheduler.
    retries : int
        How often a failed task is repeated.
    """

    def __init__(self, table: PartitionedTable, client: Any = None, *, retries: int = 3) -> None:
        if not isinstance(retries, int | np.integer) or retries < 0:
            raise InvalidInputError(f"retries must be an integer of at least 0, got {retries!r}.")
        self.table, self.client, self.retries = table, active_client(client), retries

    def first(self) -> Any:
        """Return the first rows of the first non-empty partition."""
        heads = self.table.applied(_head)
        begin, many = 0, 1
        while begin < len(heads):
            found = [head for head in self._computed(heads[begin : begin + many]) if head is not None]
            if found:
                return found[0]
            begin, many = begin + many, 2 * many
        raise InvalidInputError("There are no rows to learn from.")

    def sum(self, label: str, function: Callable[..., T | None], *given: Any) -> T:
        """Apply a function to the rows of every partition and sum the results.

        The function is called as ``function(rows, *given)``. ``label`` is the title of the progress bar.
        """
        parts = self.table.applied(_of_rows, function, given)
        level: list[Delayed] = parts
        add = dask.delayed(_sum, pure=False)
        while len(level) > 1 or level is parts:
            level = [add(level[at : at + SPLIT_EVERY]) for at in range(0, len(level), SPLIT_EVERY)]
        total: T | None = self._watched(label, parts, level[0])
        if total is None:
            raise InvalidInputError("There are no rows to learn from.")
        return total

    def each(self, function: Callable[..., T], *given: Any) -> list[T]:
        """Apply a function to every partition and return the list of results.

        The function is called as ``function(number, rows, *given)``, with the number of the partition and its rows.
        """
        return self._computed(self.table.applied(function, *given))

    def _computed(self, tasks: Sequence[Delayed]) -> list[Any]:
        if self.client is None:
            return list(dask.compute(*tasks))
        futures = self.client.compute(list(tasks), retries=self.retries)
        with _released_on_error(futures):
            found: list[Any] = self.client.gather(futures)
        return found

    def _watched(self, label: str, parts: list[Delayed], total: Delayed) -> Any:
        """Compute the Dask task ``total``; show how many of the tasks ``parts`` have finished."""
        with progress_bar(label, len(parts)) as progress:
            if self.client is None:
                with _counting({part.key for part in parts}, progress):
                    return dask.compute(total)[0]
            from distributed import as_completed

            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100MB"}):  # black boxes can be large
                *waiting, last = self.client.compute([*parts, total], retries=self.retries)
            with _released_on_error([*waiting, last]):
                completed = as_completed(waiting, loop=self.client.loop)
                for done, part in enumerate(completed, 1):
                    if part.status != "finished":
                        break
                    part.release()  # the worker can free it as soon as it has been added
                    if progress is not None:
                        progress(done)
                return last.result()


def active_client(client: Any) -> Any:
    """Return the given client, or the active one; None for Dask's local scheduler."""
    if client is None:
        if dask.config.get("scheduler", None) not in (None, *OF_DISTRIBUTED):
            return None
        try:
            from distributed import get_client

            client = get_client()
        except (ImportError, ValueError):
            return None
    if not hasattr(client, "scatter"):
        raise InvalidInputError(f"client must be a dask.distributed.Client, got {client!r}.")
    if client.asynchronous:
        raise InvalidInputError(
            "The client is asynchronous, but fcca waits for its results. Pass a Client made with asynchronous=False."
        )
    return client


@contextmanager
def _released_on_error(futures: list[Any]) -> Iterator[None]:
    """Release the futures after an error or Ctrl-C.

    The scheduler forgets released tasks. Cancelling the futures would also cancel the intermediate sums, which belong to no
    client. Then the scheduler would fail, and drop the client with all its results.
    """
    try:
        yield
    except BaseException:
        for future in futures:
            future.release()
        raise


@contextmanager
def _counting(keys: set[Any], progress: Callable[[int], None] | None) -> Iterator[None]:
    """Call ``progress`` with the number of finished tasks among ``keys``.

    This works for Dask's local scheduler only.
    """
    if progress is None:
        yield
        return
    done = set()

    def report(key: Any, *_: Any) -> None:
        if key in keys:
            done.add(key)
            progress(len(done))

    with Callback(posttask=report):
        yield


def _of_rows(number: int, rows: Rows, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    return function(rows, *given)


def _sum(parts: list[Any]) -> Any:
    return summed(part for part in parts if part is not None)


def _head(number: int, rows: Rows) -> Any:
    """Return the first rows of a partition; None for an empty partition."""
    return rows.X.iloc[:ROWS_OF_FIRST] if len(rows.X) else None
