"""``{benchmark-summary}`` and ``{benchmark-records}``: what the runs recorded in ``benchmarks/results/`` came to.

The summary is one line per peer; the records are one section per script. A full-size run in ``results/full/`` goes before
the smaller one of the suite.
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
#: Scripts whose tables have a page, by its title.
OWN_PAGE = {"quality": "How good the trees are"}
MOST_TEXTS = 5  # of one cell; the sections have all of them

# By its path: the folder's modules are no package, and other folders have modules of the same names.
_spec = importlib.util.spec_from_file_location("benchmark_summary", BENCHMARKS / "_summary.py")
assert _spec is not None
assert _spec.loader is not None
summaries = importlib.util.module_from_spec(_spec)
sys.modules["benchmark_summary"] = summaries  # where its dataclasses look for it
_spec.loader.exec_module(summaries)


def scripts() -> list[Path]:
    """The scripts that measure and keep a record: not what they import, and not what makes their data."""
    found = (path for path in BENCHMARKS.glob("*.py") if not path.name.startswith("_") and path.stem not in MAKES_DATA)
    return sorted(path for path in found if "_results.recorded(" in path.read_text(encoding="utf-8"))


def about(script: Path) -> str:
    """The first line of its docstring."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem
    return text.splitlines()[0]


def record_of(script: Path) -> dict[str, Any] | None:
    """What was recorded of it, at full size where that was done; None where nothing was."""
    return _read(RESULTS / "full" / f"{script.stem}.json") or _read(RESULTS / f"{script.stem}.json")


def summary_of_run() -> dict[str, Any] | None:
    """What the last run of the suite came to; None where there was none."""
    return _read(RESULTS / "summary.json")


def _read(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def slower(record: dict[str, Any]) -> list[str]:
    """Where another is faster, by the lines of the tables."""
    return [
        f"slower than {case.whom} on {case.where}: {shown(1 / case.ratio) if case.ratio else '∞'} times as long"
        for case in summaries.cases(record)
        if case.ratio < 1 and not case.is_at_least  # one that was given up decides nothing
    ]


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


def cell(texts: list[str]) -> nodes.entry:
    """One paragraph per text; no line ends beside a ≥ or before a ×."""
    return nodes.entry("", *(paragraph(text.replace("≥ ", "≥\u00a0").replace(" ×", "\u00a0×")) for text in texts))


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


def peers_table(found: dict[str, Any]) -> nodes.table:
    """One line per peer: what is compared, how many times faster, and where not."""
    group = nodes.tgroup(cols=5)
    group += [nodes.colspec(colwidth=width) for width in (14, 30, 12, 14, 30)]
    titles = ("Compared with", "What is compared", "Times faster, median", "Range (cases)", "Where not")
    group += nodes.thead("", nodes.row("", *(cell([title]) for title in titles)))
    group += nodes.tbody("", *(nodes.row("", *peer_cells(one)) for one in found["peers"]))
    return nodes.table("", group, classes=["fcca-results", "fcca-summary"])


def peer_cells(one: dict[str, Any]) -> list[nodes.entry]:
    """The line of one peer."""
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
    """The table of the peers, with the run it is of."""
    about = summaries.run_text(found)
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    shown_nodes: list[nodes.Node] = [
        paragraph(f"{about[0].upper()}{about[1:]}."),
        peers_table(found),
        paragraph("≥: some of the peer's searches were given up at their time limit, so the ratio is larger than that."),
        paragraph(f"Versions: {versions}."),
    ]
    unfinished = [one for one in found["scripts"] if one["outcome"] != "done"]
    if unfinished:
        shown_nodes += [paragraph("Not all of it was run:", "fcca-miss")]
        shown_nodes += [bullets([f"{one['name']}: {one['outcome']}, {one['reason']}" for one in unfinished])]
    return shown_nodes


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
    behind += [f"{one['who']}: {one['text']}" for one in record.get("shortfalls", ())]
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
    """What came of it, the shortfalls first; of a script with a page, without its tables."""
    partial: list[nodes.Node] = []
    if record.get("ended"):
        partial += [paragraph(f"This run did not come to its end: {record['ended']}.", "fcca-miss")]
    if record.get("skipped"):
        partial += [paragraph("Left out:"), bullets(record["skipped"])]
    tables: list[nodes.Node] = [table(title, lines) for title, lines in record["tables"].items() if is_readable(lines)]
    if record.get("name") in OWN_PAGE:
        tables = [paragraph(f"The tables are on the page “{OWN_PAGE[record['name']]}”.")]
    return [recorded_when(record), *partial, *verdicts(record), *tables]


class BenchmarkSummary(SphinxDirective):
    """How many times faster, and where not."""

    def run(self) -> list[nodes.Node]:
        """One line per peer."""
        self.env.note_dependency(str(RESULTS / "summary.json"))
        found = summary_of_run()
        return [paragraph("Not recorded. Run: make bench", "fcca-miss")] if found is None else summarised(found)


class BenchmarkRecords(SphinxDirective):
    """All benchmarks."""

    def run(self) -> list[nodes.Node]:
        """One section each."""
        self.env.note_dependency(str(RESULTS))
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
    app.add_directive("benchmark-summary", BenchmarkSummary)
    app.add_directive("benchmark-records", BenchmarkRecords)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
