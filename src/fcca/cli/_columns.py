"""Columns of a file as numbers, categories and gaps: guessed from what is in them, or as a model knows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from fcca.exceptions import InvalidInputError
from fcca.tables import Columns, listed_rows

Bools = NDArray[np.bool_]

NAMES_SHOWN = 12
TEXTS_SHOWN = 3
LONGEST_TEXT = 60

MARK = "?"  # of a missing value, wherever it stands alone
#: Words for a missing value, beside those that pandas knows, where all the rest of a column are numbers.
MARKS_AMONG_NUMBERS = frozenset({MARK, "", "-", "--", ".", "na", "n/a", "nan", "nil", "null", "none", "missing", "unknown"})
FEWEST_LIKE_IDS = 21  # categories that are taken for names of rows where most rows have one of their own


def listed(names: Sequence[Any], most: int = NAMES_SHOWN) -> str:
    """Names in quotes, the first ones of them where there are many."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


# --- guessed ------------------------------------------------------------------------------------------------------------


def guessed(
    frame: pd.DataFrame, categorical: Sequence[str], *, from_text: bool, of: str = ""
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table whose columns are numbers or categories, and notes on what was taken for what.

    Parameters
    ----------
    frame : DataFrame
        As it was read.
    categorical : sequence of str
        Columns that hold categories, whatever they look like.
    from_text : bool
        Whether the file has no types, so that a column of texts may be meant as numbers.
    of : str
        What notes say of the rows, such as " of the sample".

    Returns
    -------
    DataFrame
        float64 for numbers, object for texts, pandas' category dtype for columns named in ``categorical``. Columns in which
        most rows have a text of their own are left out.
    tuple of str
    """
    unknown = [name for name in categorical if name not in frame.columns]
    if unknown:
        raise InvalidInputError(
            f"--categorical names {unknown[0]!r}, but the columns beside the label are {listed(list(frame.columns))}."
        )
    columns: dict[str, Any] = {}
    notes: list[str] = []
    like_ids: list[str] = []
    for name in frame.columns:
        column = _without_marks(frame[name])
        if name in categorical or isinstance(column.dtype, pd.CategoricalDtype):
            columns[name] = _categories(column, of)
            continue
        values = _guessed_column(column, from_text, of)
        gaps = np.flatnonzero(values.isna() & frame[name].notna())
        if len(gaps):
            marks = listed(list(dict.fromkeys(str(text) for text in frame[name].iloc[gaps])), TEXTS_SHOWN)
            notes.append(f"Column {name!r}: {marks} is taken for a missing value, in {_rows(len(gaps))}{of}.")
        if values.dtype == object and _is_like_ids(values):
            n_rows = int(values.notna().sum())
            like_ids.append(
                f"Column {name!r} is left out: {values.nunique():,} different texts in {_rows(n_rows)}{of}, "
                f"as names of rows have them. To keep it: --categorical {name!r}."
            )
            continue
        columns[name] = values
    if not columns:
        raise InvalidInputError(f"There is no column to learn from. {like_ids[0]}")
    return pd.DataFrame(columns, index=frame.index), (*notes, *like_ids)


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _is_like_ids(values: pd.Series[Any]) -> bool:
    n_labels = values.nunique()
    return n_labels >= FEWEST_LIKE_IDS and 2 * n_labels > int(values.notna().sum())


def _guessed_column(column: pd.Series[Any], from_text: bool, of: str) -> pd.Series[Any]:
    """Numbers as float64, texts as objects."""
    _check_some_value(column, of)
    if _is_number(column):
        return _finite(column)
    _check_kind(column)
    present = np.flatnonzero(column.notna())
    if _all_booleans(column.iloc[present]):
        return _finite(column)
    position, distinct = pd.factorize(column.iloc[present].astype(str).to_numpy(dtype=object))
    texts = np.array(distinct, dtype=object)
    if from_text:
        numbers = np.array([np.nan if (number := _number(text)) is None else number for text in texts])
        other = np.isnan(numbers)
        marked = np.array([text.strip().lower() in MARKS_AMONG_NUMBERS for text in texts])
        if not other.all() and not (other & ~marked).any():
            values = np.full(len(column), np.nan)
            values[present] = numbers[position]
            return _finite(pd.Series(values, index=column.index, name=column.name))
        if 2 * int((~other)[position].sum()) > len(position):
            raise _mixed(column, present[(other & ~marked)[position]])
    labels = np.full(len(column), np.nan, dtype=object)
    labels[present] = texts[position]
    return pd.Series(labels, index=column.index, name=column.name, dtype=object)


def _mixed(column: pd.Series[Any], rows: NDArray[np.intp]) -> InvalidInputError:
    texts = listed(list(dict.fromkeys(str(text)[:LONGEST_TEXT] for text in column.iloc[rows])), TEXTS_SHOWN)
    where = listed_rows(rows, column.index.to_numpy())
    return InvalidInputError(
        f"Column {column.name!r} holds numbers and {len(rows):,} other value(s), {texts}, in {where} (the first "
        "is 0). Write numbers there, or nothing for a missing value; or, where all of the column's values are "
        f"categories, say so with --categorical {column.name!r}."
    )


def _number(text: str) -> float | None:
    """The number that a text is, the nearest float64; None where it is none or a word for a missing value."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if np.isnan(number) else number


# --- as a model knows them ----------------------------------------------------------------------------------------------


def as_known(frame: pd.DataFrame, columns: Columns | None) -> pd.DataFrame:
    """A table whose columns are what a model knows them as: numbers, or labels spelled as the model spells them.

    Parameters
    ----------
    frame : DataFrame
        As it was read.
    columns : Columns or None
        Of the model; None for one that knows plain numbers only.
    """
    out: dict[str, Any] = {}
    for j, name in enumerate(frame.columns):
        known = None if columns is None else columns[j]
        if known is not None and known.ignored:
            out[name] = frame[name]
        elif known is None or known.categories is None:
            out[name] = _known_numbers(_without_marks(frame[name]))
        else:
            out[name] = _known_labels(frame[name], known.categories)
    return pd.DataFrame(out, index=frame.index)


def _known_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    if _is_number(column):
        return _finite(column)
    _check_kind(column)
    numbers = np.full(len(column), np.nan)
    broken = []
    for row, value in enumerate(column):
        if pd.isna(value):
            continue
        number = float(value) if isinstance(value, bool | np.bool_) else _number(str(value))
        if number is not None:
            numbers[row] = number
        elif str(value).strip().lower() not in MARKS_AMONG_NUMBERS:
            broken.append(row)
    if broken:
        texts = listed(list(dict.fromkeys(str(text)[:LONGEST_TEXT] for text in column.iloc[broken])), TEXTS_SHOWN)
        where = listed_rows(np.array(broken), column.index.to_numpy())
        raise InvalidInputError(
            f"Column {column.name!r} holds other things than numbers, {texts}, in {where} (the first is 0), but the model "
            "was fitted on numbers there."
        )
    return _finite(pd.Series(numbers, index=column.index, name=column.name))


def _known_labels(column: pd.Series[Any], categories: tuple[Any, ...]) -> pd.Series[Any]:
    """The column's own values; numbers as texts where the model knows texts, whole numbers where it knows numbers."""
    some_text = any(isinstance(label, str) for label in categories)
    some_number = any(isinstance(label, int | float | np.number) for label in categories)
    texts_only, numbers_only = some_text and not some_number, some_number and not some_text
    if MARK not in categories:
        column = _without_marks(column)
    if isinstance(column.dtype, pd.CategoricalDtype) or (_is_number(column) and not texts_only):
        return column

    def as_label(value: Any) -> Any:
        if numbers_only and isinstance(value, str):
            return int(value.removesuffix(".0")) if _is_whole(value) else value
        return str(_whole(value)) if texts_only else value

    values = np.full(len(column), np.nan, dtype=object)
    if isinstance(column.dtype, pd.StringDtype):
        position, distinct = pd.factorize(column)
        labels = np.array([*(as_label(text) for text in distinct), np.nan], dtype=object)
        values = labels[position]
    else:
        for row, value in enumerate(column):
            if not pd.isna(value):
                values[row] = as_label(value)
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


# --- single columns -----------------------------------------------------------------------------------------------------


def _without_marks(column: pd.Series[Any]) -> pd.Series[Any]:
    """The column, question marks in it missing."""
    if _is_number(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return column
    if isinstance(column.dtype, pd.StringDtype):
        marked = column.isin([text for text in column.dropna().unique() if text.strip() == MARK]).to_numpy()
    else:
        marked = np.array([isinstance(value, str) and value.strip() == MARK for value in column], dtype=np.bool_)
    return column.mask(marked) if marked.any() else column


def _categories(column: pd.Series[Any], of: str) -> pd.Series[Any]:
    """The values as pandas' category dtype, whole numbers without a point."""
    _check_some_value(column, of)
    _check_kind(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_unused_categories()
    labels = [None if pd.isna(value) else _whole(value) for value in column]
    texts = [label for label in labels if isinstance(label, str)]
    if texts and all(_is_whole(text) for text in texts):  # and not 01, which is another code than 1
        labels = [int(label.removesuffix(".0")) if isinstance(label, str) else label for label in labels]
    elif texts:
        labels = [None if label is None else str(label) for label in labels]
    return pd.Series(pd.Categorical(labels), index=column.index, name=column.name)


def _is_whole(text: str) -> bool:
    text = text.removesuffix(".0")  # as pandas writes whole numbers beside a gap
    return text.lstrip("-").isdecimal() and str(int(text)) == text


def _whole(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_number(column: pd.Series[Any]) -> bool:
    return bool(types.is_numeric_dtype(column.dtype)) and not types.is_complex_dtype(column.dtype)


def _all_booleans(column: pd.Series[Any]) -> bool:
    return column.dtype == object and all(isinstance(value, bool | np.bool_) for value in column)


def _check_some_value(column: pd.Series[Any], of: str) -> None:
    if column.isna().all():
        larger = ", or take a larger --sample" if of else ""
        raise InvalidInputError(f"Column {column.name!r} has no value in any row{of}. Remove the column{larger}.")


def _check_kind(column: pd.Series[Any]) -> None:
    """Refuse dates, lists and other things that are neither numbers nor labels."""
    if isinstance(column.dtype, pd.StringDtype):
        return
    present = column[column.notna()]
    plain = (str, bool, np.bool_, int, float, np.integer, np.floating)
    row, value = next(((at, value) for at, value in present.items() if not isinstance(value, plain)), (None, None))
    if row is not None:
        raise InvalidInputError(
            f"Column {column.name!r} holds values that are neither numbers nor texts, such as {str(value)[:LONGEST_TEXT]!r} "
            f"in row {row} (the first is 0). Turn them into numbers or texts, or remove the column."
        )


def _finite(column: pd.Series[Any]) -> pd.Series[Any]:
    """The column as float64, without infinite values."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise InvalidInputError(
            f"Column {column.name!r} has {len(infinite)} infinite value(s) ({values[infinite[0]]:g}), first in "
            f"row {column.index[infinite[0]]} (the first is 0). Replace them, or remove the rows."
        )
    return pd.Series(values, index=column.index, name=column.name)


# --- written --------------------------------------------------------------------------------------------------------------


def as_json(labels: Any) -> str:
    """Labels of categories as a JSON list."""
    return json.dumps([label.item() if isinstance(label, np.generic) else label for label in labels], ensure_ascii=False)


def one_type_per_column(frame: pd.DataFrame) -> pd.DataFrame:
    """A table of moves that parquet can hold: where labels stand among numbers, all of them are texts, as in a CSV file."""
    for name in ("from", "to"):
        if frame[name].dtype == object:
            texts = [None if value is None or value != value else str(value) for value in frame[name]]
            frame[name] = np.array(texts, dtype=object)
            frame[name] = frame[name].astype("string")
    return frame
