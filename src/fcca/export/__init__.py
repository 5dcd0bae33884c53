"""The tree of a fitted classifier outside of Python's memory: as text, Markdown, plain Python or JSON.

Every exporter takes a fitted :class:`fcca.FCCAClassifier`, or the :class:`DistilledTree` that :func:`from_json` reads, and
returns a text. A new one is a file in this folder and a line in ``EXPORTERS``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fcca.export._registry import EXPORTERS, Exporter

if TYPE_CHECKING:
    from fcca.export._json import from_json, to_json
    from fcca.export._markdown import to_markdown
    from fcca.export._python import to_python
    from fcca.export._text import to_text
    from fcca.export._tree import Certificate, DistilledTree

__all__ = [
    "EXPORTERS",
    "Certificate",
    "DistilledTree",
    "Exporter",
    "from_json",
    "to_json",
    "to_markdown",
    "to_python",
    "to_text",
]

# Imported when first asked for: the command line lists the exporters before it knows whether it will need one.
_HOMES = {
    "Certificate": "_tree",
    "DistilledTree": "_tree",
    "from_json": "_json",
    "to_json": "_json",
    "to_markdown": "_markdown",
    "to_python": "_python",
    "to_text": "_text",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fcca.export' has no attribute {name!r}")
    return getattr(import_module(f"fcca.export.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
