"""Format text, numbers and tables for the console.

Names of columns and classes come from files. They are printed only as rich ``Text``, which does not interpret markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fcca.utils import printable

__all__ = ["classes_in_words", "number", "percent", "printable", "seconds", "status_counts"]


CLASSES_SHOWN = 8


def panel(title: str, lines: Sequence[tuple[str, str]]) -> Panel:
    """Return a framed list of titles and values."""
    grid = titled_grid()
    for name, text in lines:
        grid.add_row(name, Text(text))
    return Panel(grid, title=title, title_align="left", box=box.ROUNDED, border_style="cyan")


def titled_grid() -> Table:
    """Return an empty grid for titles and values."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def plain_table(texts: Sequence[str] = (), **options: Any) -> Table:
    """Return an empty table whose text columns wrap; ``texts`` are their titles."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, **options)
    for name in texts:
        table.add_column(Text(name), overflow="fold")
    return table


def add_numbers(table: Table, *names: str) -> None:
    """Add columns of numbers to a table."""
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def written_to(paths: Sequence[Path]) -> list[Text]:
    """Return one line per written file."""
    return [
        line for path in paths for line in (Text(), Text("Written to ", style="bold").append(printable(path), "not bold"))
    ]


def classes_in_words(class_counts: dict[Any, int]) -> str:
    """List the first few classes with their numbers of rows."""
    counts = [f"{printable(name)} ({number(count)})" for name, count in class_counts.items()]
    shown = ", ".join(counts[:CLASSES_SHOWN])
    return shown if len(counts) <= CLASSES_SHOWN else f"{shown}, … ({len(counts)} classes)"


def number(n: int) -> str:
    """Format an integer with commas between thousands."""
    return f"{n:,}"


def percent(share: float, digits: int = 1) -> str:
    """Format a share as ``72.9 %``.

    Never rounds to 0 % or 100 %.
    """
    least = 10.0**-digits / 2
    if 0 < 100 * share < least:
        return f"< {2 * least:g} %"
    if 100 - least <= 100 * share < 100:
        return f"> {100 - 2 * least:g} %"
    return f"{100 * share:.{digits}f} %"


def seconds(time: float) -> str:
    """Format a time in milliseconds or seconds."""
    return f"{time * 1000:.0f} ms" if time < 1 else f"{time:.1f} s"


def status_counts(statuses: Mapping[str, int]) -> str:
    """Format the number of counterfactuals by status."""
    counts = dict(statuses)
    parts = [f"{number(counts.pop('optimal', 0))} proven optimal", f"{number(counts.pop('infeasible', 0))} infeasible"]
    return ", ".join(parts + [f"{number(count)} {status}" for status, count in counts.items()])
