"""Bins of columns between thresholds, and the bins of rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from fcca.conditions import condition_in_words, negation_in_words
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns, check_columns, column_names, known_rows
from fcca.thresholds import ThresholdTable
from fcca.utils import plain

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


class EncodedRows(NamedTuple):
    """Encoded rows, and a mask of unknown categories.

    NaN stands for missing values and unknown categories.
    """

    X: Floats
    unseen: Booleans

    def binary_columns(self, table: ThresholdTable) -> NDArray[np.int8]:
        """Compute the binary columns.

        An unknown category is in no set, and it is not missing.
        """
        binary = table.binarize(self.X)
        binary[self.unseen[:, table.feature] & (table.kind == "missing")] = 0
        return binary


def encoded(table: ThresholdTable, X: Any, called: str, *, as_codes: bool) -> EncodedRows:
    """Encode rows by the columns of a threshold table.

    Columns without a condition may hold any value.

    Parameters
    ----------
    table : ThresholdTable
    X : array-like or data frame of shape (n_rows, n_features)
    called : str
        Name of X in messages.
    as_codes : bool
        Whether an array of numbers holds categories as positions in the column's ``categories`` instead of labels.
    """
    names = table.feature_names
    shape = np.shape(X) if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    if len(shape) != 2:
        raise InvalidInputError(f"{called} must be a table of rows and columns, got shape {tuple(shape)}.")
    if _num_samples(X) == 0:
        raise InvalidInputError(f"{called} has no rows, so there is nothing to compare. Give at least one.")
    unnamed = names == tuple(f"x{j}" for j in range(len(names)))
    given = None if unnamed else column_names(X)
    check_columns(given, shape[1], names, len(names), table=called, knower="the thresholds are on")
    used = np.unique(table.feature).tolist()
    columns = (table.columns or Columns.numbers(len(names))).for_prediction(used)
    unseen = np.zeros(tuple(shape), dtype=bool)
    try:
        if as_codes and columns.has_categories and isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            return _of_codes(columns, X, used, unseen)
        for j in used:
            if columns[j].categories is not None:
                unseen[:, j] = ~known_rows(_alone(columns, j), X)
        return EncodedRows(columns.encode(_without(X, unseen)), unseen)
    except InvalidInputError as error:
        raise InvalidInputError(f"In {called}: {error}") from error


def _alone(columns: Columns, used: int) -> Columns:
    """Ignore all columns but one."""
    others = (c if j == used else replace(c, categories=None, ignored=True) for j, c in enumerate(columns))
    return Columns(tuple(others))


def _of_codes(columns: Columns, X: NDArray[Any], used: list[int], unseen: Booleans) -> EncodedRows:
    table = np.array(X, dtype=np.float64)
    for j in used:
        if (categories := columns[j].categories) is not None:
            unseen[:, j] = table[:, j] >= len(categories)
    table[unseen] = np.nan
    return EncodedRows(table, unseen)


def _without(X: Any, unseen: Booleans) -> Any:
    """Replace some values of X with missing values."""
    if not unseen.any():
        return X
    if type(X).__module__.startswith("polars"):
        X = pd.DataFrame({j: pd.Series(X.to_series(j).to_list()) for j in range(X.width)})
    frame = pd.DataFrame(X)
    parts = [frame.iloc[:, j].where(~mask) if mask.any() else frame.iloc[:, j] for j, mask in enumerate(unseen.T)]
    return pd.concat(parts, axis=1)


# --- bins -----------------------------------------------------------------------------------------------------------------


class ColumnBins(NamedTuple):
    """Names and edges of the bins of a column."""

    names: tuple[str, ...]
    edges: Floats  # for a column of numbers
    of_category: NDArray[np.intp] | None  # bin of each category; None for a column of numbers

    @property
    def missing(self) -> int:
        """The bin of missing values, which is the last but one."""
        return len(self.names) - 2

    @property
    def unseen(self) -> int:
        """The bin of unknown categories, which is the last one."""
        return len(self.names) - 1

    def place(self, values: Floats, unseen: Booleans) -> NDArray[np.intp]:
        """Find the bin of every row.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
        unseen : ndarray of bool of shape (n_rows,)
        """
        is_missing = np.isnan(values)
        if self.of_category is None:
            place = np.searchsorted(self.edges, values, side="left")
        else:
            place = self.of_category[np.where(is_missing, 0, values).astype(np.intp)]
        return np.where(unseen, self.unseen, np.where(is_missing, self.missing, place))


def bins_of(table: ThresholdTable, j: int) -> ColumnBins:
    """Build the bins of a column.

    They are the intervals between cuts, or the groups of categories that no condition separates. Two more bins hold
    missing values and unknown categories.
    """
    name = table.feature_names[j]
    rest = (f"{name} is missing", f"{name}: not seen before")
    categories = None if table.columns is None else table.columns[j].categories
    mine = table.feature == j
    if categories is None:
        edges = table.threshold[mine & (table.kind == "cut")]
        return ColumnBins((*_intervals(name, edges), *rest), edges, None)
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
