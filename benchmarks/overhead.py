"""Measure the time that fcca adds to the fit of the target, on fold 1 of the paper's data.

Run: python benchmarks/overhead.py [--quick] [--data NAME …] [--json FILE]      (--quick: fewer repetitions)
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

import _results
from _data import PAPER_P1, at_hand, load_paper_data, paper_target
from fcca import FCCADiscretizer
from fcca.exceptions import ConstantFeatureWarning

MILLISECONDS_BAR, SHARE_BAR = 25.0, 0.05
REPETITIONS, QUICK_REPETITIONS = 15, 7


class Times(NamedTuple):
    """Milliseconds of every repetition, including the first one, before caches are filled."""

    target: NDArray[np.float64]
    added: NDArray[np.float64]

    @property
    def bar(self) -> float:
        return MILLISECONDS_BAR + SHARE_BAR * float(np.median(self.target))


def measure(name: str, repetitions: int) -> tuple[str, Times]:
    """Return the size of the training part of fold 1, and the times."""
    data = load_paper_data(name)
    training = data.folds()[0][0]
    X, y = data.X[training], data.y[training]
    target_times, added_times = [], []
    for _ in range(repetitions):
        begin = time.perf_counter()
        target = paper_target().fit(X, y)
        fitted = time.perf_counter()
        FCCADiscretizer(FrozenEstimator(target), p1=data.p1, preset="paper").fit(X, y)
        target_times.append(1e3 * (fitted - begin))
        added_times.append(1e3 * (time.perf_counter() - fitted))
    return f"{X.shape[0]} × {X.shape[1]}", Times(np.array(target_times), np.array(added_times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_REPETITIONS} repetitions instead of {REPETITIONS}")
    parser.add_argument("--data", nargs="+", choices=list(PAPER_P1), default=list(PAPER_P1))
    options = parser.parse_args()
    repetitions = QUICK_REPETITIONS if options.quick else REPETITIONS
    warnings.simplefilter("ignore", ConstantFeatureWarning)
    print(f"Milliseconds, {repetitions} repetitions, one thread. Bar: {MILLISECONDS_BAR:g} ms + {SHARE_BAR:.0%} of the fit.")
    print(f"{'data':<12}{'rows':>12}{'fit: median':>14}{'added: median':>15}{'worst':>9}{'bar':>9}")
    missed = []
    names = at_hand(options.data)
    for name in names:
        size, times = measure(name, repetitions)
        median, worst = np.median(times.added), times.added.max()
        verdict = "PASS" if median <= times.bar else "MISS"
        print(
            f"{name:<12}{size:>12}{np.median(times.target):>14.1f}{median:>15.2f}{worst:>9.2f}{times.bar:>9.1f}  {verdict}"
            f"{'' if worst <= times.bar else '  (the worst repetition is above the bar)'}",
            flush=True,
        )
        figures = {
            "fit: median ms": np.median(times.target),
            "added: median ms": median,
            "worst ms": worst,
            "bar ms": times.bar,
        }
        _results.row("What FCCA adds", data=name, rows=size, **figures, verdict=verdict)
        missed += [name] if verdict == "MISS" else []
    n_passed = len(names) - len(missed)
    print(f"{'MISS' if missed else 'PASS'}  added time within the bar (median): {n_passed} of {len(names)}", *missed)


if __name__ == "__main__":
    with threadpool_limits(1):
        _results.recorded(main)
