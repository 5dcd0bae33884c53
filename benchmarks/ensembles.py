"""Compare the time per counterfactual of deep tree ensembles: fcca, Gurobi, HiGHS, CP-SAT and treecf, with one thread.

Run: python benchmarks/ensembles.py [--quick] [--data NAME …] [--models NAME …] [--points N] [--peers NAME,NAME]
     [--peer-points N] [--limit S] [--budget S] [--one-core] [--json FILE]
     (--quick: two data sets, few points and seconds for the peers)

λ is (0.1, 1, 0) and the margin is 1e-4. The models are gradient boosting and random forests of scikit-learn. The rows to
explain (points) are drawn from the training rows. The ratio of a peer is the median time of its solver alone, divided by the
median time of the search of fcca, on the same points.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

import _results
from _data import BREAST_CANCER, at_hand, load_paper_data
from _peers import PEERS, Answer, Case, Treecf

Floats = NDArray[np.float64]
SEED = 0
TRAINING_ROWS = 5000
REPEATS = 3
DATA = ("boston", BREAST_CANCER, "magic")
SLOWEST_BAR = 1.0
RATIO_BAR = 50.0
RATIO_CASE = (BREAST_CANCER, "GB 100×3")
RATIO_CASE_BUDGETS = 4  # the case with a bar gets more time for the peers
CORES_CASE = (BREAST_CANCER, "RF 100×6")
CORES_BAR, CORES_SECONDS, CORES_ROUNDS = 1.8, 2.0, 5


@dataclass(frozen=True)
class Configuration:
    """A kind of ensemble, and the bar for the median time of fcca."""

    name: str
    n_trees: int
    depth: int
    bar: float

    def fit(self, X: Floats, y: NDArray[Any]) -> Any:
        """Fit the classifier."""
        kind = GradientBoostingClassifier if self.name.startswith("GB") else RandomForestClassifier
        return kind(n_estimators=self.n_trees, max_depth=self.depth, random_state=SEED).fit(X, y)


CONFIGURATIONS = (
    Configuration("GB 100×1", 100, 1, 1e-4),
    Configuration("GB 100×2", 100, 2, 1e-3),
    Configuration("GB 100×3", 100, 3, 3e-3),
    Configuration("RF 50×4", 50, 4, 4e-3),
    Configuration("RF 100×6", 100, 6, 20e-3),
)


def case_of(data: str, configuration: Configuration, n_points: int) -> Case:
    """Fit a classifier and draw points in random order, so that the first points are also a random sample."""
    if data == BREAST_CANCER:
        X, y = load_breast_cancer(return_X_y=True)
    else:
        loaded = load_paper_data(data)
        X, y = loaded.X, loaded.y
    X, y = np.ascontiguousarray(X[:TRAINING_ROWS], dtype=np.float64), y[:TRAINING_ROWS]
    rows = np.random.default_rng(SEED).permutation(len(X))[:n_points].astype(np.int64)
    return Case(data, configuration.name, configuration.fit(X, y), X, rows)


# --- measuring --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ours:
    """Times and results of fcca on all points of a case."""

    search: Floats  # seconds of each point, the median of some runs
    whole: float  # seconds per point of solve() with the re-scoring by the classifier
    cost: Floats
    counts: dict[str, int]
    core: float  # share of a core that the process got meanwhile; times are wall times and suffer where it is below 1

    @classmethod
    def of(cls, case: Case, *, lands_on_edges: bool = False) -> Ours:
        """Measure fcca with one thread, in several repetitions."""
        engine = case.engine(lands_on_edges=lands_on_edges)
        seconds, whole = [], []
        processor, wall = time.process_time(), time.perf_counter()
        for _ in range(REPEATS):
            begin = time.perf_counter()
            found = case.solve(engine, n_jobs=1)
            whole.append((time.perf_counter() - begin) / len(case.rows))
            seconds.append(found.seconds)
        core = (time.process_time() - processor) / (time.perf_counter() - wall)
        return cls(np.median(seconds, axis=0), float(np.median(whole)), found.cost, found.counts(), core)


@dataclass
class Theirs:
    """Times and results of a peer on the first points of a case."""

    name: str
    ours: Ours  # with the same costs as the peer
    limit: float
    answers: list[Answer] = field(default_factory=list)

    @classmethod
    def of(cls, kind: Any, case: Case, ours: Ours, n_points: int, limit: float, budget: float) -> Theirs:
        """Measure a peer point by point. After the time budget, no further point is started."""
        measured, peer = cls(kind.name, ours, limit), kind(case, limit)
        begin = time.perf_counter()
        for i in range(min(n_points, len(case.rows))):
            if time.perf_counter() - begin > budget:
                break
            measured.answers.append(peer(i))
        peer.close()
        return measured

    def count(self, outcome: str) -> int:
        """Count the results with the given outcome."""
        return sum(answer.outcome == outcome for answer in self.answers)

    @property
    def was_run(self) -> NDArray[np.bool_]:
        return np.array([answer.outcome != "too large" for answer in self.answers], dtype=bool)

    @property
    def solver(self) -> Floats:
        return np.array([answer.solver for answer in self.answers])[self.was_run]

    @property
    def build(self) -> Floats:
        return np.array([answer.build for answer in self.answers])[self.was_run]

    @property
    def ours_there(self) -> Floats:
        return self.ours.search[: len(self.answers)][self.was_run]

    @property
    def ratio(self) -> float:
        """Median solver time of the peer divided by that of fcca; NaN if its licence allows no point."""
        return float(np.median(self.solver) / np.median(self.ours_there)) if self.was_run.any() else np.nan

    @property
    def is_at_least(self) -> bool:
        """True if the median time comes from points that were given up."""
        return bool(self.was_run.any()) and float(np.median(self.solver)) > 0.95 * self.limit

    @property
    def least_ratio(self) -> float:
        """The smallest ratio of any single point."""
        return float((self.solver / self.ours_there).min()) if self.was_run.any() else np.nan

    @property
    def cost_difference(self) -> float:
        """The largest difference between proven costs; 0 if both prove that no counterfactual exists."""
        pairs = zip(self.answers, self.ours.cost, strict=False)
        both = [(answer.cost, cost) for answer, cost in pairs if answer.outcome == "proven"]
        return max((0.0 if theirs == ours else abs(theirs - ours) for theirs, ours in both), default=np.nan)


def two_threads_alone() -> float:
    """Measure the current speed-up of two independent threads on this machine."""

    def work(_: int) -> None:
        hashlib.pbkdf2_hmac("sha256", b"fcca", b"fcca", 500_000)

    one, two = [], []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(CORES_ROUNDS):
            begin = time.perf_counter()
            work(0)
            one.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            list(pool.map(work, range(2)))
            two.append(time.perf_counter() - begin)
    return 2 * min(one) / min(two)


def measure_cores(n_points: int) -> dict[str, float]:
    """Measure points per second with one and two threads, alternately; the best of some rounds counts."""
    configuration = next(c for c in CONFIGURATIONS if c.name == CORES_CASE[1])
    case = case_of(CORES_CASE[0], configuration, n_points)
    engine, best = case.engine(), {1: np.inf, 2: np.inf}
    some = np.arange(len(case.rows))

    def run(n_jobs: int) -> float:
        begin = time.perf_counter()
        case.solve(engine, some, n_jobs=n_jobs)
        return time.perf_counter() - begin

    # Points are taken twice or left out, so that one thread is busy for long enough and not for much longer.
    some = np.resize(some, int(np.ceil(len(some) * CORES_SECONDS * 1.5 / run(1))))
    for _ in range(CORES_ROUNDS):
        for n_jobs in best:
            best[n_jobs] = min(best[n_jobs], run(n_jobs))
    return {
        "points": len(some),
        "one": len(some) / best[1],
        "two": len(some) / best[2],
        "ratio": best[1] / best[2],
        "machine": two_threads_alone(),
        "load": os.getloadavg()[0],
    }


# --- the table --------------------------------------------------------------------------------------------------------


def ours_line(ours: Ours) -> str:
    """Format the line of fcca in the table."""
    search = ours.search * 1e3
    counts = ", ".join(f"{n} {name}" for name, n in ours.counts.items())
    return (
        f"  {'fcca':<8}{len(search):>4} points   search: median {np.median(search):8.2f}, mean {search.mean():8.2f}, "
        f"worst {search.max():8.1f} ms   whole: {ours.whole * 1e3:8.2f} ms per point   {counts}; {ours.core:.0%} of a core"
    )


def theirs_line(theirs: Theirs) -> str:
    """Format the line of a peer in the table."""
    start = f"  {theirs.name:<8}{len(theirs.answers):>4} points   "
    n_large, n_wrong = theirs.count("too large"), theirs.count("wrong")
    notes = f"{theirs.count('proven')} proven, {theirs.count('given up')} given up"
    notes += f", {n_large} beyond the licence" if n_large else ""
    notes += f", {n_wrong} wrong" if n_wrong else ""
    if not theirs.was_run.any():
        return start + notes
    sign = "≥" if theirs.is_at_least else " "
    median, mean, build = np.median(theirs.solver) * 1e3, theirs.solver.mean() * 1e3, np.median(theirs.build) * 1e3
    return (
        f"{start}solver: median {median:8.1f}, mean {mean:8.1f} ms   build: median {build:6.1f} ms   "
        f"medians {sign}{theirs.ratio:8,.0f} ×, least point {theirs.least_ratio:7,.1f} ×   {notes}; "
        f"costs differ by at most {theirs.cost_difference:.1e}"
    )


def keep(case: Case, ours: Ours, peers: list[Theirs]) -> None:
    """Record the figures of a case."""
    search, where = ours.search * 1e3, {"data": case.data, "model": case.configuration}
    figures = {
        "median ms": np.median(search),
        "mean ms": search.mean(),
        "worst ms": search.max(),
        "whole ms": ours.whole * 1e3,
    }
    _results.row(
        "This engine", **where, points=len(search), **figures, **{"of a core": ours.core, "load": os.getloadavg()[0]}
    )
    for peer in peers:
        outcomes = {name: peer.count(name) for name in ("proven", "given up", "too large", "wrong")}
        ratios = {"times faster": peer.ratio, "is at least": peer.is_at_least, "least point": peer.least_ratio}
        ratios["costs differ by"] = peer.cost_difference
        _results.row("Beside others", **where, who=peer.name, points=len(peer.answers), **outcomes, **ratios)


def run_case(case: Case, kinds: list[Any], options: argparse.Namespace) -> tuple[Ours, list[Theirs]]:
    """Measure one case and print its rows."""
    n_cuts = len(case.engine().cells.cuts)
    load = os.getloadavg()[0]
    print(f"{case.data}, {case.configuration}: {case.X.shape[0]} × {case.X.shape[1]}, {n_cuts} cuts, load {load:.1f}")
    ours = Ours.of(case)
    print(ours_line(ours), flush=True)
    is_ratio_case = (case.data, case.configuration) == RATIO_CASE
    budget = options.budget * (RATIO_CASE_BUDGETS if is_ratio_case else 1)
    peers = []
    for kind in kinds:
        same = Ours.of(case, lands_on_edges=True) if kind is Treecf else ours
        peers.append(Theirs.of(kind, case, same, options.peer_points, options.limit, budget))
        print(theirs_line(peers[-1]), flush=True)
    return ours, peers


# --- the bars ---------------------------------------------------------------------------------------------------------


def verdict(is_met: bool, text: str) -> None:
    """Print one line for a bar."""
    print(f"{'PASS' if is_met else 'MISS'}  {text}", flush=True)


def judge_ours(results: dict[tuple[str, str], Ours]) -> None:
    """Check the median times and the slowest point of fcca."""
    for configuration in CONFIGURATIONS:
        for (data, name), ours in results.items():
            if name != configuration.name:
                continue
            median, worst = float(np.median(ours.search)), float(ours.search.max())
            bars = f"median {median * 1e3:.2f} ms (bar {configuration.bar * 1e3:g}), worst {worst * 1e3:.0f} ms (bar 1000)"
            bars += f", {ours.core:.0%} of a core"
            verdict(median <= configuration.bar and worst <= SLOWEST_BAR, f"{name} on {data}: {bars}")


def judge_peers(results: dict[tuple[str, str], list[Theirs]], kinds: list[Any]) -> None:
    """Check the speed-up over each peer, and that no peer is faster anywhere."""
    for kind in kinds:
        by_case = {case: peer for case, peers in results.items() for peer in peers if peer.name == kind.name}
        there = by_case.get(RATIO_CASE)
        if there is not None and there.was_run.any():
            sign = "at least " if there.is_at_least else ""
            text = f"{RATIO_BAR:.0f} × faster than {kind.name} on {RATIO_CASE[1]} of {RATIO_CASE[0]}: "
            verdict(there.ratio >= RATIO_BAR, f"{text}{sign}{there.ratio:,.0f} × by medians of {len(there.solver)} points")
        run = {case: peer for case, peer in by_case.items() if peer.was_run.any()}
        barred = [f"{name} of {data}" for (data, name), peer in by_case.items() if not peer.was_run.any()]
        note = f"; its licence allows no point of {', '.join(barred)}" if barred else ""
        if run:
            (data, name), nearest = min(run.items(), key=lambda item: item[1].ratio)
            least = f"least {nearest.ratio:,.1f} × ({name} of {data})"
            verdict(nearest.ratio >= 1, f"never slower than {kind.name}, {len(run)} configurations: {least}{note}")


def judge_cores(cores: dict[str, float]) -> None:
    """Check the speed-up of two threads over one."""
    name = f"{CORES_CASE[1]} of {CORES_CASE[0]}"
    rates = f"{cores['one']:.0f} and {cores['two']:.0f} points per second over {cores['points']:.0f} points"
    shared = f"load average {cores['load']:.1f}; two threads that share nothing get {cores['machine']:.2f} × here"
    verdict(cores["ratio"] >= CORES_BAR, f"two cores, {name}: {cores['ratio']:.2f} × (bar {CORES_BAR}), {rates}; {shared}")


def arguments() -> argparse.Namespace:
    """Parse the command line. --quick changes only the defaults of options that are not given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two minutes: boston and breast cancer, few points")
    parser.add_argument("--data", nargs="+", choices=DATA, help="data sets (all)")
    models = [configuration.name for configuration in CONFIGURATIONS]
    parser.add_argument("--models", nargs="+", choices=models, default=models, help="kinds of ensembles (all)")
    parser.add_argument("--one-core", action="store_true", help="skip the measurement with two threads")
    parser.add_argument("--points", type=int, help="points for fcca (200)")
    parser.add_argument("--peer-points", type=int, help="maximum number of points for each peer (20)")
    parser.add_argument("--limit", type=float, help="seconds per point after which a peer is given up (60)")
    parser.add_argument(
        "--budget", type=float, help="seconds per peer and configuration after which no point is started (40)"
    )
    parser.add_argument("--peers", default=",".join(kind.name for kind in PEERS), help="names of peers, separated by commas")
    options = parser.parse_args()
    defaults = {"points": 100, "peer_points": 5, "limit": 2.0, "budget": 1.0} if options.quick else {}
    for name, value in ({"points": 200, "peer_points": 20, "limit": 60.0, "budget": 40.0} | defaults).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    unknown = set(options.peers.lower().split(",")) - {"", *(kind.name.lower() for kind in PEERS)}
    if unknown:
        parser.error(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(kind.name for kind in PEERS)}.")
    return options


def main() -> None:
    options = arguments()
    kinds = [kind for kind in PEERS if kind.name.lower() in options.peers.lower().split(",")]
    kinds = [kind for kind in kinds if _results.is_installed(kind.module)]
    ours: dict[tuple[str, str], Ours] = {}
    theirs: dict[tuple[str, str], list[Theirs]] = {}
    for data in at_hand(options.data or (DATA[:2] if options.quick else DATA)):
        for configuration in (each for each in CONFIGURATIONS if each.name in options.models):
            case = case_of(data, configuration, options.points)
            key = (data, configuration.name)
            ours[key], theirs[key] = run_case(case, kinds, options)
            keep(case, ours[key], theirs[key])
    cores = None if options.one_core else measure_cores(options.points)
    if cores is not None:
        _results.row("Two cores", data=CORES_CASE[0], model=CORES_CASE[1], **cores)
    print("search, solver: fcca's search and the peer's solve call alone. whole: with the re-scoring by the classifier.")
    print("build: all else that the peer does for the point, its warm start included. ≥: the median point was given up.")
    print("Costs are for moves to the training values nearest to x0. For treecf, both use the edges of the cells.")
    judge_ours(ours)
    judge_peers(theirs, kinds)
    if cores is not None:
        judge_cores(cores)


if __name__ == "__main__":
    with threadpool_limits(1):
        _results.recorded(main)
