"""The partitions of a Dask table as pieces whose results are added up on the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import dask
import numpy as np
from dask.callbacks import Callback

from fcca._progress import progress_bar
from fcca.dask._tables import Delayed, Table
from fcca.exceptions import InvalidInputError
from fcca.streaming._distill import summed
from fcca.streaming._stages import Rows

T = TypeVar("T")

#: Sums that are added to one by one worker.
SPLIT_EVERY = 8
ROWS_OF_FIRST = 100
OF_DISTRIBUTED = ("dask.distributed", "distributed")


class DaskPieces:
    """The partitions of a table, wherever they are.

    One task per partition computes; further tasks add up what these return, a few at a time, on the workers. What comes back
    is the sum.

    Parameters
    ----------
    table : Table
    client : distributed.Client, optional
        The active one where None; where there is none, Dask's own scheduler.
    retries : int
        How often a task that failed is tried again, with a client.
    verbose : bool
        Whether to show progress.
    """

    def __init__(self, table: Table, client: Any = None, *, retries: int = 3, verbose: bool = False) -> None:
        if not isinstance(retries, int | np.integer) or retries < 0:
            raise InvalidInputError(f"retries must be 0 or more, a whole number, got {retries!r}.")
        self.table, self.client, self.retries, self.verbose = table, active_client(client), retries, verbose

    def first(self) -> Any:
        """A few rows of the first partition that has some."""
        heads = self.table.applied(_head)
        begin, many = 0, 1
        while begin < len(heads):
            found = [head for head in self._computed(heads[begin : begin + many]) if head is not None]
            if found:
                return found[0]
            begin, many = begin + many, 2 * many
        raise InvalidInputError("There are no rows to learn from.")

    def sum(self, label: str, function: Callable[..., T | None], *given: Any) -> T:
        """Apply a function to every partition, and add up what it returns."""
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
        """What a function of the number and the rows of a partition returns, for all of them in order."""
        return self._computed(self.table.applied(function, *given))

    def _computed(self, tasks: Sequence[Delayed]) -> list[Any]:
        if self.client is None:
            return list(dask.compute(*tasks))
        futures = self.client.compute(list(tasks), retries=self.retries)
        with _released_on_error(futures):
            found: list[Any] = self.client.gather(futures)
        return found

    def _watched(self, label: str, parts: list[Delayed], total: Delayed) -> Any:
        """The total, with the parts that are done shown on the way."""
        with progress_bar(label, len(parts), self.verbose) as progress:
            if self.client is None:
                with _counting({part.key for part in parts}, progress):
                    return dask.compute(total)[0]
            from distributed import as_completed

            with _no_word_about_size():
                *waiting, last = self.client.compute([*parts, total], retries=self.retries)
            with _released_on_error([*waiting, last]):
                completed = as_completed(waiting, loop=self.client.loop)
                for done, part in enumerate(completed, 1):
                    if part.status != "finished":
                        break
                    part.release()  # so that it leaves the worker's memory as soon as it has been added
                    if progress is not None:
                        progress(done)
                return last.result()


def active_client(client: Any) -> Any:
    """The client to use: the one given, or the one that Dask would take; None for Dask's own scheduler."""
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
            "The client is asynchronous, but this waits for its results. Give a Client made with asynchronous=False."
        )
    return client


@contextmanager
def _released_on_error(futures: list[Any]) -> Iterator[None]:
    """Take all work back where it is of no use any more: after an error, or Ctrl-C.

    The scheduler forgets what nobody wants. Told to cancel these futures it would also cancel the sums in between, which are
    no client's, stumble over them and drop the client with all that it holds.
    """
    try:
        yield
    except BaseException:
        for future in futures:
            future.release()
        raise


@contextmanager
def _no_word_about_size() -> Iterator[None]:
    """Dask warns of graphs of ten megabytes, for they often hold data; a large model is that size."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100MB"}):
        yield


@contextmanager
def _counting(keys: set[Any], progress: Callable[[int], None] | None) -> Iterator[None]:
    """Tell the progress of Dask's own scheduler."""
    if progress is None:
        yield
        return
    done = set()

    def told(key: Any, *_: Any) -> None:
        if key in keys:
            done.add(key)
            progress(len(done))

    with Callback(posttask=told):
        yield


def _of_rows(number: int, rows: Rows, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    return function(rows, *given)


def _sum(parts: list[Any]) -> Any:
    return summed(part for part in parts if part is not None)


def _head(number: int, rows: Rows) -> Any:
    """The first rows; None where there are none."""
    n = rows.X.shape[0]
    if n == 0:
        return None
    return rows.X.iloc[:ROWS_OF_FIRST] if hasattr(rows.X, "iloc") else np.asarray(rows.X)[:ROWS_OF_FIRST]
