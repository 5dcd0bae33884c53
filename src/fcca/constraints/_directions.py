"""The rules Increasing and Decreasing: changes in one direction only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fcca.constraints._check import Change
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import ListOfColumns, any_of
from fcca.constraints._limits import Bools, Floats


@dataclass(frozen=True, init=False, repr=False)
class _OneDirection(ListOfColumns, abstract=True):
    lands_on = "limits"

    def ends(self, own: Floats) -> tuple[Floats | float, Floats | float]:
        """Return, for each row, the lowest and the highest value allowed after a change.

        ``own`` holds the values of the rule's columns before the change.
        """
        raise NotImplementedError

    def compile(self, limits: LimitsBuilder) -> None:
        for name in self.names:
            j = self.number(name, limits.columns)
            other = limits.earlier("direction", j, self)
            if other is not None and type(other) is not type(self):
                self.refuse(
                    f"contradicts {other!r}: column {name!r} could neither rise nor fall. If this is intended, use "
                    "Immutable."
                )
            limits.bound(j, *self.ends(limits.table[:, j]))

    def holds(self, change: Change) -> Bools:
        at = self.positions(change.columns)
        low, high = self.ends(change.before[:, at])
        return ~any_of((change.after[:, at] < low) | (change.after[:, at] > high))


@dataclass(frozen=True, init=False, repr=False)
class Increasing(_OneDirection):
    """Allow the values of the named numeric columns to rise, but not to fall.

    The values may also stay as they are.
    """

    def ends(self, own: Floats) -> tuple[Floats | float, Floats | float]:
        return own, np.inf


@dataclass(frozen=True, init=False, repr=False)
class Decreasing(_OneDirection):
    """Allow the values of the named numeric columns to fall, but not to rise.

    The values may also stay as they are.
    """

    def ends(self, own: Floats) -> tuple[Floats | float, Floats | float]:
        return -np.inf, own
