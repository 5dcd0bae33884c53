"""The counterfactual problem: costs and margin."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isnan
from numbers import Real
from typing import Any

from fcca.exceptions import InvalidInputError

LARGEST = 1e100  # sums of costs stay far from overflow


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
        for field in fields(self):
            value = getattr(self, field.name)
            if not is_number(value):
                raise InvalidInputError(f"{field.name} must be a number, got {value!r}.")
        for name in ("lambda0", "lambda1", "lambda2"):
            if not 0 <= getattr(self, name) <= LARGEST:
                raise InvalidInputError(f"{name} must be a number from 0 to {LARGEST:g}, got {getattr(self, name)!r}.")
        if not 0 < self.margin <= LARGEST:
            raise InvalidInputError(f"margin must be a number above 0 and up to {LARGEST:g}, got {self.margin!r}.")


def is_number(value: Any) -> bool:
    """True for a real number that is neither a boolean nor NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and not isnan(value)
