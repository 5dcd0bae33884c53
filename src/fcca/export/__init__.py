"""Export trees and scorecards, and save and load estimators.

Trees can be written as text, Markdown, Python, rules, JSON, SQL and ONNX. Every exporter accepts a fitted
:class:`fcca.FCCAClassifier`, or the :class:`DistilledTree` that :func:`from_json` reads. The exporter returns a string or
bytes. The dictionary ``EXPORTERS`` lists the exporters by name. Scorecards can be written as SQL, Python and JSON.
"""

from typing import TYPE_CHECKING

from fcca.export._registry import EXPORTERS, Exporter
from fcca.utils import lazy_names

if TYPE_CHECKING:  # the types of these names; without a line here, a name has the type Any
    from fcca.export._distilled_tree import (
        Certificate,
        DistilledTree,
        as_distilled as as_distilled,
        conditions_in as conditions_in,
        plain_label as plain_label,
    )
    from fcca.export._from_json import TREE as TREE, from_json
    from fcca.export._provenance import (
        WITHOUT_EFFECT as WITHOUT_EFFECT,
        Part,
        Provenance,
        plain_parameter as plain_parameter,
    )
    from fcca.export._save_and_load import holds_predictor as holds_predictor, load, save, trusted_types
    from fcca.export._schemas import schema
    from fcca.export._scorecard_to_json import scorecard_from_json, scorecard_to_json
    from fcca.export._scorecard_to_python import scorecard_to_python
    from fcca.export._scorecard_to_sql import scorecard_to_sql
    from fcca.export._sql_options import ADDITIONS as ADDITIONS, DIALECTS as DIALECTS, FORMS as FORMS
    from fcca.export._to_json import (
        TREE_VERSION as TREE_VERSION,
        WITHOUT_THRESHOLDS as WITHOUT_THRESHOLDS,
        json_document as json_document,
        to_json as to_json,
    )
    from fcca.export._to_markdown import to_markdown as to_markdown
    from fcca.export._to_onnx import to_onnx as to_onnx
    from fcca.export._to_python import to_python as to_python
    from fcca.export._to_rules import to_rules as to_rules
    from fcca.export._to_sklearn import to_sklearn
    from fcca.export._to_sql import to_sql as to_sql
    from fcca.export._to_text import to_text as to_text
    from fcca.export._tree_branches import (
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
    "scorecard_from_json",
    "scorecard_to_json",
    "scorecard_to_python",
    "scorecard_to_sql",
    "to_sklearn",
    "trusted_types",
]

# Loaded on first use: the command line lists the exporters without importing them.
__getattr__, __dir__ = lazy_names(
    "fcca.export",
    {exporter.function: f"_to_{name}" for name, exporter in EXPORTERS.items()}
    | dict.fromkeys(("holds_predictor", "load", "save", "trusted_types"), "_save_and_load")
    | dict.fromkeys(("TREE_VERSION", "WITHOUT_THRESHOLDS", "json_document"), "_to_json")
    | dict.fromkeys(("WITHOUT_EFFECT", "Part", "Provenance", "plain_parameter"), "_provenance")
    | dict.fromkeys(("TREE", "from_json"), "_from_json")
    | dict.fromkeys(("ADDITIONS", "DIALECTS", "FORMS"), "_sql_options")
    | dict.fromkeys(("Certificate", "DistilledTree", "as_distilled", "conditions_in", "plain_label"), "_distilled_tree")
    | dict.fromkeys(("scorecard_from_json", "scorecard_to_json"), "_scorecard_to_json")
    | {"scorecard_to_python": "_scorecard_to_python", "scorecard_to_sql": "_scorecard_to_sql"}
    | dict.fromkeys(("Branch", "branches_in_words", "rows_in_words", "size_in_words"), "_tree_branches")
    | {"schema": "_schemas", "to_sklearn": "_to_sklearn"},
)
