"""Checks of a table that the user gives: column names, finite values, and expected columns."""

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
    """Check that the column names of a table are unique strings.

    The numbers 0, 1, 2, …, which pandas gives to columns without names, are accepted too. A table without column names
    always passes.

    Parameters
    ----------
    X : array-like or data frame
    numbers : bool, default=False
        If True, any whole numbers are accepted as column names, as long as all names are whole numbers.
    """
    if type(X).__name__ == "LazyFrame":
        raise InvalidInputError("X is a LazyFrame, whose values are not computed yet. Pass X.collect() instead.")
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
        raise InvalidInputError(
            f"Column names must be unique; repeated: {', '.join(map(repr, repeated))}. Rename or remove these columns."
        )


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a table, or the names in the index of a Series.

    Return None if there are no names, or only the numbers 0, 1, 2, … that pandas gives to columns without names.
    """
    names = _own_names(X)
    return None if names is None or _nobody_named(names) else [str(name) for name in names]


def shown_names(X: Any) -> list[str] | None:
    """Return the column names to show in messages; None if there are none.

    In contrast to :func:`column_names`, the numbers 0, 1, 2, … that pandas gives are returned too.
    """
    names = _own_names(X)
    return None if names is None else [str(name) for name in names]


def _own_names(X: Any) -> list[Any] | None:
    """Return the column names if they are all strings or all whole numbers; None otherwise.

    For a Series, the names in its index are used.
    """
    given = getattr(X, "index" if isinstance(X, pd.Series) else "columns", None)
    names = [] if given is None else list(given)
    return names if names and (all(isinstance(name, str) for name in names) or _are_numbers(names)) else None


def _are_numbers(names: Sequence[Any]) -> bool:
    return all(is_whole(name) for name in names)


def _nobody_named(names: Sequence[Any]) -> bool:
    """Return True if the names are the default names of pandas: 0, 1, 2, …."""
    return list(names) == list(range(len(names)))


def float_table(X: Any) -> Floats:
    """Convert X to a two-dimensional array of float64; NaN and infinity are allowed."""
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
    """Check that all values are finite, except for missing values in columns that allow them.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_features)
    names : sequence of str or None
        Names of the columns, for error messages.
    labels : ndarray or None
        Names of the rows, for error messages.
    missing : ndarray of bool or None
        Mask of the columns that allow missing values. None allows no missing values.
    """
    if len(table) == 0:
        raise InvalidInputError("X has no rows. Give at least one row.")
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
    """Return the name of column ``j`` for messages: its quoted name, or its position."""
    return repr(names[j]) if names is not None else str(j)


def listed_rows(rows: NDArray[np.intp], labels: NDArray[Any] | None) -> str:
    """Name rows for a message, such as ``rows 3, 8``.

    Of many rows, only the first few are named.

    Parameters
    ----------
    rows : ndarray of int
        Positions of the rows to name.
    labels : ndarray or None
        Names of all rows of the table. None names rows by their positions.
    """
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
    """Check that a table has the expected columns in the expected order.

    If the table or the expected columns have no names, only the number of columns is compared.

    Parameters
    ----------
    names : sequence of str or None
        Column names of the table; None if it has none.
    n : int
        Number of columns of the table.
    known : sequence of str or None
        Expected column names; None if they are not known.
    n_known : int
        Expected number of columns.
    table : str, default="X"
        Name of the table in the error message.
    knower : str, default="the classifier was fitted on"
        Text before the expected columns in the error message.
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
        f"{table} has the right columns in another order: column {at} is {names[at]!r}, but {knower} {known[at]!r} at "
        f"this position. Reorder the columns: {_listed(known)}."
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown}, … ({len(names)} columns)"
