"""Checks of a table: column names, values, and the columns that a model expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_array

from fcca.exceptions import InvalidInputError
from fcca.utils import is_whole

Floats = NDArray[np.float64]

NAMES_SHOWN = 6
ROWS_SHOWN = 5


def check_column_names(X: Any, *, numbers: bool = False) -> None:
    """Check column names: unique strings, or pandas' default numbers 0, 1, 2, ….

    Parameters
    ----------
    X : array-like or data frame
    numbers : bool, default=False
        Whether all names may be whole numbers.
    """
    if type(X).__name__ == "LazyFrame":
        raise InvalidInputError("X is a LazyFrame, which has no values yet. Give X.collect().")
    columns = getattr(X, "columns", None)
    if columns is None:
        return
    names = list(columns)
    if not _nobody_named(names) and not (numbers and _are_numbers(names)):
        others = [name for name in names if not isinstance(name, str)]
        if others:
            raise TypeError(
                f"Column names must be strings, got {others[0]!r} of type {type(others[0]).__name__}. "
                "Rename them, for example with X.columns = X.columns.astype(str)."
            )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InvalidInputError(f"Column names must be unique; repeated: {', '.join(map(repr, repeated))}.")


def column_names(X: Any) -> list[str] | None:
    """Return the names of a table's columns or a row's entries; None if unnamed."""
    names = _own_names(X)
    return None if names is None or _nobody_named(names) else [str(name) for name in names]


def shown_names(X: Any) -> list[str] | None:
    """Return column names for messages, including pandas' numbers; None if unnamed."""
    names = _own_names(X)
    return None if names is None else [str(name) for name in names]


def _own_names(X: Any) -> list[Any] | None:
    """Return the names if they are all strings or all numbers."""
    given = getattr(X, "index" if isinstance(X, pd.Series) else "columns", None)
    names = [] if given is None else list(given)
    return names if names and (all(isinstance(name, str) for name in names) or _are_numbers(names)) else None


def _are_numbers(names: Sequence[Any]) -> bool:
    return all(is_whole(name) for name in names)


def _nobody_named(names: Sequence[Any]) -> bool:
    """Return True for 0, 1, 2, …, pandas' default column names."""
    return list(names) == list(range(len(names)))


def float_table(X: Any) -> Floats:
    """Convert X to a table of float64."""
    try:
        table: Floats = check_array(
            X,
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name="X",
        )
    except (TypeError, ValueError) as error:  # TypeError: a sparse table
        raise InvalidInputError(str(error)) from error
    return table


def check_values(
    table: Floats, names: Sequence[str] | None, labels: NDArray[Any] | None, missing: NDArray[np.bool_] | None = None
) -> None:
    """Check that values are finite, or missing in columns that allow it."""
    if len(table) == 0:
        raise InvalidInputError("X has no rows. Give at least one.")
    if np.isfinite(table).all():
        return
    is_missing = np.isnan(table)
    if missing is not None and len(missing) == table.shape[1]:
        is_missing &= ~missing
    for what, broken in (("missing values (NaN)", is_missing), ("infinite values", np.isinf(table))):
        if broken.any():
            columns = np.flatnonzero(broken.any(axis=0))
            places = [
                f"{called(names, j)} in {listed_rows(np.flatnonzero(broken[:, j]), labels)}"
                for j in columns[:NAMES_SHOWN].tolist()
            ]
            more = f"; … ({len(columns)} columns)" if len(columns) > NAMES_SHOWN else ""
            raise InvalidInputError(
                f"X has {what}: column {'; column '.join(places)}{more}. Replace them, or leave out these rows or columns."
            )


def called(names: Sequence[str] | None, j: int) -> str:
    """Return the name of a column for messages."""
    return repr(names[j]) if names is not None else str(j)


def listed_rows(rows: NDArray[np.intp], labels: NDArray[Any] | None) -> str:
    """Return the names of some rows for messages. For many rows, only the first few are named."""
    shown = ", ".join(str(row if labels is None else labels[row]) for row in rows[:ROWS_SHOWN].tolist())
    more = "" if len(rows) <= ROWS_SHOWN else f", … ({len(rows)} rows)"
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def check_columns(
    names: Sequence[str] | None,
    n: int,
    known: Sequence[str] | None,
    n_known: int,
    *,
    table: str = "X",
    knower: str = "the classifier was fitted on",
) -> None:
    """Check a table's column names, or only their number if there are no names.

    Parameters
    ----------
    names : sequence of str or None
        Column names of the table; None if it has none.
    n : int
        Number of columns of the table.
    known : sequence of str or None
        Expected column names.
    n_known : int
        Expected number of columns.
    table, knower : str
        Names in the message of the table and of the owner of the expected columns.
    """
    if known is None or names is None:
        if n != n_known:
            raise InvalidInputError(
                f"{table} has {n} column(s), but {knower} {n_known}. Give the same columns in the same order."
            )
        return
    # LightGBM writes a space in a name as an underscore.
    if list(names) == list(known) or [name.replace(" ", "_") for name in names] == list(known):
        return
    missing = [name for name in known if name not in set(names)]
    surplus = [name for name in names if name not in set(known)]
    if missing or surplus:
        parts = [f"{table} lacks {_listed(missing)}"] if missing else []
        parts += [f"{'also has' if missing else f'{table} also has'} {_listed(surplus)}"] if surplus else []
        raise InvalidInputError(
            f"{knower[0].upper()}{knower[1:]} different columns: {' and '.join(parts)}. "
            "Give the same columns in the same order."
        )
    at = next(j for j, (given, expected) in enumerate(zip(names, known, strict=True)) if given != expected)
    raise InvalidInputError(
        f"{table} has the right columns in another order: column {at} is {names[at]!r}, but {knower} {known[at]!r} in "
        "this place. Reorder the columns, for example with X[list(names)]."
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown}, … ({len(names)} columns)"
