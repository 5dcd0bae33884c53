"""Further counterfactuals of a row that change other features, by searches with frozen features."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._result import STATUSES, Counterfactuals, joined, without_moves

Features = frozenset[int]

# Bounds this share below a cost count as equal to it: the searches prove no more than that either.
PROVEN = 1e-9
NOTHING: Features = frozenset()


class Search(NamedTuple):
    """A finished search: its frozen features and its result."""

    frozen: Features
    at: int  # position among all searches
    status: str
    cost: float
    bound: float
    moved: Features


class Answer(NamedTuple):
    """One counterfactual of a row, or the reason why there are no more."""

    at: int  # position among all searches, -1 for none
    status: str
    bound: float
    seconds: float
    nodes: int


@dataclass
class Alternatives:
    """Best-first enumeration for one row.

    Every open search covers the answers that leave its frozen features alone. Together they cover all answers that contain
    no set of features given before: the cheapest of them is therefore the next one to give, and is replaced by searches that
    freeze one more of its features each.
    """

    row: int
    wanted: int
    open: list[tuple[float, int, list[int], Search]] = field(default_factory=list)
    unfinished: list[float] = field(default_factory=list)  # bounds of searches that found nothing in their time
    done: list[Search] = field(default_factory=list)
    asked: set[Features] = field(default_factory=set)
    given: list[Features] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    closed: bool = False
    proven: bool = True
    seconds: float = 0.0  # spent since the last answer
    nodes: int = 0

    def add(self, search: Search) -> None:
        """Add the result of a search."""
        self.done.append(search)
        if search.status == "unknown":
            self.unfinished.append(search.bound)
        elif search.status != "infeasible":
            heapq.heappush(self.open, (search.cost, len(search.moved), sorted(search.moved), search))

    def known(self, frozen: Features, bound: float) -> Search | None:
        """Find an earlier search that settles one with more frozen features."""
        for search in self.done:
            if search.frozen <= frozen and (
                search.status == "infeasible" or (search.status == "optimal" and not search.moved & frozen)
            ):
                return search._replace(frozen=frozen, bound=max(bound, search.bound))
        return None

    def advance(self, n: int) -> list[tuple[Features, float]]:
        """Give answers until there are n; return the searches that are missing, with known bounds."""
        while not self.closed and len(self.answers) < n:
            if not self.open:
                self._close()
                break
            search = heapq.heappop(self.open)[-1]
            contained = next((features for features in self.given if features <= search.moved), None)
            if contained is None:
                self._give(search)
                contained = search.moved
                if len(self.answers) == n or not contained:
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

    def _give(self, search: Search) -> None:
        bound = min(search.bound, self._least_bound())
        self.proven &= search.status in ("optimal", "unverified") and bound >= search.cost * (1 - PROVEN)
        status = search.status if search.status == "unverified" else "optimal" if self.proven else "feasible"
        self._append(search.at, status, search.cost if self.proven else min(bound, search.cost))
        self.given.append(search.moved)

    def _close(self) -> None:
        """Append the reason why there are no more."""
        bound = self._least_bound()
        self._append(-1, "unknown" if self.unfinished else "infeasible", bound)
        self.closed = True

    def _append(self, at: int, status: str, bound: float) -> None:
        self.answers.append(Answer(at, status, bound, self.seconds, self.nodes))
        self.seconds, self.nodes = 0.0, 0


Solve = Callable[[NDArray[np.int64], NDArray[np.bool_]], Counterfactuals]


def cheapest_alternatives(
    first: Counterfactuals,
    wanted: NDArray[np.int32],
    n: int,
    n_features: int,
    solve: Solve,
    progress: Callable[[int], None] | None = None,
) -> tuple[Counterfactuals, NDArray[np.int64]]:
    """Find up to n counterfactuals per row, none with all features of an earlier one.

    Parameters
    ----------
    first : Counterfactuals
        The cheapest answer of every row.
    wanted : ndarray of shape (n_points,)
        The class asked for, by position; -1 for any other.
    n : int
        How many answers are wanted.
    n_features : int
    solve : callable
        Answers for positions in ``first`` with features frozen, one line of a 0/1 table each.
    progress : callable, optional
        Called with the number of answers that are given or known not to exist.

    Returns
    -------
    answers : Counterfactuals
        Those of a row after each other. A row with fewer than n ends with one that says why: ``infeasible`` where it is
        proven that there is no other, ``unknown`` where time ran out.
    number : ndarray
        1, 2, … within each row.
    """
    rows = [Alternatives(row, int(code)) for row, code in enumerate(wanted)]
    _take_in(rows, range(len(rows)), [NOTHING] * len(rows), np.zeros(len(rows)), first, 0)
    found = [first]
    n_searches = len(first)
    while True:
        searches = [(row.row, features, bound) for row in rows for features, bound in row.advance(n)]
        if progress is not None:
            progress(sum(n if row.closed else len(row.answers) for row in rows))
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
        rows[row].add(Search(frozen[i], offset + i, status, float(result.cost[i]), bound, moved))


def _collected(rows: Sequence[Alternatives], found: list[Counterfactuals]) -> tuple[Counterfactuals, NDArray[np.int64]]:
    first = found[0]
    # One line without moves per row, for the rows that end in one.
    n = len(rows)
    wanted = np.array([alternatives.wanted for alternatives in rows], dtype=np.int32)
    ends = without_moves(first.rows, first.classes, wanted, "unknown", np.zeros(n), first.feature_names, first.columns)
    n_searches = sum(map(len, found))
    lines = [(row, number, answer) for row in rows for number, answer in enumerate(row.answers, 1)]
    at = np.array([answer.at if answer.at >= 0 else n_searches + row.row for row, _, answer in lines])
    answers = replace(
        joined([*found, ends]).take(at),
        status_code=np.array([STATUSES.index(answer.status) for _, _, answer in lines], dtype=np.int8),
        bound=np.array([answer.bound for _, _, answer in lines]),
        seconds=np.array([answer.seconds for _, _, answer in lines]),
        nodes=np.array([answer.nodes for _, _, answer in lines]),
    )
    return answers, np.array([number for _, number, _ in lines])
