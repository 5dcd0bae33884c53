"""Compare the paper's big-M program with fcca on 100 points of each data set: how often, by how much and why they differ.

Run with ``python benchmarks/paper_milp.py [data set ...] [--points N] [--json FILE]``. Uses Gurobi if gurobipy is installed
and HiGHS otherwise.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

import _results
from _data import at_hand, load_frame
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from oracles import big_m_milp, contract  # noqa: E402

DATA_SETS = ("boston", "ionosphere", "arrhythmia", "magic", "particle", "vehicle", "breast_cancer")
UPPER_CONFIDENCE = {"magic": 0.7, "particle": 0.7, "vehicle": 0.7}
EQUAL = 1e-6


def first_fold(name):
    """Return the training rows of the first of five folds, scaled to [0, 1]."""
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        frame = load_frame(name)
        X, y = frame.drop(columns="label").to_numpy(dtype=float), frame["label"].to_numpy()
    if name == "magic":
        chosen = np.random.default_rng(0).choice(len(X), 5000, replace=False)
        X, y = X[chosen], y[chosen]
    train, _ = next(StratifiedKFold(5).split(X, y))
    # Scaling rounds: without the clip a training maximum can stand one float above 1, where the program has no room.
    return np.ascontiguousarray(MinMaxScaler(clip=True).fit_transform(X[train])), y[train]


def solve_with_gurobi(program, tolerance):
    """Solve with Gurobi, and return the optimum and x, or infinity and None without a solution."""
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        model.Params.MIPGap = model.Params.MIPGapAbs = 0
        model.Params.Threads = 1
        model.Params.IntFeasTol = max(tolerance, 1e-9)
        model.Params.FeasibilityTol = max(tolerance, 1e-9)
        kinds = np.where(program.is_binary, "B", "C")
        v = model.addMVar(len(program.cost), lb=0.0, ub=1.0, vtype=kinds, obj=program.cost)
        upper, lower = np.isfinite(program.high), np.isfinite(program.low)
        model.addConstr(program.rows[np.flatnonzero(upper)] @ v <= program.high[upper])
        model.addConstr(program.rows[np.flatnonzero(lower)] @ v >= program.low[lower])
        model.optimize()
        if model.Status in (gurobipy.GRB.INFEASIBLE, gurobipy.GRB.INF_OR_UNBD):
            return np.inf, None
        if model.Status != gurobipy.GRB.OPTIMAL:
            raise RuntimeError(f"Gurobi ended with status {model.Status}")
        return model.ObjVal, v.X[: program.n_features]


def solver(tolerance):
    """Return the name and the function of the solver: Gurobi if it is installed, otherwise HiGHS."""
    try:
        import gurobipy
    except ImportError:
        return "HiGHS", big_m_milp.solve
    return f"Gurobi {'.'.join(map(str, gurobipy.gurobi.version()))}", lambda program: solve_with_gurobi(program, tolerance)


def crossings(x0, x, cuts):
    """Return the pairs (feature, cut crossed last) of a move from x0 to x, and the features moved without crossing a cut."""
    crossed, idle = set(), []
    for j in np.flatnonzero(np.abs(x - x0) > 1e-9):
        own, entered = np.searchsorted(cuts[j], [x0[j], x[j]])
        if own == entered:
            idle.append(int(j))
        else:
            crossed.add((int(j), float(cuts[j][entered - 1] if entered > own else cuts[j][entered])))
    return crossed, idle


def at_our_landings(x0, x, cuts, X_train, problem):
    """Return the point with our landings in the same cells as x, and its cost."""
    point, cost = x0.copy(), 0.0
    for j in range(len(x0)):
        entered = np.searchsorted(cuts[j], x[j])
        for option in contract.options(j, x0[j], cuts[j], X_train, problem):
            if option.cell == entered:
                point[j], cost = option.landing, cost + option.cost
    return point, cost


def compare(name, n_points, tolerance, gap_share):
    """Compare both programs on one data set, and return one line of the table."""
    X, y = first_fold(name)
    estimator = GradientBoostingClassifier(n_estimators=100, max_depth=1, random_state=100).fit(X, y)
    problem = CounterfactualProblem(lambda0=0.1, lambda1=1.0, lambda2=0.0, margin=big_m_milp.SCORE_EPSILON)
    engine = CounterfactualEngine(estimator, problem)
    engine.observe(X)
    answers = engine.class_index(estimator.predict(X))
    confidence = estimator.predict_proba(X).max(axis=1)
    M = np.flatnonzero((answers == y) & (confidence <= UPPER_CONFIDENCE.get(name, 1.0)))
    points = np.sort(np.random.default_rng(0).choice(M, min(n_points, len(M)), replace=False))

    start = time.perf_counter()
    ours = engine.solve(X, points, answers[points], feature_names=[str(j) for j in range(X.shape[1])])
    our_time = time.perf_counter() - start
    gaps, cuts = gap_share * big_m_milp.smallest_gaps(X), contract.cuts_by_feature(estimator)
    prior = float(np.diff(np.log(estimator.init_.class_prior_))[0])
    _, solve = solver(tolerance)

    records, milp_time = [], 0.0
    for i, row in enumerate(points):
        x0, target = X[row], 1 - answers[row]
        program = big_m_milp.build(estimator, x0, target, gaps, problem.lambda0, problem.lambda1, prior)
        start = time.perf_counter()
        cost, x = solve(program)
        milp_time += time.perf_counter() - start
        if x is None:
            records.append({"infeasible": True})
            continue
        crossed, idle = crossings(x0, x, cuts)
        mine = ours.moves.point == i
        our_crossed = set(zip(ours.moves.feature[mine].tolist(), ours.moves.cut[mine].tolist(), strict=True))
        point, price = at_our_landings(x0, x, cuts, X, problem)
        lead = contract.leads(contract.scores_of(estimator, point[None, :]), target)[0, 0]
        records.append(
            {
                "difference": ours.cost[i] - cost,
                "same": crossed == our_crossed,
                "idle": bool(idle),
                "unflipped": estimator.predict(x[None, :])[0] != estimator.classes_[target],
                "contradiction": bool(lead >= problem.margin and price < ours.cost[i] - 1e-9),
            }
        )
    # Where a cut has less than ε_j to the box on both sides, neither of its leaves has room: no point is feasible.
    closed = sum(bool(np.any((mine < gap) & (mine > 1 - gap))) for mine, gap in zip(cuts, gaps, strict=True))
    return {
        **summary(records, ours),
        "features with a cut that ε_j closes on both sides": closed,
        "ms ours": round(1e3 * our_time / len(points), 3),
        "ms MILP": round(1e3 * milp_time / len(points), 1),
        "times faster": round(milp_time / our_time, 1),
    }


def summary(records, ours):
    """Summarize the number and size of the differences, by reason."""
    infeasible = sum("infeasible" in record for record in records)
    columns = ["difference", "same", "idle", "unflipped", "contradiction"]
    solved = pd.DataFrame([record for record in records if "infeasible" not in record], columns=columns)
    lower, higher = solved[solved.difference < -EQUAL], solved[solved.difference > EQUAL]

    def size(part):
        return f"{part.difference.abs().mean():.5f} / {part.difference.abs().max():.5f}" if len(part) else "–"

    idle, same = lower.idle.astype(bool), lower.same.astype(bool)
    return {
        "points": len(records),
        "ours proven optimal": int(ours.is_status("optimal").sum()),
        "program infeasible": infeasible,
        "program's optimum does not flip the model": int(solved.unflipped.sum()),
        "same cuts crossed": f"{int(solved.same.sum())} of {len(solved)}",
        "equal cost": len(solved) - len(lower) - len(higher),
        "ours lower": len(lower),
        "  program moves features off cuts they do not cross": int(idle.sum()),
        "  same cuts, program must land farther (ε_j)": int((~idle & same).sum()),
        "  other cuts, as ε_j makes ours dearer or impossible": int((~idle & ~same).sum()),
        "  lower by, mean / max": size(lower),
        "ours higher": len(higher),
        "  same cuts, program lands nearer than any value seen": int(higher.same.sum()),
        "  other cuts, cheaper at those landings only": len(higher) - int(higher.same.sum()),
        "  higher by, mean / max": size(higher),
        "its cells at our landings cheaper than ours (must be 0)": int(solved.contradiction.sum()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(DATA_SETS), help="data sets")
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument(
        "--tolerance", type=float, default=1e-9, help="tolerances of Gurobi, whose defaults are 1e-5 and 1e-6"
    )
    parser.add_argument(
        "--gap-shares",
        type=float,
        nargs="*",
        default=[1.0, 0.49],
        help="ε_j as a share of the smallest gap between two values; the paper uses 1",
    )
    arguments = parser.parse_args()
    print(f"{solver(arguments.tolerance)[0]}, tolerance {arguments.tolerance:g}, λ = (0.1, 1, 0), 100 stumps, first fold")
    _results.is_installed("gurobipy")
    for name in at_hand(arguments.data, instead=()):
        table = {
            f"ε_j × {share:g}": compare(name, arguments.points, arguments.tolerance, share) for share in arguments.gap_shares
        }
        print(f"\n{name}\n{pd.DataFrame(table, dtype=object).to_string()}", flush=True)
        for share, found in table.items():
            figures = {what: found[what] for what in ("points", "ms ours", "ms MILP", "times faster")}
            _results.row("Time per counterfactual", data=name, model=share, who=solver(arguments.tolerance)[0], **figures)
        for what in next(iter(table.values())):
            _results.row(name, what=what.strip(), **{share: found[what] for share, found in table.items()})


if __name__ == "__main__":
    _results.recorded(main)
