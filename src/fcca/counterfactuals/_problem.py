"""What is asked for: costs and margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fcca.exceptions import InvalidInputError


@dataclass(frozen=True)
class CounterfactualProblem:
    """The cheapest change that makes the model answer another class by at least ``margin`` of score.

    The cost is ``lambda0 · (features moved) + lambda1 · Σ|move| + lambda2 · Σ move²``, moves in units of the training
    range.
    """

    lambda0: float = 0.1
    lambda1: float = 1.0
    lambda2: float = 0.0
    margin: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("lambda0", "lambda1", "lambda2"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise InvalidInputError(f"{name} must be a finite number ≥ 0, got {value!r}.")
        if not (np.isfinite(self.margin) and self.margin > 0):
            raise InvalidInputError(f"margin must be a finite number > 0, got {self.margin!r}.")
