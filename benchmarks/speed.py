"""Compare the time per counterfactual of fcca with the paper's MILP in Gurobi and in HiGHS, with one thread.

Run: python benchmarks/speed.py [--quick] [--data NAME …] [--points N] [--highs-points N] [--limit S] [--json FILE]
     (--quick: two data sets, fewer points)

The MILP is the paper's, with M0 = M1 = 1, ε = 1e-4 and, as in the authors' code, ε_j = max(1e-4, half the smallest
difference between two training values). Its tree rows are built once per data set. For each point, the rows with x0 and the
score row are replaced, also as in the authors' code.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.ensemble import GradientBoostingClassifier
from threadpoolctl import threadpool_limits

import _results
from _data import BREAST_CANCER, PAPER_P1, PaperData, at_hand, load_paper_data, paper_target
from fcca import _core
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem

try:
    import gurobipy
except ImportError:
    gurobipy = None

Floats = NDArray[np.float64]
LAMBDA0, LAMBDA1, MARGIN, LEAST_STEP = 0.1, 1.0, 1e-4, 1e-4
REPEAT_SECONDS = 1.0
SPEED_BAR = 2000.0


class Points(NamedTuple):
    """The paper's set M: rows predicted correctly with a probability of at most p1, and the class of each."""

    rows: NDArray[np.int64]
    own_class: NDArray[np.int32]


class Timing(NamedTuple):
    """Seconds per point, one entry per point, and the number of results that flip the model's prediction."""

    search: Floats
    with_update: Floats
    flipped: int


# --- the paper's MILP -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PaperMilp:
    """The paper's MILP. Its variables are x_CE, moved (0/1), |move| and the leaves (0/1), in this order.

    All variables lie between 0 and 1.
    """

    n_features: int
    tree_rows: sp.csr_array
    tree_low: Floats
    tree_high: Floats
    point_rows: sp.csr_array
    score: Floats
    base: float

    @classmethod
    def of(cls, target: GradientBoostingClassifier, X: Floats) -> PaperMilp:
        """Build the MILP for an ensemble of stumps. X determines ε_j."""
        m, trees = X.shape[1], [stage[0].tree_ for stage in target.estimators_]
        step = np.array([smallest_step(column) for column in X.T])
        n, n_trees = 3 * m + 2 * len(trees), len(trees)
        feature = np.array([tree.feature[0] for tree in trees])
        cut = np.array([tree.threshold[0] for tree in trees])
        t, left, right = np.arange(n_trees), 3 * m + 2 * np.arange(n_trees), 3 * m + 2 * np.arange(n_trees) + 1
        unit = np.ones(n_trees)
        columns = np.concatenate([feature, left, feature, right, left, right])
        rows = np.concatenate([t, t, n_trees + t, n_trees + t, 2 * n_trees + t, 2 * n_trees + t])
        values = np.concatenate([unit, unit, unit, -unit, unit, unit])
        none = np.full(n_trees, np.inf)
        score = np.zeros(n)
        for k, tree in enumerate(trees):
            score[left[k]] = target.learning_rate * tree.value[tree.children_left[0], 0, 0]
            score[right[k]] = target.learning_rate * tree.value[tree.children_right[0], 0, 0]
        share = target.init_.class_prior_[1]
        return cls(
            m,
            sp.csr_array((values, (rows, columns)), shape=(3 * n_trees, n)),
            np.concatenate([-none, cut - 1 + step[feature], unit]),
            np.concatenate([cut + 1 - step[feature], none, unit]),
            norm_rows(m, n),
            score,
            float(np.log(share / (1 - share))),
        )

    @property
    def cost(self) -> Floats:
        m, n = self.n_features, len(self.score)
        return np.concatenate([np.zeros(m), np.full(m, LAMBDA0), np.full(m, LAMBDA1), np.zeros(n - 3 * m)])

    @property
    def is_integer(self) -> NDArray[np.bool_]:
        m = self.n_features
        kinds = np.zeros(len(self.score), dtype=bool)
        kinds[m : 2 * m] = kinds[3 * m :] = True
        return kinds

    def point_low(self, x0: Floats) -> Floats:
        """Return the lower bounds of the constraints ``point_rows`` for one point."""
        return np.concatenate([x0, -x0, x0, -x0])

    def score_side(self, own_class: int) -> tuple[float, float]:
        """Return the lower and the upper bound of the constraint on the score."""
        return (MARGIN - self.base, np.inf) if own_class == 0 else (-np.inf, -MARGIN - self.base)


def smallest_step(column: Floats) -> float:
    """Return ε_j as the authors' code computes it."""
    steps = np.diff(np.unique(column))
    return max(LEAST_STEP, steps.min() / 2) if len(steps) else LEAST_STEP


def norm_rows(m: int, n: int) -> sp.csr_array:
    """Build the constraints ``±x_CE + moved ≥ ±x0`` and ``±x_CE + |move| ≥ ±x0``."""
    one, none, leaves = sp.eye_array(m), sp.csr_array((m, m)), sp.csr_array((m, n - 3 * m))
    blocks = [[one, one, none, leaves], [-one, one, none, leaves], [one, none, one, leaves], [-one, none, one, leaves]]
    return sp.csr_array(sp.block_array(blocks))


class GurobiSolver:
    """The MILP in Gurobi, with one thread."""

    def __init__(self, problem: PaperMilp) -> None:
        self.problem = problem
        environment = gurobipy.Env(params={"OutputFlag": 0, "Threads": 1})
        self.model = gurobipy.Model(env=environment)
        kinds = np.where(problem.is_integer, gurobipy.GRB.BINARY, gurobipy.GRB.CONTINUOUS)
        self.variables = self.model.addMVar(len(problem.score), lb=0.0, ub=1.0, obj=problem.cost, vtype=kinds)
        for side, sense in ((problem.tree_high, "<"), (problem.tree_low, ">")):
            some = np.isfinite(side)
            self.model.addMConstr(problem.tree_rows[some], self.variables, sense, side[some])
        self.model.update()
        self.of_point: list[Any] = []

    def __call__(self, x0: Floats, own_class: int) -> tuple[Floats, float]:
        """Return the counterfactual and the seconds of ``optimize()`` alone."""
        self.model.reset()
        for rows in self.of_point:
            self.model.remove(rows)
        low, high = self.problem.score_side(own_class)
        score = sp.csr_array(self.problem.score[None])
        sense, side = (">", low) if np.isfinite(low) else ("<", high)
        self.of_point = [
            self.model.addMConstr(self.problem.point_rows, self.variables, ">", self.problem.point_low(x0)),
            self.model.addMConstr(score, self.variables, sense, np.array([side])),
        ]
        self.model.update()
        begin = time.perf_counter()
        self.model.optimize()
        seconds = time.perf_counter() - begin
        return self.variables.X[: self.problem.n_features], seconds


class HighsSolver:
    """The MILP in HiGHS through scipy. The time to build the MILP is not measured."""

    def __init__(self, problem: PaperMilp, time_limit: float) -> None:
        self.problem, self.time_limit = problem, time_limit
        self.rows = sp.csc_array(sp.vstack([problem.tree_rows, problem.point_rows, problem.score[None]]))

    def __call__(self, x0: Floats, own_class: int) -> tuple[Floats, float]:
        """Return the counterfactual (x0 itself if none was found in time) and the seconds of ``milp``."""
        problem = self.problem
        score_low, score_high = problem.score_side(own_class)
        low = np.concatenate([problem.tree_low, problem.point_low(x0), [score_low]])
        high = np.concatenate([problem.tree_high, np.full(4 * problem.n_features, np.inf), [score_high]])
        rows = LinearConstraint(self.rows, low, high)
        options = {"time_limit": self.time_limit}
        begin = time.perf_counter()
        found = milp(problem.cost, integrality=problem.is_integer, bounds=Bounds(0, 1), constraints=rows, options=options)
        seconds = time.perf_counter() - begin
        return (x0 if found.x is None else found.x[: problem.n_features]), seconds


def time_milp(solver: Callable, target: GradientBoostingClassifier, X: Floats, points: Points, chosen: NDArray) -> Timing:
    """Solve the chosen points one after the other."""
    search, whole, answers = [], [], []
    for i in chosen:
        begin = time.perf_counter()
        answer, seconds = solver(X[points.rows[i]], int(points.own_class[i]))
        whole.append(time.perf_counter() - begin)
        search.append(seconds)
        answers.append(answer)
    flipped = target.classes_[1 - points.own_class[chosen]] == target.predict(np.array(answers))
    return Timing(np.array(search), np.array(whole), int(flipped.sum()))


# --- this engine ------------------------------------------------------------------------------------------------------


def points_of(target: GradientBoostingClassifier, data: PaperData, X: Floats, y: NDArray) -> Points:
    """Return the paper's set M."""
    predicted = target.predict(X)
    rows = np.flatnonzero((predicted == y) & (target.predict_proba(X).max(axis=1) <= data.p1))
    return Points(rows, np.searchsorted(target.classes_, predicted[rows]).astype(np.int32))


def seconds_per_run(run: Callable[[], Any]) -> Floats:
    """Measure the seconds of repeated runs, for REPEAT_SECONDS and at least 5 runs."""
    seconds: list[float] = []
    while len(seconds) < 5 or sum(seconds) < REPEAT_SECONDS:
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return np.array(seconds)


def time_engine(target: GradientBoostingClassifier, data: PaperData, X: Floats, points: Points) -> tuple[Floats, Timing]:
    """Measure the seconds per point and run: of the search alone, and of the whole ``solve`` with its verification."""
    engine = CounterfactualEngine(target, CounterfactualProblem(LAMBDA0, LAMBDA1, 0.0, MARGIN))
    engine.observe(X)

    def solve() -> Any:
        return engine.solve(X, points.rows, points.own_class, feature_names=data.feature_names, n_jobs=1)

    with mock.patch.object(_core, "solve_additive", wraps=_core.solve_additive) as search:
        found = solve()
    arguments = search.call_args.kwargs
    alone = seconds_per_run(lambda: _core.solve_additive(**arguments)) / len(points.rows)
    whole = seconds_per_run(solve) / len(points.rows)
    return alone, Timing(alone, whole, found.counts().get("optimal", 0))


# --- the table --------------------------------------------------------------------------------------------------------


def line(who: str, timing: Timing, n: int, ours: Floats | None = None) -> str:
    """Format one line of the table. The ratios divide by the times ``ours``."""
    text = f"  {who:<22}{n:>6} points, {timing.flipped:>5} flip"
    scale, unit = (1e6, "µs") if np.median(timing.search) < 1e-3 else (1e3, "ms")
    for title, seconds in (("search", timing.search), ("whole", timing.with_update)):
        text += f"   {title}: median {np.median(seconds) * scale:9.2f}, mean {seconds.mean() * scale:9.2f} {unit}"
    if ours is not None:
        median, mean = np.median(timing.search) / np.median(ours), timing.search.mean() / ours.mean()
        text += f"   medians {median:9,.0f} ×, means {mean:9,.0f} ×"
    return text


def keep(data: str, who: str, timing: Timing, n: int, ours: Floats | None = None, limit: float = np.inf) -> None:
    """Record the figures of a line. If the median is at the time limit, it comes from points that were given up."""
    figures = {"points": n, "flip": timing.flipped}
    figures |= {"search: median µs": 1e6 * np.median(timing.search), "whole: median µs": 1e6 * np.median(timing.with_update)}
    ratio = {} if ours is None else {"times faster": np.median(timing.search) / np.median(ours)}
    if ours is not None:
        ratio["is at least"] = bool(np.median(timing.search) > 0.95 * limit)
    _results.row("Time per counterfactual", data=data, who=who, **figures, **ratio)


def run(name: str, n_gurobi: int, n_highs: int, limit: float) -> float | None:
    """Measure one data set, and return the smaller of the two ratios to Gurobi's search; None without Gurobi."""
    data = load_paper_data(name)
    training = data.folds()[0][0]
    X, y = data.X[training], data.y[training]
    target = paper_target().fit(X, y)
    points = points_of(target, data, X, y)
    order = np.random.default_rng(0).permutation(len(points.rows))
    problem = PaperMilp.of(target, X)

    print(f"{name}: {X.shape[0]} × {X.shape[1]}, p1 = {data.p1:g}", flush=True)
    ours, timing = time_engine(target, data, X, points)
    print(line("fcca", timing, len(points.rows)), flush=True)
    keep(name, "fcca", timing, len(points.rows))
    ratio = None
    if gurobipy is not None:
        timing = time_milp(GurobiSolver(problem), target, X, points, order[:n_gurobi])
        print(line("MILP, Gurobi", timing, len(timing.search), ours), flush=True)
        keep(name, "MILP, Gurobi", timing, len(timing.search), ours)
        ratio = float(min(np.median(timing.search) / np.median(ours), timing.search.mean() / ours.mean()))
    timing = time_milp(HighsSolver(problem, limit), target, X, points, order[:n_highs])
    print(line("MILP, HiGHS", timing, len(timing.search), ours), flush=True)
    keep(name, "MILP, HiGHS", timing, len(timing.search), ours, limit)
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two data sets, ten points for Gurobi and three for HiGHS")
    parser.add_argument("--data", nargs="+", choices=[*PAPER_P1, BREAST_CANCER], help="data sets (the paper's six)")
    parser.add_argument("--points", type=int, help="points for Gurobi (40)")
    parser.add_argument("--highs-points", type=int, help="points for HiGHS (10)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per point after which HiGHS is given up (60)")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*time limit.*")
    _results.is_installed("gurobipy")
    names = at_hand(options.data or (["boston", "ionosphere"] if options.quick else list(PAPER_P1)))
    n_gurobi = options.points or (10 if options.quick else 40)
    n_highs = options.highs_points or (3 if options.quick else 10)
    ratios = {name: run(name, n_gurobi, n_highs, options.limit) for name in names}
    print("search: fcca's core over all points, divided by their number; optimize() or milp() per point.")
    print("whole: fcca's with re-scoring of every answer by the model; the MILP's with the change of its rows.")
    if gurobipy is None:
        return
    slowest = min(ratios, key=lambda name: ratios[name])
    least = f"least {ratios[slowest]:,.0f} × ({slowest})"
    verdict = "PASS" if ratios[slowest] >= SPEED_BAR else "MISS"
    print(f"{verdict}  at least {SPEED_BAR:,.0f} × faster than Gurobi on every data set: {least}")


if __name__ == "__main__":
    with threadpool_limits(1):
        _results.recorded(main)
