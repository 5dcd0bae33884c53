"""Tables that do not fit into memory: black box, bins and certified tree from rows that come in pieces."""

from fcca.streaming._distill import (
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
