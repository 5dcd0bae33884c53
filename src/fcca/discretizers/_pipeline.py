"""The pipeline that finds the thresholds of a table.

Its stages collect the statistics of the rows, find the counterfactuals, count the conditions that they cross, merge similar
conditions, and round the thresholds. ``FCCADiscretizer.fit``, :func:`fcca.streaming.distill` and :func:`fcca.dask.distill`
call this pipeline. ``FCCADiscretizer.partial_fit`` calls the same stages, one chunk at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca.discretizers import _stages as stages
from fcca.discretizers._chunks import Chunks
from fcca.discretizers._medians import N_PASSES, DigitCounts, medians
from fcca.discretizers._search_results import CrossingCounts, TableStatistics
from fcca.discretizers._threshold_search import ThresholdSearch
from fcca.discretizers._validation import check_classes
from fcca.discretizers._warnings import (
    warn_constant_features,
    warn_likely_special_values,
    warn_sampled,
    warn_uncounted,
)
from fcca.exceptions import InvalidInputError
from fcca.thresholds import ThresholdTable


@dataclass(frozen=True)
class FoundThresholds:
    """The thresholds of a table, with the results of all stages.

    Attributes
    ----------
    search : ThresholdSearch
        The search with the statistics of all training rows.
    statistics : TableStatistics
    counts : CrossingCounts
        The conditions that counterfactuals cross, before they are merged and rounded.
    thresholds : ThresholdTable
        The merged and rounded conditions.
    position : ndarray of int
        For each condition in ``counts.table``, its position in ``thresholds`` after merging and rounding. The array is empty
        if ``counts.table`` is a ``LandingCounts``.
    """

    search: ThresholdSearch
    statistics: TableStatistics
    counts: CrossingCounts
    thresholds: ThresholdTable
    position: NDArray[np.int64]


def find_thresholds(chunks: Chunks, search: ThresholdSearch) -> FoundThresholds:
    """Find the thresholds that the counterfactuals of a table cross.

    Parameters
    ----------
    chunks : Chunks
        The table. It is read once per stage.
    search : ThresholdSearch
        A search without statistics of rows.
    """
    search, statistics = observe(chunks, search)
    warn_constant_features(search.constant_features())
    if chunks.in_memory is not None:
        warn_likely_special_values(chunks.in_memory.X, search)
    counts = chunks.sum("Counterfactuals", stages.count_crossings, search, chunks.keep)
    check_same_rows(counts.n_rows, statistics)
    warn_uncounted(counts, constraints=bool(search.rules))
    merged, position = search.merged(counts, statistics.classes.tolist())
    around = chunks.sum("Values", stages.find_values_around, search, merged) if search.needs_values_around else None
    thresholds, rounded = search.finished(merged, around)
    if counts.sample is not None:
        thresholds = counts.sample.with_shares(thresholds)
        warn_sampled(counts.sample, thresholds, search.parameters)
    return FoundThresholds(search, statistics, counts, thresholds, rounded[position])


def observe(chunks: Chunks, search: ThresholdSearch) -> tuple[ThresholdSearch, TableStatistics]:
    """Collect the statistics of all training rows in a table.

    Parameters
    ----------
    chunks : Chunks
        The table.
    search : ThresholdSearch
        A search without statistics of rows.

    Returns
    -------
    search : ThresholdSearch
        A copy of the search that holds the statistics.
    statistics : TableStatistics
    """
    whole = chunks.in_memory
    if whole is None and (columns := search.open_columns()):
        categories = chunks.sum("Categories", stages.find_categories, search, columns)
        search = search.with_categories(categories.table(len(search.names)))
    statistics = chunks.sum("Ranges", stages.observe, search)
    if statistics.n_rows == 0:
        raise InvalidInputError("There are no rows to learn from.")
    check_classes(len(statistics.classes), statistics.n_rows)
    ready = search.with_statistics(statistics, rows=None if whole is None else whole.X)
    ready.check_some_values()
    if whole is None and (columns := ready.columns_to_fill()):

        def one_pass(prefix: NDArray[np.uint64], at: int) -> DigitCounts:
            return chunks.sum(f"Medians, {at + 1} of {N_PASSES}", stages.count_digits, ready, columns, prefix, at)

        ready = search.with_statistics(statistics, medians=medians(columns, one_pass))
    if ready.needs_bins:
        ready = ready.with_bins(chunks.sum("Distances", stages.count_bins, ready))
    return ready, statistics


def check_same_rows(n_rows: int, statistics: TableStatistics) -> None:
    """Check that two passes over a table read the same number of rows.

    Parameters
    ----------
    n_rows : int
        Number of training rows in the later pass.
    statistics : TableStatistics
        Statistics of the first pass.
    """
    if n_rows != statistics.n_rows:
        raise InvalidInputError(
            f"The table had {statistics.n_rows:,} training rows when it was first read, but {n_rows:,} in a later pass. The "
            "table must stay the same. A function that yields the chunks must yield all of them in each call."
        )
