"""The rules that a discretizer's counterfactuals keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fcca._columns import Columns
from fcca.constraints import Constraint, Fillable, Limits, check_rules, compile_rules, holds
from fcca.counterfactuals import STATUSES, CounterfactualEngine, Counterfactuals

Floats = NDArray[np.float64]


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

    def limits(self, engine: CounterfactualEngine, X: Floats, points: NDArray[np.int64]) -> Limits:
        """What they come to for some rows of the training table."""
        is_binary = np.array([np.isin(values[~np.isnan(values)], (0, 1)).all() for values in X.T])
        low, high = engine.cells.box_low, engine.cells.box_high
        return compile_rules(self.given, self.columns, low, high, X[points], is_binary=is_binary)

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
