"""Compare deep optimal trees with pystreed on one-hot tables, and early trees with LicketySPLIT on guessed thresholds.

Run: python benchmarks/deep_trees.py [--quick] [--parts one-hot guessed] [--data NAME …] [--depths N …] [--limit S]
     [--rows-per-leaf N] [--json FILE]      (--quick: german_credit and spambase, without depth 5)

Part "one-hot": every column of a table becomes one 0/1 column per category. A missing value is a category too. Columns of
numbers are first cut at their deciles, so that each bin is a category. At most 9,000 rows are used. Both programs minimize
error share + 10/n · leaves. pystreed penalizes branch nodes, whose number is one less than the number of leaves.

Part "guessed": the 0/1 columns are the thresholds that LicketySPLIT's binarizer guesses. Both programs minimize
error share + λ · leaves. The search of fcca is stopped after various times. Its best tree among the fits that took no more
CPU seconds than LicketySPLIT is compared. Then the search runs to its proof.

Every fit runs in a separate process with one thread. A fit that takes less than a second is repeated, and the fastest one
counts. The objectives are recomputed from the predictions and the leaves.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import _results
from _quality_tables import load_table, readable
from fcca import OptimalTreeClassifier
from fcca.exceptions import UnfinishedSearchWarning
from trees import GRACE_SECONDS, fastest, say

Table = NDArray[np.uint8]
Labels = NDArray[np.int64]

ONE_HOT, GUESSED = "one-hot", "guessed"
ONE_HOT_NAMES = ("adult", "bank_marketing", "german_credit", "titanic")
GUESSED_NAMES = ("compas", "heloc", "magic", "spambase")
ONE_HOT_DEPTHS, GUESSED_DEPTHS = (3, 4, 5), (4, 5)
LIMIT = 60.0
ROWS_PER_LEAF = 10.0
N_BINS = 10
#: For each table: how many stumps the binarizer fits, and the cost per leaf.
GUESSES = {"compas": (100, 0.001), "heloc": (40, 0.001), "magic": (40, 0.001), "spambase": (40, 0.001)}
SAME = 1e-9
#: Time limits of the stopped searches, as shares of the CPU seconds of LicketySPLIT, and how often each is tried.
SHARES, N_TRIES = (0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 8.0), 3


class Fit(NamedTuple):
    """One fit: its CPU seconds, its objective with the cost of the leaves, and whether it is proven."""

    seconds: float
    objective: float
    proven: bool


class Case(NamedTuple):
    """A table of 0/1 columns."""

    name: str
    table: Table
    y: Labels
    regularization: float

    @property
    def size(self) -> str:
        return f"{self.table.shape[0]}×{self.table.shape[1]}"


# --- the tables -------------------------------------------------------------------------------------------------------


def binned(column: pd.Series) -> pd.Series:
    """Replace numbers by the number of their decile bin; equal deciles are merged."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return column
    deciles = np.unique(np.nanquantile(column, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    return pd.Series(np.searchsorted(deciles, column.to_numpy()), index=column.index).where(column.notna())


@lru_cache(maxsize=1)
def one_hot(name: str, rows_per_leaf: float) -> Case:
    X, y = load_table(name)
    table = pd.get_dummies(X.apply(binned).astype(object), dummy_na=True).to_numpy(dtype=np.uint8)
    table = np.ascontiguousarray(table[:, table.any(axis=0)])
    return Case(name, table, np.unique(y, return_inverse=True)[1], rows_per_leaf / len(y))


@lru_cache(maxsize=1)
def guessed(name: str) -> Case:
    """Return the thresholds that LicketySPLIT's binarizer guesses, as binary columns."""
    from licketysplit import ThresholdGuessBinarizer

    X, y = load_table(name)
    codes = np.unique(y, return_inverse=True)[1]
    numbers = pd.get_dummies(X).fillna(0).to_numpy(dtype=np.float64)
    n_stumps, regularization = GUESSES.get(name, (40, 0.001))
    binarizer = ThresholdGuessBinarizer(max_depth=1, n_estimators=n_stumps, column_elimination=False, random_state=0)
    table = np.asarray(binarizer.fit(numbers, codes).transform(numbers)).astype(np.uint8)
    return Case(name, np.ascontiguousarray(table), codes, regularization)


# --- the fits ---------------------------------------------------------------------------------------------------------


def fitted(case: Case, depth: int, limit: float) -> OptimalTreeClassifier:
    settings: dict[str, Any] = {"criterion": "error", "max_leaf_nodes": None, "time_limit": limit}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        return OptimalTreeClassifier(depth, regularization=case.regularization, **settings).fit(case.table, case.y)


def objective(tree: OptimalTreeClassifier, case: Case) -> float:
    wrong, leaves = np.mean(tree.predict(case.table) != case.y), len(np.unique(tree.apply(case.table)))
    return float(wrong + case.regularization * leaves)


def fit_fcca(case: Case, depth: int, limit: float) -> Fit:
    seconds, tree = fastest(lambda: fitted(case, depth, limit))
    return Fit(seconds, objective(tree, case), tree.is_optimal_)


def fit_fcca_within(case: Case, depth: int, limit: float) -> Fit:
    """Fit with various time limits, and return the best fit that took at most ``limit`` CPU seconds.

    A time limit is in seconds of the clock. On a busy machine these are more than the CPU seconds.
    """
    best = Fit(np.nan, np.inf, False)
    for stop_after in [limit * share for share in SHARES for _ in range(N_TRIES)]:
        begin = time.process_time()
        tree = fitted(case, depth, stop_after)
        found = Fit(time.process_time() - begin, objective(tree, case), tree.is_optimal_)
        if found.seconds <= limit and (found.objective, found.seconds) < (best.objective, best.seconds):
            best = found
    return best


def fit_pystreed(case: Case, depth: int, limit: float) -> Fit:
    from pystreed import STreeDClassifier

    X, y = case.table.astype(np.int32), case.y.astype(np.int32)
    settings = {"max_depth": depth, "cost_complexity": case.regularization, "time_limit": limit}
    seconds, peer = fastest(lambda: STreeDClassifier("cost-complex-accuracy", **settings).fit(X, y))
    if not hasattr(peer, "tree_"):
        return Fit(seconds, np.nan, False)
    leaves = peer.get_tree().get_num_branching_nodes() + 1
    return Fit(seconds, float(np.mean(peer.predict(X) != y) + case.regularization * leaves), peer.fit_result.is_optimal())


def fit_licketysplit(case: Case, depth: int, limit: float) -> Fit:
    from licketysplit import LicketySPLITClassifier

    settings = {"lambda_leaf": case.regularization, "depth_budget": depth}
    seconds, peer = fastest(lambda: LicketySPLITClassifier(**settings).fit(case.table, case.y))
    leaves = len(peer.get_tree_paths()[0])
    return Fit(seconds, float(np.mean(peer.predict(case.table) != case.y) + case.regularization * leaves), False)


PROGRAMS: dict[str, Callable[[Case, int, float], Fit]] = {
    "fcca": fit_fcca,
    "fcca within": fit_fcca_within,
    "pystreed": fit_pystreed,
    "LicketySPLIT": fit_licketysplit,
}


def _fit_apart(program: str, case: Case, depth: int, limit: float, answer: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with threadpool_limits(1):
        answer.send(PROGRAMS[program](case, depth, limit))


def fit(program: str, case: Case, depth: int, limit: float) -> Fit:
    """Fit in a separate process. If it does not keep its time limit, it is killed, and it has no tree."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_fit_apart, args=(program, case, depth, limit, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(limit + GRACE_SECONDS) else Fit(limit, np.nan, False)
    except EOFError:
        return Fit(np.nan, np.nan, False)
    finally:
        process.kill()
        process.join()


def text_of(found: Fit) -> str:
    return f"{found.seconds:9.4f} s {found.objective:.6f}{'' if found.proven else ' open'}"


# --- one-hot columns --------------------------------------------------------------------------------------------------


def compare_one_hot(case: Case, depth: int, limit: float, has_peer: bool) -> tuple[bool, list[str]]:
    """Print and record one line. Return whether fcca is not slower, and a difference of the proven objectives."""
    own = fit("fcca", case, depth, limit)
    text = f"one-hot  {case.name:<15}{case.size:>10}  depth {depth}   fcca {text_of(own)}"
    line: dict[str, Any] = {"data": case.name, "table": case.size, "depth": depth, "seconds": own.seconds}
    line |= {"objective": own.objective, "proven": own.proven}
    if not has_peer:
        print(text, flush=True)
        _results.row("One-hot columns", **line)
        return True, []
    peer = fit("pystreed", case, depth, limit)
    ratio = peer.seconds / own.seconds
    print(f"{text}   pystreed {text_of(peer)}   {'' if peer.proven else '≥ '}{ratio:.2f} times", flush=True)
    theirs = {"their seconds": peer.seconds, "their objective": peer.objective, "their proof": peer.proven}
    has_ratio = own.proven or peer.proven
    times = {"times faster": ratio if has_ratio else None, "is at least": not peer.proven}
    _results.row("One-hot columns", **line, who="pystreed", **theirs, **times)
    differs = own.proven and peer.proven and abs(own.objective - peer.objective) > SAME
    difference = f"{case.name} depth {depth}: pystreed {peer.objective:.6f}, fcca {own.objective:.6f}"
    return (own.proven and ratio >= 1) or not peer.proven, [difference] if differs else []


def run_one_hot(names: list[str], depths: list[int], limit: float, rows_per_leaf: float) -> None:
    has_peer = _results.is_installed("pystreed")
    slower, different, n_cases = [], [], 0
    for name in names:
        for depth in depths:
            is_fast, found = compare_one_hot(one_hot(name, rows_per_leaf), depth, limit, has_peer)
            different += found
            slower += [] if is_fast else [f"{name} depth {depth}"]
            n_cases += 1
    if has_peer and n_cases:
        say(
            not slower,
            f"one-hot: never slower than pystreed in {n_cases} cases{': not ' if slower else ''}{', '.join(slower)}",
        )
        for text in different:
            print(f"----  {text}", flush=True)
        say(not any(_is_worse(text) for text in different), "one-hot: no proven tree of pystreed is better")


def _is_worse(difference: str) -> bool:
    """True if the objective of pystreed, the first number, is the lower one."""
    theirs, ours = (float(part.split()[-1]) for part in difference.split(","))
    return theirs < ours


# --- guessed thresholds -----------------------------------------------------------------------------------------------


def compare_guessed(case: Case, depth: int, limit: float) -> bool:
    """Print and record one line. Return whether the tree of fcca is no worse within the seconds of LicketySPLIT."""
    peer = fit("LicketySPLIT", case, depth, limit)
    early, proven = fit("fcca within", case, depth, peer.seconds), fit("fcca", case, depth, limit)
    print(
        f"guessed  {case.name:<15}{case.size:>10}  depth {depth}   λ {case.regularization:g}   "
        f"LicketySPLIT {text_of(peer)}   "
        f"fcca by then {text_of(early)}   to the end {text_of(proven)}",
        flush=True,
    )
    _results.row(
        "Guessed thresholds",
        data=case.name,
        table=case.size,
        depth=depth,
        regularization=case.regularization,
        **{"their seconds": peer.seconds, "their objective": peer.objective, "seconds by then": early.seconds},
        **{"objective by then": early.objective, "seconds to the proof": proven.seconds, "objective": proven.objective},
        proven=proven.proven,
    )
    return early.objective <= peer.objective + SAME


def run_guessed(names: list[str], depths: list[int], limit: float) -> None:
    if not _results.is_installed("licketysplit", "LicketySPLIT"):
        return
    worse = [
        f"{name} depth {depth}" for name in names for depth in depths if not compare_guessed(guessed(name), depth, limit)
    ]
    n_cases = len(names) * len(depths)
    text = f"guessed: within the seconds of LicketySPLIT, no worse tree in {n_cases - len(worse)} of {n_cases} cases"
    say(not worse, f"{text}{': not ' if worse else ''}{', '.join(worse)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=(ONE_HOT, GUESSED), default=[ONE_HOT, GUESSED])
    parser.add_argument("--data", nargs="+")
    parser.add_argument("--depths", nargs="+", type=int)
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--rows-per-leaf", type=float, default=ROWS_PER_LEAF)
    given = parser.parse_args()
    begin = time.monotonic()
    if ONE_HOT in given.parts:
        wanted = given.data or (("german_credit",) if given.quick else ONE_HOT_NAMES)
        depths = given.depths or [depth for depth in ONE_HOT_DEPTHS if depth < 5 or not given.quick]
        run_one_hot(readable([name for name in ONE_HOT_NAMES if name in wanted]), depths, given.limit, given.rows_per_leaf)
    if GUESSED in given.parts:
        wanted = given.data or (("spambase",) if given.quick else GUESSED_NAMES)
        depths = given.depths or [depth for depth in GUESSED_DEPTHS if depth < 5 or not given.quick]
        run_guessed(readable([name for name in GUESSED_NAMES if name in wanted]), depths, given.limit)
    print(f"in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    _results.recorded(main)
