"""A small tree with any names, categories and classes, and its predictions."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from fcca.export import from_json, to_sql

NUMBERS = [None, float("nan"), 1.0, 1.5, np.nextafter(1.5, 2), float("inf"), float("-inf")]


def small_tree(*, number="x", category="c", labels=("car", "tv"), classes=("no", "yes"), gaps=True, cut=1.5):
    """Tests for a missing number, then for the first category, then for the number; every class has a leaf."""
    count = [{"condition": None, "weight": [3, 1], "rows": 4}, {"condition": None, "weight": [1, 3], "rows": 4}]
    inner = {"weight": [4, 4], "rows": 8}
    document = {
        "format": "fcca-tree",
        "version": 1,
        "fcca": "0.1.0",
        "classes": list(classes),
        "columns": [
            {"name": number, "categories": None, "missing": gaps},
            {"name": category, "categories": list(labels), "missing": gaps},
            {"name": "never asked for", "categories": None, "missing": gaps},
        ],
        "missing_values": gaps,
        "conditions": [
            {"kind": "set", "column": 1, "categories": [labels[0]]},
            {"kind": "cut", "column": 0, "threshold": cut},
            *([{"kind": "missing", "column": 0}] if gaps else []),
        ],
        "nodes": [
            {"condition": 0, "left": 1, "right": 4, "weight": [8, 8], "rows": 16},
            {"condition": 1, "left": 2, "right": 3, **inner},
            *count,
            {"condition": 2 if gaps else 1, "left": 5, "right": 6, **inner},
            *count,
        ],
        "certificate": {
            "optimal": True, "objective": 0.1, "lower_bound": 0.1, "gap": 0, "regularization": 0.01, "max_depth": 2,
        },
    }  # fmt: skip
    return from_json(json.dumps(document))


def class_of(x, c, tree):
    """Predictions of the small tree, None for refused rows; written by hand."""
    labels, gaps = tree.columns[1].categories, tree.takes_missing
    x = None if x is None or x != x else x
    if x is not None and abs(x) == np.inf:
        return None
    cut = tree.structure.threshold[1]
    right = x is None if gaps and c == labels[0] else x is not None and x > cut
    return tree.classes[int(right)]


def check_small(engine, tree, labels, kind, name="data", schema=None):
    """All numbers beside all labels."""
    cells = [(x, c) for x in NUMBERS for c in labels]
    names = tree.columns.names
    columns = {
        names[0]: pa.array([x for x, _ in cells], pa.float64(), from_pandas=False),
        names[1]: pa.array([c for _, c in cells], kind, from_pandas=False),
        names[2]: pa.array([float("inf")] * len(cells)),
    }
    engine.load(pa.table(columns), name, schema)
    text = to_sql(tree, name if schema is None else (schema, name), engine.name)
    found = engine.answers(text)["prediction"]
    assert found == [class_of(x, None if c != c else c, tree) for x, c in cells]
    return text
