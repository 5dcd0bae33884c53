"""Notes that are printed beside a result."""

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
    """Collect warnings for users as texts; warnings for programmers are passed on."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif not issubclass(warning.category, UnverifiedCounterfactualWarning):  # an error is printed for these
            text = " ".join(str(warning.message).split())
            if text not in notes:
                notes.append(text)


# --- rows that the black box cannot predict -----------------------------------------------------------------------------


@dataclass
class LeftOutRows:
    """Rows that are left out: their number, and the first of them."""

    n: int = 0
    first: Sequence[int] = ()

    def add(self, rows: RowNumbers) -> None:
        """Leave out more rows, of a higher number."""
        self.n += len(rows)
        self.first = [*self.first, *rows[:ROWS_SHOWN].tolist()][:ROWS_SHOWN]

    def described(self) -> str:
        """Their numbers."""
        shown = listed_rows(np.array(self.first), None)
        return (shown if self.n <= ROWS_SHOWN else f"{shown}, … ({self.n} rows)") + " (the first is 0)"


def notes_on_unknown(training: LeftOutRows, held_out: LeftOutRows, *, by: str) -> tuple[str, ...]:
    """Notes on rows with categories or missing values that the black box does not know.

    Parameters
    ----------
    training, held_out : LeftOutRows
    by : str
        What is wrong with them, such as "that the black box does not know".
    """
    notes = []
    for left_out, kind, of, ending in (
        (training, "row", " to learn from", ("is left out", "are left out")),
        (held_out, "held-out row", "", ("counts for no rate", "count for no rate")),
    ):
        if left_out.n:
            have = f"{kind}{of} has a category or a gap" if left_out.n == 1 else f"{kind}s{of} have categories or gaps"
            notes.append(f"{left_out.n:,} {have} {by}, and {ending[left_out.n > 1]}: {left_out.described()}.")
    return tuple(notes)
