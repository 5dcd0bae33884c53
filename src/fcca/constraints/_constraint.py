"""The base classes of all rules."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn

import numpy as np

from fcca.constraints._arguments import checked_name
from fcca.constraints._limits import Bools, Floats
from fcca.constraints._lookup import code_of
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns
from fcca.utils import close_to

if TYPE_CHECKING:
    from fcca.constraints._check import Change
    from fcca.constraints._compile import LimitsBuilder
    from fcca.constraints._yaml import YamlNode


class Violation(NamedTuple):
    """Rows whose values break a rule.

    Attributes
    ----------
    columns : list of int
        Positions of the rule's columns. Only counterfactuals that change one of these columns break the rule.
    rows : ndarray of shape (n_rows,)
        True for rows that break the rule.
    why : callable
        ``why(row)`` describes the values in the row at the position ``row``, such as "age is 12, below 18".
    """

    columns: list[int]
    rows: Bools
    why: Callable[[int], str]


@dataclass(frozen=True, init=False, repr=False)
class Constraint(ABC):
    """Base class of the rules that a counterfactual must obey.

    Each rule is a frozen dataclass. It implements ``columns``, ``compile``, ``from_yaml`` and either
    ``violations`` or ``holds``. All other attributes have a default. Subclasses register themselves in ``kinds``, except
    those declared with ``abstract=True``.

    Attributes
    ----------
    kind : str
        The rule's name in JSON: ``one_hot`` for ``OneHot``.
    yaml_key : str or None
        The rule's key in YAML, by default its ``kind``. None: the rule cannot be written in YAML.
    lands_on : {"nearest", "limits", "any"}
        The values that a number in the rule's columns can take after a change. The change enters another cell, an interval
        between two cuts of the black box. With ``"nearest"``, the number takes the training value in this cell that is
        closest to its old value. ``"limits"`` also allows a bound or a grid value of the rule. ``"any"`` allows every
        training value in the cell.
    """

    kinds: ClassVar[dict[str, type[Constraint]]] = {}
    kind: ClassVar[str]
    yaml_key: ClassVar[str | None]
    lands_on: ClassVar[Literal["nearest", "limits", "any"]] = "nearest"

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        cls.kind = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()
        if "yaml_key" not in cls.__dict__:
            cls.yaml_key = cls.kind
        if not abstract:
            Constraint.kinds[cls.kind] = cls

    # --- implemented by each rule -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in the rule."""

    @abstractmethod
    def compile(self, limits: LimitsBuilder) -> None:
        """Add the rule to the limits of all points (rows) in ``limits.table``.

        Raises
        ------
        InvalidInputError
            If the rule does not fit the columns, or contradicts an earlier rule.
        """

    def finish(self, limits: LimitsBuilder) -> None:  # noqa: B027, optional
        """Complete and check the rule after all rules were compiled.

        A rule can override this method to add limits that depend on other rules. It can also raise an error if it
        contradicts another rule.
        """

    def violations(self, columns: Columns, table: Floats) -> Iterator[Violation]:
        """Find the rows of ``table`` whose values break the rule.

        ``table`` may hold rows before or after a change.
        """
        yield from ()

    def holds(self, change: Change) -> Bools:
        """Check for each row whether its change obeys the rule.

        By default, a change obeys the rule unless the changed row has one of the :meth:`violations`. A violation counts only
        if one of its columns has changed.
        """
        kept = np.ones(len(change.after), dtype=np.bool_)
        for broken in self.violations(change.columns, change.after):
            kept &= ~(broken.rows & any_of(change.moved[:, broken.columns]))
        return kept

    @classmethod
    @abstractmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        """Build the rules that a YAML node describes.

        The node is the value of the key ``yaml_key``.
        """

    # --- used elsewhere ---------------------------------------------------------------------------------------------------

    def needs_all_rows(self, *, is_linear: bool) -> bool:
        """Return True if the rule requires all training rows at once.

        Such a rule cannot be used if the rows come in chunks. ``is_linear`` tells whether the black box is linear.
        """
        return self.lands_on == "any" and not is_linear

    @property
    def fixed_columns(self) -> tuple[str, ...]:
        """Columns that never change."""
        return ()

    @property
    def fillable_columns(self) -> tuple[str, ...]:
        """Columns whose missing values may be filled in."""
        return ()

    @property
    def group(self) -> tuple[str, ...]:
        """Columns that change together and count as one change."""
        return ()

    @property
    def cost_factors(self) -> Mapping[str, float]:
        """Factors that multiply the cost of a change, by column name."""
        return {}

    # --- JSON -------------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a dictionary for JSON."""
        return {"rule": self.kind, **{field.name: _plain(getattr(self, field.name)) for field in fields(self)}}

    @staticmethod
    def from_dict(entries: Mapping[str, Any]) -> Constraint:
        """Build a rule from the dictionary that :meth:`to_dict` returns."""
        if not isinstance(entries, Mapping):
            raise InvalidInputError(f"A rule must be a mapping with the entry 'rule', got {entries!r}.")
        kind = entries.get("rule")
        rule = Constraint.kinds.get(kind) if isinstance(kind, str) else None
        if rule is None:
            raise InvalidInputError(f"Unknown rule {kind!r}. The rules are {', '.join(sorted(Constraint.kinds))}.")
        others = {name: entry for name, entry in entries.items() if name != "rule"}
        known = {field.name for field in fields(rule)}
        needed = {field.name for field in fields(rule) if field.default is MISSING}
        if not needed <= set(others) <= known:
            raise InvalidInputError(
                f"The rule {kind!r} requires the entries {sorted(needed)} and accepts {sorted(known)}, got {sorted(others)}."
            )
        return rule.from_fields(others)

    @classmethod
    def from_fields(cls, entries: Mapping[str, Any]) -> Constraint:
        """Build the rule from its fields, the entries of :meth:`to_dict` except ``rule``."""
        return cls(**entries)

    # --- helpers for rules ------------------------------------------------------------------------------------------------

    def _set(self, **values: Any) -> None:
        """Set fields of the frozen object; for ``__init__`` and ``__post_init__`` only."""
        for name, entry in values.items():
            object.__setattr__(self, name, entry)

    def refuse(self, why: str) -> NoReturn:
        """Raise an InvalidInputError whose message is the rule, followed by ``why``."""
        raise InvalidInputError(f"{self!r}: {why}")

    def position(self, name: str, columns: Columns) -> int:
        """Return the position of the column ``name``.

        Raise an InvalidInputError if there is no such column.
        """
        names = columns.names
        if name not in names:
            self.refuse(f"unknown column {name!r}. {close_to(name, names)}")
        return names.index(name)

    def positions(self, columns: Columns) -> list[int]:
        """Return the positions of the rule's columns in the table."""
        return [self.position(name, columns) for name in self.columns]

    def number(self, name: str, columns: Columns, hint: str = "Use Allowed or Forbidden for categories.") -> int:
        """Return the position of the column ``name``, which must be numeric.

        If the column holds categories, the error message ends with ``hint``.
        """
        j = self.position(name, columns)
        if columns[j].categories is not None:
            self.refuse(f"column {name!r} holds categories, but the rule is for numbers. {hint}")
        return j

    def code(self, label: Any, name: str, columns: Columns) -> int:
        """Return the code of the category ``label`` in the column ``name``.

        Raise an error if the column is numeric or does not have this category.
        """
        categories = columns[self.position(name, columns)].categories
        if categories is None:
            self.refuse(
                f"column {name!r} holds numbers, but the rule is for categories. Use Bounds, Increasing or Decreasing."
            )
        code = code_of(label, categories)
        if code is None:
            known = close_to(str(label), [str(one) for one in categories])
            self.refuse(f"column {name!r} has no category {label!r}. {known}")
        return code


@dataclass(frozen=True, init=False, repr=False)
class OneColumn(Constraint, abstract=True):
    """Base class of rules on a single column."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True, init=False, repr=False)
class ListOfColumns(Constraint, abstract=True):
    """Base class of rules whose only parameters are column names."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        rule = type(self).__name__
        if not names:
            raise InvalidInputError(f"{rule} expects the names of one or more columns, but got none.")
        self._set(names=tuple(dict.fromkeys(checked_name(rule, name) for name in names)))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        names = node.texts("a list of columns, such as [age, sex]")
        return [node.make(cls, *names)] if names else []

    @classmethod
    def from_fields(cls, entries: Mapping[str, Any]) -> Constraint:
        return cls(*entries["names"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.names))})"


def check_rules(rules: Iterable[Any]) -> tuple[Constraint, ...]:
    """Check a rule or a list of rules, and return a tuple.

    Raise an InvalidInputError for anything that is not a rule.
    """
    if isinstance(rules, Constraint):
        return (rules,)
    if isinstance(rules, str) or not isinstance(rules, Iterable):
        raise InvalidInputError(f"constraints must be a list of rules of fcca.constraints, got {rules!r}.")
    found = tuple(rules)
    for rule in found:
        if not isinstance(rule, Constraint):
            hint = f"; write {rule.__name__}(…)" if isinstance(rule, type) else ""
            raise InvalidInputError(f"constraints must be rules of fcca.constraints, got {rule!r}{hint}.")
    return found


def any_of(table: Bools) -> Bools:
    """Return a mask of the rows of ``table`` that contain at least one True."""
    found: Bools = np.logical_or.reduce(table, axis=1)
    return found


def _plain(entry: Any) -> Any:
    return [_plain(part) for part in entry] if isinstance(entry, tuple) else entry
