"""The rule Cost: a factor on the cost of changing a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fcca.constraints._arguments import checked_name, checked_number, shown
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import Constraint, OneColumn
from fcca.constraints._yaml import YamlNode
from fcca.exceptions import InvalidInputError


@dataclass(frozen=True, repr=False)
class Cost(OneColumn):
    """Multiply the cost of each change of a column by ``weight``.

    Without this rule, the weight of a column is 1.
    """

    weight: float

    def __post_init__(self) -> None:
        rule = f"Cost({checked_name('Cost', self.name)!r})"
        weight = checked_number(rule, "weight", self.weight)
        if not 0 < weight <= 1e100:
            raise InvalidInputError(
                f"{rule}: weight must be above 0 and at most 1e100, got {self.weight!r}. If the column must not "
                "change, use Immutable."
            )
        self._set(weight=weight)

    @property
    def cost_factors(self) -> Mapping[str, float]:
        return {self.name: self.weight}

    def compile(self, limits: LimitsBuilder) -> None:
        j = self.position(self.name, limits.columns)
        other = limits.earlier("cost", j, self)
        if other is not None and limits.weight[j] != self.weight:
            self.refuse(f"contradicts {other!r}. Give only one Cost for a column.")
        limits.weight[j] = self.weight

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        entries = node.mapping("columns with their weights, such as income: 2")
        return [key.make(cls, key.text(), entry.number()) for key, entry in entries]

    def __repr__(self) -> str:
        return f"Cost({self.name!r}, {shown(self.weight)})"
