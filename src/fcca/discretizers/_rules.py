"""Rules on the counterfactuals of a discretizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fcca.constraints import Constraint, Fillable, Limits, check_rules, compile_rules, holds
from fcca.counterfactuals import STATUSES, CounterfactualEngine, Counterfactuals
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns

Floats = NDArray[np.float64]


def check_for_pieces(constraints: Iterable[Constraint], names: Sequence[str], *, is_linear: bool) -> None:
    """Raise an error, before any search, for rules that need all rows at once and for unknown columns."""
    for rule in check_rules(constraints):
        if rule.needs_all_rows(is_linear=is_linear):
            raise InvalidInputError(
                f"The rule {rule!r} needs all rows at once, but the rows come in pieces: rules between columns (sums, "
                "implications, one-hot groups) do. Leave it out, or use fit."
            )
        if unknown := [name for name in rule.columns if name not in names]:
            raise InvalidInputError(f"The rule {rule!r} names {unknown[0]!r}, but the columns are {list(names)}.")


@dataclass(frozen=True)
class Rules:
    """Rules with the columns of the training table."""

    given: tuple[Constraint, ...]
    columns: Columns

    @classmethod
    def of(cls, constraints: Iterable[Constraint], columns: Columns | None, names: Sequence[str]) -> Rules:
        """Check the rules; ``columns`` is None if all columns hold plain numbers."""
        own = Columns.numbers(len(names)) if columns is None else columns
        named = Columns(tuple(replace(column, name=name) for column, name in zip(own, names, strict=True)))
        return cls(check_rules(constraints), named)

    def limits(self, engine: CounterfactualEngine, rows: Floats, is_binary: NDArray[np.bool_]) -> Limits:
        """Compile the rules for some rows of the training table; ``is_binary`` marks columns of 0 and 1."""
        low, high = engine.cells.box_low, engine.cells.box_high
        return compile_rules(self.given, self.columns, low, high, rows, is_binary=is_binary)

    def checked(self, X: Floats, found: Counterfactuals, fillable: NDArray[np.bool_] | None) -> Counterfactuals:
        """Label counterfactuals that break a rule as unverified, from the rows alone.

        ``fillable`` marks columns whose missing values may be filled in.
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
