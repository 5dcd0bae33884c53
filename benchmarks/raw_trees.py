"""Compare the CPU seconds of an optimal tree on raw columns in fcca and pycontree, with one thread.

Run: python benchmarks/raw_trees.py [--quick] [--data NAME …] [--depths N …] [--limit S] [--peer-limit S] [--early S …]
     [--json FILE]      (--quick: three small data sets at depth 3)

Both programs minimize the number of errors, and may split every column between any two neighbouring values. Missing values
are replaced by 0, because pycontree does not accept them. The data sets of pycontree's paper are read from the folder
``contree`` of FCCA_DATA. Both programs run in a separate process with a time limit. A fit that takes less than a second is
repeated, and the fastest one counts.

Then the search is stopped early, and the gap between the tree and its lower bound is printed. Last, the tree with the
default criterion and at most 8 leaves is searched on some data sets, for at most a minute.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

import _results
from _data import BREAST_CANCER
from fcca import OptimalTreeClassifier
from fcca.exceptions import UnfinishedSearchWarning
from trees import GRACE_SECONDS, fastest

Floats = NDArray[np.float64]

OWN_NAMES = ("boston", "ionosphere", BREAST_CANCER, "pima", "spambase", "magic")
PEER_NAMES = ("bank", "rice", "page", "room", "occupancy", "bidding", "fault", "eeg", "htru", "avila_train")
QUICK_NAMES = ("boston", "bank", "room")
DEEP_NAMES = ("bank", "rice", "page", "room", "boston", "pima", "occupancy")  # at depth 4
LIMIT = 300.0
EARLY_NAMES = ("magic", "eeg", "rice", "pima")
EARLY_SECONDS = (1.0, 5.0)
DEFAULT_NAMES = ("boston", BREAST_CANCER, "pima", "magic")
DEFAULT_SECONDS = 60.0
TWO_CLASS_BAR, MANY_CLASS_BAR = 20.0, 10.0


class Fit(NamedTuple):
    """One fit. ``bound`` is a lower bound on the number of errors of every tree."""

    seconds: float
    errors: int
    bound: float
    proven: bool
    gap: float = np.nan


def path_of(name: str) -> Path:
    folder = Path(os.environ.get("FCCA_DATA", "."))
    return folder / "contree" / f"{name}.txt.gz" if name in PEER_NAMES else folder / f"{name}.csv"


def at_hand(names: Sequence[str]) -> list[str]:
    """List the data sets that are available, and print which ones are left out. If none is available, use breast cancer."""
    found = [name for name in names if name == BREAST_CANCER or path_of(name).exists()]
    absent = [name for name in names if name not in found]
    if absent:
        _results.skipped(f"{', '.join(absent)}: not in the folder that FCCA_DATA names")
    return found or [BREAST_CANCER]


def load(name: str) -> tuple[Floats, NDArray[np.int64]]:
    """Read the columns and the class numbers of a data set."""
    if name == BREAST_CANCER:
        return load_breast_cancer(return_X_y=True)
    if name in PEER_NAMES:
        table = np.loadtxt(path_of(name))
        return table[:, 1:], np.unique(table[:, 0], return_inverse=True)[1]
    frame = pd.read_csv(path_of(name)).fillna(0)
    return frame.iloc[:, :-1].to_numpy(dtype=np.float64), np.unique(frame["label"], return_inverse=True)[1]


def fit_fcca(X: Floats, y: NDArray[np.int64], depth: int, limit: float) -> Fit:
    settings: dict[str, Any] = {"criterion": "error", "max_leaf_nodes": None, "regularization": 0.0, "time_limit": limit}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        seconds, tree = fastest(lambda: OptimalTreeClassifier(depth, **settings).fit(X, y))
    errors = int(np.sum(tree.predict(X) != y))
    return Fit(seconds, errors, round(tree.lower_bound_ * len(y), 3), tree.is_optimal_)


def fit_default(X: Floats, y: NDArray[np.int64], depth: int, limit: float) -> Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        seconds, tree = fastest(lambda: OptimalTreeClassifier(depth, time_limit=limit).fit(X, y))
    return Fit(seconds, int(np.sum(tree.predict(X) != y)), 0, tree.is_optimal_, tree.gap_)


def fit_pycontree(X: Floats, y: NDArray[np.int64], depth: int, limit: float) -> Fit:
    from pycontree import ConTree

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconds, peer = fastest(lambda: ConTree(depth, time_limit=limit).fit(X, y))
    proven = not any("time limit" in str(warning.message) for warning in caught)
    errors = int(np.sum(peer.predict(X) != y))
    return Fit(seconds, errors, errors if proven else 0, proven)


PROGRAMS = {"fcca": fit_fcca, "default": fit_default, "pycontree": fit_pycontree}


def _fit_apart(program: str, name: str, depth: int, limit: float, answer: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    X, y = load(name)
    with threadpool_limits(1):
        answer.send(PROGRAMS[program](X, y, depth, limit))


def fit(program: str, name: str, depth: int, limit: float) -> Fit:
    """Fit in a separate process. If it is killed after its time limit, its CPU seconds are unknown, and NaN."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_fit_apart, args=(program, name, depth, limit, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(limit + GRACE_SECONDS) else Fit(np.nan, -1, 0, False)
    except EOFError:
        return Fit(np.nan, -1, 0, False)
    finally:
        process.kill()
        process.join()


def in_words(found: Fit) -> str:
    errors = f"{found.errors:5} errors" if found.errors >= 0 else "no tree     "
    return f"{found.seconds:8.3f} s {errors}{'' if found.proven else ' open'}"


def compare(name: str, depth: int, limit: float, peer_limit: float) -> tuple[int, float]:
    """Print and record one line, and return the number of classes and how many times faster fcca is."""
    X, y = load(name)
    n_classes = int(y.max()) + 1
    own, peer = fit("fcca", name, depth, limit), fit("pycontree", name, depth, peer_limit)
    ratio = peer.seconds / own.seconds
    more = "" if peer.proven else "≥ "
    print(
        f"depth {depth}  {name:14} {len(X):6}×{X.shape[1]:<3} {n_classes:2} classes   fcca {in_words(own)}   "
        f"pycontree {in_words(peer)}   {more}{ratio:.1f} times",
        flush=True,
    )
    _results.row(
        "raw columns",
        data=name,
        depth=depth,
        rows=len(X),
        columns=X.shape[1],
        classes=n_classes,
        seconds=own.seconds,
        errors=own.errors,
        proven=own.proven,
        who="pycontree",
        **{"their seconds": peer.seconds, "their errors": peer.errors, "their proof": peer.proven},
        **{"times faster": ratio, "is at least": not peer.proven},
    )
    if own.proven and peer.proven and peer.errors != own.errors:
        print(f"----  pycontree's tree has {peer.errors} errors, the tree of fcca {own.errors}", flush=True)
    return n_classes, ratio if own.proven else np.nan


def show_gaps(names: list[str], depth: int, seconds: list[float]) -> None:
    for name in names:
        for limit in seconds:
            found = fit("fcca", name, depth, limit)
            gap = 1 - found.bound / found.errors if found.errors > 0 else 0.0
            print(f"depth {depth}  {name:14} stopped after {limit:g} s: {found.errors} errors, gap {gap:.1%}", flush=True)
            _results.row("raw columns, stopped early", data=name, depth=depth, seconds=limit, errors=found.errors, gap=gap)


def show_default(names: list[str], depth: int, limit: float) -> None:
    for name in names:
        found = fit("default", name, depth, limit)
        print(
            f"depth {depth}  {name:14} default criterion, 8 leaves: {found.seconds:8.3f} s, gap {found.gap:.1%}", flush=True
        )
        _results.row("raw columns, default criterion", data=name, depth=depth, seconds=found.seconds, gap=found.gap)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", nargs="+")
    parser.add_argument("--depths", nargs="+", type=int)
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--peer-limit", type=float, default=LIMIT)
    parser.add_argument("--early", nargs="*", type=float, default=list(EARLY_SECONDS))
    given = parser.parse_args()
    depths = given.depths or ([3] if given.quick else [3, 4])
    ratios: dict[bool, list[float]] = {False: [], True: []}
    for depth in depths:
        names = at_hand(given.data or (QUICK_NAMES if given.quick else DEEP_NAMES if depth > 3 else OWN_NAMES + PEER_NAMES))
        for name in names:
            n_classes, ratio = compare(name, depth, given.limit, given.peer_limit)
            if depth == 3:
                ratios[n_classes > 2].append(ratio)
        if not given.quick:
            show_gaps([name for name in names if name in EARLY_NAMES], depth, given.early)
            show_default([name for name in names if name in DEFAULT_NAMES], depth, min(given.limit, DEFAULT_SECONDS))
    for many, bar in ((False, TWO_CLASS_BAR), (True, MANY_CLASS_BAR)):
        if ratios[many]:
            median = float(np.median(ratios[many]))
            verdict = "PASS" if median >= bar else "MISS"
            print(
                f"{verdict}  {'many' if many else 'two'} classes at depth 3: median {median:.1f} times, expected ≥ {bar:g}"
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        _results.recorded(main)
