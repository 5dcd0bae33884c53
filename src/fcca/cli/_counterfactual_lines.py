"""Write counterfactuals to a Parquet file, chunk by chunk."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fcca.cli._distillation_result import lines_of
from fcca.counterfactuals import Counterfactuals

RowNumbers = NDArray[np.int64]


class CounterfactualLines:
    """Writes counterfactuals to a Parquet file, one line per changed column.

    The costs are stored in a temporary file, from which the median is computed at the end. Objects of this class are
    context managers.

    Parameters
    ----------
    path : Path or None
        Output file. With None, only the costs are stored.
    directory : Path
        Directory for the temporary file with the costs.
    """

    def __init__(self, path: Path | None, directory: Path) -> None:
        self.path, self.directory = path, directory
        self._open = ExitStack()
        self._writer: pq.ParquetWriter | None = None
        self._schema: pa.Schema | None = None

    def __enter__(self) -> Self:
        self._costs: IO[bytes] = self._open.enter_context(TemporaryFile(dir=self.directory))
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def add(self, found: Counterfactuals, rows: RowNumbers) -> None:
        """Write the counterfactuals of one chunk.

        Parameters
        ----------
        found : Counterfactuals
        rows : ndarray
            Row numbers, in the input table, of the training rows of the chunk. ``found.rows`` are indices into this array.
        """
        self._costs.write(found.cost[found.is_proven].tobytes())
        if self.path is None:
            return
        lines = lines_of(found, rows)
        if self._writer is None:
            self._schema = _schema(lines, found.classes)
            self._writer = self._open.enter_context(pq.ParquetWriter(self.path, self._schema))
        if len(lines):
            self._writer.write_table(pa.Table.from_pandas(lines, self._schema, preserve_index=False))

    def median_cost(self) -> float:
        """Return the median cost of the proven counterfactuals."""
        self._costs.flush()
        return float(np.median(np.memmap(self._costs, dtype=np.float64), overwrite_input=True))


def _schema(lines: pd.DataFrame, classes: NDArray[Any]) -> pa.Schema:
    """Return the column types of the Parquet file, taken from its first lines.

    The column ``target`` gets a type that fits all classes, because the first lines may contain only some of them.
    """
    schema = pa.Schema.from_pandas(lines, preserve_index=False)
    at = schema.get_field_index("target")
    label = pa.Schema.from_pandas(pd.DataFrame({"target": classes}), preserve_index=False).field("target")
    return schema.set(at, label)
