"""A table in a Parquet file, read in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fcca.discretizers import Rows
from fcca.exceptions import InvalidInputError

ROWS_AT_A_TIME = 65_536


class ParquetTable:
    """A table in a Parquet file, which :func:`distill` reads in pieces.

    Parameters
    ----------
    path : str or Path
    label : str
        The column of labels.
    sample_weight : str, default=None
        A column of weights.
    columns : sequence of str, default=None
        The columns to learn from; None is all others.
    rows_at_a_time : int, default=65536

    Attributes
    ----------
    n_rows : int
    columns : list of str

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca.streaming import ParquetTable
    >>> path = Path(tempfile.mkdtemp()) / "tumours.parquet"
    >>> load_breast_cancer(as_frame=True).frame.to_parquet(path)
    >>> table = ParquetTable(path, "target", rows_at_a_time=200)
    >>> table.n_rows, len(table.columns)
    (569, 30)
    >>> [len(X) for X, y, weight, held_out in table]
    [200, 200, 169]
    """

    def __init__(
        self,
        path: str | Path,
        label: str,
        *,
        sample_weight: str | None = None,
        columns: Any = None,
        rows_at_a_time: int = ROWS_AT_A_TIME,
    ) -> None:
        self.path, self.label, self.sample_weight = Path(path), label, sample_weight
        self.rows_at_a_time = rows_at_a_time
        if not _is_whole(rows_at_a_time) or rows_at_a_time < 1:
            raise InvalidInputError(f"rows_at_a_time must be a whole number of at least 1, got {rows_at_a_time!r}.")
        with _errors_in_words(self.path):
            self._state = self._state_of_file()
        names, self.n_rows = header(self.path)
        if isinstance(columns, str):
            raise InvalidInputError(f"columns must be a list of names, got the text {columns!r}.")
        asked = [label, *([] if sample_weight is None else [sample_weight]), *(columns or ())]
        if unknown := [name for name in asked if name not in names]:
            raise InvalidInputError(f"{self.path.name} has no column {unknown[0]!r}. Its columns are {names}.")
        if twice := [name for at, name in enumerate(asked) if name in asked[:at]]:
            raise InvalidInputError(f"{twice[0]!r} is named twice: as label, as sample_weight or among columns.")
        others = [name for name in names if name not in (label, sample_weight)]
        self.columns = others if columns is None else list(columns)
        if not self.columns:
            raise InvalidInputError(f"{self.path.name} has no column to learn from beside {label!r}.")
        times = Counter(names)
        if repeated := dict.fromkeys(name for name in [*self.columns, *asked] if times[name] > 1):
            raise InvalidInputError(
                f"Column names must be unique; repeated in {self.path.name}: {', '.join(map(repr, repeated))}. Rename them, "
                "or leave them out of columns."
            )

    def frames(self, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Some columns, all where None, of all rows in order; each frame's index counts on.

        Parameters
        ----------
        columns : list of str, optional
        """
        begin = 0
        with _errors_in_words(self.path), self._same_file() as file:
            for batches in self._batches(file, columns):
                frame = _as_frame(pa.Table.from_batches(batches))
                frame.index = pd.RangeIndex(begin, begin + len(frame))
                begin += len(frame)
                yield frame

    def _batches(self, file: pq.ParquetFile, columns: list[str] | None) -> Iterator[list[pa.RecordBatch]]:
        """Batches that come next to each other, small ones together: a row group may hold a few rows only."""
        waiting: list[pa.RecordBatch] = []
        n_rows = 0
        for batch in file.iter_batches(self.rows_at_a_time, columns=columns, use_threads=False):
            if n_rows + len(batch) > self.rows_at_a_time and n_rows:
                yield waiting
                waiting, n_rows = [], 0
            waiting.append(batch)
            n_rows += len(batch)
        if n_rows:
            yield waiting

    def rows(
        self, rows: NDArray[np.int64], columns: list[str] | None = None, progress: Callable[[int], Any] | None = None
    ) -> pd.DataFrame:
        """Some rows, of which no more than these are kept while the file is read.

        Parameters
        ----------
        rows : ndarray of int
            Sorted; the first row is 0. They are the frame's index.
        columns : list of str, optional
        progress : callable, optional
            Takes the number of rows read so far.
        """
        rows = np.asarray(rows, dtype=np.int64)
        taken, begin = [], 0
        with _errors_in_words(self.path), self._same_file() as file:
            for batch in file.iter_batches(self.rows_at_a_time, columns=columns, use_threads=False):
                first, last = np.searchsorted(rows, (begin, begin + len(batch)))
                taken.append(batch.take(pa.array(rows[first:last] - begin)))  # an empty one has a dictionary of labels, too
                begin += len(batch)
                if progress is not None:
                    progress(begin)
            if taken:
                frame = _as_frame(pa.Table.from_batches(taken))
            else:  # a file without row groups
                none = file.schema_arrow.empty_table()
                frame = _as_frame(none if columns is None else none.select(columns))
        frame.index = pd.Index(rows)
        return frame

    def __iter__(self) -> Iterator[Rows]:
        weights = [] if self.sample_weight is None else [self.sample_weight]
        for frame in self.frames([*self.columns, self.label, *weights]):
            weight = None if self.sample_weight is None else frame[self.sample_weight].to_numpy()
            yield Rows(frame[self.columns], self._labels(frame[self.label]), weight)

    def _labels(self, column: pd.Series[Any]) -> NDArray[Any]:
        if column.isna().any():
            row = column.index[int(np.flatnonzero(column.isna())[0])]
            raise InvalidInputError(f"The label column {self.label!r} has no value in row {row} (the first is 0).")
        return column.to_numpy()

    # --- the file -----------------------------------------------------------------------------------------------------

    def _state_of_file(self) -> tuple[int, int]:
        known = self.path.stat()
        return known.st_size, known.st_mtime_ns

    @contextmanager
    def _same_file(self) -> Iterator[pq.ParquetFile]:
        """The file, opened; an error where it is another one than at first, or becomes one."""
        self._check_same()
        try:
            with pq.ParquetFile(self.path, pre_buffer=False) as file:  # it would read all row groups ahead
                yield file
        except (OSError, pa.ArrowException):
            self._check_same()  # the better reason
            raise
        self._check_same()

    def _check_same(self) -> None:
        if self._state_of_file() != self._state:
            raise InvalidInputError(
                f"{self.path} was changed while it was being read. Start again once nothing writes to it any more."
            )


def _is_whole(number: Any) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def header(path: Path) -> tuple[list[str], int]:
    """The columns of a Parquet file but those in which pandas keeps an index, and the number of rows.

    Parameters
    ----------
    path : Path
    """
    with _errors_in_words(path), pq.ParquetFile(path) as file:
        schema, n_rows = file.schema_arrow, int(file.metadata.num_rows)
    return names_in(schema), n_rows


def names_in(schema: pa.Schema) -> list[str]:
    """The columns of a Parquet file but those in which pandas keeps an index."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


@contextmanager
def _errors_in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InvalidInputError(f"There is no file {path}.") from error
    except (OSError, pa.ArrowException) as error:
        raise InvalidInputError(f"Cannot read {path} as Parquet: {' '.join(str(error).split())}") from error


def _as_frame(table: pa.Table) -> pd.DataFrame:
    """Rows without an index of pandas, their columns by the names that they have in the file."""
    table = table.replace_schema_metadata(None)
    return decimals_as_numbers(table.to_pandas(), table.schema)


def decimals_as_numbers(frame: pd.DataFrame, schema: pa.Schema) -> pd.DataFrame:
    """The same rows, decimals as the nearest float64.

    Parameters
    ----------
    frame : DataFrame
        With the columns of a Parquet file.
    schema : pyarrow.Schema
        Of the file.
    """
    decimals = [field.name for field in schema if pa.types.is_decimal(field.type) and field.name in frame.columns]
    return frame.astype(dict.fromkeys(decimals, np.float64)) if decimals else frame
