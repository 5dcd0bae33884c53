"""The report of a distillation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from fcca.cli._distillation_result import Distillation
from fcca.cli._options import DistillSettings
from fcca.cli._summary import facts_of_data
from fcca.utils import progress_bar

TREE_SECONDS = 10.0  # for the tree of each step of the slider, unless less was allowed


def write_page(
    found: Distillation,
    settings: DistillSettings,
    path: Path,
    *,
    title: str | None = None,
    levels: Sequence[float] | None = None,
) -> float:
    """Write the page; returns the seconds that it took."""
    from fcca import report

    began = perf_counter()
    rows = found.in_memory
    assert rows is not None
    with progress_bar("Report", None, shown=False) as progress:
        text = report.page(
            found.classifier,
            X_test=None if rows.test is None else rows.test[0],
            y_test=None if rows.test is None else rows.test[1],
            Q=levels,
            title=title or f"{found.data.name}: a small tree in place of a black box",
            row_numbers=rows.training_rows,
            facts=[*facts_of_data(found), ("Row numbers", "rows of the table, the first is 0")],
            notes=found.notes,
            time_limit=TREE_SECONDS if settings.time_limit is None else min(TREE_SECONDS, settings.time_limit),
            progress=progress,
        )
    path.write_text(text, encoding="utf-8", newline="\n")
    return perf_counter() - began
