from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Longs = NDArray[np.int64]
_Ints = NDArray[np.int32]

_Bytes = NDArray[np.uint8]

class Cells:
    def __init__(
        self,
        first_cut: _Longs,
        cuts: _Floats,
        smallest: _Floats,
        largest: _Floats,
        box_low: _Floats,
        box_high: _Floats,
        closed: _Bytes | None,
        kinds: _Bytes | None,
        first_code: _Longs | None,
        code_cell: _Ints | None,
        unit: _Floats | None = None,
        unordered: float = 1.0,
        first_knot: _Longs | None = None,
        knot: _Floats | None = None,
        rank: _Floats | None = None,
    ) -> None: ...

class Limits:
    def __init__(
        self,
        low: _Floats | None,
        high: _Floats | None,
        frozen: _Bytes | None,
        step: _Floats | None,
        origin: _Floats | None,
        weight: _Floats | None,
        fillable: _Bytes | None,
        fill_near: _Floats | None,
        first_entry: _Longs | None,
        entry_factor: _Floats | None,
        entry_code: _Ints | None,
        max_changes: int,
        first_term: _Longs,
        term_feature: _Ints,
        term_coef: _Floats,
        upper: _Floats,
        if_feature: _Ints,
        if_rises: _Bytes,
        then_feature: _Ints,
        then_rises: _Bytes,
    ) -> None: ...

# cost, bound, status, target, nodes, first_move, feature, landing, cut, seconds
_Found = tuple[_Floats, _Floats, NDArray[np.int8], _Ints, _Longs, _Longs, _Ints, _Floats, _Floats, _Floats]

def solve_additive(
    rows: _Floats,
    points: _Longs,
    own_class: _Ints,
    target: _Ints,
    margin: _Floats,
    cells: Cells,
    limits: Limits,
    values: _Floats,
    base: _Floats,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    n_threads: int,
    time_limit: float,
    time_limit_per_row: float,
    progress: Callable[[int], None] | None,
) -> _Found: ...
def solve_linear(
    rows: _Floats,
    points: _Longs,
    own_class: _Ints,
    target: _Ints,
    margin: _Floats,
    limits: Limits,
    coef: _Floats,
    centre: _Floats,
    intercept: float,
    box_low: _Floats,
    box_high: _Floats,
    unit: _Floats,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    n_threads: int,
    time_limit: float,
    time_limit_per_row: float,
    progress: Callable[[int], None] | None,
) -> _Found: ...
def solve_ensemble(
    rows: _Floats,
    points: _Longs,
    own_class: _Ints,
    target: _Ints,
    margin: _Floats,
    cells: Cells,
    limits: Limits,
    roots: _Longs,
    feature: _Ints,
    cut: _Ints,
    left: _Ints,
    right: _Ints,
    values: _Floats,
    base: _Floats,
    side_least: _Floats,
    examples: _Ints,
    lambda0: float,
    lambda1: float,
    lambda2: float,
    relative_gap: float,
    n_threads: int,
    time_limit: float,
    time_limit_per_row: float,
    progress: Callable[[int], None] | None,
    first_left: _Longs | None = None,
    left_cells: _Bytes | None = None,
) -> _Found: ...
def solve_tree(
    table: NDArray[np.uint8],
    label: _Ints | None,
    weight: _Floats,
    count: _Longs | None,
    n_classes: int,
    criterion: int,
    penalty: float,
    max_depth: int,
    max_leaves: int | None,
    min_weight: float,
    min_rows: int,
    max_nodes: int | None,
    time_limit: float,
    units: float = 1.0,
) -> tuple[float, float, bool, int, _Ints, _Ints, _Ints]: ...
def solve_raw_tree(
    rank: _Ints,
    label: _Ints | None,
    weight: _Floats,
    count: _Longs | None,
    n_classes: int,
    criterion: int,
    penalty: float,
    max_depth: int,
    max_leaves: int | None,
    min_weight: float,
    min_rows: int,
    max_nodes: int | None,
    time_limit: float,
    units: float = 1.0,
) -> tuple[float, float, bool, int, _Ints, _Ints, _Ints, _Ints, _Ints]: ...
def select_thresholds(
    passed: _Ints,
    label: _Ints,
    weight: _Floats,
    n_classes: int,
    chain_size: _Ints,
    count: _Floats,
    state: _Ints,
    feature: _Ints,
    per_feature: _Ints,
    max_features: int,
    n_thresholds: int,
    ceiling: float,
    max_nodes: int | None,
    time_limit: float,
) -> tuple[_Ints, float, float, bool, int]: ...
def greedy_thresholds(
    passed: _Ints,
    label: _Ints,
    weight: _Floats,
    n_classes: int,
    chain_size: _Ints,
    count: _Floats,
    n_thresholds: int,
) -> _Ints: ...
def score_additive(rows: _Floats, cells: Cells, values: _Floats, base: _Floats, out: _Floats) -> None: ...
def score_trees(
    rows: _Floats,
    roots: _Longs,
    feature: _Ints,
    threshold: _Floats,
    left: _Ints,
    right: _Ints,
    missing_left: NDArray[np.uint8] | None,
    first_code: _Longs | None,
    n_codes: _Longs | None,
    left_codes: NDArray[np.uint8] | None,
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
def find_cells(rows: _Floats, cells: Cells, out: _Ints) -> None: ...
def widen_cells(rows: _Floats, cells: Cells, smallest: _Floats, largest: _Floats) -> None: ...
