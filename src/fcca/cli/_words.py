"""Words and numbers that every command prints in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fcca._text import printable

__all__ = ["classes_in_words", "number", "percent", "printable", "seconds", "status_counts"]


CLASSES_SHOWN = 8


def classes_in_words(class_counts: dict[Any, int]) -> str:
    """Classes with their rows, the first of many."""
    counts = [f"{printable(name)} ({number(count)})" for name, count in class_counts.items()]
    shown = ", ".join(counts[:CLASSES_SHOWN])
    return shown if len(counts) <= CLASSES_SHOWN else f"{shown}, … ({len(counts)} classes)"


def number(n: int) -> str:
    """A whole number, its thousands apart."""
    return f"{n:,}"


def percent(share: float, digits: int = 1) -> str:
    """``72.9 %``; what is not nothing and not everything is not said to be."""
    least = 10.0**-digits / 2
    if 0 < 100 * share < least:
        return f"< {2 * least:g} %"
    if 100 - least <= 100 * share < 100:
        return f"> {100 - 2 * least:g} %"
    return f"{100 * share:.{digits}f} %"


def seconds(time: float) -> str:
    """A time in the unit that suits it."""
    return f"{time * 1000:.0f} ms" if time < 1 else f"{time:.1f} s"


def status_counts(statuses: Mapping[str, int]) -> str:
    """How many answers there are of each status."""
    counts = dict(statuses)
    parts = [f"{number(counts.pop('optimal', 0))} proven optimal", f"{number(counts.pop('infeasible', 0))} infeasible"]
    return ", ".join(parts + [f"{number(count)} {status}" for status, count in counts.items()])
