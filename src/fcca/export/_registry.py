"""Which exporters there are. Imports nothing large, so that it can be asked at once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["EXPORTERS", "Exporter"]


@dataclass(frozen=True)
class Exporter:
    """A form in which a tree can be written.

    Attributes
    ----------
    name : str
        What the command line calls it.
    suffix : str
        How its files' names end.
    title : str
        What it is, in a few words.
    function : str
        Its function in :mod:`fcca.export`: a classifier or a tree in, a text out, or bytes.
    answers : bool
        Whether the text can be run, or read back, to answer rows; those that can share one test of parity.
    binary : bool
        Whether it is bytes that no terminal can show, rather than a text.
    """

    name: str
    suffix: str
    title: str
    function: str
    answers: bool
    binary: bool = False

    def write(self, tree: Any, **options: Any) -> str | bytes:
        """The text for a fitted classifier or a DistilledTree; bytes where the exporter is a binary one."""
        written: str | bytes = getattr(import_module("fcca.export"), self.function)(tree, **options)
        return written


EXPORTERS = {
    exporter.name: exporter
    for exporter in (
        Exporter("text", ".txt", "an indented tree to read", "to_text", answers=False),
        Exporter("markdown", ".md", "a table of rules for a document", "to_markdown", answers=False),
        Exporter("python", ".py", "a module of plain Python that answers rows", "to_python", answers=True),
        # Before the tree itself: a name is taken by the first ending that it has.
        Exporter("rules", ".rules.json", "rules that any program can read", "to_rules", answers=True),
        Exporter("json", ".json", "the tree itself, which fcca reads back", "to_json", answers=True),
        Exporter("sql", ".sql", "a query for a database", "to_sql", answers=True),
        Exporter("onnx", ".onnx", "a model for ONNX Runtime", "to_onnx", answers=True, binary=True),
    )
}
