"""The selection problem: conditions and rows as integers, for the search in the C++ core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.exceptions import InvalidInputError
from fcca.metrics import inconsistency_rate
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

MOST_CONDITIONS = 65_000  # the C++ core numbers conditions with 16 bits
FAR_FROM_ONE = 200  # weights are scaled if the binary exponent of their sum is farther from 0 than this


class SearchResult(NamedTuple):
    """Result of a search for conditions with a low cost.

    The cost of a set of conditions is its inconsistency times the total weight of the rows.

    Attributes
    ----------
    kept : ndarray of int or None
        Positions of the chosen conditions. None if no set is cheap enough, or none was found in time.
    cost : float
        Cost of the chosen conditions.
    bound : float
        No admissible set of this size has a cost below this bound.
    is_optimal : bool
        Whether the search finished its proof.
    n_nodes : int
        Number of branches that the search has visited.
    """

    kept: Positions | None  # None if no set within the ceiling exists, or none was found in time
    cost: float
    bound: float
    is_optimal: bool
    n_nodes: int


@dataclass(frozen=True)
class SelectionProblem:
    """Rows and conditions, with the conditions grouped into chains.

    The conditions ``x > t`` on one column form a chain, in ascending order of ``t``. If one of them holds, all earlier ones
    hold too. So one number per row and chain says which conditions hold. Every other condition is a chain of one condition.

    Attributes
    ----------
    passed : ndarray of shape (n_rows, n_chains)
        How many conditions of the chain hold for the row.
    label : ndarray of shape (n_rows,)
        Class of each row, as a code from 0.
    weight : ndarray of shape (n_rows,)
        Weight of each row, multiplied by ``scale``.
    n_classes : int
    chain_size : ndarray of shape (n_chains,)
        Number of conditions in each chain.
    feature, count : ndarray of shape (n_conditions,)
        Column of each condition, and how many counterfactuals cross it.
    scale : float
        Power of two by which the given weights were multiplied, so that their sum is not too large or too small.
    """

    passed: NDArray[np.int32]
    label: NDArray[np.int32]
    weight: Floats
    n_classes: int
    chain_size: NDArray[np.int32]
    feature: NDArray[np.int32]
    count: Floats
    scale: float = 1.0

    @classmethod
    def of(cls, table: ThresholdTable, X: Floats, y: Any, weight: Floats) -> SelectionProblem:
        """Build the problem from conditions, encoded rows, labels and weights."""
        # Cuts of a column are nested. A set of categories or a missing value is a chain of one condition.
        is_cut = table.kind == "cut"
        first = np.ones(len(table), dtype=bool)
        first[1:] = ~(is_cut[1:] & is_cut[:-1] & (np.diff(table.feature) == 0))
        begin = np.flatnonzero(first)
        if len(table) + len(begin) > MOST_CONDITIONS:
            raise InvalidInputError(
                f"The table has {len(table):,} conditions, but the search accepts at most about {MOST_CONDITIONS:,}. Use "
                "fewer conditions, for example with MidpointDiscretizer(max_thresholds=…)."
            )
        size = np.diff(np.append(begin, len(table))).astype(np.int32)
        passed = np.empty((len(X), len(begin)), dtype=np.int32)
        passed[:, ~is_cut[begin]] = table.select(~is_cut).binarize(X)
        for c in np.flatnonzero(is_cut[begin]).tolist():
            values = X[:, table.feature[begin[c]]]
            above = np.searchsorted(table.threshold[begin[c] : begin[c] + size[c]], values)  # thresholds below the value
            passed[:, c] = np.where(np.isnan(values), 0, above)
        label = np.unique(y, return_inverse=True)[1].astype(np.int32)
        exponent = int(np.frexp(weight.sum())[1])
        if exponent <= np.finfo(np.float64).minexp:
            raise InvalidInputError(
                f"The weights sum to {weight.sum():.3g}, which is too small for exact sums. Multiply all weights by "
                "the same large number."
            )
        # A power of two rounds nothing.
        scale = float(np.ldexp(1.0, -exponent)) if abs(exponent) > FAR_FROM_ONE else 1.0
        return cls(passed, label, weight * scale, int(label.max()) + 1, size, table.feature, table.count, scale)

    @property
    def total(self) -> float:
        """Total weight of the rows, without the factor ``scale``."""
        return float(self.weight.sum() / self.scale)

    def cost(self, kept: Positions) -> float:
        """Compute the cost of the conditions at the positions ``kept``.

        Rows that agree on all these conditions form a group. The cost is the total weight of the rows whose class is not the
        class with the largest weight in their group.
        """
        is_kept = np.zeros(len(self.feature), dtype=bool)
        is_kept[kept] = True
        end = np.cumsum(self.chain_size)
        used = np.flatnonzero([is_kept[last - size : last].any() for last, size in zip(end, self.chain_size, strict=True)])
        codes = np.zeros((len(self.passed), max(1, len(used))), dtype=np.int32)
        for at, c in enumerate(used.tolist()):
            n_kept_below = np.append(0, np.cumsum(is_kept[end[c] - self.chain_size[c] : end[c]]))
            codes[:, at] = n_kept_below[self.passed[:, c]]
        return inconsistency_rate(codes, self.label, self.weight) * self.total

    def greedy(self, n: int) -> list[int]:
        """Choose ``n`` conditions greedily and return their positions in the order of choice.

        Each step adds the condition that lowers the cost most. Ties go to the larger count, then to the lower position.
        """
        order = _core.greedy_thresholds(**self._arrays(), n_thresholds=min(n, len(self.feature)))
        return [int(condition) for condition in order]

    def _arrays(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "label": self.label,
            "weight": self.weight,
            "n_classes": self.n_classes,
            "chain_size": self.chain_size,
            "count": self.count,
        }

    def solve(
        self,
        n_thresholds: int,
        *,
        state: NDArray[np.int8],
        per_feature: NDArray[np.int32],
        max_features: int,
        ceiling: float | None = None,
        max_nodes: int | None = None,
        time_limit: float | None = None,
    ) -> SearchResult:
        """Find the ``n_thresholds`` conditions with the lowest cost.

        Parameters
        ----------
        n_thresholds : int
            At most the size of the largest admissible set.
        state : ndarray of shape (n_conditions,)
            1 for a condition that must be chosen, 2 for a condition that must not be chosen, 0 for all others.
        per_feature : ndarray of shape (n_features,)
            Maximum number of conditions on each column.
        max_features : int
            Maximum number of columns with a condition.
        ceiling : float, optional
            Search only for sets with at most this cost.
        max_nodes : int, optional
            Maximum number of branches of the search.
        time_limit : float, optional
            Seconds for the search.
        """
        kept, cost, bound, optimal, n_nodes = _core.select_thresholds(
            **self._arrays(),
            state=np.ascontiguousarray(state, dtype=np.int32),
            feature=self.feature,
            per_feature=np.ascontiguousarray(per_feature, dtype=np.int32),
            max_features=max_features,
            n_thresholds=n_thresholds,
            ceiling=np.inf if ceiling is None else ceiling * self.scale,
            max_nodes=max_nodes,
            time_limit=np.inf if time_limit is None else time_limit,
        )
        found = None if np.isnan(cost) else np.asarray(kept, dtype=np.int64)
        return SearchResult(found, float(cost / self.scale), float(bound / self.scale), bool(optimal), int(n_nodes))
