"""The label column of a table: its name, its labels, and checks of its classes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from fcca.cli._column_types import listed
from fcca.exceptions import InvalidInputError
from fcca.utils import close_to

LABEL_NAMES = ("label", "target", "class", "y")


def label_among(columns: Sequence[str], label: str | None, table: str, n_rows: int) -> str:
    """Return the name of the label column.

    Raise an error if the table has no rows or no feature columns.

    Parameters
    ----------
    columns : sequence of str
        All columns of the table.
    label : str or None
        Value of ``--label``. With None, the label column is the only column with a name in ``LABEL_NAMES``.
    table : str
        Name of the file, for error messages.
    n_rows : int
    """
    name = label_name(columns, label)
    if n_rows == 0:
        raise InvalidInputError(f"{table} has column names but no rows. Expected at least two rows of each class.")
    if len(columns) == 1:
        raise InvalidInputError(f"{table} has only the label column {name!r}. Expected at least one feature column.")
    return name


def label_name(columns: Sequence[str], wanted: str | None) -> str:
    """Return the label column that the user names, or the only one with a usual name."""
    if wanted is not None:
        if wanted not in columns:
            raise InvalidInputError(f"There is no label column {wanted!r}. {close_to(wanted, columns)}")
        return wanted
    found = [name for name in columns if name.strip().lower() in LABEL_NAMES]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInputError(f"Several columns could be the label: {listed(found)}. Choose one with --label.")
    n_numbers = pd.to_numeric(pd.Series(columns, dtype=object), errors="coerce").notna().sum()
    hint = " The first line must contain column names." if n_numbers > len(columns) / 2 else ""
    raise InvalidInputError(
        f"No column is named {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}. Choose the label column with --label. "
        f"The columns are {listed(columns)}.{hint}"
    )


def labels_of(column: pd.Series[Any]) -> NDArray[np.generic]:
    """Convert the label column to integers or strings.

    The index of ``column`` must contain the row numbers, for error messages.
    """
    missing = column.index[column.isna()]
    if len(missing):
        raise missing_labels(str(column.name), len(missing), missing[0])
    if types.is_float_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64)
        broken = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)) | (np.abs(values) > 2**53))
        if len(broken):
            raise InvalidInputError(
                f"The label column {column.name!r} has numbers such as {values[broken[0]]:g}. Expected classes, as "
                "strings or whole numbers. Choose another column with --label, or convert this one to classes."
            )
        return values.astype(np.int64)
    if types.is_integer_dtype(column.dtype):
        return column.to_numpy(dtype=np.uint64 if types.is_unsigned_integer_dtype(column.dtype) else np.int64)
    if isinstance(column.dtype, pd.StringDtype):
        position, distinct = pd.factorize(column)
        return np.asarray(distinct, dtype=str)[position]
    return np.asarray([str(value) for value in column], dtype=str)


def missing_labels(label: str, n: int, first: int) -> InvalidInputError:
    """Return the error for a label column with missing values.

    ``n`` is the number of missing values, and ``first`` is the number of the first row that has one.
    """
    return InvalidInputError(
        f"The label column {label!r} has {n} missing value(s), first in row {first} (counted from 0). "
        "Remove these rows, or fill in their labels. Empty fields, NA, None and null count as missing values."
    )


def counts_of(y: NDArray[np.generic]) -> dict[Any, int]:
    """Return the number of rows of each class in ``y``."""
    classes, counts = np.unique(y, return_counts=True)
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


def check_classes(counts: dict[Any, int], label: str) -> None:
    """Check that a table has enough classes and rows.

    A table must have at least two classes and, on average, at least two rows per class.

    Parameters
    ----------
    counts : dict
        Number of rows of each class.
    label : str
        Name of the label column.
    """
    if len(counts) == 1:
        raise InvalidInputError(
            f"The label column {label!r} has only one class, {next(iter(counts))!r}. Expected at least two. "
            "Choose another column with --label."
        )
    n_rows = sum(counts.values())
    if n_rows < 2 * len(counts):
        raise InvalidInputError(
            f"Too few rows: {n_rows} rows of {len(counts)} classes in {label!r}, so some classes have only one row. "
            "Expected at least two rows per class, on average. Choose another label column with --label, or add rows."
        )


def check_learned(counts: dict[Any, int], learned: Collection[Any], label: str, test_size: float, random_state: int) -> None:
    """Check that the training rows include every class of the table.

    Parameters
    ----------
    counts : dict
        Number of rows of each class.
    learned : collection
        Classes of the training rows.
    label : str
        Name of the label column.
    test_size, random_state : float and int
        Options of the split, for the error message.
    """
    for name, n in counts.items():
        if name not in learned:
            raise InvalidInputError(
                f"--test-size {test_size:g} with --random-state {random_state} holds out all {n} rows of class {name!r} of "
                f"{label!r}, so none are left for training. Use another --random-state or a smaller --test-size, or remove "
                "the class."
            )


def check_split(counts: dict[Any, int], label: str, test_size: float) -> None:
    """Check that training rows and held-out rows can both include every class.

    Parameters
    ----------
    counts : dict
        Number of rows of each class.
    label : str
        Name of the label column.
    test_size : float
        Share of the rows to hold out.
    """
    n_rows = sum(counts.values())
    rarest = min(counts, key=lambda label: counts[label])
    if counts[rarest] < 2:
        raise InvalidInputError(
            f"Class {rarest!r} of {label!r} has only one row. Both the training rows and the held-out rows must include "
            "this class. Use --test-size 0, or remove the class."
        )
    held_out = math.ceil(test_size * n_rows)
    smaller = min(held_out, n_rows - held_out)
    if smaller < len(counts):
        raise InvalidInputError(
            f"Too few rows for --test-size {test_size:g}: {held_out} of {n_rows} rows are held out. Both the training rows "
            f"and the held-out rows must include all {len(counts)} classes. Use --test-size 0, or add rows."
        )
