"""The rules that a discretizer's counterfactuals keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fcca._columns import Columns
from fcca.constraints import (
    Constraint,
    Fillable,
    Implies,
    Limits,
    Linear,
    OneHot,
    Rule,
    check_rules,
    compile_rules,
    holds,
)
from fcca.counterfactuals import STATUSES, CounterfactualEngine, Counterfactuals
from fcca.exceptions import InvalidInputError

Floats = NDArray[np.float64]


# Rules for which a search looks at the values of all rows.
OF_ALL_ROWS, OF_ALL_ROWS_IF_LINEAR = (Rule, Linear, Implies, OneHot), (Implies,)


def check_for_pieces(constraints: Iterable[Constraint], names: Sequence[str], *, is_linear: bool) -> None:
    """Refuse, before any row is searched, rules that look at all rows at once, and columns that are not there."""
    for rule in check_rules(constraints):
        if isinstance(rule, OF_ALL_ROWS_IF_LINEAR if is_linear else OF_ALL_ROWS):
            raise InvalidInputError(
                f"The rule {rule!r} needs all rows at once, but the rows come in pieces: rules between columns (sums, "
                "implications, one-hot groups) do. Leave it out, or use fit."
            )
        if unknown := [name for name in rule.columns if name not in names]:
            raise InvalidInputError(f"The rule {rule!r} names {unknown[0]!r}, but the columns are {list(names)}.")


@dataclass(frozen=True)
class Rules:
    """Rules, and the columns that they know by name."""

    given: tuple[Constraint, ...]
    columns: Columns

    @classmethod
    def of(cls, constraints: Iterable[Constraint], columns: Columns | None, names: Sequence[str]) -> Rules:
        """Check what was given; ``columns`` is None where all of them are plain numbers."""
        own = Columns.numbers(len(names)) if columns is None else columns
        named = Columns(tuple(replace(column, name=name) for column, name in zip(own, names, strict=True)))
        return cls(check_rules(constraints), named)

    def limits(self, engine: CounterfactualEngine, rows: Floats, is_binary: NDArray[np.bool_]) -> Limits:
        """What they come to for some rows of the training table, whose columns of 0 and 1 are known."""
        low, high = engine.cells.box_low, engine.cells.box_high
        return compile_rules(self.given, self.columns, low, high, rows, is_binary=is_binary)

    def checked(self, X: Floats, found: Counterfactuals, fillable: NDArray[np.bool_] | None) -> Counterfactuals:
        """The same, those that break a rule labelled as unverified: the rules are judged anew from the rows themselves.

        ``fillable`` says where a missing value was allowed to be filled in.
        """
        answered = np.flatnonzero(found.is_status("optimal", "feasible"))
        if len(answered) == 0:
            return found
        points = found.take(answered).changed_table(X)
        filled = [] if fillable is None else [self.columns.names[j] for j in np.flatnonzero(fillable)]
        rules = (*self.given, Fillable(*filled)) if filled else self.given
        kept = holds(rules, self.columns, X[found.rows[answered]], points)
        status = found.status_code.copy()
        status[answered[~kept]] = STATUSES.index("unverified")
        return replace(found, status_code=status)
