"""The rule Implies: the rise or fall of one column requires that of another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from fcca.constraints._check import Change
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import Constraint
from fcca.constraints._limits import Bools, Implication
from fcca.constraints._yaml import YamlNode
from fcca.exceptions import InvalidInputError

DIRECTION = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<name>.*\S))\s+(?P<word>rises|falls)\s*", re.DOTALL)


class Direction(NamedTuple):
    """A column name, and whether its values rise or fall."""

    name: str
    rises: bool

    def __str__(self) -> str:
        return f"{self.name} {'rises' if self.rises else 'falls'}"


@dataclass(frozen=True, init=False, repr=False)
class Implies(Constraint):
    """Require one column to rise or fall whenever another column rises or falls.

    For example, ``Implies("education rises", "age rises")``: whoever gets more education also gets older.

    Parameters
    ----------
    condition, consequence : str
        The name of a numeric column and ``rises`` or ``falls``. If the condition holds for a change, the consequence must
        hold, too.
    """

    condition: str
    consequence: str
    lands_on = "any"

    def __init__(self, condition: str, consequence: str) -> None:
        one, other = _parsed(condition), _parsed(consequence)
        if one.name == other.name:
            raise InvalidInputError(
                f"Implies({condition!r}, {consequence!r}) names one column twice. To make one column only rise or only "
                "fall, use Increasing or Decreasing."
            )
        self._set(condition=str(one), consequence=str(other))

    @property
    def directions(self) -> tuple[Direction, Direction]:
        """Column and direction of the condition and of the consequence."""
        return _parsed(self.condition), _parsed(self.consequence)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(direction.name for direction in self.directions)

    def needs_all_rows(self, *, is_linear: bool) -> bool:
        return True

    def compile(self, limits: LimitsBuilder) -> None:
        one, other = self.directions
        j, then = (self.number(name, limits.columns, "Categories cannot rise or fall.") for name in self.columns)
        limits.implications.append(Implication(j, one.rises, then, other.rises))
        limits.between.append((self, (j, then)))

    def holds(self, change: Change) -> Bools:
        went = []
        for direction in self.directions:
            j = self.position(direction.name, change.columns)
            before, after = change.before[:, j], change.after[:, j]
            went.append(after > before if direction.rises else after < before)
        return ~went[0] | went[1]

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        found = []
        for part in node.one_or_more("a list of strings, such as 'education rises -> age rises'"):
            text = part.text("a string such as 'education rises -> age rises'")
            sides = text.replace("→", "->").split("->")
            if len(sides) != 2:
                part.refuse(f"expected a string such as 'education rises -> age rises', got {text!r}.")
            found.append(part.make(cls, *sides))
        return found

    def __repr__(self) -> str:
        return f"Implies({self.condition!r}, {self.consequence!r})"


def _parsed(text: Any) -> Direction:
    """Parse a string such as ``"age rises"`` or ``"age falls"``.

    The column name may be in backticks.
    """
    found = DIRECTION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidInputError(f"Expected a column and a direction, such as 'age rises' or 'age falls', got {text!r}.")
    return Direction(found["quoted"] or found["name"], found["word"] == "rises")
