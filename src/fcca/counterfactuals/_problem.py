"""The parameters of the counterfactual problem: costs of a change, and score margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import Any

from fcca.exceptions import InvalidInputError

LARGEST = 1e100  # sums of costs do not overflow
SCALES = ("range", "rank", "mad")

Scale = str | Mapping[str, float]


@dataclass(frozen=True)
class CounterfactualProblem:
    """Parameters of the problem: find the cheapest change after which another class wins.

    The cost of a change is ``lambda0 * n + lambda1 * sum(d) + lambda2 * sum(d ** 2)``. Here ``n`` is the number of changed
    features, and ``d`` are the distances by which they change.

    Attributes
    ----------
    lambda0, lambda1, lambda2 : float
        Cost per changed feature, per unit of distance and per squared unit of distance.
    margin : float
        Score margin by which the other class must win.
    scale : {"range", "rank", "mad"} or mapping of column names to units
        Unit of distance of a numeric column. "range": largest minus smallest training value. "rank": highest minus lowest
        rank. "mad": median absolute deviation. A mapping gives the unit of each column; columns that are not in the mapping
        use "range".
    category_distance : float or "auto"
        Distance of a change without direction: another category, a filled-in missing value, a switch of a one-hot group.
        "auto" computes the mean distance between two training rows for each numeric column that is not constant. It uses
        the mean over these columns.
    relative_gap : float
        A search may end when its result is proven to cost at most ``bound / (1 - relative_gap)``, where ``bound`` is a lower
        bound of the cheapest cost. 0: only the cheapest change is good enough. Only the branch and bound uses it.
    """

    lambda0: float = 0.1
    lambda1: float = 1.0
    lambda2: float = 0.0
    margin: float = 1e-4
    scale: Scale = "range"
    category_distance: float | str = 1.0
    relative_gap: float = 0.0

    def __post_init__(self) -> None:
        for name in ("lambda0", "lambda1", "lambda2", "margin"):
            value = getattr(self, name)
            if not is_number(value):
                raise InvalidInputError(f"{name} must be a number, got {value!r}.")
        for name in ("lambda0", "lambda1", "lambda2"):
            if not 0 <= getattr(self, name) <= LARGEST:
                raise InvalidInputError(f"{name} must be a number from 0 to {LARGEST:g}, got {getattr(self, name)!r}.")
        if not 0 < self.margin <= LARGEST:
            raise InvalidInputError(f"margin must be a number above 0 and up to {LARGEST:g}, got {self.margin!r}.")
        check_scale(self.scale)
        check_category_distance(self.category_distance)
        if not is_number(self.relative_gap) or not 0 <= self.relative_gap < 1:
            raise InvalidInputError(f"relative_gap must be a number from 0 to below 1, got {self.relative_gap!r}.")


def check_scale(scale: Any) -> None:
    """Check the parameter ``scale``, except for the column names in a mapping."""
    if isinstance(scale, str) and scale in SCALES:
        return
    if not isinstance(scale, Mapping):
        raise InvalidInputError(
            f"scale must be one of {', '.join(map(repr, SCALES))} or a mapping of columns to units, such as "
            f"{{'income': 1000}}; got {scale!r}."
        )
    for name, unit in scale.items():
        if not is_number(unit) or not 1 / LARGEST <= unit <= LARGEST:
            raise InvalidInputError(
                f"The unit of {name!r} in scale must be a number from {1 / LARGEST:g} to {LARGEST:g}, got {unit!r}."
            )


def check_category_distance(distance: Any) -> None:
    """Check the parameter ``category_distance``."""
    if isinstance(distance, str) and distance == "auto":
        return
    if not is_number(distance) or not 1 / LARGEST <= distance <= LARGEST:
        raise InvalidInputError(
            f"category_distance must be 'auto' or a number from {1 / LARGEST:g} to {LARGEST:g}, got {distance!r}."
        )


def is_number(value: Any) -> bool:
    """Return True for a real number that is neither a boolean nor NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and not isnan(value)
