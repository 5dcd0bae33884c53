"""Data shared by the mixed-integer programs of all rows of a linear model."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Distances, TrainingValues
from fcca.constraints import Limits
from fcca.models import LinearModel

Floats = NDArray[np.float64]


class Task:
    """Model, costs and rules: the data that the programs of all rows share.

    Parameters
    ----------
    model : LinearModel
    box_low, box_high : ndarray of shape (n_features,)
        Smallest and largest training value of each column.
    distances : Distances
        Units of distance.
    observed : TrainingValues
        Values of the training rows.
    limits : Limits
        Rules, compiled for the rows.
    lambda0, lambda1 : float
        Costs per changed feature, and per unit of distance.
    """

    def __init__(
        self,
        model: LinearModel,
        box_low: Floats,
        box_high: Floats,
        distances: Distances,
        observed: TrainingValues,
        limits: Limits,
        lambda0: float,
        lambda1: float,
    ) -> None:
        self.model, self.limits = model, limits
        self.box_low, self.box_high = box_low, box_high
        self.observed = observed
        self.lambda0, self.lambda1 = lambda0, lambda1
        width = box_high - box_low
        self.width = np.where(width > 0, width, 1.0)  # moves are measured in ranges, independent of the unit of the costs
        self.per_range = lambda1 * (1.0 if distances.unit is None else self.width / distances.unit) * np.ones(len(width))
        self.unordered = distances.unordered
        self.weight = np.ones(model.n_features) if limits.weight is None else limits.weight
        self.missing = np.zeros((model.n_features, model.n_outputs)) if model.missing is None else model.missing
        self.grouped = {j for group in limits.groups for j in group}
        self.directed = {j for rule in limits.implications for j in (rule.feature, rule.then_feature)}
        self._values: dict[int, Floats] = {}

    def values(self, j: int) -> Floats:
        """Return the distinct training values of a column, sorted."""
        if j not in self._values:
            self._values[j] = self.observed.distinct(j)
        return self._values[j]

    def median(self, j: int) -> float:
        """Return the training median of a column."""
        return self.observed.median(j)

    @cached_property
    def enterable(self) -> dict[int, list[int]]:
        """For each column of categories, the codes in the training rows, except for missing values."""
        return {j: [int(c) for c in self.values(j) if 0 <= c < len(effect)] for j, effect in self.model.effects.items()}

    def unordered_price(self, j: int) -> float:
        """Return the cost of a change without a direction, such as between categories."""
        return (self.lambda0 + self.lambda1 * self.unordered) * float(self.weight[j])

    def category_moves(self, j: int, held: float) -> list[tuple[int, float, Floats]]:
        """Return the possible changes of column ``j`` from its current category.

        ``held`` is the code of the current category, or NaN if it is missing. Each change is a tuple of the new code, the
        cost and the resulting change of the scores.
        """
        effect = self.model.effects[j]
        missing = math.isnan(held) or held >= len(effect)
        if missing and not self.limits.may_fill(j):
            return []
        factors = np.ones(len(effect))
        if not missing and j in self.limits.moves:
            factors = self.limits.moves[j][int(held)]
        before = self.missing[j] if missing else effect[int(held)]
        price = self.unordered_price(j)
        return [
            (code, price * float(factors[code]), effect[code] - before)
            for code in self.enterable[j]
            if np.isfinite(factors[code]) and (missing or code != int(held))
        ]
