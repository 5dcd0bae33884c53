"""The list of all exporters.

This module imports no large library, so the command line can list the exporters quickly. An entry ``name`` makes the
function ``to_<name>`` of the module ``_to_<name>`` public in :mod:`fcca.export`. It also makes ``name`` a format of
``fcca export``. The entry appears in the reference and in the tests that all exporters share.
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
        The usual ending of file names.
    title : str
        A short description, shown by ``fcca export --help``.
    answers : bool
        True if the output can predict rows, after it is run or read back. A test compares these predictions with those of
        the classifier.
    binary : bool
        True if the output is bytes, False if it is text.
    """

    name: str
    suffix: str
    title: str
    answers: bool
    binary: bool = False

    @property
    def function(self) -> str:
        """Name of the exporting function in :mod:`fcca.export`."""
        return f"to_{self.name}"

    def write(self, tree: Any, **options: Any) -> str | bytes:
        """Convert a fitted classifier or a DistilledTree to this format.

        ``options`` are passed to the function ``to_<name>``.
        """
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
