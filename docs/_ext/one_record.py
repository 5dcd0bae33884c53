"""The directive ``{benchmark-record} NAME``, which shows the record of one benchmark script.

It shows the date of the run, the missed and met bars, and the tables. If the directive has content, each line of it is
the beginning of a table title, and only these tables are shown, without the bars.
"""

from __future__ import annotations

from typing import Any, ClassVar

from benchmark_records import BENCHMARKS, paragraph, record_of, recorded_when, table, verdicts
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class OneRecord(SphinxDirective):
    """Directive that shows the record of one script."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the record, or a note if the record is missing."""
        script = BENCHMARKS / f"{self.arguments[0]}.py"
        self.env.note_dependency(str(BENCHMARKS / "results" / f"{script.stem}.json"))
        record = record_of(script)
        if record is None:
            return [paragraph(f"No run of benchmarks/{script.name} has been recorded.")]
        asked = [line.strip() for line in self.content if line.strip()]
        titles = [title for title in record["tables"] if not asked or any(title.startswith(begin) for begin in asked)]
        if missing := [begin for begin in asked if not any(title.startswith(begin) for title in titles)]:
            raise self.error(f"The record of {script.name} has no table that begins with {missing[0]!r}.")
        return [
            recorded_when(record),
            *(verdicts(record) if not asked else []),
            *(table(title, record["tables"][title]) for title in titles),
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("benchmark-record", OneRecord)
    return {"version": "1", "parallel_read_safe": True}
