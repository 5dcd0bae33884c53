"""Find a name or a category, or suggest the closest one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Any

NAMES_SHOWN = 12


def close_to(word: str, known: Iterable[str]) -> str:
    """Suggest the closest names, ``Did you mean 'age'?``, or list the known ones."""
    names = list(known)
    close = get_close_matches(word, names, n=3, cutoff=0.7)
    if not close:  # names that differ only in case
        close = [name for name in names if name.lower() == word.lower()]
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    more = f", … ({len(names)} in all)" if len(names) > NAMES_SHOWN else ""
    return f"Expected one of {', '.join(map(repr, names[:NAMES_SHOWN]))}{more}."


def code_of(label: Any, categories: Sequence[Any]) -> int | None:
    """Find the code of a category by its label or by the label as a string.

    Returns None unless exactly one category matches.
    """
    found = [code for code, one in enumerate(categories) if _same(one, label)]
    if not found and isinstance(label, str):
        found = [code for code, one in enumerate(categories) if _reads_like(one, label)]
    return found[0] if len(found) == 1 else None


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _reads_like(one: Any, text: str) -> bool:
    """Compare a number or a boolean with a string from YAML."""
    if isinstance(one, str):
        return False
    if isinstance(one, Real) and not isinstance(one, bool):
        try:
            return float(text) == float(one)
        except ValueError:
            return False
    return str(one).lower() == text.lower()
