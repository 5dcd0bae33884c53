"""Rules from a YAML file, with errors that name the entry and its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from fcca.constraints._lookup import close_to
from fcca.constraints._rules import (
    Allowed,
    Bounds,
    Constraint,
    Cost,
    Decreasing,
    Fillable,
    Forbidden,
    Grid,
    Immutable,
    Implies,
    Increasing,
    Integer,
    MaxChanges,
    OneHot,
    Rule,
)
from fcca.exceptions import InvalidInputError

NOTHING = ("", "~", "null", "none")
Node = Any  # PyYAML's nodes carry no types


def load_rules(path: str | Path) -> tuple[Constraint, ...]:
    """Rules from a file; see :func:`rules_from_yaml`."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path.name} is not a text in UTF-8: {error.reason} at byte {error.start}.") from error
    except OSError as error:
        raise InvalidInputError(f"The file of rules {path} cannot be read: {error.strerror}.") from error
    return rules_from_yaml(text, name=path.name)


def rules_from_yaml(text: str, *, name: str = "The rules") -> tuple[Constraint, ...]:
    """Rules from a text in YAML.

    Parameters
    ----------
    text : str
        A mapping with any of the keys ``immutable``, ``increasing``, ``decreasing``, ``integer``, ``fillable``, ``bounds``,
        ``grid``, ``cost``, ``forbidden``, ``allowed``, ``one_hot``, ``max_changes``, ``rules`` and ``implies``.
    name : str
        What messages call the text.

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
        # Texts stay texts: a category 'no' is not the boolean. Nodes are read and no objects are made.
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        raise InvalidInputError(
            f"{name}{where}: not valid YAML: {getattr(error, 'problem', None) or error}. Check indents, colons and brackets."
        ) from error
    except RecursionError as error:
        raise InvalidInputError(
            f"{name}: lists or mappings stand in each other too deeply. Rules need three levels."
        ) from error
    return _Reader(name).rules(root)


class _Reader:
    """Walks over the nodes of a file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = ""

    def refuse(self, node: Node, why: str) -> NoReturn:
        key = f", {self.key}" if self.key else ""
        raise InvalidInputError(f"{self.name}, line {node.start_mark.line + 1}{key}: {why}")

    def rules(self, root: Node) -> tuple[Constraint, ...]:
        found: list[Constraint] = []
        if root is None:
            return ()
        entries = self.mapping(root, f"a mapping with the keys {', '.join(KEYS)}")
        for key, _ in entries:
            if key.value not in KEYS:
                self.refuse(key, f"there is no key {key.value!r}. {close_to(key.value, KEYS)}")
        for key, node in entries:
            self.key = key.value
            if not (node.id == "scalar" and self.is_nothing(node)):
                found += KEYS[key.value](self, node)
        return tuple(found)

    # --- parts of the file ------------------------------------------------------------------------------------------------

    def is_nothing(self, node: Node) -> bool:
        return node.style is None and node.value.lower() in NOTHING

    def mapping(self, node: Node, expected: str) -> list[tuple[Node, Node]]:
        if node.id != "mapping":
            self.refuse(node, f"expected {expected}, got {_shown(node)}.")
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if key.id != "scalar":
                self.refuse(key, f"expected a name, got {_shown(key)}.")
            if key.value in seen:
                self.refuse(key, f"{key.value!r} stands in line {seen[key.value]} already.")
            seen[key.value] = key.start_mark.line + 1
        return list(node.value)

    def sequence(self, node: Node, expected: str) -> list[Node]:
        if node.id != "sequence":
            self.refuse(node, f"expected {expected}, got {_shown(node)}.")
        return list(node.value)

    def text(self, node: Node, expected: str = "a name") -> str:
        if node.id != "scalar" or not node.value:
            self.refuse(node, f"expected {expected}, got {_shown(node)}.")
        return str(node.value)

    def texts(self, node: Node, expected: str) -> list[str]:
        """A list of texts, or one."""
        return [self.text(part) for part in ([node] if node.id == "scalar" else self.sequence(node, expected))]

    def number(self, node: Node) -> float:
        try:
            if node.id == "scalar":
                return float(node.value)
        except ValueError:
            pass
        self.refuse(node, f"expected a number, got {_shown(node)}.")

    def end(self, node: Node) -> float | None:
        return None if node.id == "scalar" and self.is_nothing(node) else self.number(node)

    def pair(self, node: Node, expected: str) -> list[Node]:
        parts = self.sequence(node, expected)
        if len(parts) != 2:
            self.refuse(node, f"expected {expected}, got {_shown(node)}.")
        return parts

    def made(self, node: Node, kind: Callable[..., Constraint], *given: Any, **named: Any) -> Constraint:
        """A rule, or its own error with the line."""
        try:
            return kind(*given, **named)
        except InvalidInputError as error:
            self.refuse(node, str(error))

    def per_column(self, node: Node, expected: str) -> list[tuple[str, Node, Node]]:
        """Entries by column: name, the node of the name, the node of what is said of it."""
        return [(self.text(key), key, entry) for key, entry in self.mapping(node, expected)]

    # --- one reader per key -----------------------------------------------------------------------------------------------

    def bounds(self, node: Node) -> list[Constraint]:
        expected = "columns with their bounds, such as income: {low: 0, high: 10}"
        found: list[Constraint] = []
        for name, key, entry in self.per_column(node, expected):
            if entry.id == "sequence":
                ends = [self.end(part) for part in self.pair(entry, "two numbers [low, high]")]
                found.append(self.made(key, Bounds, name, *ends))
                continue
            said = {word.value: (word, part) for word, part in self.mapping(entry, "low, high, relative or by")}
            for word, (at, _) in said.items():
                if word not in BOUNDS:
                    self.refuse(at, f"bounds of {name!r} have no {word!r}. {close_to(word, BOUNDS)}")
            if not said:
                self.refuse(entry, f"nothing is said of {name!r}. Give low, high, relative or by.")
            if "low" in said or "high" in said:
                low, high = (self.end(said[word][1]) if word in said else None for word in ("low", "high"))
                found.append(self.made(key, Bounds, name, low, high))
            if "relative" in said:
                ends = [self.end(part) for part in self.pair(said["relative"][1], "two shares, such as [-0.2, 0.2]")]
                found.append(self.made(key, Bounds, name, *ends, relative=True))
            if "by" in said:
                ends = [self.end(part) for part in self.pair(said["by"][1], "two numbers, such as [-5, 5]")]
                found.append(self.made(key, Bounds, name, by=ends))
        return found

    def grid(self, node: Node) -> list[Constraint]:
        found: list[Constraint] = []
        for name, key, entry in self.per_column(node, "columns with their steps, such as children: 1"):
            named = {"step": entry} if entry.id == "scalar" else {}
            if entry.id != "scalar":
                for word, part in self.mapping(entry, "a step, or {step: 5, origin: 2}"):
                    if word.value not in ("step", "origin"):
                        self.refuse(word, f"a grid has no {word.value!r}. {close_to(word.value, ('step', 'origin'))}")
                    named[word.value] = part
            found.append(self.made(key, Grid, name, **{word: self.number(part) for word, part in named.items()}))
        return found

    def cost(self, node: Node) -> list[Constraint]:
        expected = "columns with their weights, such as income: 2"
        return [self.made(key, Cost, name, self.number(entry)) for name, key, entry in self.per_column(node, expected)]

    def forbidden(self, node: Node) -> list[Constraint]:
        found = []
        for name, key, entry in self.per_column(node, "columns with pairs of categories, such as job: [[clerk, nurse]]"):
            pairs = [
                [self.text(label, "a category") for label in self.pair(part, "a pair [from, to]")]
                for part in self.sequence(entry, "a list of pairs [from, to]")
            ]
            found.append(self.made(key, Forbidden, name, pairs))
        return found

    def allowed(self, node: Node) -> list[Constraint]:
        found = []
        for name, key, entry in self.per_column(node, "columns with their moves, such as job: {clerk: [nurse]}"):
            moves = {
                self.text(start, "a category"): self.texts(ends, "a list of categories")
                for start, ends in self.mapping(entry, "categories with those that they may become")
            }
            found.append(self.made(key, Allowed, name, moves))
        return found

    def one_hot(self, node: Node) -> list[Constraint]:
        groups = self.sequence(node, "a list of groups, such as [[a, b], [c, d]]")
        return [self.made(group, OneHot, *self._names_of_group(group)) for group in groups]

    def _names_of_group(self, node: Node) -> list[str]:
        return [self.text(part) for part in self.sequence(node, "a list of groups, such as [[a, b], [c, d]]")]

    def max_changes(self, node: Node) -> list[Constraint]:
        n = self.number(node)
        return [self.made(node, MaxChanges, int(n) if n.is_integer() else n)]

    def formulas(self, node: Node) -> list[Constraint]:
        parts = [node] if node.id == "scalar" else self.sequence(node, "a list of formulas, such as 'a <= b'")
        return [self.made(part, Rule, self.text(part, "a formula")) for part in parts]

    def implications(self, node: Node) -> list[Constraint]:
        expected = "a list of texts, such as 'education rises -> age rises'"
        found = []
        for part in [node] if node.id == "scalar" else self.sequence(node, expected):
            sides = self.text(part, expected).replace("→", "->").split("->")
            if len(sides) != 2:
                self.refuse(part, f"expected a text such as 'education rises -> age rises', got {_shown(part)}.")
            found.append(self.made(part, Implies, *sides))
        return found


def _of_columns(kind: type[Constraint]) -> Callable[[_Reader, Node], list[Constraint]]:
    def read(reader: _Reader, node: Node) -> list[Constraint]:
        names = reader.texts(node, "a list of columns, such as [age, sex]")
        return [reader.made(node, kind, *names)] if names else []

    return read


def _shown(node: Node) -> str:
    return repr(node.value) if node.id == "scalar" else "a mapping" if node.id == "mapping" else "a list"


BOUNDS = ("low", "high", "relative", "by")
KEYS: dict[str, Callable[[_Reader, Node], list[Constraint]]] = {
    "immutable": _of_columns(Immutable),
    "increasing": _of_columns(Increasing),
    "decreasing": _of_columns(Decreasing),
    "integer": _of_columns(Integer),
    "fillable": _of_columns(Fillable),
    "bounds": _Reader.bounds,
    "grid": _Reader.grid,
    "cost": _Reader.cost,
    "forbidden": _Reader.forbidden,
    "allowed": _Reader.allowed,
    "one_hot": _Reader.one_hot,
    "max_changes": _Reader.max_changes,
    "rules": _Reader.formulas,
    "implies": _Reader.implications,
}
