"""What the engine returns: one answer per point, the moves stored sparsely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]

#: ``optimal``: proven cheapest. ``feasible``: flips the model, unproven when time ran out. ``infeasible``: proven that
#: nothing in the box flips the model. ``unknown``: time ran out before an answer. ``unverified``: the model's own
#: ``predict`` does not agree that it flips.
STATUSES = ("optimal", "feasible", "infeasible", "unknown", "unverified")


class Moves(NamedTuple):
    """One entry per moved feature, all points after each other."""

    point: NDArray[np.int64]  # position in Counterfactuals.rows
    feature: NDArray[np.int32]
    origin: Floats
    landing: Floats
    cut: Floats  # the cut crossed last


@dataclass(frozen=True)
class Counterfactuals:
    """Answers for some rows of a table.

    Attributes
    ----------
    rows : ndarray of shape (n_points,)
        Which rows of X the answers are for.
    target : ndarray of shape (n_points,)
        The class that the counterfactual is answered with; None where there is no answer.
    status : ndarray of shape (n_points,)
        One of ``optimal``, ``feasible``, ``infeasible``, ``unknown``, ``unverified``.
    cost, bound : ndarray of shape (n_points,)
        Cost of the answer and a proven lower bound on it; equal where optimal.
    nodes : ndarray of shape (n_points,)
        Size of the search.
    moves : Moves
        Which feature went from where to where, sparsely.
    feature_names : sequence of str
    """

    rows: NDArray[np.int64]
    classes: NDArray[np.generic]
    target_code: NDArray[np.int32]  # position in classes, -1 for none
    status_code: NDArray[np.int8]
    cost: Floats
    bound: Floats
    nodes: NDArray[np.int64]
    moves: Moves
    feature_names: Sequence[str]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def status(self) -> NDArray[np.str_]:
        """Status of every answer, by name."""
        return np.array(STATUSES)[self.status_code]

    @property
    def target(self) -> NDArray[Any]:
        """The class that every answer is answered with."""
        labels: NDArray[Any] = self.classes[np.maximum(self.target_code, 0)]
        if (self.target_code < 0).any():
            labels = labels.astype(object)
            labels[self.target_code < 0] = None
        return labels

    def is_status(self, *names: str) -> NDArray[np.bool_]:
        """Which answers have one of these statuses."""
        return np.isin(self.status_code, [STATUSES.index(name) for name in names])

    def apply(self, X: Floats) -> Floats:
        """The counterfactual points in raw units, one per answer: rows of X with the moves applied."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.feature_names) or (len(self) and len(X) <= self.rows.max()):
            raise InvalidInputError("X is not the table these counterfactuals were computed for.")
        points: Floats = X[self.rows]
        points[self.moves.point, self.moves.feature] = self.moves.landing
        return points

    def counts(self) -> dict[str, int]:
        """How many answers there are of each status that occurs."""
        found = np.bincount(self.status_code, minlength=len(STATUSES))
        return {name: int(n) for name, n in zip(STATUSES, found, strict=True) if n}

    def to_frame(self) -> pd.DataFrame:
        """One line per move; an answer without moves (``infeasible``, ``unknown``) has one line without a feature."""
        n_moves = np.bincount(self.moves.point, minlength=len(self))
        still = np.flatnonzero(n_moves == 0)
        point = np.concatenate([self.moves.point, still])
        order = np.argsort(point, kind="stable")
        point = point[order]
        missing = np.full(len(still), np.nan)

        def per_move(values: Floats) -> Floats:
            return np.concatenate([values, missing])[order]

        names = np.asarray(self.feature_names, dtype=object)[self.moves.feature]
        return pd.DataFrame(
            {
                "row": self.rows[point],
                "target": self.target[point],
                "status": self.status[point],
                "cost": self.cost[point],
                "bound": self.bound[point],
                "feature": pd.array(np.concatenate([names, np.full(len(still), None)])[order], dtype="string"),
                "from": per_move(self.moves.origin),
                "to": per_move(self.moves.landing),
                "cut": per_move(self.moves.cut),
            }
        )
