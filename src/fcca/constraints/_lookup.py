"""Finds what rules name in the columns of a table, and says what there is where they name something else."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real
from typing import Any, NoReturn

from fcca._columns import Columns
from fcca.constraints._rules import Constraint
from fcca.exceptions import InvalidInputError

NAMES_SHOWN = 12


def close_to(word: str, known: Iterable[str]) -> str:
    """`` Did you mean 'age'?``, or what there is where nothing is close."""
    names = list(known)
    close = get_close_matches(word, names, n=3, cutoff=0.7)
    if not close:  # other capitals
        close = [name for name in names if name.lower() == word.lower()]
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    more = f", … ({len(names)} in all)" if len(names) > NAMES_SHOWN else ""
    return f"There is {', '.join(map(repr, names[:NAMES_SHOWN]))}{more}."


def refuse(rule: Constraint, why: str) -> NoReturn:
    """An error that names the rule."""
    raise InvalidInputError(f"{rule!r}: {why}")


def check_rules(rules: Iterable[Any]) -> tuple[Constraint, ...]:
    """The rules as a tuple, or an error where something else is among them."""
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


def position(rule: Constraint, name: str, columns: Columns) -> int:
    """Where the column stands."""
    names = columns.names
    if name not in names:
        refuse(rule, f"there is no column {name!r}. {close_to(name, names)}")
    return names.index(name)


def number(rule: Constraint, name: str, columns: Columns, instead: str) -> int:
    """Where the column stands, which must hold numbers."""
    j = position(rule, name, columns)
    if columns[j].categories is not None:
        refuse(rule, f"column {name!r} holds categories, and the rule is for numbers. {instead}")
    return j


def category(rule: Constraint, name: str, columns: Columns) -> int:
    """Where the column stands, which must hold categories."""
    j = position(rule, name, columns)
    if columns[j].categories is None:
        refuse(rule, f"column {name!r} holds numbers, and the rule is for categories. Use Bounds, Increasing or Decreasing.")
    return j


def code_of(rule: Constraint, j: int, columns: Columns, label: Any) -> int:
    """The code of a category given by its label, or by a text that reads like it."""
    known = columns[j].categories
    assert known is not None
    found = [code for code, one in enumerate(known) if _same(one, label)]
    if not found and isinstance(label, str):
        found = [code for code, one in enumerate(known) if _reads_like(one, label)]
    if len(found) != 1:
        name = columns.names[j]
        refuse(rule, f"column {name!r} has no category {label!r}. {close_to(str(label), [str(one) for one in known])}")
    return found[0]


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _reads_like(one: Any, text: str) -> bool:
    """Whether a label that is no text reads like one: files of rules hold texts only."""
    if isinstance(one, str):
        return False
    if isinstance(one, Real) and not isinstance(one, bool):
        try:
            return float(text) == float(one)
        except ValueError:
            return False
    return str(one).lower() == text.lower()
