"""The rows on which inconsistency is measured, and the searches for conditions with a small inconsistency."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, _num_samples

from fcca.exceptions import InvalidInputError
from fcca.metrics import inconsistency_rate
from fcca.selection._admissible import FORBIDDEN, Admissible
from fcca.selection._selection import Selection
from fcca.selection._selection_problem import SearchResult, SelectionProblem
from fcca.tables import check_columns, check_weights, column_names, weighted_rows
from fcca.thresholds import ThresholdTable
from fcca.utils import plain

Floats = NDArray[np.float64]

# Sums of weights may differ in their last digits. Such differences do not count.
SAME_SHARE = 1e-9
TRIED = 3  # sizes of maximal sets to try


class Clock(NamedTuple):
    """The time left until a time limit is reached.

    Attributes
    ----------
    ends : float or None
        When the time is over, as a value of ``perf_counter``; None without a limit.
    """

    ends: float | None

    @classmethod
    def started(cls, limit: float | None) -> Clock:
        """Start a clock that ends after ``limit`` seconds, or never if ``limit`` is None."""
        return cls(None if limit is None else perf_counter() + limit)

    def left(self, *, shared_by: int = 1) -> float | None:
        """Return the seconds left, divided by ``shared_by``; None without a limit.

        ``shared_by`` is the number of searches that still have to run in this time.
        """
        return None if self.ends is None else max(0.0, self.ends - perf_counter()) / shared_by

    def is_over(self) -> bool:
        """Return True if the time limit is reached."""
        return self.left() == 0.0


@dataclass(frozen=True)
class MeasuredRows:
    """Rows on which the inconsistency of conditions is measured.

    Attributes
    ----------
    table : ThresholdTable
        The conditions to choose from.
    X : ndarray of shape (n_rows, n_features)
        The rows, encoded as numbers.
    y : ndarray of shape (n_rows,)
        The classes that the conditions should separate.
    weight : ndarray of shape (n_rows,)
    problem : SelectionProblem
        The same rows and conditions in the form that the search needs.
    max_nodes : int or None
        Maximum number of branches of each search.
    """

    table: ThresholdTable
    X: Floats
    y: NDArray[Any]
    weight: Floats
    problem: SelectionProblem
    max_nodes: int | None

    @classmethod
    def of(
        cls, table: ThresholdTable, X: Any, y: Any, sample_weight: ArrayLike | None, max_nodes: int | None
    ) -> MeasuredRows:
        """Check and encode the rows, and leave out rows with weight 0."""
        if _num_samples(X) == 0:
            raise InvalidInputError("X has no rows. Give at least one row.")
        y = _check_y(y)
        check_classification_targets(y)
        given, known = column_names(X), list(table.feature_names)
        if given is not None and known != [f"x{j}" for j in range(len(known))]:
            check_columns(given, len(given), known, len(known), knower="the conditions are on")
        X, y, given_weight, _ = weighted_rows(X, y, sample_weight)
        weight = check_weights(given_weight, len(y))
        encoded = table.encoded(X)
        return cls(table, encoded, y, weight, SelectionProblem.of(table, encoded, y, weight), max_nodes)

    @property
    def total(self) -> float:
        """Total weight of the rows."""
        return self.problem.total

    def inconsistency(self, kept: Any) -> float:
        """Compute the inconsistency of the conditions in ``kept``, a mask or a list of positions."""
        chosen = np.zeros(len(self.table), dtype=np.bool_)
        chosen[kept] = True
        return inconsistency_rate(self.table.select(chosen).binarize(self.X), self.y, self.weight)

    def best(self, admissible: Admissible, n: int, time_limit: float | None) -> Selection:
        """Find the ``n`` admissible conditions with the smallest inconsistency."""
        return self._selection(self._solved(admissible, n, None, time_limit), n)

    def fewest(self, admissible: Admissible, max_inconsistency: float, clock: Clock) -> Selection:
        """Find the fewest conditions whose inconsistency is at most ``max_inconsistency``.

        Of the sets with this number of conditions, the set with the smallest inconsistency is returned. If a limit stops the
        search, the returned set may be larger than necessary.
        """
        ceiling = (max_inconsistency + SAME_SHARE) * self.total
        # No set is better than the set of all conditions.
        bound = self.problem.cost(np.flatnonzero(admissible.state != FORBIDDEN))
        if bound > ceiling:
            raise self._unreachable(admissible, max_inconsistency, bound)
        n_nodes = 0
        for n in range(admissible.fewest, admissible.most + 1):
            if clock.is_over():
                break
            found = self._solved(admissible, n, ceiling, clock.left())
            n_nodes += found.n_nodes
            if found.kept is not None:
                return self._selection(found._replace(n_nodes=n_nodes), n)
            if not found.is_optimal:
                break
        else:
            raise self._unreachable(admissible, max_inconsistency, bound)
        found = self._quickly(admissible, n, ceiling)
        if found.cost > ceiling:
            raise InvalidInputError(
                "The search was stopped by a limit before it found conditions with an inconsistency of at most "
                f"{plain(max_inconsistency)}. The best conditions found so far have an inconsistency of "
                f"{found.cost / self.total:.4g}. Raise "
                "time_limit, max_nodes or max_inconsistency."
            )
        return self._selection(found._replace(bound=bound, is_optimal=False, n_nodes=n_nodes), n)

    def _quickly(self, admissible: Admissible, fewest: int, ceiling: float) -> SearchResult:
        """Quickly find a small set of conditions with a cost of at most ``ceiling``.

        The set has at least ``fewest`` conditions. A smaller set may exist, because nothing is proven. If no such set is
        found, return a set whose cost is low, but above ``ceiling``.
        """
        best = self._best_of_largest(admissible)
        if best.cost > ceiling or best.kept is None:
            return best
        # The larger the set, the better the start of the search.
        low, high = fewest, len(best.kept)
        while low < high:
            middle = (low + high) // 2
            found = self._solved(admissible, middle, None, 0.0)
            if found.cost <= ceiling:
                best, high = found, middle
            else:
                low = middle + 1
        return best

    def _best_of_largest(self, admissible: Admissible) -> SearchResult:
        """Find a set with a low cost among the largest admissible sets.

        Nothing is proven: another set may have a lower cost.
        """
        largest = (self._solved(admissible, n, None, 0.0) for n in admissible.largest[-TRIED:])
        return min(largest, key=lambda found: found.cost)

    def _solved(self, admissible: Admissible, n: int, ceiling: float | None, time_limit: float | None) -> SearchResult:
        return self.problem.solve(
            n,
            state=admissible.state,
            per_feature=admissible.per_feature,
            max_features=admissible.max_features,
            ceiling=ceiling,
            max_nodes=self.max_nodes,
            time_limit=time_limit,
        )

    def _selection(self, found: SearchResult, fewest: int) -> Selection:
        assert found.kept is not None  # without a ceiling, a set is found for every admissible size
        kept = np.zeros(len(self.table), dtype=np.bool_)
        kept[found.kept] = True
        inconsistency = self.inconsistency(kept)
        lower_bound = inconsistency if found.is_optimal else max(0.0, min(found.bound / self.total, inconsistency))
        return Selection(self.table, kept, inconsistency, lower_bound, found.is_optimal, found.n_nodes, fewest)

    def _unreachable(self, admissible: Admissible, max_inconsistency: float, of_all: float) -> InvalidInputError:
        """Build the error for a ``max_inconsistency`` that no admissible set reaches.

        ``of_all`` is the cost of the set of all conditions that are not forbidden. No admissible set has a lower cost.
        """
        best = self._best_of_largest(admissible)
        least = f"all conditions together have {of_all / self.total:.6g}"
        if best.cost > of_all:
            least += f", and the best allowed set found has {best.cost / self.total:.6g}"
        return InvalidInputError(
            f"No allowed set of conditions has an inconsistency of at most {plain(max_inconsistency)}: {least}. Raise "
            "max_inconsistency, or relax 'keep', 'forbid', 'per_feature' or 'max_features'."
        )
