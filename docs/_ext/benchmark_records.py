"""``{benchmark-records}``: one section per script of ``benchmarks/``, from its recorded run in ``benchmarks/results/``."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FASTER = "times faster"


def scripts() -> list[Path]:
    """The scripts that are run, not what they import."""
    return sorted(path for path in BENCHMARKS.glob("*.py") if not path.name.startswith("_"))


def about(script: Path) -> str:
    """The first line of its docstring."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem
    return text.splitlines()[0]


def record_of(script: Path) -> dict[str, Any] | None:
    """What was recorded of it; None where nothing was."""
    path = BENCHMARKS / "results" / f"{script.stem}.json"
    if not path.is_file():
        return None
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def slower(record: dict[str, Any]) -> list[str]:
    """Where another is faster, by the lines of the tables."""
    found = []
    for lines in record["tables"].values():
        for line in lines:
            for column, value in line.items():
                if column.startswith(FASTER) and isinstance(value, int | float) and value < 1:
                    whom = column.removeprefix(FASTER).removeprefix(" than ").strip() or line.get("who", "another")
                    where = ", ".join(str(line[name]) for name in ("data", "model", "table", "depth") if name in line)
                    found.append(f"slower than {whom} on {where}: {shown(1 / value) if value else '∞'} times as long")
    return found


def shown(value: Any) -> str:
    """A figure as a cell shows it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def paragraph(text: str, *classes: str) -> nodes.paragraph:
    """Plain text."""
    return nodes.paragraph("", text, classes=list(classes))


def bullets(texts: list[str]) -> nodes.bullet_list:
    """One item per text."""
    return nodes.bullet_list("", *(nodes.list_item("", paragraph(text)) for text in texts))


def table(title: str, lines: list[dict[str, Any]]) -> nodes.table:
    """The rows as recorded, in the order of the script's own columns."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    group = nodes.tgroup(cols=len(names))
    group += [nodes.colspec(colwidth=1) for _ in names]

    def row(cells: list[str]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", paragraph(cell)) for cell in cells))

    group += nodes.thead("", row(names))
    group += nodes.tbody("", *(row([shown(line.get(name)) for name in names]) for line in lines))
    return nodes.table("", nodes.title("", title), group, classes=["fcca-results"])


def recorded_when(record: dict[str, Any]) -> nodes.paragraph:
    """When and where it was run."""
    machine = record["machine"]
    return paragraph(
        f"Recorded {record['date']} in {shown(record['seconds'])} s on {machine['cores']} cores of {machine['cpu']}"
        f", {machine['system']}, Python {machine['python']}; load {shown(machine['load before'])} before and "
        f"{shown(machine['load after'])} after. "
        + ", ".join(f"{name} {version}" for name, version in record["versions"].items())
        + "."
    )


def verdicts(record: dict[str, Any]) -> list[nodes.Node]:
    """The bars, those that were missed first."""
    found: list[nodes.Node] = []
    missed = [f"Missed: {one['text']}" for one in record["verdicts"] if not one["passed"]]
    behind = [f"fcca is {text}" for text in slower(record)]
    if missed + behind:
        found += [paragraph("Where it falls short:", "fcca-miss"), bullets(missed + behind)]
    met = [one["text"] for one in record["verdicts"] if one["passed"]]
    if met:
        found += [paragraph("Bars that were met:"), bullets(met)]
    return found


def is_readable(lines: list[dict[str, Any]]) -> bool:
    """Whether a reader wants it as a table: a script that keeps lists keeps them for a figure."""
    return not any(isinstance(value, list) for line in lines for value in line.values())


def recorded(record: dict[str, Any]) -> list[nodes.Node]:
    """What came of it, the shortfalls first."""
    tables = [table(title, lines) for title, lines in record["tables"].items() if is_readable(lines)]
    return [recorded_when(record), *verdicts(record), *tables]


class BenchmarkRecords(SphinxDirective):
    """All benchmarks."""

    def run(self) -> list[nodes.Node]:
        """One section each."""
        self.env.note_dependency(str(BENCHMARKS / "results"))
        return [self.section(script) for script in scripts()]

    def section(self, script: Path) -> nodes.section:
        """What a script measures, its command, and what came of it."""
        section = nodes.section(ids=[f"benchmark-{script.stem}"], names=[f"benchmark {script.stem}"])
        section += nodes.title("", script.stem.replace("_", " "))
        section += paragraph(about(script))
        self.state.document.note_implicit_target(section, section)
        record = record_of(script)
        command = f"python benchmarks/{script.name}" if record is None else record["command"]
        section += nodes.literal_block(command, command, language="sh")
        if record is None:
            section += paragraph("Not recorded.", "fcca-miss")
            return section
        section += recorded(record)
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("benchmark-records", BenchmarkRecords)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
