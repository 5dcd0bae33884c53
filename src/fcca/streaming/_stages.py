"""What is done with each piece of a table. What the pieces give adds up, in any order, to what the whole table gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from fcca._weights import check_weights
from fcca.counterfactuals import Cells, Counterfactuals
from fcca.discretizers._pieces import CodedPiece, as_learned_from, check_table, coded_piece
from fcca.discretizers._run import Run, Searched, Seen
from fcca.exceptions import FCCAError, InvalidInputError
from fcca.models._labels import column_of
from fcca.streaming._counted import CountedRows, RowCoder
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]
Labels = NDArray[Any]

#: Of the distinct rows: more would not leave a tree's search enough memory.
MOST_BYTES = 2**29
ROWS_OF_ERROR = 50_000


class Rows(NamedTuple):
    """A piece of a table, in raw units.

    Attributes
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional
    held_out : ndarray of bool of shape (n_rows,), optional
        Rows that nothing is learned from; rates are measured on them.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    held_out: NDArray[np.bool_] | None = None


class TooManyRowsError(FCCAError, MemoryError):
    """The conditions tell more rows apart than there is memory for.

    Parameters
    ----------
    n_rows, n_distinct : int
        Rows that were counted, and how many distinct ones they are.
    some : CountedRows
        Some of the latter: the error may have to be sent.
    """

    def __init__(self, n_rows: int, n_distinct: int, some: CountedRows) -> None:
        super().__init__(f"The conditions tell {n_distinct:,} of {n_rows:,} rows apart.")
        self.n_rows, self.n_distinct, self.some = n_rows, n_distinct, some

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.n_rows, self.n_distinct, self.some)


def _part(rows: Rows, run: Run, *, held_out: bool) -> CodedPiece:
    """The rows to learn from, or those held out."""
    if rows.y is None:
        raise InvalidInputError("A piece has no labels: y is None. Give pieces as (X, y) or (X, y, sample_weight).")
    if rows.held_out is None:
        return coded_piece(run, rows.X, rows.y, rows.sample_weight)
    chosen = np.flatnonzero(np.asarray(rows.held_out) == held_out)
    weight = None
    if rows.sample_weight is not None:
        weight = check_weights(rows.sample_weight, len(rows.held_out), may_all_be_0=True)[chosen]
    return coded_piece(run, _safe_indexing(rows.X, chosen), _safe_indexing(rows.y, chosen), weight)


# --- categories ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Categories:
    """The distinct values of some columns, by their numbers."""

    values: dict[int, pd.Series[Any]]

    def __add__(self, other: Categories) -> Categories:
        both = {j: pd.concat([values, other.values[j]]) for j, values in self.values.items()}
        return Categories({j: values.drop_duplicates() for j, values in both.items()})

    def table(self, n_features: int) -> pd.DataFrame:
        """A table that has them all, and nothing in the other columns."""
        n_rows = max(len(values) for values in self.values.values())
        nothing = pd.Series(np.zeros(n_rows))
        rows = np.arange(n_rows)
        columns = [
            values.iloc[np.minimum(rows, len(values) - 1)].reset_index(drop=True)
            if (values := self.values.get(j)) is not None
            else nothing
            for j in range(n_features)
        ]
        return pd.concat(columns, axis=1, ignore_index=True)


def categories(rows: Rows, run: Run, columns: list[int]) -> Categories | None:
    """The categories of the rows to learn from, as they were given.

    Parameters
    ----------
    rows : Rows
    run : Run
        Whose columns these are.
    columns : list of int
        Those whose labels the classifier has not kept.
    """
    counts = np.ones(check_table(rows.X), dtype=np.bool_)
    if rows.held_out is not None:
        counts &= ~np.asarray(rows.held_out)
    if rows.sample_weight is not None:
        counts &= check_weights(rows.sample_weight, len(counts), may_all_be_0=True) > 0
    if not counts.any():
        return None
    run.check_columns(rows.X)
    X = as_learned_from(rows.X if counts.all() else _safe_indexing(rows.X, np.flatnonzero(counts)))
    return Categories({j: column_of(X, j).drop_duplicates() for j in columns})


# --- ranges -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Observed:
    """What is known of rows before the first search."""

    seen: Seen
    n_rows: int  # to learn from
    classes: Labels  # of these
    all_classes: Labels  # those of rows held out included

    def __add__(self, other: Observed) -> Observed:
        return Observed(
            self.seen + other.seen,
            self.n_rows + other.n_rows,
            _both(self.classes, other.classes),
            _both(self.all_classes, other.all_classes),
        )


def _both(labels: Labels, others: Labels) -> Labels:
    """All labels, sorted; refuses texts or booleans beside numbers, which numpy would turn into texts or numbers."""
    for kind, types in (("texts", str), ("booleans", bool | np.bool_), ("dates", np.datetime64 | np.timedelta64)):
        if len({isinstance(some[0], types) for some in (labels, others) if len(some)}) > 1:
            raise InvalidInputError(
                f"The labels of one piece are {kind} and those of another are not: {labels[:3].tolist()} and "
                f"{others[:3].tolist()}. Give labels of one type."
            )
    return np.union1d(labels, others)


def observed(rows: Rows, run: Run) -> Observed | None:
    """Ranges and labels; None where there is no row."""
    piece = _part(rows, run, held_out=False)
    others = None if rows.held_out is None else _part(rows, run, held_out=True).y
    if not len(piece) and (others is None or not len(others)):
        return None
    run = run.fresh()
    if len(piece):
        run.observe(piece.X, keep=False)
    classes = np.unique(piece.y)
    every = classes if others is None else np.union1d(classes, others)
    return Observed(run.seen(), len(piece), classes, every)


# --- medians ------------------------------------------------------------------------------------------------------------

BITS = 16  # that a pass finds out
N_PASSES = 64 // BITS
TOP = np.uint64(1) << np.uint64(63)


@dataclass(frozen=True)
class Ranks:
    """How many values of some columns begin with each of the next bits, among those that begin like a rank's value."""

    count: NDArray[np.int64]  # columns × 2 ranks × 2**BITS

    @classmethod
    def of(cls, columns: Iterable[Floats], prefix: NDArray[np.uint64], at: int) -> Ranks:
        """Count the values of columns, none of them missing; ``prefix`` and ``at`` as in :func:`ranks`."""
        count = np.zeros((len(prefix), 2, 2**BITS), dtype=np.int64)
        shift = np.uint64(64 - BITS * (at + 1))
        for k, x in enumerate(columns):
            key = _ordered(x)
            for rank in range(2):
                mine = key if at == 0 else key[key >> (shift + np.uint64(BITS)) == prefix[k, rank]]
                digit = (mine >> shift) & np.uint64(2**BITS - 1)
                count[k, rank] = np.bincount(digit.astype(np.int64), minlength=2**BITS)
        return cls(count)

    def __add__(self, other: Ranks) -> Ranks:
        return Ranks(self.count + other.count)


def ranks(rows: Rows, run: Run, columns: list[int], prefix: NDArray[np.uint64], at: int) -> Ranks | None:
    """One pass towards the two middle values of columns, by the bits of their values.

    Parameters
    ----------
    rows : Rows
    run : Run
    columns : list of int
    prefix : ndarray of shape (n_columns, 2)
        The bits known so far of the two values in the middle.
    at : int
        The number of the pass.
    """
    piece = _part(rows, run, held_out=False)
    if not len(piece):
        return None
    return Ranks.of([x[~np.isnan(x)] for x in piece.X.T[columns]], prefix, at)


def _ordered(x: Floats) -> NDArray[np.uint64]:
    """Whole numbers in the order of floats."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)  # + 0.0: there is one zero
    return np.where(bits & TOP, ~bits, bits | TOP)


def _float_of(key: NDArray[np.uint64]) -> Floats:
    """The floats of :func:`_ordered`."""
    return np.where(key & TOP, key ^ TOP, ~key).view(np.float64)


def medians(columns: list[int], one_pass: Callable[[NDArray[np.uint64], int], Ranks]) -> dict[int, float]:
    """The medians of columns, from passes that each find out more of the bits of the two values in the middle.

    Parameters
    ----------
    columns : list of int
    one_pass : callable
        Takes the bits known so far and the number of the pass; gives the sum of :func:`ranks` over all rows.
    """
    prefix = np.zeros((len(columns), 2), dtype=np.uint64)
    left = np.zeros((len(columns), 2), dtype=np.int64)  # ranks among the values that begin with the prefix
    for at in range(N_PASSES):
        count = one_pass(prefix, at).count
        if at == 0:
            n = count[:, 0].sum(axis=1)
            left[:] = np.stack([(n - 1) // 2, n // 2], axis=1)
        upto = np.cumsum(count, axis=2)
        digit = (upto <= left[:, :, None]).sum(axis=2)
        below = np.take_along_axis(upto - count, digit[:, :, None], axis=2)[:, :, 0]
        left -= below
        prefix = (prefix << np.uint64(BITS)) | digit.astype(np.uint64)
    low, high = _float_of(prefix).T
    with np.errstate(over="ignore"):  # as np.median has it
        middle = np.where(low == high, low, (low + high) / 2)
    return dict(zip(columns, middle.tolist(), strict=True))


# --- searches -----------------------------------------------------------------------------------------------------------


def searched(rows: Rows, run: Run, keep: Callable[[Counterfactuals], None] | None = None) -> Searched | None:
    """The counterfactuals of the rows to learn from, as counts of what they cross.

    Parameters
    ----------
    rows : Rows
    run : Run
        Knowing all rows.
    keep : callable, optional
        Takes the counterfactuals themselves, whose rows are those of the piece.
    """
    piece = _part(rows, run, held_out=False)
    if not len(piece):
        return None
    answers = run.search(piece.X, piece.y, piece.weight)
    if keep is not None:
        keep(answers.found)
    return run.lean(answers.searched)


@dataclass(frozen=True)
class Around:
    """The values around thresholds."""

    cells: Cells

    def __add__(self, other: Around) -> Around:
        return Around(self.cells.joined(other.cells))


def around(rows: Rows, run: Run, merged: ThresholdTable) -> Around | None:
    """The values of the rows to learn from around thresholds."""
    piece = _part(rows, run, held_out=False)
    return Around(run.values_around(merged, piece.X)) if len(piece) else None


# --- rows ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """Distinct rows."""

    training: CountedRows
    held_out: CountedRows
    n_conditions: int

    def __add__(self, other: Counted) -> Counted:
        both = Counted(self.training + other.training, self.held_out + other.held_out, self.n_conditions)
        return both.checked()

    def checked(self) -> Counted:
        """The same, or an error where there are too many."""
        if sum(rows.nbytes + len(rows) * self.n_conditions for rows in (self.training, self.held_out)) > MOST_BYTES:
            rows = self.training
            every = slice(0, None, -(-len(rows) // ROWS_OF_ERROR) or 1)
            some = CountedRows(rows.keys[every], rows.n_rows[every], rows.weight[every])
            raise TooManyRowsError(int(rows.n_rows.sum()), len(rows), some)
        return self


def counted(rows: Rows, run: Run, coder: RowCoder, classes: Labels, n_conditions: int) -> Counted:
    """The rows, as the conditions see them, with their labels and the black box's answers."""

    def part(*, held_out: bool) -> CountedRows:
        piece = _part(rows, run, held_out=held_out)
        if not len(piece):
            return coder.none()
        label = np.minimum(np.searchsorted(classes, piece.y), len(classes) - 1)
        if unknown := piece.y[classes[label] != piece.y][:1].tolist():
            raise InvalidInputError(
                f"The label {unknown[0]!r} was not there when the table was first gone through. It has to stay the same."
            )
        answer = run.engine.class_index(run.engine.predict(piece.X)).astype(np.int64)
        return coder.count(piece.X, label, answer, piece.weight)

    training = part(held_out=False)
    return Counted(training, coder.none() if rows.held_out is None else part(held_out=True), n_conditions).checked()
