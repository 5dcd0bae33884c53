"""The user's table: checks, categories, missing values, encoding as numbers, and row weights."""

from fcca.tables._columns import Column, Columns
from fcca.tables._known_rows import known_rows
from fcca.tables._metadata import routed_metadata
from fcca.tables._soft_labels import SoftLabels
from fcca.tables._table_checks import (
    ROWS_SHOWN,
    called,
    check_column_names,
    check_columns,
    column_names,
    float_table,
    listed_rows,
    shown_names,
)
from fcca.tables._training_table import TrainingTable, weighted_rows
from fcca.tables._units import PowerOfTwoScaler
from fcca.tables._weights import check_weights, heaviest_label

__all__ = [
    "ROWS_SHOWN",
    "Column",
    "Columns",
    "PowerOfTwoScaler",
    "SoftLabels",
    "TrainingTable",
    "called",
    "check_column_names",
    "check_columns",
    "check_weights",
    "column_names",
    "float_table",
    "heaviest_label",
    "known_rows",
    "listed_rows",
    "routed_metadata",
    "shown_names",
    "weighted_rows",
]
