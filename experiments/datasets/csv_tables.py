"""Read and check tables of CSV files."""

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
LAYOUT = f"A comma-separated table with a header, features first, the last column named {LABEL}, is expected."


def read_table(path: Path, categorical: Collection[str]) -> tuple[pd.DataFrame, pd.Series]:
    """Read features and classes of a CSV file whose last column is named label."""
    try:
        with warnings.catch_warnings():
            # pandas only warns of rows with more cells than the header has names, and drops their end.
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
    """Check that features are finite numbers, and turn known categorical columns into pandas categories."""
    if table.empty:
        raise InvalidInputError(f"{origin} has {len(table)} row(s) and {table.shape[1]} feature(s); give at least one each.")
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
            f"{origin}: features must be numbers, but these columns hold texts: {shown}{rest}. "
            "Encode them, or leave their cells empty where they mean missing."
        )
    numbers = table.select_dtypes("number")
    infinite = [str(column) for column in numbers.columns if np.isinf(numbers[column].to_numpy(dtype=np.float64)).any()]
    if infinite:
        raise InvalidInputError(f"{origin}: infinite values in {', '.join(infinite[:NAMES_SHOWN])}. Give finite numbers.")
    return table


def check_classes(target: pd.Series, origin: object) -> pd.Series:
    """Check that there are two or more classes and none is missing; whole numbers become integers."""
    missing = int(target.isna().sum())
    if missing:
        raise InvalidInputError(f"{origin}: {missing} row(s) have no {LABEL}. Fill them in or leave these rows out.")
    if target.nunique() < 2:
        raise InvalidInputError(f"{origin}: every {LABEL} is {target.iloc[0]!r}. At least two classes are needed.")
    if pd.api.types.is_bool_dtype(target.dtype):
        return target.astype(np.int64)
    if pd.api.types.is_numeric_dtype(target.dtype):
        fractions = target[target != np.floor(target)]
        if len(fractions):
            raise InvalidInputError(
                f"{origin}: {LABEL} must name classes, but it holds {fractions.iloc[0]!r}. "
                "Make classes of the numbers, for example by comparing them with their median."
            )
        return target.astype(np.int64)
    return target


def _first_text(column: pd.Series) -> object:
    texts = column[pd.to_numeric(column, errors="coerce").isna() & column.notna()]
    return texts.iloc[0] if len(texts) else column.iloc[0]


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
