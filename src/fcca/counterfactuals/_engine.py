"""Chooses the search for a model, runs it over points and has every answer re-scored by the model itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from fcca import _core
from fcca.counterfactuals._cells import Cells
from fcca.counterfactuals._examples import Examples
from fcca.counterfactuals._problem import CounterfactualProblem
from fcca.counterfactuals._result import STATUSES, Counterfactuals, Moves
from fcca.counterfactuals._tables import AdditiveTables, EnsembleTables
from fcca.exceptions import UnsupportedModelError
from fcca.models import LinearModel, TreeEnsemble, as_fitted_on, read_model

Floats = NDArray[np.float64]
Progress = Callable[[int], None]

# predict may copy its input and cast it; in pieces of this size that stays small beside the data itself.
ROWS_PER_PREDICT = 65_536
ANY_OTHER_CLASS = -1
MOST_THREADS = 256
# The boundary of a classifier that answers one class only may be infinite.
BEYOND_ANY_SCORE = 1e300


def _pieces(n: int) -> Iterator[slice]:
    return (slice(begin, min(n, begin + ROWS_PER_PREDICT)) for begin in range(0, n, ROWS_PER_PREDICT))


class CounterfactualEngine:
    """Exact counterfactuals of one fitted classifier.

    The search is chosen by the model: a knapsack where every tree tests one feature, a fixed-charge search for linear
    models, branch and bound for everything else.

    Parameters
    ----------
    estimator : fitted classifier
        Anything that :func:`fcca.read_model` reads.
    problem : CounterfactualProblem
        Costs and margin.
    method : {"search", "milp"}, default="search"
        "milp" has tree ensembles solved by HiGHS as a mixed-integer program: far slower, and independent of the search.

    Notes
    -----
    Call :meth:`observe` with the training rows, in one or more chunks, before :meth:`solve`: they give the box, the scale
    of the costs and the values that moves land on.
    """

    def __init__(
        self, estimator: Any, problem: CounterfactualProblem, *, method: Literal["search", "milp"] = "search"
    ) -> None:
        self.estimator = estimator
        self.problem = problem
        self.method = method
        self.model = read_model(estimator)
        self.tables: AdditiveTables | EnsembleTables | None = None
        self.examples = Examples(self.model.n_features)
        if isinstance(self.model, TreeEnsemble):
            self.tables = AdditiveTables.from_trees(self.model) or EnsembleTables.from_trees(self.model)
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
        if isinstance(self.tables, EnsembleTables):
            self.examples.observe(self.cells.of(X))

    def scores(self, X: Floats) -> Floats:
        """The model's scores, as the neutral model computes them."""
        if isinstance(self.tables, AdditiveTables):
            return self.tables.scores(X)
        scores = np.empty((len(X), self.model.n_outputs))
        for piece in _pieces(len(X)):
            scores[piece] = self.model.scores(X[piece])
        return scores

    def predict(self, X: Floats) -> NDArray[np.generic]:
        """The classifier's own answers."""
        return np.concatenate([self._answers(X[piece]) for piece in _pieces(len(X))])

    def _answers(self, X: Floats) -> NDArray[np.generic]:
        # Flat, because CatBoost answers with a column where there are many classes.
        return np.asarray(self.estimator.predict(as_fitted_on(self.estimator, X))).ravel()

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
        target: NDArray[np.int32] | None = None,
        margin: Floats | None = None,
        frozen: NDArray[np.bool_] | None = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        time_limit_per_point: float | None = None,
        progress: Progress | None = None,
    ) -> Counterfactuals:
        """Cheapest change to another class for the rows ``points`` of X, which the model answers with ``own_class``.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        points : ndarray of shape (n_points,)
            Which rows are asked for.
        own_class : ndarray of shape (n_points,)
            What the model answers them with, as positions in ``model.classes``.
        feature_names : sequence of str
        target : ndarray of shape (n_points,), optional
            The class to reach, as a position in ``model.classes``; -1 and None are any other class, whichever is cheapest.
        margin : ndarray of shape (n_points,), optional
            By how much of the score the target must win; the problem's margin where None.
        frozen : ndarray of shape (n_points, n_features), optional
            Features that may not move.
        n_jobs : int, optional
            Threads.
        time_limit, time_limit_per_point : float, optional
            Seconds for all points together and for each. What is not proven by then says so in its status.
        progress : callable, optional
            Called with the number of points done.
        """
        n = len(points)
        search: dict[str, Any] = {
            "rows": X,
            "points": points,
            "own_class": own_class,
            "target": np.full(n, ANY_OTHER_CLASS, dtype=np.int32) if target is None else target.astype(np.int32),
            "margin": np.full(n, self.problem.margin) if margin is None else np.asarray(margin, dtype=np.float64),
            "frozen": None if frozen is None else np.ascontiguousarray(frozen, dtype=np.uint8),
            "lambda0": self.problem.lambda0,
            "lambda1": self.problem.lambda1,
            "lambda2": self.problem.lambda2,
            "time_limit": np.inf if time_limit is None else time_limit,
            "time_limit_per_point": np.inf if time_limit_per_point is None else time_limit_per_point,
            "progress": progress,
        }
        n_threads = min(MOST_THREADS, effective_n_jobs(n_jobs))
        results = self._solve_by_milp(search) if self.method == "milp" else self._search(search, n_threads)
        cost, bound, status, target_code, nodes, first_move, feature, landing, cut, seconds = results
        point = np.repeat(np.arange(n), np.diff(first_move))
        moves = Moves(point, feature, X[points[point], feature], landing, cut)
        found = Counterfactuals(
            rows=points,
            classes=self.model.classes,
            target_code=target_code,
            status_code=status,
            cost=cost,
            bound=bound,
            nodes=nodes,
            seconds=seconds,
            moves=moves,
            feature_names=tuple(feature_names),
        )
        return self._verified(X, found, first_move)

    def _search(self, search: dict[str, Any], n_threads: int) -> Any:
        """Run the search of the core that fits the model."""
        search |= {"n_threads": n_threads, "box_low": self.cells.box_low, "box_high": self.cells.box_high}
        # The core's boundary between two classes is at 0.
        boundary = np.clip(self.model.boundary, -BEYOND_ANY_SCORE, BEYOND_ANY_SCORE) if self.model.n_outputs == 1 else 0.0
        if isinstance(self.model, LinearModel):
            intercept = float(self.model.intercept[0] - boundary)
            return _core.solve_linear(**search, coef=self.model.coef[0], centre=self.model.centre, intercept=intercept)
        assert isinstance(self.model, TreeEnsemble)
        assert self.tables is not None
        search |= {
            "first_cut": self.cells.first_cut,
            "cuts": self.cells.cuts,
            "smallest": self.cells.smallest,
            "largest": self.cells.largest,
            "values": self.tables.values,
            "base": self.tables.base - boundary,
        }
        if isinstance(self.tables, AdditiveTables):
            return _core.solve_additive(**search)
        return _core.solve_ensemble(
            **search,
            roots=self.model.roots,
            feature=self.model.feature,
            cut=self.tables.cut,
            left=self.model.left,
            right=self.model.right,
            examples=self.examples.cells,
        )

    def _solve_by_milp(self, search: dict[str, Any]) -> Any:
        if not isinstance(self.model, TreeEnsemble):
            raise UnsupportedModelError(f"method='milp' is for tree ensembles; {type(self.estimator).__name__} is linear.")
        from fcca.counterfactuals._milp import solve_milp

        return solve_milp(**search, model=self.model, cells=self.cells)

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
            flipped = self._answers(changed) == self.model.classes[found.target_code[chosen]]
            status[chosen[~flipped]] = STATUSES.index("unverified")
        return replace(found, status_code=status)
