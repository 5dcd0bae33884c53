"""Find the second-cheapest counterfactual of a row, the third-cheapest, and so on.

Each of these is found by searches in which some features are frozen: they may not change.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._result import PROVEN, STATUSES, Counterfactuals, joined, without_moves

Features = frozenset[int]

# A bound within this relative distance of a cost counts as equal to the cost. The searches use the same tolerance.
EQUAL = 1e-9
NOTHING: Features = frozenset()


class FrozenSearch(NamedTuple):
    """The result of a search for one row with frozen features.

    The features in ``frozen`` may not change.
    """

    frozen: Features
    at: int  # position among all searches
    status: str
    cost: float
    bound: float
    moved: Features


class Alternative(NamedTuple):
    """One entry in the list of counterfactuals of a row.

    The last entry may mark the end of the list. The status of such an entry says why there is no further counterfactual.
    """

    at: int  # position among all searches; -1 for the end of the list
    status: str
    bound: float
    seconds: float
    nodes: int


@dataclass
class Alternatives:
    """List the counterfactuals of one row from the cheapest to the most expensive.

    Each search finds the cheapest counterfactual that leaves certain features, the frozen ones, unchanged. Results that are
    not yet listed are called open. A result is skipped if it changes all the features of a counterfactual that is already
    listed. The cheapest open result is examined next, because no remaining counterfactual can be cheaper. It is either
    listed or skipped. New searches then replace this result. Each of them freezes one more of the features that the result
    changes.

    Attributes
    ----------
    row : int
        Position of the row among all rows.
    wanted : int
        The target class, as a position in ``classes``; -1 for any other class.
    open : list
        Heap of the open results, ordered by cost.
    asked : set
        The sets of features that searches have frozen so far.
    given : list
        For each listed counterfactual, the features that it changes.
    closed : bool
        Whether the list is complete.
    relative_gap : float
        The relative gap of the searches.
    proven : bool
        Whether all counterfactuals listed so far are proven to be the cheapest ones, or within the relative gap of them.
    """

    row: int
    wanted: int
    relative_gap: float = 0.0
    open: list[tuple[float, int, list[int], FrozenSearch]] = field(default_factory=list)
    unfinished: list[float] = field(default_factory=list)  # bounds of searches that found nothing in time
    done: list[FrozenSearch] = field(default_factory=list)
    asked: set[Features] = field(default_factory=set)
    given: list[Features] = field(default_factory=list)
    listed: list[Alternative] = field(default_factory=list)
    closed: bool = False
    proven: bool = True
    seconds: float = 0.0  # since the last counterfactual
    nodes: int = 0

    def add(self, search: FrozenSearch) -> None:
        """Store the result of a finished search."""
        self.done.append(search)
        if search.status == "unknown":
            self.unfinished.append(search.bound)
        elif search.status != "infeasible":
            heapq.heappush(self.open, (search.cost, len(search.moved), sorted(search.moved), search))

    def known(self, frozen: Features, bound: float) -> FrozenSearch | None:
        """Derive the result of a new search from an earlier one, if possible.

        The new search would freeze the features in ``frozen``. An earlier search that froze only some of them has the same
        result in two cases. Either it was infeasible, or its proven change leaves all features in ``frozen`` unchanged.
        If there is no such search, the result is None. ``bound`` is a known lower bound of the cost.
        """
        for search in self.done:
            if search.frozen <= frozen and (
                search.status == "infeasible" or (search.status in PROVEN and not search.moved & frozen)
            ):
                return search._replace(frozen=frozen, bound=max(bound, search.bound))
        return None

    def advance(self, n: int) -> list[tuple[Features, float]]:
        """Extend the list to ``n`` counterfactuals, or until it requires new searches.

        Returns the searches to run before the next call. Each search is a pair: the features to freeze, and a known lower
        bound of the cost. The result is empty if the list is complete.
        """
        while not self.closed and len(self.listed) < n:
            if not self.open:
                self._close()
                break
            search = heapq.heappop(self.open)[-1]
            contained = next((features for features in self.given if features <= search.moved), None)
            if contained is None:
                self._give(search)
                contained = search.moved
                if len(self.listed) == n or not contained:
                    break
            missing = []
            for feature in sorted(contained):
                frozen = search.frozen | {feature}
                if frozen in self.asked:
                    continue
                self.asked.add(frozen)
                known = self.known(frozen, search.bound)
                if known is None:
                    missing.append((frozen, search.bound))
                else:
                    self.add(known)
            if missing:
                return missing
        self.closed = True
        return []

    def _least_bound(self) -> float:
        return min([np.inf, *self.unfinished, *(entry[-1].bound for entry in self.open)])

    def _give(self, search: FrozenSearch) -> None:
        bound = min(search.bound, self._least_bound())
        near = bound >= search.cost * (1 - max(EQUAL, self.relative_gap))
        self.proven &= search.status in (*PROVEN, "unverified") and near
        is_cheapest = self.proven and bound >= search.cost * (1 - EQUAL)
        status = "optimal" if is_cheapest else "within_gap" if self.proven else "feasible"
        if search.status == "unverified":
            status = "unverified"
        self._append(search.at, status, search.cost if is_cheapest else min(bound, search.cost))
        self.given.append(search.moved)

    def _close(self) -> None:
        """Append a last entry, whose status says why the list ends."""
        bound = self._least_bound()
        self._append(-1, "unknown" if self.unfinished else "infeasible", bound)
        self.closed = True

    def _append(self, at: int, status: str, bound: float) -> None:
        self.listed.append(Alternative(at, status, bound, self.seconds, self.nodes))
        self.seconds, self.nodes = 0.0, 0


Solve = Callable[[NDArray[np.int64], NDArray[np.bool_]], Counterfactuals]


def cheapest_alternatives(
    first: Counterfactuals,
    wanted: NDArray[np.int32],
    n: int,
    n_features: int,
    solve: Solve,
    progress: Callable[[int], None] | None = None,
    relative_gap: float = 0.0,
) -> tuple[Counterfactuals, NDArray[np.int64]]:
    """Find up to ``n`` counterfactuals per row that change different features.

    No counterfactual of a row changes all the features that an earlier one changes.

    Parameters
    ----------
    first : Counterfactuals
        The cheapest counterfactual of every row.
    wanted : ndarray of shape (n_points,)
        The target class of each row, as a position in ``first.classes``; -1 for any other class.
    n : int
        Largest number of counterfactuals per row.
    n_features : int
    solve : callable
        ``solve(positions, frozen)`` returns the cheapest counterfactuals of the rows at these positions in ``first``.
        ``frozen`` is a mask of shape (n_positions, n_features) of the features that may not change.
    progress : callable, optional
        Called with the number of counterfactuals that are found or known not to exist.
    relative_gap : float, default=0
        The relative gap of ``solve``.

    Returns
    -------
    found : Counterfactuals
        The counterfactuals, row by row. A row with fewer than ``n`` counterfactuals has a last entry without a change. Its
        status is ``infeasible`` if it is proven that no further counterfactual exists, or ``unknown`` after a timeout.
    number : ndarray
        Number of each counterfactual within its row: 1 for the cheapest, 2 for the next.
    """
    rows = [Alternatives(row, int(code), relative_gap) for row, code in enumerate(wanted)]
    _take_in(rows, range(len(rows)), [NOTHING] * len(rows), np.zeros(len(rows)), first, 0)
    found = [first]
    n_searches = len(first)
    while True:
        searches = [(row.row, features, bound) for row in rows for features, bound in row.advance(n)]
        if progress is not None:
            progress(sum(n if row.closed else len(row.listed) for row in rows))
        if not searches:
            return _collected(rows, found)
        open_rows, frozen, bounds = zip(*searches, strict=True)
        table = np.zeros((len(frozen), n_features), dtype=bool)
        for line, features in zip(table, frozen, strict=True):
            line[list(features)] = True
        result = solve(np.array(open_rows), table)
        _take_in(rows, open_rows, frozen, bounds, result, n_searches)
        found.append(result)
        n_searches += len(result)


def _take_in(
    rows: Sequence[Alternatives],
    of_row: Iterable[int],
    frozen: Sequence[Features],
    bounds: Sequence[float] | NDArray[np.float64],
    result: Counterfactuals,
    offset: int,
) -> None:
    begin = np.searchsorted(result.moves.point, np.arange(len(result) + 1))
    for i, row in enumerate(of_row):
        moved = frozenset(result.moves.feature[begin[i] : begin[i + 1]].tolist())
        bound = max(float(bounds[i]), float(result.bound[i]))
        status = STATUSES[result.status_code[i]]
        rows[row].seconds += float(result.seconds[i])
        rows[row].nodes += int(result.nodes[i])
        rows[row].asked.add(frozen[i])
        rows[row].add(FrozenSearch(frozen[i], offset + i, status, float(result.cost[i]), bound, moved))


def _collected(rows: Sequence[Alternatives], found: list[Counterfactuals]) -> tuple[Counterfactuals, NDArray[np.int64]]:
    first = found[0]
    # For each row, an entry without moves. It ends the list of a row with fewer than n counterfactuals.
    n = len(rows)
    wanted = np.array([alternatives.wanted for alternatives in rows], dtype=np.int32)
    ends = without_moves(first.rows, first.classes, wanted, "unknown", np.zeros(n), first.feature_names, first.columns)
    n_searches = sum(map(len, found))
    lines = [(row, number, entry) for row in rows for number, entry in enumerate(row.listed, 1)]
    at = np.array([entry.at if entry.at >= 0 else n_searches + row.row for row, _, entry in lines])
    collected = replace(
        joined([*found, ends]).take(at),
        status_code=np.array([STATUSES.index(entry.status) for _, _, entry in lines], dtype=np.int8),
        bound=np.array([entry.bound for _, _, entry in lines]),
        seconds=np.array([entry.seconds for _, _, entry in lines]),
        nodes=np.array([entry.nodes for _, _, entry in lines]),
    )
    return collected, np.array([number for _, number, _ in lines])
