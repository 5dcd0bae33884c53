"""Search as many rows as needed for counterfactuals, in a random order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca.discretizers._counterfactual_search import find_counterfactuals
from fcca.discretizers._presets import most_thresholds, rows_to_search
from fcca.discretizers._row_order import MOST_UNITS, RowOrder
from fcca.discretizers._row_sample import FIRST_LOOK, Reason, RowSample, level_of, looks_up_to
from fcca.discretizers._rows import EncodedRows
from fcca.discretizers._search_results import CrossingCounts, FoundCounterfactuals, PredictedRows, SearchResult
from fcca.discretizers._threshold_search import ThresholdSearch
from fcca.exceptions import InvalidInputError
from fcca.selection import most_frequent
from fcca.thresholds import ThresholdTable
from fcca.utils import progress_bar, stop_search

Floats = NDArray[np.float64]

#: A fit that is stopped loses the rows of at most one batch.
BATCH, BATCH_SHARE = 125, 8


def search_rows(rows: EncodedRows, search: ThresholdSearch) -> SearchResult:
    """Find the counterfactuals of as many rows in memory as ``max_rows`` asks for.

    Parameters
    ----------
    rows : EncodedRows
        All training rows.
    search : ThresholdSearch
        A search that holds the statistics of these rows.
    """
    given = search.parameters
    asked = rows_to_search(given.preset, given.max_rows, searches_fast=search.searches_fast)
    if asked == "all" and search.searches_fast:
        return all_rows(rows, search)
    predicted = search.predicted(rows.X, rows.y)
    weight = None if rows.weight is None else rows.weight[predicted.points]
    order = RowOrder.of(rows.X[predicted.points], predicted.own_class, weight)
    if order is None and isinstance(asked, int):
        raise InvalidInputError(
            f"max_rows={asked} requires weights that are whole numbers, of at most {MOST_UNITS:,} units in all, because a "
            "row of weight 2 counts as two rows. Use max_rows='all', or round the weights."
        )
    if order is None or order.n_units == 0:
        return all_rows(rows, search)
    return SampledSearch(rows, search, predicted, order, asked).result()


def all_rows(rows: EncodedRows, search: ThresholdSearch) -> SearchResult:
    """Find the counterfactuals of all rows in a chunk."""
    return search.search(rows.X, rows.y, rows.weight)


@dataclass(frozen=True)
class SampledSearch:
    """A search of rows in a random order, which may end before all rows are searched.

    Parameters
    ----------
    rows : EncodedRows
        All training rows.
    search : ThresholdSearch
    predicted : PredictedRows
        Predictions for these rows.
    order : RowOrder
        The order of the rows that may be searched, ``predicted.points``.
    asked : int, "auto" or "all"
        How many rows to search.
    """

    rows: EncodedRows
    search: ThresholdSearch
    predicted: PredictedRows
    order: RowOrder
    asked: int | str

    def result(self) -> SearchResult:
        """Search batches of rows until enough rows are searched."""
        done = 0
        parts: list[FoundCounterfactuals] = []
        total = len(self.predicted.points)
        try:
            with progress_bar("Counterfactuals", total) as progress:
                for size in self._sizes():
                    which = self.order.rows(size, after=done)
                    before = len(self.order.rows(done))

                    def shown(n: int, before: int = before) -> None:
                        assert progress is not None
                        progress(before + n)

                    parts.append(
                        find_counterfactuals(
                            self.search,
                            self.rows.X,
                            self.predicted.points[which],
                            self.predicted.own_class[which],
                            None if progress is None else shown,
                        )
                    )
                    done = size
                    if self.asked == "auto" and size in looks_up_to(size, self.order.n_units):
                        found = self._counted(parts, size, "settled")
                        if self._is_settled(found):
                            return found
        except KeyboardInterrupt:
            if done == 0 or not stop_search():
                raise
            return self._counted(parts, done, "interrupted")
        return self._counted(parts, done, "max_rows")

    def _sizes(self) -> Iterator[int]:
        """Yield the sizes of the growing sample, among them those at which the shares are looked at."""
        most = self.order.n_units if isinstance(self.asked, str) else min(self.asked, self.order.n_units)
        size, look = 0, FIRST_LOOK
        while size < most:
            size = min(most, look, size + max(BATCH, size // BATCH_SHARE))
            look *= 2 if size == look else 1
            yield size

    def _counted(self, parts: list[FoundCounterfactuals], size: int, reason: Reason) -> SearchResult:
        """Count the conditions that the counterfactuals of a sample cross."""
        found = FoundCounterfactuals.joined(parts)
        if size == self.order.n_units:
            return self.search.counted(self.predicted, found, self.rows.weight)
        points = self.predicted.points
        weight = np.zeros(len(self.rows))
        weight[points] = self.order.weights(size, len(points))
        first, more = found.counterfactuals, found.deciding.n_unfinished + found.ties.n_unfinished
        unfinished = weight[first.rows[first.is_status("feasible", "unknown")]].sum() + more * weight.max()
        n_rows, n_unfinished = (len(first), len(points)), round(unfinished / self.order.weight)
        sample = sample_of(self.search, self.order, size, reason, n_rows, n_unfinished)
        return self.search.counted(self.predicted, found, weight, sample)

    def _is_settled(self, found: SearchResult) -> bool:
        sample = found.counts.sample
        if sample is None or len(found.counts.table) == 0:
            return False
        return sample.is_settled(*kept_thresholds(self.search, found.counts, self.rows.X))


def sample_of(
    search: ThresholdSearch, order: RowOrder, size: int, reason: Reason, n_rows: tuple[int, int], n_unfinished: int
) -> RowSample:
    """Describe a sample of the rows.

    Parameters
    ----------
    search : ThresholdSearch
    order : RowOrder
        The order of all rows that may be searched.
    size : int
    reason : {"settled", "max_rows", "interrupted"}
        Why no more rows were searched.
    n_rows : (int, int)
        Number of rows in the sample, and of all rows that may be searched.
    n_unfinished : int
        Weight of the rows whose searches did not finish, in units of ``order.weight``.
    """
    given = search.parameters
    asked = rows_to_search(given.preset, given.max_rows, searches_fast=search.searches_fast)
    return RowSample(
        size=size,
        n_searched=n_rows[0],
        n_rows=n_rows[1],
        reason=reason,
        level=level_of(size, order.n_units, reason, has_looks=asked == "auto"),
        n_conditions=search.n_conditions(n_rows[1]),
        sampled=order.sampled(size),
        sizes=order.sizes,
        unit=order.weight,
        n_unfinished=n_unfinished,
    )


def kept_thresholds(search: ThresholdSearch, counts: CrossingCounts, X: Floats) -> tuple[ThresholdTable, NDArray[np.bool_]]:
    """Merge and round the conditions that counterfactuals cross; mark those that ``Q`` and ``max_thresholds`` keep.

    Parameters
    ----------
    search : ThresholdSearch
    counts : CrossingCounts
    X : ndarray of shape (n_rows, n_features)
        All training rows.
    """
    given = search.parameters
    merged, _ = search.merged(counts)
    table, _ = search.finished(merged, search.values_around(merged, X) if search.needs_values_around else None)
    return table, most_frequent(table, given.Q, most_thresholds(given.preset, given.max_thresholds))
