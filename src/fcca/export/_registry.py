"""The registry of exporters.

It imports nothing large, so that the command line can list the exporters at once. An entry makes ``to_<name>`` of the module
``_<name>`` a public function of :mod:`fcca.export`, a form of ``fcca export``, an entry of the reference, and a case of the
tests that all exporters share.
"""

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
        Its name on the command line. ``to_<name>`` of the module ``_<name>`` writes it: a classifier or a tree in, a text
        or bytes out.
    suffix : str
        The ending of its file names.
    title : str
        A short description.
    answers : bool
        True where the text can be run, or read back, to predict rows; those that can share one test of parity.
    binary : bool
        True for bytes that no terminal can show, False for a text.
    """

    name: str
    suffix: str
    title: str
    answers: bool
    binary: bool = False

    @property
    def function(self) -> str:
        """The name of its function in :mod:`fcca.export`."""
        return f"to_{self.name}"

    def write(self, tree: Any, **options: Any) -> str | bytes:
        """Write a fitted classifier or a DistilledTree as text or bytes."""
        module = import_module(f"fcca.export._{self.name}")
        written: str | bytes = getattr(module, self.function)(tree, **options)
        return written


EXPORTERS = {
    exporter.name: exporter
    for exporter in (
        Exporter("text", ".txt", "an indented tree to read", answers=False),
        Exporter("markdown", ".md", "a table of rules for a document", answers=False),
        Exporter("python", ".py", "a module of plain Python that answers rows", answers=True),
        # Before the tree itself: a name is taken by the first ending that it has.
        Exporter("rules", ".rules.json", "rules that any program can read", answers=True),
        Exporter("json", ".json", "the tree itself, which fcca reads back", answers=True),
        Exporter("sql", ".sql", "a query for a database", answers=True),
        Exporter("onnx", ".onnx", "a model for ONNX Runtime", answers=True, binary=True),
    )
}
