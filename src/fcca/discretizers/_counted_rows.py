"""Distinct binary rows with counts.

These counts contain everything that the search for a tree uses from a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.cells import special_cuts
from fcca.exceptions import FCCAError
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Keys = NDArray[np.uint64]

LARGEST_WORD = 2**63
ROWS_AT_A_TIME = 65_536
#: Maximum size of the distinct rows in bytes, which leaves enough memory for the search of the tree.
MOST_BYTES = 2**29
ROWS_OF_ERROR = 50_000


@dataclass(frozen=True)
class CountedRows:
    """Distinct rows, coded as keys (see :class:`RowCoder`), with counts and weights.

    The sum ``a + b`` of two objects counts the rows of both.

    Attributes
    ----------
    keys : ndarray of shape (n_distinct, n_words)
        The sorted keys: one row of whole numbers (words) per distinct row.
    n_rows : ndarray of shape (n_distinct,)
        Number of rows with each key.
    weight : ndarray of shape (n_distinct,)
        Sum of the weights of these rows.
    soft : ndarray of shape (n_distinct, n_classes)
        Sums of the soft labels of these rows: class probabilities of the black box times weights. The array has no columns
        if the black box has no probabilities.
    """

    keys: Keys
    n_rows: Codes
    weight: Floats
    soft: Floats

    @classmethod
    def of(
        cls, keys: Keys, n_rows: Codes | None = None, weight: Floats | None = None, soft: Floats | None = None
    ) -> CountedRows:
        """Sum counts, weights and soft labels by key.

        Parameters
        ----------
        keys : ndarray of shape (n_entries, n_words)
            Keys in any order; equal keys may occur several times.
        n_rows : ndarray of shape (n_entries,), optional
            Number of rows that each entry stands for. None means 1.
        weight : ndarray of shape (n_entries,), optional
            Sum of the weights of the rows that each entry stands for. None means 1 per row.
        soft : ndarray of shape (n_entries, n_classes), optional
            Sums of the soft labels of the rows that each entry stands for.
        """
        code = _numbered(keys)
        n = int(code.max(initial=-1)) + 1
        first = np.empty(n, dtype=np.int64)
        first[code[::-1]] = np.arange(len(code))[::-1]
        # Sums of whole numbers up to 2**53 are exact in float64, whatever their order.
        count = np.bincount(code, weights=n_rows, minlength=n)
        held = count.astype(np.float64) if weight is None else np.bincount(code, weights=weight, minlength=n)
        given = np.empty((len(keys), 0)) if soft is None else soft
        sums = [np.bincount(code, weights=column, minlength=n) for column in given.T]
        of_classes = np.stack(sums, axis=1).astype(np.float64) if sums else np.empty((n, 0))
        distinct = keys[first]
        order = np.lexsort(distinct.T[::-1])
        counts = count[order].astype(np.int64), held[order].astype(np.float64)
        return cls(distinct[order], *counts, of_classes[order])

    def __len__(self) -> int:
        return len(self.keys)

    def __reduce__(self) -> Any:
        """Pickle the rows compactly, because they are sent between processes.

        If the sums of soft labels are whole numbers, they are stored as 32-bit integers.
        """
        small = (
            self.soft.astype(np.int32)
            if np.all(np.mod(self.soft, 1) == 0) and self.soft.max(initial=0) < 2**31
            else self.soft
        )
        return _restored, (self.keys, self.n_rows, self.weight, small)

    def __add__(self, other: CountedRows) -> CountedRows:
        return CountedRows.of(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.n_rows, other.n_rows]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.soft, other.soft]),
        )

    @property
    def nbytes(self) -> int:
        """Number of bytes that the arrays need in memory."""
        return self.keys.nbytes + self.n_rows.nbytes + self.weight.nbytes + self.soft.nbytes


def _restored(keys: Keys, n_rows: Codes, weight: Floats, soft: NDArray[Any]) -> CountedRows:
    """Restore pickled rows."""
    return CountedRows(keys, n_rows, weight, soft.astype(np.float64))


class TooManyRowsError(FCCAError, MemoryError):
    """Raised if a table has too many distinct binary rows for the available memory.

    Parameters
    ----------
    n_rows, n_distinct : int
        Number of training rows counted so far, and number of distinct binary rows among them.
    some : CountedRows
        A sample of the distinct rows. The sample is small, because the error may be sent to another process.
    """

    def __init__(self, n_rows: int, n_distinct: int, some: CountedRows) -> None:
        super().__init__(f"The conditions give {n_distinct:,} distinct binary rows in {n_rows:,} rows: too many for memory.")
        self.n_rows, self.n_distinct, self.some = n_rows, n_distinct, some

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.n_rows, self.n_distinct, self.some)


@dataclass(frozen=True)
class DistinctRows:
    """The distinct training rows and the distinct held-out rows of a table.

    The sum ``a + b`` of two objects counts the rows of both.
    """

    training: CountedRows
    held_out: CountedRows
    n_conditions: int

    def __add__(self, other: DistinctRows) -> DistinctRows:
        both = DistinctRows(self.training + other.training, self.held_out + other.held_out, self.n_conditions)
        return both.checked()

    def checked(self) -> DistinctRows:
        """Return the object itself, or raise an error if it needs too much memory."""
        if sum(rows.nbytes + len(rows) * self.n_conditions for rows in (self.training, self.held_out)) > MOST_BYTES:
            rows = self.training
            every = slice(0, None, -(-len(rows) // ROWS_OF_ERROR) or 1)
            some = CountedRows(rows.keys[every], rows.n_rows[every], rows.weight[every], rows.soft[every])
            raise TooManyRowsError(int(rows.n_rows.sum()), len(rows), some)
        return self


def _numbered(keys: Keys) -> NDArray[np.intp]:
    """Assign an integer code to each key; equal keys get the same code."""
    code = pd.factorize(keys[:, 0])[0]
    for word in keys.T[1:]:
        other, distinct = pd.factorize(word)
        code = pd.factorize(code.astype(np.int64) * max(1, len(distinct)) + other)[0]
    return code


class Digit(NamedTuple):
    """The groups into which the conditions divide the values of one column.

    Values in the same group satisfy the same conditions. The index of a value's group is one digit of the row's key.
    """

    feature: int
    cuts: Floats | None  # for a numeric column: a value's group is the number of cuts below it
    group_of_code: Codes | None  # for a column of categories: the group of each code
    missing: int  # the group of missing values
    values: Floats  # one value from each group

    def of(self, x: Floats) -> Codes:
        """Return the index of the group of each value."""
        is_missing = np.isnan(x)
        any_missing = bool(is_missing.any())
        if self.cuts is not None:
            group = np.searchsorted(self.cuts, x)
        else:
            assert self.group_of_code is not None
            group = self.group_of_code[np.where(is_missing, 0, x).astype(np.intp) if any_missing else x.astype(np.intp)]
        if any_missing:
            group = np.where(is_missing, self.missing, group)
        return group.astype(np.int64, copy=False)


@dataclass(frozen=True)
class RowCoder:
    """Codes a row, its label and its prediction as a key.

    Two rows have equal keys if they satisfy the same conditions and have the same label and prediction. The digits of a key
    are the index of the label, the index of the prediction, and one digit per column with conditions. They are packed into
    one or more whole numbers (words).

    Attributes
    ----------
    n_features : int
        Number of columns of the table.
    digits : tuple of Digit
        One entry per column with conditions.
    n_labels, n_predictions : int
        Number of different labels, and of different predictions.
    """

    n_features: int
    digits: tuple[Digit, ...]
    n_labels: int
    n_predictions: int

    @classmethod
    def of(cls, table: ThresholdTable, n_labels: int, n_predictions: int) -> RowCoder:
        """Build the coder for the conditions of a threshold table."""
        used = [_digit(table, int(j)) for j in np.unique(table.feature)]
        return cls(len(table.feature_names), tuple(used), n_labels, n_predictions)

    @property
    def _words(self) -> list[list[int]]:
        """For each word of a key, the sizes of its digits.

        The size of a digit is the number of values that it can have. The label and the prediction are the first two digits
        of the first word.
        """
        words: list[list[int]] = [[]]
        product = 1
        for size in (self.n_labels, self.n_predictions, *(len(digit.values) for digit in self.digits)):
            if product * size > LARGEST_WORD:
                words.append([])
                product = 1
            words[-1].append(size)
            product *= size
        return words

    def count(
        self, X: Floats, label: Codes, prediction: Codes, weight: Floats | None = None, soft: Floats | None = None
    ) -> CountedRows:
        """Code rows as keys, and count equal keys.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Encoded rows, with codes for categories and NaN for missing values.
        label, prediction : ndarray of shape (n_rows,)
            Index of the label, and index of the class that the black box predicts, from 0.
        weight : ndarray of shape (n_rows,), optional
        soft : ndarray of shape (n_rows, n_classes), optional
            Soft labels.
        """
        keys = np.zeros((len(X), len(self._words)), dtype=np.uint64)
        groups = iter((label, prediction, *(digit.of(X[:, digit.feature]) for digit in self.digits)))
        for at, sizes in enumerate(self._words):
            for size in sizes:
                keys[:, at] = keys[:, at] * np.uint64(size) + next(groups).astype(np.uint64)
        return CountedRows.of(keys, weight=weight, soft=soft)

    def none(self, n_soft: int) -> CountedRows:
        """Return a :class:`CountedRows` without rows, with ``n_soft`` columns of soft labels."""
        return CountedRows.of(np.zeros((0, len(self._words)), dtype=np.uint64), soft=np.empty((0, n_soft)))

    def labels_and_predictions(self, rows: CountedRows) -> tuple[Codes, Codes]:
        """Decode the indices of the label and the prediction of each distinct row."""
        label, prediction, *_ = self._groups(rows.keys)
        return label, prediction

    def values(self, keys: Keys) -> Floats:
        """Decode keys into rows that satisfy the same conditions as the original rows.

        In each column with conditions, the decoded value is any value of the group. Columns without a condition are 0.
        """
        table = np.zeros((len(keys), self.n_features))
        for digit, group in zip(self.digits, self._groups(keys)[2:], strict=True):
            table[:, digit.feature] = digit.values[group]
        return table

    def binarized(self, rows: CountedRows, table: ThresholdTable) -> NDArray[np.int8]:
        """Compute the binary columns of the distinct rows.

        The conditions in ``table`` must be among the conditions of the coder.
        """
        B = np.empty((len(rows), len(table)), dtype=np.int8)
        for begin in range(0, len(rows), ROWS_AT_A_TIME):
            chunk = slice(begin, begin + ROWS_AT_A_TIME)
            B[chunk] = table.binarize(self.values(rows.keys[chunk]))
        return B

    def _groups(self, keys: Keys) -> list[Codes]:
        groups: list[Codes] = []
        for at, sizes in enumerate(self._words):
            rest = keys[:, at]
            found = []
            for size in sizes[::-1]:
                found.append((rest % np.uint64(size)).astype(np.int64))
                rest = rest // np.uint64(size)
            groups += found[::-1]
        return groups


def _digit(table: ThresholdTable, feature: int) -> Digit:
    mine = np.flatnonzero(table.feature == feature)
    asks_missing = bool((table.kind[mine] == "missing").any())
    sets = [codes for at in mine.tolist() if (codes := table.codes[at]) is not None]
    if not sets:
        kind, threshold = table.kind[mine], table.threshold[mine]
        cuts = np.union1d(threshold[kind == "cut"], special_cuts(threshold[kind == "special"]))
        values = cuts[:1] if len(cuts) else np.zeros(1)  # a value equal to the first cut is above no cut
        values = np.concatenate([values, np.nextafter(cuts, np.inf)])
        # A missing value is above no cut.
        missing = len(values) if asks_missing else 0
        return Digit(feature, cuts, None, missing, np.append(values, np.nan) if asks_missing else values)
    assert table.columns is not None
    n_categories = len(table.columns[feature].categories or ())
    patterns: dict[tuple[bool, ...], int] = {}
    group_of_code = np.zeros(n_categories, dtype=np.int64)
    values_of: list[float] = []
    for code in range(n_categories):
        pattern = tuple(code in codes for codes in sets)
        if pattern not in patterns:
            patterns[pattern] = len(patterns)
            values_of.append(float(code))
        group_of_code[code] = patterns[pattern]
    nowhere = (False,) * len(sets)
    if asks_missing or nowhere not in patterns:
        missing = len(values_of)
        values_of.append(np.nan)
    else:
        missing = patterns[nowhere]
    return Digit(feature, None, group_of_code, missing, np.array(values_of))
