"""Small tables for notebooks, with escaped texts and without colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fcca.utils._text import printable

BAR_WIDTH = 120  # pixels


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def paragraph(text: object) -> str:
    """A line of text."""
    return f"<p>{_cell(text)}</p>"


def html_table(head: Sequence[object], lines: Iterable[Sequence[object]], *, numbers: Sequence[int] = ()) -> str:
    """A table of texts.

    Parameters
    ----------
    head : sequence
        What the columns are called.
    lines : iterable of sequences
    numbers : sequence of int, default=()
        The columns that stand to the right, as numbers do.
    """

    def line(tag: str, cells: Sequence[object]) -> str:
        sides = ["right" if at in numbers else "left" for at in range(len(cells))]
        return "".join(f'<{tag} style="text-align:{s}">{_cell(c)}</{tag}>' for s, c in zip(sides, cells, strict=True))

    body = "".join(f"<tr>{line('td', cells)}</tr>" for cells in lines)
    return f"<table><thead><tr>{line('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def bar(share: float) -> Markup:
    """A bar in the colour of the text."""
    width = round(BAR_WIDTH * min(1.0, max(0.0, share)))
    return Markup(f'<div style="width:{width}px;height:.6em;background:currentColor;opacity:.5"></div>')


def number(x: float) -> str:
    """Three digits, and a dash where there is none."""
    return "–" if x != x else f"{x:.3f}"


def _cell(text: object) -> str:
    return text if isinstance(text, Markup) else escape(printable(text))
