"""Texts of users, such as column names, made safe to show."""

from __future__ import annotations

import re
import unicodedata

# Control characters, line and paragraph separators, halves of characters.
ESCAPED_CATEGORIES = frozenset({"Cc", "Zl", "Zp", "Cs"})
# Marks that turn the direction of what follows, so that a text could read otherwise than it is.
DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# The characters of these kinds that JSON leaves as they are. They stand inside texts only, where an escape means the same.
UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """Escape control characters and line breaks."""
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ESCAPED_CATEGORIES or c in DIRECTION_MARKS else c
        for c in str(text)
    )


def type_in_words(given: object) -> str:
    """Name the type of an object; a class itself is ``the class X``.

    Parameters
    ----------
    given : object
    """
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__


def escaped_json(json_text: str) -> str:
    """Escape the characters of a JSON text that terminals or files cannot hold."""
    return UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)
