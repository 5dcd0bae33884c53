"""Read rules from YAML; error messages contain the line number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from fcca.constraints._constraint import Constraint
from fcca.exceptions import InvalidInputError
from fcca.utils import close_to

EMPTY = ("", "~", "null", "none")


def load_rules(path: str | Path) -> tuple[Constraint, ...]:
    """Read rules from a YAML file; see :func:`rules_from_yaml`."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path.name} is not valid UTF-8: {error.reason} at byte {error.start}. Save it as UTF-8."
        ) from error
    except OSError as error:
        raise InvalidInputError(f"The rules file {path} cannot be read: {error.strerror}.") from error
    return rules_from_yaml(text, name=path.name)


def rules_from_yaml(text: str, *, name: str = "The rules") -> tuple[Constraint, ...]:
    """Read rules from a YAML string.

    Parameters
    ----------
    text : str
        A mapping with one key per kind of rule, such as ``immutable``, ``bounds`` or ``one_hot``. The key of :class:`Rule`
        is ``rules``.
    name : str
        Name of the text in error messages, such as the name of a file.

    Examples
    --------
    >>> from fcca.constraints import rules_from_yaml
    >>> for rule in rules_from_yaml('''
    ... immutable: [sex, birthplace]
    ... bounds:
    ...   income: {low: 0, high: 90000}
    ...   debt: {relative: [-0.2, 0.2]}
    ...   age: {by: [0, 5]}
    ... grid: {children: 1}
    ... forbidden: {insured: [[yes, no]]}
    ... max_changes: 3
    ... rules: ["rent <= income"]
    ... implies: ["education rises -> age rises"]
    ... '''):
    ...     print(rule)
    Immutable('sex', 'birthplace')
    Bounds('income', low=0, high=90000)
    Bounds('debt', low=-0.2, high=0.2, relative=True)
    Bounds('age', by=(0, 5))
    Grid('children', step=1, origin=0)
    Forbidden('insured', [('yes', 'no')])
    MaxChanges(3)
    Rule('rent <= income')
    Implies('education rises', 'age rises')
    """
    import yaml  # only files of rules need it

    try:
        # BaseLoader keeps all values as strings: the category 'no' is not a boolean. compose() builds nodes, not objects.
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        raise InvalidInputError(
            f"{name}{where}: not valid YAML: {getattr(error, 'problem', None) or error}. Check indents, colons and brackets."
        ) from error
    except RecursionError as error:
        raise InvalidInputError(f"{name}: lists or mappings are nested too deeply. Use at most four levels.") from error
    return () if root is None else _rules_of(YamlNode(root, name))


def _rules_of(root: YamlNode) -> tuple[Constraint, ...]:
    kinds = {kind.yaml_key: kind for kind in Constraint.kinds.values() if kind.yaml_key is not None}
    keys = sorted(kinds)
    entries = root.mapping(f"a mapping with the keys {', '.join(keys)}")
    for key, _ in entries:
        if key.text() not in kinds:
            key.refuse(f"unknown key {key.text()!r}. {close_to(key.text(), keys)}")
    return tuple(
        rule
        for key, node in entries
        if not node.is_empty
        for rule in kinds[key.text()].from_yaml(YamlNode(node.node, root.source, key.text()))
    )


class YamlNode:
    """A part of a YAML text, with its line number for error messages.

    Attributes
    ----------
    node : yaml.Node
    source : str
        Name of the text in error messages.
    key : str
        Key of the rule that the node belongs to, empty for the whole text.
    """

    def __init__(self, node: Any, source: str, key: str = "") -> None:
        self.node, self.source, self.key = node, source, key

    def refuse(self, why: str) -> NoReturn:
        """Raise an InvalidInputError that names the line and the key."""
        key = f", {self.key}" if self.key else ""
        raise InvalidInputError(f"{self.source}, line {self.line}{key}: {why}")

    def expected(self, what: str) -> NoReturn:
        """Raise an InvalidInputError that says that ``what`` was expected here."""
        given = repr(self.node.value) if self.is_scalar else "a list" if self.is_list else "a mapping"
        self.refuse(f"expected {what}, got {given}.")

    def make(self, rule: Callable[..., Constraint], *arguments: Any, **named: Any) -> Constraint:
        """Call ``rule`` with the arguments, and return the result.

        The line number is added to the message of an InvalidInputError.
        """
        try:
            return rule(*arguments, **named)
        except InvalidInputError as error:
            self.refuse(str(error))

    @property
    def line(self) -> int:
        """Line number of the node in the text, starting at 1."""
        return int(self.node.start_mark.line) + 1

    @property
    def is_scalar(self) -> bool:
        """True for a string or a number."""
        return bool(self.node.id == "scalar")

    @property
    def is_list(self) -> bool:
        """True for a YAML list."""
        return bool(self.node.id == "sequence")

    @property
    def is_empty(self) -> bool:
        """True for an empty value: nothing, ``null``, ``none`` or ``~`` without quotes."""
        return self.is_scalar and self.node.style is None and self.node.value.lower() in EMPTY

    def mapping(self, expected: str) -> list[tuple[YamlNode, YamlNode]]:
        """Return the keys and values of a mapping.

        Raise an error if two keys are equal, or if the node is not a mapping. ``expected`` describes the mapping for the
        error message.
        """
        if self.node.id != "mapping":
            self.expected(expected)
        entries = [(self._part(key), self._part(value)) for key, value in self.node.value]
        lines: dict[str, int] = {}
        for key, _ in entries:
            if not key.is_scalar:
                key.expected("a name")
            if key.node.value in lines:
                key.refuse(f"the key {key.node.value!r} is already in line {lines[key.node.value]}.")
            lines[key.node.value] = key.line
        return entries

    def sequence(self, expected: str) -> list[YamlNode]:
        """Return the entries of a list.

        Raise an error if the node is not a list. ``expected`` describes the list for the error message.
        """
        if not self.is_list:
            self.expected(expected)
        return [self._part(part) for part in self.node.value]

    def pair(self, expected: str) -> list[YamlNode]:
        """Return the entries of a list that must have two entries."""
        parts = self.sequence(expected)
        if len(parts) != 2:
            self.expected(expected)
        return parts

    def one_or_more(self, expected: str) -> list[YamlNode]:
        """Return the entries of a list.

        If the node is a string, return a list with the node itself.
        """
        return [self] if self.is_scalar else self.sequence(expected)

    def text(self, expected: str = "a name") -> str:
        """Return the node as a string, which must not be empty."""
        if not self.is_scalar or not self.node.value:
            self.expected(expected)
        return str(self.node.value)

    def texts(self, expected: str) -> list[str]:
        """Return the node as a list of strings.

        A single string becomes a list of one.
        """
        return [part.text() for part in self.one_or_more(expected)]

    def number(self) -> float:
        """Return the node as a number."""
        try:
            if self.is_scalar:
                return float(self.node.value)
        except ValueError:
            pass
        self.expected("a number")

    def number_or_none(self) -> float | None:
        """Return the node as a number, or None if it is empty."""
        return None if self.is_empty else self.number()

    def _part(self, node: Any) -> YamlNode:
        return YamlNode(node, self.source, self.key)
