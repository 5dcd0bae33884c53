"""Compare three ways to choose k thresholds: inconsistency, time to the proof, and accuracy of the tree."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.frozen import FrozenEstimator

from _data import PaperData, load_paper_data, paper_target
from fcca import FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer, OptimalTreeClassifier, ThresholdTable
from fcca.metrics import inconsistency_rate
from fcca.selection import OptimalSelection, Selection

WAYS = ("frequency", "greedy", "optimal")
TREE_DEPTH = 3  # with the default regularization, which is the paper's
BINS_OF_A_PERSON = 5

Positions = Sequence[int]


class Rows(NamedTuple):
    """Rows with their labels."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]


class Fold(NamedTuple):
    """The thresholds of one fold, before any choice, and its rows."""

    data: str
    number: int
    table: ThresholdTable
    training: Rows
    held_out: Rows
    external: Rows


class Cell(NamedTuple):
    """One data set, fold and k.

    For each way of choosing, ``wrong`` is the number of training rows without the most frequent label of their group, and
    ``counts`` is the sum of the counts of the chosen conditions.
    """

    data: str
    fold: int
    k: int
    n_rows: int
    wrong: dict[str, int]
    counts: dict[str, float]
    bound: float
    proven: bool
    seconds: float
    accuracy: dict[str, float]
    external: dict[str, float]

    def share(self, way: str) -> float:
        """Inconsistency on the training rows."""
        return self.wrong[way] / self.n_rows

    @property
    def contradiction(self) -> str:
        """Description of a result that contradicts the search; empty if there is none."""
        here = f"{self.data}, fold {self.fold}, k = {self.k}"
        best, counted = self.wrong["optimal"], self.counts["optimal"]
        for way in ("frequency", "greedy"):
            if self.wrong[way] < best:
                return f"{here}: {way} leaves {self.wrong[way]} rows inconsistent, the search {best}"
            if self.proven and self.wrong[way] == best and self.counts[way] > counted + 1e-9:
                return f"{here}: {way} ties and is counted {self.counts[way]:g} times, the search's {counted:g} times"
        rows = self.bound * self.n_rows
        if rows > best + 1e-6 or (self.proven and rows < best - 1e-6):
            return f"{here}: a bound of {rows:g} rows for a choice that leaves {best}, proven: {self.proven}"
        return ""


class Timed(NamedTuple):
    """The result of a search after a time limit."""

    data: str
    k: int
    limit: float
    inconsistency: float
    bound: float
    gap: float
    proven: bool


def folds(name: str, n: int) -> Iterator[Fold]:
    """Yield the first n folds of a data set, with the paper's thresholds at Q = 0."""
    data = load_paper_data(name)
    for number, (training, held_out) in enumerate(data.folds()[:n], start=1):
        X, y = data.X[training], data.y[training]
        target = FrozenEstimator(paper_target().fit(X, y))
        table = FCCADiscretizer(target, p1=data.p1, preset="paper").fit(X, y).thresholds_
        held = Rows(data.X[held_out], data.y[held_out])
        yield Fold(name, number, table, Rows(X, y), held, Rows(data.external_rows, data.external_labels))


def wrong_rows(B: NDArray[np.int8], y: NDArray[np.int64], chosen: Positions) -> int:
    """Count the rows without the most frequent label among rows that are equal on the chosen columns."""
    return round(inconsistency_rate(B[:, list(chosen)], y) * len(y))


def by_frequency(table: ThresholdTable) -> list[int]:
    """Return all conditions, the most frequent first. Ties are ordered by position."""
    order: list[int] = np.argsort(-table.count, kind="stable").tolist()
    return order


def greedily(table: ThresholdTable, rows: Rows, n: int) -> list[int]:
    """Choose n conditions greedily: always add the one that lowers the inconsistency most.

    Ties go to the higher count, then to the first position.
    """
    B = table.binarize(rows.X)
    chosen: list[int] = []
    while len(chosen) < min(n, len(table)):
        left = (at for at in range(len(table)) if at not in chosen)
        chosen.append(min(left, key=lambda at: (wrong_rows(B, rows.y, [*chosen, at]), -table.count[at], at)))
    return chosen


def searched(table: ThresholdTable, rows: Rows, k: int, limit: float) -> tuple[Selection, float]:
    """Return the choice of the search, and its CPU seconds."""
    begin = time.process_time()
    found = OptimalSelection(n_thresholds=k, time_limit=limit).select(table, rows.X, rows.y)
    return found, time.process_time() - begin


def tree_accuracies(table: ThresholdTable, training: Rows, chosen: Positions, *others: Rows) -> list[float]:
    """Compute the accuracy of the optimal tree on the chosen columns for other rows; NaN without rows."""
    at = list(chosen)
    tree = OptimalTreeClassifier(max_depth=TREE_DEPTH, max_leaf_nodes=None, criterion="error").fit(
        table.binarize(training.X)[:, at], training.y
    )
    return [tree.score(table.binarize(rows.X)[:, at], rows.y) if len(rows.y) else np.nan for rows in others]


def cells(fold: Fold, ks: Sequence[int], limit_of: dict[int, float]) -> Iterator[Cell]:
    """Yield one cell for every k."""
    table, rows = fold.table, fold.training
    B = table.binarize(rows.X)
    frequent, greedy = by_frequency(table), greedily(table, rows, max(ks))
    for k in ks:
        found, seconds = searched(table, rows, k, limit_of[k])
        chosen = {"frequency": frequent[:k], "greedy": greedy[:k], "optimal": np.flatnonzero(found.kept).tolist()}
        accuracy = {
            way: tree_accuracies(table, rows, sorted(at), fold.held_out, fold.external) for way, at in chosen.items()
        }
        yield Cell(
            data=fold.data,
            fold=fold.number,
            k=k,
            n_rows=len(rows.y),
            wrong={way: wrong_rows(B, rows.y, at) for way, at in chosen.items()},
            counts={way: float(table.count[at].sum()) for way, at in chosen.items()},
            bound=found.lower_bound,
            proven=found.is_optimal,
            seconds=seconds,
            accuracy={way: found[0] for way, found in accuracy.items()},
            external={way: found[1] for way, found in accuracy.items()},
        )


def over_time(fold: Fold, ks: Sequence[int], limits: Sequence[float]) -> Iterator[Timed]:
    """Run the search for every k and every limit, until there is a proof."""
    for k in ks:
        found: Selection | None = None
        for limit in limits:
            if found is None or not found.is_optimal:
                found, _ = searched(fold.table, fold.training, k, limit)
            yield Timed(fold.data, k, limit, found.inconsistency, found.lower_bound, found.gap, found.is_optimal)


def sources(data: PaperData) -> Iterator[tuple[str, ThresholdTable, Rows]]:
    """Yield thresholds that do not come from counterfactuals, for the first fold."""
    training = data.folds()[0][0]
    rows = Rows(data.X[training], data.y[training])
    yield "GTRE", GTREDiscretizer(paper_target()).fit(*rows).thresholds_, rows
    yield "midpoints, 8 a column", MidpointDiscretizer(max_thresholds=8).fit(rows.X).thresholds_, rows
    shares = np.arange(1, BINS_OF_A_PERSON) / BINS_OF_A_PERSON
    asked = [
        (name, float(cut))
        for name, x in zip(data.feature_names, rows.X.T, strict=True)
        for cut in np.unique(np.quantile(x, shares, method="inverted_cdf"))
        if x.min() <= cut < x.max()
    ]
    yield "quintiles, by hand", ThresholdTable.from_list(asked, data.feature_names), rows


def from_source(table: ThresholdTable, rows: Rows, k: int, limit: float) -> dict[str, Any]:
    """Compute the inconsistency of each way of choosing, and the proof.

    If all counts are equal, there is no choice by frequency.
    """
    B = table.binarize(rows.X)
    found, seconds = searched(table, rows, k, limit)
    counted = np.ptp(table.count) > 0
    frequent = wrong_rows(B, rows.y, by_frequency(table)[:k]) / len(rows.y) if counted else np.nan
    return {
        "conditions": len(table),
        "frequency": frequent,
        "greedy": wrong_rows(B, rows.y, greedily(table, rows, k)) / len(rows.y),
        "optimal": found.inconsistency,
        "bound": found.lower_bound,
        "proof": found.proof,
        "seconds": seconds,
    }


class Interval(NamedTuple):
    """Mean of paired differences and half the width of its 95 % t-interval."""

    mean: float
    half: float

    @classmethod
    def of(cls, differences: Sequence[float]) -> Interval:
        """Compute the interval from one difference per fold."""
        n = len(differences)
        half = stats.t.ppf(0.975, n - 1) * np.std(differences, ddof=1) / np.sqrt(n) if n > 1 else np.nan
        return cls(float(np.mean(differences)), float(half))

    @property
    def verdict(self) -> str:
        """``"better"`` or ``"worse"`` if the interval excludes zero, otherwise empty."""
        if self.mean - self.half > 0:
            return "better"
        return "worse" if self.mean + self.half < 0 else ""

    def __str__(self) -> str:
        if np.isnan(self.half):
            return f"{100 * self.mean:+.1f}"  # one fold alone
        mark = {"better": " ▲", "worse": " ▼", "": ""}[self.verdict]
        return f"{100 * self.mean:+.1f} ± {100 * self.half:.1f}{mark}"
