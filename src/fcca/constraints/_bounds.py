"""The rule Bounds: the lowest and highest value after a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcca.constraints._arguments import checked_end, checked_name, shown
from fcca.constraints._check import Change
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import Constraint, OneColumn, Violation
from fcca.constraints._limits import Bools, Floats
from fcca.constraints._yaml import YamlNode
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns
from fcca.utils import close_to


@dataclass(frozen=True, init=False, repr=False)
class Bounds(OneColumn):
    """Require changed values of a column to be between ``low`` and ``high``.

    If ``low`` or ``high`` is None, there is no bound on that side. Give either ``low`` and ``high``, or ``by``.

    Parameters
    ----------
    name : str
        A numeric column.
    low, high : float or None
        The smallest and the largest value after a change.
    relative : bool, default=False
        If True, ``low`` and ``high`` are bounds on the relative change: the new value minus the old one, divided by the
        absolute value of the old one. With -0.2 and 0.2, a value may fall or rise by at most 20 %. For example, -10 may
        change to any value from -12 to -8.
    by : pair of float or None
        Bounds on the difference between the new and the old value. With ``(-5, 5)``, a value may fall or rise by at most 5.
    """

    low: float | None = None
    high: float | None = None
    relative: bool = False
    by: tuple[float | None, float | None] | None = None
    lands_on = "limits"

    def __init__(
        self,
        name: str,
        low: float | None = None,
        high: float | None = None,
        relative: bool = False,
        by: Sequence[float | None] | None = None,
    ) -> None:
        rule = f"Bounds({checked_name('Bounds', name)!r})"
        if by is not None and (low is not None or high is not None or relative):
            raise InvalidInputError(f"{rule}: pass either 'by', or 'low' and 'high'. To use both, write two rules.")
        if by is not None and (isinstance(by, str) or not isinstance(by, Sequence) or len(by) != 2):
            raise InvalidInputError(f"{rule}: 'by' must be two numbers, such as (-5, 5), got {by!r}.")
        given = (low, high) if by is None else (by[0], by[1])
        words = ("low", "high") if by is None else ("by", "by")
        first, last = (checked_end(rule, word, end) for word, end in zip(words, given, strict=True))
        if first is None and last is None:
            raise InvalidInputError(f"{rule} has no bound. Give 'low', 'high' or 'by'.")
        if first is not None and last is not None and first > last:
            raise InvalidInputError(f"{rule}: the lower bound {first:g} is above the upper bound {last:g}. Swap them.")
        ends = {"low": first, "high": last, "by": None} if by is None else {"low": None, "high": None, "by": (first, last)}
        self._set(name=name, relative=bool(relative), **ends)

    def ends(self, own: Floats) -> tuple[Floats | float, Floats | float]:
        """Return, for each row, the lowest and the highest value allowed after a change.

        ``own`` holds the values of the rule's column before the change, one per row. A bound that depends on a missing
        value is NaN.
        """
        low, high = (self.low, self.high) if self.by is None else self.by
        start, unit = (own, np.abs(own)) if self.relative else (0.0 if self.by is None else own, 1.0)
        return -np.inf if low is None else start + low * unit, np.inf if high is None else start + high * unit

    @property
    def _for_all_rows(self) -> bool:
        return self.by is None and not self.relative

    def compile(self, limits: LimitsBuilder) -> None:
        j = self.number(self.name, limits.columns)
        low, high = self.ends(limits.table[:, j])
        if self._for_all_rows:
            self._check_range(limits, j, float(low), float(high))
        limits.bound(j, low, high)

    def _check_range(self, limits: LimitsBuilder, j: int, low: float, high: float) -> None:
        """Check that the bounds overlap the range of the data.

        The bounds must also overlap the bounds that earlier rules set on this column.
        """
        if low > limits.box_high[j] or high < limits.box_low[j]:
            self.refuse(
                f"no value of {self.name!r} in the data, from {limits.training_low[j]:g} to {limits.training_high[j]:g}, is "
                "within the bounds. Changes stay in the range of the data. Check the units of the bounds. If the column "
                "must not change, use Immutable."
            )
        if low > limits.least[j][0]:
            limits.least[j] = (low, self)
        if high < limits.most[j][0]:
            limits.most[j] = (high, self)
        if limits.least[j][0] > limits.most[j][0]:
            other = limits.most[j][1] if limits.least[j][1] is self else limits.least[j][1]
            self.refuse(f"contradicts {other!r}: no value is within the bounds of both rules.")

    def holds(self, change: Change) -> Bools:
        j = self.position(self.name, change.columns)
        low, high = self.ends(change.before[:, j])
        return ~(change.moved[:, j] & ((change.after[:, j] < low) | (change.after[:, j] > high)))

    def violations(self, columns: Columns, table: Floats) -> Iterator[Violation]:
        if self._for_all_rows:
            j = self.position(self.name, columns)
            x = table[:, j]
            low, high = self.ends(x)
            yield Violation([j], x < low, lambda row: f"{self.name} is {x[row]:g}, below {low:g}")
            yield Violation([j], x > high, lambda row: f"{self.name} is {x[row]:g}, above {high:g}")

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        found: list[Constraint] = []
        for key, entry in node.mapping("columns with their bounds, such as income: {low: 0, high: 10}"):
            if entry.is_list:
                low, high = (end.number_or_none() for end in entry.pair("two numbers [low, high]"))
                found.append(key.make(cls, key.text(), low, high))
            else:
                found += [key.make(cls, key.text(), **ends) for ends in _ends_from_yaml(key.text(), entry)]
        return found

    def __repr__(self) -> str:
        if self.by is not None:
            return f"Bounds({self.name!r}, by=({shown(self.by[0])}, {shown(self.by[1])}))"
        parts = [f"{end}={shown(getattr(self, end))}" for end in ("low", "high") if getattr(self, end) is not None]
        return f"Bounds({', '.join([repr(self.name), *parts, *(['relative=True'] if self.relative else [])])})"


def _ends_from_yaml(name: str, entry: YamlNode) -> Iterator[dict[str, Any]]:
    """Yield the arguments of :class:`Bounds` for each rule in a YAML entry.

    The entry ``{low: 0, by: [-5, 5]}`` of the column ``name`` gives two rules.
    """
    known = ("low", "high", "relative", "by")
    given = {}
    for word, part in entry.mapping("low, high, relative or by"):
        if word.text() not in known:
            word.refuse(f"unknown key {word.text()!r} in the bounds of {name!r}. {close_to(word.text(), known)}")
        given[word.text()] = part
    if not given:
        entry.refuse(f"the bounds of {name!r} are empty. Give low, high, relative or by.")
    if "low" in given or "high" in given:
        yield {word: given[word].number_or_none() for word in ("low", "high") if word in given}
    if "relative" in given:
        low, high = (end.number_or_none() for end in given["relative"].pair("two shares, such as [-0.2, 0.2]"))
        yield {"low": low, "high": high, "relative": True}
    if "by" in given:
        yield {"by": [end.number_or_none() for end in given["by"].pair("two numbers, such as [-5, 5]")]}
