"""The tree of a fitted classifier outside of Python's memory: as text, Markdown, plain Python, SQL, JSON or ONNX.

Every exporter takes a fitted :class:`fcca.FCCAClassifier`, or the :class:`DistilledTree` that :func:`from_json` reads, and
returns a text, or bytes. A new one, ``to_<name>``, is a file ``_<name>.py`` in this folder and a
line in ``EXPORTERS``; a line below makes its name known to type checkers, and one in ``__all__`` makes it public.
"""

from typing import TYPE_CHECKING

from fcca.export._registry import EXPORTERS, Exporter
from fcca.utils import lazy_names

if TYPE_CHECKING:
    from fcca.export._escapes import with_escapes as with_escapes
    from fcca.export._files import load, save, trusted_types
    from fcca.export._json import TREE_VERSION as TREE_VERSION, WITHOUT_THRESHOLDS as WITHOUT_THRESHOLDS, to_json
    from fcca.export._markdown import to_markdown
    from fcca.export._onnx import to_onnx
    from fcca.export._provenance import WITHOUT_EFFECT as WITHOUT_EFFECT, Part, Provenance
    from fcca.export._python import to_python
    from fcca.export._reading import TREE as TREE, from_json
    from fcca.export._rules import to_rules
    from fcca.export._schemas import schema
    from fcca.export._sklearn import to_sklearn
    from fcca.export._sql import to_sql
    from fcca.export._sql_options import ADDITIONS as ADDITIONS, DIALECTS as DIALECTS, FORMS as FORMS
    from fcca.export._text import to_text
    from fcca.export._tree import Certificate, DistilledTree, as_distilled as as_distilled
    from fcca.export._words import (
        Branch as Branch,
        branches_in_words as branches_in_words,
        rows_in_words as rows_in_words,
        size_in_words as size_in_words,
    )

__all__ = [
    "EXPORTERS",
    "Certificate",
    "DistilledTree",
    "Exporter",
    "Part",
    "Provenance",
    "from_json",
    "load",
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

# The command line lists the exporters before it knows whether it will need one.
__getattr__, __dir__ = lazy_names(
    "fcca.export",
    {exporter.function: f"_{name}" for name, exporter in EXPORTERS.items()}
    | {
        "ADDITIONS": "_sql_options",
        "Branch": "_words",
        "Certificate": "_tree",
        "DIALECTS": "_sql_options",
        "DistilledTree": "_tree",
        "FORMS": "_sql_options",
        "Part": "_provenance",
        "Provenance": "_provenance",
        "TREE": "_reading",
        "TREE_VERSION": "_json",
        "WITHOUT_EFFECT": "_provenance",
        "WITHOUT_THRESHOLDS": "_json",
        "as_distilled": "_tree",
        "branches_in_words": "_words",
        "from_json": "_reading",
        "load": "_files",
        "rows_in_words": "_words",
        "save": "_files",
        "schema": "_schemas",
        "size_in_words": "_words",
        "to_sklearn": "_sklearn",
        "trusted_types": "_files",
        "with_escapes": "_escapes",
    },
)
