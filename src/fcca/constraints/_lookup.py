"""Find the codes of categories."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any


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
