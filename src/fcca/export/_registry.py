"""The registry of exporters.

It imports no large module, so the command line can list the exporters at once. An entry makes ``to_<name>`` of the module
``_to_<name>`` a public function of :mod:`fcca.export` and a format of ``fcca export``. It also adds an entry to the
reference and a case to the tests that all exporters share.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["EXPORTERS", "Exporter"]


@dataclass(frozen=True)
class Exporter:
    """A format in which a tree can be written.

    Attributes
    ----------
    name : str
        The name on the command line. The function ``to_<name>`` in the module ``_to_<name>`` converts a classifier or a
        tree to text or bytes.
    suffix : str
        The ending of file names.
    title : str
        A short description.
    answers : bool
        True if the output can be run or read back to predict rows. These exporters share one parity test.
    binary : bool
        True for bytes, False for text.
    """

    name: str
    suffix: str
    title: str
    answers: bool
    binary: bool = False

    @property
    def function(self) -> str:
        """Name of the function in :mod:`fcca.export`."""
        return f"to_{self.name}"

    def write(self, tree: Any, **options: Any) -> str | bytes:
        """Write a fitted classifier or a DistilledTree as text or bytes."""
        module = import_module(f"fcca.export._to_{self.name}")
        written: str | bytes = getattr(module, self.function)(tree, **options)
        return written


EXPORTERS = {
    exporter.name: exporter
    for exporter in (
        Exporter("text", ".txt", "an indented tree to read", answers=False),
        Exporter("markdown", ".md", "a table of rules for a document", answers=False),
        Exporter("python", ".py", "a module of plain Python that predicts rows", answers=True),
        # Before json: the first suffix that matches a file name decides.
        Exporter("rules", ".rules.json", "rules that any program can read", answers=True),
        Exporter("json", ".json", "the tree itself, which fcca reads back", answers=True),
        Exporter("sql", ".sql", "a query for a database", answers=True),
        Exporter("onnx", ".onnx", "a model for ONNX Runtime", answers=True, binary=True),
    )
}
