"""The rules Forbidden and Allowed: which categories may change to which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcca.constraints._arguments import checked_name
from fcca.constraints._check import Change
from fcca.constraints._compile import LimitsBuilder
from fcca.constraints._constraint import Constraint, OneColumn
from fcca.constraints._limits import Bools
from fcca.constraints._yaml import YamlNode
from fcca.exceptions import InvalidInputError


@dataclass(frozen=True, init=False, repr=False)
class Forbidden(OneColumn):
    """Forbid changes of a column from one category to another.

    Parameters
    ----------
    name : str
        A column that holds categories.
    pairs : list of pairs
        The forbidden changes ``(from, to)``.
    """

    pairs: tuple[tuple[Any, Any], ...]

    def __init__(self, name: str, pairs: Iterable[Sequence[Any]]) -> None:
        rule = f"Forbidden({checked_name('Forbidden', name)!r})"
        given = list(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, str | Mapping) else []
        if not given or any(isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2 for pair in given):
            raise InvalidInputError(
                f"{rule} expects a list of pairs (from, to), such as [('nurse', 'clerk')], got {pairs!r}."
            )
        self._set(name=name, pairs=tuple((pair[0], pair[1]) for pair in given))

    def compile(self, limits: LimitsBuilder) -> None:
        for start, end in self.pairs:
            codes = tuple(self.code(label, self.name, limits.columns) for label in (start, end))
            if codes[0] == codes[1]:
                self.refuse(f"the move from {start!r} to {end!r} starts and ends at the same category.")
            limits.moves_of(self.position(self.name, limits.columns))[codes] = np.inf

    def holds(self, change: Change) -> Bools:
        j = self.position(self.name, change.columns)
        kept = np.ones(len(change.moved), dtype=np.bool_)
        for pair in self.pairs:
            start, end = (self.code(label, self.name, change.columns) for label in pair)
            kept &= ~((change.before[:, j] == start) & (change.after[:, j] == end))
        return kept

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        found = []
        for key, entry in node.mapping("columns with pairs of categories, such as job: [[clerk, nurse]]"):
            pairs = [
                [label.text("a category") for label in pair.pair("a pair [from, to]")]
                for pair in entry.sequence("a list of pairs [from, to]")
            ]
            found.append(key.make(cls, key.text(), pairs))
        return found

    def __repr__(self) -> str:
        return f"Forbidden({self.name!r}, {list(self.pairs)!r})"


@dataclass(frozen=True, init=False, repr=False)
class Allowed(OneColumn):
    """Allow a category to change only to the categories listed for it.

    Parameters
    ----------
    name : str
        A column that holds categories.
    moves : mapping
        For each category, the list of categories that it may change to. A category that is not a key of the mapping may
        not change.
    """

    moves: tuple[tuple[Any, tuple[Any, ...]], ...]

    def __init__(self, name: str, moves: Mapping[Any, Iterable[Any]] | Iterable[Sequence[Any]]) -> None:
        rule = f"Allowed({checked_name('Allowed', name)!r})"
        given = list(moves.items()) if isinstance(moves, Mapping) else [tuple(entry) for entry in moves]
        if not given or any(
            len(entry) != 2 or isinstance(entry[1], str) or not isinstance(entry[1], Iterable) for entry in given
        ):
            raise InvalidInputError(
                f"{rule} expects a mapping from a category to a list of categories, such as {{'rents': ['owns']}}, got "
                f"{moves!r}."
            )
        self._set(name=name, moves=tuple((entry[0], tuple(entry[1])) for entry in given))

    def compile(self, limits: LimitsBuilder) -> None:
        j = self.position(self.name, limits.columns)
        other = limits.earlier("allowed", j, self)
        if other is not None and other != self:
            self.refuse(
                f"{other!r} already lists the allowed changes of column {self.name!r}. Put all changes into one rule."
            )
        codes = [
            [self.code(label, self.name, limits.columns) for label in (start, *ends)] for start, ends in self.moves
        ]  # also checks that the column holds categories
        moves = limits.moves_of(j)
        allowed = np.eye(len(moves), dtype=np.bool_)
        for code, *ends in codes:
            allowed[code, ends] = True
        moves[~allowed] = np.inf

    def finish(self, limits: LimitsBuilder) -> None:
        moves = limits.moves_of(self.position(self.name, limits.columns))
        for start, ends in self.moves:
            for end in ends:
                pair = tuple(self.code(label, self.name, limits.columns) for label in (start, end))
                if pair[0] != pair[1] and np.isinf(moves[pair]):
                    self.refuse(
                        f"the move from {start!r} to {end!r} is forbidden by another rule. Remove the move or that rule."
                    )

    def holds(self, change: Change) -> Bools:
        j = self.position(self.name, change.columns)
        kept: Bools = ~change.moved[:, j] | change.was_missing[:, j]
        for label, labels in self.moves:
            start, *ends = (self.code(one, self.name, change.columns) for one in (label, *labels))
            kept |= (change.before[:, j] == start) & np.isin(change.after[:, j], ends)
        return kept

    @classmethod
    def from_yaml(cls, node: YamlNode) -> list[Constraint]:
        found = []
        for key, entry in node.mapping("columns with their moves, such as job: {clerk: [nurse]}"):
            moves = {
                start.text("a category"): ends.texts("a list of categories")
                for start, ends in entry.mapping("a mapping from each category to a list of categories")
            }
            found.append(key.make(cls, key.text(), moves))
        return found

    def __repr__(self) -> str:
        listed = ", ".join(f"{start!r}: {list(ends)!r}" for start, ends in self.moves)
        return f"Allowed({self.name!r}, {{{listed}}})"
