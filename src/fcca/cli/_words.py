"""Words and numbers that every command prints in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcca._text import printable

if TYPE_CHECKING:
    from fcca.counterfactuals import Counterfactuals

__all__ = ["number", "printable", "seconds", "status_counts"]


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
