"""Chooses the search for a model, runs it over points and has every answer re-scored by the model itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from fcca import _core
from fcca.counterfactuals._additive import AdditiveTables
from fcca.counterfactuals._cells import Cells
from fcca.counterfactuals._problem import CounterfactualProblem
from fcca.counterfactuals._result import STATUSES, Counterfactuals, Moves
from fcca.exceptions import UnsupportedModelError
from fcca.models import LinearModel, TreeEnsemble, as_fitted_on, read_model

Floats = NDArray[np.float64]
Progress = Callable[[int], None]

# predict may copy its input and cast it; in pieces of this size that stays small beside the data itself.
ROWS_PER_PREDICT = 65_536
ANY_OTHER_CLASS = -1
MOST_THREADS = 256


def _pieces(n: int) -> Iterator[slice]:
    return (slice(begin, min(n, begin + ROWS_PER_PREDICT)) for begin in range(0, n, ROWS_PER_PREDICT))


class CounterfactualEngine:
    """Exact counterfactuals of one fitted classifier.

    Parameters
    ----------
    estimator : fitted classifier
        Anything that :func:`fcca.read_model` reads.
    problem : CounterfactualProblem
        Costs and margin.

    Notes
    -----
    Call :meth:`observe` with the training rows, in one or more chunks, before :meth:`solve`: they give the box, the scale
    of the costs and the values that moves land on.
    """

    def __init__(self, estimator: Any, problem: CounterfactualProblem) -> None:
        self.estimator = estimator
        self.problem = problem
        self.model = read_model(estimator)
        self.tables: AdditiveTables | None = None
        if isinstance(self.model, TreeEnsemble):
            self.tables = AdditiveTables.from_trees(self.model)
            self.cells = self.tables.cells
        elif isinstance(self.model, LinearModel):
            self.cells = Cells.from_cuts([np.empty(0)] * self.model.n_features)
        else:
            raise UnsupportedModelError(f"No search for {type(self.model).__name__}.")

    @property
    def has_cuts(self) -> bool:
        """Whether the model jumps at cuts; a linear model does not."""
        return self.tables is not None

    def observe(self, X: Floats) -> None:
        """Take in training rows."""
        self.cells.observe(X)

    def scores(self, X: Floats) -> Floats:
        """The model's scores, as the neutral model computes them."""
        if self.tables is not None:
            return self.tables.scores(X)
        assert isinstance(self.model, LinearModel)
        scores = np.empty((len(X), self.model.n_outputs))
        for piece in _pieces(len(X)):
            scores[piece] = (X[piece] - self.model.centre) @ self.model.coef.T + self.model.intercept
        return scores

    def predict(self, X: Floats) -> NDArray[np.generic]:
        """The classifier's own answers."""
        answers = [np.asarray(self.estimator.predict(as_fitted_on(self.estimator, X[piece]))) for piece in _pieces(len(X))]
        return np.concatenate(answers)

    def class_index(self, labels: NDArray[np.generic]) -> NDArray[np.int32]:
        """Positions in ``model.classes``, -1 for labels that the model does not know."""
        classes = self.model.classes
        order = np.argsort(classes)
        position = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
        found = order[position]
        return np.where(classes[found] == labels, found, -1).astype(np.int32)

    def solve(
        self,
        X: Floats,
        points: NDArray[np.int64],
        own_class: NDArray[np.int32],
        *,
        feature_names: Sequence[str],
        n_jobs: int | None = None,
        time_limit: float | None = None,
        progress: Progress | None = None,
    ) -> Counterfactuals:
        """Cheapest change to another class for the rows ``points`` of X, which the model answers with ``own_class``."""
        search: dict[str, Any] = {
            "rows": X,
            "points": points,
            "own_class": own_class,
            "box_low": self.cells.box_low,
            "box_high": self.cells.box_high,
            "lambda0": self.problem.lambda0,
            "lambda1": self.problem.lambda1,
            "lambda2": self.problem.lambda2,
            "margin": self.problem.margin,
            "n_threads": min(MOST_THREADS, effective_n_jobs(n_jobs)),
            "time_limit": np.inf if time_limit is None else time_limit,
            "progress": progress,
        }
        if self.tables is not None:
            results = _core.solve_additive(
                **search,
                target=np.full(len(points), ANY_OTHER_CLASS, dtype=np.int32),
                first_cut=self.cells.first_cut,
                cuts=self.cells.cuts,
                smallest=self.cells.smallest,
                largest=self.cells.largest,
                values=self.tables.values,
                base=self.tables.base,
            )
        else:
            assert isinstance(self.model, LinearModel)
            results = _core.solve_linear(
                **search,
                coef=self.model.coef[0],
                centre=self.model.centre,
                intercept=float(self.model.intercept[0]),
            )
        cost, bound, status, target, nodes, first_move, feature, landing, cut = results
        point = np.repeat(np.arange(len(points)), np.diff(first_move))
        moves = Moves(point, feature, X[points[point], feature], landing, cut)
        found = Counterfactuals(points, self.model.classes, target, status, cost, bound, nodes, moves, tuple(feature_names))
        return self._verified(X, found, first_move)

    def _verified(self, X: Floats, found: Counterfactuals, first_move: NDArray[np.int64]) -> Counterfactuals:
        """The same, those that do not flip the classifier's own predict labelled as unverified."""
        status = found.status_code.copy()
        answered = np.flatnonzero(found.is_status("optimal", "feasible"))
        for piece in _pieces(len(answered)):
            chosen = answered[piece]
            changed = X[found.rows[chosen]]
            begin, end = first_move[chosen[0]], first_move[chosen[-1] + 1]
            within = np.searchsorted(chosen, found.moves.point[begin:end])
            changed[within, found.moves.feature[begin:end]] = found.moves.landing[begin:end]
            answers = np.asarray(self.estimator.predict(as_fitted_on(self.estimator, changed)))
            flipped = answers == self.model.classes[found.target_code[chosen]]
            status[chosen[~flipped]] = STATUSES.index("unverified")
        return replace(found, status_code=status)
