"""Calls of the core's functions: arguments that are right, drawn from a seed, and ways to make them wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca import _core

Arguments = dict[str, Any]
Random = np.random.Generator

NUMBERS, WITH_MISSING, CATEGORIES = 0, 1, 2

#: The arguments of these are arguments of the call: Cells(...) and Limits(...) are made when it is made.
PARTS = {"cells": _core.Cells, "limits": _core.Limits}


def cells(random: Random, kinds: list[int]) -> Arguments:
    """Arguments of Cells: up to four cuts per column, the last of a column with gaps infinite."""
    cuts, first_cut, codes, first_code = [], [0], [], [0]
    for kind in kinds:
        n_cuts = int(random.integers(1, 5)) if kind != NUMBERS else int(random.integers(0, 5))
        own = np.sort(random.choice(np.linspace(0.05, 0.95, 19), n_cuts, replace=False))
        if kind == WITH_MISSING:
            own[-1] = np.inf
        if kind == CATEGORIES:
            codes.extend([*range(n_cuts + 1), *random.integers(0, n_cuts + 1, 2).tolist()])
        cuts.extend(own.tolist())
        first_cut.append(len(cuts))
        first_code.append(len(codes))
    m, n_cells = len(kinds), len(cuts) + len(kinds)
    plain = all(kind == NUMBERS for kind in kinds)
    return {
        "first_cut": np.array(first_cut, dtype=np.int64),
        "cuts": np.array(cuts, dtype=np.float64),
        "smallest": np.full(n_cells, np.nan),
        "largest": np.full(n_cells, np.nan),
        "box_low": np.zeros(m),
        "box_high": np.ones(m),
        "closed": (random.random(n_cells) < 0.1).astype(np.uint8) if random.random() < 0.3 else None,
        "kinds": None if plain else np.array(kinds, dtype=np.uint8),
        "first_code": None if plain else np.array(first_code, dtype=np.int64),
        "code_cell": None if plain else np.array(codes, dtype=np.int32),
        **_distances(random, m),
    }


def _distances(random: Random, m: int) -> Arguments:
    """Units, or ranks of some features; in most draws neither."""
    by_rank = random.random() < 0.3
    n_knots = random.integers(0, 5, m)
    starts = np.repeat(np.append(0, np.cumsum(n_knots))[:-1], n_knots)
    place = np.arange(n_knots.sum()) - starts
    return {
        "unit": random.choice([0.1, 1.0, 3.0], m) if random.random() < 0.3 else None,
        "unordered": float(random.choice([0.2, 1.0, 2.0])),
        "first_knot": np.append(0, np.cumsum(n_knots)).astype(np.int64) if by_rank else None,
        "knot": place / 5 if by_rank else None,
        "rank": np.minimum(place / 3, 1.0) if by_rank else None,
    }


def rows(random: Random, n: int, cell: Arguments) -> np.ndarray:
    """Rows for these cells, with gaps where a column may have them; the cells have seen them."""
    m = len(cell["box_low"])
    X = random.random((n, m))
    for j in range(m):
        kind = NUMBERS if cell["kinds"] is None else cell["kinds"][j]
        if kind == WITH_MISSING:
            X[random.random(n) < 0.2, j] = np.nan
        if kind == CATEGORIES:
            X[:, j] = random.integers(0, cell["first_code"][j + 1] - cell["first_code"][j], n)
    _core.widen_cells(X, _core.Cells(**cell), cell["smallest"], cell["largest"])
    return X


def limits(random: Random, n: int, cell: Arguments, *, between: bool, numbers_only: bool = False) -> Arguments:
    """Arguments of Limits for n points, every kind of rule in some of the draws."""
    m = len(cell["box_low"])
    maybe = lambda array: array if random.random() < 0.4 else None  # noqa: E731
    bounds, grid, fill = random.random() < 0.4, random.random() < 0.4, random.random() < 0.5
    first_entry = factor = code = None
    if cell["kinds"] is not None and not numbers_only:
        n_codes = np.diff(cell["first_code"])
        n_cells = np.diff(cell["first_cut"]) + 1
        sizes = np.where(cell["kinds"] == CATEGORIES, n_codes * n_cells, 0)
        first_entry = np.append(0, np.cumsum(sizes)).astype(np.int64)
        factor = np.where(random.random(first_entry[-1]) < 0.2, np.inf, random.random(first_entry[-1]) + 0.5)
        code = random.integers(0, 3, first_entry[-1]).astype(np.int32)
    n_rules = int(random.integers(0, 3)) if between else 0
    n_ifs = int(random.integers(0, 3)) if between else 0
    integers = lambda size: random.integers(0, m, size).astype(np.int32)  # noqa: E731
    flags = lambda size: random.integers(0, 2, size).astype(np.uint8)  # noqa: E731
    return {
        "low": np.full((n, m), 0.1) if bounds else None,
        "high": np.full((n, m), 0.9) if bounds else None,
        "frozen": maybe(flags((n, m))),
        "step": np.where(random.random(m) < 0.5, 0.05, 0.0) if grid else None,
        "origin": np.zeros(m) if grid else None,
        "weight": maybe(random.random(m) + 0.5),
        "fillable": flags(m) if fill else None,
        "fill_near": random.random(m) if fill else None,
        "first_entry": first_entry,
        "entry_factor": factor,
        "entry_code": code,
        "max_changes": int(random.integers(0, 4)) if between else 0,
        "first_term": np.arange(0, 2 * n_rules + 1, 2, dtype=np.int64),
        "term_feature": integers(2 * n_rules),
        "term_coef": random.random(2 * n_rules) - 0.3,
        "upper": random.random(n_rules) * 1.5,
        "if_feature": integers(n_ifs),
        "if_rises": flags(n_ifs),
        "then_feature": integers(n_ifs),
        "then_rises": flags(n_ifs),
    }


def trees(random: Random, n_trees: int, depth: int, m: int, n_values: int) -> Arguments:
    """Full binary trees, parents before their children: roots, feature, left, right and a value per node."""
    feature: list[int] = []
    left: list[int] = []
    right: list[int] = []

    def grow(level: int) -> int:
        node = len(feature)
        feature.append(-1), left.append(-1), right.append(-1)
        if level > 0:
            feature[node] = int(random.integers(0, m))
            left[node], right[node] = grow(level - 1), grow(level - 1)
        return node

    roots = [grow(depth) for _ in range(n_trees)]
    return {
        "roots": np.array(roots, dtype=np.int64),
        "feature": np.array(feature, dtype=np.int32),
        "left": np.array(left, dtype=np.int32),
        "right": np.array(right, dtype=np.int32),
        "value": random.normal(size=(len(feature), n_values)),
    }


def questions(random: Random, X: np.ndarray, n_classes: int) -> Arguments:
    """What is asked about every row, and how much may be spent on it."""
    n = len(X)
    own = random.integers(0, n_classes, n).astype(np.int32)
    asked = np.where(random.random(n) < 0.5, -1, (own + 1) % n_classes).astype(np.int32)
    return {
        "rows": X,
        "points": np.arange(n, dtype=np.int64),
        "own_class": own,
        "target": asked,
        "margin": np.full(n, 1e-4),
        "lambda0": 0.1,
        "lambda1": 1.0,
        "lambda2": float(random.choice([0.0, 0.5])),
        "n_threads": int(random.integers(1, 4)),
        "time_limit": 0.5,
        "time_limit_per_row": 0.2,
        "progress": None,
    }


def _kinds(random: Random) -> list[int]:
    m = int(random.integers(1, 6))
    return random.choice([NUMBERS, WITH_MISSING, CATEGORIES], m, p=[0.5, 0.25, 0.25]).tolist()


def solve_additive(random: Random) -> Arguments:
    cell = cells(random, _kinds(random))
    X = rows(random, int(random.integers(1, 30)), cell)
    K = int(random.choice([1, 2, 3, 4]))
    return {
        **questions(random, X, max(2, K)),
        "cells": cell,
        "limits": limits(random, len(X), cell, between=False),
        "values": random.normal(size=(len(cell["smallest"]), K)),
        "base": random.normal(size=K),
    }


def solve_linear(random: Random) -> Arguments:
    m = int(random.integers(1, 8))
    cell = cells(random, [NUMBERS] * m)
    X = random.random((int(random.integers(1, 30)), m))
    return {
        **questions(random, X, 2),
        "limits": limits(random, len(X), cell, between=False, numbers_only=True),
        "coef": random.normal(size=m),
        "centre": np.full(m, 0.5),
        "intercept": float(random.normal()),
        "box_low": cell["box_low"],
        "box_high": cell["box_high"],
        "unit": random.choice([0.1, 1.0, 3.0], m),
    }


def solve_ensemble(random: Random) -> Arguments:
    cell = cells(random, _kinds(random))
    X = rows(random, int(random.integers(1, 6)), cell)
    m, K, n_side = X.shape[1], int(random.choice([1, 2, 3])), int(random.integers(0, 2))
    grown = trees(random, int(random.integers(1, 6)), int(random.integers(0, 4)), m, K + n_side)
    n_cuts = np.diff(cell["first_cut"])
    cut = random.integers(-1, n_cuts[np.maximum(grown["feature"], 0)] + 2).astype(np.int32)
    sets = sets_of_cells(random, grown["feature"], n_cuts + 1) if random.random() < 0.5 else {}
    return {
        **questions(random, X, max(2, K)),
        "cells": cell,
        "limits": limits(random, len(X), cell, between=True),
        "roots": grown["roots"],
        "feature": grown["feature"],
        "cut": cut,
        "left": grown["left"],
        "right": grown["right"],
        "values": grown["value"],
        "base": random.normal(size=K + n_side),
        "side_least": np.full(n_side, -0.5),
        "examples": random.integers(0, n_cuts + 1, (4, m)).astype(np.int32),
        "relative_gap": float(random.choice([0.0, 0.0, 0.05, 0.5])),
        **sets,
    }


def sets_of_cells(random: Random, feature: NDArray[np.int32], n_cells: NDArray[np.int64]) -> Arguments:
    """Let about half of the inner nodes send a random set of cells to the left."""
    first_left = np.full(len(feature), -1, dtype=np.int64)
    left_cells: list[int] = []
    for node, j in enumerate(feature):
        if j >= 0 and random.random() < 0.5:
            first_left[node] = len(left_cells)
            left_cells.extend(random.integers(0, 2, n_cells[j]).tolist())
    return {"first_left": first_left, "left_cells": np.array(left_cells, dtype=np.uint8)}


def solve_tree(random: Random) -> Arguments:
    n, m, K = int(random.integers(1, 60)), int(random.integers(0, 12)), int(random.choice([2, 3, 5]))
    weight = random.integers(1, 5, n).astype(np.float64)
    return {
        "table": random.integers(0, 2, (n, m)).astype(np.uint8),
        "label": random.integers(0, K, n).astype(np.int32),
        "weight": weight * float(random.choice([1, 1000, 0.37])),
        "count": None if random.random() < 0.5 else random.integers(1, 4, n),
        "n_classes": K,
        "criterion": int(random.integers(0, 5)),
        "penalty": float(random.choice([0.0, 0.5, 2.0])),
        "max_depth": int(random.integers(0, 6)),
        "max_leaves": None if random.random() < 0.5 else int(random.integers(1, 9)),
        "min_weight": float(random.choice([0.0, 5.0])),
        "min_rows": int(random.choice([1, 3])),
        "max_nodes": None if random.random() < 0.5 else int(random.integers(0, 50)),
        "time_limit": 0.5,
    }


def solve_raw_tree(random: Random) -> Arguments:
    n, m, K = int(random.integers(1, 60)), int(random.integers(0, 5)), int(random.choice([2, 3, 5]))
    return {
        "rank": random.integers(0, random.integers(1, n + 1), (n, m)).astype(np.int32),
        "label": random.integers(0, K, n).astype(np.int32),
        "weight": random.integers(1, 5, n) * float(random.choice([1, 100_000, 0.37])),
        "count": None if random.random() < 0.5 else random.integers(1, 4, n),
        "n_classes": K,
        "criterion": int(random.integers(0, 5)),
        "penalty": float(random.choice([0.0, 0.5, 2.0])),
        "max_depth": int(random.integers(0, 5)),
        "max_leaves": None if random.random() < 0.5 else int(random.integers(1, 9)),
        "min_weight": float(random.choice([0.0, 5.0])),
        "min_rows": int(random.choice([1, 3])),
        "max_nodes": None if random.random() < 0.5 else int(random.integers(0, 50)),
        "time_limit": 0.5,
    }


def greedy_thresholds(random: Random) -> Arguments:
    n, n_chains, K = int(random.integers(1, 60)), int(random.integers(1, 5)), int(random.choice([2, 3]))
    size = random.integers(0, 5, n_chains).astype(np.int32)
    return {
        "passed": random.integers(0, size + 1, (n, n_chains)).astype(np.int32),
        "label": random.integers(0, K, n).astype(np.int32),
        "weight": random.integers(0, 3, n) * float(random.choice([1, 0.25, 0.123456789])),
        "n_classes": K,
        "chain_size": size,
        "count": random.integers(0, 9, int(size.sum())).astype(np.float64),
        "n_thresholds": int(random.integers(0, size.sum() + 1)),
    }


def select_thresholds(random: Random) -> Arguments:
    found = greedy_thresholds(random)
    size = found["chain_size"]
    return {
        **found,
        "state": random.choice([0, 1, 2], int(size.sum()), p=[0.8, 0.1, 0.1]).astype(np.int32),
        "feature": np.repeat(np.arange(len(size)), size).astype(np.int32),
        "per_feature": random.integers(0, 4, len(size)).astype(np.int32),
        "max_features": int(random.integers(1, len(size) + 1)),
        "ceiling": float(random.choice([np.inf, 5.0])),
        "max_nodes": int(random.integers(1, 200)),
        "time_limit": 0.5,
    }


def score_additive(random: Random) -> Arguments:
    cell = cells(random, _kinds(random))
    X, K = rows(random, 9, cell), int(random.choice([1, 3]))
    values, base = random.normal(size=(len(cell["smallest"]), K)), random.normal(size=K)
    return {"rows": X, "cells": cell, "values": values, "base": base, "out": np.empty((9, K))}


def score_trees(random: Random) -> Arguments:
    m, K = int(random.integers(1, 5)), int(random.choice([1, 3]))
    grown = trees(random, int(random.integers(1, 6)), int(random.integers(0, 4)), m, K)
    n_nodes, n_trees = len(grown["feature"]), len(grown["roots"])
    with_sets = bool(random.random() < 0.5)
    has_set = random.random(n_nodes) < 0.3
    first_code = np.where(has_set, 4 * (np.cumsum(has_set) - 1), -1).astype(np.int64)
    n_first = int(random.integers(0, n_trees + 1))
    return {
        "rows": random.random((9, m)) * 4,
        "roots": grown["roots"],
        "feature": grown["feature"],
        "threshold": random.random(n_nodes) * 4,
        "left": grown["left"],
        "right": grown["right"],
        "missing_left": random.integers(0, 2, n_nodes).astype(np.uint8) if random.random() < 0.5 else None,
        "first_code": first_code if with_sets else None,
        "n_codes": np.where(has_set, 4, 0).astype(np.int64) if with_sets else None,
        "left_codes": random.integers(0, 2, 4 * int(has_set.sum())).astype(np.uint8) if with_sets else None,
        "value": grown["value"],
        "base": random.normal(size=K),
        "part_size": np.array([n_first, n_trees - n_first], dtype=np.int64),
        "part_divisor": np.array([1.0, 2.0]),
        "part_weight": np.array([1.0, 0.5]),
        "nested": bool(random.random() < 0.5),
        "divisor": 1.0,
        "single_precision": bool(random.random() < 0.5),
        "out": np.empty((9, K)),
    }


def find_cells(random: Random) -> Arguments:
    cell = cells(random, _kinds(random))
    X = rows(random, 9, cell)
    return {"rows": X, "cells": cell, "out": np.empty(X.shape, dtype=np.int32)}


def widen_cells(random: Random) -> Arguments:
    cell = cells(random, _kinds(random))
    return {"rows": rows(random, 9, cell), "cells": cell, "smallest": cell["smallest"], "largest": cell["largest"]}


#: By the name of the core's function, what draws arguments that are right.
DRAWS: Mapping[str, Callable[[Random], Arguments]] = {
    draw.__name__: draw
    for draw in (
        solve_additive,
        solve_linear,
        solve_ensemble,
        solve_tree,
        solve_raw_tree,
        select_thresholds,
        greedy_thresholds,
        score_additive,
        score_trees,
        find_cells,
        widen_cells,
    )
}


def call(name: str, arguments: Arguments) -> Any:
    """Make the parts and the call."""
    made = {
        key: PARTS[key](**value) if key in PARTS and isinstance(value, dict) else value for key, value in arguments.items()
    }
    return getattr(_core, name)(**made)


@dataclass(frozen=True)
class Spoilt:
    """A call that is wrong in some places, and which."""

    name: str
    arguments: Arguments
    places: tuple[str, ...]


def spoilt(name: str, random: Random) -> Spoilt:
    """A right call with one to three arguments made wrong."""
    arguments = DRAWS[name](random)
    places = []
    for _ in range(int(random.integers(1, 4))):
        into = arguments
        key = str(random.choice(list(arguments)))
        place = key
        if isinstance(arguments[key], dict):
            into = arguments[key] = dict(arguments[key])
            key = str(random.choice(list(into)))
            place = f"{place}.{key}"
        into[key], how = worse(into[key], random)
        places.append(f"{place}: {how}")
    return Spoilt(name, arguments, tuple(places))


NUMBERS_AT_EDGES = (np.nan, np.inf, -np.inf, -1.0, -1e300, 1e300, 5e-324, 0.0)


def worse(value: Any, random: Random) -> tuple[Any, str]:
    """Something that an argument should not be, and what was done to it."""
    if isinstance(value, np.ndarray):
        return _worse_array(value, random)
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        return random.choice(np.array([np.zeros(3), "text", -1, np.zeros((0, 2))], dtype=object)), "another type"
    if isinstance(value, int):
        # What is merely large and right would be searched for as long as it takes.
        other = int(random.choice(np.array([-1, 0, 1, 7, -(2**31), 2**31, 2**62, 2**63 - 1, 2**64], dtype=object)))
        return other, f"{value} → {other}"
    other_float = float(random.choice(NUMBERS_AT_EDGES))
    return other_float, f"{value} → {other_float}"


def _worse_array(array: np.ndarray, random: Random) -> tuple[Any, str]:
    how = str(
        random.choice(["entry", "entry", "entry", "entries", "shorter", "longer", "empty", "type", "layout", "axes", "none"])
    )
    if how in ("entry", "entries") and array.size and array.dtype.kind in "fiu":
        array = array.copy()
        at = random.integers(0, array.size, 1 if how == "entry" else max(1, array.size // 2))
        if array.dtype.kind == "f":
            array.flat[at] = random.choice(NUMBERS_AT_EDGES, len(at))
        else:
            about = np.iinfo(array.dtype)
            choices = [about.min, about.max, about.max // 2, *(array.flat[at[0]] + np.array([-3, -2, -1, 1, 2, 3, 100]))]
            inside = [int(choice) for choice in choices if about.min <= choice <= about.max]
            array.flat[at] = random.choice(np.array(inside, dtype=array.dtype), len(at))
        return array, how
    axis = int(random.integers(0, array.ndim))
    if how == "shorter":
        return np.ascontiguousarray(np.take(array, range(array.shape[axis] // 2), axis=axis)), how
    if how == "longer":
        return np.concatenate([array, np.take(array, [0] * min(3, array.shape[axis]), axis=axis)], axis=axis), how
    if how == "empty":
        return np.empty([0 if at == axis else n for at, n in enumerate(array.shape)], dtype=array.dtype), how
    if how == "type":
        return array.astype(random.choice([np.float32, np.float64, np.int8, np.int64, bool, complex])), how
    if how == "layout":
        return np.repeat(array, 2, axis=array.ndim - 1)[..., ::2], how
    if how == "axes":
        return array[None] if random.random() < 0.5 else array.ravel()[:0].sum(), how
    return None, "none"
