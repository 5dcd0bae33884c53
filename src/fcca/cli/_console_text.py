"""Format texts, numbers and tables for the console.

Column names and class labels come from files. They are printed only as rich ``Text``, which does not interpret markup.
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
    """Return a framed list, in which each line has a title and a text."""
    grid = titled_grid()
    for name, text in lines:
        grid.add_row(name, Text(text))
    return Panel(grid, title=title, title_align="left", box=box.ROUNDED, border_style="cyan")


def titled_grid() -> Table:
    """Return an empty grid with two columns: bold titles, and texts that wrap."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def plain_table(texts: Sequence[str] = (), **options: Any) -> Table:
    """Return an empty table with one text column for each title in ``texts``.

    Long texts in these columns wrap. ``options`` are passed to rich's ``Table``.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, **options)
    for name in texts:
        table.add_column(Text(name), overflow="fold")
    return table


def add_numbers(table: Table, *names: str) -> None:
    """Add right-aligned columns for numbers to a table, with these names as titles."""
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def written_to(paths: Sequence[Path]) -> list[Text]:
    """Return an empty line, and a line ``Written to …`` for each written file."""
    lines = [Text("Written to ", style="bold").append(printable(path), "not bold") for path in paths]
    return [Text(), *lines] if lines else []


def classes_in_words(class_counts: dict[Any, int]) -> str:
    """List the first few classes, each with its number of rows."""
    counts = [f"{printable(name)} ({number(count)})" for name, count in class_counts.items()]
    shown = ", ".join(counts[:CLASSES_SHOWN])
    return shown if len(counts) <= CLASSES_SHOWN else f"{shown}, … ({len(counts)} classes)"


def number(n: int) -> str:
    """Format an integer with commas between thousands."""
    return f"{n:,}"


def percent(share: float, digits: int = 1) -> str:
    """Format a share as ``72.9 %``.

    A share above 0 is never shown as 0 %, but as ``< 0.1 %``. A share below 1 is never shown as 100 %, but as
    ``> 99.9 %``.
    """
    least = 10.0**-digits / 2
    if 0 < 100 * share < least:
        return f"< {2 * least:g} %"
    if 100 - least <= 100 * share < 100:
        return f"> {100 - 2 * least:g} %"
    return f"{100 * share:.{digits}f} %"


def seconds(time: float) -> str:
    """Format a duration in milliseconds if it is below one second, otherwise in seconds."""
    return f"{time * 1000:.0f} ms" if time < 1 else f"{time:.1f} s"


def status_counts(statuses: Mapping[str, int]) -> str:
    """Describe how many counterfactuals have each status: ``12 proven optimal, 3 infeasible``."""
    counts = dict(statuses)
    parts = [f"{number(counts.pop('optimal', 0))} proven optimal", f"{number(counts.pop('infeasible', 0))} infeasible"]
    return ", ".join(parts + [f"{number(count)} {status_in_words(status)}" for status, count in counts.items()])


def status_in_words(status: str) -> str:
    """Describe the status of a counterfactual: ``proven optimal``, ``within the gap``."""
    return {"optimal": "proven optimal", "within_gap": "within the gap"}.get(status, status)
