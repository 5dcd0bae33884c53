"""ParquetTable: a Parquet file that is read in chunks."""

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
    """A Parquet file that :func:`distill` reads in chunks.

    Parameters
    ----------
    path : str or Path
    label : str
        Name of the label column.
    sample_weight : str, default=None
        Name of the weight column.
    columns : sequence of str, default=None
        Names of the feature columns. None uses all columns except the label and the weight.
    rows_at_a_time : int, default=65536
        Maximum number of rows in a chunk.

    Attributes
    ----------
    n_rows : int
        Number of rows in the file.
    columns : list of str
        Names of the feature columns.

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
        with _clear_errors(self.path):
            self._state = self._state_of_file()
        names, self.n_rows = header(self.path)
        if isinstance(columns, str):
            raise InvalidInputError(f"columns must be a list of names, got the string {columns!r}.")
        used = [label, *([] if sample_weight is None else [sample_weight]), *(columns or ())]
        if unknown := [name for name in used if name not in names]:
            raise InvalidInputError(f"{self.path.name} has no column {unknown[0]!r}. Its columns are {names}.")
        if twice := [name for at, name in enumerate(used) if name in used[:at]]:
            raise InvalidInputError(
                f"{twice[0]!r} is given twice. label, sample_weight and columns must name different columns."
            )
        others = [name for name in names if name not in (label, sample_weight)]
        self.columns = others if columns is None else list(columns)
        if not self.columns:
            raise InvalidInputError(f"{self.path.name} has no feature columns, only the label column {label!r}.")
        times = Counter(names)
        if repeated := dict.fromkeys(name for name in [*self.columns, *used] if times[name] > 1):
            raise InvalidInputError(
                f"Column names must be unique; repeated in {self.path.name}: {', '.join(map(repr, repeated))}. Rename them, "
                "or leave them out of 'columns'."
            )

    def frames(self, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield all rows of the file in order, as one data frame per chunk.

        The index of a data frame holds the positions of its rows in the file.

        Parameters
        ----------
        columns : list of str, optional
            Columns to read, by default all.
        """
        begin = 0
        with _clear_errors(self.path), self._same_file() as file:
            for batches in self._batches(file, columns):
                frame = _as_frame(pa.Table.from_batches(batches))
                frame.index = pd.RangeIndex(begin, begin + len(frame))
                begin += len(frame)
                yield frame

    def _batches(self, file: pq.ParquetFile, columns: list[str] | None) -> Iterator[list[pa.RecordBatch]]:
        """Yield lists of batches that together make one chunk.

        Small row groups of the file are combined into one chunk.
        """
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
        """Return the rows at some positions, without keeping the other rows in memory.

        Parameters
        ----------
        rows : ndarray of int
            Sorted positions in the file, counted from 0. They become the index of the data frame.
        columns : list of str, optional
            Columns to read, by default all.
        progress : callable, optional
            Called with the number of rows read so far.
        """
        rows = np.asarray(rows, dtype=np.int64)
        taken, begin = [], 0
        with _clear_errors(self.path), self._same_file() as file:
            for batch in file.iter_batches(self.rows_at_a_time, columns=columns, use_threads=False):
                first, last = np.searchsorted(rows, (begin, begin + len(batch)))
                taken.append(batch.take(pa.array(rows[first:last] - begin)))  # an empty batch still lists the categories
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
            raise InvalidInputError(
                f"The label column {self.label!r} has a missing value in row {row}, counted from 0. Drop such rows."
            )
        return column.to_numpy()

    # --- the file -----------------------------------------------------------------------------------------------------

    def _state_of_file(self) -> tuple[int, int]:
        known = self.path.stat()
        return known.st_size, known.st_mtime_ns

    @contextmanager
    def _same_file(self) -> Iterator[pq.ParquetFile]:
        """Open the file; raise an error if it has changed since the first access."""
        self._check_same()
        try:
            with pq.ParquetFile(self.path, pre_buffer=False) as file:  # pre_buffer would read all row groups at once
                yield file
        except (OSError, pa.ArrowException):
            self._check_same()  # a changed file explains the error better
            raise
        self._check_same()

    def _check_same(self) -> None:
        if self._state_of_file() != self._state:
            raise InvalidInputError(
                f"{self.path} was changed while it was being read. Run again when no other process is writing to the file."
            )


def _is_whole(number: Any) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def header(path: Path) -> tuple[list[str], int]:
    """Return the column names and the number of rows of a Parquet file.

    Columns in which pandas stored its index are left out.

    Parameters
    ----------
    path : Path
    """
    with _clear_errors(path), pq.ParquetFile(path) as file:
        schema, n_rows = file.schema_arrow, int(file.metadata.num_rows)
    return names_in(schema), n_rows


def names_in(schema: pa.Schema) -> list[str]:
    """Return the column names in a Parquet schema, without pandas index columns."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InvalidInputError(f"There is no file {path}.") from error
    except (OSError, pa.ArrowException) as error:
        raise InvalidInputError(f"Cannot read {path} as Parquet: {' '.join(str(error).split())}") from error


def _as_frame(table: pa.Table) -> pd.DataFrame:
    """Convert a pyarrow table to a data frame, ignoring an index that pandas stored."""
    table = table.replace_schema_metadata(None)
    return decimals_as_numbers(table.to_pandas(), table.schema)


def decimals_as_numbers(frame: pd.DataFrame, schema: pa.Schema) -> pd.DataFrame:
    """Convert decimal columns of a data frame to float64, rounding to the nearest float.

    Parameters
    ----------
    frame : DataFrame
        A data frame read from a Parquet file.
    schema : pyarrow.Schema
        Schema of the file, which says which columns are decimals.
    """
    decimals = [field.name for field in schema if pa.types.is_decimal(field.type) and field.name in frame.columns]
    return frame.astype(dict.fromkeys(decimals, np.float64)) if decimals else frame
