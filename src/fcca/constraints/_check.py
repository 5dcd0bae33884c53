"""Check rules on rows, independently of the compiled limits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.constraints._constraint import Constraint, any_of, check_rules
from fcca.constraints._limits import Bools, Floats
from fcca.tables import Columns


class Change:
    """Rows before and after a change, categories as codes.

    Attributes
    ----------
    columns : Columns
    before, after : ndarray of shape (n_rows, n_features)
    was_missing, is_missing : ndarray of shape (n_rows, n_features)
    moved : ndarray of shape (n_rows, n_features)
        Values that differ.
    """

    def __init__(self, rules: Iterable[Constraint], columns: Columns, before: Floats, after: Floats) -> None:
        self.columns = columns
        self.before, self.after = before, after
        self.was_missing, self.is_missing = np.isnan(before), np.isnan(after)
        self.moved: Bools = (before != after) & ~(self.was_missing & self.is_missing)
        self._groups = {tuple(rule.position(name, columns) for name in rule.group) for rule in rules if rule.group}

    @cached_property
    def n_changes(self) -> NDArray[np.int64]:
        """Changes per row; a group is one change."""
        alone = np.ones(self.moved.shape[1], dtype=np.bool_)
        n = np.zeros(len(self.moved), dtype=np.int64)
        for group in self._groups:
            alone[list(group)] = False
            n += any_of(self.moved[:, list(group)])
        n += self.moved[:, alone].sum(axis=1)
        return n


def holds(rules: Iterable[Constraint], columns: Columns, before: Floats, after: Floats) -> Bools:
    """Check which changed rows keep all rules.

    Parameters
    ----------
    rules : iterable of Constraint
    columns : Columns
    before, after : ndarray of shape (n_rows, n_features)
        The rows before and after the change, categories as codes.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    given = check_rules(rules)
    before, after = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    change = Change(given, columns, before, after)
    kept = ~any_of(change.is_missing & ~change.was_missing)  # a change never removes a value
    fillable = {name for rule in given for name in rule.fillable_columns}
    closed = [j for j, name in enumerate(columns.names) if name not in fillable]
    kept &= ~any_of((change.was_missing & ~change.is_missing)[:, closed])
    for rule in given:
        kept &= rule.holds(change)
    return kept


def broken_by(rules: Iterable[Constraint], columns: Columns, table: Floats) -> pd.DataFrame:
    """List the rules that rows break before any change.

    A search ignores such a rule for a row until one of its columns changes.

    Parameters
    ----------
    rules : iterable of Constraint
    columns : Columns
    table : ndarray of shape (n_rows, n_features)
        Categories as codes.

    Returns
    -------
    DataFrame
        ``row`` (position), ``rule`` and ``why``.
    """
    found = [
        (int(row), repr(rule), broken.why(int(row)))
        for rule in check_rules(rules)
        for broken in rule.violations(columns, table)
        for row in np.flatnonzero(broken.rows)
    ]
    found.sort(key=lambda line: line[0])
    frame = pd.DataFrame(found, columns=["row", "rule", "why"])
    return frame.astype({"row": np.int64, "rule": "string", "why": "string"})
