"""What ``fcca benchmark`` prints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from fcca.cli._comparison import BASELINE, BLACK_BOX, Comparison
from fcca.cli._summary import panel
from fcca.cli._words import classes_in_words, number, percent, printable, seconds

HOW_GOOD = ("accuracy", "fidelity", "seconds")
HOW_LARGE = ("thresholds", "columns", "leaves", "proven")


def comparison_summary(compared: Comparison, written: Path | None) -> RenderableType:
    """A line per method, and the file that they were written to."""
    data, settings = compared.data, compared.settings
    facts = [
        ("Data", f"{printable(data.name)}: {number(len(data.y))} rows × {number(data.X.shape[1])} columns"),
        ("Classes", classes_in_words(data.class_counts())),
        ("Black box", compared.model),
        ("Trees", f"depth {settings.depth}; a leaf of FCCA's and GTRE's has to save ten rows, one of CART's costs nothing"),
        ("Folds", f"{settings.folds}; means over them, ± is the standard error"),
        ("Time", seconds(compared.seconds)),
    ]
    parts: list[RenderableType] = [panel("fcca benchmark", facts), _Lines(compared)]
    for name, reason in compared.missing.items():
        parts += [Text(), Text(f"{name} is left out. {printable(reason)}")]
    if written is not None:
        parts += [Text(), Text("Written to ", style="bold").append(printable(written), style="not bold")]
    return Group(*parts)


@dataclass(frozen=True)
class _Lines:
    """One table where it fits, else two below each other: nothing is cut off."""

    compared: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = _table(self.compared, (*HOW_GOOD, *HOW_LARGE))
        if console.measure(whole, options=options.update(width=1000)).maximum <= options.max_width:
            yield whole
        else:
            yield _table(self.compared, HOW_GOOD)
            yield Text()
            yield _table(self.compared, HOW_LARGE)


def _table(compared: Comparison, columns: tuple[str, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for line in compared.frame().to_dict("records"):
        cells = _cells({str(name): value for name, value in line.items()})
        style = "dim" if line["method"] in (BLACK_BOX, BASELINE) else ""
        table.add_row(Text(str(line["method"])), *(cells[name] for name in columns), style=style)
    return table


def _cells(line: dict[str, Any]) -> dict[str, str]:
    black_box = line["method"] == BLACK_BOX
    return {
        "accuracy": f"{percent(line['accuracy'])} ± {_or_dash(100 * line['accuracy_se'], '{:.1f}')}",
        "fidelity": "–" if black_box else percent(line["fidelity"]),
        "seconds": f"{line['seconds']:.2f}",
        "thresholds": "–" if black_box else _or_dash(line["thresholds"], "{:.1f}", "all"),
        "columns": _or_dash(line["columns"], "{:.1f}"),
        "leaves": _or_dash(line["leaves"], "{:.1f}"),
        "proven": "–" if line["optimal"] != line["optimal"] else percent(line["optimal"], 0),
    }


def _or_dash(value: Any, form: str, dash: str = "–") -> str:
    return dash if value != value else form.format(value)
