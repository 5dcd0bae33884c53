"""Two worker processes (joblib's loky) compared with two threads and with one thread, by model and rows.

The speed-up over one thread is meaningful only on an idle machine. The processor time compared with one thread (column
"work", needs psutil) hardly depends on what else is running.

Run: python benchmarks/workers.py [--quick] [--rows N …] [--models NAME …] [--repetitions N]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _data import at_hand, load_frame
from fcca import CounterfactualExplainer
from fcca.constraints import Constraint, Implies, MaxChanges
from fcca.counterfactuals import Counterfactuals

try:
    import psutil
except ImportError:
    psutil = None

MODELS: dict[str, tuple[Any, list[Constraint]]] = {
    "100 stumps": (GradientBoostingClassifier(max_depth=1, random_state=0), []),
    "boosting 100 × depth 3": (GradientBoostingClassifier(max_depth=3, random_state=0), []),
    "forest 50 × depth 4": (RandomForestClassifier(50, max_depth=4, random_state=0), []),
    # Programs, one after the other: these know no threads.
    "logistic, with rules": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        [Implies("x0 rises", "x1 rises"), Implies("x1 falls", "x0 falls"), MaxChanges(2)],
    ),
}
ROWS, QUICK_ROWS = (100, 1_000, 10_000), (100, 500)
ROWS_BY_PROGRAM = 100


def data() -> tuple[str, Any, Any]:
    """Load magic, or scikit-learn's breast cancer if magic is not available."""
    (name,) = at_hand(["magic"])
    frame = load_frame(name)
    y = frame.pop("label").to_numpy()
    return name, frame.to_numpy(dtype=np.float64), y


def by_threads(explainer: CounterfactualExplainer, X: Any, n: int) -> Counterfactuals:
    explainer.n_jobs = n
    return explainer.explain(X)


def by_processes(explainer: CounterfactualExplainer, X: Any, n: int) -> Counterfactuals:
    explainer.n_jobs = n
    with parallel_config(backend="loky"):
        return explainer.explain(X)


def processor_seconds() -> float:
    """Return the CPU seconds of this process and its child processes; NaN if unknown."""
    if psutil is None:
        return float("nan")
    times = [process.cpu_times() for process in (psutil.Process(), *psutil.Process().children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


class Run(NamedTuple):
    seconds: float
    work: float
    found: Counterfactuals


def run(solve: Callable[[], Counterfactuals]) -> Run:
    work, begin = processor_seconds(), time.perf_counter()
    found = solve()
    return Run(time.perf_counter() - begin, processor_seconds() - work, found)


def is_same(found: Counterfactuals, expected: Counterfactuals) -> bool:
    names = ("cost", "bound", "nodes", "status_code", "target_code")
    pairs = [(getattr(found, name), getattr(expected, name)) for name in names]
    pairs += list(zip(found.moves, expected.moves, strict=True))
    return all(one.tobytes() == other.tobytes() for one, other in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS} rows, one repetition")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    rows = options.rows or (QUICK_ROWS if options.quick else ROWS)
    repetitions = 1 if options.quick else options.repetitions
    warnings.simplefilter("ignore")
    name, X, y = data()
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    first = CounterfactualExplainer(MODELS["100 stumps"][0].fit(X, y), X)
    start = run(lambda: by_processes(first, X[:100], 2)).seconds
    print(f"{name}, best of {repetitions}. The first use of the processes, which starts them: {start:.1f} s.")
    titles = f"{'two threads':>13}{'work':>7}{'two processes':>15}{'work':>7}{'same answers':>14}"
    print(f"{'model':<26}{'rows':>8}{'one thread, s':>15}{titles}")
    for label in options.models:
        model, rules = MODELS[label]
        explainer = CounterfactualExplainer(model.fit(X, y), X, constraints=rules)
        for n in [ROWS_BY_PROGRAM] if rules else rows:
            ways = {
                "one": lambda: by_threads(explainer, X[:n], 1),  # noqa: B023
                "threads": lambda: by_threads(explainer, X[:n], 2),  # noqa: B023
                "processes": lambda: by_processes(explainer, X[:n], 2),  # noqa: B023
            }
            runs = [{way: run(solve) for way, solve in ways.items()} for _ in range(repetitions)]
            best = {way: min(each[way].seconds for each in runs) for way in ways}
            work = {way: min(each[way].work for each in runs) for way in ways}
            same = all(is_same(each[way].found, runs[0]["one"].found) for each in runs for way in ways)
            faster = {way: f"{best['one'] / best[way]:.2f}×" for way in ways}
            more = {way: f"{work[way] / work['one']:.2f}" if work["one"] else "–" for way in ways}
            print(
                f"{label:<26}{len(X[:n]):>8}{best['one']:>15.3f}{faster['threads']:>13}{more['threads']:>7}"
                f"{faster['processes']:>15}{more['processes']:>7}{'yes' if same else 'NO':>14}",
                flush=True,
            )


if __name__ == "__main__":
    main()
