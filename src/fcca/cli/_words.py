"""Words and numbers that every command prints in the same way."""

from __future__ import annotations

import unicodedata

from fcca.counterfactuals import Counterfactuals


def printable(text: object) -> str:
    """The text with control characters and line breaks written as escapes, so that a terminal only ever shows them."""
    shown = (c.encode("unicode_escape").decode() if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in str(text))
    return "".join(shown)


def number(n: int) -> str:
    """A whole number, its thousands apart."""
    return f"{n:,}"


def seconds(time: float) -> str:
    """A time in the unit that suits it."""
    return f"{time * 1000:.0f} ms" if time < 1 else f"{time:.1f} s"


def status_counts(found: Counterfactuals) -> str:
    """How many answers there are of each status."""
    counts = found.counts()
    parts = [f"{number(counts.pop('optimal', 0))} proven optimal", f"{number(counts.pop('infeasible', 0))} infeasible"]
    return ", ".join(parts + [f"{number(count)} {status}" for status, count in counts.items()])
