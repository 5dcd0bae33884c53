"""The rules Integer and Grid: changed values must lie on a grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fcca.constraints._arguments import checked_name, checked_number, shown
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import Constraint, ListOfColumns, OneColumn, Violation
from fcca.constraints._limits import Bools, Floats
from fcca.constraints._yaml import YamlNode
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns
from fcca.utils import close_to

ROUNDING = 1e-12  # relative to the step and to the value
FINEST_STEP = 1e-9  # relative to the range; values on a finer grid could not be distinguished


class _OnGrid(Constraint, abstract=True):
    step: float = 1.0
    origin: float = 0.0
    lands_on = "limits"

    def compile(self, limits: LimitsBuilder) -> None:
        for name in self.columns:
            j = self.number(name, limits.columns)
            other = limits.earlier("grid", j, self)
            if other is not None and (limits.step[j], limits.origin[j]) != (self.step, self.origin):
                self.refuse(f"{other!r} sets another grid for column {name!r}. Give only one grid for a column.")
            limits.step[j], limits.origin[j] = self.step, self.origin

    def finish(self, limits: LimitsBuilder) -> None:
        for j in self.positions(limits.columns):
            low, high = max(limits.least[j][0], limits.box_low[j]), min(limits.most[j][0], limits.box_high[j])
            if np.isfinite(low) and np.isfinite(high):
                finest = max(
                    FINEST_STEP * (limits.box_high[j] - limits.box_low[j]), 8 * np.spacing(max(abs(low), abs(high)))
                )
                self._check_range(low, high, finest)

    def _check_range(self, low: float, high: float, finest: float) -> None:
        """Check that the grid is coarse enough and has reachable values.

        The step must be at least ``finest``. At least one grid value must be between ``low`` and ``high``, the smallest
        and the largest value that a change may reach.
        """
        if self.step < finest:
            self.refuse(
                f"a step of {self.step:g} is too small for the range of this column. Use a step of at least {finest:.1g}, "
                "or remove the rule."
            )
        nearest = math.floor((low - self.origin) / self.step)
        values = [self.origin + (nearest + k) * self.step for k in range(-1, 4)]
        if not any(low <= value <= high for value in values):
            self.refuse(
                f"no value of the grid is between {low:g} and {high:g}, the smallest and the largest value that a change "
                "may reach. Use another step or origin."
            )

    def violations(self, columns: Columns, table: Floats) -> Iterator[Violation]:
        for name in self.columns:
            yield self._off_grid(name, self.position(name, columns), table)

    def _off_grid(self, name: str, j: int, table: Floats) -> Violation:
        x = table[:, j]
        nearest = self.origin + np.rint((x - self.origin) / self.step) * self.step
        on_grid: Bools = np.isnan(x) | (np.abs(x - nearest) <= ROUNDING * (self.step + np.abs(x)))
        return Violation([j], ~on_grid, lambda row: f"{name} is {x[row]:g}, not on the grid")


@dataclass(frozen=True, init=False, repr=False)
class Integer(_OnGrid, ListOfColumns):
    """Require changed values of the named columns to be whole numbers."""


@dataclass(frozen=True, repr=False)
class Grid(_OnGrid, OneColumn):
    """Require changed values to be ``origin`` plus a multiple of ``step``."""

    step: float = 1.0
    origin: float = 0.0

    def __post_init__(self) -> None:
        rule = f"Grid({checked_name('Grid', self.name)!r})"
        step, origin = checked_number(rule, "step", self.step), checked_number(rule, "origin", self.origin)
        if not step > 0:
            raise InvalidInputError(f"{rule}: step must be above 0, got {self.step!r}.")
        self._set(step=step, origin=origin)

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        found = []
        for key, entry in node.mapping("columns with their steps, such as children: 1"):
            parts = {"step": entry} if entry.is_scalar else {}
            for word, part in [] if entry.is_scalar else entry.mapping("a step, or {step: 5, origin: 2}"):
                if word.text() not in ("step", "origin"):
                    word.refuse(f"unknown key {word.text()!r} in a grid. {close_to(word.text(), ('step', 'origin'))}")
                parts[word.text()] = part
            found.append(key.make(cls, key.text(), **{word: part.number() for word, part in parts.items()}))
        return found

    def __repr__(self) -> str:
        return f"Grid({self.name!r}, step={shown(self.step)}, origin={shown(self.origin)})"
