"""The stages of the threshold pipeline, each for one chunk of a table.

The sum of a stage's results over all chunks is the result for the whole table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from fcca.cells import Cells
from fcca.counterfactuals import BinCounts
from fcca.discretizers._counted_rows import CountedRows, DistinctRows, RowCoder
from fcca.discretizers._medians import DigitCounts
from fcca.discretizers._rows import EncodedRows, Rows, n_rows_of
from fcca.discretizers._sampled_search import all_rows, search_rows
from fcca.discretizers._search_results import CrossingCounts, SearchResult, TableStatistics
from fcca.discretizers._threshold_search import ThresholdSearch
from fcca.discretizers._validation import is_plain
from fcca.exceptions import InvalidInputError
from fcca.models import column_of
from fcca.tables import SoftLabels, check_weights, column_names, float_table, without_special
from fcca.thresholds import ThresholdTable

Labels = NDArray[Any]
AnyRows = Rows | EncodedRows


# --- categories ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Categories:
    """The distinct values of some columns. Two objects can be added with ``+``.

    Attributes
    ----------
    values : dict of int to Series
        The distinct values of each column, by the position of the column.
    """

    values: dict[int, pd.Series[Any]]

    def __add__(self, other: Categories) -> Categories:
        both = {j: pd.concat([values, other.values[j]]) for j, values in self.values.items()}
        return Categories({j: values.drop_duplicates() for j, values in both.items()})

    def table(self, n_features: int) -> pd.DataFrame:
        """Build a table whose columns contain these values, and 0 in all other columns."""
        n_rows = max(len(values) for values in self.values.values())
        zeros = pd.Series(np.zeros(n_rows))
        rows = np.arange(n_rows)
        columns = [
            values.iloc[np.minimum(rows, len(values) - 1)].reset_index(drop=True)
            if (values := self.values.get(j)) is not None
            else zeros
            for j in range(n_features)
        ]
        return pd.concat(columns, axis=1, ignore_index=True)


def find_categories(rows: Rows, search: ThresholdSearch, columns: list[int]) -> Categories | None:
    """Find the categories that occur in the training rows of a chunk.

    Parameters
    ----------
    rows : Rows
    search : ThresholdSearch
    columns : list of int
        The columns of categories whose labels the black box does not store.
    """
    counts = np.ones(n_rows_of(rows.X), dtype=np.bool_)
    if rows.held_out is not None:
        counts &= ~np.asarray(rows.held_out)
    if rows.sample_weight is not None:
        counts &= check_weights(rows.sample_weight, len(counts), may_all_be_0=True) > 0
    if not counts.any():
        return None
    search.check_columns(rows.X)
    X = as_fitted_table(rows.X if counts.all() else _safe_indexing(rows.X, np.flatnonzero(counts)))
    return Categories({j: column_of(X, j).drop_duplicates() for j in columns})


def as_fitted_table(X: Any) -> Any:
    """Convert a table of numeric columns to float64; return other tables unchanged."""
    if not is_plain(X):
        return X
    table, names = float_table(X), column_names(X)
    return table if names is None else pd.DataFrame(table, columns=pd.Index(names), copy=False)


# --- statistics ---------------------------------------------------------------------------------------------------------


def observe(rows: AnyRows, search: ThresholdSearch) -> TableStatistics | None:
    """Collect statistics of the columns and labels of a chunk.

    Returns None if the chunk has no rows.

    Parameters
    ----------
    rows : Rows or EncodedRows
    search : ThresholdSearch
    """
    training, testing = rows.training(search), rows.testing(search)
    if not len(training) and (testing is None or not len(testing)):
        return None
    statistics = search.statistics(training.X, training.y, training.weight)
    if testing is None:
        return statistics
    return replace(statistics, all_classes=np.union1d(statistics.classes, testing.y))


def count_bins(rows: AnyRows, search: ThresholdSearch) -> BinCounts | None:
    """Compute histograms of the numeric columns of a chunk's training rows.

    Parameters
    ----------
    rows : Rows or EncodedRows
    search : ThresholdSearch
        A search that holds the statistics of all training rows.
    """
    training = rows.training(search)
    return search.bins(training.X, training.weight) if len(training) else None


def count_digits(
    rows: AnyRows, search: ThresholdSearch, columns: list[int], prefix: NDArray[np.uint64], at: int
) -> DigitCounts | None:
    """Count the binary digits of a chunk's values in one pass of the search for medians.

    :func:`fcca.discretizers.medians` runs several passes, and each pass finds further digits of the medians.

    Parameters
    ----------
    rows : Rows or EncodedRows
    search : ThresholdSearch
    columns : list of int
        Numeric columns. Missing values are not counted.
    prefix, at
        See :meth:`DigitCounts.of`.
    """
    training = rows.training(search)
    if not len(training):
        return None
    ordinary = without_special(training.X, search.engine.special)
    return DigitCounts.of([x[~np.isnan(x)] for x in ordinary.T[columns]], prefix, at)


# --- search -------------------------------------------------------------------------------------------------------------


def count_crossings(
    rows: AnyRows, search: ThresholdSearch, keep: Callable[[SearchResult], None] | None = None
) -> CrossingCounts | None:
    """Count the conditions that the counterfactuals of a chunk's training rows cross.

    If all rows are in memory, ``max_rows`` decides how many of them are searched.

    Parameters
    ----------
    rows : Rows or EncodedRows
    search : ThresholdSearch
        A search that holds the statistics of all training rows.
    keep : callable, optional
        Called with the :class:`SearchResult` of the chunk, which also holds the counterfactuals of single rows.
    """
    training = rows.training(search)
    if not len(training):
        return None
    find = search_rows if search.in_memory else all_rows
    result = find(training, search)
    if keep is not None:
        keep(result)
    return result.counts


def find_values_around(rows: AnyRows, search: ThresholdSearch, merged: ThresholdTable) -> Cells | None:
    """Find the smallest and largest training values between the thresholds.

    Parameters
    ----------
    rows : Rows or EncodedRows
    search : ThresholdSearch
    merged : ThresholdTable
        The merged thresholds of a linear model, before rounding.
    """
    training = rows.training(search)
    return search.values_around(merged, training.X) if len(training) else None


# --- rows ---------------------------------------------------------------------------------------------------------------


def count_rows(rows: AnyRows, search: ThresholdSearch, coder: RowCoder, classes: Labels, n_conditions: int) -> DistinctRows:
    """Count the distinct combinations of binary row, label and prediction in a chunk.

    Parameters
    ----------
    rows : Rows or EncodedRows
    search : ThresholdSearch
        A search that holds the statistics of all training rows.
    coder : RowCoder
        Codes rows, labels and predictions as keys.
    classes : ndarray
        All labels of the table, sorted.
    n_conditions : int
        Number of conditions, to estimate the memory that the binary rows need.
    """

    def counted(part: EncodedRows | None) -> CountedRows:
        if part is None or not len(part):
            return coder.none(len(engine.model.classes) if search.has_probability else 0)
        label = np.minimum(np.searchsorted(classes, part.y), len(classes) - 1)
        if unknown := part.y[classes[label] != part.y][:1].tolist():
            raise InvalidInputError(
                f"The label {unknown[0]!r} did not occur when the table was first read. Each pass must read the same rows."
            )
        X = part.X if search.stand_ins is None else search.stand_ins.fill(part.X)
        prediction = engine.class_index(engine.predict(X)).astype(np.int64)
        soft = None
        if search.has_probability:
            soft = SoftLabels.of(engine.model.probabilities(engine.scores(X)), part.weight).weight
        return coder.count(part.X, label, prediction, part.weight, soft)

    engine = search.engine
    return DistinctRows(counted(rows.training(search)), counted(rows.testing(search)), n_conditions).checked()
