"""Divide each column into bins at its thresholds, and find the bin of each row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from fcca.conditions import condition_in_words, negation_in_words
from fcca.exceptions import InvalidInputError
from fcca.tables import UNKNOWN, Columns, check_columns, column_names
from fcca.thresholds import ThresholdTable
from fcca.utils import plain

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


class EncodedRows(NamedTuple):
    """Rows encoded as numbers, with a mask of unknown categories.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows. NaN stands for a missing value, -1 for an unknown category.
    unseen : ndarray of bool, shape (n_rows, n_features)
        Mask of the unknown categories.
    """

    X: Floats
    unseen: Booleans

    def binary_columns(self, table: ThresholdTable) -> NDArray[np.int8]:
        """Compute the binary columns of the rows, one per condition of the table.

        For an unknown category, no condition holds: it is in no set of categories, and it is not missing.
        """
        return table.binarize(self.X)


def encoded(table: ThresholdTable, X: Any, called: str, *, as_codes: bool) -> EncodedRows:
    """Encode rows with the categories of a threshold table.

    Columns without a condition in the table may hold any value.

    Parameters
    ----------
    table : ThresholdTable
    X : array-like or data frame of shape (n_rows, n_features)
    called : str
        Name of X in error messages.
    as_codes : bool
        Whether an array of numbers already contains category codes instead of categories.
    """
    names = table.feature_names
    shape = np.shape(X) if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    if len(shape) != 2:
        raise InvalidInputError(f"{called} must be a table of rows and columns, got shape {tuple(shape)}.")
    if _num_samples(X) == 0:
        raise InvalidInputError(f"{called} has no rows, so there is nothing to compare. Give at least one row.")
    unnamed = names == tuple(f"x{j}" for j in range(len(names)))
    given = None if unnamed else column_names(X)
    check_columns(given, shape[1], names, len(names), table=called, knower="the thresholds are on")
    used = np.unique(table.feature).tolist()
    columns = (table.columns or Columns.numbers(len(names))).for_prediction(used)
    unseen = np.zeros(tuple(shape), dtype=bool)
    try:
        if as_codes and columns.has_categories and isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            return _of_codes(columns, X, used, unseen)
        encoded_rows = columns.encode(X, handle_unknown="ignore")
        unseen[:, used] = ((encoded_rows == UNKNOWN) & columns.is_category)[:, used]
        return EncodedRows(encoded_rows, unseen)
    except InvalidInputError as error:
        raise InvalidInputError(f"In {called}: {error}") from error


def _of_codes(columns: Columns, X: NDArray[Any], used: list[int], unseen: Booleans) -> EncodedRows:
    table = np.array(X, dtype=np.float64)
    for j in used:
        if (categories := columns[j].categories) is not None:
            unseen[:, j] = (table[:, j] >= len(categories)) | (table[:, j] == UNKNOWN)
    table[unseen] = UNKNOWN
    return EncodedRows(table, unseen)


# --- bins -----------------------------------------------------------------------------------------------------------------


class ColumnBins(NamedTuple):
    """The bins of a column.

    The last two bins are for missing values and for unknown categories.

    Attributes
    ----------
    names : tuple of str
        Names of all bins.
    edges : ndarray
        Thresholds between the bins of a numeric column; empty for a column of categories.
    of_category : ndarray of int or None
        Bin of each category, by its code; None for a numeric column.
    special : tuple of float
        Special values with a condition. Their bins come after the intervals of a numeric column.
    """

    names: tuple[str, ...]
    edges: Floats  # for a column of numbers
    of_category: NDArray[np.intp] | None  # bin of each category; None for a column of numbers
    special: tuple[float, ...] = ()

    @property
    def missing(self) -> int:
        """Position of the bin for missing values."""
        return len(self.names) - 2

    @property
    def unseen(self) -> int:
        """Position of the bin for unknown categories."""
        return len(self.names) - 1

    def place(self, values: Floats, unseen: Booleans) -> NDArray[np.intp]:
        """Return the position of the bin that each value lies in.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            Encoded values of the column.
        unseen : ndarray of bool, shape (n_rows,)
            Mask of the rows with an unknown category.
        """
        is_missing = np.isnan(values)
        if self.of_category is None:
            place = np.searchsorted(self.edges, values, side="left")
            for at, value in enumerate(self.special):
                place[values == value] = len(self.edges) + 1 + at
        else:
            place = self.of_category[np.where(is_missing | unseen, 0, values).astype(np.intp)]
        return np.where(unseen, self.unseen, np.where(is_missing, self.missing, place))


def bins_of(table: ThresholdTable, j: int) -> ColumnBins:
    """Build the bins of column ``j`` from the conditions of a table.

    For a numeric column, the bins are the intervals between its thresholds, and its special values. For a column of
    categories, categories that no condition separates share a bin. Two more bins are for missing values and for unknown
    categories.
    """
    name = table.feature_names[j]
    rest = (f"{name} is missing", f"{name}: not seen before")
    categories = None if table.columns is None else table.columns[j].categories
    mine = table.feature == j
    if categories is None:
        edges = table.threshold[mine & (table.kind == "cut")]
        special = tuple(table.threshold[mine & (table.kind == "special")].tolist())
        alone = (condition_in_words(name, "special", value, None) for value in special)
        return ColumnBins((*_intervals(name, edges), *alone, *rest), edges, None, special)
    sets = [codes for codes in (table.codes[at] for at in np.flatnonzero(mine).tolist()) if codes is not None]
    member = np.array([[code in codes for codes in sets] for code in range(len(categories))]).reshape(len(categories), -1)
    patterns: dict[tuple[bool, ...], int] = {}
    of_category = np.array([patterns.setdefault(tuple(line), len(patterns)) for line in member.tolist()], dtype=np.intp)
    texts = [
        condition_in_words(name, "set", np.nan, [categories[code] for code in np.flatnonzero(of_category == at)])
        for at in range(len(patterns))
    ]
    names = texts if len(texts) > 1 else [negation_in_words(name, "missing", np.nan, None)]
    return ColumnBins((*names, *rest), np.zeros(0), of_category)


def _intervals(name: str, edges: Floats) -> list[str]:
    if len(edges) == 0:
        return [negation_in_words(name, "missing", np.nan, None)]
    inner = [f"{plain(low)} < {name} ≤ {plain(high)}" for low, high in pairwise(edges.tolist())]
    return [f"{name} ≤ {plain(edges[0])}", *inner, f"{name} > {plain(edges[-1])}"]
