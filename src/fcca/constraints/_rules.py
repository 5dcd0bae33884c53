"""The rules, as data: each is a small immutable object that equals another one that says the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

from fcca.constraints._formulas import Direction, parsed_direction, parsed_formula
from fcca.exceptions import InvalidInputError


class Constraint:
    """A rule that a counterfactual must keep."""

    kinds: ClassVar[dict[str, type[Constraint]]] = {}
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        # Immutable → immutable, OneHot → one_hot. The dataclass decorator may make the class anew, under the same name.
        cls.kind = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()
        if not cls.__name__.startswith("_"):
            Constraint.kinds[cls.kind] = cls

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule names."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The rule in plain lists, texts and numbers, for JSON."""
        return {"rule": self.kind, **{field.name: _plain(getattr(self, field.name)) for field in fields(self)}}  # type: ignore[arg-type]

    @staticmethod
    def from_dict(entries: Mapping[str, Any]) -> Constraint:
        """The rule that :meth:`to_dict` wrote."""
        if not isinstance(entries, Mapping):
            raise InvalidInputError(f"A rule is a mapping with the entry 'rule', got {entries!r}.")
        kind = entries.get("rule")
        made = Constraint.kinds.get(kind) if isinstance(kind, str) else None
        if made is None:
            raise InvalidInputError(f"{kind!r} is no rule. The rules are {', '.join(sorted(Constraint.kinds))}.")
        others = {name: entry for name, entry in entries.items() if name != "rule"}
        known = {field.name for field in fields(made)}  # type: ignore[arg-type]
        needed = {field.name for field in fields(made) if field.default is MISSING}  # type: ignore[arg-type]
        if not needed <= set(others) <= known:
            raise InvalidInputError(f"{kind} has the entries {sorted(known)}, got {sorted(others)}.")
        return made._from_entries(others)

    @classmethod
    def _from_entries(cls, entries: dict[str, Any]) -> Constraint:
        return cls(**entries)

    def _set(self, **values: Any) -> None:
        """Fill in the fields of a frozen object; for ``__init__`` only."""
        for name, entry in values.items():
            object.__setattr__(self, name, entry)


def _plain(entry: Any) -> Any:
    return [_plain(part) for part in entry] if isinstance(entry, tuple) else entry


def _name(kind: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"{kind} takes names of columns, got {name!r}.")
    return name


def _number(kind: str, what: str, value: Any) -> float:
    """A finite number."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidInputError(f"{kind}: {what} must be a finite number, got {value!r}.")
    return float(value)


def _end(kind: str, what: str, value: Any) -> float | None:
    """An end of an interval: a number; None and infinity for none."""
    if value is None or (isinstance(value, Real) and math.isinf(value)):
        return None
    return _number(kind, what, value)


def _shown(number: float | None) -> str:
    return "None" if number is None else str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


class _OfColumns(Constraint):
    """A rule that is nothing but a list of columns."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        if not names:
            raise InvalidInputError(f"{type(self).__name__} takes the names of one or more columns, got none.")
        for name in names:
            _name(type(self).__name__, name)
        self._set(names=tuple(dict.fromkeys(names)))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @classmethod
    def _from_entries(cls, entries: dict[str, Any]) -> Constraint:
        return cls(*entries["names"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.names))})"


# --- one column at a time -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False, repr=False)
class Immutable(_OfColumns):
    """These columns do not change."""

    names: tuple[str, ...]


@dataclass(frozen=True, init=False, repr=False)
class Increasing(_OfColumns):
    """These numbers may rise and not fall."""

    names: tuple[str, ...]


@dataclass(frozen=True, init=False, repr=False)
class Decreasing(_OfColumns):
    """These numbers may fall and not rise."""

    names: tuple[str, ...]


@dataclass(frozen=True, init=False, repr=False)
class Integer(_OfColumns):
    """These numbers, once they change, are whole."""

    names: tuple[str, ...]


@dataclass(frozen=True, init=False, repr=False)
class Fillable(_OfColumns):
    """Where these columns have no value, one may be filled in; in all other columns a missing value stays missing."""

    names: tuple[str, ...]


@dataclass(frozen=True, init=False, repr=False)
class Bounds(Constraint):
    """This number, once it changes, is from ``low`` to ``high``, each None for no end.

    With ``relative=True`` they are shares of the row's own value, -0.2 and 0.2 for at most 20 % down or up (of a negative
    value too: -10 goes from -12 to -8). ``by=(-5, 5)`` instead of both is the change itself: at most 5 down or up.
    """

    name: str
    low: float | None = None
    high: float | None = None
    relative: bool = False
    by: tuple[float | None, float | None] | None = None

    def __init__(
        self,
        name: str,
        low: float | None = None,
        high: float | None = None,
        relative: bool = False,
        by: Sequence[float | None] | None = None,
    ) -> None:
        kind = f"Bounds({_name('Bounds', name)!r})"
        if by is not None and (low is not None or high is not None or relative):
            raise InvalidInputError(f"{kind}: give either by or low and high; use two rules for both.")
        if by is not None and (isinstance(by, str) or not isinstance(by, Sequence) or len(by) != 2):
            raise InvalidInputError(f"{kind}: by must be two numbers, the largest fall and the largest rise, got {by!r}.")
        ends = (low, high) if by is None else (by[0], by[1])
        first, last = _end(kind, "low" if by is None else "by", ends[0]), _end(kind, "high" if by is None else "by", ends[1])
        if first is None and last is None:
            raise InvalidInputError(f"{kind} bounds nothing: give low, high, or by.")
        if first is not None and last is not None and first > last:
            raise InvalidInputError(f"{kind}: the lower end {first:g} is above the upper end {last:g}.")
        pair = (first, last)
        self._set(name=name, relative=bool(relative))
        self._set(**({"low": first, "high": last, "by": None} if by is None else {"low": None, "high": None, "by": pair}))

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def __repr__(self) -> str:
        if self.by is not None:
            return f"Bounds({self.name!r}, by=({_shown(self.by[0])}, {_shown(self.by[1])}))"
        parts = [f"{end}={_shown(getattr(self, end))}" for end in ("low", "high") if getattr(self, end) is not None]
        return f"Bounds({', '.join([repr(self.name), *parts, *(['relative=True'] if self.relative else [])])})"


@dataclass(frozen=True, init=False, repr=False)
class Grid(Constraint):
    """This number, once it changes, is ``origin`` plus a whole number of ``step``."""

    name: str
    step: float = 1.0
    origin: float = 0.0

    def __init__(self, name: str, step: float = 1.0, origin: float = 0.0) -> None:
        kind = f"Grid({_name('Grid', name)!r})"
        self._set(name=name, step=_number(kind, "step", step), origin=_number(kind, "origin", origin))
        if not self.step > 0:
            raise InvalidInputError(f"{kind}: step must be above 0, got {step!r}.")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def __repr__(self) -> str:
        return f"Grid({self.name!r}, step={_shown(self.step)}, origin={_shown(self.origin)})"


@dataclass(frozen=True, init=False, repr=False)
class Cost(Constraint):
    """Moving this column costs ``weight`` times as much."""

    name: str
    weight: float

    def __init__(self, name: str, weight: float) -> None:
        kind = f"Cost({_name('Cost', name)!r})"
        self._set(name=name, weight=_number(kind, "weight", weight))
        if not 0 < self.weight <= 1e100:
            raise InvalidInputError(f"{kind}: weight must be above 0 and up to 1e100, got {weight!r}. See Immutable.")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def __repr__(self) -> str:
        return f"Cost({self.name!r}, {_shown(self.weight)})"


# --- categories ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False, repr=False)
class Forbidden(Constraint):
    """This column does not go from one category to another, for each of these pairs ``(from, to)``."""

    name: str
    pairs: tuple[tuple[Any, Any], ...]

    def __init__(self, name: str, pairs: Iterable[Sequence[Any]]) -> None:
        kind = f"Forbidden({_name('Forbidden', name)!r})"
        given = list(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, str | Mapping) else []
        if not given or any(isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2 for pair in given):
            raise InvalidInputError(f"{kind} takes a list of pairs (from, to), got {pairs!r}.")
        self._set(name=name, pairs=tuple((pair[0], pair[1]) for pair in given))

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def __repr__(self) -> str:
        return f"Forbidden({self.name!r}, {list(self.pairs)!r})"


@dataclass(frozen=True, init=False, repr=False)
class Allowed(Constraint):
    """This column makes only these moves: from a category to those listed for it; a category not listed stays."""

    name: str
    moves: tuple[tuple[Any, tuple[Any, ...]], ...]

    def __init__(self, name: str, moves: Mapping[Any, Iterable[Any]] | Iterable[Sequence[Any]]) -> None:
        kind = f"Allowed({_name('Allowed', name)!r})"
        given = list(moves.items()) if isinstance(moves, Mapping) else [tuple(entry) for entry in moves]
        if not given or any(
            len(entry) != 2 or isinstance(entry[1], str) or not isinstance(entry[1], Iterable) for entry in given
        ):
            raise InvalidInputError(f"{kind} takes a mapping {{from: [to, …]}}, got {moves!r}.")
        self._set(name=name, moves=tuple((entry[0], tuple(entry[1])) for entry in given))

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def __repr__(self) -> str:
        listed = ", ".join(f"{start!r}: {list(ends)!r}" for start, ends in self.moves)
        return f"Allowed({self.name!r}, {{{listed}}})"


# --- several columns at once --------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False, repr=False)
class MaxChanges(Constraint):
    """At most ``n`` columns change; a group of :class:`OneHot` is one of them."""

    n: int

    def __init__(self, n: int) -> None:
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise InvalidInputError(f"MaxChanges takes a number of columns of at least 1, got {n!r}.")
        self._set(n=int(n))

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def __repr__(self) -> str:
        return f"MaxChanges({self.n})"


@dataclass(frozen=True, init=False, repr=False)
class OneHot(_OfColumns):
    """Of these columns of 0 and 1 exactly one is 1 once one of them changes; to switch is one change and costs once."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        if len(self.names) < 2 or len(self.names) < len(names):
            raise InvalidInputError(f"OneHot takes the names of two or more different columns, got {list(names)!r}.")


@dataclass(frozen=True, init=False, repr=False)
class Linear(Constraint):
    """The sum of the columns times their coefficients is at most ``upper`` once one of them changes."""

    coefficients: tuple[tuple[str, float], ...]
    upper: float = 0.0

    def __init__(self, coefficients: Mapping[str, float] | Iterable[Sequence[Any]], upper: float = 0.0) -> None:
        given = list(coefficients.items()) if isinstance(coefficients, Mapping) else [tuple(pair) for pair in coefficients]
        if not given or any(len(pair) != 2 for pair in given) or len({pair[0] for pair in given}) < len(given):
            raise InvalidInputError(f"Linear takes a mapping from columns to coefficients, got {coefficients!r}.")
        pairs = [(_name("Linear", name), _number("Linear", f"the coefficient of {name}", a)) for name, a in given]
        if any(a == 0 for _, a in pairs):
            raise InvalidInputError(f"Linear: a coefficient of 0 says nothing; leave the column out, got {coefficients!r}.")
        self._set(coefficients=tuple(sorted(pairs)), upper=_number("Linear", "upper", upper))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.coefficients)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name!r}: {_shown(a)}" for name, a in self.coefficients)
        return f"Linear({{{listed}}}, upper={_shown(self.upper)})"


@dataclass(frozen=True, init=False, repr=False)
class Rule(Constraint):
    """A formula of columns and numbers, such as ``"a <= b"`` or ``"x + 2*y <= 10"``, holds once one of them changes.

    ``<=``, ``>=`` and ``==``, and chains of them. A name that has other characters than letters, digits, ``_`` and ``.``
    stands in backticks.
    """

    text: str

    def __init__(self, text: str) -> None:
        self._set(text=text)
        assert self.linear  # reads the text, and refuses what it cannot read

    @property
    def linear(self) -> tuple[Linear, ...]:
        """The same as sums that are at most something; an equation is two of them."""
        return tuple(Linear(coefficients, upper) for coefficients, upper in parsed_formula(self.text))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for rule in self.linear for name in rule.columns))

    def __repr__(self) -> str:
        return f"Rule({self.text!r})"


@dataclass(frozen=True, init=False, repr=False)
class Implies(Constraint):
    """If the one column moves in that direction, so does the other: ``Implies("education rises", "age rises")``."""

    condition: str
    consequence: str

    def __init__(self, condition: str, consequence: str) -> None:
        one, other = parsed_direction(condition), parsed_direction(consequence)
        if one.name == other.name:
            raise InvalidInputError(
                f"Implies({condition!r}, {consequence!r}) is about one column. Use Increasing or Decreasing for it."
            )
        self._set(condition=str(one), consequence=str(other))

    @property
    def directions(self) -> tuple[Direction, Direction]:
        """Column and direction of the condition and of the consequence."""
        return parsed_direction(self.condition), parsed_direction(self.consequence)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(direction.name for direction in self.directions)

    def __repr__(self) -> str:
        return f"Implies({self.condition!r}, {self.consequence!r})"
