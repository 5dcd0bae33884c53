"""Tables that do not fit into memory: black box, bins and certified tree from rows that come in pieces."""

from fcca.streaming._distill import distill
from fcca.streaming._parquet import ParquetTable

__all__ = ["ParquetTable", "distill"]
