"""Thresholds and trees of tables that are read in pieces."""

from fcca.streaming._distill_pieces import (
    Distilled as Distilled,
    distill,
    distilled as distilled,
    parts_for_pieces as parts_for_pieces,
)
from fcca.streaming._parquet import (
    ParquetTable,
    decimals_as_numbers as decimals_as_numbers,
    header as header,
    names_in as names_in,
)

__all__ = ["ParquetTable", "distill"]
