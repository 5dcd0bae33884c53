"""Compare the CPU seconds of an optimal tree in fcca, pystreed, gosdt and pycontree, with one thread.

Run: python benchmarks/trees.py [--quick] [--data NAME …] [--depths N …] [--limit S] [--own-limit S] [--rows N]
     [--json FILE]      (--quick: two small data sets, at most 5 s for a peer, 100,000 rows)

The columns are ``x > t`` for all distinct thresholds of a gradient boosting model with 100 trees, of depth 1 and of depth 3.
All programs minimize error share + 10/n · leaves. pystreed and pycontree penalize branch nodes, whose number is one less
than the number of leaves. pycontree gets the continuous columns, so its tree can only be better. Every peer runs in a
separate process and is stopped at its time limit. For all programs, a fit that takes less than a second is repeated, and the
fastest one counts.

Then the other criteria are compared with the error: at depth 3 on the same tables, and at depth 4 with at most eight leaves
on 60 and 100 of the columns. If the time limit stopped the search, the gap is printed. The costs per leaf are the defaults.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from threadpoolctl import threadpool_limits

import _results
from _data import BREAST_CANCER, at_hand, load_frame
from fcca import OptimalTreeClassifier
from fcca.exceptions import UnfinishedSearchWarning
from million import STATUS, PeakMemory

Floats = NDArray[np.float64]
Table = NDArray[np.uint8]

NAMES = ("boston", "ionosphere", BREAST_CANCER, "arrhythmia", "magic")
MAGIC_ROWS = 4000
ROWS_PER_LEAF = 10.0
OWN_LIMIT, QUICK_LIMIT = 60.0, 5.0
PEER_LIMITS = {"pystreed": 120.0, "gosdt": 60.0, "pycontree": 120.0}
GRACE_SECONDS = 20.0  # beyond the time limit, for imports and for a limit that is kept late
REPEAT_SECONDS = 1.0
WIDE = 260  # columns
SINGLE_PRECISION = 1e-5  # gosdt's objective is a 32-bit number

PYSTREED_BAR, GOSDT_BAR = 20.0, 50.0
DEPTH_4_COLUMNS, DEPTH_4_SECONDS = (260, 300), 1.5
MAGIC_SECONDS, MAGIC_EARLY, MAGIC_GAP = 15.0, 5.0, 0.40
BY_ERROR: dict[str, Any] = {"criterion": "error", "max_leaf_nodes": None}  # what the peers minimise
CRITERIA = ("error", "gini", "log_loss", "evidence", "error+log_loss")
CRITERION_BAR = 20.0  # times the error's time at depth 3
FEW_COLUMNS, FEW_LEAVES, FEW_SECONDS = (60, 100), 8, 10.0
MANY_ROWS, QUICK_ROWS, N_COLUMNS = 1_000_000, 100_000, 53
MANY_SECONDS, MANY_MEGABYTES = 1.5, 300.0


class Fit(NamedTuple):
    """One fit. The objective includes the cost of the leaves; it is NaN if there is no result."""

    seconds: float
    objective: float
    proven: bool
    note: str = ""


@dataclass(frozen=True)
class Case:
    """One data set with the thresholds of one gradient boosting model."""

    name: str
    X: Floats
    y: NDArray[np.int64]
    table: Table

    @property
    def regularization(self) -> float:
        return ROWS_PER_LEAF / len(self.y)


def load(name: str) -> tuple[Floats, NDArray[np.int64]]:
    if name == BREAST_CANCER:
        X, y = load_breast_cancer(return_X_y=True)
        return X, y
    frame = load_frame(name)
    if name == "magic":
        frame = frame.sample(MAGIC_ROWS, random_state=1)
    return frame.iloc[:, :-1].to_numpy(dtype=np.float64), frame["label"].to_numpy().astype(np.int64)


def boosted_table(X: Floats, y: NDArray[np.int64], depth: int) -> Table:
    """Return the binary columns ``x > t`` for every threshold of a fitted gradient boosting model."""
    model = GradientBoostingClassifier(max_depth=depth, random_state=0).fit(X, y)
    trees = [tree.tree_ for tree in model.estimators_.ravel()]
    cuts = {(int(j), float(t)) for tree in trees for j, t in zip(tree.feature, tree.threshold, strict=True) if j >= 0}
    return np.column_stack([X[:, j].astype(np.float32) > t for j, t in sorted(cuts)]).astype(np.uint8)


# --- the fits ---------------------------------------------------------------------------------------------------------


def fastest(fit: Callable[[], Any]) -> tuple[float, Any]:
    """Repeat a fit for up to a second, at least once, and return the CPU seconds of the fastest."""
    best, spent, fitted = np.inf, 0.0, None
    while spent < REPEAT_SECONDS:
        begin = time.process_time()
        fitted = fit()
        seconds = time.process_time() - begin
        best, spent = min(best, seconds), spent + max(seconds, 1e-3)
    return best, fitted


def fit_fcca(case: Case, depth: int, limit: float) -> Fit:
    settings = {**BY_ERROR, "regularization": case.regularization, "time_limit": limit}
    seconds, tree = fastest(lambda: OptimalTreeClassifier(depth, **settings).fit(case.table, case.y))
    wrong = np.mean(tree.predict(case.table) != case.y)
    leaves = len(np.unique(tree.apply(case.table)))
    note = "" if tree.is_optimal_ else f"gap {tree.gap_:.1%}"
    return Fit(seconds, float(wrong + case.regularization * leaves), tree.is_optimal_, note)


def fit_pystreed(case: Case, depth: int, limit: float) -> Fit:
    from pystreed import STreeDClassifier

    X, y = case.table.astype(np.int32), case.y.astype(np.int32)
    settings = {"max_depth": depth, "cost_complexity": case.regularization, "time_limit": limit}
    seconds, peer = fastest(lambda: STreeDClassifier("cost-complex-accuracy", **settings).fit(X, y))
    leaves = peer.get_tree().get_num_branching_nodes() + 1
    return Fit(seconds, float(np.mean(peer.predict(X) != y) + case.regularization * leaves), peer.fit_result.is_optimal())


def fit_gosdt(case: Case, depth: int, limit: float) -> Fit:
    from gosdt import GOSDTClassifier, Status

    settings = {"depth_budget": depth, "time_limit": int(limit)}
    X = case.table.astype(bool)
    seconds, peer = fastest(lambda: GOSDTClassifier(case.regularization, **settings).fit(X, case.y))
    return Fit(seconds, float(peer.result_.upperbound), peer.result_.status == Status.CONVERGED)


def fit_pycontree(case: Case, depth: int, limit: float) -> Fit:
    from pycontree import ConTree

    settings = {"complexity_cost": case.regularization, "time_limit": limit}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconds, peer = fastest(lambda: ConTree(depth, **settings).fit(case.X, case.y))
    leaves = peer.get_num_leaf_nodes()
    proven = not any("time limit" in str(warning.message) for warning in caught)
    return Fit(seconds, float(np.mean(peer.predict(case.X) != case.y) + case.regularization * leaves), proven)


PEERS: dict[str, Callable[[Case, int, float], Fit]] = {
    "pystreed": fit_pystreed,
    "gosdt": fit_gosdt,
    "pycontree": fit_pycontree,
}


def _fit_apart(peer: str, case: Case, depth: int, limit: float, answer: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # gosdt prints from C++, too
    with threadpool_limits(1):
        fit = PEERS[peer](case, depth, limit)
    answer.send(fit)


def fit_peer(peer: str, case: Case, depth: int, limit: float) -> Fit:
    """Fit in a separate process, which is stopped at its time limit."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_fit_apart, args=(peer, case, depth, limit, sender))
    process.start()
    sender.close()
    try:
        if receiver.poll(limit + GRACE_SECONDS):
            return receiver.recv()
        return Fit(limit, np.nan, False, "ended")
    except EOFError:
        return Fit(np.nan, np.nan, False, "failed")
    finally:
        process.kill()
        process.join()


# --- side by side -----------------------------------------------------------------------------------------------------


class Race(NamedTuple):
    """All fits of one case at one depth."""

    case: Case
    depth: int
    fits: dict[str, Fit]

    @property
    def label(self) -> str:
        return f"{self.case.name} {self.case.table.shape[0]}×{self.case.table.shape[1]} depth {self.depth}"

    def times_faster(self, peer: str) -> float | None:
        """Time of a peer divided by that of fcca; None if the peer did not prove its tree."""
        theirs = self.fits.get(peer)
        return theirs.seconds / self.fits["fcca"].seconds if theirs is not None and theirs.proven else None

    def at_least(self, peer: str) -> float | None:
        """Like ``times_faster``, but with a lower bound if the peer was stopped by its time limit.

        None if neither proved its tree.
        """
        ours, theirs = self.fits["fcca"], self.fits.get(peer)
        if theirs is None or not theirs.seconds > 0 or not (ours.proven or theirs.proven):
            return None
        return theirs.seconds / ours.seconds

    def disagreements(self) -> list[str]:
        ours, found = self.fits["fcca"], []
        for peer, theirs in self.fits.items():
            if not (ours.proven and theirs.proven):
                continue
            tolerance = SINGLE_PRECISION if peer == "gosdt" else 1e-9
            worse = theirs.objective > ours.objective + tolerance
            better = theirs.objective < ours.objective - tolerance and peer != "pycontree"
            if worse or better:
                found.append(f"{self.label}: {peer} {theirs.objective:.6f}, fcca {ours.objective:.6f}")
        return found


def race(case: Case, depth: int, own_limit: float, limits: dict[str, float], continuous: dict[int, Fit]) -> Race:
    """Fit one case with all programs, print a line, and return the fits.

    ``continuous`` has earlier fits of pycontree on the same rows, by depth. They do not depend on the thresholds.
    """
    fits = {"fcca": fit_fcca(case, depth, own_limit)}
    for peer, limit in limits.items():
        known = continuous.get(depth) if peer == "pycontree" else None
        fits[peer] = fit_peer(peer, case, depth, limit) if known is None else known
    if "pycontree" in fits:
        continuous[depth] = fits["pycontree"]
    result = Race(case, depth, fits)
    size = f"{case.table.shape[0]}×{case.table.shape[1]}"
    text = f"{case.name:<24}{size:>10}{depth:>6}  {fits['fcca'].objective:.5f}"
    for who, fit in fits.items():
        seconds = f"{fit.seconds:.4f}" if fit.proven else f"({fit.note or 'limit'} {fit.seconds:.1f})"
        ratio = "" if who == "fcca" else f"{result.at_least(who) or np.nan:8,.0f}×"
        text += f"{seconds:>16}{ratio}"
    print(text, flush=True)
    seconds = {
        f"{who} s": fit.seconds if fit.proven else f"({fit.note or 'limit'} {fit.seconds:.1f})" for who, fit in fits.items()
    }
    peers = {who: fit for who, fit in fits.items() if who != "fcca"}
    ratios = {f"times faster than {who}": result.at_least(who) for who in peers}
    ratios |= {f"is at least than {who}": not fit.proven for who, fit in peers.items()}
    figures = {"table": size, "depth": depth, "objective": fits["fcca"].objective}
    _results.row("CPU seconds of one fit", data=case.name, **figures, **seconds, **ratios)
    return result


def say(passed: bool, text: str) -> None:
    print(f"{'PASS' if passed else 'MISS'}  {text}", flush=True)


def say_least(ratios: dict[str, float], bar: float, text: str) -> None:
    if not ratios:
        print(f"----  {text}: nothing to compare")
        return
    least = min(ratios, key=lambda label: ratios[label])
    say(ratios[least] >= bar, f"{text}: least {ratios[least]:,.1f} × ({least})")


def judge(races: list[Race], own_limit: float) -> None:
    shallow, deep = ([r for r in races if r.depth == depth] for depth in (3, 4))
    wide = [r for r in shallow if r.case.table.shape[1] >= WIDE]
    small = [r for r in shallow if r.case.table.shape[1] < WIDE]
    against = {peer: any(peer in r.fits for r in races) for peer in PEERS}
    if against["pystreed"]:
        ratios = {r.label: x for r in small if (x := r.at_least("pystreed")) is not None}
        say_least(ratios, 1.0, "depth 3, small: never slower than pystreed")
        ratios = {r.label: x for r in wide if (x := r.at_least("pystreed")) is not None}
        say_least(ratios, PYSTREED_BAR, f"depth 3, {WIDE} columns and more: ≥ {PYSTREED_BAR:g} × pystreed")
    if against["gosdt"]:
        ratios = {r.label: x for r in races if (x := r.times_faster("gosdt")) is not None}
        say_least(ratios, GOSDT_BAR, f"≥ {GOSDT_BAR:g} × gosdt wherever it finishes")
    for r in deep:
        if DEPTH_4_COLUMNS[0] <= r.case.table.shape[1] <= DEPTH_4_COLUMNS[1]:
            fit = r.fits["fcca"]
            passed = fit.proven and fit.seconds <= DEPTH_4_SECONDS
            say(passed, f"{r.label}: proven in ≤ {DEPTH_4_SECONDS:g} s: {fit.seconds:.2f} s {fit.note}")
    judge_objectives(races, own_limit)
    wrong = [text for r in races for text in r.disagreements()]
    n_compared = sum(fit.proven for r in races for who, fit in r.fits.items() if who != "fcca" and r.fits["fcca"].proven)
    say(not wrong, f"the objectives agree: {n_compared} comparisons{''.join(chr(10) + '      ' + text for text in wrong)}")


def judge_objectives(races: list[Race], own_limit: float) -> None:
    """Compare the objectives. pycontree may split at any value, so it may find a better tree, which is reported."""
    both = [r for r in races if "pycontree" in r.fits and r.fits["pycontree"].proven and r.fits["fcca"].proven]
    better = [r for r in both if r.fits["pycontree"].objective < r.fits["fcca"].objective - 1e-9]
    if better:
        gain = max(r.fits["fcca"].objective - r.fits["pycontree"].objective for r in better)
        text = f"a better tree in {len(better)} of {len(both)} cases, by at most {gain:.4f} of the objective"
        _results.short("pycontree", f"{text}: it splits at any number, not only at the given thresholds")
    unproven = [r.label for r in races if not r.fits["fcca"].proven]
    for peer in PEERS:
        ahead = [r.label for r in races if not r.fits["fcca"].proven and peer in r.fits and r.fits[peer].proven]
        if ahead:
            _results.short(peer, f"proves its tree where fcca does not within {own_limit:g} s: {', '.join(ahead)}")
    if unproven:
        say(False, f"proven within {own_limit:g} s: not {', '.join(unproven)}")


def judge_magic(races: list[Race]) -> None:
    """Judge the hardest case: the time of the proof, and the gap after five seconds."""
    hard = next((r for r in races if r.depth == 4 and r.case.name == "magic, depth-3 trees"), None)
    if hard is None:
        return
    fit = hard.fits["fcca"]
    passed = fit.proven and fit.seconds <= MAGIC_SECONDS
    say(passed, f"{hard.label}: proven in ≤ {MAGIC_SECONDS:g} s: {fit.seconds:.1f} s {fit.note}")
    gaps = {}
    for limit in (0.5, 1.0, 2.0, MAGIC_EARLY, 2 * MAGIC_EARLY):
        tree = OptimalTreeClassifier(4, **BY_ERROR, regularization=hard.case.regularization, time_limit=limit)
        gaps[limit] = tree.fit(hard.case.table, hard.case.y).gap_
    print("      gap after " + ", ".join(f"{limit:g} s: {gap:.1%}" for limit, gap in gaps.items()))
    say(gaps[MAGIC_EARLY] <= MAGIC_GAP, f"its gap after {MAGIC_EARLY:g} s at most {MAGIC_GAP:.0%}: {gaps[MAGIC_EARLY]:.1%}")
    say(bool(np.all(np.diff(list(gaps.values())) <= 1e-3)), "its gap only shrinks")


# --- criteria ---------------------------------------------------------------------------------------------------------


def search(case: Case, criterion: str, depth: int, max_leaves: int | None, limit: float) -> tuple[float, float]:
    """Measure the CPU seconds of one fit with the default penalty per leaf, and its gap."""
    settings = {"criterion": criterion, "max_leaf_nodes": max_leaves, "time_limit": limit}
    seconds, tree = fastest(lambda: OptimalTreeClassifier(depth, **settings).fit(case.table, case.y))
    return seconds, tree.gap_


def compare_criteria(cases: list[Case], limit: float) -> None:
    """Print the seconds of each criterion at depth 3, and their ratio to the seconds of the error."""
    print(f"\nCriteria at depth 3: CPU seconds, × is over the error's\n{'data':<24}{'table':>10}", end="")
    print("".join(f"{criterion:>20}" for criterion in CRITERIA))
    ratios: dict[str, float] = {}
    for case in cases:
        seconds = {criterion: search(case, criterion, 3, None, limit)[0] for criterion in CRITERIA}
        times = {criterion: seconds[criterion] / seconds["error"] for criterion in CRITERIA}
        size = f"{case.table.shape[0]}×{case.table.shape[1]}"
        text = "".join(f"{seconds[criterion]:>13.4f}{times[criterion]:>6.1f}×" for criterion in CRITERIA)
        print(f"{case.name:<24}{size:>10}{text}", flush=True)
        _results.row("Criteria at depth 3", data=case.name, table=size, **{f"{c} s": s for c, s in seconds.items()})
        ratios |= {f"{case.name}, {criterion}": times[criterion] for criterion in ("gini", "log_loss")}
    if ratios:
        most = max(ratios, key=lambda label: ratios[label])
        say(
            ratios[most] <= CRITERION_BAR,
            f"depth 3: gini and log-loss within {CRITERION_BAR:g} × of the error: {ratios[most]:.1f} × ({most})",
        )


def compare_few_leaves(cases: list[Case], limit: float) -> None:
    """Print the seconds, or the gap after the time limit, at depth 4 with at most eight leaves on some of the columns."""
    print(f"\nDepth 4, at most {FEW_LEAVES} leaves: CPU seconds; in brackets with the gap after {limit:g} s")
    print(f"{'data':<24}{'table':>10}{''.join(f'{criterion:>20}' for criterion in CRITERIA)}")
    slowest, label = 0.0, "no table with so many columns"
    for case in cases:
        for n_columns in (n for n in FEW_COLUMNS if n <= case.table.shape[1]):
            chosen = np.linspace(0, case.table.shape[1] - 1, n_columns).round().astype(int)
            few = Case(case.name, case.X, case.y, np.ascontiguousarray(case.table[:, chosen]))
            found = {criterion: search(few, criterion, 4, FEW_LEAVES, limit) for criterion in CRITERIA}
            texts = {c: f"{s:.3f}" if gap == 0 else f"({s:.1f}, gap {gap:.1%})" for c, (s, gap) in found.items()}
            size = f"{few.table.shape[0]}×{n_columns}"
            print(f"{few.name:<24}{size:>10}{''.join(f'{text:>20}' for text in texts.values())}", flush=True)
            _results.row("Depth 4, eight leaves", data=few.name, table=size, **{f"{c} s": text for c, text in texts.items()})
            hardest = max(found, key=found.__getitem__)
            if found[hardest][0] > slowest:
                slowest, label = found[hardest][0], f"{few.name} {size}, {hardest}"
    say(slowest <= FEW_SECONDS, f"depth 4, {FEW_LEAVES} leaves: at most {FEW_SECONDS:g} s: {slowest:.2f} s ({label})")


# --- many rows --------------------------------------------------------------------------------------------------------


class ManyRows(NamedTuple):
    seconds: float
    megabytes: float
    n_distinct: int
    objective: float


def many_rows(n_rows: int, n_distinct: int, dtype: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Draw rows of binary columns, thresholds of ten features, from ``n_distinct`` prototypes.

    The label is a noisy rule on four of the features.
    """
    random = np.random.default_rng(0)
    features = np.sort(random.integers(0, 10, size=N_COLUMNS))
    levels = random.normal(size=N_COLUMNS)
    values = random.normal(size=(n_distinct, 10))
    prototypes = (values[:, features] > levels).astype(dtype)
    rule = (values[:, 0] > 0.3) ^ (values[:, 1] > -0.2) ^ ((values[:, 2] > 0.5) & (values[:, 3] > 0))
    chosen = random.integers(0, n_distinct, size=n_rows)
    return prototypes[chosen], np.where(random.random(n_rows) < 0.1, ~rule[chosen], rule[chosen]).astype(np.int64)


def fit_many_rows(n_rows: int, n_distinct: int, dtype: str) -> ManyRows:
    X, y = many_rows(n_rows, n_distinct, dtype)
    OptimalTreeClassifier(**BY_ERROR).fit(X[:1000], y[:1000])
    with PeakMemory() as memory:
        OptimalTreeClassifier(3, **BY_ERROR, regularization=1e-3).fit(X, y)
    seconds, tree = fastest(lambda: OptimalTreeClassifier(3, **BY_ERROR, regularization=1e-3).fit(X, y))
    packed = np.packbits(X.astype(bool), axis=1)
    n_found = len(np.unique(packed.view([("", packed.dtype)] * packed.shape[1])))
    return ManyRows(seconds, memory.extra, n_found, tree.objective_)


def race_many_rows(n_most: int) -> None:
    if not STATUS.is_file():
        print("Many rows: skipped, memory is read from /proc/self/status, which only Linux has.")
        return
    print(f"\nMany rows × {N_COLUMNS} columns, depth 3, regularization 0.001")
    print(f"{'rows':>10}{'type':>10}{'distinct':>10}{'CPU s':>9}{'extra MB':>10}{'objective':>11}")
    sizes = sorted({*(n for n in (10_000, 30_000, 100_000, 300_000, 1_000_000) if n < n_most), n_most})
    plans = [(n, 1_413, "uint8") for n in sizes] + [(n_most, 1_413, "int8"), (n_most, 1_413, "float64")]
    plans += [(n_most, 200_000, "uint8"), (n_most, 200_000, "float64")]
    found: dict[tuple[int, int, str], ManyRows] = {}
    for plan in plans:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            run = found[plan] = process.apply(fit_many_rows, plan)
        n_rows, _, dtype = plan
        text = f"{n_rows:>10,}{dtype:>10}{run.n_distinct:>10,}{run.seconds:>9.3f}"
        print(f"{text}{run.megabytes:>10.0f}{run.objective:>11.5f}", flush=True)
        figures = {"distinct": run.n_distinct, "CPU s": run.seconds, "extra MB": run.megabytes, "objective": run.objective}
        _results.row("Many rows", rows=n_rows, type=dtype, **figures)
    for dtype in ("uint8", "int8", "float64"):
        run = found[n_most, 1_413, dtype]
        say(run.seconds <= MANY_SECONDS, f"{n_most:,} rows of {dtype} in ≤ {MANY_SECONDS:g} s: {run.seconds:.2f} s")
        say(run.megabytes <= MANY_MEGABYTES, f"… and ≤ {MANY_MEGABYTES:g} MB on top of the data: {run.megabytes:.0f} MB")
    seconds = np.array([found[n, 1_413, "uint8"].seconds for n in sizes])
    if len(sizes) < 3:
        return
    slope = np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0]
    say(slope <= 1.1, f"time linear in rows: grows as rows^{slope:.2f} from {sizes[-3]:,} to {sizes[-1]:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two small data sets, fewer rows, less time for the peers")
    parser.add_argument("--data", nargs="+", choices=NAMES, help="data sets (all)")
    parser.add_argument("--depths", nargs="+", type=int, default=[3, 4], help="depths of the trees (3 4)")
    parser.add_argument("--limit", type=float, help="time limit of a peer's fit in seconds, rounded up (120, gosdt 60)")
    parser.add_argument(
        "--own-limit", type=float, default=OWN_LIMIT, help=f"time limit of fcca's fit in seconds ({OWN_LIMIT:g})"
    )
    parser.add_argument(
        "--rows", type=int, help=f"maximum number of rows of the last table ({MANY_ROWS:,}); 0 leaves it out"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", UnfinishedSearchWarning)
    limit = options.limit if options.limit is not None else (QUICK_LIMIT if options.quick else None)
    peers = {peer: PEER_LIMITS[peer] if limit is None else np.ceil(limit) for peer in PEERS if _results.is_installed(peer)}
    print("CPU seconds; in brackets where the time limit ended a search; × is the peer's time over fcca's.")
    columns = "".join(f"{peer:>16}{'':9}" for peer in peers)
    print(f"{'data':<24}{'table':>10}{'depth':>6}  {'objective':<7}{'fcca':>14}{columns}")
    races, cases = [], []
    for name in at_hand(options.data or (NAMES[:2] if options.quick else NAMES)):
        X, y = load(name)
        continuous: dict[int, Fit] = {}
        for boosting_depth, kind in ((1, "stumps"), (3, "depth-3 trees")):
            case = Case(f"{name}, {kind}", X, y, boosted_table(X, y, boosting_depth))
            cases.append(case)
            races += [race(case, depth, options.own_limit, peers, continuous) for depth in options.depths]
    judge(races, options.own_limit)
    judge_magic(races)
    compare_criteria(cases, options.own_limit)
    compare_few_leaves(cases, options.own_limit)
    n_rows = options.rows if options.rows is not None else (QUICK_ROWS if options.quick else MANY_ROWS)
    if n_rows:
        race_many_rows(n_rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        _results.recorded(main)
