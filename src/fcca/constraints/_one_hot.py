"""The rule OneHot: columns of which exactly one is 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import Constraint, ListOfColumns, Violation
from fcca.constraints._limits import Floats
from fcca.constraints._yaml import YamlNode
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns


@dataclass(frozen=True, init=False, repr=False)
class OneHot(ListOfColumns):
    """Require exactly one of the named columns to be 1, the others 0.

    The rule applies to a row only if one of these columns changes. Moving the 1 to another column has the cost of a single
    change. :class:`MaxChanges` also counts it as one change.
    """

    lands_on = "any"

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        if len(self.names) < 2 or len(self.names) < len(names):
            raise InvalidInputError(f"OneHot expects the names of two or more distinct columns, got {list(names)!r}.")

    @property
    def group(self) -> tuple[str, ...]:
        return self.names

    def compile(self, limits: LimitsBuilder) -> None:
        members = []
        for name in self.names:
            j = self.number(name, limits.columns, "A column of categories does not need OneHot.")
            other = limits.earlier("group", j, self)
            if other is not None and other != self:
                self.refuse(f"column {name!r} is already in {other!r}. Put each column into one OneHot only.")
            if not limits.is_binary[j]:
                self.refuse(f"column {name!r} has values other than 0 and 1 in the data. Leave it out of OneHot.")
            members.append(j)
        if tuple(members) not in limits.groups:
            limits.groups.append(tuple(members))

    def finish(self, limits: LimitsBuilder) -> None:
        """Freeze values that other rules forbid to switch between 0 and 1.

        A frozen value may not change. Raise an error if the columns have different costs, or if another rule relates one of
        them to other columns.
        """
        members = self.positions(limits.columns)
        for rule, others in limits.between:
            for j in set(others) & set(members):
                rule.refuse(
                    f"column {limits.columns.names[j]!r} is also in {self!r}, whose columns change together. Replace these "
                    "columns with one column of categories, or leave the column out of one of the two rules."
                )
        weights = limits.weight[members].tolist()
        if len(set(weights)) > 1:
            listed = ", ".join(f"{weight:g}" for weight in weights)
            self.refuse(
                f"the columns change together and need the same cost, but have the weights {listed}. Give all of them the "
                "same Cost."
            )
        for j in members:
            own = limits.table[:, j]
            other = 1 - own
            low, high = np.fmin(limits.training_low[j], own), np.fmax(limits.training_high[j], own)
            step, origin = limits.step[j], limits.origin[j]
            off_grid = False if step == 0 else np.rint((other - origin) / step) * step + origin != other
            with np.errstate(invalid="ignore"):
                inside = (other >= np.fmax(low, limits.low[:, j])) & (other <= np.fmin(high, limits.high[:, j]))
            # A value that is neither 0 nor 1 must be able to move.
            limits.frozen[:, j] |= np.isin(own, (0, 1)) & (~inside | off_grid)

    def violations(self, columns: Columns, table: Floats) -> Iterator[Violation]:
        at = self.positions(columns)
        values = table[:, at]
        one_hot = ((values == 0) | (values == 1)).all(axis=1) & (values.sum(axis=1) == 1)
        yield Violation(at, ~one_hot, lambda row: "the columns are " + ", ".join(f"{value:g}" for value in values[row]))

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        expected = "a list of groups, such as [[a, b], [c, d]]"
        return [group.make(cls, *(name.text() for name in group.sequence(expected))) for group in node.sequence(expected)]
