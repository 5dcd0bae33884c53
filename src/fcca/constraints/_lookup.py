"""Find codes of categories, and suggest similar names in error messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Any

NAMES_SHOWN = 12


def close_to(word: str, known: Iterable[str]) -> str:
    """Suggest the known names that are most similar to ``word``.

    The result is a sentence for an error message: ``Did you mean 'age'?``, or a list of names if none is similar.
    """
    names = list(known)
    close = get_close_matches(word, names, n=3, cutoff=0.7)
    if not close:  # names that differ only in case
        close = [name for name in names if name.lower() == word.lower()]
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    more = f", … ({len(names)} in all)" if len(names) > NAMES_SHOWN else ""
    return f"Expected one of {', '.join(map(repr, names[:NAMES_SHOWN]))}{more}."


def code_of(label: Any, categories: Sequence[Any]) -> int | None:
    """Return the code of the category ``label``.

    If no category equals the label, a string such as ``"2"`` also matches the number or boolean that it spells. Return None
    unless exactly one category matches.
    """
    found = [code for code, one in enumerate(categories) if _same(one, label)]
    if not found and isinstance(label, str):
        found = [code for code, one in enumerate(categories) if _reads_like(one, label)]
    return found[0] if len(found) == 1 else None


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _reads_like(one: Any, text: str) -> bool:
    """Return True if ``text`` spells the number or boolean ``one``, as "2" spells 2.

    Categories that are read from a YAML file are strings.
    """
    if isinstance(one, str):
        return False
    if isinstance(one, Real) and not isinstance(one, bool):
        try:
            return float(text) == float(one)
        except ValueError:
            return False
    return str(one).lower() == text.lower()
