"""Values that training did not have: unknown categories, and missing values where training had none."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.tables._table_checks import NAMES_SHOWN, called

if TYPE_CHECKING:
    from fcca.tables._columns import Columns

Floats = NDArray[np.float64]

#: The code of an unknown category in an encoded table.
UNKNOWN = -1.0
HANDLINGS = ("warn", "ignore", "error")


def check_handling(handle_unknown: str) -> None:
    """Check that ``handle_unknown`` is "warn", "ignore" or "error"."""
    if handle_unknown not in HANDLINGS:
        raise InvalidInputError(f"handle_unknown must be 'warn', 'ignore' or 'error', got {handle_unknown!r}.")


def warn_of_unknown(table: Floats, is_unknown: NDArray[np.bool_], names: Sequence[str] | None) -> None:
    """Warn once, with counts, if a table has values that training did not have.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_features)
        The encoded table.
    is_unknown : ndarray of bool, shape (n_rows, n_features)
        The values that training did not have.
    names : sequence of str or None
        Names of the columns.
    """
    rows = int(is_unknown.any(axis=1).sum())
    if rows == 0:
        return
    columns = np.flatnonzero(is_unknown.any(axis=0)).tolist()
    places = []
    for j in columns[:NAMES_SHOWN]:
        missing = int((is_unknown[:, j] & np.isnan(table[:, j])).sum())
        others = int(is_unknown[:, j].sum()) - missing
        counts = [f"{others:,} unknown categor{'y' if others == 1 else 'ies'}"] if others else []
        counts += [f"{missing:,} missing value{'' if missing == 1 else 's'}"] if missing else []
        places.append(f"{' and '.join(counts)} in column {called(names, j)}")
    more = f", … ({len(columns)} columns)" if len(columns) > NAMES_SHOWN else ""
    warnings.warn(
        f"{rows:,} of {len(table):,} rows have values that no training row has in the same column: "
        f"{', '.join(places)}{more}. An unknown category is in no set of categories, and conditions on such missing values "
        "are false.",
        UnknownValuesWarning,
        stacklevel=4,
    )


def cell_of(X: Any, row: int, column: int) -> Any:
    """Return one value of a table as the user gave it. X is a data frame, an array or a list of rows."""
    if hasattr(X, "iloc"):
        return X.iloc[row, column]
    return X[row, column] if hasattr(X, "shape") else X[row][column]


@dataclass(frozen=True)
class StandIns:
    """The values that a black box gets instead of values that it cannot take.

    An unknown category is replaced with the most frequent training category, if possible with one that the black box treats
    like an unknown category. A missing value that the black box does not take is replaced with the training median or the
    most frequent training category.

    Attributes
    ----------
    values : ndarray of shape (n_features,)
        Median of each numeric column, and code of a category of each column of categories. The first of equally frequent
        categories is used. NaN stands for a missing value.
    takes_missing, is_category : ndarray of bool, shape (n_features,)
        Whether the black box takes missing values in a column, and whether the column holds categories.
    """

    values: Floats
    takes_missing: NDArray[np.bool_]
    is_category: NDArray[np.bool_]

    @classmethod
    def of(cls, table: Floats, columns: Columns | None, like_unknown: Mapping[int, Floats] | None = None) -> StandIns:
        """Compute the values from encoded training rows.

        Parameters
        ----------
        table : ndarray of shape (n_rows, n_features)
        columns : Columns or None
            Columns of the black box; None for plain numbers without missing values.
        like_unknown : mapping of int to ndarray, optional
            Codes of the categories that the black box treats like an unknown one, by column; see
            :class:`fcca.models.Model`.
        """
        n = table.shape[1]
        takes_missing = np.zeros(n, dtype=np.bool_) if columns is None else columns.may_miss
        is_category = np.zeros(n, dtype=np.bool_) if columns is None else columns.is_category
        values = np.zeros(n)
        for j in range(n):
            present = table[~np.isnan(table[:, j]) & ~(is_category[j] & (table[:, j] == UNKNOWN)), j]
            alike = (like_unknown or {}).get(j, np.empty(0))
            if len(alike):
                number = [(present == code).sum() for code in alike]
                values[j] = alike[np.argmax(number)]  # NaN is the last entry, so it is used only if it is the only one
            elif len(present):
                values[j] = np.bincount(present.astype(np.intp)).argmax() if is_category[j] else np.median(present)
        return cls(values, takes_missing, is_category)

    def replaced(self, table: Floats) -> NDArray[np.bool_]:
        """Return a mask of the values that :meth:`fill` replaces."""
        mask: NDArray[np.bool_] = (np.isnan(table) & ~self.takes_missing) | ((table == UNKNOWN) & self.is_category)
        return mask

    def fill(self, table: Floats) -> Floats:
        """Replace the values of an encoded table that the black box cannot take.

        The table itself is returned if there are none.
        """
        mask = self.replaced(table)
        return np.where(mask, self.values, table) if mask.any() else table
