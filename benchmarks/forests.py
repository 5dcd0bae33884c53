"""Measure the time per counterfactual of deep forests and large boosted ensembles, with one thread.

Run: python benchmarks/forests.py [--data NAME …] [--models NAME …] [--rows N] [--limit S] [--wall-limit S] [--save FILE]
     [--compare FILE] [--json FILE]

λ is (0.1, 1, 0) and the margin is 1e-4. Each model is fitted on the whole table, and the rows to explain are drawn from it.
The time of a row is the time of its search in the core, in CPU milliseconds: the wall time, multiplied by the share of a
core that the process got. A search is stopped after ``--wall-limit`` wall seconds, and a row is proven if its search ends
within ``--limit`` CPU seconds. On a machine that others use, set a longer wall limit. ``--save`` writes the costs and bounds
of all rows. ``--compare`` reads such a file of another build, and prints the largest relative difference between the costs
of rows that both builds prove.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import _results
from _data import BREAST_CANCER, at_hand, load_frame
from _peers import Case

Floats = NDArray[np.float64]
SEED = 0
DATA = (BREAST_CANCER, "heloc", "magic")


def _catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=1000, depth=6, random_seed=SEED, verbose=False, allow_writing_files=False, thread_count=1
    )


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=500, num_leaves=31, random_state=SEED, n_jobs=1, verbose=-1)


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=200, max_depth=6, random_state=SEED, n_jobs=1)


MODELS: dict[str, Callable[[], Any]] = {
    "RF": lambda: RandomForestClassifier(random_state=SEED),
    "ExtraTrees": lambda: ExtraTreesClassifier(random_state=SEED),
    "CatBoost 1000×6": _catboost,
    "LightGBM 500×31": _lightgbm,
}
# More families, to compare the costs of two builds.
MORE_MODELS: dict[str, Callable[[], Any]] = {
    "RF 100×6": lambda: RandomForestClassifier(max_depth=6, random_state=SEED),
    "RF 50×4": lambda: RandomForestClassifier(50, max_depth=4, random_state=SEED),
    "GB 100×3": lambda: GradientBoostingClassifier(random_state=SEED),
    "GB 100×6": lambda: GradientBoostingClassifier(max_depth=6, random_state=SEED),
    "HistGB": lambda: HistGradientBoostingClassifier(random_state=SEED),
    "XGBoost 200×6": _xgboost,
    "AdaBoost 50×3": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), random_state=SEED),
    "Bagging": lambda: BaggingClassifier(random_state=SEED),
    "single tree": lambda: DecisionTreeClassifier(random_state=SEED),
}


def case_of(data: str, model: str, n_rows: int) -> Case:
    """Fit a classifier on a table, and draw rows to explain."""
    if data == BREAST_CANCER:
        X, y = load_breast_cancer(return_X_y=True)
    else:
        frame = load_frame(data)
        X, y = frame.drop(columns="label").to_numpy(dtype=np.float64), frame["label"].to_numpy()
    rows = np.random.default_rng(SEED).permutation(len(X))[:n_rows].astype(np.int64)
    return Case(data, model, (MODELS | MORE_MODELS)[model]().fit(X, y), X, rows)


def measure(case: Case, limit: float) -> dict[str, list[float]]:
    """Solve the rows of a case one by one, with one thread."""
    engine = case.engine()
    case.solve(engine, [0], n_jobs=1, time_limit_per_row=limit)  # the first call may prepare what the others use
    milliseconds, cost, bound, nodes = [], [], [], []
    for i in range(len(case.rows)):
        processor, wall = time.process_time(), time.perf_counter()
        found = case.solve(engine, [i], n_jobs=1, time_limit_per_row=limit)
        share = min(1.0, (time.process_time() - processor) / (time.perf_counter() - wall))
        milliseconds.append(1e3 * share * float(found.seconds[0]))
        cost.append(float(found.cost[0]))
        bound.append(float(found.bound[0]))
        nodes.append(float(found.nodes[0]))
    return {"ms": milliseconds, "cost": cost, "bound": bound, "nodes": nodes}


def _is_proven(found: dict[str, list[float]]) -> NDArray[np.bool_]:
    cost, bound = np.array(found["cost"]), np.array(found["bound"])
    return (cost == bound) | (bound >= cost * (1 - 1e-9))


def difference(now: dict[str, list[float]], before: dict[str, list[float]]) -> tuple[int, float]:
    """Count the rows that both builds prove, and find the largest relative difference between their costs."""
    n = min(len(now["cost"]), len(before["cost"]))
    both = _is_proven(now)[:n] & _is_proven(before)[:n]
    ours, theirs = np.array(now["cost"])[:n][both], np.array(before["cost"])[:n][both]
    with np.errstate(invalid="ignore"):
        relative = np.where(ours == theirs, 0.0, np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-300))
    return int(both.sum()), float(relative.max(initial=0.0))


def main() -> None:
    """Run the benchmark and print one line per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=[*MODELS, *MORE_MODELS, "all"], metavar="NAME")
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--limit", type=float, default=10.0, help="CPU seconds per row")
    parser.add_argument("--wall-limit", type=float, help="wall seconds per row; the same number by default")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    before = json.loads(options.compare.read_text()) if options.compare else {}
    models = [*MODELS, *MORE_MODELS] if "all" in options.models else options.models
    results = {}
    n_both, largest = 0, 0.0
    print(f"{'model':17}{'data':15}{'proven':>8}{'median ms':>11}{'mean ms':>10}{'worst ms':>10}{'nodes':>8}  compared")
    for model in models:
        for data in at_hand(options.data):
            found = measure(case_of(data, model, options.rows), options.wall_limit or options.limit)
            results[f"{model}, {data}"] = found
            ms = np.array(found["ms"])
            proven = float(np.mean(_is_proven(found) & (ms <= 1e3 * options.limit)))
            times = f"{np.median(ms):11.2f}{ms.mean():10.2f}{ms.max():10.1f}"
            line = f"{model:17}{data:15}{proven:8.0%}{times}{np.median(found['nodes']):8.0f}"
            if f"{model}, {data}" in before:
                n, relative = difference(found, before[f"{model}, {data}"])
                n_both, largest = n_both + n, max(largest, relative)
                line += f"  {n} rows, cost difference {relative:.1e}"
            print(line, flush=True)
            row = {"proven": proven, "median ms": float(np.median(ms)), "worst ms": float(ms.max())}
            _results.row("CPU ms per counterfactual", model=model, data=data, **row, nodes=float(np.median(found["nodes"])))
            if options.save:
                options.save.write_text(json.dumps(results))
    if before:
        print(f"{n_both} rows proven by both builds, largest relative difference of their costs: {largest:.1e}")


if __name__ == "__main__":
    _results.recorded(main)
