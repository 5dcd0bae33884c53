"""Linear models of many classes where any other class will do: one class against the own one at a time.

To beat the own class alone costs no more than to beat all classes, and whoever is answered then is not the own class. So the
cheapest of these changes is the cheapest of all wherever its winner has the margin over everybody.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._linear_search import FEASIBLE, OPTIMAL
from fcca.models import LinearModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Results = tuple[Any, ...]

SCORE_TOLERANCE = 1e-9


def pair_model(model: LinearModel, target: int, own: int) -> LinearModel:
    """The lead of one class over another as a model of one score."""

    def lead(values: Floats) -> Floats:
        return values[..., [target]] - values[..., [own]]

    return replace(
        model,
        classes=model.classes[[own, target]],
        boundary=0.0,
        coef=model.coef[[target]] - model.coef[[own]],
        intercept=model.intercept[[target]] - model.intercept[[own]],
        effects={j: lead(effect) for j, effect in model.effects.items()},
        missing=None if model.missing is None else lead(model.missing),
    )


def beat_own_class(
    model: LinearModel,
    table: Floats,
    own_class: NDArray[np.int32],
    margin: Floats,
    time_limit: float,
    solve_pair: Callable[[LinearModel, NDArray[np.intp], float], Results],
) -> tuple[Bools, Results]:
    """The cheapest change of each row to any other class, and for which rows it is certain.

    Parameters
    ----------
    model : LinearModel
    table : ndarray of shape (n_rows, n_features)
    own_class : ndarray of shape (n_rows,)
    margin : ndarray of shape (n_rows,)
    time_limit : float
    solve_pair : callable
        Changes of some rows of the table by which a model of one score answers its second class, in some seconds.
    """
    n = len(table)
    began = time.monotonic()
    cost, bound = np.full(n, np.inf), np.full(n, np.inf)
    nodes, seconds = np.zeros(n, dtype=np.int64), np.zeros(n)
    moves: list[list[tuple[int, float, float]]] = [[] for _ in range(n)]
    for own in np.unique(own_class).tolist():
        which = np.flatnonzero(own_class == own)
        for target in range(len(model.classes)):
            if target == own:
                continue
            left = max(0.0, time_limit - (time.monotonic() - began))
            found = solve_pair(pair_model(model, target, own), which, left)
            bound[which] = np.minimum(bound[which], found[1])
            nodes[which] += found[4]
            seconds[which] += found[9]
            for at in np.flatnonzero(found[0] < cost[which]).tolist():
                i, mine = int(which[at]), slice(int(found[5][at]), int(found[5][at + 1]))
                cost[i] = found[0][at]
                moves[i] = list(zip(found[6][mine].tolist(), found[7][mine].tolist(), found[8][mine].tolist(), strict=True))
    changed = table.copy()
    for i, own_moves in enumerate(moves):
        for j, landing, _ in own_moves:
            changed[i, j] = landing
    scores = model.scores(changed)
    winner = np.argmax(scores, axis=1)
    is_winner = np.eye(len(model.classes), dtype=bool)[winner]
    ahead = scores[is_winner] - np.where(is_winner, -np.inf, scores).max(axis=1)
    tolerance = SCORE_TOLERANCE * np.maximum(1.0, np.abs(scores).max(axis=1))
    certain = ~np.isfinite(cost) | ((ahead >= margin - tolerance) & (winner != own_class))
    certain &= np.isfinite(cost) | np.isinf(bound)  # where time ran out there may be one all the same
    certain &= cost > 0
    status = np.where(np.isinf(cost), 2, np.where(bound >= cost, OPTIMAL, FEASIBLE)).astype(np.int8)
    flat = [move for own_moves in moves for move in own_moves]
    return certain, (
        cost,
        np.minimum(bound, cost),
        status,
        np.where(np.isfinite(cost), winner, -1).astype(np.int32),
        nodes,
        np.cumsum([0, *(len(own_moves) for own_moves in moves)]).astype(np.int64),
        np.array([j for j, _, _ in flat], dtype=np.int32),
        np.array([landing for _, landing, _ in flat], dtype=np.float64),
        np.array([cut for _, _, cut in flat], dtype=np.float64),
        seconds,
    )
