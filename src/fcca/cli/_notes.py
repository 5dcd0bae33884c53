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
class LeftOutRows:
    """Number of rows that are left out, and the first few row numbers.

    A row is left out if the black box cannot predict it.
    """

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


def notes_on_unknown(training: LeftOutRows, held_out: LeftOutRows, *, by: str) -> tuple[str, ...]:
    """Return notes on rows left out for unknown categories or missing values.

    Parameters
    ----------
    training, held_out : LeftOutRows
        Training rows that are left out, and held-out rows that are left out.
    by : str
        Clause that follows "categories or missing values", such as "that the black box does not know".
    """
    notes = []
    for left_out, kind, where in ((training, "training row", ""), (held_out, "held-out row", " of all rates")):
        if left_out.n:
            is_one = left_out.n == 1
            have = "has a category or a missing value" if is_one else "have categories or missing values"
            rows, are = (kind, "is") if is_one else (f"{kind}s", "are")
            notes.append(f"{left_out.n:,} {rows} {have} {by}, and {are} left out{where}: {left_out.described()}.")
    return tuple(notes)
