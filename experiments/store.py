"""Finished cells on disk, one file per cell. Files are never half-written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.study import Cell, fingerprint

FINGERPRINT = b"fcca.fingerprint"


@dataclass(frozen=True)
class Store:
    """A folder of finished cells."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Return the path of the file with the rows of a cell."""
        return self.folder / "cells" / f"{cell.key}.parquet"

    def has(self, cell: Cell) -> bool:
        """Return True if the cell was finished with the current settings, data, code and versions."""
        path = self.path(cell)
        if not path.is_file():
            return False
        try:
            metadata = pq.read_schema(path).metadata or {}
        except pa.ArrowInvalid:  # not written by this class, which never writes half a file
            return False
        return metadata.get(FINGERPRINT) == fingerprint(cell).encode()

    def put(self, cell: Cell, rows: pd.DataFrame) -> None:
        """Store the rows of a finished cell."""
        table = pa.Table.from_pandas(rows, preserve_index=False)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), FINGERPRINT: fingerprint(cell).encode()})
        write_whole(table, self.path(cell))

    def get(self, cell: Cell) -> pd.DataFrame:
        """Read the rows of a finished cell."""
        return pq.read_table(self.path(cell)).to_pandas()

    def collect(self, cells: Sequence[Cell], to: Path) -> pd.DataFrame:
        """Write the rows of all cells to one file, in the order of the cells, and return them."""
        rows = pd.concat([self.get(cell) for cell in cells], ignore_index=True)
        write_whole(pa.Table.from_pandas(rows, preserve_index=False), to)
        return rows


def write_whole(table: pa.Table, path: Path) -> None:
    """Write a Parquet file under a temporary name, then rename it, so that it is never half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(table, unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
