"""Notes for the user, which are printed with the result of a command."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import UnverifiedCounterfactualWarning
from fcca.tables import ROWS_SHOWN, listed_rows

RowNumbers = NDArray[np.int64]


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Catch the warnings of a ``with`` block, and collect their texts as notes.

    Each text is collected once. Deprecation warnings are not collected, but issued again after the block. Warnings about
    unverified counterfactuals are ignored, because an error message reports them.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif not issubclass(warning.category, UnverifiedCounterfactualWarning):  # printed as an error instead
            text = " ".join(str(warning.message).split())
            if text not in notes:
                notes.append(text)


# --- rows that the black box cannot predict -----------------------------------------------------------------------------


@dataclass
class UnknownRows:
    """Number of rows with an unknown category or an unexpected missing value, and the first few row numbers."""

    n: int = 0
    first: Sequence[int] = ()

    def add(self, rows: RowNumbers) -> None:
        """Add row numbers, which must be higher than those added before."""
        self.n += len(rows)
        self.first = [*self.first, *rows[:ROWS_SHOWN].tolist()][:ROWS_SHOWN]

    def described(self) -> str:
        """Return a text with the first few row numbers, counted from 0."""
        shown = listed_rows(np.array(self.first), None)
        return (shown if self.n <= ROWS_SHOWN else f"{shown}, … ({self.n} rows)") + " (counted from 0)"


def notes_on_unknown(training: UnknownRows, held_out: UnknownRows, *, by: str) -> tuple[str, ...]:
    """Return notes on rows with unknown categories or unexpected missing values.

    Parameters
    ----------
    training, held_out : UnknownRows
        Training rows, which are left out, and held-out rows, which are not.
    by : str
        Clause that follows "categories or missing values", such as "that the black box does not know".
    """
    notes = []
    for unknown, kind in ((training, "training row"), (held_out, "held-out row")):
        if unknown.n == 0:
            continue
        have = "has a category or a missing value" if unknown.n == 1 else "have categories or missing values"
        rows, are = (kind, "is") if unknown.n == 1 else (f"{kind}s", "are")
        left_out = f", and {are} left out" if unknown is training else ""
        effect = "" if unknown is training else " No condition holds for such a value."
        notes.append(f"{unknown.n:,} {rows} {have} {by}{left_out}: {unknown.described()}.{effect}")
    return tuple(notes)
