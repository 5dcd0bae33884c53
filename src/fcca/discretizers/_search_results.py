"""Statistics of rows, and results of the search for their counterfactuals.

Statistics and counts can be added: if ``a`` and ``b`` describe two chunks of rows, ``a + b`` describes the rows of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals import STATUSES, Counterfactuals, Observations, ValueCounts, joined
from fcca.discretizers._crossings import Crossings, DecidingValues, Points
from fcca.discretizers._row_sample import RowSample
from fcca.discretizers._ties import TiedCounterfactuals
from fcca.exceptions import InvalidInputError, NoCounterfactualError

Bools = NDArray[np.bool_]
Labels = NDArray[Any]

TIME_LIMITS = ("time_limit", "time_limit_per_row")


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of the training rows, collected before the search for counterfactuals.

    Attributes
    ----------
    observations : Observations
        Ranges, category counts and examples for the search.
    has_missing : ndarray of shape (n_features,)
        Mask of the columns with missing values.
    is_binary : ndarray of shape (n_features,)
        Mask of the columns that contain only 0 and 1. The mask is computed only if there are constraints. Otherwise it is
        True everywhere.
    special : dict of int to tuple of float
        The special values that rows have in each column.
    n_rows : int
        Number of training rows.
    classes : ndarray
        The distinct labels of the training rows, sorted.
    all_classes : ndarray
        The distinct labels of training rows and held-out rows, sorted.
    values : ValueCounts or None
        Distinct values of the numeric columns; None if they are not required for the units of distance.
    """

    observations: Observations
    has_missing: Bools
    is_binary: Bools
    special: Mapping[int, tuple[float, ...]]
    n_rows: int
    classes: Labels
    all_classes: Labels
    values: ValueCounts | None = None

    def __add__(self, other: TableStatistics) -> TableStatistics:
        return TableStatistics(
            self.observations + other.observations,
            self.has_missing | other.has_missing,
            self.is_binary & other.is_binary,
            {
                j: tuple(sorted({*self.special.get(j, ()), *other.special.get(j, ())}))
                for j in sorted({*self.special, *other.special})
            },
            self.n_rows + other.n_rows,
            _union(self.classes, other.classes),
            _union(self.all_classes, other.all_classes),
            None if self.values is None or other.values is None else self.values + other.values,
        )


def _union(labels: Labels, others: Labels) -> Labels:
    """Return the sorted union of labels; raise an error if their types differ."""
    if not len(labels) or not len(others):
        return labels if len(labels) else others
    for kind, types in (("strings", str), ("booleans", bool | np.bool_), ("dates", np.datetime64 | np.timedelta64)):
        if isinstance(labels[0], types) != isinstance(others[0], types):
            raise InvalidInputError(
                f"The labels of one chunk are {kind}, but the labels of another are not: {labels[:3].tolist()} and "
                f"{others[:3].tolist()}. Convert all labels to one type."
            )
    return np.union1d(labels, others)


@dataclass(frozen=True)
class CrossingCounts:
    """The conditions that counterfactuals cross, with counts.

    Attributes
    ----------
    table : ThresholdTable or LandingCounts
        The conditions, neither merged nor rounded, with the weight of the counterfactuals that cross them.
    statuses : dict of str to int
        Number of counterfactuals with each status.
    n_rows, n_correct : int
        Number of training rows, and how many of them the black box predicts correctly.
    least, most : float
        Smallest and largest confidence of the black box in the rows that it predicts correctly.
    n_more_searches, n_more_unfinished : int
        Number of additional searches, and how many of them ran out of time. An additional search fills in one missing
        value, or looks for an equally cheap counterfactual.
    sample : RowSample or None
        The rows that were searched; None for all rows, as always in sums.
    """

    table: Any
    statuses: Mapping[str, int]
    n_rows: int
    n_correct: int
    least: float
    most: float
    n_more_searches: int = 0
    n_more_unfinished: int = 0
    sample: RowSample | None = None

    @property
    def n_counterfactuals(self) -> int:
        """Number of rows for which a counterfactual was searched, whatever its status."""
        return sum(self.statuses.values())

    def __add__(self, other: CrossingCounts) -> CrossingCounts:
        both = {name: self.statuses.get(name, 0) + other.statuses.get(name, 0) for name in STATUSES}
        return CrossingCounts(
            self.table + other.table,
            {name: n for name, n in both.items() if n},
            self.n_rows + other.n_rows,
            self.n_correct + other.n_correct,
            min(self.least, other.least),
            max(self.most, other.most),
            self.n_more_searches + other.n_more_searches,
            self.n_more_unfinished + other.n_more_unfinished,
        )


class PredictedRows(NamedTuple):
    """Predictions of the black box for rows, and the rows that get a counterfactual."""

    predictions: Labels
    probability: NDArray[np.float64] | None  # None if the black box has no probabilities
    points: Points  # the rows that are predicted correctly, with a confidence between p0 and p1
    own_class: NDArray[np.int32]  # predicted classes of these rows, as positions in the classes of the model
    confidence: NDArray[np.float64]  # in the rows that are predicted correctly


class FoundCounterfactuals(NamedTuple):
    """Counterfactuals of rows, deciding missing values, and equally cheap counterfactuals."""

    counterfactuals: Counterfactuals
    deciding: DecidingValues
    ties: TiedCounterfactuals

    @classmethod
    def joined(cls, parts: Sequence[FoundCounterfactuals]) -> FoundCounterfactuals:
        """Join the counterfactuals of different rows, and sort them by row."""
        first = joined([part.counterfactuals for part in parts])
        order = np.argsort(first.rows)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        begin = np.cumsum([0, *(len(part.counterfactuals) for part in parts)])[:-1].tolist()
        deciding, ties = [part.deciding for part in parts], [part.ties for part in parts]
        return cls(
            first.take(order),
            DecidingValues(
                place[np.concatenate([one.point + at for one, at in zip(deciding, begin, strict=True)])],
                np.concatenate([one.feature for one in deciding]),
                sum(one.n_searches for one in deciding),
                sum(one.n_unfinished for one in deciding),
            ),
            TiedCounterfactuals(
                place[np.concatenate([one.point + at for one, at in zip(ties, begin, strict=True)])],
                tuple(found for one in ties for found in one.found),
                sum(one.n_searches for one in ties),
                sum(one.n_unfinished for one in ties),
            ),
        )


class SearchResult(NamedTuple):
    """The counterfactuals of one chunk of rows, the conditions they cross, and predictions.

    Only the field ``counts`` can be summed over chunks.
    """

    counts: CrossingCounts
    counterfactuals: Counterfactuals
    crossings: Crossings
    condition: NDArray[np.int64]  # for each crossing, the position of its condition in ``crossings.table``
    predictions: NDArray[Any]  # of the black box, for all rows
    probability: NDArray[np.float64] | None  # of the black box, for all rows; None if it has no probabilities


class OutOfTimeError(NoCounterfactualError):
    """Raised if a time limit stopped all searches before they proved a counterfactual.

    Parameters
    ----------
    what : str
        A sentence that says how many searches there were, and their statuses.
    *limits : str
        Names of the parameters to raise, such as ``time_limit``.
    """

    def __init__(self, what: str, *limits: str) -> None:
        super().__init__(what, *limits)
        self.what, self.limits = what, limits

    def __str__(self) -> str:
        return f"{self.what} All were stopped by a time limit. Raise {' and '.join(self.limits)}."


def check_some_condition(counts: CrossingCounts, given: Any, known: list[Any], classes: Sequence[Any]) -> None:
    """Check that counterfactuals crossed a condition; otherwise raise an error that says why.

    Parameters
    ----------
    counts : CrossingCounts
        Counts of all training rows.
    given : namespace
        Parameters of an ``FCCADiscretizer``.
    known : list
        Classes of the black box.
    classes : sequence
        Classes in y; empty if unknown.
    """
    n = counts.n_counterfactuals
    if counts.n_correct == 0:
        others = f"; the classes of y are {list(classes[:3])}{', …' if len(classes) > 3 else ''}" if len(classes) else ""
        raise NoCounterfactualError(
            f"The classifier predicts none of the {counts.n_rows} rows correctly, so there is no row to compute a "
            f"counterfactual for. The classes of the classifier are {known}{others}. Check the labels in y."
        )
    if n == 0:
        raise NoCounterfactualError(
            f"No row is classified correctly with a probability between p0={given.p0} and p1={given.p1}. The "
            f"{counts.n_correct} correctly classified rows have probabilities between {counts.least:.4g} and "
            f"{counts.most:.4g}. Lower p0 or raise p1."
        )
    if len(counts.table):
        return
    what = f"None of the {n} counterfactual searches gave a threshold: {dict(counts.statuses)}."
    if counts.statuses.get("feasible", 0) + counts.statuses.get("unknown", 0) == n:
        set_limits = [name for name in TIME_LIMITS if getattr(given, name) is not None]
        raise OutOfTimeError(what, *(set_limits or TIME_LIMITS[:1]))
    rules = " The constraints may forbid every change." if given.constraints else ""
    raise NoCounterfactualError(
        f"{what} Perhaps the classifier predicts the same class everywhere inside the range of the data, or another class "
        f"wins by less than the margin.{rules}"
    )
