"""Small HTML tables for notebooks. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fcca.utils._safe_text import printable

BAR_WIDTH = 120  # pixels


class Markup(str):
    """A string that is already HTML, so that it is not escaped again."""

    __slots__ = ()


def paragraph(text: object) -> str:
    """Return an HTML paragraph with this text, escaped unless it is a ``Markup``."""
    return f"<p>{_cell(text)}</p>"


def html_table(head: Sequence[object], lines: Iterable[Sequence[object]], *, numbers: Sequence[int] = ()) -> str:
    """Return an HTML table, with cells escaped unless they are a ``Markup``.

    Parameters
    ----------
    head : sequence
        Titles of the columns.
    lines : iterable of sequences
        The rows of the table, with one cell per column.
    numbers : sequence of int, default=()
        Indices of the columns to align to the right.
    """

    def line(tag: str, cells: Sequence[object]) -> str:
        sides = ["right" if at in numbers else "left" for at in range(len(cells))]
        return "".join(f'<{tag} style="text-align:{s}">{_cell(c)}</{tag}>' for s, c in zip(sides, cells, strict=True))

    body = "".join(f"<tr>{line('td', cells)}</tr>" for cells in lines)
    return f"<table><thead><tr>{line('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def bar(share: float) -> Markup:
    """Return a horizontal HTML bar whose length shows a share from 0 to 1."""
    width = round(BAR_WIDTH * min(1.0, max(0.0, share)))
    return Markup(f'<div style="width:{width}px;height:.6em;background:currentColor;opacity:.5"></div>')


def number(x: float) -> str:
    """Format a number with three decimals; NaN becomes a dash."""
    return "–" if x != x else f"{x:.3f}"


def _cell(text: object) -> str:
    return text if isinstance(text, Markup) else escape(printable(text))
