"""Compare three ways to choose k thresholds of the paper's data: most frequent, greedy and proven optimal.

Run: python benchmarks/selection.py [--tiny | --quick | --short] [--long] [--json FILE]
The full run has k = 1 to 16 and takes half an hour. --short: two folds, k up to 7, some minutes. --quick: two data sets, two
folds, k up to 8, a minute. --tiny: boston, one fold, k up to 6, seconds. --long: also measure the gap after 30 seconds.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import _results
from _data import PAPER_P1, at_hand, load_paper_data
from _selection import WAYS, Cell, Interval, Timed, cells, folds, from_source, over_time, sources
from fcca.exceptions import ConstantFeatureWarning, UnfinishedSearchWarning

PROVEN_UP_TO, SECONDS_BAR = 5, 30.0
LIMIT_OF_PROOF, LIMIT = 120.0, 3.0
AFTER, LONG_AFTER = (1.0, 3.0, 10.0), (1.0, 3.0, 10.0, 30.0)
SOURCE_K, SOURCE_LIMIT = 5, 30.0
EXTERNAL_DATA, EXTERNAL_K, EXTERNAL_BAR = "magic", 5, 0.80


class Size(NamedTuple):
    """The size of a run."""

    names: Sequence[str]
    n_folds: int
    ks: Sequence[int]
    after: Sequence[float]
    source_limit: float = SOURCE_LIMIT

    @classmethod
    def asked(cls, words: Sequence[str]) -> Size:
        """Return the size of the run that the arguments request."""
        after = LONG_AFTER if "--long" in words else AFTER
        if "--tiny" in words:
            return cls(list(PAPER_P1)[:1], 1, range(1, 7), after[:1], 1.0)
        if "--quick" in words:
            return cls(list(PAPER_P1)[:2], 2, range(1, 9), after[:2])
        if "--short" in words:
            return cls(list(PAPER_P1), 2, range(1, 8), after[:2], 3.0)
        return cls(list(PAPER_P1), 5, range(1, 17), after)


def at(found: list[Cell], name: str, k: int) -> list[Cell]:
    """Return the cells of all folds of one data set, for one k."""
    return [cell for cell in found if (cell.data, cell.k) == (name, k)]


def line(title: str, entries: Sequence[str], width: int = 7) -> None:
    """Print one line of a table, with one column per k."""
    print(f"  {title:<35}" + "".join(f"{entry:>{width}}" for entry in entries), flush=True)


def percent(share: float) -> str:
    """Format a share as a percentage with one decimal, as it is also recorded."""
    return f"{100 * share:.1f}"


def print_data(name: str, found: list[Cell], ks: Sequence[int]) -> None:
    """Print the inconsistency and accuracy of one data set, as means over its folds."""
    by_k = [at(found, name, k) for k in ks]
    print(f"\n{name}: training inconsistency and, below, held-out accuracy of the tree of depth 3; %, means over folds")
    line("k", [str(k) for k in ks])
    for way in WAYS:
        entries = [percent(np.mean([cell.share(way) for cell in group])) for group in by_k]
        line(way, entries)
        _results.row("Training inconsistency, %", data=name, way=way, **dict(zip(map(str, ks), entries, strict=True)))
    line("proven bound", [percent(np.mean([cell.bound for cell in group])) for group in by_k])
    line("folds proven", [str(sum(cell.proven for cell in group)) for group in by_k])
    for way in WAYS:
        line(f"accuracy, {way}", [percent(np.mean([cell.accuracy[way] for cell in group])) for group in by_k])
    for way in WAYS[:2]:
        against = [Interval.of([cell.accuracy["optimal"] - cell.accuracy[way] for cell in group]) for group in by_k]
        line(f"optimal − {way}", [f"{100 * one.mean:+.1f}" for one in against])
        line("  95 % interval", [f"±{100 * one.half:.1f}" for one in against])
        if any(one.verdict for one in against):
            line("", [one.verdict for one in against])


def keep_folds(name: str, found: list[Cell], ks: Sequence[int]) -> None:
    """Record every cell of a data set, one line per fold with lists over k."""
    for fold in dict.fromkeys(cell.fold for cell in found if cell.data == name):
        of_fold = [cell for cell in found if (cell.data, cell.fold) == (name, fold)]
        figures = {way: [round(cell.share(way), 5) for cell in of_fold] for way in WAYS}
        figures |= {f"{way}: accuracy": [round(cell.accuracy[way], 5) for cell in of_fold] for way in WAYS}
        figures |= {"bound": [round(cell.bound, 5) for cell in of_fold], "proven": [cell.proven for cell in of_fold]}
        figures |= {"seconds": [round(cell.seconds, 3) for cell in of_fold]}
        _results.row("Folds", data=name, fold=fold, k=list(ks), **figures)


def gains(found: list[Cell]) -> None:
    """Print how much better the optimal choice is than the other two."""
    print("\nTraining inconsistency saved by the optimal choice, points of percent")
    line("", ["cells", "better", "mean", "most", "where"], width=9)
    for way in WAYS[:2]:
        for name in [*dict.fromkeys(cell.data for cell in found), "all"]:
            group = [cell for cell in found if name in (cell.data, "all")]
            saved = [cell.share(way) - cell.share("optimal") for cell in group]
            best = group[int(np.argmax(saved))]
            n_better, where = sum(gain > 0 for gain in saved), f"{best.data}, k = {best.k}"
            entries = [str(len(group)), str(n_better), f"{100 * np.mean(saved):.2f}", f"{100 * max(saved):.2f}"]
            line(f"{name} over {way}", [*entries, f"  {where}"], width=9)
            figures = dict(zip(("cells", "strictly better", "mean, points", "most, points"), entries, strict=True))
            _results.row("Inconsistency saved by the optimal choice", data=name, over=way, **figures, where=where)


def proofs(found: list[Cell], ks: Sequence[int]) -> list[str]:
    """Print the seconds until the proof, the longest of the folds, and return the verdict."""
    small = [k for k in ks if k <= PROVEN_UP_TO]
    print(f"\nCPU seconds until the proof, one thread, worst of the folds; bar {SECONDS_BAR:g} s")
    line("k", [str(k) for k in small], width=9)
    for name in dict.fromkeys(cell.data for cell in found):
        worst = [max(at(found, name, k), key=lambda cell: (not cell.proven, cell.seconds)) for k in small]
        entries = [f"{'' if cell.proven else '>'}{cell.seconds:.3f}" for cell in worst]
        share = max(cell.seconds for cell in worst) / SECONDS_BAR
        line(name, [*entries, f"  worst: {share:.2%} of the bar"], width=9)
        figures = dict(zip((f"k = {k}" for k in small), entries, strict=True))
        _results.row(
            "CPU seconds until the proof, worst of the folds", data=name, **figures, **{"of the bar": f"{share:.2%}"}
        )
    asked = [cell for cell in found if cell.k <= PROVEN_UP_TO]
    passed = [cell for cell in asked if cell.proven and cell.seconds <= SECONDS_BAR]
    verdict = "PASS" if len(passed) == len(asked) else "MISS"
    slowest = max(cell.seconds for cell in asked)
    bar = f"k ≤ {PROVEN_UP_TO} proven within {SECONDS_BAR:g} s"
    return [f"{verdict}  {bar}: {len(passed)} of {len(asked)}, the slowest in {slowest:.2f} s"]


def gaps(found: list[Timed]) -> list[str]:
    """Print the gap over time on the first fold, for each k above those of the time bar, and return the verdict."""
    ks = list(dict.fromkeys(one.k for one in found))
    print("\nGap in % of the inconsistency after so many seconds, first fold; 0 is proven")
    line("k", [str(k) for k in ks])
    grown = []
    for name in dict.fromkeys(one.data for one in found):
        before: dict[int, Timed] = {}
        for limit in dict.fromkeys(one.limit for one in found):
            now = {one.k: one for one in found if (one.data, one.limit) == (name, limit)}
            entries = [percent(now[k].gap) if not now[k].proven else "0" for k in ks]
            line(f"{name}, {limit:g} s", entries)
            figures = dict(zip(map(str, ks), entries, strict=True))
            _results.row("Gap in % after so many seconds, first fold", data=name, seconds=f"{limit:g}", **figures)
            grown += [f"{name} k={k} {limit:g} s" for k in before if now[k].gap > before[k].gap + 1e-9]
            before = now
    first, last = min(one.limit for one in found), max(one.limit for one in found)
    start = {(one.data, one.k): one for one in found if one.limit == first and not one.proven}
    end = [one for one in found if one.limit == last and (one.data, one.k) in start]
    closer = sum(one.proven or one.gap < start[one.data, one.k].gap - 1e-9 for one in end)
    means = [100 * np.mean([one.gap for one in group]) if group else 0.0 for group in (list(start.values()), end)]
    story = f"of {len(start)} searches not proven after {first:g} s, {closer} are closer after {last:g} s, "
    story += f"{sum(one.proven for one in end)} of them proven; mean gap {means[0]:.1f} % → {means[1]:.1f} %"
    return [
        f"{'MISS' if grown or (start and not closer) else 'PASS'}  k > {PROVEN_UP_TO}, the gap shrinks with time: "
        + (story if start else f"all {sum(one.limit == first for one in found)} proven after {first:g} s"),
        *(f"        larger than before: {one}" for one in grown),
    ]


def differences(found: list[Cell], ks: Sequence[int]) -> None:
    """Print where the tree on the optimal choice is more accurate, and where less."""
    names = list(dict.fromkeys(cell.data for cell in found))
    print("\nHeld-out accuracy of the tree, optimal choice against another: in how many k it is better and worse; clearly:")
    print("the 95 % t-interval over the folds leaves out zero. Points of percent.")
    titles = ("k", "better", "worse", "clearly better", "clearly worse", "mean")
    line("", [*titles, "  least"], width=15)
    for way in WAYS[:2]:
        by_cell = {
            (name, k): Interval.of([one.accuracy["optimal"] - one.accuracy[way] for one in at(found, name, k)])
            for name in names
            for k in ks
        }
        for k in ks:
            table = f"Held-out accuracy, points: optimal − {way}, mean ± half of the 95 % interval"
            _results.row(table, k=k, **{name: str(by_cell[name, k]) for name in names})
        for name in [*names, "all"]:
            group = {key: one for key, one in by_cell.items() if name in (key[0], "all")}
            signs = [np.sign(round(one.mean, 9)) for one in group.values()]
            clear = [one.verdict for one in group.values()]
            least = min(group, key=lambda key: group[key].mean)
            mean = f"{100 * np.mean([one.mean for one in group.values()]):+.2f}"
            entries = [
                *map(str, (len(group), signs.count(1), signs.count(-1), clear.count("better"), clear.count("worse"))),
                mean,
            ]
            where = f"{group[least]} ({least[0]}, k = {least[1]})"
            line(f"{name} over {way}", [*entries, f"  {where}"], width=15)
            figures = dict(zip(titles, entries, strict=True))
            _results.row(
                "Held-out accuracy: in how many k the optimal choice is better", data=name, over=way, **figures, least=where
            )


def external(found: list[Cell]) -> list[str]:
    """Print the accuracy on the external rows of magic, and return the verdict."""
    group = at(found, EXTERNAL_DATA, EXTERNAL_K)
    if not group:
        return []
    mean = {way: float(np.mean([cell.external[way] for cell in group])) for way in WAYS}
    low = {way: min(cell.external[way] for cell in group) for way in WAYS}
    print(f"\nAccuracy on the external rows of {EXTERNAL_DATA}, k = {EXTERNAL_K}: mean over folds, and the worst fold")
    for way in WAYS:
        line(way, [f"{mean[way]:.3f}", f"{low[way]:.3f}"])
        _results.row(
            f"External rows of {EXTERNAL_DATA}, k = {EXTERNAL_K}", way=way, accuracy=mean[way], **{"worst fold": low[way]}
        )
    verdict = "PASS" if mean["optimal"] >= EXTERNAL_BAR else "MISS"
    bar = f"tree on {EXTERNAL_K} thresholds right on {EXTERNAL_BAR:.0%} of {EXTERNAL_DATA}'s external rows"
    found_text = ", ".join(f"{way} {mean[way]:.1%} (worst fold {low[way]:.1%})" for way in reversed(WAYS))
    return [f"{verdict}  {bar}, mean over folds: {found_text}"]


def other_sources(names: Sequence[str], limit: float) -> list[str]:
    """Choose among thresholds of other methods, and return the verdict."""
    print(f"\nOther thresholds, first fold, k = {SOURCE_K}: training inconsistency in %, at most {limit:g} s")
    line("", ["conditions", "frequency", "greedy", "optimal", "seconds"], width=11)
    above = []
    for name in names:
        for source, table, rows in sources(load_paper_data(name)):
            found = from_source(table, rows, SOURCE_K, limit)
            shares = {way: "–" if np.isnan(found[way]) else percent(found[way]) for way in WAYS}
            title, entries = f"{name}, {source}", [str(found["conditions"]), *shares.values(), f"{found['seconds']:.2f}"]
            line(title, [*entries, f"  {found['proof']}"], width=11)
            figures = {
                "conditions": found["conditions"],
                **shares,
                "seconds": round(found["seconds"], 2),
                "proof": found["proof"],
            }
            _results.row(f"Other thresholds, k = {SOURCE_K}: inconsistency, %", data=name, thresholds=source, **figures)
            above += [title] if found["optimal"] > np.nanmin([found["frequency"], found["greedy"]]) + 1e-9 else []
    return [f"{'MISS' if above else 'PASS'}  other thresholds: never above greedy or frequency"] + [
        f"        {one}" for one in above
    ]


def main() -> None:
    size = Size.asked(sys.argv[1:])
    warnings.simplefilter("ignore", ConstantFeatureWarning)
    warnings.simplefilter("ignore", UnfinishedSearchWarning)
    limit_of = {k: LIMIT_OF_PROOF if k <= PROVEN_UP_TO else LIMIT for k in size.ks}
    print(f"At most {LIMIT_OF_PROOF:g} s for k ≤ {PROVEN_UP_TO}, {LIMIT:g} s beyond. Conditions are those of FCCA at Q = 0.")
    found: list[Cell] = []
    timed: list[Timed] = []
    names = at_hand(size.names)
    for name in names:
        for fold in folds(name, size.n_folds):
            found += cells(fold, size.ks, limit_of)
            if fold.number == 1:
                timed += over_time(fold, [k for k in size.ks if k > PROVEN_UP_TO], size.after)
        print_data(name, found, size.ks)
        keep_folds(name, found, size.ks)
    gains(found)
    differences(found, size.ks)
    contradictions = [cell.contradiction for cell in found if cell.contradiction]
    verdicts = [f"{'MISS' if contradictions else 'PASS'}  never above greedy or frequency: {len(found)} cells"]
    verdicts += [f"        {one}" for one in contradictions]
    verdicts += proofs(found, size.ks) + gaps(timed) + external(found) + other_sources(names, size.source_limit)
    print("", *verdicts, sep="\n")
    if contradictions:
        sys.exit("The search contradicts itself or the rows; see above.")


if __name__ == "__main__":
    with threadpool_limits(1):
        _results.recorded(main)
