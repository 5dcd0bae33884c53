"""Read CSV files and check their columns."""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from fcca.exceptions import InvalidInputError

LABEL = "label"
SUFFIXES = (".csv", ".csv.gz")
NAMES_SHOWN = 6
LAYOUT = f"Expected a comma-separated table with a header: first the features, then a last column named {LABEL}."


def read_table(path: Path, categorical: Collection[str]) -> tuple[pd.DataFrame, pd.Series]:
    """Read the features and classes of a CSV file. The last column must be named label."""
    try:
        with warnings.catch_warnings():
            # If rows have more cells than the header has names, pandas only warns, and drops the last cells.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(path, index_col=False)
    except pd.errors.ParserWarning as error:
        raise InvalidInputError(f"{path}: the rows have more cells than the header has names. {LAYOUT}") from error
    except (ValueError, OSError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(f"{path} cannot be read: {_first_line(error)}. {LAYOUT}") from error
    if not len(table.columns) or table.columns[-1] != LABEL:
        last = repr(str(table.columns[-1])) if len(table.columns) else "missing"
        raise InvalidInputError(f"{path}: the last column must be named {LABEL}, but it is {last}. {LAYOUT}")
    return check_features(table.iloc[:, :-1], categorical, path), check_classes(table[LABEL], path)


def check_features(table: pd.DataFrame, categorical: Collection[str], origin: object) -> pd.DataFrame:
    """Check that features are finite numbers, and convert known categorical columns to pandas categories."""
    if table.empty:
        raise InvalidInputError(
            f"{origin} has {len(table)} row(s) and {table.shape[1]} feature(s); at least one of each is needed."
        )
    table = table.astype({column: "category" for column in categorical if column in table.columns})
    texts = [
        column
        for column, kind in table.dtypes.items()
        if not isinstance(kind, pd.CategoricalDtype) and not pd.api.types.is_numeric_dtype(kind)
    ]
    if texts:
        shown = ", ".join(f"{column!s} (with {_first_text(table[column])!r})" for column in texts[:NAMES_SHOWN])
        rest = f" and {len(texts) - NAMES_SHOWN} more" if len(texts) > NAMES_SHOWN else ""
        raise InvalidInputError(
            f"{origin}: features must be numbers, but these columns contain text: {shown}{rest}. "
            "Encode these columns as numbers. If a text stands for a missing value, leave the cell empty."
        )
    numbers = table.select_dtypes("number")
    infinite = [str(column) for column in numbers.columns if np.isinf(numbers[column].to_numpy(dtype=np.float64)).any()]
    if infinite:
        raise InvalidInputError(f"{origin}: infinite values in {', '.join(infinite[:NAMES_SHOWN])}. Use finite numbers.")
    return table


def check_classes(target: pd.Series, origin: object) -> pd.Series:
    """Check that there are at least two classes and no missing labels, and convert whole numbers to integers."""
    missing = int(target.isna().sum())
    if missing:
        raise InvalidInputError(f"{origin}: {missing} row(s) have no {LABEL}. Fill in the labels, or remove these rows.")
    if target.nunique() < 2:
        raise InvalidInputError(f"{origin}: every {LABEL} is {target.iloc[0]!r}. At least two classes are needed.")
    if pd.api.types.is_bool_dtype(target.dtype):
        return target.astype(np.int64)
    if pd.api.types.is_numeric_dtype(target.dtype):
        fractions = target[target != np.floor(target)]
        if len(fractions):
            raise InvalidInputError(
                f"{origin}: the column {LABEL} must contain classes, but it contains {fractions.iloc[0]!r}. "
                "Convert the numbers to classes, for example by comparing them with their median."
            )
        return target.astype(np.int64)
    return target


def _first_text(column: pd.Series) -> object:
    texts = column[pd.to_numeric(column, errors="coerce").isna() & column.notna()]
    return texts.iloc[0] if len(texts) else column.iloc[0]


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
