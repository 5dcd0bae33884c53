"""A batch of rows to change, with all inputs of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.constraints import Limits
from fcca.counterfactuals._plausibility import Plausibility
from fcca.counterfactuals._problem import CounterfactualProblem
from fcca.counterfactuals._search_space import SearchSpace

Floats = NDArray[np.float64]
Progress = Callable[[int], None]

# predict may copy and cast its input. Slices of this size keep the copies small.
ROWS_PER_PREDICT = 65_536


def slices_of_rows(n: int) -> Iterator[slice]:
    """Divide n rows into slices for ``predict``."""
    return (slice(begin, min(n, begin + ROWS_PER_PREDICT)) for begin in range(0, n, ROWS_PER_PREDICT))


@dataclass(frozen=True)
class Batch:
    """Rows to change, and the inputs of the search.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    points : ndarray of shape (n_points,)
        Positions of the rows to solve.
    own_class, target : ndarray of shape (n_points,)
        Positions in ``model.classes`` of the prediction and of the target. -1 stands for the cheapest other class.
    margin : ndarray of shape (n_points,)
        Score margin by which the target must win.
    limits : Limits
        Compiled rules, with one line per point if they differ between points.
    problem : CounterfactualProblem
        The costs.
    plausibility : Plausibility or None
    space : SearchSpace or None
        Cells for all points, if the model has trees.
    time_limit, time_limit_per_row : float
        Seconds for all points and for each point.
    n_threads : int
    progress : callable or None
        Called with the number of solved points.
    """

    rows: Floats
    points: NDArray[np.int64]
    own_class: NDArray[np.int32]
    target: NDArray[np.int32]
    margin: Floats
    limits: Limits
    problem: CounterfactualProblem
    plausibility: Plausibility | None = None
    space: SearchSpace | None = None
    time_limit: float = np.inf
    time_limit_per_row: float = np.inf
    n_threads: int = 1
    progress: Progress | None = None

    def __len__(self) -> int:
        return len(self.points)

    def per_point(self, which: NDArray[np.integer[Any]]) -> dict[str, Any]:
        """Select the fields that differ between points."""
        return {
            "rows": self.rows[self.points[which]],
            "points": np.arange(len(which)),
            "own_class": self.own_class[which],
            "target": self.target[which],
            "margin": self.margin[which],
            "limits": self.limits.of_points(which),
        }

    def of(self, which: NDArray[np.integer[Any]]) -> Batch:
        """Select some points and their rows."""
        return replace(self, **self.per_point(which))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that all searches of the core share."""
        names = ("rows", "points", "own_class", "target", "margin", "time_limit", "time_limit_per_row", "progress")
        lambdas = {name: getattr(self.problem, name) for name in ("lambda0", "lambda1", "lambda2")}
        return {name: getattr(self, name) for name in names} | lambdas
