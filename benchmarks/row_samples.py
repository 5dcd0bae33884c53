"""Measure the random samples of rows that ``max_rows="auto"`` searches: their time, their intervals, and where they stop.

Run: python benchmarks/row_samples.py [--part fits orders] [--data NAME …] [--max-rows WORD …] [--tolerance T …]
     [--orders N] [--jobs N] [--json FILE]

``fits``: ``FCCADiscretizer(RandomForestClassifier())`` from start to table, on three quarters of the rows, and the accuracy
of the tree on the other quarter. ``--max-rows auto all`` compares a sample with all rows.

``orders``: all rows of a table are searched once, with a cheap black box. The rule of ``max_rows="auto"`` is then applied
to many random orders of the rows. A line tells in how many orders all intervals hold the true shares, how wide they are, and
how many rows are searched. ``--tolerance`` compares absolute parts of the tolerance.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

import _results
from _data import BREAST_CANCER, at_hand, load_frame
from fcca import FCCAClassifier, FCCADiscretizer, read_model
from fcca.discretizers import RowSample, _row_order, _row_sample, looks_up_to
from fcca.discretizers._row_order import RowOrder
from fcca.discretizers._row_sample import level_of
from fcca.exceptions import SampledRowsWarning, SpecialValuesWarning
from fcca.selection import most_frequent

SEED = 0
MOST_THRESHOLDS = 100  # the default of FCCADiscretizer
FITS = (BREAST_CANCER, "heloc", "adult")
ORDERS = ("magic", "heloc", "bank marketing")


def table_of(data: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Load the columns and labels of a table."""
    if data == BREAST_CANCER:
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        return X, y.to_numpy()
    frame = load_frame(data)
    return frame.drop(columns="label"), frame["label"].to_numpy()


# --- fits ---------------------------------------------------------------------------------------------------------------


class TimedDiscretizer(FCCADiscretizer):
    """A discretizer that notes the wall seconds and CPU seconds of its fit."""

    seconds: ClassVar[list[tuple[float, float]]] = []

    def _fit(self, *arguments: Any) -> Any:
        wall, processor = time.perf_counter(), time.process_time()
        try:
            return super()._fit(*arguments)
        finally:
            self.seconds.append((time.perf_counter() - wall, time.process_time() - processor))


def fits(data: str, max_rows: Any, n_jobs: int) -> None:
    """Fit the tree of a random forest, and print the seconds until the table of thresholds is found."""
    X, y = table_of(data)
    X, X_test, y, y_test = train_test_split(X, y, random_state=SEED, stratify=y)
    forest = RandomForestClassifier(random_state=SEED, n_jobs=n_jobs)
    model = FCCAClassifier(TimedDiscretizer(forest, max_rows=max_rows, n_jobs=n_jobs)).fit(X, y)
    (wall, processor), found = TimedDiscretizer.seconds[-1], model.discretizer_
    searched, n_rows = len(found.counterfactuals_), len(X)
    accuracy, thresholds = float(model.score(X_test, y_test)), len(found.thresholds_)
    print(
        f"{data:15}{max_rows!s:>9}{n_rows:8,}{searched:10,}{wall:9.1f}{processor:9.1f}{len(found.all_thresholds_):9,}"
        f"{thresholds:6}{accuracy:10.2%}",
        flush=True,
    )
    figures = {"rows": n_rows, "searched": searched, "wall s": wall, "CPU s": processor, "thresholds kept": thresholds}
    _results.row("from start to table", data=data, max_rows=str(max_rows), **figures, accuracy=accuracy)


# --- orders -------------------------------------------------------------------------------------------------------------


class KnownCrossings:
    """The conditions that the counterfactual of each row crosses, from a search of all rows."""

    def __init__(self, data: str, n_jobs: int) -> None:
        X, y = table_of(data)
        X = X.select_dtypes("number").fillna(X.median(numeric_only=True))
        model = FCCADiscretizer(GradientBoostingClassifier(max_depth=2, random_state=SEED), max_rows="all", n_jobs=n_jobs)
        model.fit(X, y)
        found = model.counterfactuals_
        self.table = model.all_thresholds_
        self.rows = X.to_numpy(dtype=np.float64)[found.rows]
        self.classes = np.unique(model.estimator_.predict(X.iloc[found.rows]), return_inverse=True)[1].astype(np.int32)
        point, first = model.crossing_points()
        self.point, self.condition = point, np.repeat(np.arange(len(self.table)), np.diff(first))
        trees = read_model(model.estimator_)
        cuts = np.column_stack([trees.feature, trees.threshold])[trees.feature >= 0]
        self.n_conditions = len(np.unique(cuts, axis=0)) + X.shape[1]

    def counts(self, order: RowOrder, size: int) -> NDArray[np.float64]:
        """Count the rows of a sample that cross each condition."""
        weight = order.weights(size, len(self.rows))
        return np.bincount(self.condition, weight[self.point], len(self.table))

    def stopped(self, order: RowOrder) -> tuple[RowSample | None, NDArray[np.float64]]:
        """Apply the rule of ``max_rows="auto"``. The sample is None if all rows are searched."""
        for size in looks_up_to(order.n_units, order.n_units):
            sampled = order.sampled(size)
            level = level_of(size, order.n_units, "settled", has_looks=True)
            sample = RowSample(
                size, int(sampled.sum()), order.n_units, "settled", level, self.n_conditions, sampled, order.sizes, 1.0
            )
            count = self.counts(order, size)
            seen = np.flatnonzero(count > 0)
            table = replace(self.table.select(seen), count=count[seen])
            if sample.is_settled(table, most_frequent(table, 0.0, MOST_THRESHOLDS)):
                return sample, count
        return None, self.table.count


def orders(known: KnownCrossings, data: str, tolerance: float, n_orders: int) -> None:
    """Apply the rule to many orders of the rows, and print how often all intervals hold the true shares."""
    true = known.table.count / len(known.rows)
    held, searched, widths, top = 0, [], [], np.argsort(-true, kind="stable")[:MOST_THRESHOLDS]
    for seed in range(n_orders):
        with mock.patch.object(_row_order, "SEED", seed), mock.patch.object(_row_sample, "TOLERANCE", tolerance):
            order = RowOrder.of(known.rows, known.classes)
            assert order is not None
            sample, count = known.stopped(order)
        searched.append(order.n_units if sample is None else sample.n_searched)
        if sample is None:
            held += 1
            continue
        _, low, high = sample.shares(count)
        held += bool(((low <= true + 1e-12) & (true <= high + 1e-12)).all())
        widths.append(np.median(high[top] - low[top]))
    n_rows, stopped = len(known.rows), len(widths)
    median = float(np.median(widths)) if widths else 0.0
    print(
        f"{data:15}{tolerance:10.3f}{n_rows:8,}{held:8} of {n_orders:<6}{stopped:8}{np.median(searched):10,.0f}"
        f"{max(searched):10,}{median:10.4f}{max(widths, default=0.0):10.4f}",
        flush=True,
    )
    figures = {"rows": n_rows, "orders": n_orders, "all shares held": held, "stopped early": stopped}
    more = {"median rows searched": float(np.median(searched)), "median width": median}
    _results.row("orders of the rows", data=data, tolerance=tolerance, **figures, **more)


def main() -> None:
    """Run the parts of the benchmark and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=["fits", "orders"], default=["fits", "orders"])
    parser.add_argument("--data", nargs="+")
    parser.add_argument("--max-rows", nargs="+", default=["auto"], help="auto, all or a number")
    parser.add_argument("--tolerance", nargs="+", type=float, default=[_row_sample.TOLERANCE])
    parser.add_argument("--orders", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    for kind in (SampledRowsWarning, SpecialValuesWarning):
        warnings.simplefilter("ignore", kind)
    if "fits" in options.part:
        head = f"{'data':15}{'max_rows':>9}{'rows':>8}{'searched':>10}{'wall s':>9}{'CPU s':>9}{'found':>9}{'kept':>6}"
        print(f"{head}{'held out':>10}")
        for data in at_hand(options.data or FITS):
            for word in options.max_rows:
                fits(data, int(word) if word.isdigit() else word, options.jobs)
    if "orders" in options.part:
        print(
            f"{'data':15}{'tolerance':>10}{'rows':>8}{'all shares held':>18}{'stopped':>8}{'median':>10}{'most rows':>10}"
            f"{'width':>10}{'widest':>10}"
        )
        for data in at_hand(options.data or ORDERS):
            known = KnownCrossings(data, options.jobs)
            for tolerance in options.tolerance:
                orders(known, data, tolerance, options.orders)


if __name__ == "__main__":
    _results.recorded(main)
