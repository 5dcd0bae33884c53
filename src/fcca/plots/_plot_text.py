"""Format the numbers, names and sentences in plots, and shorten them to a given width."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.plots._style import SMALL
from fcca.utils import printable

ELLIPSIS = "…"
BREAK_AFTER = frozenset("_-/,;.:")


def shown(text: object) -> str:
    """Escape dollar signs and control characters, so that matplotlib shows a text literally."""
    return printable(text).replace("$", r"\$")


def number(x: float) -> str:
    """Format a number with four significant digits and commas between thousands."""
    if x == 0 or not np.isfinite(x):
        return "0" if x == 0 else "–"
    if 1e-4 <= abs(x) < 1e7:
        digits = max(0, 3 - int(np.floor(np.log10(abs(x)))))
        text = f"{x:,.{digits}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{x:.4g}"


def percent(share: float) -> str:
    """Format a share as a whole percentage.

    A share between 0 and 1 is never rounded to 0 % or 100 %.
    """
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def several(n: float, what: str) -> str:
    """Format a number with its noun, such as ``1 row`` or ``2 rows``."""
    return f"{n:,.0f} {what}{'' if n == 1 else 's'}"


@lru_cache(maxsize=4096)
def _char_width(char: str) -> float:
    """Return the width of a character in points, at a font size of 1 point."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with warnings.catch_warnings():  # about characters missing in the font
        warnings.simplefilter("ignore")
        # A space has no outline, so it is measured between two letters.
        width, _, _ = text_to_path.get_text_width_height_descent(f"x{char}x", FontProperties(size=10), ismath=False)
        edges, _, _ = text_to_path.get_text_width_height_descent("xx", FontProperties(size=10), ismath=False)
    return float(width - edges) / 10


def text_width(text: str, size: float) -> float:
    """Return the width of a text in points, at the font size ``size``."""
    return sum(map(_char_width, text)) * size


def shortened(text: object, width: float, size: float = SMALL) -> str:
    """Shorten a text to a width in points, with an ellipsis in the middle."""
    whole = printable(text)
    if text_width(whole, size) <= width:
        return whole
    room = width - text_width(ELLIPSIS, size)
    head, tail = 0, len(whole)
    while head < tail:
        if text_width(whole[: head + 1] + whole[tail:], size) > room:
            break
        head += 1
        if text_width(whole[:head] + whole[tail - 1 :], size) > room:
            break
        if (tail - head) > 1 and head % 2 == 0:  # keep two characters at the front for each at the back
            tail -= 1
    return f"{whole[:head].rstrip()}{ELLIPSIS}{whole[tail:].lstrip()}"


def wrapped(text: object, width: float, size: float, most_lines: int) -> list[str]:
    """Break a text into lines of at most ``width`` points.

    If there are more than ``most_lines`` lines, the rest is cut off and an ellipsis is added.
    """
    lines, line = [], ""
    for chunk in _breakable_chunks(printable(text), width, size):
        if line and text_width((line + chunk).rstrip(), size) > width:
            lines.append(line.rstrip())
            line = ""
        line += chunk.lstrip() if not line else chunk
    lines = [*lines, line.rstrip()] if line.strip() or not lines else lines
    if len(lines) <= most_lines:
        return lines
    last = lines[most_lines - 1]
    while last and text_width(last + ELLIPSIS, size) > width:
        last = last[:-1]
    return [*lines[: most_lines - 1], f"{last.rstrip()}{ELLIPSIS}"]


def one_line(text: object, width: float, size: float = SMALL) -> str:
    """Shorten a text to a width in points, and escape it for matplotlib."""
    return shown(shortened(text, width, size))


def some_lines(text: object, width: float, size: float, most_lines: int) -> str:
    """Break a text into at most ``most_lines`` lines of ``width`` points, and escape it for matplotlib."""
    return "\n".join(map(shown, wrapped(text, width, size, most_lines)))


def _breakable_chunks(text: str, width: float, size: float) -> list[str]:
    """Split a text into pieces between which a line may break.

    Lines may break after spaces and some other characters, and inside words that are too long for a line.
    """
    chunks, chunk = [], ""
    for at, char in enumerate(text):
        chunk += char
        ends = char == " " or (char in BREAK_AFTER and not text[at + 1 : at + 2].isdigit())
        if ends or text_width(chunk, size) > width - 2 * size:
            chunks.append(chunk)
            chunk = ""
    return [*chunks, chunk] if chunk else chunks


def names_of_classes(classes: Iterable[Any], given: Mapping[Any, Any] | Sequence[Any] | None) -> list[str]:
    """Return the names to show for classes.

    Parameters
    ----------
    classes : iterable
        Labels of the classes.
    given : mapping, sequence or None
        Names by label, or one name per class. Classes without a name keep their label.
    """
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
    if given is None:
        return [printable(label) for label in labels]
    if isinstance(given, Mapping):
        unknown = [label for label in given if label not in labels]
        if unknown:
            raise InvalidInputError(f"class_names has {unknown[0]!r}, which is not a class. The classes are {labels}.")
        return [printable(given.get(label, label)) for label in labels]
    if isinstance(given, str) or len(given) != len(labels):
        raise InvalidInputError(
            f"class_names must be a list with one name for each of the {len(labels)} classes {labels}, or a mapping from "
            f"classes to names, got {given!r}."
        )
    return [printable(name) for name in given]
