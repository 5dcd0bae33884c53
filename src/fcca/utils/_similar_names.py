"""Suggest similar names in error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

NAMES_SHOWN = 12
MOST_SUGGESTIONS = 3
LEAST_SIMILARITY = 0.7


def similar(word: Any, known: Iterable[Any]) -> list[Any]:
    """Return up to three known names that are similar to ``word``, the most similar first.

    Names that differ only in case are similar. Labels that are not strings are compared by their texts.
    """
    names = {str(name): name for name in known}
    close = get_close_matches(str(word), names, n=MOST_SUGGESTIONS, cutoff=LEAST_SIMILARITY)
    if not close:
        close = [name for name in names if name.lower() == str(word).lower()][:MOST_SUGGESTIONS]
    return [names[name] for name in close]


def close_to(word: Any, known: Iterable[Any]) -> str:
    """Suggest the known names that are most similar to ``word``.

    The result is a sentence for an error message: ``Did you mean 'age'?``, or a list of names if none is similar.
    """
    names = list(known)
    close = similar(word, names)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    more = f", … ({len(names)} in all)" if len(names) > NAMES_SHOWN else ""
    return f"Expected one of {', '.join(map(repr, names[:NAMES_SHOWN]))}{more}."
