"""Counterfactuals of linear models with more than two classes.

For each other class, a search finds the cheapest change after which this class beats the predicted class. Beating only the
predicted class never costs more than beating all classes. So the cheapest of these changes is optimal if, after it, one
class leads all others by the margin. ``core/other_classes.hpp`` does the same for trees, row by row. Here, rows with the
same predicted class are solved together for each other class. The reason is that Python handles the categories and missing
values of linear models.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._batch import Batch
from fcca.milp import FEASIBLE, INFEASIBLE, OPTIMAL, Answers
from fcca.models import LinearModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SCORE_TOLERANCE = 1e-9


def pair_model(model: LinearModel, target: int, own: int) -> LinearModel:
    """Build a two-class model whose score is the lead of ``target`` over ``own``."""

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
    batch: Batch,
    solve_pair: Callable[[LinearModel, Batch], Answers],
) -> tuple[Bools, Answers]:
    """Find the cheapest changes after which another class beats the predicted one.

    For each other class, a two-class model compares this class with the predicted one. The cheapest change over these
    models is a counterfactual only if, after the change, one class leads all others by the margin.

    Parameters
    ----------
    model : LinearModel
        A model with three or more classes.
    batch : Batch
        The rows to change, and no other rows.
    solve_pair : callable
        ``solve_pair(model, batch)`` finds the counterfactuals of the batch for a two-class model.

    Returns
    -------
    certain : ndarray of bool
        For each row, whether its result is valid for ``model``. A result is not valid if no class leads all others by the
        margin, or if nothing was found before a timeout. Another search must then solve the row.
    answers : Answers
        The result of each row.
    """
    ends = time.monotonic() + batch.time_limit
    parts = []
    for own in np.unique(batch.own_class).tolist():
        which = np.flatnonzero(batch.own_class == own)
        n = len(which)
        first, second = np.zeros(n, dtype=np.int32), np.ones(n, dtype=np.int32)
        mine = replace(batch.of(which), own_class=first, target=second, progress=None)
        found = []
        for target in np.delete(np.arange(len(model.classes)), own).tolist():
            left = max(0.0, ends - time.monotonic())
            found.append(solve_pair(pair_model(model, target, own), replace(mine, time_limit=left)))
        cheapest = np.argmin([answers.cost for answers in found], axis=0)
        together = Answers.joined([(np.arange(n) + n * k, answers) for k, answers in enumerate(found)])
        best = together.take(cheapest * n + np.arange(n))._replace(
            bound=np.min([answers.bound for answers in found], axis=0),
            nodes=np.sum([answers.nodes for answers in found], axis=0),
            seconds=np.sum([answers.seconds for answers in found], axis=0),
        )
        parts.append((which, best))
    answers = Answers.joined(parts)
    cost, bound = answers.cost, answers.bound
    changed = batch.rows.copy()
    changed[answers.point, answers.feature] = answers.landing
    scores = model.scores(changed)
    winner = np.argmax(scores, axis=1)
    is_winner = np.eye(len(model.classes), dtype=bool)[winner]
    ahead = scores[is_winner] - np.where(is_winner, -np.inf, scores).max(axis=1)
    tolerance = SCORE_TOLERANCE * np.maximum(1.0, np.abs(scores).max(axis=1))
    certain = ~np.isfinite(cost) | ((ahead >= batch.margin - tolerance) & (winner != batch.own_class))
    certain &= np.isfinite(cost) | np.isinf(bound)  # after a timeout, an unknown change may exist
    certain &= cost > 0
    status = np.where(np.isinf(cost), INFEASIBLE, np.where(bound >= cost, OPTIMAL, FEASIBLE))
    return certain, answers._replace(
        bound=np.minimum(bound, cost),
        status=status.astype(np.int8),
        target=np.where(np.isfinite(cost), winner, -1).astype(np.int32),
    )
