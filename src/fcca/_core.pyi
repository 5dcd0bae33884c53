from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Longs = NDArray[np.int64]
_Ints = NDArray[np.int32]

_Frozen = NDArray[np.uint8] | None

# cost, bound, status, target, nodes, first_move, feature, landing, cut, seconds
_Found = tuple[_Floats, _Floats, NDArray[np.int8], _Ints, _Longs, _Longs, _Ints, _Floats, _Floats, _Floats]

def solve_additive(
    rows: _Floats,
    points: _Longs,
    own_class: _Ints,
    target: _Ints,
    margin: _Floats,
    frozen: _Frozen,
    first_cut: _Longs,
    cuts: _Floats,
    smallest: _Floats,
    largest: _Floats,
    box_low: _Floats,
    box_high: _Floats,
    values: _Floats,
    base: _Floats,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    n_threads: int,
    time_limit: float,
    time_limit_per_point: float,
    progress: Callable[[int], None] | None,
) -> _Found: ...
def solve_linear(
    rows: _Floats,
    points: _Longs,
    own_class: _Ints,
    target: _Ints,
    margin: _Floats,
    frozen: _Frozen,
    coef: _Floats,
    centre: _Floats,
    intercept: float,
    box_low: _Floats,
    box_high: _Floats,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    n_threads: int,
    time_limit: float,
    time_limit_per_point: float,
    progress: Callable[[int], None] | None,
) -> _Found: ...
def solve_ensemble(
    rows: _Floats,
    points: _Longs,
    own_class: _Ints,
    target: _Ints,
    margin: _Floats,
    frozen: _Frozen,
    first_cut: _Longs,
    cuts: _Floats,
    smallest: _Floats,
    largest: _Floats,
    box_low: _Floats,
    box_high: _Floats,
    roots: _Longs,
    feature: _Ints,
    cut: _Ints,
    left: _Ints,
    right: _Ints,
    values: _Floats,
    base: _Floats,
    examples: _Ints,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    n_threads: int,
    time_limit: float,
    time_limit_per_point: float,
    progress: Callable[[int], None] | None,
) -> _Found: ...
def solve_tree(
    table: NDArray[np.uint8],
    label: _Ints,
    weight: _Floats,
    n_classes: int,
    penalty: float,
    max_depth: int,
    time_limit: float,
) -> tuple[float, float, bool, int, _Ints, _Ints, _Ints]: ...
def score_additive(
    rows: _Floats,
    first_cut: _Longs,
    cuts: _Floats,
    box_low: _Floats,
    box_high: _Floats,
    values: _Floats,
    base: _Floats,
    out: _Floats,
) -> None: ...
def score_trees(
    rows: _Floats,
    roots: _Longs,
    feature: _Ints,
    threshold: _Floats,
    left: _Ints,
    right: _Ints,
    value: _Floats,
    base: _Floats,
    part_size: _Longs,
    part_divisor: _Floats,
    part_weight: _Floats,
    nested: bool,
    divisor: float,
    single_precision: bool,
    out: _Floats,
) -> None: ...
def find_cells(rows: _Floats, first_cut: _Longs, cuts: _Floats, out: _Ints) -> None: ...
def widen_cells(
    rows: _Floats,
    first_cut: _Longs,
    cuts: _Floats,
    box_low: _Floats,
    box_high: _Floats,
    smallest: _Floats,
    largest: _Floats,
) -> None: ...
