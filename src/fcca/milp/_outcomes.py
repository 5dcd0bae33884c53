"""Outcomes of searches, one per point or as arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Codes = NDArray[np.int32]
Progress = Callable[[int], None]

OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN = range(4)
ANY_OTHER_CLASS = -1
PER_POINT: dict[str, Any] = {
    "cost": np.float64,
    "bound": np.float64,
    "status": np.int8,
    "target": np.int32,
    "nodes": np.int64,
    "seconds": np.float64,
}
PER_MOVE = ("feature", "landing", "cut")
PROMISE = 1e-9  # tolerance of an optimal cost, relative for costs above 1


def is_close(bound: float, cost: float) -> bool:
    """Return True if the bound proves that the cost is the least."""
    return cost - bound <= PROMISE * max(1.0, cost)


@dataclass
class Outcome:
    """Result for one point, or for one point and one class."""

    status: int = UNKNOWN
    cost: float = np.inf
    bound: float = 0.0
    target: int = -1
    nodes: int = 0
    moves: tuple[tuple[int, float], ...] = ()  # feature and landing
    seconds: float = 0.0

    def close(self) -> None:
        """Set the status from the cost and the bound; an infinite bound proves infeasibility."""
        self.bound = min(self.bound, self.cost)
        if self.cost == np.inf:
            self.status = INFEASIBLE if self.bound == np.inf else UNKNOWN
        elif is_close(self.bound, self.cost):
            self.status, self.bound = OPTIMAL, self.cost
        else:
            self.status = FEASIBLE


def cheapest_class(scores: Floats, own_class: int, target: int, towards: Callable[[int, float], Outcome]) -> Outcome:
    """Find the cheapest change to the target, or to any other class.

    Parameters
    ----------
    scores : ndarray of shape (n_outputs,)
        Scores of the unchanged point. The class closest to winning is tried first, because its cost shortens the other
        searches.
    own_class, target : int
        A target of -1 means any other class.
    towards : callable
        Finds the cheapest change to one class. It may ignore changes that cost more than its second argument.
    """
    classes = [target]
    if target == ANY_OTHER_CLASS:
        ranked = np.argsort(-scores, kind="stable").tolist() if len(scores) > 1 else [1 - own_class]
        classes = [k for k in ranked if k != own_class]
    best, open_bound = Outcome(), np.inf
    for k in classes:
        outcome = towards(k, best.cost)
        best.nodes += outcome.nodes
        if outcome.status in (FEASIBLE, UNKNOWN):
            open_bound = min(open_bound, outcome.bound)
        if outcome.cost < best.cost:
            best.cost, best.target, best.moves = outcome.cost, k, outcome.moves
    best.bound = open_bound
    best.close()
    return best


def rival_weights(n_outputs: int, target: int) -> Floats:
    """Return the weights that turn scores into the target's lead over each rival."""
    if n_outputs == 1:
        return np.array([[1.0 if target == 1 else -1.0]])
    return np.delete(np.eye(n_outputs)[target] - np.eye(n_outputs), target, axis=0)


def solve_each(
    points: Iterable[int],
    solve: Callable[[int, float], Outcome],
    *,
    ends: float,
    time_limit_per_row: float,
    progress: Progress | None,
) -> list[Outcome]:
    """Solve points one after the other, each until its deadline.

    Parameters
    ----------
    points : iterable of int
    solve : callable
        Takes a point and its deadline by ``time.monotonic``.
    ends : float
        Deadline for all points.
    time_limit_per_row : float
        Seconds for each point.
    progress : callable or None
        Called with the number of points done.
    """
    outcomes = []
    for done, i in enumerate(points, 1):
        start = time.monotonic()
        outcome = solve(i, min(ends, start + time_limit_per_row))
        outcome.seconds = time.monotonic() - start
        outcomes.append(outcome)
        if progress is not None:
            progress(done)
    return outcomes


class Answers(NamedTuple):
    """Outcomes as arrays, in the format of the core.

    The arrays have one entry per point or per move.
    """

    cost: Floats
    bound: Floats
    status: NDArray[np.int8]
    target: Codes
    nodes: Longs
    first_move: Longs  # offsets into the moves, one more than points
    feature: Codes
    landing: Floats
    cut: Floats  # crossed last; the landing for linear models; NaN for categories
    seconds: Floats

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], cuts: Callable[[Longs, Codes, Floats], Floats]) -> Answers:
        """Convert outcomes to arrays.

        ``cuts`` maps point, feature and landing of every move to its cut.
        """
        moves = [move for outcome in outcomes for move in outcome.moves]
        n_moves = [len(outcome.moves) for outcome in outcomes]
        feature = np.array([j for j, _ in moves], dtype=np.int32)
        landing = np.array([value for _, value in moves], dtype=np.float64)
        return cls(
            **{name: np.array([getattr(o, name) for o in outcomes], dtype=dtype) for name, dtype in PER_POINT.items()},
            first_move=np.cumsum([0, *n_moves]).astype(np.int64),
            feature=feature,
            landing=landing,
            cut=cuts(np.repeat(np.arange(len(outcomes)), n_moves), feature, landing),
        )

    def outcomes(self) -> list[Outcome]:
        """Convert to one outcome per point."""
        moves = list(zip(self.feature.tolist(), self.landing.tolist(), strict=True))
        of_point = [tuple(moves[begin:end]) for begin, end in pairwise(self.first_move.tolist())]
        per_point = zip(*(getattr(self, name).tolist() for name in PER_POINT), strict=True)
        return [
            Outcome(**dict(zip(PER_POINT, values, strict=True)), moves=own)
            for values, own in zip(per_point, of_point, strict=True)
        ]

    @property
    def point(self) -> Longs:
        """The point of every move."""
        return np.repeat(np.arange(len(self.cost)), np.diff(self.first_move))

    def take(self, which: NDArray[np.intp]) -> Answers:
        """Select some points, in the given order."""
        n_moves = np.diff(self.first_move)[which]
        first_move = np.concatenate([[0], np.cumsum(n_moves)]).astype(np.int64)
        moves = np.repeat(self.first_move[which] - first_move[:-1], n_moves) + np.arange(first_move[-1])
        per_point = {name: getattr(self, name)[which] for name in PER_POINT}
        return Answers(**per_point, first_move=first_move, **{name: getattr(self, name)[moves] for name in PER_MOVE})

    @classmethod
    def joined(cls, parts: Sequence[tuple[NDArray[np.intp], Answers]]) -> Answers:
        """Concatenate parts, and sort them by the given positions of their points."""
        if len(parts) == 1:
            return parts[0][1]
        values = [np.concatenate(arrays) for arrays in zip(*(found for _, found in parts), strict=True)]
        n_moves = np.concatenate([np.diff(found.first_move) for _, found in parts])
        together = cls(*values)._replace(first_move=np.concatenate([[0], np.cumsum(n_moves)]))
        return together.take(np.argsort(np.concatenate([place for place, _ in parts])))
