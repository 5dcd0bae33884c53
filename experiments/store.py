"""Finished cells on disk: each in its own file, written whole or not at all."""

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
        """Where a cell's rows are."""
        return self.folder / "cells" / f"{cell.key}.parquet"

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished, by the same settings and versions as today's."""
        path = self.path(cell)
        if not path.is_file():
            return False
        try:
            metadata = pq.read_schema(path).metadata or {}
        except pa.ArrowInvalid:  # not written by this class, which never leaves half a file
            return False
        return metadata.get(FINGERPRINT) == fingerprint(cell).encode()

    def put(self, cell: Cell, rows: pd.DataFrame) -> None:
        """Keep a finished cell."""
        table = pa.Table.from_pandas(rows, preserve_index=False)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), FINGERPRINT: fingerprint(cell).encode()})
        write_whole(table, self.path(cell))

    def get(self, cell: Cell) -> pd.DataFrame:
        """A finished cell's rows."""
        return pq.read_table(self.path(cell)).to_pandas()

    def collect(self, cells: Sequence[Cell], to: Path) -> pd.DataFrame:
        """All cells' rows in one tidy file, in the order of the cells."""
        rows = pd.concat([self.get(cell) for cell in cells], ignore_index=True)
        write_whole(pa.Table.from_pandas(rows, preserve_index=False), to)
        return rows


def write_whole(table: pa.Table, path: Path) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(table, unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
