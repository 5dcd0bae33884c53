"""Convert a tree to rules in JSON, one per leaf."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from fcca.export._distilled_tree import DistilledTree, as_distilled
from fcca.export._to_json import written_columns
from fcca.utils import escaped_json

FORMAT, VERSION = "fcca-rules", 1


def to_rules(classifier: Any) -> str:
    """Convert the tree to rules in JSON, one per leaf.

    For every row without infinite numbers, exactly one rule holds.

    Parameters
    ----------
    classifier : FCCAClassifier or DistilledTree
        A fitted classifier, or a tree that was read from a file.

    Returns
    -------
    str
        An object with ``format`` "fcca-rules", ``version`` 1, the ``fcca`` version, ``classes``, ``columns`` (name;
        categories, or null for numbers; whether values may be missing), ``missing_values`` (whether training rows could have
        missing values), ``rules`` and ``certificate``. :func:`fcca.export.schema` returns its JSON Schema.

        A rule has these entries: the index ``leaf`` of its leaf, the ``conditions``, the predicted ``class``, the number of
        training ``rows``, and the conditions as text, ``in_words``. For each class, it has the training ``weight``, its
        share of the total (``shares``), and the predicted probability (``probabilities``). A rule holds if all of its
        conditions hold:

        - ``{"kind": "cut", "column": 0, "operator": ">", "threshold": 1.5, "missing": false}``, or ``"<="``: compared in
          float64;
        - ``{"kind": "special", "column": 0, "operator": "is", "value": -9.0, "missing": false}``, or ``"is not"``;
        - ``{"kind": "set", "column": 1, "operator": "in", "categories": ["car"], "missing": false}``, or ``"not in"``;
        - ``{"kind": "missing", "column": 0, "operator": "is"}``, or ``"is not"``.

        ``column`` is a position in ``columns``. If the value is missing, a condition of kind "cut", "special" or "set" holds
        if and only if its ``missing`` is true. Several cuts on the same column are combined into at most two conditions, one
        with ``>`` and one with ``<=``. Several sets on the same column are combined into one condition.

        An unknown category is in no set, so "in" does not hold and "not in" holds. The classifier raises an error for rows
        with an infinite number in a column of the rules.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
    >>> from fcca.export import to_rules
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier(FCCADiscretizer(Q=0.9), OptimalTreeClassifier(max_depth=1)).fit(X, y)
    >>> rule = json.loads(to_rules(classifier))["rules"][0]
    >>> rule["conditions"][0]["operator"], rule["class"], rule["rows"] > 100
    ('<=', 1, True)
    """
    tree = as_distilled(classifier)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "fcca": tree.fcca_version,
        "classes": list(tree.classes),
        "columns": written_columns(tree.columns),
        "missing_values": tree.takes_missing,
        "rules": [_rule(tree, leaf) for leaf in tree.leaves],
        "certificate": asdict(tree.certificate) | {"in_words": tree.certificate.in_words()},
    }
    return escaped_json(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def _rule(tree: DistilledTree, leaf: int) -> dict[str, Any]:
    nodes = tree.structure
    path = nodes.path_to(leaf)
    by_column: dict[int, list[tuple[int, bool]]] = {}
    for node, goes_right in path:
        by_column.setdefault(int(nodes.feature[node]), []).append((node, goes_right))
    return {
        "leaf": leaf,
        "conditions": [condition for j, tests in by_column.items() for condition in _conditions(tree, j, tests)],
        "class": tree.class_of(leaf),
        "shares": nodes.share[leaf].tolist(),
        "probabilities": nodes.probability[leaf].tolist(),
        "weight": nodes.weight[leaf].tolist(),
        "rows": int(nodes.n_rows[leaf]),
        "in_words": " and ".join(nodes.path_in_words(path, tree.columns.names, tree.columns)) or "always",
    }


def _conditions(tree: DistilledTree, j: int, tests: list[tuple[int, bool]]) -> list[dict[str, Any]]:
    """Return the conditions of a rule on one column.

    Parameters
    ----------
    tree : DistilledTree
    j : int
        Position of the column.
    tests : list of tuple
        The nodes on the path to the leaf that test this column. Each is paired with a boolean: True if the path goes right.
    """
    nodes = tree.structure
    missing_tests = [goes_right for node, goes_right in tests if node in nodes.asks_missing]
    others = [(node, goes_right) for node, goes_right in tests if node not in nodes.asks_missing]
    # A missing value goes left at cuts and sets, and right at "is missing".
    may_be_missing = all(missing_tests) and not any(goes_right for _, goes_right in others)
    is_missing = [{"kind": "missing", "column": j, "operator": "is"}]
    is_present = [{"kind": "missing", "column": j, "operator": "is not"}]
    if any(missing_tests):
        return is_missing if may_be_missing else is_missing + is_present  # a contradiction: no row takes this path
    if not others:
        return is_present
    return (_cuts if tree.columns[j].categories is None else _sets)(tree, j, others, may_be_missing)


def _cuts(tree: DistilledTree, j: int, tests: list[tuple[int, bool]], may_be_missing: bool) -> list[dict[str, Any]]:
    nodes = tree.structure
    cuts = [(node, goes_right) for node, goes_right in tests if node not in nodes.asks_special]
    above = [float(nodes.threshold[node]) for node, goes_right in cuts if goes_right]
    at_most = [float(nodes.threshold[node]) for node, goes_right in cuts if not goes_right]
    said = [(">", max(above))] if above else []
    said += [("<=", min(at_most))] if at_most else []
    found: list[dict[str, Any]] = [
        {"kind": "cut", "column": j, "operator": operator, "threshold": threshold, "missing": may_be_missing}
        for operator, threshold in said
    ]
    for node, goes_right in tests:
        if node in nodes.asks_special:
            operator, value = "is" if goes_right else "is not", float(nodes.threshold[node])
            found.append({"kind": "special", "column": j, "operator": operator, "value": value, "missing": may_be_missing})
    return found


def _sets(tree: DistilledTree, j: int, tests: list[tuple[int, bool]], may_be_missing: bool) -> list[dict[str, Any]]:
    categories = tree.columns[j].categories or ()
    left = set(range(len(categories)))
    for node, goes_right in tests:
        codes = tree.structure.categories[node]
        left = left.intersection(codes) if goes_right else left.difference(codes)
    # An unknown category goes left at every set.
    inside = any(goes_right for _, goes_right in tests)
    labels = [label for code, label in enumerate(categories) if (code in left) == inside]
    operator = "in" if inside else "not in"
    return [{"kind": "set", "column": j, "operator": operator, "categories": labels, "missing": may_be_missing}]
