"""The peers of ``ensembles.py``. Each solves one point of a case and measures the time of its solver.

Gurobi, HiGHS and CP-SAT get the tight mixed-integer program of fcca, which has cells instead of a big M. Parts that cost
more than a greedy solution are removed from it. treecf gets the classifier.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.ensemble import GradientBoostingClassifier

from fcca.cells import TrainingValues
from fcca.constraints import Limits
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from fcca.milp import _highs
from fcca.milp._outcomes import PROMISE
from fcca.milp._places import PlaceFinder
from fcca.milp._tree_program import TreeProgram
from fcca.milp._tree_search import TreeAim, TreeSearch

Floats = NDArray[np.float64]
PROBLEM = CounterfactualProblem(lambda0=0.1, lambda1=1.0, lambda2=0.0, margin=1e-4)
LAMBDAS = (PROBLEM.lambda0, PROBLEM.lambda1, PROBLEM.lambda2)
GUROBI_TOO_LARGE = 10010


class Answer(NamedTuple):
    """The result of a peer for one point."""

    outcome: str  # "proven", "given up" (time), "too large" (licence) or "wrong"
    cost: float = np.nan  # infinite where it is proven that there is no counterfactual
    solver: float = np.nan  # seconds of its solve call alone
    build: float = 0.0  # seconds of all else that it needs for the point


@dataclass(frozen=True)
class Case:
    """One classifier and the rows to explain."""

    data: str
    configuration: str
    estimator: Any
    X: Floats  # the training rows; the points are among them
    rows: NDArray[np.int64]

    @property
    def names(self) -> list[str]:
        return [f"f{j}" for j in range(self.X.shape[1])]

    @cached_property
    def own_class(self) -> NDArray[np.int32]:
        return self.engine().class_index(np.ravel(self.estimator.predict(self.X[self.rows])))

    def engine(self, method: str = "search", *, lands_on_edges: bool = False) -> CounterfactualEngine:
        """Return an engine of fcca. With ``lands_on_edges``, a move ends at the nearest value of its cell, as in treecf."""
        engine = CounterfactualEngine(self.estimator, PROBLEM, method=method)
        engine.observe(self.X)
        if lands_on_edges:
            engine.cells.observe(edges_of(engine))
        return engine

    def solve(self, engine: CounterfactualEngine, which: Any = slice(None), **options: Any) -> Any:
        """Solve some of the points."""
        return engine.solve(self.X, self.rows[which], self.own_class[which], feature_names=self.names, **options)


def edges_of(engine: CounterfactualEngine) -> Floats:
    """Return rows with every cut of every feature and the next float32 above it. The moves of treecf end there."""
    cells = engine.cells
    n_cuts = np.diff(cells.first_cut)
    rows = np.tile(cells.box_low, (2 * int(n_cuts.max()), 1))
    for j, n in enumerate(n_cuts):
        cuts = cells.cuts[cells.first_cut[j] : cells.first_cut[j + 1]]
        rows[:n, j], rows[n : 2 * n, j] = cuts, np.nextafter(cuts.astype(np.float32), np.float32(np.inf))
    return rows


# --- on the tight program ---------------------------------------------------------------------------------------------


class Tight(NamedTuple):
    """The tight mixed-integer program of one point."""

    aim: TreeAim
    program: TreeProgram | None  # None: proven out of reach
    is_solvable: bool  # known before it is solved


class TightPeer:
    """Base class of the solvers of the tight program. fcca builds the program, and costs are computed in float64."""

    def __init__(self, case: Case, time_limit: float) -> None:
        self.case, self.time_limit = case, time_limit
        engine = case.engine()
        self.search = TreeSearch(engine.model, PlaceFinder(engine.cells, LAMBDAS, Limits(), TrainingValues()))

    def __call__(self, i: int) -> Answer:
        begin = time.perf_counter()
        tight = self._tight(self.case.X[self.case.rows[i]], int(self.case.own_class[i]))
        if tight.program is None:
            return Answer("proven", np.inf, 0.0, time.perf_counter() - begin)
        status, taken, solver = self.run(tight.program)
        build = time.perf_counter() - begin - solver
        if status != "proven":
            return Answer(status, np.nan, solver, build)
        if taken is None:
            return Answer("wrong" if tight.is_solvable else "proven", np.inf, solver, build)
        places, chosen = tight.program.reach.places, tight.program.chosen(taken)
        if not tight.aim.is_met(places.row(chosen)):
            return Answer("wrong", np.nan, solver, build)  # misses the margin
        return Answer("proven", places.total(chosen), solver, build)

    def _tight(self, row: Floats, own_class: int) -> Tight:
        reach = self.search.reach(0, row)
        aim = TreeAim(self.search.trees, 1 - own_class, PROBLEM.margin)
        greedy = self.search._greedy(aim, reach, np.inf)
        if greedy is not None:
            reach = reach.up_to(reach.places.total(greedy) * (1 + PROMISE))
        return Tight(aim, aim.program(reach, self.search.rules), greedy is not None)

    def run(self, program: TreeProgram) -> tuple[str, NDArray[np.bool_] | None, float]:
        """Return the status, the steps taken and the seconds of the solve call."""
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing: there is no process to end."""


def clauses(program: TreeProgram) -> tuple[csr_array, Floats, NDArray[np.bool_]]:
    """Return the constraints of a program as upper bounds, and a mask of those that are equalities."""
    matrix, least, most = program.rows
    turned = np.isinf(most)
    sign = np.where(turned, -1.0, 1.0)
    return csr_array(matrix * sign[:, None]), np.where(turned, -least, most), least == most


class Gurobi(TightPeer):
    """Gurobi with one thread and a gap of 0. Constraints and costs are scaled as fcca does for HiGHS."""

    name, module = "Gurobi", "gurobipy"

    def __init__(self, case: Case, time_limit: float) -> None:
        super().__init__(case, time_limit)
        import gurobipy

        self.gurobipy = gurobipy
        settings = {"OutputFlag": 0, "Threads": 1, "MIPGap": 0.0, "MIPGapAbs": 0.0, "TimeLimit": time_limit}
        self.environment = gurobipy.Env(params=settings)

    def run(self, program: TreeProgram) -> tuple[str, NDArray[np.bool_] | None, float]:
        grb, n_steps = self.gurobipy.GRB, program.n_steps
        model = self.gurobipy.Model(env=self.environment)
        price = program.price * (_highs.OBJECTIVE_SCALE / program.price.max())
        kinds = np.repeat([grb.BINARY, grb.CONTINUOUS], [n_steps, program.n_leaves])
        cost = np.concatenate([price, np.zeros(program.n_leaves)])
        columns = model.addMVar(len(cost), lb=0.0, ub=1.0, obj=cost, vtype=kinds)
        matrix, most, is_exact = clauses(program)
        model.addMConstr(matrix[is_exact], columns, "=", most[is_exact])
        model.addMConstr(matrix[~is_exact], columns, "<", most[~is_exact])
        unit = _highs.ROW_SCALE / program.gains[:, 0].max()
        model.addConstr((program.gains[:, 0] * unit) @ columns[n_steps:] >= program.needed[0] * unit)
        model.update()
        begin = time.perf_counter()
        try:
            model.optimize()
        except self.gurobipy.GurobiError as error:
            if error.errno != GUROBI_TOO_LARGE:
                raise
            return "too large", None, np.nan
        seconds = time.perf_counter() - begin
        if model.Status == grb.OPTIMAL:
            return "proven", columns.X[:n_steps] > 0.5, seconds
        return ("proven" if model.Status == grb.INFEASIBLE else "given up"), None, seconds

    def close(self) -> None:
        self.environment.dispose()


class CpSat(TightPeer):
    """CP-SAT with one worker, in a separate process."""

    name, module = "CP-SAT", "ortools"

    def __init__(self, case: Case, time_limit: float) -> None:
        super().__init__(case, time_limit)
        command = [sys.executable, str(Path(__file__).with_name("_cp_sat.py"))]
        self.worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        pickle.load(self.worker.stdout)  # it is ready

    def run(self, program: TreeProgram) -> tuple[str, NDArray[np.bool_] | None, float]:
        matrix, most, is_exact = clauses(program)
        # A literal is a variable, or 1 minus a variable. So every row is "at most one literal".
        assert np.array_equal(most, 1 - np.asarray((matrix < 0).sum(axis=1)).ravel())
        question = {
            "n_columns": matrix.shape[1],
            "begin": matrix.indptr,
            "column": matrix.indices,
            "sign": matrix.data,
            "is_exact": is_exact,
            "price": program.price,
            "gains": program.gains[:, 0],
            "needed": float(program.needed[0]),
            "time_limit": self.time_limit,
        }
        pickle.dump(question, self.worker.stdin)
        self.worker.stdin.flush()
        answer = pickle.load(self.worker.stdout)
        status = "proven" if answer["status"] in ("OPTIMAL", "INFEASIBLE") else "given up"
        return status, answer["taken"], answer["solver"]

    def close(self) -> None:
        self.worker.stdin.close()
        self.worker.wait()


class Highs:
    """HiGHS as used by fcca: ``method="milp"`` checks its solutions and solves again if a check fails."""

    name, module = "HiGHS", "scipy"

    def __init__(self, case: Case, time_limit: float) -> None:
        self.case, self.time_limit = case, time_limit
        self.engine = case.engine("milp")

    def __call__(self, i: int) -> Answer:
        spent = 0.0
        original = _highs.solve_program

        def timed(*arguments: Any, **options: Any) -> Any:
            nonlocal spent
            begin = time.perf_counter()
            answer = original(*arguments, **options)
            spent += time.perf_counter() - begin
            return answer

        with mock.patch.object(_highs, "solve_program", timed):
            found = self.case.solve(self.engine, [i], time_limit_per_row=self.time_limit)
        is_proven = bool(found.is_status("optimal", "infeasible")[0])
        return Answer("proven" if is_proven else "given up", float(found.cost[0]), spent, float(found.seconds[0]) - spent)

    def close(self) -> None:
        """Do nothing: there is no process to end."""


# --- on the classifier ------------------------------------------------------------------------------------------------


class Treecf:
    """The exact search of treecf, with its warm start.

    It minimizes the same cost as fcca within the same range: λ0 per changed feature plus the distance in units of the range.
    But a move ends at the value of its cell that is nearest to x0, not at a training value, and no option changes this. So
    its costs are compared with the costs of fcca for the same landings.
    """

    name, module = "treecf", "treecf"

    def __init__(self, case: Case, time_limit: float) -> None:
        import treecf
        from treecf.backends import exact_rust

        self.case, self.time_limit, self.treecf, self.solver = case, time_limit, treecf, exact_rust
        low, high = case.X.min(axis=0), case.X.max(axis=0)
        box = [treecf.Range(name, float(low[j]), float(high[j])) for j, name in enumerate(case.names)]
        width = np.where(high > low, high - low, 1.0)
        self.explainer = treecf.Explainer(case.estimator, normalizers=width / PROBLEM.lambda1, constraints=box)

    def target(self, own_class: int) -> Any:
        """Return the range of the raw score for the other class. For a forest, the score is the probability of class 1."""
        is_boosted = isinstance(self.case.estimator, GradientBoostingClassifier)
        # Two probabilities that sum to 1 differ by the margin if each is half the margin away from 1/2.
        middle, step = (0.0, PROBLEM.margin) if is_boosted else (0.5, PROBLEM.margin / 2)
        if own_class == 0:
            return self.treecf.Target.raw(op=">=", value=middle + step)
        return self.treecf.Target.raw(op="<=", value=middle - step)

    def __call__(self, i: int) -> Answer:
        row, spent = self.case.X[self.case.rows[i]], 0.0
        original = self.solver.solve_exact_rust

        def timed(*arguments: Any, **options: Any) -> Any:
            nonlocal spent
            begin = time.perf_counter()
            answer = original(*arguments, **options)
            spent = time.perf_counter() - begin
            return answer

        options = {"time_budget_s": self.time_limit, "node_budget": 10**15, "sparsity_weight": PROBLEM.lambda0, "seed": 0}
        begin = time.perf_counter()
        with warnings.catch_warnings(), mock.patch.object(self.solver, "solve_exact_rust", timed):
            warnings.simplefilter("ignore", self.treecf.TreecfWarning)
            found = self.explainer.explain(row, self.target(int(self.case.own_class[i])), backend="exact", **options)
        build = time.perf_counter() - begin - spent
        if isinstance(found, self.treecf.Infeasible):
            is_proven = found.proof == "certified"
            return Answer("proven" if is_proven else "given up", np.inf if is_proven else np.nan, spent, build)
        cost = found.distance + PROBLEM.lambda0 * found.n_changed
        return Answer("proven" if found.proof == "optimal" else "given up", cost, spent, build)

    def close(self) -> None:
        """Do nothing: there is no process to end."""


PEERS: tuple[Any, ...] = (Gurobi, Highs, CpSat, Treecf)
