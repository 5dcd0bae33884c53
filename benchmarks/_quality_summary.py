"""Summary of the quality benchmark: means, ranks, paired differences and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import _results
from _quality_fits import MEASURES
from _quality_methods import METHODS
from _quality_ours import DEFAULT, THRESHOLDS
from _quality_peers import SMALL_CARTS
from _quality_pool import DONE, FAILED, TIMEOUT, Outcome

SHOWN = (*MEASURES, "fidelity", "leaves", "conditions", "columns", "seconds", "proven")
#: The measures that the verdicts are about, with the worst difference from CART of depth 3 that a table may have.
BARS = {"accuracy": 0.02, "AUC": 0.02, "log-loss": 0.03}
CONFIDENCE = 0.95
YARDSTICK = "CART depth 3"


class Interval(NamedTuple):
    """Mean of paired differences, and half the width of its interval."""

    mean: float
    half: float

    @classmethod
    def corrected(cls, differences: Sequence[float], n_held_out: float, n_training: float) -> Interval:
        """Compute the interval of Nadeau and Bengio.

        The J splits share training rows, so 1/J in the variance becomes 1/J + held-out rows / training rows.
        """
        n = len(differences)
        if n < 2:
            return cls(float(np.mean(differences)), np.nan)
        variance = (1 / n + n_held_out / n_training) * np.var(differences, ddof=1)
        return cls(float(np.mean(differences)), float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * np.sqrt(variance)))

    @property
    def sign(self) -> int:
        """1 or -1 if the interval excludes zero, otherwise 0."""
        return int(self.mean - self.half > 0) - int(self.mean + self.half < 0)

    def text(self, direction: int) -> str:
        """Format the interval in hundredths, with a mark if it excludes zero."""
        mark = {1: " ▲", -1: " ▼", 0: ""}[self.sign * direction]
        half = "" if np.isnan(self.half) else f" ± {100 * self.half:.1f}"
        return f"{100 * self.mean:+.1f}{half}{mark}"


def report(outcomes: Sequence[Outcome], half: str) -> None:
    """Print and record all results for the odd or the even tables."""
    keep_fits(outcomes, half)
    frame = pd.DataFrame([one for one in outcomes if one["status"] == DONE])
    if frame.empty:
        return
    for name in SHOWN:
        frame[name] = pd.to_numeric(frame[name]) if name in frame else np.nan
    methods = [name for name in METHODS if name in set(frame["method"])]
    keep_means(frame, methods, half)
    keep_ranks(frame, methods, half)
    if DEFAULT not in methods:
        return
    others = [name for name in methods if name != DEFAULT]
    intervals = {measure: paired_differences(frame, others, measure) for measure in MEASURES}
    keep_differences(intervals, others, half)
    if YARDSTICK in others:
        keep_tables(frame, intervals, half)
    for line in verdicts(frame, intervals, half):
        print(line)


def printed(title: str, lines: Sequence[dict[str, Any]]) -> None:
    """Print a table, and record it."""
    print(f"\n{title}")
    print(pd.DataFrame(lines).to_string(index=False, float_format=lambda value: f"{value:.4f}", na_rep="–"), flush=True)
    for line in lines:
        _results.row(title, **line)


def keep_fits(outcomes: Sequence[Outcome], half: str) -> None:
    """Record the number of fits of each method, and of fits that did not finish."""
    lines = []
    for name in METHODS:
        states = [one["status"] for one in outcomes if one["method"] == name]
        if states:
            counts = {state: states.count(state) for state in (DONE, TIMEOUT, FAILED)}
            lines.append({"method": name, "splits at most": METHODS[name].most_splits, **counts})
    printed(f"Fits, {half} tables", lines)
    ended = pd.DataFrame([one for one in outcomes if one["status"] != DONE])
    if not ended.empty:
        groups = ended.groupby(["method", "status", "table", "reason"], sort=False)["split"].nunique().reset_index()
        printed(f"Not measured, {half} tables", groups.rename(columns={"split": "splits"}).to_dict("records"))


def table_means(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Compute means over the splits, with one row per table and one column per method."""
    return frame.pivot_table(measure, "table", "method", aggfunc="mean", dropna=False)


def keep_means(frame: pd.DataFrame, methods: Sequence[str], half: str) -> None:
    """Record the means: over the splits of each table, then over the tables."""
    means = {measure: table_means(frame, measure).mean() for measure in SHOWN}
    lines = []
    for name in methods:
        own = frame[frame["method"] == name]
        figures = {measure: _rounded(means[measure].get(name, np.nan)) for measure in SHOWN}
        n_splits = own.groupby("table")["split"].nunique()
        lines.append({"method": name, "tables": len(n_splits), "splits": _range(n_splits), **figures})
    printed(f"Means over the {half} tables", lines)


def _range(counts: pd.Series) -> str:
    return str(counts.min()) if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def keep_ranks(frame: pd.DataFrame, methods: Sequence[str], half: str) -> None:
    """Record the mean ranks over the tables. A method without a result shares the last rank on that table."""
    ranks = {}
    for measure, direction in MEASURES.items():
        means = direction * table_means(frame, measure)
        ranks[measure] = means.rank(axis=1, ascending=False, na_option="bottom").mean()
    printed(
        f"Mean ranks among {len(methods)} methods, {half} tables",
        [{"method": name, **{measure: round(float(ranks[measure][name]), 2) for measure in MEASURES}} for name in methods],
    )


def paired_differences(frame: pd.DataFrame, others: Sequence[str], measure: str) -> dict[tuple[str, str], Interval]:
    """Compute the default minus each other method, by method and table, on the splits that both have."""
    values = frame.pivot_table(measure, ["table", "split"], "method")
    sizes = frame.groupby("table")[["held-out rows", "rows"]].mean()
    found = {}
    for name in others:
        difference = (values[DEFAULT] - values[name]).dropna() if name in values else pd.Series(dtype=float)
        for table, group in difference.groupby(level="table"):
            found[name, str(table)] = Interval.corrected(group.tolist(), *sizes.loc[table].tolist())
    return found


def keep_differences(intervals: dict[str, dict[tuple[str, str], Interval]], others: Sequence[str], half: str) -> None:
    """Record how many tables are better or worse by method, then the interval of every table."""
    for measure, direction in MEASURES.items():
        lines, found = [], intervals[measure]
        for name in others:
            own = {table: one for (method, table), one in found.items() if method == name}
            if not own:
                continue
            signs = [np.sign(round(direction * one.mean, 9)) for one in own.values()]
            clear = [direction * one.sign for one in own.values()]
            worst = min(own, key=lambda table: direction * own[table].mean)
            counts = {"better": signs.count(1), "worse": signs.count(-1)}
            counts |= {"clearly better": clear.count(1), "clearly worse": clear.count(-1)}
            mean = round(float(np.mean([one.mean for one in own.values()])), 4)
            worst_text = f"{own[worst].text(direction)} ({worst})"
            lines.append({"method": name, "tables": len(own), "mean": mean, **counts, "worst, in hundredths": worst_text})
        printed(f"Default minus the others in {measure}, {half} tables", lines)
    for measure, direction in MEASURES.items():
        tables = sorted({table for _, table in intervals[measure]})
        lines = [
            {
                "method": name,
                **{t: intervals[measure][name, t].text(direction) for t in tables if (name, t) in intervals[measure]},
            }
            for name in others
        ]
        for line in lines:  # too wide to print
            _results.row(f"Intervals by table: default minus the others in {measure}, hundredths, {half} tables", **line)


def keep_tables(frame: pd.DataFrame, intervals: dict[str, dict[tuple[str, str], Interval]], half: str) -> None:
    """Compare the default with CART of depth 3, table by table, and mark tables where it is too far behind."""
    means = {measure: table_means(frame, measure) for measure in BARS}
    lines = []
    for table in sorted(set(frame["table"])):
        line: dict[str, Any] = {"table": table}
        for measure in BARS:
            if (YARDSTICK, table) in intervals[measure]:
                pair = (means[measure].loc[table, name] for name in (DEFAULT, YARDSTICK))
                line[f"{measure} of both"] = " / ".join(f"{value:.3f}" for value in pair)
                line[f"{measure}, difference"] = round(intervals[measure][YARDSTICK, table].mean, 4)
        behind = too_far_behind(intervals, table)
        lines.append({**line, "too far behind in": ", ".join(behind) or None})
    printed(f"Default beside {YARDSTICK}, {half} tables", lines)


def too_far_behind(intervals: dict[str, dict[tuple[str, str], Interval]], table: str) -> list[str]:
    """Return the measures in which the default is worse than CART of depth 3 by more than the bar allows."""
    return [
        measure
        for measure, bar in BARS.items()
        if (YARDSTICK, table) in intervals[measure] and MEASURES[measure] * intervals[measure][YARDSTICK, table].mean < -bar
    ]


# --- verdicts ---------------------------------------------------------------------------------------------------------


def mean_gains(intervals: dict[str, dict[tuple[str, str], Interval]], name: str) -> dict[str, float]:
    """Compute the mean gain of the default over another method for each measure, over the tables."""
    gains = {}
    for measure in BARS:
        own = [one.mean for (method, _), one in intervals[measure].items() if method == name]
        if own:
            gains[measure] = MEASURES[measure] * float(np.mean(own))
    return gains


def verdicts(frame: pd.DataFrame, intervals: dict[str, dict[tuple[str, str], Interval]], half: str) -> list[str]:
    """Return one line per bar."""
    lines = []
    carts = [gains for name in SMALL_CARTS if (gains := mean_gains(intervals, name))]
    if carts:
        least = {measure: min(gains[measure] for gains in carts) for measure in BARS}
        passed = min(least.values()) >= 0 and sum(gain > 0 for gain in least.values()) >= 2
        text = f"{half} tables: no worse than the best CART of at most 8 leaves in each mean, better in two"
        lines.append(f"{_word(passed)}  {text}: {_gain_text(least)}")
    if any(name == YARDSTICK for name, _ in intervals["accuracy"]):
        tables = sorted(set(frame["table"]))
        behind = [f"{table} ({', '.join(found)})" for table in tables if (found := too_far_behind(intervals, table))]
        text = f"{half} tables: nowhere behind {YARDSTICK} by more than .02 in accuracy or AUC or .03 in log-loss"
        lines.append(f"{_word(not behind)}  {text}: {', '.join(behind) or 'none is'} ({len(behind)} of {len(tables)})")
    for name in [name for name, method in METHODS.items() if method.group == THRESHOLDS]:
        gains = mean_gains(intervals, name)
        if gains:
            columns = common_means(frame, name, "columns")
            passed = min(gains.values()) >= 0 and columns[0] <= columns[1]
            text = f"{half} tables: thresholds of the default at least as good as {name}, with no more columns"
            lines.append(
                f"{_word(passed)}  {text}: {_gain_text(gains)}; {columns[0]:.1f} and {columns[1]:.1f} columns on average"
            )
    leaves = frame[frame["method"] == DEFAULT]["leaves"].max()
    lines.append(f"{_word(leaves <= 8)}  {half} tables: the default has at most 8 leaves: {leaves:.0f}")
    return lines


def common_means(frame: pd.DataFrame, name: str, figure: str) -> tuple[float, float]:
    """Compute the means of the default and of another method, on the splits that both have."""
    values = frame.pivot_table(figure, ["table", "split"], "method")[[DEFAULT, name]].dropna()
    means = values.groupby(level="table").mean().mean()
    return float(means[DEFAULT]), float(means[name])


def _word(passed: bool) -> str:
    return "PASS" if passed else "MISS"


def _gain_text(gains: dict[str, float]) -> str:
    return ", ".join(f"{measure} {MEASURES[measure] * gain:+.4f}" for measure, gain in gains.items())
