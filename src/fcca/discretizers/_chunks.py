"""Tables in chunks, in memory or read one chunk after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from fcca.discretizers._rows import EncodedRows, Rows, n_rows_of
from fcca.discretizers._search_results import SearchResult
from fcca.exceptions import InvalidInputError
from fcca.utils import progress_bar

T = TypeVar("T")


class Chunks(ABC):
    """A table in chunks, which a subclass reads locally or on a cluster.

    Attributes
    ----------
    in_memory : EncodedRows or None
        All rows, if the whole table is in memory.
    keep : callable or None
        Called with the :class:`SearchResult` of each chunk. It is None if these results are not kept.
    """

    in_memory: EncodedRows | None = None
    keep: Callable[[SearchResult], None] | None = None

    @abstractmethod
    def first(self) -> Any:
        """Return some unencoded rows, which show the names and types of the columns."""

    @abstractmethod
    def sum(self, label: str, stage: Callable[..., T | None], *given: Any) -> T:
        """Apply a stage of the pipeline to every chunk, and sum the results.

        Parameters
        ----------
        label : str
            Name of the stage, for the progress bar.
        stage : callable
            Called as ``stage(chunk, *given)``. It returns None for a chunk without rows.
        *given : object
            Further arguments of ``stage``.
        """


class LocalChunks(Chunks):
    """A table in chunks that this process reads one after the other.

    Parameters
    ----------
    source : iterable of Rows or EncodedRows
        The chunks. ``source`` is iterated once per stage, and must yield all chunks each time.
    n_rows : int or None
        Number of rows for the progress bar, if known.
    """

    def __init__(self, source: Iterable[Rows | EncodedRows], n_rows: int | None) -> None:
        self.source, self.n_rows = source, n_rows

    def first(self) -> Any:
        """Return the first chunk with rows."""
        return _some(next((rows.X for rows in self.source if n_rows_of(rows.X)), None))

    def sum(self, label: str, stage: Callable[..., T | None], *given: Any) -> T:
        """Apply a stage to one chunk after the other; sum the results."""

        def results() -> Iterator[T]:
            done = 0
            with progress_bar(label, self.n_rows) as progress:
                for rows in self.source:
                    result = stage(rows, *given)
                    done += n_rows_of(rows.X)
                    if progress is not None:
                        progress(done)
                    if result is not None:
                        yield result

        return _some(summed(results()))


class MemoryChunks(LocalChunks):
    """A table in memory, as a single chunk whose search result is kept.

    Parameters
    ----------
    rows : EncodedRows
        All rows of the table.

    Attributes
    ----------
    results : list of SearchResult
        Empty at first. After the search for counterfactuals, it has one entry.
    """

    def __init__(self, rows: EncodedRows) -> None:
        super().__init__([rows], len(rows))
        self.in_memory: EncodedRows = rows
        self.results: list[SearchResult] = []
        self.keep = self.results.append

    def sum(self, label: str, stage: Callable[..., T | None], *given: Any) -> T:
        """Apply a stage to the whole table. The stage itself shows its progress."""
        return _some(stage(self.in_memory, *given))


def _some(result: T | None) -> T:
    """Return the result; raise an error if it is None because no chunk had rows."""
    if result is None:
        raise InvalidInputError("There are no rows to learn from.")
    return result


def summed(parts: Iterator[T]) -> T | None:
    """Sum the parts with ``+`` in an order that rarely copies large sums.

    Most additions combine two sums over a similar number of parts.

    Parameters
    ----------
    parts : iterator
        Objects that can be added.

    Returns
    -------
    sum
        None if there are no parts.
    """
    waiting: list[tuple[int, Any]] = []
    for part in parts:
        size, total = 1, part
        while waiting and waiting[-1][0] <= size:
            more, other = waiting.pop()
            size, total = size + more, other + total
        waiting.append((size, total))
    if not waiting:
        return None
    _, total = waiting.pop()
    while waiting:
        total = waiting.pop()[1] + total
    return total
