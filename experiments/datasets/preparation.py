"""Convert tables of OpenML to the features and classes of the study."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

Label = Callable[[pd.Series], pd.Series]
Features = Callable[[pd.DataFrame], pd.DataFrame]

MINIBOONE_SENTINEL = -999.0


def one_of(*classes: str) -> Label:
    """Return a function that gives label 1 to these classes and 0 to all others."""
    return lambda target: _as_text(target).isin(classes)


def other_than(*classes: str) -> Label:
    """Return a function that gives label 0 to these classes and 1 to all others."""
    return lambda target: ~_as_text(target).isin(classes)


def at_least_median(target: pd.Series) -> pd.Series:
    """Give label 1 to numbers at or above their median, and 0 to the others."""
    numbers = pd.to_numeric(target)
    return numbers >= numbers.median()


def all_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Keep every column."""
    return table


def continuous_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Drop columns with missing values or with one or two distinct values, as in the paper's copies."""
    return table.loc[:, table.notna().all() & (table.nunique() > 2)]


def rows_without_sentinels(table: pd.DataFrame) -> pd.DataFrame:
    """Drop rows of MiniBooNE with a failed measurement."""
    return table.loc[~(table == MINIBOONE_SENTINEL).any(axis=1)]


def zeros_as_missing(*columns: str) -> Features:
    """Replace zeros with missing values in columns whose values cannot be zero."""
    return lambda table: table.assign(**{column: table[column].where(table[column] != 0) for column in columns})


def _as_text(target: pd.Series) -> pd.Series:
    """Convert classes to strings, even if OpenML declares them as numbers."""
    return target.map("{:g}".format) if pd.api.types.is_numeric_dtype(target.dtype) else target
