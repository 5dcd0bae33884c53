"""Distinct rows of 0 and 1 with their labels, counted where they are: all that an optimal tree has to know of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca._frames import called, column_names, float_table
from fcca._weights import check_weights
from fcca.exceptions import InvalidInputError
from fcca.streaming._counted import CountedRows
from fcca.streaming._stages import MOST_BYTES, Rows

BITS = 64


@dataclass(frozen=True)
class CountedBits:
    """Rows of 0 and 1 with labels; what more rows tell is ``a + b``.

    Attributes
    ----------
    n_columns : int
    classes : ndarray
        Sorted.
    rows : CountedRows
        A key is the position of the label among the classes, then the columns as bits.
    """

    n_columns: int
    classes: NDArray[Any]
    rows: CountedRows

    def __add__(self, other: CountedBits) -> CountedBits:
        classes = np.union1d(self.classes, other.classes)
        both = self._labelled(classes) + other._labelled(classes)
        return CountedBits(self.n_columns, classes, both).checked()

    def _labelled(self, classes: NDArray[Any]) -> CountedRows:
        """The rows, their labels as positions among more classes."""
        keys = self.rows.keys.copy()
        keys[:, 0] = np.searchsorted(classes, self.classes)[keys[:, 0].astype(np.intp)]
        return CountedRows(keys, self.rows.n_rows, self.rows.weight)

    def checked(self) -> CountedBits:
        """The same, or an error where there are too many."""
        if self.rows.nbytes + len(self.rows) * self.n_columns > MOST_BYTES:
            raise InvalidInputError(
                f"The {self.n_columns} columns tell more than {len(self.rows):,} rows apart, more than a tree's search has "
                "memory for. Give fewer columns, for example those of FCCADiscretizer with a higher Q."
            )
        return self

    def table(self) -> NDArray[np.int8]:
        """The distinct rows."""
        words = np.ascontiguousarray(self.rows.keys[:, 1:].astype("<u8"))
        return np.unpackbits(words.view(np.uint8), axis=1, count=self.n_columns, bitorder="little").astype(np.int8)

    def labels(self) -> NDArray[Any]:
        """Of the distinct rows."""
        found: NDArray[Any] = self.classes[self.rows.keys[:, 0].astype(np.intp)]
        return found


def counted_bits(rows: Rows) -> CountedBits | None:
    """Count the rows of a partition; None where it has none that count."""
    weight = None
    table, y = rows.X, rows.y
    if rows.sample_weight is not None:
        weight = check_weights(rows.sample_weight, len(y), may_all_be_0=True)
        kept = np.flatnonzero(weight > 0)
        table, y, weight = table.iloc[kept] if hasattr(table, "iloc") else table[kept], y[kept], weight[kept]
    if not len(y):
        return None
    bits = _bits(table)
    code, classes = pd.factorize(y, sort=True)
    packed = np.packbits(bits, axis=1, bitorder="little")
    n_words = -(-bits.shape[1] // BITS)
    words = np.zeros((len(bits), n_words * BITS // 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    keys = np.column_stack([code.astype(np.uint64), words.view("<u8").astype(np.uint64)])
    return CountedBits(bits.shape[1], np.asarray(classes, dtype=y.dtype), CountedRows.of(keys, weight=weight)).checked()


def _bits(X: Any) -> NDArray[np.bool_]:
    """X as 0 and 1, or an error that names a column which holds something else."""
    table = float_table(X) if not (isinstance(X, np.ndarray) and X.dtype.kind in "bui") else X
    ones: NDArray[np.bool_] = table == 1
    if not np.array_equal(ones, table):
        at = int(np.flatnonzero((ones != table).any(axis=0))[0])
        value = table[ones[:, at] != table[:, at], at][0]
        raise InvalidInputError(
            f"Column {called(column_names(X), at)} holds {value:g}. A tree on a Dask table takes columns of 0 and 1: cut "
            "the columns first, for example with fcca.dask.FCCADiscretizer."
        )
    return ones
