"""Check whether changed rows obey the rules.

The checks use the rules themselves, not the limits that are compiled from the rules for the searches.
"""

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
    """Rows before and after a change, the argument of :meth:`Constraint.holds`.

    Attributes
    ----------
    columns : Columns
        Names and categories of the columns.
    before, after : ndarray of shape (n_rows, n_features)
        The rows before and after the change. Categories are given as codes.
    was_missing, is_missing : ndarray of shape (n_rows, n_features)
        ``was_missing`` marks values that are missing before the change, ``is_missing`` values that are missing after it.
    moved : ndarray of shape (n_rows, n_features)
        True for values that differ before and after the change.
    """

    def __init__(self, rules: Iterable[Constraint], columns: Columns, before: Floats, after: Floats) -> None:
        self.columns = columns
        self.before, self.after = before, after
        self.was_missing, self.is_missing = np.isnan(before), np.isnan(after)
        self.moved: Bools = (before != after) & ~(self.was_missing & self.is_missing)
        self._groups = {tuple(rule.position(name, columns) for name in rule.group) for rule in rules if rule.group}

    @cached_property
    def n_changes(self) -> NDArray[np.int64]:
        """Number of changed columns per row.

        A one-hot group counts as one column.
        """
        alone = np.ones(self.moved.shape[1], dtype=np.bool_)
        n = np.zeros(len(self.moved), dtype=np.int64)
        for group in self._groups:
            alone[list(group)] = False
            n += any_of(self.moved[:, list(group)])
        n += self.moved[:, alone].sum(axis=1)
        return n


def holds(rules: Iterable[Constraint], columns: Columns, before: Floats, after: Floats) -> Bools:
    """Check for each row whether its change obeys all rules.

    Parameters
    ----------
    rules : iterable of Constraint
    columns : Columns
    before, after : ndarray of shape (n_rows, n_features)
        The rows before and after the change. Categories are given as codes.

    Returns
    -------
    ndarray of shape (n_rows,)
        True for rows whose change obeys all rules.
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

    Such rows are allowed, because rules restrict only changes. A broken rule restricts the counterfactual of a row only if
    the counterfactual changes one of the rule's columns.

    Parameters
    ----------
    rules : iterable of Constraint
    columns : Columns
    table : ndarray of shape (n_rows, n_features)
        The rows. Categories are given as codes.

    Returns
    -------
    DataFrame
        One line per broken rule and row. The columns are ``row`` (the position of the row), ``rule``, and ``why`` with the
        values that break the rule.
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
