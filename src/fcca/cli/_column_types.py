"""Convert the raw columns of a table to numbers or categories.

Types are inferred from the values (:func:`guessed`), or taken from a fitted model (:func:`as_known`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from fcca.cli._no_features import why_no_feature
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns, listed_rows
from fcca.utils import close_to

Bools = NDArray[np.bool_]

NAMES_SHOWN = 12
TEXTS_SHOWN = 3
LONGEST_TEXT = 60

MARK = "?"  # alone in a field, it marks a missing value
#: Further marks of missing values in columns whose other values are all numbers.
MARKS_AMONG_NUMBERS = frozenset({MARK, "", "-", "--", ".", "na", "n/a", "nan", "nil", "null", "none", "missing", "unknown"})


def listed(names: Sequence[Any], most: int = NAMES_SHOWN) -> str:
    """Join names in quotes with commas; only the first ``most`` names are listed."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


# --- guessed ------------------------------------------------------------------------------------------------------------


class ColumnOptions(NamedTuple):
    """The columns that the user named in options."""

    categorical: Sequence[str] = ()
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Check that all named columns are among the feature columns of the table."""
        for option, names in zip(("categorical", "drop", "keep"), self, strict=True):
            if unknown := [name for name in names if name not in columns]:
                raise InvalidInputError(
                    f"--{option} {unknown[0]!r} is not a feature column. {close_to(unknown[0], columns)}"
                )


def guessed(
    frame: pd.DataFrame, y: NDArray[np.generic], chosen: ColumnOptions, *, from_text: bool, of: str = ""
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Infer the type of every column from its values.

    Columns that are no features are left out.

    Parameters
    ----------
    frame : DataFrame
        Raw columns. The index contains the row numbers in the file.
    y : ndarray
        Labels of the rows.
    chosen : ColumnOptions
        Columns that are categorical even if their values are numbers; columns to leave out; and columns to keep even if
        they do not look like features.
    from_text : bool
        True for file formats without column types, such as CSV. Strings may then be numbers.
    of : str
        Text after "rows" in notes and errors, such as " of the sample".

    Returns
    -------
    DataFrame
        float64 for numbers, object for strings, category dtype for columns in ``categorical`` and for columns that already
        have this type.
    tuple of str
        Notes for the user on values that are treated as missing, and on columns that are left out.
    """
    chosen.check(list(frame.columns))
    frame = frame.drop(columns=list(chosen.drop))
    columns: dict[str, Any] = {}
    notes: list[str] = []
    left_out: list[str] = []
    for name in frame.columns:
        column = _without_marks(frame[name])
        if name in chosen.categorical or isinstance(column.dtype, pd.CategoricalDtype):
            values = _categories(column, of)
        else:
            values = _guessed_column(column, from_text, of)
            marked = np.flatnonzero(values.isna() & frame[name].notna())
            if len(marked):
                marks = listed(list(dict.fromkeys(str(text) for text in frame[name].iloc[marked])), TEXTS_SHOWN)
                notes.append(f"Column {name!r}: {marks} counts as a missing value, in {_rows(len(marked))}{of}.")
        reason = None if name in chosen.keep else why_no_feature(values, y, of)
        if reason is None:
            columns[name] = values
        else:
            left_out.append(f"Column {name!r} is left out: {reason}. To keep it: --keep {name!r}.")
    if not columns:
        raise InvalidInputError(f"There are no feature columns. {left_out[0] if left_out else 'All are dropped.'}")
    return pd.DataFrame(columns, index=frame.index), (*notes, *left_out)


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _guessed_column(column: pd.Series[Any], from_text: bool, of: str) -> pd.Series[Any]:
    """Convert a column to float64 or strings.

    It becomes float64 if all of its values are numbers.
    """
    _check_some_value(column, of)
    if _is_number(column) or _all_booleans(column):
        return _finite(column)
    texts = _texts(column)
    if not from_text:
        return texts
    numbers, is_other = _numbers_in(texts)
    n_numbers = int(numbers.notna().sum())
    if n_numbers and not is_other.any():
        return _finite(numbers)
    if 2 * n_numbers > int(column.notna().sum()):
        raise InvalidInputError(
            f"Column {column.name!r} has numbers and {is_other.sum():,} other value(s), "
            f"{_values_and_rows(column, is_other)}. Replace them with numbers, or with empty fields for missing values. If "
            f"the whole column is categorical, use --categorical {column.name!r}."
        )
    return texts


def _texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert values to strings, and missing values to NaN."""
    texts = column.astype(str).to_numpy(dtype=object)
    return pd.Series(np.where(column.isna(), np.nan, texts), index=column.index, name=column.name, dtype=object)


def _numbers_in(texts: pd.Series[Any]) -> tuple[pd.Series[Any], Bools]:
    """Parse strings as numbers.

    Return the numbers, with NaN for all other strings, and a mask. The mask is True for strings that are neither a number
    nor a common marker of a missing value, such as NA.
    """
    numbers = {text: _number(text) for text in texts.dropna().unique()}
    others = [text for text, x in numbers.items() if np.isnan(x) and text.strip().lower() not in MARKS_AMONG_NUMBERS]
    return texts.map(numbers).astype(np.float64), texts.isin(others).to_numpy()


def _number(text: str) -> float:
    """Return the text as a number, or NaN if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def _values_and_rows(column: pd.Series[Any], chosen: Bools) -> str:
    """List the first few values where ``chosen`` is True, with their row numbers."""
    texts = listed(list(dict.fromkeys(str(text)[:LONGEST_TEXT] for text in column[chosen])), TEXTS_SHOWN)
    return f"{texts}, in {listed_rows(np.flatnonzero(chosen), column.index.to_numpy())} (counted from 0)"


# --- for a model --------------------------------------------------------------------------------------------------------


def as_known(frame: pd.DataFrame, columns: Columns | None) -> pd.DataFrame:
    """Convert every column to the type that a fitted model expects.

    Parameters
    ----------
    frame : DataFrame
        Raw columns, in the order of the model.
    columns : Columns or None
        Columns of the model. None if the model has only numeric columns.
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
    if _is_number(column) or _all_booleans(column):
        return _finite(column)
    numbers, is_other = _numbers_in(_texts(column.map(lambda x: int(x) if isinstance(x, bool | np.bool_) else x)))
    if is_other.any():
        raise InvalidInputError(
            f"Column {column.name!r} has values that are not numbers, {_values_and_rows(column, is_other)}, but the model "
            "was fitted on numbers in this column. Replace them with numbers, or with empty fields for missing values."
        )
    return _finite(numbers)


def _known_labels(column: pd.Series[Any], categories: tuple[Any, ...]) -> pd.Series[Any]:
    """Convert a column to the type of a model's categories.

    The categories are strings or numbers.
    """
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

    position, distinct = pd.factorize(column)  # -1 for missing values
    labels = np.array([*(as_label(value) for value in distinct), np.nan], dtype=object)
    return pd.Series(labels[position], index=column.index, name=column.name, dtype=object)


# --- single columns -----------------------------------------------------------------------------------------------------


def _without_marks(column: pd.Series[Any]) -> pd.Series[Any]:
    """Replace fields that contain only a question mark with missing values."""
    if _is_number(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return column
    _check_kind(column)
    marks = [value for value in column.dropna().unique() if isinstance(value, str) and value.strip() == MARK]
    return column.mask(column.isin(marks)) if marks else column


def _categories(column: pd.Series[Any], of: str) -> pd.Series[Any]:
    """Convert a column to pandas' category dtype.

    Whole numbers become integers, so that ``1.0`` and ``1`` are the same category.
    """
    _check_some_value(column, of)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_unused_categories()
    labels = [None if pd.isna(value) else _whole(value) for value in column]
    texts = [label for label in labels if isinstance(label, str)]
    if texts and all(_is_whole(text) for text in texts):  # False for 01, which is a different code from 1
        labels = [int(label.removesuffix(".0")) if isinstance(label, str) else label for label in labels]
    elif texts:
        labels = [None if label is None else str(label) for label in labels]
    return pd.Series(pd.Categorical(labels), index=column.index, name=column.name)


def _is_whole(text: str) -> bool:
    text = text.removesuffix(".0")  # pandas writes whole numbers this way in columns with missing values
    return text.lstrip("-").isdecimal() and str(int(text)) == text


def _whole(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_number(column: pd.Series[Any]) -> bool:
    return bool(types.is_numeric_dtype(column.dtype)) and not types.is_complex_dtype(column.dtype)


def _all_booleans(column: pd.Series[Any]) -> bool:
    return column.dtype == object and all(isinstance(value, bool | np.bool_) for value in column.dropna())


def _check_some_value(column: pd.Series[Any], of: str) -> None:
    if column.isna().all():
        where, larger = (f" in the rows{of}", ", or use a larger --sample") if of else ("", "")
        raise InvalidInputError(f"Column {column.name!r} has only missing values{where}. Remove the column{larger}.")


def _check_kind(column: pd.Series[Any]) -> None:
    """Check that all values are numbers or strings, not dates or lists."""
    if isinstance(column.dtype, pd.StringDtype):
        return
    plain = (str, bool, np.bool_, int, float, np.integer, np.floating)
    for row, value in column.dropna().items():
        if not isinstance(value, plain):
            raise InvalidInputError(
                f"Column {column.name!r} has values that are neither numbers nor strings, such as "
                f"{str(value)[:LONGEST_TEXT]!r} in row {row} (counted from 0). Convert them to numbers or strings, or "
                "remove the column."
            )


def _finite(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert a column of numbers to float64. Raise an error for infinite values."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise InvalidInputError(
            f"Column {column.name!r} has {len(infinite)} infinite value(s) ({values[infinite[0]]:g}), first in "
            f"row {column.index[infinite[0]]} (counted from 0). Replace them, or remove the rows."
        )
    return pd.Series(values, index=column.index, name=column.name)


# --- for output files -----------------------------------------------------------------------------------------------------


def as_json(labels: Any) -> str:
    """Return the names of categories as the text of a JSON list."""
    return json.dumps([label.item() if isinstance(label, np.generic) else label for label in labels], ensure_ascii=False)


def one_type_per_column(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the columns ``from`` and ``to`` to strings if they mix numbers and strings.

    ``frame`` has one line per changed column of a counterfactual. A column of a Parquet file can hold only one type.
    """
    for name in ("from", "to"):
        if frame[name].dtype == object:
            frame[name] = frame[name].map(str, na_action="ignore").astype("string")
    return frame
