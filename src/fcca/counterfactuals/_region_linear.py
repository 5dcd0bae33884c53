"""Certified regions of linear models, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._engine import CounterfactualEngine
from fcca.counterfactuals._region_search import Boxes
from fcca.models import LinearModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A box ends before the exact end by this share of its width, so that rounding cannot move its points across.
SAFETY = 1e-9


@dataclass
class LinearBox:
    """The box around one point of a linear model, while it grows.

    The lead of the class over a rival is a sum over the columns. So the smallest lead in a box is the sum of the smallest
    contributions.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        Ends of the numeric columns.
    codes : dict of int to ndarray of bool
        For each column of categories, the codes of the box.
    coef : ndarray of shape (n_rivals, n_features)
        Lead per unit of a numeric column.
    effects : dict of int to ndarray of shape (n_categories, n_rivals)
        Lead by category.
    least : ndarray of shape (n_rivals,)
        The smallest lead in the box.
    worst : ndarray of shape (n_rivals, n_features)
        For each rival, the point of the box with the smallest lead.
    """

    low: Floats
    high: Floats
    codes: dict[int, Bools]
    coef: Floats
    effects: dict[int, Floats]
    least: Floats
    worst: Floats

    def stretch(self, j: int, direction: int, edge: float, needed: float) -> int | None:
        """Move one end of a column outwards; return the rival that stops it, or None.

        The end moves to infinity if this lowers no lead. Otherwise it moves at most to ``edge``.
        """
        slope = self.coef[:, j] * direction
        if (slope >= 0).all():
            self._move_end(j, direction, direction * np.inf)
            return None
        end = self.high[j] if direction > 0 else self.low[j]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(slope < 0, np.maximum(self.least - needed, 0.0) / -slope, np.inf)
        rival, free = int(room.argmin()), abs(edge - end)
        step = min(room[rival] * (1 - SAFETY), free)
        new = edge if step == free else float(end + direction * step)
        self.least += np.minimum(slope, 0.0) * abs(new - end)
        self.worst[slope < 0, j] = new
        self._move_end(j, direction, new)
        return rival if room[rival] < free else None

    def _move_end(self, j: int, direction: int, end: float) -> None:
        (self.high if direction > 0 else self.low)[j] = end

    def add_code(self, j: int, code: int, needed: float) -> int | None:
        """Add a category to the box; return the rival that prevents it, or None."""
        mine = self.effects[j]
        now = mine[self.codes[j]].min(axis=0)
        least = self.least + np.minimum(mine[code] - now, 0.0)
        if (least < needed).any():
            return int(least.argmin())
        self.worst[mine[code] < now, j] = code
        self.codes[j][code], self.least = True, least
        return None


def boxes_of_linear(
    engine: CounterfactualEngine,
    points: Floats,
    own: NDArray[np.int32],
    needed: Floats,
    orders: Sequence[Sequence[tuple[int, int]]],
) -> Boxes:
    """Compute a box around each point in which the class ``own`` leads by at least ``needed``.

    The ends of a box belong to it. An end that does not matter is infinite. Other ends are inside the range of the data.
    The parameters are those of :func:`boxes_of_trees`.
    """
    model = engine.model
    assert isinstance(model, LinearModel)
    n, m = points.shape
    lower, upper, is_free = np.full((n, m), np.nan), np.full((n, m), np.nan), np.zeros((n, m), dtype=np.bool_)
    categories = {j: np.zeros((n, len(effect)), dtype=np.bool_) for j, effect in model.effects.items()}
    of, features, directions = list[int](), list[int](), list[int]()
    rows: list[Floats] = []
    for i in range(n):
        edges = np.fmin(engine.cells.box_low, points[i]), np.fmax(engine.cells.box_high, points[i])
        box, least = _begun(model, points[i], int(own[i])), float(needed[i])
        stopped: list[tuple[int, int, int, int]] = []  # column, direction, rival, code
        for j, first in ((j, direction or 1) for j, direction in orders[i]):
            if np.isnan(points[i, j]):
                continue
            if j in model.effects:
                tried = [(code, box.add_code(j, code, least)) for code in np.flatnonzero(~box.codes[j]).tolist()]
                stopped += [(j, 0, rival, code) for code, rival in tried if rival is not None]
                continue
            for direction in (first, -first):
                edge = float(edges[1 if direction > 0 else 0][j])
                if (rival := box.stretch(j, direction, edge, least)) is not None:
                    stopped.append((j, direction, rival, -1))
        known = ~np.isnan(points[i])
        lower[i, known], upper[i, known] = box.low[known], box.high[known]
        is_free[i] = (lower[i] <= edges[0]) & (upper[i] >= edges[1])
        for j, codes in box.codes.items():
            lower[i, j] = upper[i, j] = np.nan
            categories[j][i] = codes & known[j]
            is_free[i, j] = bool(known[j] and codes.all())
        for j, direction, rival, code in stopped:
            of.append(i)
            features.append(j)
            directions.append(direction)
            rows.append(_witness(box, j, direction, rival, code, least))
    return Boxes(
        lower,
        upper,
        is_free,
        categories,
        np.zeros(n, dtype=np.bool_),
        np.array(of, dtype=np.int64),
        np.array(features, dtype=np.int64),
        np.array(directions, dtype=np.int64),
        np.array(rows).reshape(-1, m),
    )


def _begun(model: LinearModel, point: Floats, own: int) -> LinearBox:
    """Return the box that holds only the point."""
    if model.n_outputs == 1:
        sign = 1.0 if own == 1 else -1.0
        coef, effects = sign * model.coef, {j: sign * effect for j, effect in model.effects.items()}
        lead = sign * (model.scores(point[None])[0] - model.boundary)
    else:
        coef = np.delete(model.coef[own] - model.coef, own, axis=0)
        effects = {j: np.delete(effect[:, [own]] - effect, own, axis=1) for j, effect in model.effects.items()}
        scores = model.scores(point[None])[0]
        lead = np.delete(scores[own] - scores, own)
    codes = {j: np.arange(len(effect)) == point[j] for j, effect in model.effects.items()}
    worst = np.repeat(point[None], len(lead), axis=0)
    return LinearBox(point.copy(), point.copy(), codes, coef, effects, lead, worst)


def _witness(box: LinearBox, j: int, direction: int, rival: int, code: int, lead: float) -> Floats:
    """Return a row outside one side of the final box, at which a rival has this lead."""
    row: Floats = box.worst[rival].copy()
    if direction == 0:
        row[j] = code
        return row
    end = box.high[j] if direction > 0 else box.low[j]
    row[j] = end + direction * (box.least[rival] + lead) / abs(box.coef[rival, j])
    return row
