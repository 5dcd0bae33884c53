"""Read a tree from its JSON document, and check the whole document before use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_type_hints

import numpy as np

from fcca.counterfactuals import STATUSES
from fcca.exceptions import InvalidInputError
from fcca.export._distilled_tree import Certificate, Condition, DistilledTree
from fcca.export._provenance import LONGEST_TEXT, MOST_ENTRIES, Part, Plain, Provenance
from fcca.export._to_json import FIRST_TREES, FORMAT, LARGEST, TREE_VERSION, WITHOUT_THRESHOLDS
from fcca.tables import Column, Columns
from fcca.thresholds import ThresholdTable
from fcca.trees import CRITERIA, TreeStructure, leaf_cost
from fcca.utils import DocumentReader, is_label, parsed

DEEPEST = 200
SAME_WEIGHT = 1e-6

TREE = DocumentReader("tree", FORMAT, (WITHOUT_THRESHOLDS, TREE_VERSION), "tree.json", "fcca.export.to_json")
COLUMN = {"name": str | None, "categories": list | None, "missing": bool}
PROVENANCE = {
    "rules": list,
    "fit_to": str,
    "rows": int,
    "weight": float,
    "counterfactuals": dict | None,
    "fidelity": float,
    "accuracy": float | None,
}


def from_json(text: str | bytes) -> DistilledTree:
    """Read the tree from a document written by :func:`to_json`.

    Parameters
    ----------
    text : str or bytes
        A version 1 or version 2 document. A tree from a version 1 document has no ``thresholds`` and no ``provenance``.
        Bytes must be UTF-8, with or without a byte order mark.

    Returns
    -------
    DistilledTree

    Raises
    ------
    InvalidInputError
        If the text is not a complete, consistent document. Nothing in it is run as code.

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
    2
    """
    return tree_in(parsed(text, LARGEST, "a tree"))


def tree_in(document: Any) -> DistilledTree:
    """Build the tree from the parsed JSON of a document, and check it."""
    version = TREE.version(document)
    classes = TREE.labels(TREE.entry(document, "classes", list), "classes")
    columns = _columns(TREE.entry(document, "columns", list))
    takes_missing = TREE.entry(document, "missing_values", bool)
    given = TREE.entry(document, "conditions", list)
    conditions = [_condition(one, at, columns, takes_missing) for at, one in enumerate(given)]
    table = None if version == WITHOUT_THRESHOLDS else _thresholds(given, conditions, columns, takes_missing)
    kinds = [one.kind for one in conditions] if table is None else table.kinds_in_words.tolist()
    structure = _structure(TREE.entry(document, "nodes", list), conditions, kinds, len(classes))
    structure = structure if table is None else replace(structure, special=dict(table.special))
    stated = TREE.entry(document, "certificate", dict)
    if version == WITHOUT_THRESHOLDS:  # these documents may have no depth
        stated = {"max_depth": None} | stated | FIRST_TREES
    certificate = Certificate(**TREE.entries(stated, get_type_hints(Certificate), "the certificate"))
    provenance = None
    if table is not None:
        check_certificate(certificate, structure)
        found = TREE.entry(document, "provenance", dict | None)
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
        name, categories, missing = TREE.entries(entry, COLUMN, where).values()
        columns.append(Column(name, None if categories is None else TREE.categories(entry, where), missing))
    if not columns:
        raise TREE.damaged("it has no columns")
    found = Columns(tuple(columns))
    if len({column.name is None for column in columns}) > 1 or len(set(found.names)) < len(columns):
        raise TREE.damaged("either all columns must have distinct names, or none may have a name")
    return found


def _condition(entry: Any, at: int, columns: Columns, takes_missing: bool) -> Condition:
    where = f"condition {at}"
    kind, j = TREE.entry(entry, "kind", str, where), TREE.entry(entry, "column", int, where)
    if not 0 <= j < len(columns):
        raise TREE.damaged(f"{where} is on column {j}, but there are {len(columns)} columns")
    known = columns[j].categories
    if kind == "cut" and known is None:
        return Condition(kind, j, TREE.entry(entry, "threshold", float, where))
    if kind == "special" and known is None:
        return Condition(kind, j, TREE.entry(entry, "value", float, where))
    if kind == "set" and known is not None:
        labels = TREE.categories(entry, where)
        position = {label: code for code, label in enumerate(known)}
        codes = [position.get(label, -1) for label in labels]
        if min(codes) < 0 or len(labels) == len(known):
            raise TREE.damaged(f"{where} must hold some of its column's categories, but not all")
        return Condition(kind, j, codes=tuple(sorted(codes)))
    if kind == "missing" and takes_missing:
        return Condition(kind, j)
    raise TREE.damaged(f"{where} has the kind {kind[:20]!r}, which does not fit its column")


def _thresholds(given: Sequence[Any], conditions: list[Condition], columns: Columns, takes_missing: bool) -> ThresholdTable:
    """Return all conditions as a threshold table.

    Raise an error if they are not sorted, or if a condition is listed twice.

    Parameters
    ----------
    given : sequence
        The entries of the conditions in the document.
    conditions : list of Condition
        The same conditions, already read.
    columns : Columns
    takes_missing : bool
        True if rows may have missing values.
    """
    if not takes_missing and any(column.missing or column.categories is not None for column in columns):
        raise TREE.damaged("'missing_values' is false, but columns have missing values or categories")
    numbers = np.full((4, len(given)), np.nan)
    labels: list[tuple[Any, ...] | None] = [None] * len(given)
    for at, condition in enumerate(conditions):
        if condition.kind == "cut":
            numbers[:, at] = TREE.cut(given[at], f"condition {at}")
        elif condition.kind == "special":
            numbers[0, at] = condition.threshold
        elif condition.kind == "set":
            labels[at] = tuple(given[at]["categories"])
    count = np.array(
        [TREE.entry(entry, "count", float, f"condition {at}") for at, entry in enumerate(given)], dtype=np.float64
    )
    feature = np.array([one.column for one in conditions], dtype=np.int32)
    kinds = np.array([one.kind for one in conditions], dtype="U7")
    known = columns if takes_missing else None
    zero_one, special = TREE.facts_of_cuts(given, feature.tolist())
    try:
        return ThresholdTable(
            columns.names,
            feature,
            *(numbers[0], numbers[1], numbers[2], numbers[3]),
            count=count,
            kind=kinds,
            labels=tuple(labels),
            columns=known,
            zero_one=zero_one,
            special=special,
        )
    except InvalidInputError as error:
        raise TREE.damaged(str(error).rstrip(".")) from error


# --- nodes --------------------------------------------------------------------------------------------------------------


def _structure(
    given: Sequence[Any], conditions: list[Condition], kinds_in_words: list[str], n_classes: int
) -> TreeStructure:
    n = len(given)
    if n == 0:
        raise TREE.damaged("it has no nodes")
    weight = np.array([_weights(entry, "weight", n_classes, node) for node, entry in enumerate(given)])
    soft = None
    if isinstance(given[0], dict) and "soft_weight" in given[0]:
        soft = np.array([_weights(entry, "soft_weight", n_classes, node) for node, entry in enumerate(given)])
    feature, threshold = np.full(n, -1, dtype=np.int32), np.full(n, np.nan)
    left, right = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    rows = np.zeros(n, dtype=np.int64)
    sets: dict[int, tuple[int, ...]] = {}
    missing: set[int] = set()
    special: set[int] = set()
    one: set[int] = set()
    parent = [-1] * n
    for node, entry in enumerate(given):
        where = f"node {node}"
        count = TREE.entry(entry, "rows", int, where)
        if not 0 <= count < 2**62:
            raise TREE.damaged(f"{where} has {count} rows")
        rows[node] = count
        at = TREE.entry(entry, "condition", int | None, where)
        if at is None:
            continue
        if not 0 <= at < len(conditions):
            raise TREE.damaged(f"{where} has condition {at}, but there are {len(conditions)} conditions")
        kind, feature[node], number, codes = conditions[at]
        if kind in ("cut", "special"):
            threshold[node] = number
            special.update({node} if kind == "special" else ())
            one.update({node} if kinds_in_words[at] == "one" else ())
        elif kind == "set":
            sets[node] = codes
        else:
            missing.add(node)
        for side, children in (("left", left), ("right", right)):
            child = TREE.entry(entry, side, int, where)
            if not node < child < n or parent[child] >= 0:  # only later nodes, so there are no cycles
                raise TREE.damaged(f"{where} has {child} as its {side} child")
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
        raise TREE.damaged("the rows of two children do not sum to the rows of their node")
    sums = (weight,) if soft is None else (weight, soft)
    if not all(np.allclose(each[inner], each[left[inner]] + each[right[inner]], rtol=SAME_WEIGHT, atol=0) for each in sums):
        raise TREE.damaged("the weights of two children do not sum to the weights of their node")
    asks = frozenset(missing), soft, frozenset(special), frozenset(one)
    return TreeStructure(feature, threshold, left, right, weight, rows, sets, *asks)


def _weights(entry: Any, name: str, n_classes: int, node: int) -> list[float]:
    where = f"node {node}"
    weights = TREE.numbers(entry, name, where)
    if len(weights) != n_classes or min(weights) < 0 or not 0 < sum(weights) < math.inf:
        raise TREE.damaged(
            f"{where} needs a {name!r} of at least 0 for each of the {n_classes} classes, with a positive sum"
        )
    return weights


# --- proof --------------------------------------------------------------------------------------------------------------


def check_certificate(given: Certificate, nodes: TreeStructure) -> None:
    """Check that a certificate agrees with the nodes of its tree.

    The objective is recomputed from the leaves. The gap must follow from the objective and the lower bound. The depth and
    the leaves must respect the limits of the certificate.
    """
    if given.criterion not in CRITERIA:
        raise TREE.damaged(f"the certificate's criterion must be one of {', '.join(CRITERIA)}, got {given.criterion!r}")
    weight = nodes.learned_weight[nodes.feature < 0]
    cost = leaf_cost(weight, given.criterion).sum() / weight.sum()
    objective = max(0.0, float(cost)) + given.regularization * nodes.n_leaves
    gap = (given.objective - given.lower_bound) / given.objective if given.objective > 0 else 0.0
    if given.regularization < 0 or not _same(given.objective, objective):
        raise TREE.damaged(f"the certificate's objective is {given.objective:.6g}, but the leaves give {objective:.6g}")
    if given.lower_bound > given.objective or (given.optimal and given.lower_bound != given.objective):
        raise TREE.damaged("the certificate's lower bound does not fit its objective")
    if not _same(given.gap, gap):
        raise TREE.damaged(f"the certificate's gap is {given.gap:.6g}, but its objective and lower bound give {gap:.6g}")
    if given.max_depth is not None and given.max_depth < nodes.depth:
        raise TREE.damaged(f"the tree has {nodes.depth} levels, more than the certificate's max_depth of {given.max_depth}")
    if given.max_leaf_nodes is not None and given.max_leaf_nodes < nodes.n_leaves:
        raise TREE.damaged(
            f"the tree has {nodes.n_leaves} leaves, more than the certificate's max_leaf_nodes of {given.max_leaf_nodes}"
        )
    _check_leaves(given, nodes)


def _check_leaves(given: Certificate, nodes: TreeStructure) -> None:
    """Check that every leaf has at least the minimum number of rows and weight.

    These minimums do not apply to a tree without splits.
    """
    if nodes.n_leaves == 1:
        return
    leaf = nodes.feature < 0
    weight = nodes.learned_weight[leaf].sum(axis=1)
    least = given.min_weight_fraction_leaf * weight.sum()
    if nodes.n_rows[leaf].min() < given.min_samples_leaf or weight.min() < least * (1 - SAME_WEIGHT):
        raise TREE.damaged("a leaf has fewer rows or less weight than the certificate's limits")


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME_WEIGHT, abs_tol=SAME_WEIGHT)


# --- provenance ---------------------------------------------------------------------------------------------------------


def _provenance(given: dict[str, Any], nodes: TreeStructure) -> Provenance:
    where = "the provenance"
    libraries = {name: version for name, version in _entries(given, "libraries", where).items() if isinstance(version, str)}
    if len(libraries) < len(given["libraries"]):
        raise TREE.damaged("the versions of the libraries must be strings")
    found = TREE.entries(given, PROVENANCE, where)
    rules, n_rows, statuses = (found.pop(name) for name in ("rules", "rows", "counterfactuals"))
    if len(rules) > MOST_ENTRIES or not all(_is_short(rule) for rule in rules):
        raise TREE.damaged(f"the rules must be at most {MOST_ENTRIES} strings of at most {LONGEST_TEXT} characters")
    TREE.fit_to(given, where)
    TREE.check_range(found, ("fidelity", "accuracy"), 0, 1, where)
    if n_rows != nodes.n_rows[0] or not math.isclose(found["weight"], float(nodes.weight[0].sum()), rel_tol=SAME_WEIGHT):
        raise TREE.damaged("the rows or the weight of the provenance differ from the root")
    return Provenance(
        libraries=libraries,
        black_box=_part(given, "black_box"),
        discretizer=_part(given, "discretizer"),
        tree=_part(given, "tree"),
        selection=None if TREE.entry(given, "selection", dict | None, where) is None else _part(given, "selection"),
        rules=tuple(rules),
        n_rows=n_rows,
        statuses=None if statuses is None else TREE.counts(statuses, STATUSES, "the counterfactuals"),
        **found,
    )


def _part(given: dict[str, Any], name: str) -> Part:
    entry = TREE.entry(given, name, dict, "the provenance")
    called = TREE.entry(entry, "class", str, name)
    if not _is_short(called):
        raise TREE.damaged(f"the class of {name} has more than {LONGEST_TEXT} characters")
    return Part(called, _entries(entry, "parameters", name))


def _entries(given: dict[str, Any], name: str, where: str) -> dict[str, Plain]:
    """Read a mapping of names to strings, numbers or null, and check its size.

    Parameters
    ----------
    given : dict
        The part of the document that contains the mapping.
    name : str
        Key of the mapping in ``given``.
    where : str
        Name of ``given`` in error messages.
    """
    found: dict[str, Plain] = TREE.entry(given, name, dict, where)
    if len(found) > MOST_ENTRIES:
        raise TREE.damaged(f"{where} has {len(found):,} {name}, more than {MOST_ENTRIES}")
    for key, value in found.items():
        is_plain = value is None or (is_label(value) and not isinstance(value, str))
        if not _is_short(key) or not (is_plain or _is_short(value)):
            raise TREE.damaged(f"{key[:40]!r} among the {name} of {where} must be a number or a short string")
    return found


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT
