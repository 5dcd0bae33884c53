"""What ``fcca explain`` prints. Names of columns and classes come from files, so they are only ever put in a Text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fcca.cli._explanation import Explanation
from fcca.cli._models import described
from fcca.cli._words import number, printable, seconds
from fcca.counterfactuals import Explanations

ANSWERS_SHOWN = 20
STYLES = {"optimal": "green", "feasible": "yellow", "infeasible": "dim", "unknown": "yellow", "unverified": "bold red"}


def explain_summary(explained: Explanation, written: Path | None) -> RenderableType:
    """The answers as a table and in words, and the file that they were written to."""
    parts: list[RenderableType] = [
        Panel(_facts(explained), title="fcca explain", title_align="left", box=box.ROUNDED, border_style="cyan"),
        _answers_table(explained),
        Text(),
        _in_words(explained),
    ]
    if written is not None:
        parts += [Text(), Text("Written to ", style="bold").append(printable(written), style="not bold")]
    return Group(*parts)


def _facts(explained: Explanation) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    found = explained.found
    n_rows, n_columns = explained.shape
    grid.add_row("Model", Text(f"{printable(explained.model_file.name)}: {described(explained.model)}"))
    grid.add_row("Data", Text(f"{printable(explained.data_file.name)}: {number(n_rows)} rows × {number(n_columns)} columns"))
    if explained.decision is not None:
        grid.add_row("Decision", Text(printable(explained.decision)))
    grid.add_row("Counterfactuals", Text(_counts(found)))
    grid.add_row("Time", Text(seconds(explained.seconds)))
    return grid


def _is_there(found: Explanations) -> NDArray[np.bool_]:
    """Whether a row is answered as asked for without any change."""
    is_moved = np.isin(np.arange(len(found)), found.moves.point)
    return found.is_status("optimal") & ~is_moved


def _is_no_other(found: Explanations) -> NDArray[np.bool_]:
    """Whether an answer says that after the ones before it there is none."""
    return found.is_status("infeasible") & (found.answer > 1)


def _counts(found: Explanations) -> str:
    """How many rows were asked about, and what came out: changes, rows that need none, and ends of the search."""
    there, no_other = _is_there(found), _is_no_other(found)
    n_rows, n_changes = len(np.unique(found.rows)), int((~there & ~no_other).sum())
    statuses = found.status[~there & ~no_other].tolist()
    parts = [
        f"{number(statuses.count(status))} {'proven optimal' if status == 'optimal' else status}"
        for status in STYLES
        if status in statuses
    ]
    if there.any():
        targets = {printable(target) for target in found.target[there]}
        parts.append(f"{number(int(there.sum()))} already {targets.pop() if len(targets) == 1 else 'as asked for'}")
    rows = f"{number(n_rows)} row{'s' if n_rows != 1 else ''}"
    if bool((found.answer > 1).any()):
        rows += f", {number(n_changes)} answer{'s' if n_changes != 1 else ''}"
    end = ""
    if no_other.any():
        which = "" if n_rows == 1 else f" for {number(int(no_other.sum()))} of the rows"
        end = f", then proven that there is no other{which}"
    return f"{rows}: {', '.join(parts)}{end}"


def _answers_table(explained: Explanation) -> Table:
    found = explained.found
    several, likely = bool((found.answer > 1).any()), bool(np.isfinite(found.probability_before).any())
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("Row", justify="right", no_wrap=True)
    if several:
        table.add_column("answer", justify="right", no_wrap=True)
    table.add_column("now", overflow="fold")
    table.add_column("then", overflow="fold")
    if likely:
        table.add_column(Text(_whose_probability(found)), overflow="fold")
    table.add_column("cost", justify="right", no_wrap=True)
    table.add_column("proof", no_wrap=True)
    status, target, predicted, labels = found.status, found.target, found.predicted, found.labels[found.rows]
    words = np.where(_is_there(found), "none needed", np.where(_is_no_other(found), "no other", status))
    for i in range(min(len(found), ANSWERS_SHOWN)):
        cells: list[RenderableType] = [Text(printable(labels[i]))]
        if several:
            cells.append(str(found.answer[i]))
        answered = str(status[i]) not in ("infeasible", "unknown")
        cells += [Text(printable(predicted[i])), Text(printable(target[i]) if answered else "–")]
        if likely:
            before, after = found.probability_before[i], found.probability_after[i]
            cells.append(Text(f"{_share(before)} → {_share(after)}", no_wrap=True))
        cells += [f"{found.cost[i]:.4g}" if answered else "–", Text(str(words[i]), style=STYLES[str(status[i])])]
        table.add_row(*cells)
    return table


def _whose_probability(found: Explanations) -> str:
    """``P(approved)`` where all answers are about one class, elsewhere the one in the column ``then``."""
    codes = np.unique(found.class_code[:ANSWERS_SHOWN])
    return f"P({printable(found.classes[codes[0]])})" if len(codes) == 1 and codes[0] >= 0 else "P(then)"


def _share(probability: float) -> str:
    return f"{probability:.3f}" if np.isfinite(probability) else "–"


def _in_words(explained: Explanation) -> Table:
    found = explained.found
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    several = bool((found.answer > 1).any())
    grid.add_column(overflow="fold")
    labels = found.labels[found.rows]
    for i, text in enumerate(found.sentences()[:ANSWERS_SHOWN]):
        name = f"Row {printable(labels[i])}" if found.answer[i] == 1 else ""
        grid.add_row(f"{name} ({found.answer[i]})".strip() if several else name, Text(printable(text)))
    if len(found) > ANSWERS_SHOWN:
        grid.add_row(
            "", Text(f"… {number(len(found) - ANSWERS_SHOWN)} more: --out FILE or --json has them all.", style="dim")
        )
    return grid
