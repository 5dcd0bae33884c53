"""The rule Fillable: columns whose missing values may be filled in."""

from __future__ import annotations

from dataclasses import dataclass

from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import ListOfColumns


@dataclass(frozen=True, init=False, repr=False)
class Fillable(ListOfColumns):
    """Allow counterfactuals to fill in missing values of the named columns.

    In all other columns, a missing value stays missing.
    """

    @property
    def fillable_columns(self) -> tuple[str, ...]:
        return self.names

    def compile(self, limits: LimitsBuilder) -> None:
        limits.fillable[self.positions(limits.columns)] = True
