"""The rule Immutable: columns that never change."""

from __future__ import annotations

from dataclasses import dataclass

from fcca.constraints._check import Change
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import ListOfColumns, any_of
from fcca.constraints._limits import Bools


@dataclass(frozen=True, init=False, repr=False)
class Immutable(ListOfColumns):
    """Forbid all changes of the named columns."""

    @property
    def fixed_columns(self) -> tuple[str, ...]:
        return self.names

    def compile(self, limits: LimitsBuilder) -> None:
        limits.frozen[:, self.positions(limits.columns)] = True

    def holds(self, change: Change) -> Bools:
        return ~any_of(change.moved[:, self.positions(change.columns)])
