"""Results of counterfactual searches, as one object per row or as arrays."""

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

OPTIMAL, WITHIN_GAP, FEASIBLE, INFEASIBLE, UNKNOWN = range(5)
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
    """Return True if a lower bound proves that a cost is minimal."""
    return cost - bound <= PROMISE * max(1.0, cost)


@dataclass
class Outcome:
    """The result of a search for one row."""

    status: int = UNKNOWN
    cost: float = np.inf
    bound: float = 0.0
    target: int = -1
    nodes: int = 0
    moves: tuple[tuple[int, float], ...] = ()  # feature and landing
    seconds: float = 0.0

    def close(self) -> None:
        """Set the final status from the cost and the lower bound.

        If nothing was found, an infinite bound proves that no change exists.
        """
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
        Scores of the unchanged row. If the target is -1, the other class with the highest score is tried first. The later
        searches can then ignore changes that cost more than the cheapest one so far.
    own_class, target : int
        Predicted class and target class. A target of -1 stands for any other class.
    towards : callable
        ``towards(k, cutoff)`` finds the cheapest change to class ``k``. It may ignore changes that cost more than
        ``cutoff``.
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
    """Return the matrix that converts scores to leads of the target.

    It has one row per other class. The lead is the target's score minus the score of that class. With a single score, the
    matrix has one entry: 1 if the target is the second class, otherwise -1.
    """
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
    """Solve rows one after the other, each within its time limit.

    Parameters
    ----------
    points : iterable of int
        Positions of the rows.
    solve : callable
        ``solve(point, deadline)`` returns the outcome of one row. Deadlines are times on the clock ``time.monotonic``.
    ends : float
        Deadline for all rows.
    time_limit_per_row : float
        Seconds for each row.
    progress : callable or None
        Called with the number of finished rows.
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
    """Results of many rows as arrays, as the C++ core returns them.

    ``feature``, ``landing`` and ``cut`` have one entry per move, which is the change of one feature. ``first_move`` holds
    the index of the first move of each row, and at its end the number of moves. The other arrays have one entry per row.
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
        """Convert outcomes of rows to arrays.

        ``cuts(point, feature, landing)`` returns the array ``cut``. Its arguments are arrays with the position of the row,
        the feature and the new value of each change.
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
        """Convert the arrays to one :class:`Outcome` per row."""
        moves = list(zip(self.feature.tolist(), self.landing.tolist(), strict=True))
        of_point = [tuple(moves[begin:end]) for begin, end in pairwise(self.first_move.tolist())]
        per_point = zip(*(getattr(self, name).tolist() for name in PER_POINT), strict=True)
        return [
            Outcome(**dict(zip(PER_POINT, values, strict=True)), moves=own)
            for values, own in zip(per_point, of_point, strict=True)
        ]

    @property
    def point(self) -> Longs:
        """For every changed feature, the position of its row in ``cost``."""
        return np.repeat(np.arange(len(self.cost)), np.diff(self.first_move))

    def take(self, which: NDArray[np.intp]) -> Answers:
        """Select the results at the positions ``which``, in this order."""
        n_moves = np.diff(self.first_move)[which]
        first_move = np.concatenate([[0], np.cumsum(n_moves)]).astype(np.int64)
        moves = np.repeat(self.first_move[which] - first_move[:-1], n_moves) + np.arange(first_move[-1])
        per_point = {name: getattr(self, name)[which] for name in PER_POINT}
        return Answers(**per_point, first_move=first_move, **{name: getattr(self, name)[moves] for name in PER_MOVE})

    @classmethod
    def joined(cls, parts: Sequence[tuple[NDArray[np.intp], Answers]]) -> Answers:
        """Concatenate results, and sort them by the positions of their rows.

        Each entry of ``parts`` is a pair: the positions of some rows, and the results of these rows.
        """
        if len(parts) == 1:
            return parts[0][1]
        values = [np.concatenate(arrays) for arrays in zip(*(found for _, found in parts), strict=True)]
        n_moves = np.concatenate([np.diff(found.first_move) for _, found in parts])
        together = cls(*values)._replace(first_move=np.concatenate([[0], np.cumsum(n_moves)]))
        return together.take(np.argsort(np.concatenate([place for place, _ in parts])))
