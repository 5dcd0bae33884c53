"""The rule MaxChanges: a limit on changed columns per row."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

from fcca.constraints._check import Change
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import Constraint
from fcca.constraints._limits import Bools
from fcca.constraints._yaml import YamlNode
from fcca.exceptions import InvalidInputError


@dataclass(frozen=True, repr=False)
class MaxChanges(Constraint):
    """Allow at most ``n`` columns of a row to change.

    The columns of a rule :class:`OneHot` count as one column.
    """

    n: int

    def __post_init__(self) -> None:
        if not isinstance(self.n, Integral) or isinstance(self.n, bool) or self.n < 1:
            raise InvalidInputError(f"MaxChanges expects a whole number of at least 1, got {self.n!r}.")
        self._set(n=int(self.n))

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def compile(self, limits: LimitsBuilder) -> None:
        limits.max_changes = self.n if limits.max_changes is None else min(self.n, limits.max_changes)

    def holds(self, change: Change) -> Bools:
        return change.n_changes <= self.n

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        n = node.number()
        return [node.make(cls, int(n) if n.is_integer() else n)]

    def __repr__(self) -> str:
        return f"MaxChanges({self.n})"
