"""Certified regions of tree ensembles: boxes of cells around points, in raw units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Cells
from fcca.counterfactuals._engine import CounterfactualEngine
from fcca.counterfactuals._region_boxes import AdditiveBoxTest, BoxTest, EnsembleBoxTest
from fcca.counterfactuals._region_growth import GrowingBox, Side, grow, nearer_to_another_class
from fcca.counterfactuals._region_leads import RegionLeads
from fcca.counterfactuals._search_space import SearchSpace
from fcca.counterfactuals._search_tables import AdditiveTables

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Longs = NDArray[np.int64]

POINTS_AT_ONCE = 256


class Boxes(NamedTuple):
    """Boxes around points, in raw units.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_points, n_features)
        Ends of the numeric columns; NaN for columns of categories and for missing values.
    is_free : ndarray of bool, shape (n_points, n_features)
        True if the column may take any value.
    categories : dict of int to ndarray of bool, shape (n_points, n_codes)
        For each column of categories, the codes of the box.
    unfinished : ndarray of bool, shape (n_points,)
        True if a timeout ended the growth of a side.
    witness_of : ndarray of shape (n_witnesses,)
        Position of the point of each witness.
    witness_feature, witness_direction : ndarray of shape (n_witnesses,)
        The side of the box: -1 for the lower end, 1 for the upper end, 0 for a category.
    witnesses : ndarray of shape (n_witnesses, n_features)
        Rows outside the boxes, as codes and numbers.
    """

    lower: Floats
    upper: Floats
    is_free: Bools
    categories: dict[int, Bools]
    unfinished: Bools
    witness_of: Longs
    witness_feature: Longs
    witness_direction: Longs
    witnesses: Floats

    @classmethod
    def none(cls, n_features: int) -> Boxes:
        """Return boxes around no points."""
        ends, nothing = np.empty((0, n_features)), np.empty(0, dtype=np.int64)
        return cls(ends, ends, ends.astype(np.bool_), {}, nothing.astype(np.bool_), nothing, nothing, nothing, ends)


def boxes_of_trees(
    engine: CounterfactualEngine,
    points: Floats,
    own: NDArray[np.int32],
    leads: RegionLeads,
    orders: Sequence[Sequence[tuple[int, int]]],
    *,
    n_threads: int,
    ends_at: float,
    time_limit_per_row: float,
) -> Boxes:
    """Grow a box around each point in which the class ``own`` is certain.

    Parameters
    ----------
    engine : CounterfactualEngine
    points : ndarray of shape (n_points, n_features)
    own : ndarray of shape (n_points,)
        The class of each point.
    leads : RegionLeads
    orders : sequence of sequences of pairs
        For each point, the columns with the direction to grow first.
    n_threads : int
    ends_at, time_limit_per_row : float
        Time of :func:`time.perf_counter` at which the searches end, and seconds for each search.
    """
    space = _space(engine, points)
    boundary = engine.model.boundary if engine.model.n_outputs == 1 else 0.0
    test: BoxTest
    if isinstance(space.tables, AdditiveTables):
        test = AdditiveBoxTest(space.tables, boundary)
    else:
        test = EnsembleBoxTest(space.tables, boundary, n_threads, ends_at, time_limit_per_row)
    coded = engine.with_missing_codes(points)
    at = space.cells.of(coded).astype(np.int64)
    held = _held(engine, points)
    parts = []
    for begin in range(0, len(points), POINTS_AT_ONCE):
        some = slice(begin, begin + POINTS_AT_ONCE)
        boxes = [_begun(space.cells, at[i], held[i], orders[i]) for i in range(*some.indices(len(points)))]
        grow(boxes, own[some], leads.excluded[some], test)
        grown = _in_raw_units(engine, space.cells, boxes, points[some], at[some])
        kept = engine.class_index(engine.predict(grown.witnesses)) == own[some][grown.witness_of]
        doubtful = _positions(boxes, np.flatnonzero(kept))
        if doubtful:  # no class has a clear lead there, but perhaps elsewhere in the same cell
            nearer_to_another_class(boxes, own[some], leads.clear[some], doubtful, test)
            grown = _in_raw_units(engine, space.cells, boxes, points[some], at[some])
        parts.append(grown._replace(witness_of=grown.witness_of + begin))
    return _joined(parts)


def _space(engine: CounterfactualEngine, points: Floats) -> SearchSpace:
    """Return the cells and trees of the engine, with cells for the missing values of the points."""
    assert engine.tables is not None
    has_missing = np.logical_or.reduce(np.isnan(points), axis=0)
    has_missing[list(engine.cells.code_cell)] = False  # these have codes
    if not has_missing.any():
        return SearchSpace(engine.cells, engine.tables)
    return SearchSpace.build(engine.forest, engine.cells, engine.training, has_missing, (), {}, additive=True, finer=False)


def _held(engine: CounterfactualEngine, points: Floats) -> Bools:
    """Return a mask of the values that a box keeps: missing and special values."""
    held: Bools = np.isnan(points)
    for j, values in engine.special.items():
        held[:, j] |= np.isin(points[:, j], values)
    return held


def _begun(cells: Cells, point: Longs, held: Bools, order: Sequence[tuple[int, int]]) -> GrowingBox:
    n_cells = cells.n_cells()
    box = np.zeros(int(cells.first_cell[-1]), dtype=np.bool_)
    box[cells.first_cell[:-1] + point] = True
    sides: list[Side] = []
    for j, direction in order:
        if held[j]:
            continue
        if j in cells.code_cell:
            others = {int(cell) for cell in cells.code_cell[j][:-1]} - {int(point[j])}
            sides += [Side(j, 0, (cell,)) for cell in sorted(others)]
            continue
        last = int(n_cells[j]) - (2 if cells.has_missing is not None and cells.has_missing[j] else 1)
        lower, upper = range(int(point[j]) - 1, -1, -1), range(int(point[j]) + 1, last + 1)
        both = [Side(j, -1, tuple(lower)), Side(j, 1, tuple(upper))]
        sides += [side for side in (both if direction < 0 else both[::-1]) if side.cells]
    return GrowingBox(point, box, sides[::-1])


def _positions(boxes: list[GrowingBox], which: Longs) -> list[tuple[int, int]]:
    """Convert positions among all witnesses to pairs of box and witness."""
    pairs = [(i, k) for i, box in enumerate(boxes) for k in range(len(box.witnesses))]
    return [pairs[position] for position in which.tolist()]


def _in_raw_units(engine: CounterfactualEngine, cells: Cells, boxes: list[GrowingBox], points: Floats, at: Longs) -> Boxes:
    n, m = points.shape
    first = cells.first_cell
    inside = np.array([box.cells for box in boxes])
    lower, upper, is_free = np.full((n, m), np.nan), np.full((n, m), np.nan), np.zeros((n, m), dtype=np.bool_)
    categories: dict[int, Bools] = {}
    missing = np.isnan(points)
    for j in range(m):
        mine = inside[:, first[j] : first[j + 1]]
        if j in cells.code_cell:
            categories[j] = mine[:, cells.code_cell[j][:-1]] & ~missing[:, [j]]
            is_free[:, j] = categories[j].all(axis=1)
            continue
        own_cuts = cells.cuts_of(j)[: len(cells.cuts_of(j)) - (cells.has_missing is not None and bool(cells.has_missing[j]))]
        ends = np.concatenate([[-np.inf], own_cuts, [np.inf]])
        known = np.flatnonzero(~missing[:, j])
        low = mine.argmax(axis=1)
        high = mine.shape[1] - 1 - mine[:, ::-1].argmax(axis=1)
        lower[known, j], upper[known, j] = ends[low[known]], ends[high[known] + 1]
        is_free[:, j] = (lower[:, j] == -np.inf) & (upper[:, j] == np.inf)
    found = [(i, witness) for i, box in enumerate(boxes) for witness in box.witnesses]
    rows = np.empty((len(found), m))
    for k, (i, witness) in enumerate(found):
        rows[k] = points[i]
        for j in np.flatnonzero(witness.point != at[i]).tolist():
            rows[k, j] = _value_in(cells, j, int(witness.point[j]), float(points[i, j]))
    return Boxes(
        lower,
        upper,
        is_free,
        categories,
        np.array([box.unfinished for box in boxes], dtype=np.bool_),
        np.array([i for i, _ in found], dtype=np.int64),
        np.array([witness.feature for _, witness in found], dtype=np.int64),
        np.array([witness.direction for _, witness in found], dtype=np.int64),
        rows,
    )


def _value_in(cells: Cells, j: int, cell: int, near: float) -> float:
    """Return a value in a cell: a training value if there is one, otherwise the end of the cell.

    For a column of categories, it is the code with the most training rows.
    """
    if j in cells.code_cell:
        codes = np.flatnonzero(cells.code_cell[j][:-1] == cell)
        return float(codes[cells.code_count[j][codes].argmax()])
    position = cells.first_cell[j] + cell
    smallest, largest = cells.smallest[position], cells.largest[position]
    if not np.isnan(smallest):
        return float(np.clip(near, smallest, largest))
    cuts = cells.cuts_of(j)
    return float(cuts[cell]) if cell < len(cuts) and np.isfinite(cuts[cell]) else float(np.nextafter(cuts[cell - 1], np.inf))


def _joined(parts: list[Boxes]) -> Boxes:
    """Concatenate boxes of the same columns."""
    categories = {j: np.concatenate([part.categories[j] for part in parts]) for j in parts[0].categories}
    names = [name for name in Boxes._fields if name != "categories"]
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Boxes(categories=categories, **arrays)
