"""Grow a box of cells around points, side by side, as long as every point of the box keeps its class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._region_boxes import FOUND, PROVEN, BoxTest

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Longs = NDArray[np.int64]


class Side(NamedTuple):
    """The cells by which a box may grow in one direction, nearest first.

    Attributes
    ----------
    feature : int
    direction : int
        -1 for smaller numbers, 1 for larger numbers, 0 for one more category.
    cells : tuple of int
        Positions of the cells within the column.
    """

    feature: int
    direction: int
    cells: tuple[int, ...]


class Witness(NamedTuple):
    """A point just outside a box, at which the class has no sufficient lead.

    Attributes
    ----------
    feature, direction : int
        The side of the box, as in :class:`Side`.
    point : ndarray of shape (n_features,)
        Position of each column's cell. Only the column of the side is outside the box.
    """

    feature: int
    direction: int
    point: Longs


@dataclass
class GrowingBox:
    """The box around one point, while it grows.

    Attributes
    ----------
    point : ndarray of shape (n_features,)
        The point, as positions of cells.
    cells : ndarray of shape (n_cells,)
        Mask of the cells of the box.
    sides : list of Side
        The sides that are left, the next one last.
    n_tried : int
        Number of cells of the next side that are tested together.
    witnesses : list of Witness
    unfinished : bool
        Whether a timeout ended the growth of a side.
    """

    point: Longs
    cells: Bools
    sides: list[Side]
    n_tried: int = 0
    witnesses: list[Witness] = field(default_factory=list)
    unfinished: bool = False
    _outside: list[Longs] = field(default_factory=list)  # points found, at which the class has no sufficient lead
    _blocked_by: Longs | None = None  # the point after the last tested cell

    def begin_side(self, first_cell: Longs) -> None:
        """Choose how many cells of the next side to test: all cells before the nearest known point outside."""
        while self.sides:
            self.n_tried = len(self.sides[-1].cells)
            if self._clip(first_cell):
                return

    def _clip(self, first_cell: Longs) -> bool:
        """Exclude the known points outside from the cells to test; False if this ends the side."""
        side = self.sides[-1]
        position = {cell: k for k, cell in enumerate(side.cells[: self.n_tried])}
        for point in self._outside:
            at = position.get(int(point[side.feature]), len(position))
            if at >= self.n_tried:
                continue
            inside = self.cells[first_cell[:-1] + point]
            inside[side.feature] = True
            if inside.all():
                self.n_tried = at
                self._blocked_by = point
        if self.n_tried > 0:
            return True
        self._end_side(self._blocked_by)
        return False

    def _end_side(self, point: Longs | None) -> None:
        side = self.sides.pop()
        if point is not None:
            self.witnesses.append(Witness(side.feature, side.direction, point))
        self._blocked_by = None

    def slab(self, first_cell: Longs) -> tuple[Longs, Bools]:
        """Return the point nearest to the box among the cells to test, and the mask of these cells in the box."""
        side = self.sides[-1]
        start, box = self.point.copy(), self.cells.copy()
        start[side.feature] = side.cells[0]
        box[first_cell[side.feature] : first_cell[side.feature + 1]] = False
        box[first_cell[side.feature] + np.array(side.cells[: self.n_tried])] = True
        return start, box

    def take(self, outcome: int, point: Longs, first_cell: Longs) -> None:
        """Grow by the tested cells, or test fewer of them."""
        side = self.sides[-1]
        if outcome == PROVEN:
            self.cells[first_cell[side.feature] + np.array(side.cells[: self.n_tried])] = True
            self._end_side(self._blocked_by)
        elif outcome == FOUND:
            self._outside.append(point)
            if self._clip(first_cell):
                return
        else:
            self.unfinished = True
            self._blocked_by = None
            self.n_tried //= 2
            if self.n_tried > 0:
                return
            self.sides.pop()
        self.begin_side(first_cell)


def grow(boxes: list[GrowingBox], own: NDArray[np.int32], lead: Floats, test: BoxTest) -> None:
    """Grow each box until no side can grow.

    The sides grow one after the other. A side first tests all its cells. If another class reaches its lead at a point of
    them, the side tests only the cells before this point. At the end, each side has a witness in the first cell outside the
    box, or ends with the last cell.

    Parameters
    ----------
    boxes : list of GrowingBox
    own : ndarray of shape (n_boxes,)
        The class of each point.
    lead : ndarray of shape (n_boxes,)
        The lead of another class that a point of the box must not reach.
    test : BoxTest
    """
    first = test.first_cell
    for box in boxes:
        box.begin_side(first)
    while len(open_boxes := np.array([i for i, box in enumerate(boxes) if box.sides], dtype=np.int64)):
        if test.is_late:
            for i in open_boxes:
                boxes[i].unfinished, boxes[i].sides = True, []
            break
        slabs = [boxes[i].slab(first) for i in open_boxes]
        start, inside = np.array([point for point, _ in slabs]), np.array([cells for _, cells in slabs])
        outcome, points = test(start, inside, own[open_boxes], lead[open_boxes])
        found = np.flatnonzero(outcome == FOUND)
        points[found] = _pulled(boxes, open_boxes[found], points[found], own, lead, test)
        for i, result, point in zip(open_boxes.tolist(), outcome.tolist(), points, strict=True):
            boxes[i].take(result, point, first)


def _pulled(
    boxes: list[GrowingBox], which: Longs, points: Longs, own: NDArray[np.int32], lead: Floats, test: BoxTest
) -> Longs:
    """Move each point along its side towards the box, to the first cell in which another class still reaches its lead."""
    lines, owner = [], []
    for k, i in enumerate(which.tolist()):
        side = boxes[i].sides[-1]
        cells = side.cells[: side.cells.index(int(points[k, side.feature]))]
        line = np.repeat(points[[k]], len(cells), axis=0)
        line[:, side.feature] = cells
        lines.append(line)
        owner.append(np.full(len(cells), k))
    if not lines:
        return points
    line, of_point = np.concatenate(lines), np.concatenate(owner)
    if len(line) == 0:
        return points
    reached = np.flatnonzero(test.leads(line, own[which[of_point]]) >= lead[which[of_point]])
    first = reached[np.unique(of_point[reached], return_index=True)[1]]
    moved = points.copy()
    moved[of_point[first]] = line[first]
    return moved


def nearer_to_another_class(
    boxes: list[GrowingBox], own: NDArray[np.int32], lead: Floats, doubtful: list[tuple[int, int]], test: BoxTest
) -> None:
    """Replace witnesses by points at which another class reaches a larger lead, where there are any.

    Parameters
    ----------
    boxes : list of GrowingBox
        Boxes that have grown.
    own : ndarray of shape (n_boxes,)
        The class of each point.
    lead : ndarray of shape (n_boxes,)
        The lead that another class must have.
    doubtful : list of pairs
        Position of the box, and of the witness among its witnesses.
    test : BoxTest
    """
    if not doubtful:
        return
    first, starts, masks = test.first_cell, [], []
    for i, k in doubtful:
        witness, mask = boxes[i].witnesses[k], boxes[i].cells.copy()
        mask[first[witness.feature] : first[witness.feature + 1]] = False
        mask[first[witness.feature] + witness.point[witness.feature]] = True
        starts.append(witness.point)
        masks.append(mask)
    which = np.array([i for i, _ in doubtful])
    outcome, points = test(np.array(starts), np.array(masks), own[which], lead[which])
    for (i, k), result, point in zip(doubtful, outcome.tolist(), points, strict=True):
        if result == FOUND:
            boxes[i].witnesses[k] = boxes[i].witnesses[k]._replace(point=point)
