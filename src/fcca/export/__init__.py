"""The tree of a fitted classifier outside of Python's memory: as text, Markdown, plain Python, SQL, JSON or ONNX.

Every exporter takes a fitted :class:`fcca.FCCAClassifier`, or the :class:`DistilledTree` that :func:`from_json` reads, and
returns a text, or bytes. A new one is a file in this folder and a line in ``EXPORTERS``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fcca.export._registry import EXPORTERS, Exporter

if TYPE_CHECKING:
    from fcca.export._certificate import certificate
    from fcca.export._certificate_fingerprints import data_fingerprint, model_fingerprint
    from fcca.export._certificate_reading import CertificateDocument, read_certificate
    from fcca.export._files import load, save, trusted_types
    from fcca.export._json import to_json
    from fcca.export._markdown import to_markdown
    from fcca.export._onnx import to_onnx
    from fcca.export._provenance import Part, Provenance
    from fcca.export._python import to_python
    from fcca.export._reading import from_json
    from fcca.export._rules import to_rules
    from fcca.export._schemas import schema
    from fcca.export._sklearn import to_sklearn
    from fcca.export._sql import to_sql
    from fcca.export._text import to_text
    from fcca.export._tree import Certificate, DistilledTree

__all__ = [
    "EXPORTERS",
    "Certificate",
    "CertificateDocument",
    "DistilledTree",
    "Exporter",
    "Part",
    "Provenance",
    "certificate",
    "data_fingerprint",
    "from_json",
    "load",
    "model_fingerprint",
    "read_certificate",
    "save",
    "schema",
    "to_json",
    "to_markdown",
    "to_onnx",
    "to_python",
    "to_rules",
    "to_sklearn",
    "to_sql",
    "to_text",
    "trusted_types",
]

# Imported when first asked for: the command line lists the exporters before it knows whether it will need one.
_HOMES = {
    "Certificate": "_tree",
    "CertificateDocument": "_certificate_reading",
    "DistilledTree": "_tree",
    "Part": "_provenance",
    "Provenance": "_provenance",
    "certificate": "_certificate",
    "data_fingerprint": "_certificate_fingerprints",
    "from_json": "_reading",
    "load": "_files",
    "model_fingerprint": "_certificate_fingerprints",
    "read_certificate": "_certificate_reading",
    "save": "_files",
    "schema": "_schemas",
    "to_json": "_json",
    "to_markdown": "_markdown",
    "to_onnx": "_onnx",
    "to_python": "_python",
    "to_rules": "_rules",
    "to_sklearn": "_sklearn",
    "to_sql": "_sql",
    "to_text": "_text",
    "trusted_types": "_files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fcca.export' has no attribute {name!r}")
    return getattr(import_module(f"fcca.export.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
