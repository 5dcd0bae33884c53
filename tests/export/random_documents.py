"""Random trees with any names, categories and shapes, and rows that they predict or refuse."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from fcca.export import DistilledTree, from_json

#: Names of columns, classes and categories that something might trip over.
HOSTILE_NAMES = [
    '"; DROP TABLE x; --',
    "back\\slash\\n",
    "line\nbreak\r\n\ttab",
    "🚀 é \u202e rtl \u200b",
    "</script><script>alert(1)</script>",
    "n" * 300,
    "__proto__",
    "label",
    "constant_0",
    "value_3",
    "{0} %s ${x} `id`",
    "nul\x00inside",
    " ",
    "probabilities",
    "leaf_",
]
LARGE = 2**62
CATEGORIES = [
    ["car", "tv", "boat"],
    ["", "a", "<missing>"],
    HOSTILE_NAMES,
    [3, 1, 2, 10],
    [True, False],
    [0.5, -1.25, 2.0, 1e300],
    [LARGE, LARGE + 1, -LARGE, 7],
    ["None", "nan", "NaN", "0"],
]
CLASSES = [
    ["no", "yes"],
    [0, 1, 2],
    [True, False],
    [-1, 5],
    [1.5, 2.0, -3.0],
    ["", "<refused>", "x"],
    HOSTILE_NAMES,
    ["one"],
]
UNSEEN = {str: ["yacht", "CAR", " car", "car ", "a" * 1000, "é"], int: [99, 4, -5], float: [0.25, 1.0, -1.0]}
CUTS = [0.1, -0.0, 1e-310, -1e300, 16777217.0, 3.3000000000000003, 1 / 3, 100.0, np.float64(np.float32(0.1)), -7.25]


def random_document(seed: int, *, hostile: bool = False, depth: int = 5) -> dict:
    """A document of version 1."""
    rng = np.random.default_rng(seed)
    names = list(HOSTILE_NAMES) if hostile else [f"column {j}" for j in range(int(rng.integers(1, 8)))]
    takes_missing = bool(rng.random() < 0.7)
    columns = []
    for at, name in enumerate(names):
        pool = [HOSTILE_NAMES] if hostile else CATEGORIES
        given = None if (at % 2 if hostile else rng.random() < 0.5) else pool[rng.integers(len(pool))]
        columns.append({"name": name, "categories": given, "missing": takes_missing and bool(rng.random() < 0.5)})
    classes = HOSTILE_NAMES if hostile else CLASSES[rng.integers(len(CLASSES))]
    conditions: list[dict] = []
    nodes: list[dict] = []

    def grow(level: int) -> dict:
        node = {"condition": None}
        nodes.append(node)
        if level == depth or (not hostile and rng.random() < 0.15 * level):
            weight = rng.integers(0, 5, len(classes)) * rng.choice([1.0, 0.1, 1 / 3])
            weight[rng.integers(len(classes))] += rng.random()
            return _put(node, weight=weight.tolist(), rows=int(rng.integers(1, 50)))
        j = (len(conditions) if hostile else int(rng.integers(len(columns)))) % len(columns)
        node["condition"] = len(conditions)
        conditions.append(random_condition(rng, j, columns[j]["categories"], takes_missing))
        node["left"] = len(nodes)
        left = grow(level + 1)
        node["right"] = len(nodes)
        right = grow(level + 1)
        total = (np.array(left["weight"]) + np.array(right["weight"])).tolist()
        return _put(node, weight=total, rows=left["rows"] + right["rows"])

    grow(0)
    return {
        "format": "fcca-tree",
        "version": 1,
        "fcca": "0.1.0",
        "classes": classes,
        "columns": columns,
        "missing_values": takes_missing,
        "conditions": conditions,
        "nodes": nodes,
        "certificate": {
            "optimal": False, "objective": 0.5, "lower_bound": 0.25, "gap": 0.5, "regularization": 0.01, "max_depth": None,
        },
    }  # fmt: skip


def _put(node: dict, **entries: object) -> dict:
    node.update(entries)
    return node


def random_condition(rng: np.random.Generator, j: int, categories: list | None, takes_missing: bool) -> dict:
    if takes_missing and rng.random() < 0.25:
        return {"kind": "missing", "column": j}
    if categories is None:
        cut = float(rng.choice(CUTS)) if rng.random() < 0.6 else float(rng.normal())
        return {"kind": "cut", "column": j, "threshold": cut}
    some = rng.permutation(len(categories))[: rng.integers(1, len(categories))].tolist()
    return {"kind": "set", "column": j, "categories": [categories[code] for code in some]}


def random_tree(seed: int, *, hostile: bool = False, depth: int = 5) -> DistilledTree:
    return from_json(json.dumps(random_document(seed, hostile=hostile, depth=depth)))


def good_rows(tree: DistilledTree, n: int, seed: int) -> pd.DataFrame:
    """Rows that the tree predicts: numbers on its cuts, one float beside, rounded to 32 bits; missing values."""
    rng = np.random.default_rng(seed)
    nodes, columns = tree.structure, {}
    for j, name in enumerate(tree.columns.names):
        categories = tree.columns[j].categories
        if categories is None:
            cuts = nodes.threshold[(nodes.feature == j) & ~np.isnan(nodes.threshold)]
            cut = rng.choice(cuts if len(cuts) else CUTS, n)
            with np.errstate(over="ignore"):
                narrow = cut.astype(np.float32)
            near = [cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf), rng.normal(0, 3, n), -cut]
            near += [narrow, np.nextafter(narrow, np.float32(np.inf)), np.nextafter(narrow, np.float32(-np.inf))]
            values = np.choose(rng.integers(0, len(near), n), [np.asarray(one, dtype=np.float64) for one in near])
            values = np.where(np.isinf(values), cut, values)
            column = pd.Series(values)
            gap = np.nan
        else:
            picked = np.empty(n, dtype=object)
            picked[:] = [categories[code] for code in rng.integers(0, len(categories), n)]
            column = pd.Series(picked, dtype=object)
            gap = None
            strange = UNSEEN[str if isinstance(categories[0], str) else float if isinstance(categories[0], float) else int]
            strange = [value for value in strange if value not in categories]
            for at in np.flatnonzero(rng.random(n) < 0.05):
                column[at] = strange[at % len(strange)]
        column[rng.random(n) < 0.15] = gap
        columns[name] = column
    return pd.DataFrame(columns)


def bad_values(tree: DistilledTree, j: int) -> list[object]:
    """Refused values for a tested column: infinite numbers."""
    return [np.inf, -np.inf] if tree.columns[j].categories is None else []


def with_bad_values(
    tree: DistilledTree, rows: pd.DataFrame, seed: int, share: float = 0.1
) -> tuple[pd.DataFrame, np.ndarray]:
    """The same rows with some refused values, and a mask of these rows."""
    rng = np.random.default_rng(seed)
    rows, bad = rows.copy(), np.zeros(len(rows), dtype=bool)
    for j in tree.asked:
        values = bad_values(tree, j)
        if not values:
            continue
        at = np.flatnonzero(rng.random(len(rows)) < 0.1 / len(tree.asked))
        column = rows[tree.columns.names[j]].astype(object).to_numpy(copy=True)
        column[at] = [values[which] for which in rng.integers(0, len(values), len(at))]
        plain = tree.columns[j].categories is None
        rows[tree.columns.names[j]] = pd.Series(
            np.array([np.nan if value is None else value for value in column], dtype=np.float64) if plain else column,
            dtype=np.float64 if plain else object,
        )
        bad[at] = True
    return rows, bad
