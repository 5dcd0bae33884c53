"""The user's table: checks, categories, missing values, encoding as numbers, and row weights."""

from fcca.tables._columns import Column, Columns
from fcca.tables._known_rows import known_rows
from fcca.tables._metadata import routed_metadata
from fcca.tables._soft_labels import SoftLabels
from fcca.tables._special_values import (
    Special,
    check_ordinary_values,
    is_special,
    likely_in_words,
    likely_special_values,
    special_by_column,
    without_special,
)
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
from fcca.tables._unknown_values import HANDLINGS, UNKNOWN, StandIns, cell_of, check_handling, warn_of_unknown
from fcca.tables._weights import check_weights, heaviest_label

__all__ = [
    "HANDLINGS",
    "ROWS_SHOWN",
    "UNKNOWN",
    "Column",
    "Columns",
    "PowerOfTwoScaler",
    "SoftLabels",
    "Special",
    "StandIns",
    "TrainingTable",
    "called",
    "cell_of",
    "check_column_names",
    "check_columns",
    "check_handling",
    "check_ordinary_values",
    "check_weights",
    "column_names",
    "float_table",
    "heaviest_label",
    "is_special",
    "known_rows",
    "likely_in_words",
    "likely_special_values",
    "listed_rows",
    "routed_metadata",
    "shown_names",
    "special_by_column",
    "warn_of_unknown",
    "weighted_rows",
    "without_special",
]
