"""A batch of rows, with all inputs of the search for counterfactuals."""

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
    """Divide ``n`` rows into slices, for separate calls of ``predict``."""
    return (slice(begin, min(n, begin + ROWS_PER_PREDICT)) for begin in range(0, n, ROWS_PER_PREDICT))


@dataclass(frozen=True)
class Batch:
    """The rows to find counterfactuals for (points), and all inputs of the search.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
        A table that contains the points.
    points : ndarray of shape (n_points,)
        Positions in ``rows`` of the rows to find counterfactuals for.
    own_class, target : ndarray of shape (n_points,)
        The predicted class and the target class, as positions in ``model.classes``. A target of -1 means the other class
        that is cheapest to reach.
    margin : ndarray of shape (n_points,)
        Score margin by which the target must win.
    limits : Limits
        Compiled rules. Fields that depend on the row have one entry per point.
    problem : CounterfactualProblem
        The costs.
    plausibility : Plausibility or None
        Required plausibility of the changed rows.
    space : SearchSpace or None
        Cells and trees for the search; None for linear models and MILPs.
    time_limit, time_limit_per_row : float
        Seconds for all points together, and for each point.
    n_threads : int
    progress : callable or None
        Called with the number of points finished so far.
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
        """Return the fields that differ between points (rows to change).

        The result contains only the points at the positions ``which``.
        """
        return {
            "rows": self.rows[self.points[which]],
            "points": np.arange(len(which)),
            "own_class": self.own_class[which],
            "target": self.target[which],
            "margin": self.margin[which],
            "limits": self.limits.of_points(which),
        }

    def of(self, which: NDArray[np.integer[Any]]) -> Batch:
        """Return a batch with only some of the points (rows to change).

        ``which`` holds the positions of these points. All rows that are not points are left out.
        """
        return replace(self, **self.per_point(which))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that all kinds of searches have in common."""
        names = ("rows", "points", "own_class", "target", "margin", "time_limit", "time_limit_per_row", "progress")
        lambdas = {name: getattr(self.problem, name) for name in ("lambda0", "lambda1", "lambda2")}
        return {name: getattr(self, name) for name in names} | lambdas
