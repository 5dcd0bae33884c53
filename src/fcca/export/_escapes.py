"""JSON that can be shown and written anywhere. Imports nothing large."""

from __future__ import annotations

import re

# What JSON leaves as it is and a terminal may act on, or no file can hold: control characters, separators of lines, marks of
# direction, halves of characters. They only ever stand inside of texts, where an escape means the same.
UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def with_escapes(json_text: str) -> str:
    """The same JSON, with escapes for the characters that are not to stand in it as they are."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)
