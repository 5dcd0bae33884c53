"""Replace a black box with a tree, from a table in chunks."""

from fcca.streaming._distill_chunks import (
    Distilled as Distilled,
    distill,
    distilled as distilled,
    parts_for_chunks as parts_for_chunks,
)
from fcca.streaming._parquet import (
    ParquetTable,
    decimals_as_numbers as decimals_as_numbers,
    header as header,
    names_in as names_in,
)

__all__ = ["ParquetTable", "distill"]
