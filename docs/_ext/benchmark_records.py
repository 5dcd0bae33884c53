"""Directives that show the benchmark results recorded in ``benchmarks/results/``.

``{benchmark-summary}`` shows a table with one line per peer, that is, per program that fcca is compared with.
``{benchmark-records}`` shows one section per benchmark script. If ``results/full/`` has the record of a full-size run, it
is shown instead of the record of the smaller run in ``results/``.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"
MAKES_DATA = {"synthetic"}
#: Scripts whose tables are on a separate page, with the title of that page.
OWN_PAGE = {"quality": "How good the trees are"}
MOST_TEXTS = 5  # in one table cell; the sections show all texts

# Imported by its path: the folder is not a package, and other folders have modules with the same names.
_spec = importlib.util.spec_from_file_location("benchmark_summary", BENCHMARKS / "_summary.py")
assert _spec is not None
assert _spec.loader is not None
summaries = importlib.util.module_from_spec(_spec)
sys.modules["benchmark_summary"] = summaries  # its dataclasses look up their module there
_spec.loader.exec_module(summaries)


def scripts() -> list[Path]:
    """List the benchmark scripts that write a record.

    Helper modules and the script that generates data are left out.
    """
    found = (path for path in BENCHMARKS.glob("*.py") if not path.name.startswith("_") and path.stem not in MAKES_DATA)
    return sorted(path for path in found if "_results.recorded(" in path.read_text(encoding="utf-8"))


def about(script: Path) -> str:
    """Return the first line of the script's docstring."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem
    return text.splitlines()[0]


def record_of(script: Path) -> dict[str, Any] | None:
    """Return the record of a script, if possible of a full-size run; None if there is no record."""
    return _read(RESULTS / "full" / f"{script.stem}.json") or _read(RESULTS / f"{script.stem}.json")


def summary_of_run() -> dict[str, Any] | None:
    """Return the summary of the last run of all scripts; None if there is none."""
    return _read(RESULTS / "summary.json")


def _read(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def slower(record: dict[str, Any]) -> list[str]:
    """Describe the cases in which another program is faster than fcca."""
    return [
        f"slower than {case.whom} on {case.where}: {shown(1 / case.ratio) if case.ratio else '∞'} times as long"
        for case in summaries.cases(record)
        if case.ratio < 1 and not case.is_at_least  # the other program was stopped, so the true ratio is unknown
    ]


def shown(value: Any) -> str:
    """Return the text of a value in a table cell."""
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
    """Return a paragraph of plain text, with the given CSS classes."""
    return nodes.paragraph("", text, classes=list(classes))


def cell(texts: list[str]) -> nodes.entry:
    """Return a table cell with one paragraph per text, without line breaks after ≥ or before ×."""
    return nodes.entry("", *(paragraph(text.replace("≥ ", "≥\u00a0").replace(" ×", "\u00a0×")) for text in texts))


def bullets(texts: list[str]) -> nodes.bullet_list:
    """Return a bullet list with one item per text."""
    return nodes.bullet_list("", *(nodes.list_item("", paragraph(text)) for text in texts))


def table(title: str, lines: list[dict[str, Any]]) -> nodes.table:
    """Return a table of the recorded lines, with the columns in the order of the record."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    group = nodes.tgroup(cols=len(names))
    group += [nodes.colspec(colwidth=1) for _ in names]

    def row(cells: list[str]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", paragraph(cell)) for cell in cells))

    group += nodes.thead("", row(names))
    group += nodes.tbody("", *(row([shown(line.get(name)) for name in names]) for line in lines))
    return nodes.table("", nodes.title("", title), group, classes=["fcca-results"])


def peers_table(found: dict[str, Any]) -> nodes.table:
    """Return the summary table, one line per peer.

    A line says what is compared, how many times faster fcca is, and in which cases it is not faster.
    """
    group = nodes.tgroup(cols=5)
    group += [nodes.colspec(colwidth=width) for width in (14, 30, 12, 14, 30)]
    titles = ("Compared with", "What is compared", "Times faster, median", "Range (cases)", "Where fcca is not better")
    group += nodes.thead("", nodes.row("", *(cell([title]) for title in titles)))
    group += nodes.tbody("", *(nodes.row("", *peer_cells(one)) for one in found["peers"]))
    return nodes.table("", group, classes=["fcca-results", "fcca-summary"])


def peer_cells(one: dict[str, Any]) -> list[nodes.entry]:
    """Return the cells of the line of one peer."""
    several = len(one["compared"]) > 1
    compared = [f"{part['text']}: {part['ratios']}" if several else part["text"] for part in one["compared"]]
    texts = summaries.where_not_texts(one)
    if len(texts) > MOST_TEXTS:
        texts = [*texts[:MOST_TEXTS], f"and {len(texts) - MOST_TEXTS} more, in the sections below"]
    median = f"{one['median text']} ×" if one["cases"] else "–"
    spread = f"{one['range']} ({one['cases']})".strip() if one["cases"] else "–"
    name = nodes.entry("", nodes.paragraph("", "", nodes.strong("", one["peer"])))
    if one["version"]:
        name += paragraph(one["version"])
    return [name, cell(compared or ["–"]), cell([median]), cell([spread]), cell(texts)]


def summarised(found: dict[str, Any]) -> list[nodes.Node]:
    """Return the summary table, with the date, the machine and the versions of its run."""
    about = summaries.run_text(found)
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    shown_nodes: list[nodes.Node] = [
        paragraph(f"{about[0].upper()}{about[1:]}."),
        peers_table(found),
        paragraph("≥: some searches of the peer were stopped at their time limit, so the ratio is at least this number."),
        paragraph(f"Versions: {versions}."),
    ]
    unfinished = [one for one in found["scripts"] if one["outcome"] != "done"]
    if unfinished:
        shown_nodes += [paragraph("Some scripts did not finish:", "fcca-miss")]
        shown_nodes += [bullets([f"{one['name']}: {one['outcome']}, {one['reason']}" for one in unfinished])]
    return shown_nodes


def recorded_when(record: dict[str, Any]) -> nodes.paragraph:
    """Return a sentence with the date, machine, load and versions of a recorded run."""
    machine = record["machine"]
    return paragraph(
        f"Recorded {record['date']} in {shown(record['seconds'])} s on {machine['cores']} cores of {machine['cpu']}"
        f", {machine['system']}, Python {machine['python']}; load {shown(machine['load before'])} before and "
        f"{shown(machine['load after'])} after. "
        + ", ".join(f"{name} {version}" for name, version in record["versions"].items())
        + "."
    )


def verdicts(record: dict[str, Any]) -> list[nodes.Node]:
    """List the target values (bars) of a record: first those that were missed, then those that were met."""
    found: list[nodes.Node] = []
    missed = [f"Missed: {one['text']}" for one in record["verdicts"] if not one["passed"]]
    behind = [f"fcca is {text}" for text in slower(record)]
    behind += [f"{one['who']}: {one['text']}" for one in record.get("shortfalls", ())]
    if missed + behind:
        found += [paragraph("Missed target values (bars) and better programs:", "fcca-miss"), bullets(missed + behind)]
    met = [one["text"] for one in record["verdicts"] if one["passed"]]
    if met:
        found += [paragraph("Target values (bars) that were met:"), bullets(met)]
    return found


def is_readable(lines: list[dict[str, Any]]) -> bool:
    """Return whether to show recorded lines as a table.

    Lines that contain lists are the data of a figure and not shown.
    """
    return not any(isinstance(value, list) for line in lines for value in line.values())


def recorded(record: dict[str, Any]) -> list[nodes.Node]:
    """Return the content of a record: missed bars first, then met bars and tables.

    If the tables are on a separate page, a sentence names that page instead.
    """
    partial: list[nodes.Node] = []
    if record.get("ended"):
        partial += [paragraph(f"This run was stopped before its end: {record['ended']}.", "fcca-miss")]
    if record.get("skipped"):
        partial += [paragraph("Left out:"), bullets(record["skipped"])]
    tables: list[nodes.Node] = [table(title, lines) for title, lines in record["tables"].items() if is_readable(lines)]
    if record.get("name") in OWN_PAGE:
        tables = [paragraph(f"The tables are on the page “{OWN_PAGE[record['name']]}”.")]
    return [recorded_when(record), *partial, *verdicts(record), *tables]


class BenchmarkSummary(SphinxDirective):
    """Directive that shows how many times faster fcca is than each peer."""

    def run(self) -> list[nodes.Node]:
        """Return the summary table, or a note if the summary is missing."""
        self.env.note_dependency(str(RESULTS / "summary.json"))
        found = summary_of_run()
        return [paragraph("Not recorded. Run: make bench", "fcca-miss")] if found is None else summarised(found)


class BenchmarkRecords(SphinxDirective):
    """Directive that shows the records of all benchmark scripts."""

    def run(self) -> list[nodes.Node]:
        """Return one section per script."""
        self.env.note_dependency(str(RESULTS))
        return [self.section(script) for script in scripts()]

    def section(self, script: Path) -> nodes.section:
        """Return the section of a script: its description, its command and its results."""
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
    """Register the directives with Sphinx."""
    app.add_directive("benchmark-summary", BenchmarkSummary)
    app.add_directive("benchmark-records", BenchmarkRecords)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
