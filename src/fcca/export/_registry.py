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
        Its function in :mod:`fcca.export`: a classifier or a tree in, a text out.
    answers : bool
        Whether the text can be run, or read back, to answer rows; those that can share one test of parity.
    """

    name: str
    suffix: str
    title: str
    function: str
    answers: bool

    def write(self, tree: Any) -> str:
        """The text for a fitted classifier or a DistilledTree."""
        text: str = getattr(import_module("fcca.export"), self.function)(tree)
        return text


EXPORTERS = {
    exporter.name: exporter
    for exporter in (
        Exporter("text", ".txt", "an indented tree to read", "to_text", answers=False),
        Exporter("markdown", ".md", "a table of rules for a document", "to_markdown", answers=False),
        Exporter("python", ".py", "a module of plain Python that answers rows", "to_python", answers=True),
        Exporter("json", ".json", "the tree itself, which fcca reads back", "to_json", answers=True),
    )
}
