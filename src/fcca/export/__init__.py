"""Trees of fitted classifiers as text, Markdown, plain Python, rules, JSON, SQL and ONNX; files of fitted estimators.

Every exporter takes a fitted :class:`fcca.FCCAClassifier`, or the :class:`DistilledTree` that :func:`from_json` reads, and
returns a text or bytes. The dictionary ``EXPORTERS`` lists them by name.
"""

from typing import TYPE_CHECKING

from fcca.export._registry import EXPORTERS, Exporter
from fcca.utils import lazy_names

if TYPE_CHECKING:  # the types of these names; without a line here, a name has the type Any
    from fcca.export._files import load, save, trusted_types
    from fcca.export._json import (
        TREE_VERSION as TREE_VERSION,
        WITHOUT_THRESHOLDS as WITHOUT_THRESHOLDS,
        json_document as json_document,
        to_json as to_json,
    )
    from fcca.export._markdown import to_markdown as to_markdown
    from fcca.export._onnx import to_onnx as to_onnx
    from fcca.export._provenance import (
        WITHOUT_EFFECT as WITHOUT_EFFECT,
        Part,
        Provenance,
        plain_parameter as plain_parameter,
    )
    from fcca.export._python import to_python as to_python
    from fcca.export._reading import TREE as TREE, from_json
    from fcca.export._rules import to_rules as to_rules
    from fcca.export._schemas import schema
    from fcca.export._sklearn import to_sklearn
    from fcca.export._sql import to_sql as to_sql
    from fcca.export._sql_options import ADDITIONS as ADDITIONS, DIALECTS as DIALECTS, FORMS as FORMS
    from fcca.export._text import to_text as to_text
    from fcca.export._tree import (
        Certificate,
        DistilledTree,
        as_distilled as as_distilled,
        conditions_in as conditions_in,
        plain_label as plain_label,
    )
    from fcca.export._words import (
        Branch as Branch,
        branches_in_words as branches_in_words,
        rows_in_words as rows_in_words,
        size_in_words as size_in_words,
    )

__all__ = [exporter.function for exporter in EXPORTERS.values()]
__all__ += [
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
    "to_sklearn",
    "trusted_types",
]

# The command line lists the exporters before it knows whether it will need one.
__getattr__, __dir__ = lazy_names(
    "fcca.export",
    {exporter.function: f"_{name}" for name, exporter in EXPORTERS.items()}
    | dict.fromkeys(("load", "save", "trusted_types"), "_files")
    | dict.fromkeys(("TREE_VERSION", "WITHOUT_THRESHOLDS", "json_document"), "_json")
    | dict.fromkeys(("WITHOUT_EFFECT", "Part", "Provenance", "plain_parameter"), "_provenance")
    | dict.fromkeys(("TREE", "from_json"), "_reading")
    | dict.fromkeys(("ADDITIONS", "DIALECTS", "FORMS"), "_sql_options")
    | dict.fromkeys(("Certificate", "DistilledTree", "as_distilled", "conditions_in", "plain_label"), "_tree")
    | dict.fromkeys(("Branch", "branches_in_words", "rows_in_words", "size_in_words"), "_words")
    | {"schema": "_schemas", "to_sklearn": "_sklearn"},
)
