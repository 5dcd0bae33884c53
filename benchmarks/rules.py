"""Compare the time per counterfactual with and without five rules on single features, with one thread.

Run: python benchmarks/rules.py [--data NAME …] [--points N] [--rounds N] [--json FILE]

λ is (0.1, 1, 0) and the margin is 1e-4. The models are gradient boosting with stumps and with trees of depth 3, and random
forests, all of scikit-learn. Points are drawn from the training rows. The rules are on five features, drawn at random with a
fixed seed: two may only rise, one may only fall, and two stay between the 5 % and the 95 % quantile of the data. Rounds with
and without rules alternate, and the minimum of each is used, so that a busy machine affects both. If a rule forbids the
cheapest change, the problem is a different one and may need more nodes. So the script also prints the number of nodes, and
the ratio for points whose result does not change with the rules.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

import _results
from _data import BREAST_CANCER, at_hand, load_paper_data
from fcca.constraints import Bounds, Decreasing, Increasing, compile_rules
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from fcca.tables import Columns

SEED = 0
TRAINING_ROWS = 5000
DATA = ("boston", BREAST_CANCER, "magic")
MODELS: dict[str, Any] = {
    "GB 100×1": GradientBoostingClassifier(max_depth=1, random_state=SEED),
    "GB 100×3": GradientBoostingClassifier(max_depth=3, random_state=SEED),
    "RF 50×4": RandomForestClassifier(50, max_depth=4, random_state=SEED),
}
BAR = 1.0


def main() -> None:
    """Print one line per data set and model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    titles = {"without": 10, "with": 10, "ratio": 8, "nodes": 12, "same answer": 13, "ratio there": 13}
    print(f"{'data':<14}{'model':<10}" + "".join(f"{title:>{width}}" for title, width in titles.items()))
    ratios = []
    with threadpool_limits(1):
        for data in at_hand(options.data):
            if data == BREAST_CANCER:
                X, y = load_breast_cancer(return_X_y=True)
            else:
                loaded = load_paper_data(data)
                X, y = loaded.X, loaded.y
            X, y = np.ascontiguousarray(X[:TRAINING_ROWS], dtype=np.float64), y[:TRAINING_ROWS]
            for name, model in MODELS.items():
                ratios.append(measure(data, name, model.fit(X, y), X, options.points, options.rounds))
    verdict = "PASS" if max(ratios) <= BAR else "MISS"
    print(f"{verdict}: largest ratio of the medians {max(ratios):.2f}, middle {np.median(ratios):.2f} (bar {BAR:g})")


def measure(data: str, name: str, model: Any, X: Any, n_points: int, rounds: int) -> float:
    """Print the medians of one model and return their ratio."""
    rng = np.random.default_rng(SEED)
    points = rng.permutation(len(X))[:n_points].astype(np.int64)
    engine = CounterfactualEngine(model, CounterfactualProblem())
    engine.observe(X)
    own = engine.class_index(engine.predict(X))[points]
    columns = Columns.numbers(X.shape[1])
    a, b, c, d, e = (columns.names[j] for j in rng.permutation(X.shape[1])[:5])
    low, high = (dict(zip(columns.names, np.quantile(X, q, axis=0).tolist(), strict=True)) for q in (0.05, 0.95))
    rules = [Increasing(a, b), Decreasing(c), Bounds(d, low[d], high[d]), Bounds(e, low[e], high[e])]
    limits = compile_rules(rules, columns, engine.cells.box_low, engine.cells.box_high, X[points])

    seconds: dict[bool, list[Any]] = {False: [], True: []}
    found: dict[bool, Any] = {}
    for _ in range(rounds):
        for ruled in (False, True):
            found[ruled] = engine.solve(
                X, points, own, feature_names=columns.names, limits=limits if ruled else None, n_jobs=1
            )
            seconds[ruled].append(found[ruled].seconds)
    without, with_rules = (np.min(seconds[ruled], axis=0) for ruled in (False, True))
    ratio = float(np.median(with_rules) / np.median(without))
    same = found[True].cost == found[False].cost
    there = float(np.median(with_rules[same] / without[same])) if same.any() else np.nan
    nodes = f"{np.median(found[False].nodes):.0f} → {np.median(found[True].nodes):.0f}"
    print(
        f"{data:<14}{name:<10}{np.median(without) * 1e6:>7.1f} µs{np.median(with_rules) * 1e6:>7.1f} µs{ratio:>8.2f}"
        f"{nodes:>12}{same.mean():>12.0%}{there:>12.2f}",
        flush=True,
    )
    figures = {
        "without µs": np.median(without) * 1e6,
        "with µs": np.median(with_rules) * 1e6,
        "ratio": ratio,
        "nodes": nodes,
    }
    figures |= {"same answer": same.mean(), "ratio there": there}
    _results.row("Time per counterfactual with five rules", data=data, model=name, **figures)
    return ratio


if __name__ == "__main__":
    _results.recorded(main)
