"""Compare the figures of the paper with the authors' code: thresholds, compression, inconsistency and small trees.

Run: python benchmarks/paper_figures.py [--quick] [--data NAME …] [--json FILE]      (--quick: the three small data sets)
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

import _results
from _data import PAPER_P1, PaperData, at_hand, load_paper_data, paper_target
from fcca import FCCADiscretizer
from fcca.exceptions import ConstantFeatureWarning
from fcca.metrics import compression_rate, inconsistency_rate

try:
    from pystreed import STreeDClassifier
except ImportError:
    STreeDClassifier = None

GRANULARITIES = (0.0, 0.7, 0.9)
AUTHORS_MERGE_TOLERANCE = 0.01
TREE_DEPTH = 3
REGULARIZED_ROWS = 10  # the paper's regularization is this many rows per leaf
RATE_BAR, TREE_BAR, TARGET_BAR = 0.02, 0.01, 0.003


class Figures(NamedTuple):
    """Means over folds: number of thresholds, both rates on the held-out fold, accuracy of both trees."""

    thresholds: float
    compression: float
    inconsistency: float
    cart: float
    optimal_tree: float


#: SupervisedDiscretization 0.0.7 (the authors' package) with Gurobi 13 on the same files, 5-fold means, trees by pystreed.
AUTHORS = {
    "boston": {
        0.0: Figures(24.6, 0.342, 0.030, 0.779, 0.828),
        0.7: Figures(7.6, 0.850, 0.132, 0.824, 0.828),
        0.9: Figures(3.0, 0.951, 0.174, 0.777, 0.781),
    },
    "ionosphere": {
        0.0: Figures(27.0, 0.327, 0.011, 0.895, 0.895),
        0.7: Figures(8.4, 0.704, 0.057, 0.889, 0.895),
        0.9: Figures(3.4, 0.892, 0.111, 0.883, 0.883),
    },
    "arrhythmia": {
        0.0: Figures(37.2, 0.073, 0.018, 0.712, 0.735),
        0.7: Figures(11.6, 0.482, 0.141, 0.710, 0.735),
        0.9: Figures(4.4, 0.854, 0.237, 0.712, 0.717),
    },
    "magic": {
        0.0: Figures(28.4, 0.645, 0.107, 0.789, 0.819),
        0.7: Figures(8.8, 0.966, 0.196, 0.777, 0.796),
        0.9: Figures(3.0, 0.994, 0.317, 0.684, 0.684),
    },
    "particle": {
        0.0: Figures(34.8, 0.227, 0.003, 0.872, 0.881),
        0.7: Figures(11.0, 0.854, 0.084, 0.869, 0.875),
        0.9: Figures(4.4, 0.983, 0.120, 0.874, 0.873),
    },
    "vehicle": {
        0.0: Figures(32.8, 0.069, 0.003, 0.824, 0.811),
        0.7: Figures(10.2, 0.778, 0.139, 0.793, 0.792),
        0.9: Figures(4.0, 0.967, 0.201, 0.776, 0.783),
    },
}
#: Accuracy of the target model there: means over folds on the held-out fold, on the external rows for magic.
AUTHORS_TARGET = {
    "boston": 0.828,
    "ionosphere": 0.915,
    "arrhythmia": 0.794,
    "magic": 0.831,
    "particle": 0.899,
    "vehicle": 0.872,
}


class Check(NamedTuple):
    """One figure and its bar."""

    data: str
    merge_tolerance: float
    Q: float
    what: str
    passed: bool


def fit_tree(tree: ClassifierMixin, B: NDArray[np.int8], y: NDArray[np.int64], test: tuple) -> float:
    """Fit a tree on binary rows, and return its accuracy on the test rows."""
    return float(np.mean(np.asarray(tree.fit(B, y).predict(test[0])) == test[1]))


def tree_accuracies(B: NDArray[np.int8], y: NDArray[np.int64], test: tuple) -> tuple[float, float]:
    """Compute the accuracy of CART and of the optimal tree; NaN if pystreed is absent."""
    cart = fit_tree(DecisionTreeClassifier(max_depth=TREE_DEPTH, random_state=0), B, y, test)
    if STreeDClassifier is None:
        return cart, np.nan
    # pystreed charges per branch node; a binary tree has one leaf more, so the charge per leaf is the same.
    optimal = STreeDClassifier("cost-complex-accuracy", max_depth=TREE_DEPTH, cost_complexity=REGULARIZED_ROWS / len(y))
    return cart, fit_tree(optimal, B, y, test)


def fold_figures(data: PaperData, discretizer: FCCADiscretizer, training: NDArray, held_out: NDArray) -> Figures:
    """Compute the figures of one fold at the granularity of the fitted discretizer."""
    B, held_out_B = discretizer.transform(data.X[training]), discretizer.transform(data.X[held_out])
    test = (held_out_B, data.y[held_out])
    if len(data.external_rows):
        test = (discretizer.transform(data.external_rows), data.external_labels)
    return Figures(
        len(discretizer.thresholds_),
        compression_rate(held_out_B),
        inconsistency_rate(held_out_B, data.y[held_out]),
        *tree_accuracies(B, data.y[training], test),
    )


def measure(data: PaperData) -> tuple[float, dict[tuple[float, float], Figures]]:
    """Return the accuracy of the target, and the figures by (merge_tolerance, Q), as means over the folds."""
    accuracies: list[float] = []
    figures: dict[tuple[float, float], list[Figures]] = {}
    for training, held_out in data.folds():
        target = paper_target().fit(data.X[training], data.y[training])
        rows = (
            (data.external_rows, data.external_labels) if len(data.external_rows) else (data.X[held_out], data.y[held_out])
        )
        accuracies.append(target.score(*rows))
        for tolerance in (AUTHORS_MERGE_TOLERANCE, 0.0):
            discretizer = FCCADiscretizer(FrozenEstimator(target), p1=data.p1, merge_tolerance=tolerance, preset="paper")
            discretizer.fit(data.X[training], data.y[training])
            for Q in GRANULARITIES:
                found = fold_figures(data, discretizer.set_granularity(Q), training, held_out)
                figures.setdefault((tolerance, Q), []).append(found)
    return float(np.mean(accuracies)), {key: Figures(*np.mean(found, axis=0)) for key, found in figures.items()}


def merged_checks(name: str, Q: float, ours: Figures, theirs: Figures) -> Iterator[Check]:
    """With the authors' merging: check that each figure differs from theirs by at most its bar."""
    for what in ("compression", "inconsistency"):
        near = abs(getattr(ours, what) - getattr(theirs, what)) <= RATE_BAR
        yield Check(name, AUTHORS_MERGE_TOLERANCE, Q, what, near)
    for what in ("cart", "optimal_tree"):
        if not np.isnan(getattr(ours, what)):
            near = abs(getattr(ours, what) - getattr(theirs, what)) <= TREE_BAR
            yield Check(name, AUTHORS_MERGE_TOLERANCE, Q, what, near)


def dominated(ours: Figures, theirs: Figures) -> bool:
    """Return True if their result dominates ours.

    Their compression is then at least ours and their inconsistency at most ours, and one of the two is strictly better.
    """
    rounded = np.round([ours.compression, ours.inconsistency], 3)  # theirs are known to three digits
    no_worse = theirs.compression >= rounded[0] and theirs.inconsistency <= rounded[1]
    return no_worse and (theirs.compression > rounded[0] or theirs.inconsistency < rounded[1])


def unmerged_checks(name: str, Q: float, ours: Figures) -> Iterator[Check]:
    """Without merging: check that none of their results dominates ours."""
    by_whom = [theirs for theirs in AUTHORS[name].values() if dominated(ours, theirs)]
    yield Check(name, 0.0, Q, "not dominated", not by_whom)


def print_figures(ours: Figures, theirs: Figures, label: str, passed: dict[str, bool]) -> None:
    """Print one line per figure: ours, theirs, the difference and the verdict."""
    width = 15
    print(f"  {label}")
    for title, figures in (("ours", ours), ("theirs", theirs), ("difference", np.subtract(ours, theirs))):
        print(f"    {title:<11}" + "".join(f"{value:>{width}.3f}" for value in figures))
    verdicts = {what: "PASS" if ok else "MISS" for what, ok in passed.items()}
    below = "".join(f"{verdicts.pop(what, ''):>{width}}" for what in Figures._fields)
    beside = "".join(f"   {what}: {text}" for what, text in verdicts.items())
    print(f"    {'':<11}{below}{beside}".rstrip())


def run(name: str) -> list[Check]:
    """Measure one data set, print its table, and return its checks."""
    accuracy, figures = measure(load_paper_data(name))
    checks = [Check(name, np.nan, np.nan, "target", abs(accuracy - AUTHORS_TARGET[name]) <= TARGET_BAR)]
    verdict = "PASS" if checks[0].passed else "MISS"
    print(f"\n{name}: accuracy of the target {accuracy:.4f}, theirs {AUTHORS_TARGET[name]:.3f}   {verdict}")
    print(f"    {'':<11}" + "".join(f"{field:>15}" for field in Figures._fields))
    for (tolerance, Q), ours in figures.items():
        theirs = AUTHORS[name][Q]
        found = list(merged_checks(name, Q, ours, theirs) if tolerance else unmerged_checks(name, Q, ours))
        print_figures(ours, theirs, f"merge_tolerance={tolerance:g}, Q={Q:g}", {c.what: c.passed for c in found})
        checks += found
        for who, figures_of in (("fcca", ours), ("authors", theirs)):
            _results.row(name, **{"merge tolerance": tolerance, "Q": Q, "who": who}, **figures_of._asdict())
    return checks


def verdict(bar: str, checks: list[Check]) -> str:
    """Return one line for one bar, with the checks that missed it."""
    missed = [check for check in checks if not check.passed]
    line = f"{'MISS' if missed else 'PASS'}  {bar}: {len(checks) - len(missed)} of {len(checks)}"
    return line + "".join(f"\n        {c.data} Q={c.Q:g} {c.what}" for c in missed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="use only the three small data sets")
    parser.add_argument("--data", nargs="+", choices=list(PAPER_P1))
    options = parser.parse_args()
    names = at_hand(options.data or (list(PAPER_P1)[:3] if options.quick else list(PAPER_P1)), instead=())
    warnings.simplefilter("ignore", ConstantFeatureWarning)
    _results.is_installed("pystreed")
    if not names:
        return
    checks = [check for name in names for check in run(name)]
    merged = [check for check in checks if check.merge_tolerance == AUTHORS_MERGE_TOLERANCE]
    print()
    print(verdict("target's accuracy within .003 of the authors' run", [c for c in checks if c.what == "target"]))
    rates = [c for c in merged if c.what in ("compression", "inconsistency")]
    print(verdict("merge_tolerance=.01, rates within .02 of the authors' code", rates))
    trees = [c for c in merged if c.what in ("cart", "optimal_tree")]
    print(verdict("merge_tolerance=.01, trees within .01 of the authors' code", trees))
    unmerged = [c for c in checks if c.merge_tolerance == 0]
    print(verdict("merge_tolerance=0, no (compression, inconsistency) dominated by the authors'", unmerged))


if __name__ == "__main__":
    _results.recorded(main)
