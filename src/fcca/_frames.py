"""What the columns of a table are called, and whether a model knows them by these names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from fcca.exceptions import InvalidInputError

NAMES_SHOWN = 6


def check_column_names(X: Any) -> None:
    """Refuse column names that cannot name a condition: repeated ones, and numbers other than 0, 1, 2, …"""
    columns = getattr(X, "columns", None)
    if columns is None:
        return
    names = list(columns)
    numbered = names == list(range(len(names)))  # what pandas calls columns that nobody named
    if not numbered:
        others = [name for name in names if not isinstance(name, str)]
        if others:
            raise TypeError(
                f"Column names must be texts, got {others[0]!r} of type {type(others[0]).__name__}. "
                "Rename them, for example with X.columns = X.columns.astype(str)."
            )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InvalidInputError(f"Column names must be unique; repeated: {', '.join(map(repr, repeated))}.")


def column_names(X: Any) -> list[str] | None:
    """Names of a table's columns, or of a row's entries; None where nobody named them."""
    names = getattr(X, "index" if isinstance(X, pd.Series) else "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return list(names)


def check_columns(
    names: Sequence[str] | None,
    n: int,
    known: Sequence[str] | None,
    n_known: int,
    *,
    table: str = "X",
    knower: str = "the classifier was fitted on",
) -> None:
    """Refuse a table whose columns are other ones than those known, by name where both have names, or by number.

    Parameters
    ----------
    names : sequence of str or None
        Columns of the table, None where they have no names.
    n : int
        How many there are.
    known : sequence of str or None
        Columns that are expected.
    n_known : int
        How many these are.
    table, knower : str
        What the message calls the table, and whose columns the expected ones are.
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
        parts += [f"{'has' if missing else f'{table} has'} {_listed(surplus)} in addition"] if surplus else []
        raise InvalidInputError(
            f"{knower[0].upper()}{knower[1:]} other columns: {' and '.join(parts)}. Give the same columns in the same order."
        )
    at = next(j for j, (given, expected) in enumerate(zip(names, known, strict=True)) if given != expected)
    raise InvalidInputError(
        f"{table} has the right columns in another order: column {at} is {names[at]!r}, but {knower} {known[at]!r} there. "
        "Put them in that order, for example with X[list(names)]."
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown}, … ({len(names)} columns)"
