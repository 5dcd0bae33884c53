"""Summary of the records of a run: how many times faster than each peer fcca is, and in which cases it is not.

``python -m benchmarks`` prints the summary and writes it to ``summary.json``. The documentation builds its first table from
this file. This module neither measures nor imports fcca.
"""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]

FASTER, AT_LEAST = "times faster", "is at least"
NOWHERE = "nowhere in this run"
NOT_MEASURED, NOT_ALL = "not measured:", "not all measured:"
WHERE = ("data", "model", "table", "depth")
WIDTH = 100
#: Descriptions of missed bars are cut off at this length. The section of the script has all of them.
LONGEST = 150


@dataclass(frozen=True)
class Peer:
    """A program with which fcca is compared."""

    name: str
    library: str
    words: tuple[str, ...]  # what the records call it
    compared: Mapping[str, str]  # what is compared, by script
    version_of: str = ""  # what the version is of, where that is another name


PEERS = (
    Peer(
        "Gurobi",
        "gurobipy",
        ("gurobi",),
        {
            "speed": "one counterfactual of 100 stumps, the paper's program",
            "ensembles": "one counterfactual of stumps to forests, a tighter program than the paper's",
            "paper_milp": "one counterfactual of 100 stumps, the paper's program at 1e-9, fcca's re-scoring counted",
        },
    ),
    Peer(
        "HiGHS",
        "scipy",
        ("highs",),
        {
            "speed": "one counterfactual of 100 stumps, the paper's program",
            "ensembles": "one counterfactual of stumps to forests, a tighter program than the paper's",
            "paper_milp": "one counterfactual of 100 stumps, the paper's program",
        },
        "of scipy ",
    ),
    Peer(
        "CP-SAT",
        "ortools",
        ("cp-sat", "ortools"),
        {"ensembles": "one counterfactual of stumps to forests, the tighter program"},
    ),
    Peer("treecf", "treecf", ("treecf",), {"ensembles": "one counterfactual of stumps to forests, its exact search"}),
    Peer("pystreed", "pystreed", ("pystreed",), {"trees": "one optimal tree, the same 0/1 columns"}),
    Peer("gosdt", "gosdt", ("gosdt",), {"trees": "one optimal tree, the same 0/1 columns"}),
    Peer(
        "pycontree",
        "pycontree",
        ("pycontree",),
        {"trees": "one optimal tree; it splits the numbers themselves", "raw_trees": "one optimal tree on raw columns"},
    ),
    Peer(
        "the authors' code",
        "SupervisedDiscretization",
        ("authors",),
        {"authors": "the whole fit of the discretizer, theirs with Gurobi; the target's own fit is part of both"},
        "(PyPI) ",
    ),
)


@dataclass(frozen=True)
class Case:
    """One ratio of a record."""

    script: str
    whom: str
    where: str
    ratio: float
    is_at_least: bool


def cases(record: Record) -> Iterator[Case]:
    """Yield the ratios of a record: columns "times faster" of lines with ``who``, and "times faster than X"."""
    for lines in record["tables"].values():
        for line in lines:
            for column, value in line.items():
                if not column.startswith(FASTER) or not isinstance(value, int | float):
                    continue
                suffix = column.removeprefix(FASTER)
                whom = suffix.removeprefix(" than ").strip() or str(line.get("who", "another"))
                yield Case(record["name"], whom, where_of(line), float(value), bool(line.get(AT_LEAST + suffix)))


def where_of(line: Mapping[str, Any]) -> str:
    """Return the name of the case in a line, such as its data set, model and depth."""
    words = [str(line[name]) for name in WHERE if name in line and name != "depth"]
    return ", ".join([*words, *([f"depth {line['depth']}"] if "depth" in line else [])])


def ratio_text(ratio: float) -> str:
    """Format a ratio with at least two digits."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


@dataclass(frozen=True)
class Spread:
    """Median and range of some ratios, with a ≥ for lower bounds from searches that were given up."""

    cases: tuple[Case, ...]

    @property
    def median(self) -> float:
        return statistics.median(case.ratio for case in self.cases)

    @property
    def median_text(self) -> str:
        """The median, marked ≥ if a ratio at or below it is only a lower bound.

        The true ratio of such a case may be larger, and so may the true median.
        """
        is_bound = any(case.is_at_least and case.ratio <= self.median for case in self.cases)
        return ("≥ " if is_bound else "") + ratio_text(self.median)

    @property
    def range_text(self) -> str:
        least, most = (pick(self.cases, key=lambda case: case.ratio) for pick in (min, max))
        if len(self.cases) == 1:
            return ""
        upper = "≥ " if any(case.is_at_least for case in self.cases) else ""
        return f"{'≥ ' if least.is_at_least else ''}{ratio_text(least.ratio)} – {upper}{ratio_text(most.ratio)}"

    @property
    def text(self) -> str:
        """Median, range and number of cases in one phrase."""
        n = len(self.cases)
        inside = [*([self.range_text] if self.range_text else []), f"{n} case{'s' if n > 1 else ''}"]
        return f"{self.median_text} × ({', '.join(inside)})"


def peer_line(peer: Peer, records: Mapping[str, Record], outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Build the entry of one peer in ``summary.json``."""
    found = tuple(case for record in records.values() for case in cases(record) if is_about(peer, case.whom))
    spread = Spread(found)
    compared = []
    for script, text in peer.compared.items():
        some = tuple(case for case in found if case.script == script)
        if some:
            compared.append({"script": script, "text": text, "ratios": Spread(some).text})
    versions = [record["versions"][peer.library] for record in records.values() if peer.library in record["versions"]]
    return {
        "peer": peer.name,
        "version": f"{peer.version_of}{versions[-1]}" if versions else None,
        "compared": compared,
        "cases": len(found),
        "lower bounds": sum(case.is_at_least for case in found),
        "median": spread.median if found else None,
        "median text": spread.median_text if found else "–",
        "range": spread.range_text if found else "",
        "where not": where_not(peer, found, records),
        "not measured": not_measured(peer, found, records, outcomes),
    }


def is_about(peer: Peer, text: str) -> bool:
    """Return True if a text contains the name of the peer."""
    return any(word in text.lower() for word in peer.words)


def slower_text(case: Case) -> str:
    """Describe a case in which fcca took longer than the peer, or than the time limit of a peer that gave up."""
    times = ratio_text(1 / case.ratio) if case.ratio else "∞"
    if case.is_at_least:
        return (
            f"undecided on {case.where} ({case.script}): given up at a limit that is {times} times shorter than fcca's time"
        )
    return f"slower on {case.where} ({case.script}): {times} times as long"


def where_not(peer: Peer, found: Sequence[Case], records: Mapping[str, Record]) -> list[str]:
    """List the cases in which the peer is faster, its other advantages, and the missed bars that name it."""
    texts = [slower_text(case) for case in sorted(found, key=lambda case: case.ratio) if case.ratio < 1]
    for record in records.values():
        texts += [one["text"] for one in record.get("shortfalls", ()) if is_about(peer, one["who"])]
        missed = [one["text"] for one in record["verdicts"] if not one["passed"] and is_about(peer, one["text"])]
        texts += [f"missed: {shortened(text)} ({record['name']})" for text in missed]
    return texts


def shortened(text: str) -> str:
    """Return the beginning of a long string."""
    return textwrap.shorten(text, LONGEST, placeholder=" …")


def not_measured(
    peer: Peer, found: Sequence[Case], records: Mapping[str, Record], outcomes: Sequence[Mapping[str, Any]]
) -> list[str]:
    """List the reasons for missing cases: the peer is absent, or a script did not finish."""
    reasons: list[str] = []
    for record in records.values():
        named = [text for text in record.get("skipped", ()) if "not installed" in text]
        reasons += [text for text in named if is_about(peer, text) or text.startswith(f"{peer.library} ")]
    for one in outcomes:
        if one["name"] in peer.compared and one["outcome"] not in ("done", "skipped"):
            reasons.append(f"{one['name']}: {one['reason']}")
        elif one["name"] in peer.compared and one["outcome"] == "skipped" and not found and not reasons:
            reasons.append(one["reason"])
    reasons = list(dict.fromkeys(reasons))
    return reasons if reasons or found else ["not in this run"]


def summary(
    records: Mapping[str, Record], outcomes: Sequence[Mapping[str, Any]], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Summarize a run. ``about`` holds its date, machine and command."""
    lines = [peer_line(peer, records, outcomes) for peer in PEERS]
    return {"version": 1, **about, "scripts": [dict(one) for one in outcomes], "peers": lines}


# --- as text ----------------------------------------------------------------------------------------------------------


def where_not_texts(line: Mapping[str, Any]) -> list[str]:
    """Return the entries of the column "where not". If nothing was measured, it does not say "nowhere"."""
    reasons = [f"{NOT_ALL if line['cases'] else NOT_MEASURED} {text}" for text in line["not measured"]]
    if line["where not"] or reasons:
        return [*line["where not"], *reasons]
    return [NOWHERE]


def run_text(found: Mapping[str, Any]) -> str:
    """Describe the date, the machine and the duration of a run."""
    machine = found["machine"]
    minutes, seconds = divmod(round(found["seconds"]), 60)
    return (
        f"{found['size']} run of {found['date']} in {minutes}:{seconds:02d} minutes, on {machine['cores']} cores of "
        f"{machine['cpu']}, {machine['system']}, Python {machine['python']}; load average "
        f"{machine['load before']} before and {machine['load after']} after"
    )


def as_text(found: Mapping[str, Any], width: int = WIDTH) -> str:
    """Format the summary for a terminal."""
    lines = ["How many times faster fcca is, and where not", *textwrap.wrap(run_text(found), width)]
    lines += textwrap.wrap(", ".join(f"{name} {version}" for name, version in found["versions"].items()), width)
    lines += ["", f"{'compared with':<34}{'median':>12}   {'range':<26}{'cases':>5}", "─" * width]
    for one in found["peers"]:
        name = f"{one['peer']} {one['version'] or ''}".strip()
        times = f"{one['median text']} ×" if one["cases"] else "–"
        lines.append(f"{name:<34}{times:>12}   {one['range']:<26}{one['cases']:>5}")
        several = len(one["compared"]) > 1
        for part in one["compared"]:
            text = f"{part['text']}: {part['ratios']}" if several else part["text"]
            lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="      ")
        texts = where_not_texts(one)
        for text in texts:
            title = "" if text.startswith((NOT_MEASURED, NOT_ALL)) else "where not: "
            lines += textwrap.wrap(title + text, width, initial_indent="    ", subsequent_indent="      ")
    lines += ["─" * width, "≥: some of the peer's searches were given up at their time limit, so the ratio is larger."]
    lines += ["", *outcome_lines(found["scripts"], width)]
    return "\n".join(lines)


def outcome_lines(outcomes: Sequence[Mapping[str, Any]], width: int = WIDTH) -> list[str]:
    """Return one line per script."""
    lines = []
    for one in outcomes:
        times = f"{one['seconds']:>6.0f} s ({one['cpu_seconds']:.0f} s of a core)"
        text = f"{one['name']:<16}{times:<26}{one['met']:>3} bars met, {one['missed']} missed"
        if one["outcome"] != "done":
            text += f"; {one['outcome']}: {one['reason']}"
        lines += textwrap.wrap(text, width, subsequent_indent=" " * 16)
    return lines
