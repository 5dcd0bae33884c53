"""A tree from a JSON document, which is judged wholly before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fcca._columns import Column, Columns
from fcca._documents import DocumentReader, is_whole, parsed
from fcca.counterfactuals import STATUSES
from fcca.exceptions import InvalidInputError
from fcca.export._json import FORMAT, LARGEST, VERSION, WITHOUT_THRESHOLDS
from fcca.export._provenance import LONGEST_TEXT, MOST_ENTRIES, Part, Plain, Provenance
from fcca.export._tree import Certificate, DistilledTree
from fcca.thresholds import ThresholdTable
from fcca.trees import TreeStructure

DEEPEST = 200
SAME_WEIGHT = 1e-6

TREE = DocumentReader("tree", "Write it again with fcca.export.to_json or fcca distill.")


class CodedCondition(NamedTuple):
    """What a node may ask, with categories by their codes."""

    kind: str
    column: int
    threshold: float
    codes: tuple[int, ...]


def from_json(text: str | bytes) -> DistilledTree:
    """The tree in a document of :func:`to_json`.

    Parameters
    ----------
    text : str or bytes
        UTF-8 where bytes, with or without a byte order mark. Of version 1 or 2; a tree of version 1 has no ``thresholds``
        and no ``provenance``.

    Returns
    -------
    DistilledTree

    Raises
    ------
    InvalidInputError
        For anything that is not such a document, whole and consistent. Nothing in it is ever run.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.export import from_json, to_json
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> tree = from_json(to_json(classifier))
    >>> tree.thresholds.names() == classifier.discretizer_.thresholds_.names()
    True
    >>> tree.provenance.black_box.parameters["gradientboostingclassifier__max_depth"]
    1
    """
    return tree_in(parsed(text, LARGEST, "a tree"))


def tree_in(document: Any) -> DistilledTree:
    """The tree in a document that is parsed already; anything else is an InvalidInputError."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInputError(
            f"Not a tree of fcca: expected a JSON object with format {FORMAT!r}, such as the tree.json that fcca distill "
            "writes."
        )
    version = document.get("version")
    if not is_whole(version) or version not in (WITHOUT_THRESHOLDS, VERSION):
        shown = repr(version)
        raise InvalidInputError(
            f"A tree of version {shown[:40]}; this fcca reads the versions {WITHOUT_THRESHOLDS} and {VERSION}."
        )
    classes = TREE.labels(TREE.entry(document, "classes", list), "classes")
    columns = _columns(TREE.entry(document, "columns", list))
    takes_missing = TREE.entry(document, "missing_values", bool)
    given = TREE.entry(document, "conditions", list)
    conditions = [_condition(one, at, columns, takes_missing) for at, one in enumerate(given)]
    table = None if version == WITHOUT_THRESHOLDS else _thresholds(given, conditions, columns, takes_missing)
    structure = _structure(TREE.entry(document, "nodes", list), conditions, len(classes))
    certificate = _certificate(TREE.entry(document, "certificate", dict))
    provenance = None
    if table is not None:
        TREE.optional(document["certificate"], "max_depth", int, "the certificate")
        check_certificate(certificate, structure)
        found = TREE.optional(document, "provenance", dict)
        provenance = None if found is None else _provenance(found, structure)
    return DistilledTree(
        structure=structure,
        columns=columns,
        classes=classes,
        certificate=certificate,
        takes_missing=takes_missing,
        fcca_version=TREE.entry(document, "fcca", str),
        thresholds=table,
        provenance=provenance,
    )


# --- columns and conditions ---------------------------------------------------------------------------------------------


def _columns(given: Sequence[Any]) -> Columns:
    columns = []
    for at, entry in enumerate(given):
        where = f"column {at}"
        if not isinstance(entry, dict) or "name" not in entry or "categories" not in entry:
            raise TREE.damaged(f"{where} has no name or no categories")
        name, categories = entry["name"], TREE.optional(entry, "categories", list, where)
        if name is not None and not isinstance(name, str):
            raise TREE.damaged(f"the name of {where} is not a text")
        if categories is not None:
            categories = TREE.labels(categories, f"categories of {where}")
        columns.append(Column(name, categories, TREE.entry(entry, "missing", bool, where)))
    if not columns:
        raise TREE.damaged("there are no columns")
    found = Columns(tuple(columns))
    if len({column.name is None for column in columns}) > 1 or len(set(found.names)) < len(columns):
        raise TREE.damaged("the columns must have different names, or none of them a name")
    return found


def _condition(entry: Any, at: int, columns: Columns, takes_missing: bool) -> CodedCondition:
    where = f"condition {at}"
    kind, j = TREE.entry(entry, "kind", str, where), TREE.entry(entry, "column", int, where)
    if not 0 <= j < len(columns):
        raise TREE.damaged(f"{where} is on column {j}, and there are {len(columns)}")
    known = columns[j].categories
    if kind == "cut" and known is None:
        return CodedCondition(kind, j, TREE.entry(entry, "threshold", float, where), ())
    if kind == "set" and known is not None:
        labels = TREE.labels(TREE.entry(entry, "categories", list, where), f"categories of {where}")
        position = {label: code for code, label in enumerate(known)}
        codes = [position.get(label, -1) for label in labels]
        if min(codes) < 0 or len(labels) == len(known):
            raise TREE.damaged(f"{where} must hold some of its column's categories and not all")
        return CodedCondition(kind, j, math.nan, tuple(sorted(codes)))
    if kind == "missing" and takes_missing:
        return CodedCondition(kind, j, math.nan, ())
    raise TREE.damaged(f"{where} of kind {kind[:20]!r} does not go with its column")


def _thresholds(
    given: Sequence[Any], conditions: list[CodedCondition], columns: Columns, takes_missing: bool
) -> ThresholdTable:
    """All conditions as a table, which has an order and no repetition."""
    if not takes_missing and any(column.missing or column.categories is not None for column in columns):
        raise TREE.damaged("'missing_values' is false, but columns have gaps or categories")
    numbers = np.full((4, len(given)), np.nan)
    labels: list[tuple[Any, ...] | None] = [None] * len(given)
    for at, condition in enumerate(conditions):
        if condition.kind == "cut":
            numbers[:, at] = TREE.cut(given[at], f"condition {at}")
        elif condition.kind == "set":
            labels[at] = tuple(given[at]["categories"])
    count = np.array(
        [TREE.entry(entry, "count", float, f"condition {at}") for at, entry in enumerate(given)], dtype=np.float64
    )
    feature = np.array([one.column for one in conditions], dtype=np.int32)
    kinds = np.array([one.kind for one in conditions], dtype="U7")
    known = columns if takes_missing else None
    try:
        return ThresholdTable(
            columns.names, feature, numbers[0], numbers[1], numbers[2], numbers[3], count, kinds, tuple(labels), known
        )
    except InvalidInputError as error:
        raise TREE.damaged(str(error).rstrip(".")) from error


# --- nodes --------------------------------------------------------------------------------------------------------------


def _structure(given: Sequence[Any], conditions: list[CodedCondition], n_classes: int) -> TreeStructure:
    n = len(given)
    if n == 0:
        raise TREE.damaged("there are no nodes")
    weight = np.array([_weights(entry, n_classes, node) for node, entry in enumerate(given)])
    feature, threshold = np.full(n, -1, dtype=np.int32), np.full(n, np.nan)
    left, right = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    rows = np.zeros(n, dtype=np.int64)
    sets: dict[int, tuple[int, ...]] = {}
    gaps: set[int] = set()
    parent = [-1] * n
    for node, entry in enumerate(given):
        where = f"node {node}"
        count = TREE.entry(entry, "rows", int, where)
        if not 0 <= count < 2**62:
            raise TREE.damaged(f"{where} has {count} rows")
        rows[node] = count
        at = TREE.optional(entry, "condition", int, where)
        if at is None:
            continue
        if not 0 <= at < len(conditions):
            raise TREE.damaged(f"{where} asks for condition {at}, and there are {len(conditions)}")
        kind, feature[node], threshold[node], codes = conditions[at]
        if kind == "set":
            sets[node] = codes
        elif kind == "missing":
            gaps.add(node)
        for side, children in (("left", left), ("right", right)):
            child = TREE.entry(entry, side, int, where)
            if not node < child < n or parent[child] >= 0:  # later ones only, so there is no way round in circles
                raise TREE.damaged(f"{where} has {child} for its {side}")
            parent[child], children[node] = node, child
    if any(above < 0 for above in parent[1:]):
        raise TREE.damaged("some nodes are not reached from the root")
    depth = [0] * n
    for node in range(1, n):
        depth[node] = depth[parent[node]] + 1
    if max(depth) > DEEPEST:
        raise TREE.damaged(f"it has {max(depth):,} levels, more than {DEEPEST}")
    inner = np.flatnonzero(feature >= 0)
    if (rows[inner] != rows[left[inner]] + rows[right[inner]]).any():
        raise TREE.damaged("the rows of two sides do not add up to those of their node")
    if not np.allclose(weight[inner], weight[left[inner]] + weight[right[inner]], rtol=SAME_WEIGHT, atol=0):
        raise TREE.damaged("the weights of two sides do not add up to those of their node")
    return TreeStructure(feature, threshold, left, right, weight, rows, sets, frozenset(gaps))


def _weights(entry: Any, n_classes: int, node: int) -> list[float]:
    where = f"node {node}"
    given = TREE.entry(entry, "weight", list, where)
    weights = [TREE.entry({"weight": one}, "weight", float, where) for one in given]
    if len(weights) != n_classes or min(weights) < 0 or not 0 < sum(weights) < math.inf:
        raise TREE.damaged(f"{where} needs a weight for each of the {n_classes} classes, none below 0 and not all 0")
    return weights


# --- what is proven -----------------------------------------------------------------------------------------------------


def _certificate(entry: dict[str, Any]) -> Certificate:
    where = "the certificate"
    return Certificate(
        optimal=TREE.entry(entry, "optimal", bool, where),
        objective=TREE.entry(entry, "objective", float, where),
        lower_bound=TREE.entry(entry, "lower_bound", float, where),
        gap=TREE.entry(entry, "gap", float, where),
        regularization=TREE.entry(entry, "regularization", float, where),
        max_depth=None if entry.get("max_depth") is None else TREE.entry(entry, "max_depth", int, where),
    )


def check_certificate(given: Certificate, nodes: TreeStructure) -> None:
    """Refuse a certificate that is not of this tree."""
    weight = nodes.weight[nodes.feature < 0]
    error = 1 - weight.max(axis=1).sum() / weight.sum()
    objective = max(0.0, error) + given.regularization * nodes.n_leaves
    gap = (given.objective - given.lower_bound) / given.objective if given.objective > 0 else 0.0
    if given.regularization < 0 or not _same(given.objective, objective):
        raise TREE.damaged(
            f"the certificate's objective is {given.objective:.6g}, but the tree's errors and leaves make {objective:.6g}"
        )
    if given.lower_bound > given.objective or (given.optimal and given.lower_bound != given.objective):
        raise TREE.damaged("the certificate's lower bound does not go with its objective")
    if not _same(given.gap, gap):
        raise TREE.damaged(f"the certificate's gap is {given.gap:.6g}, but objective and lower bound make {gap:.6g}")
    if given.max_depth is not None and given.max_depth < nodes.depth:
        raise TREE.damaged(f"the certificate is for trees of {given.max_depth} levels, and this one has {nodes.depth}")


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME_WEIGHT, abs_tol=SAME_WEIGHT)


# --- where it comes from ------------------------------------------------------------------------------------------------


def _provenance(given: dict[str, Any], nodes: TreeStructure) -> Provenance:
    where = "the provenance"
    libraries = {name: version for name, version in _entries(given, "libraries", where).items() if isinstance(version, str)}
    if len(libraries) < len(given["libraries"]):
        raise TREE.damaged("the versions of the libraries must be texts")
    rules = TREE.entry(given, "rules", list, where)
    if len(rules) > MOST_ENTRIES or not all(_is_short(rule) for rule in rules):
        raise TREE.damaged(f"the rules must be at most {MOST_ENTRIES} texts of at most {LONGEST_TEXT} characters")
    fit_to, n_rows = TREE.entry(given, "fit_to", str, where), TREE.entry(given, "rows", int, where)
    weight = TREE.entry(given, "weight", float, where)
    if fit_to not in ("labels", "target"):
        raise TREE.damaged(f"'fit_to' must be labels or target, got {fit_to[:20]!r}")
    if n_rows != nodes.n_rows[0] or not math.isclose(weight, float(nodes.weight[0].sum()), rel_tol=SAME_WEIGHT):
        raise TREE.damaged("the provenance is of other rows than those of the first node")
    return Provenance(
        libraries=libraries,
        black_box=_part(given, "black_box"),
        discretizer=_part(given, "discretizer"),
        tree=_part(given, "tree"),
        selection=None if TREE.optional(given, "selection", dict, where) is None else _part(given, "selection"),
        rules=tuple(rules),
        fit_to=fit_to,
        n_rows=n_rows,
        weight=weight,
        statuses=_statuses(TREE.optional(given, "counterfactuals", dict, where)),
        fidelity=_share(TREE.entry(given, "fidelity", float, where), "fidelity"),
        accuracy=None
        if given.get("accuracy", 0) is None
        else _share(TREE.entry(given, "accuracy", float, where), "accuracy"),
    )


def _part(given: dict[str, Any], name: str) -> Part:
    entry = TREE.entry(given, name, dict, "the provenance")
    called = TREE.entry(entry, "class", str, name)
    if not _is_short(called):
        raise TREE.damaged(f"the class of {name} has more than {LONGEST_TEXT} characters")
    return Part(called, _entries(entry, "parameters", name))


def _entries(given: dict[str, Any], name: str, where: str) -> dict[str, Plain]:
    """Plain values by name, of a size that is worth reading."""
    found: dict[str, Plain] = TREE.entry(given, name, dict, where)
    if len(found) > MOST_ENTRIES:
        raise TREE.damaged(f"{where} has {len(found):,} {name}, more than {MOST_ENTRIES}")
    for key, value in found.items():
        is_plain = value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
        if not _is_short(key) or not (is_plain or _is_short(value)):
            raise TREE.damaged(f"{key[:40]!r} among the {name} of {where} is neither a number nor a short text")
    return found


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _statuses(given: dict[str, Any] | None) -> dict[str, int] | None:
    if given is None:
        return None
    if not all(name in STATUSES and is_whole(n) and 0 <= n < 2**62 for name, n in given.items()):
        raise TREE.damaged(f"the counterfactuals must be counted by their statuses, {', '.join(STATUSES)}")
    return given


def _share(given: float, name: str) -> float:
    if not 0 <= given <= 1:
        raise TREE.damaged(f"the {name} must be a share between 0 and 1, got {given:.6g}")
    return given
