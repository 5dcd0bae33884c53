"""The columns of a table: names, categories, missing values, and the encoding as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fcca.exceptions import InvalidInputError
from fcca.tables._table_checks import called, check_values, column_names, float_table, listed_rows, shown_names
from fcca.tables._unknown_values import UNKNOWN, check_handling, warn_of_unknown

Floats = NDArray[np.float64]

LABELS_SHOWN = 10
NUMBERS = frozenset({"integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"})
DATES = frozenset({"datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period"})


@dataclass(frozen=True)
class Column:
    """One column of a table: its name, its categories, and the form that the classifier expects.

    Attributes
    ----------
    name : str or None
        None for a column without a name.
    categories : tuple or None
        The categories in the order of their codes 0, 1, 2, …. None for a numeric column.
    missing : bool
        Whether values may be missing.
    as_category : bool
        Whether the classifier expects the column as a pandas categorical instead of an array of objects.
    none_is_missing : bool
        Whether the classifier expects None for a missing category instead of NaN.
    as_object : bool
        Whether the classifier expects an array of objects, even if all categories are numbers.
    ignored : bool
        Whether the classifier ignores the column. An ignored column may hold any value. Values that are not finite numbers
        are encoded as 0.
    """

    name: str | None = None
    categories: tuple[Any, ...] | None = None
    missing: bool = False
    as_category: bool = True
    none_is_missing: bool = False
    as_object: bool = False
    ignored: bool = False


@dataclass(frozen=True)
class Columns:
    """All columns of a table, in order.

    A Columns object encodes tables as arrays of float64. Numbers stay unchanged. A category becomes its position in the
    ``categories`` of its column. Missing values become NaN. A category that is not among them becomes -1 if
    ``handle_unknown`` allows it.

    Examples
    --------
    >>> import pandas as pd
    >>> from fcca.tables._columns import Columns
    >>> loans = pd.DataFrame({"income": [3.5, None], "purpose": ["tv", "car"]})
    >>> columns = Columns.of_table(loans)
    >>> columns[1].categories
    ('car', 'tv')
    >>> columns.encode(loans)
    array([[3.5, 1. ],
           [nan, 0. ]])
    """

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, j: int) -> Column:
        return self.columns[j]

    @classmethod
    def numbers(cls, n: int, names: Sequence[str] | None = None, missing: bool = False) -> Columns:
        """Describe ``n`` numeric columns.

        Parameters
        ----------
        n : int
        names : sequence of str, optional
        missing : bool, default=False
            Whether values may be missing.
        """
        return cls(tuple(Column(None if names is None else str(names[j]), missing=missing) for j in range(n)))

    @classmethod
    def of_table(cls, X: Any) -> Columns:
        """Describe the columns of a table that is not encoded yet.

        Columns of numbers or booleans are numeric, all others are categorical. A column of pandas' category dtype is
        categorical even if its categories are numbers. It keeps the order of its categories. Other categories are sorted.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
        """
        table, raw = _split(X)
        names, shown = column_names(X), shown_names(X)
        if table is not None:
            raw = [_RawColumn(values) for values in table.T]
        if (table is None or len(table) == 0) and not any(len(each) for each in raw):
            raise InvalidInputError("X has no rows. Give at least one row.")
        found = []
        for j, each in enumerate(raw):
            if each.is_missing.all():
                raise InvalidInputError(f"All values of column {called(shown, j)} in X are missing. Leave the column out.")
            labels = None if each.is_number else each.labels(called(shown, j))
            found.append(Column(None if names is None else names[j], labels, missing=bool(each.is_missing.any())))
        return cls(tuple(found))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns; x0, x1, … for columns without a name."""
        return tuple(f"x{j}" if column.name is None else column.name for j, column in enumerate(self.columns))

    @cached_property
    def named(self) -> bool:
        """True if any column has a name."""
        return any(column.name is not None for column in self.columns)

    @cached_property
    def is_category(self) -> NDArray[np.bool_]:
        """Mask of the columns that hold categories."""
        return np.array([column.categories is not None for column in self.columns], dtype=np.bool_)

    @cached_property
    def has_categories(self) -> bool:
        """True if any column holds categories."""
        return bool(self.is_category.any())

    @cached_property
    def may_miss(self) -> NDArray[np.bool_]:
        """Mask of the columns in which values may be missing."""
        return np.array([column.missing for column in self.columns], dtype=np.bool_)

    @cached_property
    def _codes(self) -> tuple[dict[Any, int] | None, ...]:
        return tuple(
            None if column.categories is None else {label: code for code, label in enumerate(column.categories)}
            for column in self.columns
        )

    def for_prediction(self, used: Iterable[int]) -> Columns:
        """Return a copy of these columns that checks only the columns at the positions ``used``.

        All other columns may hold any values.
        """
        needed = set(used)
        return Columns(tuple(c if j in needed else replace(c, ignored=True) for j, c in enumerate(self.columns)))

    def is_unknown(self, table: Floats) -> NDArray[np.bool_]:
        """Return a mask of the values in an encoded table that no training row has in the same column.

        These are unknown categories, and missing values in a column that does not allow them.
        """
        counted = np.array([not column.ignored for column in self.columns], dtype=np.bool_)
        found = np.isnan(table) & (counted & ~self.may_miss)
        known: NDArray[np.bool_] = found | ((table == UNKNOWN) & (counted & self.is_category))
        return known

    def label(self, j: int, code: float) -> Any:
        """Decode one encoded value of column ``j``.

        Return the category with this code, the number itself in a numeric column, or None for a missing value.
        """
        if np.isnan(code):
            return None
        categories = self.columns[j].categories
        return code if categories is None else categories[int(code)]

    def encode(self, X: Any, labels: NDArray[Any] | None = None, *, handle_unknown: str = "error") -> Floats:
        """Encode a table as float64: categories become codes, missing values become NaN.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
        labels : ndarray or None
            Names of the rows, for error messages. None names rows by their positions.
        handle_unknown : {"error", "warn", "ignore"}, default="error"
            What to do with unknown categories, and with missing values in a column that does not allow them. "error" raises
            an error. "ignore" encodes an unknown category as -1 and a missing value as NaN. "warn" does the same with one
            warning that counts them.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            X itself if it is already an array of float64 and all columns are numeric.
        """
        check_handling(handle_unknown)
        names = self.names if self.named else shown_names(X)
        may_miss = self.may_miss if handle_unknown == "error" else np.ones(len(self.columns), dtype=np.bool_)
        table, raw = _split(X)
        n = len(raw) if table is None else table.shape[1]
        if n != len(self.columns):
            raise InvalidInputError(
                f"X has {n} column(s), but {len(self.columns)} are expected. Pass all expected columns in their order."
            )
        if table is not None:
            if not self.has_categories and not any(column.ignored for column in self.columns):
                check_values(table, names, labels, may_miss)
                return self._warned(table, names, handle_unknown)
            raw = [_RawColumn(values) for values in table.T]
        out = np.empty((len(raw[0]) if raw else 0, n))
        for j, (each, codes) in enumerate(zip(raw, self._codes, strict=True)):
            if self.columns[j].ignored:
                values = each.numbers(called(names, j), labels) if each.is_number else np.zeros(len(each))
                out[:, j] = np.where(np.isfinite(values), values, 0.0)
            elif codes is None:
                out[:, j] = each.numbers(called(names, j), labels)
            else:
                out[:, j] = each.codes(codes, called(names, j), labels, strict=handle_unknown == "error")
        check_values(out, names, labels, may_miss)
        return self._warned(out, names, handle_unknown)

    def _warned(self, table: Floats, names: Sequence[str] | None, handle_unknown: str) -> Floats:
        """Return the encoded table, after a warning of unknown values if they are to be counted."""
        if handle_unknown == "warn":
            warn_of_unknown(table, self.is_unknown(table), names)
        return table

    def decode(self, table: Floats) -> Any:
        """Decode an encoded table into the form that the classifier expects.

        The result is a data frame if the columns have names or pandas categoricals, and an array otherwise.
        """
        if not self.named and not self.has_categories:
            return table
        decoded = [self._decoded(column, table[:, j]) for j, column in enumerate(self.columns)]
        if not self.named and not any(isinstance(values, pd.Categorical) for values in decoded):
            # A classifier fitted on an array gets an array, even of strings.
            texts = any(values.dtype == object for values in decoded)
            return np.stack([np.asarray(values, dtype=object if texts else np.float64) for values in decoded], axis=1)
        if not self.has_categories:
            return pd.DataFrame(table, columns=list(self.names), copy=False)
        frame = pd.DataFrame({j: pd.Series(values, dtype=values.dtype) for j, values in enumerate(decoded)}, copy=False)
        frame.columns = pd.Index(list(self.names) if self.named else list(range(len(self.columns))))
        return frame

    @staticmethod
    def _decoded(column: Column, values: Floats) -> Any:
        if column.categories is None:
            return values
        is_missing = np.isnan(values)
        codes = np.where(is_missing, -1, values).astype(np.intp)
        if column.as_category:
            return pd.Categorical.from_codes(codes, categories=_index(column.categories))
        numeric = all(isinstance(label, (Number, np.number)) and not isinstance(label, bool) for label in column.categories)
        if numeric and not column.as_object:
            numbers = np.array(column.categories)
            return np.where(is_missing, np.nan, numbers[codes]) if is_missing.any() else numbers[codes]
        labels = np.empty(len(column.categories) + 1, dtype=object)
        for code, label in enumerate(column.categories):
            labels[code] = label
        labels[-1] = None if column.none_is_missing else np.nan
        return labels[codes]


def _index(labels: tuple[Any, ...]) -> pd.Index[Any]:
    """Build a pandas index of categories that keeps their types.

    For example, 1 stays an integer next to 2.5.
    """
    index = pd.Index(list(labels), tupleize_cols=False)
    same = all(type(a) is type(_plain(b)) for a, b in zip(index.tolist(), labels, strict=True))
    return index if same else pd.Index(list(labels), dtype=object, tupleize_cols=False)


def _order(label: Any) -> tuple[str, Any]:
    return ("" if isinstance(label, Number) else type(label).__name__, label)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


class _RawColumn:
    """The values of one column as the user gave them, before encoding."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def is_missing(self) -> NDArray[np.bool_]:
        """Mask of the missing values."""
        return np.asarray(pd.isna(self.values), dtype=np.bool_)

    @property
    def is_categorical(self) -> bool:
        return isinstance(self.values.dtype, pd.CategoricalDtype)

    @cached_property
    def kind(self) -> str:
        """The type of the values, as named by ``pandas.api.types.infer_dtype``."""
        if pd.api.types.is_bool_dtype(self.values.dtype) and not self.is_categorical:
            return "boolean"
        if pd.api.types.is_complex_dtype(self.values.dtype):
            return "complex"
        if pd.api.types.is_numeric_dtype(self.values.dtype):
            return "floating"
        return str(pd.api.types.infer_dtype(np.asarray(self.values, dtype=object), skipna=True))

    @cached_property
    def is_number(self) -> bool:
        if self.is_categorical:
            return False
        return self.kind in NUMBERS or (self.kind.startswith("mixed") and not self._others.any())

    @cached_property
    def _others(self) -> NDArray[np.bool_]:
        """Mask of the values that are neither missing nor real numbers."""
        real = (int, float, np.integer, np.floating, np.bool_, bool)
        return np.array([not isinstance(value, real) for value in self.values], dtype=np.bool_) & ~self.is_missing

    def numbers(self, name: str, rows: NDArray[Any] | None) -> Floats:
        """Convert the values to float64.

        Values that are not numbers raise an error that names them. ``name`` and ``rows`` are the names of the column and of
        the rows in the error message.
        """
        if self.is_categorical:
            return _RawColumn(np.asarray(self.values, dtype=object)).numbers(name, rows)
        if not self.is_number:
            if self.kind in DATES or self.kind == "complex":
                raise _no_numbers(name, self.kind)
            at = np.flatnonzero(self._others)
            raise InvalidInputError(
                f"X has values that are not numbers: column {name} in {listed_rows(at, rows)}, such as "
                f"{_plain(np.asarray(self.values, dtype=object)[at[0]])!r}. Give numbers in this column."
            )
        if isinstance(self.values, np.ndarray) and self.values.dtype != object:
            return np.asarray(self.values, dtype=np.float64)
        if isinstance(self.values, np.ndarray):
            return np.where(self.is_missing, np.nan, self.values).astype(np.float64)
        return np.asarray(self.values.to_numpy(dtype=np.float64, na_value=np.nan))

    @cached_property
    def _factorized(self) -> tuple[NDArray[np.intp], list[Any]]:
        """The code of each row's value, and the list of distinct values.

        The code of a value is its position in the list. The code of a missing value is -1.
        """
        if self.is_categorical:
            given = self.values.cat if isinstance(self.values, pd.Series) else self.values
            return np.asarray(given.codes, dtype=np.intp), [_plain(label) for label in given.categories.tolist()]
        positions, distinct = pd.factorize(self.values)
        return np.asarray(positions), [_plain(label) for label in distinct.tolist()]

    def labels(self, name: str) -> tuple[Any, ...]:
        """Return the distinct categories, sorted unless pandas' category dtype gives their order.

        ``name`` is the name of the column in error messages.
        """
        if self.is_categorical:
            return tuple(self._factorized[1])
        if self.kind in DATES or self.kind == "complex":
            raise _no_numbers(name, self.kind)
        try:
            return tuple(sorted(self._factorized[1], key=_order))
        except TypeError as error:
            raise _no_labels(name) from error

    def codes(self, codes: dict[Any, int], name: str, rows: NDArray[Any] | None, *, strict: bool) -> Floats:
        """Encode the categories as numbers.

        If ``strict``, raise an error that names unknown categories. Otherwise, their code is -1.

        Parameters
        ----------
        codes : dict
            Code of each known category.
        name : str
            Name of the column in error messages.
        rows : ndarray or None
            Names of the rows in error messages.
        """
        try:
            positions, distinct = self._factorized
            code = np.array([codes.get(label, UNKNOWN) for label in distinct] + [np.nan], dtype=np.float64)
        except TypeError as error:
            raise _no_labels(name) from error
        found: Floats = code[positions]
        at = np.flatnonzero(found == UNKNOWN)
        if strict and len(at):
            unknown = list(dict.fromkeys(distinct[position] for position in positions[at].tolist()))
            raise InvalidInputError(
                f"X has unknown categories: column {name} in {listed_rows(at, rows)}: {_listed_labels(unknown)}. "
                f"Known categories: {_listed_labels(list(codes))}. Give one of these, or leave out these rows."
            )
        return found


def _no_numbers(name: str, kind: str) -> InvalidInputError:
    what = "complex numbers" if kind == "complex" else "dates or times"
    return InvalidInputError(f"X has {what} in column {name}. Convert them to numbers, or leave the column out.")


def _no_labels(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"X has values in column {name} that are neither numbers nor category labels, such as lists. Give strings or "
        "numbers, or leave the column out."
    )


def _listed_labels(labels: list[Any]) -> str:
    shown = ", ".join(repr(label) for label in labels[:LABELS_SHOWN])
    return shown if len(labels) <= LABELS_SHOWN else f"{shown}, … ({len(labels)} labels)"


def _split(X: Any) -> tuple[Floats | None, list[_RawColumn]]:
    """Convert a table of numbers to float64, or split any other table into its columns.

    Return the array and an empty list, or None and the list of columns.
    """
    if isinstance(X, pd.DataFrame):
        if all(_plain_numbers(dtype) for dtype in X.dtypes):
            return float_table(X), []
        return None, [_RawColumn(_column_of(X.iloc[:, j])) for j in range(X.shape[1])]
    if type(X).__module__.startswith("polars"):
        return None, [_RawColumn(_polars_column(X.to_series(j))) for j in range(X.width)]
    if sparse.issparse(X):
        return float_table(X), []
    try:
        table = np.asarray(X)
        if table.dtype.kind in "USO" and not isinstance(X, np.ndarray):
            table = np.array(X, dtype=object)  # otherwise numpy converts numbers next to strings to strings
    except ValueError as error:
        raise InvalidInputError(f"X cannot be read as a table of rows and columns: {error}.") from error
    if table.ndim != 2 or table.dtype.kind not in "USOmM":
        return float_table(table), []
    return None, [_RawColumn(np.array(table[:, j], dtype=object)) for j in range(table.shape[1])]


def _plain_numbers(dtype: Any) -> bool:
    """Return True for number types that scikit-learn converts to a dense array of float64."""
    numbers = pd.api.types.is_numeric_dtype(dtype) and not isinstance(dtype, pd.SparseDtype)
    return numbers and not pd.api.types.is_complex_dtype(dtype)


def _column_of(values: pd.Series[Any]) -> Any:
    """Return a pandas column, or its values as an array if its dtype is object."""
    return values.to_numpy() if values.dtype == object else values


def _polars_column(values: Any) -> Any:
    """Convert a polars column to values that pandas can read; null and NaN become missing values."""
    kind = type(values.dtype).__name__
    if values.dtype.is_numeric() or kind == "Boolean":
        import polars as pl

        return np.asarray(values.cast(pl.Float64).to_numpy(), dtype=np.float64)
    if kind == "Enum":
        return pd.Categorical(values.to_list(), categories=values.dtype.categories.to_list())
    column = np.empty(len(values), dtype=object)
    column[:] = values.to_list()
    return column
