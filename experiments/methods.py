"""The methods that the study compares: ways to turn a table into binary columns.

A method is a function that yields the discretizations of a fold, one per granularity, from as few fits as possible. To
add a method, write a function and add a line to METHODS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.svm import SVC

from experiments.data import Fold
from fcca import FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer, ThresholdTable

GRANULARITIES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
LAMBDA0_PATH = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
#: The authors' code merges thresholds that are closer than this share of the range. The paper does not mention it.
MERGE_TOLERANCE = 0.01
N_BINS = 5
SEED = 100  # the seed of the authors' code


@dataclass(frozen=True)
class Discretization:
    """Thresholds at one granularity, with the target model and the seconds. Continuous features have no ``table``."""

    table: ThresholdTable | None
    Q: float = np.nan
    lambda0: float = np.nan
    survives: NDArray[np.float64] | None = None  # for each threshold, the largest Q that keeps it
    target: ClassifierMixin | None = None
    seconds_target: float = np.nan
    seconds: float = np.nan
    statuses: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """The function of a method, its data sets (None: all), the library that it needs, and its settings."""

    discretize: Callable[[Fold], Iterator[Discretization]]
    datasets: tuple[str, ...] | None = None
    requires: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def boosting() -> GradientBoostingClassifier:
    """Create the paper's target model, gradient boosting."""
    return GradientBoostingClassifier(n_estimators=100, max_depth=1, learning_rate=0.1, random_state=SEED)


def forest() -> RandomForestClassifier:
    """Create the paper's second target model, a random forest."""
    return RandomForestClassifier(100, max_depth=4, random_state=SEED)


def linear_svm() -> SVC:
    """Create the paper's third target model, a linear SVM."""
    return SVC(kernel="linear", C=1.0)


def continuous(fold: Fold) -> Iterator[Discretization]:
    """Yield the continuous features without discretization."""
    yield Discretization(None, seconds=0.0)


def midpoints(fold: Fold) -> Iterator[Discretization]:
    """Yield a threshold between any two neighbouring values of each feature."""
    begin = time.perf_counter()
    table = MidpointDiscretizer().fit(fold.X, fold.y).thresholds_
    yield Discretization(table, seconds=time.perf_counter() - begin)


def gtre(fold: Fold) -> Iterator[Discretization]:
    """Yield the thresholds of GTRE (guessed thresholds from a reference ensemble) with the paper's gradient boosting."""
    begin = time.perf_counter()
    discretizer = GTREDiscretizer(boosting()).fit(fold.X, fold.y)
    table = discretizer.thresholds_
    yield Discretization(table, seconds=time.perf_counter() - begin, survives=_survival(table.count))


def _survival(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each threshold, the largest Q (in steps of 0.01) that keeps it.

    A threshold is kept if its count is at least the Q-quantile of all counts.
    """
    grid = np.arange(101) / 100
    kept = counts[:, None] >= np.quantile(counts, grid)[None, :]
    return grid[kept.shape[1] - 1 - np.argmax(kept[:, ::-1], axis=1)]


def _fcca(target: Callable[[], ClassifierMixin], margin: float, granularities: tuple[float, ...] = GRANULARITIES) -> Any:
    def discretize(fold: Fold) -> Iterator[Discretization]:
        begin = time.perf_counter()
        fitted = target().fit(fold.X, fold.y)
        seconds_target = time.perf_counter() - begin
        begin = time.perf_counter()
        discretizer = FCCADiscretizer(
            FrozenEstimator(fitted), p1=fold.p1, margin=margin, merge_tolerance=MERGE_TOLERANCE, preset="paper"
        )
        discretizer.fit(fold.X, fold.y)
        seconds = time.perf_counter() - begin
        statuses = discretizer.counterfactuals_.counts()
        for Q in granularities:
            table = discretizer.set_granularity(Q).thresholds_
            survives = _survival(discretizer.all_thresholds_.count) if granularities[0] == Q else None
            yield Discretization(table, Q, discretizer.lambda0, survives, fitted, seconds_target, seconds, statuses)

    return discretize


def lambda0_path(fold: Fold) -> Iterator[Discretization]:
    """Yield FCCA at Q = 0 for increasing values of λ0, the cost of each changed feature."""
    fitted = boosting().fit(fold.X, fold.y)
    for lambda0 in LAMBDA0_PATH:
        begin = time.perf_counter()
        discretizer = FCCADiscretizer(
            FrozenEstimator(fitted), p1=fold.p1, lambda0=lambda0, merge_tolerance=MERGE_TOLERANCE, preset="paper"
        ).fit(fold.X, fold.y)
        seconds = time.perf_counter() - begin
        statuses = discretizer.counterfactuals_.counts()
        yield Discretization(discretizer.thresholds_, 0.0, lambda0, None, fitted, np.nan, seconds, statuses)


def kbins(fold: Fold) -> Iterator[Discretization]:
    """Yield the bins of equal width of scikit-learn's KBinsDiscretizer."""
    begin = time.perf_counter()
    bins = KBinsDiscretizer(N_BINS, encode="ordinal", strategy="uniform", subsample=None).fit(fold.X)
    # scikit-learn's bins are [a, b), ours are (a, b]. So each threshold moves one floating-point step down.
    table = _table(fold, [np.nextafter(edges[1:-1], -np.inf) for edges in bins.bin_edges_])
    yield Discretization(table, seconds=time.perf_counter() - begin)


def _table(fold: Fold, cuts_by_feature: list[NDArray[np.float64]]) -> ThresholdTable:
    feature = np.repeat(np.arange(len(cuts_by_feature)), [len(cuts) for cuts in cuts_by_feature])
    cut = np.concatenate([*cuts_by_feature, np.empty(0)])
    table, _ = ThresholdTable.from_counts(fold.feature_names, feature.astype(np.int32), cut, np.ones(len(cut)))
    return table


def mdlp(fold: Fold) -> Iterator[Discretization]:
    """Yield the thresholds of Fayyad and Irani's minimum description length, computed for each column."""
    from optbinning import MDLP

    begin = time.perf_counter()
    splits = [np.asarray(MDLP().fit(column, fold.y).splits, dtype=np.float64) for column in fold.X.T]
    yield Discretization(_table(fold, splits), seconds=time.perf_counter() - begin)


def optimal_binning(fold: Fold) -> Iterator[Discretization]:
    """Yield the optimal bins of optbinning, computed for each column."""
    from optbinning import OptimalBinning

    begin = time.perf_counter()
    splits = []
    for name, column in zip(fold.feature_names, fold.X.T, strict=True):
        binning = OptimalBinning(name=name, dtype="numerical", solver="cp").fit(column, fold.y)
        splits.append(np.nextafter(np.asarray(binning.splits, dtype=np.float64), -np.inf))
    yield Discretization(_table(fold, splits), seconds=time.perf_counter() - begin)


BOOSTING = {"estimators": 100, "depth": 1, "learning_rate": 0.1, "seed": SEED, "merge": MERGE_TOLERANCE}
METHODS = {
    "continuous": Method(continuous),
    "midpoints": Method(midpoints),
    "gtre": Method(gtre, settings=BOOSTING),
    "fcca": Method(_fcca(boosting, 1e-4), settings=BOOSTING | {"Q": GRANULARITIES}),
    "fcca-forest": Method(_fcca(forest, 1e-4), datasets=("boston",), settings={"trees": 100, "depth": 4, "seed": SEED}),
    "fcca-svm": Method(_fcca(linear_svm, 1.0), datasets=("boston",), settings={"C": 1.0, "margin": 1.0}),
    "lambda0-path": Method(lambda0_path, settings=BOOSTING | {"lambda0": LAMBDA0_PATH}),
    "kbins": Method(kbins, settings={"bins": N_BINS}),
    "mdlp": Method(mdlp, requires="optbinning"),
    "optimal-binning": Method(optimal_binning, requires="optbinning"),
}
