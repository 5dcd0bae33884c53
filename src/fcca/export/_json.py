"""A tree as a JSON document, and back. A document is judged wholly before anything is made of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from fcca._columns import Column, Columns
from fcca.exceptions import InvalidInputError
from fcca.export._escapes import with_escapes
from fcca.export._tree import Certificate, DistilledTree, as_distilled
from fcca.trees import TreeStructure

FORMAT, VERSION = "fcca-tree", 1
LARGEST = 32 * 2**20  # characters; a tree of a hundred thousand leaves has fewer
DEEPEST = 200
SAME_WEIGHT = 1e-6


def to_json(tree: Any) -> str:
    """The tree as a JSON document that :func:`from_json` reads.

    Parameters
    ----------
    tree : FCCAClassifier or DistilledTree
        Fitted.

    Returns
    -------
    str
        An object with ``format`` "fcca-tree", ``version`` 1, the ``fcca`` that made it, ``classes``, ``columns`` (name;
        categories, or null for numbers; whether values may be missing), ``missing_values`` (whether rows may have any),
        ``conditions``, ``nodes`` and ``certificate``. The first node is the root; a condition that holds leads to the
        right; a missing value makes every condition false but ``missing``.
    """
    tree = as_distilled(tree)
    nodes = tree.structure
    conditions: dict[str, dict[str, Any]] = {}
    position: dict[str, int] = {}
    written = []
    for node in range(len(nodes.feature)):
        entry: dict[str, Any] = {"condition": None}
        if nodes.feature[node] >= 0:
            condition = _condition(tree, node)
            text = json.dumps(condition)
            conditions.setdefault(text, condition)
            at = position.setdefault(text, len(position))
            entry = {"condition": at, "left": int(nodes.left[node]), "right": int(nodes.right[node])}
        written.append(entry | {"weight": nodes.weight[node].tolist(), "rows": int(nodes.n_rows[node])})
    document = {
        "format": FORMAT,
        "version": VERSION,
        "fcca": tree.fcca_version,
        "classes": list(tree.classes),
        "columns": [
            {
                "name": column.name,
                "categories": None if column.categories is None else list(column.categories),
                "missing": column.missing,
            }
            for column in tree.columns
        ],
        "missing_values": tree.takes_missing,
        "conditions": list(conditions.values()),
        "nodes": written,
        "certificate": {
            "optimal": tree.certificate.optimal,
            "objective": tree.certificate.objective,
            "lower_bound": tree.certificate.lower_bound,
            "gap": tree.certificate.gap,
            "regularization": tree.certificate.regularization,
            "max_depth": tree.certificate.max_depth,
        },
    }
    text = "{\n" + ",\n".join(f'  "{name}": {_written(value)}' for name, value in document.items()) + "\n}\n"
    return with_escapes(text)


def _written(value: Any) -> str:
    """JSON, the objects of a list on a line each."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"    {_written(one)}" for one in value) + "\n  ]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _condition(tree: DistilledTree, node: int) -> dict[str, Any]:
    nodes, j = tree.structure, int(tree.structure.feature[node])
    codes = nodes.categories.get(node)
    if node in nodes.asks_missing:
        return {"kind": "missing", "column": j}
    if codes is not None:
        return {"kind": "set", "column": j, "categories": [tree.columns.label(j, code) for code in codes]}
    return {"kind": "cut", "column": j, "threshold": float(nodes.threshold[node])}


# --- reading ------------------------------------------------------------------------------------------------------------


def from_json(text: str | bytes) -> DistilledTree:
    """The tree in a document of :func:`to_json`.

    Parameters
    ----------
    text : str or bytes
        UTF-8 where bytes.

    Returns
    -------
    DistilledTree

    Raises
    ------
    InvalidInputError
        For anything that is not such a document, whole and consistent. Nothing in it is ever run.
    """
    if not isinstance(text, str | bytes):
        raise InvalidInputError(f"Expected the text of a JSON document, got {type(text).__name__}.")
    if len(text) > LARGEST:
        raise InvalidInputError(f"The document has {len(text):,} characters; a tree has at most {LARGEST:,}.")
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise InvalidInputError(f"Not a JSON document: {error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInputError(
            f"Not a tree of fcca: expected a JSON object with format {FORMAT!r}, such as the tree.json that fcca distill "
            "writes."
        )
    if not _is_whole(document.get("version")) or document["version"] != VERSION:
        raise InvalidInputError(f"A tree of version {document.get('version')!r}; this fcca reads version {VERSION}.")
    classes = _labels(_entry(document, "classes", list), "classes")
    columns = _columns(_entry(document, "columns", list))
    takes_missing = _entry(document, "missing_values", bool)
    conditions = [
        _read_condition(one, at, columns, takes_missing) for at, one in enumerate(_entry(document, "conditions", list))
    ]
    return DistilledTree(
        structure=_structure(_entry(document, "nodes", list), conditions, len(classes)),
        columns=columns,
        classes=classes,
        certificate=_certificate(_entry(document, "certificate", dict)),
        takes_missing=takes_missing,
        fcca_version=_entry(document, "fcca", str),
    )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _damaged(reason: str) -> InvalidInputError:
    return InvalidInputError(f"Damaged tree: {reason}. Write it again with fcca.export.to_json or fcca distill.")


def _entry(document: Any, name: str, kind: type, where: str = "the document") -> Any:
    """An entry of an object, of a type; whole numbers may stand for others."""
    value: Any = document.get(name) if isinstance(document, dict) else None
    if kind is float and _is_whole(value):
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _damaged(f"{where} has no {name!r} of the right kind")
    found: Any = value
    if kind is float and not math.isfinite(found):
        raise _damaged(f"{name!r} of {where} is not finite")
    return found


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _labels(given: Sequence[Any], what: str) -> tuple[Any, ...]:
    if not given or not all(_is_label(label) for label in given):
        raise _damaged(f"{what} must be texts or finite numbers, and at least one")
    if len(set(given)) < len(given):
        raise _damaged(f"{what} must be different ones")
    return tuple(given)


def _is_label(given: Any) -> bool:
    return isinstance(given, str | int) or (isinstance(given, float) and math.isfinite(given))


def _columns(given: Sequence[Any]) -> Columns:
    columns = []
    for at, entry in enumerate(given):
        where = f"column {at}"
        if not isinstance(entry, dict) or "name" not in entry or "categories" not in entry:
            raise _damaged(f"{where} has no name or no categories")
        name, categories = entry["name"], entry["categories"]
        if name is not None and not isinstance(name, str):
            raise _damaged(f"the name of {where} is not a text")
        if categories is not None:
            categories = _labels(_entry(entry, "categories", list, where), f"categories of {where}")
        columns.append(Column(name, categories, _entry(entry, "missing", bool, where)))
    if not columns:
        raise _damaged("there are no columns")
    found = Columns(tuple(columns))
    if len({column.name is None for column in columns}) > 1 or len(set(found.names)) < len(columns):
        raise _damaged("the columns must have different names, or none of them a name")
    return found


def _read_condition(entry: Any, at: int, columns: Columns, takes_missing: bool) -> tuple[str, int, float, tuple[int, ...]]:
    """Kind, column, threshold and codes."""
    where = f"condition {at}"
    kind, j = _entry(entry, "kind", str, where), _entry(entry, "column", int, where)
    if not 0 <= j < len(columns):
        raise _damaged(f"{where} is on column {j}, and there are {len(columns)}")
    known = columns[j].categories
    if kind == "cut" and known is None:
        return kind, j, _entry(entry, "threshold", float, where), ()
    if kind == "set" and known is not None:
        labels = _labels(_entry(entry, "categories", list, where), f"categories of {where}")
        position = {label: code for code, label in enumerate(known)}
        codes = [position.get(label, -1) for label in labels]
        if min(codes) < 0 or len(labels) == len(known):
            raise _damaged(f"{where} must hold some of its column's categories and not all")
        return kind, j, math.nan, tuple(sorted(codes))
    if kind == "missing" and takes_missing:
        return kind, j, math.nan, ()
    raise _damaged(f"{where} of kind {kind[:20]!r} does not go with its column")


def _structure(
    given: Sequence[Any], conditions: list[tuple[str, int, float, tuple[int, ...]]], n_classes: int
) -> TreeStructure:
    n = len(given)
    if n == 0:
        raise _damaged("there are no nodes")
    weights = [_weights(_entry(entry, "weight", list, f"node {node}"), n_classes, node) for node, entry in enumerate(given)]
    weight = np.array(weights)
    feature, threshold = np.full(n, -1, dtype=np.int32), np.full(n, np.nan)
    left, right = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    rows = np.zeros(n, dtype=np.int64)
    sets: dict[int, tuple[int, ...]] = {}
    gaps: set[int] = set()
    parent = [-1] * n
    for node, entry in enumerate(given):
        where = f"node {node}"
        count = _entry(entry, "rows", int, where)
        if not 0 <= count < 2**62:
            raise _damaged(f"{where} has {count} rows")
        rows[node] = count
        if "condition" not in entry:
            raise _damaged(f"{where} has no condition")
        if entry["condition"] is None:
            continue
        at = _entry(entry, "condition", int, where)
        if not 0 <= at < len(conditions):
            raise _damaged(f"{where} asks for condition {at}, and there are {len(conditions)}")
        kind, feature[node], threshold[node], codes = conditions[at]
        if kind == "set":
            sets[node] = codes
        elif kind == "missing":
            gaps.add(node)
        for side, children in (("left", left), ("right", right)):
            child = _entry(entry, side, int, where)
            if not node < child < n or parent[child] >= 0:  # later ones only, so there is no way round in circles
                raise _damaged(f"{where} has {child} for its {side}")
            parent[child], children[node] = node, child
    if any(above < 0 for above in parent[1:]):
        raise _damaged("some nodes are not reached from the root")
    depth = [0] * n
    for node in range(1, n):
        depth[node] = depth[parent[node]] + 1
    if max(depth) > DEEPEST:
        raise _damaged(f"it has {max(depth):,} levels, more than {DEEPEST}")
    inner = np.flatnonzero(feature >= 0)
    if (rows[inner] != rows[left[inner]] + rows[right[inner]]).any():
        raise _damaged("the rows of two sides do not add up to those of their node")
    if not np.allclose(weight[inner], weight[left[inner]] + weight[right[inner]], rtol=SAME_WEIGHT, atol=0):
        raise _damaged("the weights of two sides do not add up to those of their node")
    return TreeStructure(feature, threshold, left, right, weight, rows, sets, frozenset(gaps))


def _weights(given: Sequence[Any], n_classes: int, node: int) -> list[float]:
    where = f"node {node}"
    weights = [_entry({"weight": one}, "weight", float, where) for one in given]
    if len(weights) != n_classes or min(weights) < 0 or not 0 < sum(weights) < math.inf:
        raise _damaged(f"{where} needs a weight for each of the {n_classes} classes, none below 0 and not all 0")
    return weights


def _certificate(entry: dict[str, Any]) -> Certificate:
    where = "the certificate"
    return Certificate(
        optimal=_entry(entry, "optimal", bool, where),
        objective=_entry(entry, "objective", float, where),
        lower_bound=_entry(entry, "lower_bound", float, where),
        gap=_entry(entry, "gap", float, where),
        regularization=_entry(entry, "regularization", float, where),
        max_depth=None if entry.get("max_depth") is None else _entry(entry, "max_depth", int, where),
    )
