"""Find a point of another class in a box of cells, or prove that there is none."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.cells import Cells
from fcca.counterfactuals._result import STATUSES
from fcca.counterfactuals._search_tables import AdditiveTables, EnsembleTables
from fcca.milp import ANY_OTHER_CLASS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Longs = NDArray[np.int64]

PROVEN, FOUND, OPEN = range(3)
# Any point of another class is as good as the nearest one, so a search may end at the first one.
ANY_POINT = 0.999


class BoxTest(Protocol):
    """A test of boxes of cells. Points and boxes are given by the position of each column's cell within the column."""

    first_cell: Longs

    @property
    def is_late(self) -> bool:
        """True if no time is left."""
        ...

    def __call__(self, start: Longs, boxes: Bools, own: NDArray[np.int32], lead: Floats) -> tuple[NDArray[np.int8], Longs]:
        """Search each box for a point at which some class has the given lead over the class ``own``.

        Parameters
        ----------
        start : ndarray of shape (n_boxes, n_features)
            A point of each box.
        boxes : ndarray of bool, shape (n_boxes, n_cells)
            Mask of the cells of each box. The cells of a numeric column are neighbours.
        own : ndarray of shape (n_boxes,)
            A class for each box.
        lead : ndarray of shape (n_boxes,)
            The lead that another class must have. A lead below 0 is enough if the class ``own`` must lead by so much.

        Returns
        -------
        outcome : ndarray of shape (n_boxes,)
            PROVEN if there is no such point, FOUND, or OPEN after a timeout.
        points : ndarray of shape (n_boxes, n_features)
            The points found.
        """
        ...

    def leads(self, points: Longs, own: NDArray[np.int32]) -> Floats:
        """Compute the largest lead of another class over the class ``own`` at each point."""
        ...


def _rival_leads(scores: Floats, own: int) -> Floats:
    """Compute the leads of all other classes over ``own``: one column per class, from one row of scores per point."""
    if scores.shape[1] == 1:  # the score of the second class, relative to the boundary
        return -scores if own == 1 else scores
    return np.delete(scores, own, axis=1) - scores[:, [own]]


def _largest_leads(scores: Floats, own: NDArray[np.int32]) -> Floats:
    leads = np.empty(len(scores))
    for code in np.unique(own).tolist():
        mine = own == code
        leads[mine] = _rival_leads(scores[mine], code).max(axis=1)
    return leads


@dataclass
class AdditiveBoxTest:
    """Test boxes for trees that each test one column.

    The largest lead of a class in a box is the sum of its largest contributions, so every test is exact and needs no
    search.
    """

    tables: AdditiveTables
    boundary: float

    def __post_init__(self) -> None:
        self.first_cell: Longs = self.tables.cells.first_cell
        self._base = self.tables.base - self.boundary

    @property
    def is_late(self) -> bool:
        """False, because these tests take no time worth a limit."""
        return False

    def leads(self, points: Longs, own: NDArray[np.int32]) -> Floats:
        """Compute the largest lead of another class over the class ``own`` at each point."""
        return _largest_leads(self._base + self.tables.values[points + self.first_cell[:-1]].sum(axis=1), own)

    def __call__(self, start: Longs, boxes: Bools, own: NDArray[np.int32], lead: Floats) -> tuple[NDArray[np.int8], Longs]:
        """Search each box; see :class:`BoxTest`."""
        outcome, points = np.full(len(start), PROVEN, dtype=np.int8), start.copy()
        for code in np.unique(own).tolist():
            mine = np.flatnonzero(own == code)
            gains, base = _rival_leads(self.tables.values, code), _rival_leads(self._base[None], code)[0]
            largest = np.repeat(base[None], len(mine), axis=0)
            best = np.empty((len(base), len(mine), start.shape[1]), dtype=np.int64)
            for j in range(start.shape[1]):
                cells = slice(self.first_cell[j], self.first_cell[j + 1])
                inside = boxes[mine, cells]
                for rival in range(len(base)):
                    here = np.where(inside, gains[cells, rival], -np.inf)
                    best[rival, :, j] = here.argmax(axis=1)
                    largest[:, rival] += here[np.arange(len(mine)), best[rival, :, j]]
            rival = largest.argmax(axis=1)
            found = largest[np.arange(len(mine)), rival] >= lead[mine]
            outcome[mine[found]] = FOUND
            points[mine[found]] = best[rival[found], found]
        return outcome, points


@dataclass
class EnsembleBoxTest:
    """Test boxes for any tree ensemble, by the branch and bound for counterfactuals.

    The cells are numbered, and the search moves within these numbers. A column of categories has one code per box, whose
    entry factors allow the cells of the box.

    Attributes
    ----------
    tables : EnsembleTables
    boundary : float
        The score at which a model with one output changes its prediction.
    n_threads : int
    ends_at : float
        Time of :func:`time.perf_counter` at which the searches end.
    time_limit_per_row : float
        Seconds for each box.
    """

    tables: EnsembleTables
    boundary: float
    n_threads: int
    ends_at: float
    time_limit_per_row: float

    def __post_init__(self) -> None:
        tables = self.tables
        self.first_cell: Longs = tables.cells.first_cell
        self._base = tables.base - self.boundary

    @property
    def is_late(self) -> bool:
        """True if no time is left."""
        return perf_counter() >= self.ends_at

    def leads(self, points: Longs, own: NDArray[np.int32]) -> Floats:
        """Compute the largest lead of another class over the class ``own`` at each point."""
        tables, n = self.tables, len(self.tables.roots)
        out = np.empty((len(points), len(self._base)))
        _core.score_trees(
            rows=np.ascontiguousarray(points, dtype=np.float64),
            roots=tables.roots,
            feature=tables.feature,
            threshold=tables.cut.astype(np.float64),
            left=tables.left,
            right=tables.right,
            missing_left=None,
            first_code=tables.first_left,
            n_codes=None if tables.first_left is None else np.append(tables.cells.n_cells(), 0)[tables.feature],
            left_codes=tables.left_cells,
            value=tables.values,
            base=self._base,
            part_size=np.array([n], dtype=np.int64),
            part_divisor=np.ones(1),
            part_weight=np.ones(1),
            nested=False,
            divisor=1.0,
            single_precision=False,
            out=out,
        )
        return _largest_leads(out, own)

    def __call__(self, start: Longs, boxes: Bools, own: NDArray[np.int32], lead: Floats) -> tuple[NDArray[np.int8], Longs]:
        """Search each box; see :class:`BoxTest`."""
        n, m = start.shape
        tables = self.tables
        _, _, status, _, _, first_move, feature, landing, _, _ = _core.solve_ensemble(
            rows=self._rows(start),
            points=np.arange(n),
            own_class=own,
            target=np.full(n, ANY_OTHER_CLASS, dtype=np.int32),
            margin=lead,
            cells=self._cells(start),
            limits=self._limits(boxes),
            **tables.nodes,
            base=self._base,
            side_least=np.empty(0),
            examples=np.empty((0, m), dtype=np.int32),
            lambda0=0.0,
            lambda1=1.0,
            lambda2=0.0,
            relative_gap=ANY_POINT,
            n_threads=self.n_threads,
            time_limit=max(0.0, self.ends_at - perf_counter()),
            time_limit_per_row=self.time_limit_per_row,
            progress=None,
        )
        points = start.copy()
        points[np.repeat(np.arange(n), np.diff(first_move)), feature] = landing.astype(np.int64)
        outcome = np.full(n, FOUND, dtype=np.int8)
        outcome[status == STATUSES.index("infeasible")] = PROVEN
        outcome[status == STATUSES.index("unknown")] = OPEN
        return outcome, points

    @property
    def _categories(self) -> list[int]:
        return sorted(self.tables.cells.code_cell)

    def _rows(self, start: Longs) -> Floats:
        rows = start.astype(np.float64)
        rows[:, self._categories] = np.arange(len(start))[:, None]
        return rows

    def _cells(self, start: Longs) -> _core.Cells:
        """Build cells whose values are their own numbers."""
        cells: Cells = self.tables.cells
        n_cells = cells.n_cells()
        numbers = np.concatenate([np.arange(n, dtype=np.float64) for n in n_cells.tolist()])
        code_cell = {j: start[:, j].astype(np.int32) for j in self._categories}
        numbered = Cells(
            cells.first_cut,
            np.concatenate([np.arange(n - 1) + 0.5 for n in n_cells.tolist()]),
            numbers,
            numbers.copy(),
            code_cell,
        )
        return numbered.as_core()

    def _limits(self, boxes: Bools) -> _core.Limits:
        n, first = len(boxes), self.first_cell
        low, high = np.empty((n, len(first) - 1)), np.empty((n, len(first) - 1))
        for j in range(len(first) - 1):
            mine = boxes[:, first[j] : first[j + 1]]
            low[:, j], high[:, j] = mine.argmax(axis=1), mine.shape[1] - 1 - mine[:, ::-1].argmax(axis=1)
        entries: dict[str, Any] = {"first_entry": None, "entry_factor": None, "entry_code": None}
        if self._categories:
            low[:, self._categories], high[:, self._categories] = -np.inf, np.inf
            parts = [boxes[:, first[j] : first[j + 1]] for j in self._categories]
            sizes = np.zeros(len(first) - 1, dtype=np.int64)
            sizes[self._categories] = [part.size for part in parts]
            codes = [np.tile(np.arange(part.shape[1], dtype=np.int32), n) for part in parts]
            entries = {
                "first_entry": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
                "entry_factor": np.where(np.concatenate([part.ravel() for part in parts]), 1.0, np.inf),
                "entry_code": np.concatenate(codes),
            }
        nothing = np.empty(0, dtype=np.int32)
        return _core.Limits(
            low=low,
            high=high,
            frozen=None,
            step=None,
            origin=None,
            weight=None,
            fillable=None,
            fill_near=None,
            **entries,
            max_changes=0,
            first_term=np.zeros(1, dtype=np.int64),
            term_feature=nothing,
            term_coef=np.empty(0),
            upper=np.empty(0),
            if_feature=nothing,
            if_rises=np.empty(0, dtype=np.uint8),
            then_feature=nothing,
            then_rises=np.empty(0, dtype=np.uint8),
        )
