"""Convert a tree to a JSON document, which the module ``_from_json`` reads."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fcca.conditions import facts_of_cut
from fcca.exceptions import InvalidInputError
from fcca.export._distilled_tree import Condition, DistilledTree, as_distilled, conditions_in
from fcca.export._provenance import Part, Provenance
from fcca.tables import Columns
from fcca.thresholds import ThresholdTable
from fcca.utils import escaped_json

FORMAT, TREE_VERSION = "fcca-tree", 2
WITHOUT_THRESHOLDS = 1  # the version of documents with the tested conditions only
# Trees in version 1 documents have one criterion and no other limits.
FIRST_TREES = {"criterion": "error", "max_leaf_nodes": None, "min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0}
LARGEST = 32 * 2**20  # characters; a tree of a hundred thousand leaves has fewer


def to_json(classifier: Any) -> str:
    """Convert the tree to a JSON document, which :func:`from_json` reads.

    The same training rows always give the same bytes. It does not matter whether the rows were in memory, read in chunks or
    on a cluster. The document contains no dates and no paths.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        A fitted classifier, or a tree that was read from a file.

    Returns
    -------
    str
        An object with ``format`` "fcca-tree", ``version`` 2, the ``fcca`` version, ``classes``, ``columns``,
        ``missing_values``, ``conditions``, ``nodes``, ``certificate`` and ``provenance``. The page on saving and loading in
        the documentation explains every entry.

        The first node is the root. Nodes refer to conditions by indices, starting at 0. A row goes to the right child if
        the condition holds. For a missing value, no condition holds except ``missing``. A tree that was read from
        a version 1 document is written as a version 1 document.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier, FCCADiscretizer
    >>> from fcca.export import from_json, to_json
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> text = to_json(FCCAClassifier(FCCADiscretizer(Q=0.9)).fit(X, y))
    >>> list(json.loads(text)["conditions"][0])
    ['kind', 'column', 'threshold', 'cut', 'below', 'above', 'count']
    >>> to_json(from_json(text)) == text
    True
    """
    tree = as_distilled(classifier)
    conditions, positions = _of_nodes(tree) if tree.thresholds is None else _of_thresholds(tree, tree.thresholds)
    document = {
        "format": FORMAT,
        "version": WITHOUT_THRESHOLDS if tree.thresholds is None else TREE_VERSION,
        "fcca": tree.fcca_version,
        "classes": list(tree.classes),
        "columns": written_columns(tree.columns),
        "missing_values": tree.takes_missing,
        "conditions": conditions,
        "nodes": [_node(tree, node, at) for node, at in enumerate(positions)],
        "certificate": asdict(tree.certificate),
    }
    if tree.thresholds is None:
        document["certificate"] = {
            name: value for name, value in asdict(tree.certificate).items() if name not in FIRST_TREES
        }
    else:
        document["provenance"] = None if tree.provenance is None else _provenance(tree.provenance)
    text = json_document(document, _has_objects)
    if len(text) > LARGEST:
        raise InvalidInputError(
            f"The document of the tree with its {len(conditions):,} conditions would have {len(text):,} characters, more "
            f"than the limit of {LARGEST:,}. Keep fewer conditions: raise Q, or set n_thresholds."
        )
    return text


def written_columns(columns: Columns) -> list[dict[str, Any]]:
    """Return the entry ``columns`` of a document: one dictionary per column of the table."""
    return [
        {
            "name": column.name,
            "categories": None if column.categories is None else list(column.categories),
            "missing": column.missing,
        }
        for column in columns
    ]


def json_document(document: dict[str, Any], is_spread: Callable[[Any], bool]) -> str:
    """Convert a dictionary to JSON text with one line per entry.

    Parameters
    ----------
    document : dict
    is_spread : callable
        Called with the value of each entry. If it returns True, the value is a list or dictionary that is written with one
        line per item.
    """
    lines = (f'  "{name}": {_spread(value) if is_spread(value) else _one_line(value)}' for name, value in document.items())
    return escaped_json("{\n" + ",\n".join(lines) + "\n}\n")


def _has_objects(value: Any) -> bool:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(one, dict) for one in values)


def _spread(value: Any) -> str:
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"    {_one_line(name)}: {_one_line(one)}" for name, one in value.items()) + "\n  }"
    return "[\n" + ",\n".join(f"    {_one_line(one)}" for one in value) + "\n  ]"


def _one_line(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InvalidInputError(
            "The tree has a number that is not finite, which JSON cannot represent. Fit the tree with finite weights."
        ) from error


def _node(tree: DistilledTree, node: int, condition: int | None) -> dict[str, Any]:
    nodes = tree.structure
    entry: dict[str, Any] = {"condition": condition}
    if condition is not None:
        entry |= {"left": int(nodes.left[node]), "right": int(nodes.right[node])}
    entry["weight"] = nodes.weight[node].tolist()
    if nodes.soft_weight is not None:
        entry["soft_weight"] = nodes.soft_weight[node].tolist()
    return entry | {"rows": int(nodes.n_rows[node])}


# --- conditions ---------------------------------------------------------------------------------------------------------


def _of_nodes(tree: DistilledTree) -> tuple[list[dict[str, Any]], list[int | None]]:
    """Return the distinct conditions that the tree tests, and one index per node.

    The index says which condition of the list the node tests. It is None for a leaf.
    """
    written = [None if one is None else _one_line(_written_condition(tree, one)) for one in tree.tests]
    texts = list(dict.fromkeys(text for text in written if text is not None))
    return [json.loads(text) for text in texts], [None if text is None else texts.index(text) for text in written]


def _of_thresholds(tree: DistilledTree, table: ThresholdTable) -> tuple[list[dict[str, Any]], list[int | None]]:
    """Return all conditions that the tree could choose from, and one index per node.

    The index says which condition of the list the node tests. It is None for a leaf. The entry of a condition includes its
    count. For a condition ``x > threshold``, it also includes the threshold before rounding and the nearest training values.
    """
    conditions = []
    for at, one in enumerate(conditions_in(table)):
        condition = _written_condition(tree, one)
        if one.kind == "cut":
            numbers = {name: float(getattr(table, name)[at]) for name in ("cut", "below", "above")}
            condition |= {name: None if math.isnan(number) else number for name, number in numbers.items()}
            condition |= facts_of_cut(one.column, table.zero_one, table.special)
        conditions.append(condition | {"count": float(table.count[at])})
    return conditions, positions_of_tests(tree, table)


def positions_of_tests(tree: DistilledTree, table: ThresholdTable) -> list[int | None]:
    """Return for each node the position of its condition in ``table``; None for leaves."""
    position = {one: at for at, one in enumerate(conditions_in(table))}
    for node, test in enumerate(tree.tests):
        if test is not None and test not in position:
            said = tree.structure.test_in_words(node, True, tree.columns.names, tree.columns)
            raise InvalidInputError(
                f"The tree tests {said}, which is not one of its {len(table)} thresholds. Its structure and its thresholds "
                "must come from the same classifier."
            )
    return [None if test is None else position[test] for test in tree.tests]


def _written_condition(tree: DistilledTree, one: Condition) -> dict[str, Any]:
    condition: dict[str, Any] = {"kind": one.kind, "column": one.column}
    if one.kind == "set":
        condition["categories"] = tree.labels_of(one)
    if one.kind == "cut":
        condition["threshold"] = one.threshold
    if one.kind == "special":
        condition["value"] = one.threshold
    return condition


# --- provenance ---------------------------------------------------------------------------------------------------------


def _provenance(given: Provenance) -> dict[str, Any]:
    return {
        "libraries": given.libraries,
        "black_box": _part(given.black_box),
        "discretizer": _part(given.discretizer),
        "tree": _part(given.tree),
        "selection": None if given.selection is None else _part(given.selection),
        "rules": list(given.rules),
        "fit_to": given.fit_to,
        "rows": given.n_rows,
        "weight": given.weight,
        "counterfactuals": given.statuses,
        "fidelity": given.fidelity,
        "accuracy": given.accuracy,
    }


def _part(part: Part) -> dict[str, Any]:
    return {"class": part.name, "parameters": part.parameters}
