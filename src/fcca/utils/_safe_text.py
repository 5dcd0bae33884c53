"""Escape strings from the user's data, such as column names, for safe display."""

from __future__ import annotations

import re
import unicodedata

# Control characters, line and paragraph separators, surrogates.
ESCAPED_CATEGORIES = frozenset({"Cc", "Zl", "Zp", "Cs"})
# Marks that change the reading direction, so that a string could be displayed in another order.
DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# The same characters, except those that json.dumps escapes. They occur only inside strings, where escapes are valid.
UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """Convert an object to text, with control characters, line breaks and direction marks escaped."""
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ESCAPED_CATEGORIES or c in DIRECTION_MARKS else c
        for c in str(text)
    )


def type_in_words(given: object) -> str:
    """Describe the type of an argument, for an error message.

    Return the name of its type. If the argument is itself a class X, return ``the class X``.

    Parameters
    ----------
    given : object
    """
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__


def escaped_json(json_text: str) -> str:
    """Escape control characters and direction marks in a JSON document, for safe display."""
    return UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)
