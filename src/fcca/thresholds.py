"""ThresholdTable: conditions with counts, independent of the black box and the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fcca.conditions import (
    Codes,
    binarized,
    checked_codes,
    codes_of,
    common_columns,
    condition_in_words,
    has_number,
    leaders,
    read_document,
    set_categories,
    set_labels,
    smaller_side,
    sorted_conditions,
    user_condition,
    user_pair,
    written_document,
)
from fcca.exceptions import InvalidInputError
from fcca.tables import Columns, check_column_names
from fcca.utils import bar, decimal_in_gap, html_table, paragraph

Floats = NDArray[np.float64]
Labels = tuple[Any, ...]

__all__ = ["ThresholdTable"]

CONDITIONS_IN_HTML = 30
ARRAYS = ("feature", "threshold", "cut", "below", "above", "count")
SHARES = ("share", "share_low", "share_high")


@dataclass(frozen=True)
class ThresholdTable:
    """Conditions on single columns, with the weight of the counterfactuals that cross them.

    A condition is a cut ``x > threshold``, a special value ``x is -9``, a set ``x in {…}`` of categories, or ``x is
    missing``. If x is missing, only the last one is true. A cut compares a special value as the number that it is.
    Conditions are unique and sorted by feature, then kind, then threshold or categories. Tables are
    immutable: every method returns a new table. The sum of two tables with ``+`` adds the counts of equal conditions.

    Attributes
    ----------
    feature_names : tuple of str
        Names of all columns of X, with or without a condition.
    feature : ndarray of shape (n_conditions,)
        Column of each condition, as a position in ``feature_names``.
    threshold : ndarray of shape (n_conditions,)
        The number in the condition; NaN for sets and ``is missing``. ``cut``, ``below`` and ``above`` are NaN for all
        conditions but cuts.
    cut : ndarray of shape (n_conditions,)
        The threshold before rounding, usually a split value of the black box.
    below, above : ndarray of shape (n_conditions,)
        The training values next to the threshold: the largest value up to it, and the smallest value above it.
    count : ndarray of shape (n_conditions,)
        Weight of the counterfactuals that cross the condition.
    kind : ndarray of shape (n_conditions,)
        ``"cut"``, ``"special"``, ``"set"`` or ``"missing"``.
    labels : tuple of (tuple or None)
        The categories of a set, in the order of the column's categories; None for cuts and ``is missing``. A set and its
        complement make the same split. The table stores the set with fewer categories. If both have the same size, it is
        the set without the column's first category.
    columns : Columns or None
        Categories and missing values of the columns; None if all columns are plain numbers.
    zero_one : frozenset of int
        Columns with a cut whose training values are 0 and 1, besides special values. Their cut is 0.5, and is called
        ``x = 1``.
    special : dict of int to tuple of float
        The special values that training rows have in each column with cuts, sorted. Columns without them are left out.
    share, share_low, share_high : ndarray of shape (n_conditions,), or None
        Share of the searched rows whose counterfactual crosses the condition, and its confidence interval. They are None
        unless the rows are a sample. With a probability of 95 %, all intervals hold the shares of all rows.

    Examples
    --------
    >>> from fcca import ThresholdTable
    >>> table = ThresholdTable.from_list([("RM", 6.94), ("LSTAT", 9.725)], ["RM", "LSTAT"])
    >>> table.names()
    ['RM > 6.94', 'LSTAT > 9.725']
    >>> table.binarize([[7.0, 9.0], [6.0, 9.725]]).tolist()
    [[1, 0], [0, 0]]

    With categories and missing values, given a data frame:

    >>> import pandas as pd
    >>> X = pd.DataFrame({"income": [3.5, None, 2.0], "purpose": ["car", "tv", "boat"]})
    >>> table = ThresholdTable.from_list([("purpose", {"car"}), ("income", 3.0), ("income", None)], X)
    >>> table.names()
    ['income > 3', 'income is missing', 'purpose = "car"']
    >>> table.binarize(X).tolist()
    [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    """

    feature_names: tuple[str, ...]
    feature: NDArray[np.int32]
    threshold: Floats
    cut: Floats
    below: Floats
    above: Floats
    count: Floats
    kind: NDArray[np.str_] = None  # type: ignore[assignment]  # all cuts
    labels: tuple[Labels | None, ...] = None  # type: ignore[assignment]
    columns: Columns | None = None
    zero_one: frozenset[int] = frozenset()
    special: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    share: Floats | None = None
    share_low: Floats | None = None
    share_high: Floats | None = None
    _codes: tuple[Codes | None, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n = len(self.feature)
        for name in ARRAYS:
            self._freeze(name, np.array(getattr(self, name), dtype=np.int32 if name == "feature" else np.float64))
        for name in SHARES if self.share is not None else ():
            self._freeze(name, np.array(getattr(self, name), dtype=np.float64))
        self._freeze("kind", np.full(n, "cut") if self.kind is None else np.array(self.kind, dtype="U7"))
        labels = (None,) * n if self.labels is None else tuple(None if one is None else tuple(one) for one in self.labels)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "feature_names", tuple(str(name) for name in self.feature_names))
        if n and not (self.feature.min() >= 0 and self.feature.max() < len(self.feature_names)):
            raise InvalidInputError(
                f"'feature' has a column number out of range. There are {len(self.feature_names)} columns, numbered from 0."
            )
        if self.columns is not None and len(self.columns.columns) != len(self.feature_names):
            raise InvalidInputError(
                f"feature_names has {len(self.feature_names)} names for {len(self.columns.columns)} columns. Give one name "
                "per column."
            )
        object.__setattr__(self, "_codes", checked_codes(self.feature_names, self.feature, self.kind, labels, self.columns))
        object.__setattr__(self, "zero_one", frozenset(self.zero_one) & self.columns_with_cuts)
        if not np.isfinite(self.threshold[has_number(self.kind)]).all():
            raise InvalidInputError("Thresholds must be finite numbers.")
        order, first = sorted_conditions(self.feature, self.kind, self.threshold, self._codes)
        if not np.array_equal(order, np.arange(n)):
            raise InvalidInputError("Conditions must be sorted by feature, kind, and threshold or categories.")
        if not first.all():
            raise InvalidInputError("A condition occurs twice. Conditions must be unique; from_counts combines equal ones.")

    @cached_property
    def _names(self) -> list[str]:  # computed on first use, because intermediate tables may be long
        entries = zip(self.feature, self.kinds_in_words.tolist(), self.threshold, self.labels, strict=True)
        return [condition_in_words(self.feature_names[j], kind, t, labels) for j, kind, t, labels in entries]

    def _freeze(self, name: str, column: NDArray[Any]) -> None:
        column.flags.writeable = False
        object.__setattr__(self, name, column)

    # --- constructors -------------------------------------------------------------------------------------------------

    @classmethod
    def from_counts(
        cls,
        feature_names: Sequence[str],
        feature: ArrayLike,
        threshold: ArrayLike,
        count: ArrayLike,
        *,
        kind: ArrayLike | None = None,
        labels: Sequence[Sequence[Any] | None] | None = None,
        columns: Columns | None = None,
    ) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Build a table from entries, and sum the counts of equal conditions.

        Also returns the position of each entry's condition in the table.

        Parameters
        ----------
        feature_names : sequence of str
        feature, threshold, count : array-like of shape (n_entries,)
            The threshold of a cut, or the special value. It is ignored for other kinds.
        kind : array-like of shape (n_entries,), optional
            ``"cut"``, ``"special"``, ``"set"`` or ``"missing"``. None means that all entries are cuts.
        labels : sequence of (sequence or None), optional
            The categories of the sets. A set may be replaced by its complement, which makes the same split.
        columns : Columns, optional
            Categories of the columns; required if there are sets.
        """
        feature, threshold = np.asarray(feature, dtype=np.int32), np.asarray(threshold, dtype=np.float64)
        names = tuple(feature_names)
        kinds = np.full(len(feature), "cut") if kind is None else np.asarray(kind, dtype="U7")
        sides: list[Codes | None] = [None] * len(feature)
        known: dict[tuple[int, Labels], Codes] = {}
        for at in np.flatnonzero(kinds == "set").tolist():
            given = (int(feature[at]), tuple((labels[at] if labels is not None else None) or ()))
            if given not in known:
                categories = set_categories(columns, given[0])
                known[given] = smaller_side(codes_of(names[given[0]], categories, given[1]), len(categories or ()))
            sides[at] = known[given]
        threshold = np.where(has_number(kinds), threshold, np.nan)
        order, first = sorted_conditions(feature, kinds, threshold, sides)
        condition = np.empty(len(order), dtype=np.int64)
        condition[order] = np.cumsum(first) - 1
        kept = order[first]
        unknown = np.full(len(kept), np.nan)
        sums = _sums(condition, np.asarray(count, dtype=np.float64), len(kept))
        chosen: Any = None
        if known:
            chosen = [
                None if (side := sides[at]) is None else set_labels(columns, feature[at], side) for at in kept.tolist()
            ]
        cut = np.where(kinds[kept] == "cut", threshold[kept], np.nan)
        table = cls(names, feature[kept], threshold[kept], cut, unknown, unknown, sums, kinds[kept], chosen, columns)
        return table, condition

    @classmethod
    def from_list(cls, conditions: Sequence[tuple[str, Any]], feature_names: Any) -> ThresholdTable:
        """Build a table from a list of conditions; every count is 1.

        Parameters
        ----------
        conditions : sequence of tuple
            ``(column, threshold)`` for ``column > threshold``, ``(column, {category, …})`` for a set of categories, or
            ``(column, None)`` for ``is missing``.
        feature_names : sequence of str, or data frame
            The names of all columns, or a data frame with these columns. The data frame is required for sets of categories.
        """
        columns = feature_names if isinstance(feature_names, Columns) else None
        if hasattr(feature_names, "columns") and columns is None:
            columns = Columns.of_table(feature_names)
        names = list(feature_names) if columns is None else list(columns.names)
        conditions = [user_pair(given) for given in conditions]
        unknown = sorted({name for name, _ in conditions} - set(names))
        if unknown:
            raise InvalidInputError(f"No column named {', '.join(map(repr, unknown))}. The columns are {names}.")
        feature = [names.index(name) for name, _ in conditions]
        entries = [user_condition(columns, j, *given) for j, given in zip(feature, conditions, strict=True)]
        kind, threshold = [kind for kind, _, _ in entries], [number for _, number, _ in entries]
        labels, counts = [labels for _, _, labels in entries], np.ones(len(entries))
        if columns is not None and not columns.has_categories and not any(column.missing for column in columns.columns):
            columns = None
        table, _ = cls.from_counts(names, feature, threshold, counts, kind=kind, labels=labels, columns=columns)
        return replace(table, count=np.minimum(table.count, 1.0))

    @classmethod
    def from_sets(
        cls, feature_names: Sequence[str], asked: Sequence[tuple[int, Sequence[Any] | None]], columns: Columns
    ) -> ThresholdTable:
        """Build a table of sets of categories and of ``is missing``; every count is 1.

        Each entry of ``asked`` is a pair: the position of a column, and its categories or None for ``is missing``.
        """
        kind = ["missing" if labels is None else "set" for _, labels in asked]
        feature, labels = [j for j, _ in asked], [labels for _, labels in asked]
        nothing, ones = np.full(len(asked), np.nan), np.ones(len(asked))
        table, _ = cls.from_counts(feature_names, feature, nothing, ones, kind=kind, labels=labels, columns=columns)
        return replace(table, count=np.minimum(table.count, 1.0))

    def renamed(self, feature_names: Sequence[str]) -> ThresholdTable:
        """Copy the table with new names for all columns of X."""
        return replace(self, feature_names=tuple(feature_names))

    def with_neighbours(self, cut: Floats, below: Floats, above: Floats) -> ThresholdTable:
        """Copy the table with new values of ``cut``, ``below`` and ``above``."""
        return replace(self, cut=cut, below=below, above=above)

    def with_shares(self, share: Floats, low: Floats, high: Floats) -> ThresholdTable:
        """Copy the table with new values of ``share``, ``share_low`` and ``share_high``."""
        return replace(self, share=share, share_low=low, share_high=high)

    # --- use ----------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.feature)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ThresholdTable):
            return NotImplemented
        plain = ("feature_names", "labels", "columns", "zero_one", "special")
        return (
            all(getattr(self, name) == getattr(other, name) for name in plain)
            and np.array_equal(self.kind, other.kind)
            and all(np.array_equal(getattr(self, name), getattr(other, name), equal_nan=True) for name in ARRAYS)
            and (self.share is None) == (other.share is None)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in SHARES if self.share is not None)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (getattr(self, name) for name in ARRAYS)
        # Call __post_init__ again, so that the arrays stay read-only.
        rest = (self.labels, self.columns, self.zero_one, self.special, *(getattr(self, name) for name in SHARES))
        return type(self), (self.feature_names, *arrays, self.kind, *rest)

    def names(self) -> list[str]:
        """Return the conditions as strings, such as ``"RM > 6.94"`` or ``"income is missing"``."""
        return list(self._names)

    @property
    def features_used(self) -> list[str]:
        """Names of the columns with at least one condition."""
        return [self.feature_names[j] for j in np.unique(self.feature)]

    @property
    def columns_with_cuts(self) -> frozenset[int]:
        """Positions of the columns with at least one cut."""
        return frozenset(self.feature[self.kind == "cut"].tolist())

    @property
    def codes(self) -> tuple[Codes | None, ...]:
        """Category codes of every set; None for cuts and ``is missing``."""
        return self._codes

    @property
    def kinds_in_words(self) -> NDArray[np.str_]:
        """The kinds for :func:`fcca.conditions.condition_in_words`: "one" for ``x = 1``, else as in ``kind``."""
        return np.where((self.kind == "cut") & np.isin(self.feature, list(self.zero_one)), "one", self.kind)

    def binarize(self, X: Any) -> NDArray[np.int8]:
        """Compute one binary column per condition: 1 where the condition holds, else 0.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            A table with category labels, or an array of numbers with category codes. Codes are positions in the column's
            ``categories``, and -1 is an unknown category. NaN is a missing value in both. An unknown category is in no set.
        """
        X = self.encoded(X)
        n_categories = {
            j: len(set_categories(self.columns, j) or ()) for j in np.unique(self.feature[self.kind == "set"]).tolist()
        }
        return binarized(X, self.feature, self.kind, self.threshold, self._codes, n_categories, self.feature_names)

    def encoded(self, X: Any) -> Floats:
        """Encode a table as float64, with codes for categories and NaN for missing values."""
        check_column_names(X, numbers=True)
        if self.columns is not None and not _is_numbers(X):
            X = self.columns.for_prediction(self.feature.tolist()).encode(X, handle_unknown="ignore")
        table: Floats = np.asarray(X, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(self.feature_names):
            raise InvalidInputError(f"X must have {len(self.feature_names)} columns, got an array of shape {table.shape}.")
        return table

    def select(self, keep: NDArray[np.bool_]) -> ThresholdTable:
        """Keep the conditions for which ``keep`` is True."""
        names = (*ARRAYS, "kind", *(SHARES if self.share is not None else ()))
        arrays: dict[str, Any] = {name: getattr(self, name)[keep] for name in names}
        labels = tuple(self.labels[at] for at in np.arange(len(self))[keep].tolist())
        return replace(self, **arrays, labels=labels).with_special(self.special)

    def with_special(self, special: Mapping[int, tuple[float, ...]]) -> ThresholdTable:
        """Copy the table with the special values of its training rows; see the attribute ``special``."""
        return replace(self, special={j: special[j] for j in sorted(self.columns_with_cuts.intersection(special))})

    # --- combining conditions -----------------------------------------------------------------------------------------

    def __add__(self, other: ThresholdTable) -> ThresholdTable:
        if not isinstance(other, ThresholdTable):
            return NotImplemented
        if self.feature_names != other.feature_names:
            raise InvalidInputError("Only tables with the same feature_names can be added.")
        columns = common_columns(self.columns, other.columns)
        stacked = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in (*ARRAYS, "kind")}
        table, _ = _combine_equal(self.feature_names, stacked, self.labels + other.labels, columns)
        special = {j: self.special.get(j, ()) + other.special.get(j, ()) for j in (*self.special, *other.special)}
        table = table.with_special({j: tuple(sorted(set(values))) for j, values in special.items()})
        other_cuts = (self.columns_with_cuts - self.zero_one) | (other.columns_with_cuts - other.zero_one)
        return replace(table, zero_one=(self.zero_one | other.zero_one) - other_cuts)

    def merged(self, tolerance: Floats) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Merge cuts of a feature that are closer together than ``tolerance[feature]``.

        The cut crossed most often absorbs all cuts of its feature that are closer to it than the tolerance. This repeats
        with the remaining cuts. Also returns the position of each condition in the new table.
        """
        representative = np.arange(len(self))
        is_cut = self.kind == "cut"
        for j in np.unique(self.feature[is_cut]):
            mine = np.flatnonzero(is_cut & (self.feature == j))
            representative[mine] = mine[leaders(self.threshold[mine], self.count[mine], float(tolerance[j]))]
        kept, condition = np.unique(representative, return_inverse=True)
        merged = replace(self, share=None, share_low=None, share_high=None).select(np.isin(np.arange(len(self)), kept))
        return replace(merged, count=_sums(condition, self.count, len(kept))), condition

    def rounded(self, zero_one: NDArray[np.bool_] | None = None) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Replace every threshold with a short decimal between ``below`` and ``above``.

        In a wide gap, it is in the middle half. The binary columns of training rows do not change.
        Conditions between the same two training values are equal on these rows and are combined. The combined condition has
        the threshold and the cut of the condition crossed most often. Also returns the position of each condition in the new
        table.

        Parameters
        ----------
        zero_one : ndarray of bool, shape (n_features,), optional
            The columns whose training values are 0 and 1. Their threshold becomes 0.5, and their condition is ``x = 1``.
        """
        columns = {name: getattr(self, name) for name in ("feature", "cut", "below", "above", "count", "kind")}
        shortest: dict[tuple[int, float, float], float] = {}
        called_one = frozenset() if zero_one is None else frozenset(np.flatnonzero(zero_one).tolist())
        threshold = np.where(self.kind == "special", self.threshold, np.nan)
        order = np.lexsort((self.threshold, -self.count))
        for i in order[self.kind[order] == "cut"].tolist():
            interval = (int(self.feature[i]), float(self.below[i]), float(self.above[i]))
            if interval not in shortest:
                is_zero_one = interval[0] in called_one
                shortest[interval] = 0.5 if is_zero_one else decimal_in_gap(float(self.threshold[i]), *interval[1:])
            threshold[i] = shortest[interval]
        table, place = _combine_equal(self.feature_names, columns | {"threshold": threshold}, self.labels, self.columns)
        return replace(table, zero_one=called_one, special=self.special), place

    # --- output and JSON ----------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Build a data frame with one row per condition."""
        return pd.DataFrame(
            {
                "condition": self._names,
                "feature": [self.feature_names[j] for j in self.feature],
                "kind": self.kind.tolist(),
                "threshold": self.threshold,
                "categories": pd.Series(list(self.labels), dtype=object),
                "cut": self.cut,
                "below": self.below,
                "above": self.above,
                "count": self.count,
                **{name: getattr(self, name) for name in SHARES if self.share is not None},
            }
        )

    def _repr_html_(self) -> str:
        used, n = len(np.unique(self.feature)), len(self.feature_names)
        title = paragraph(f"{len(self):,} conditions on {used:,} of {n:,} columns, those crossed most often first")
        order = np.argsort(-self.count, kind="stable")[:CONDITIONS_IN_HTML].tolist()
        most = float(self.count.max(initial=0.0)) or 1.0
        lines = [(self._names[at], f"{self.count[at]:,.6g}", bar(float(self.count[at]) / most)) for at in order]
        more = paragraph(f"… {len(self) - len(order):,} more") if len(self) > len(order) else ""
        return title + html_table(("condition", "crossed", ""), lines, numbers=(1,)) + more

    def to_json(self) -> str:
        """Write a JSON document that :meth:`from_json` reads."""
        names = (*ARRAYS, "kind", *(SHARES if self.share is not None else ()))
        arrays = {name: getattr(self, name).tolist() for name in names}
        return written_document(self.feature_names, arrays, self.labels, self.columns, self.zero_one, self.special)

    @classmethod
    def from_json(cls, text: str | bytes) -> ThresholdTable:
        """Read a document written by :meth:`to_json`; bytes must be UTF-8.

        Any other document raises an InvalidInputError.
        """
        return cls(*read_document(text))


def _is_numbers(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind in "biuf"


def _sums(group: NDArray[np.int64], values: Floats, n: int) -> Floats:
    return np.bincount(group, weights=values, minlength=n).astype(np.float64)


def _combine_equal(
    feature_names: tuple[str, ...],
    columns: dict[str, NDArray[Any]],
    labels: Sequence[Labels | None],
    table_columns: Columns | None,
) -> tuple[ThresholdTable, NDArray[np.int64]]:
    """Combine equal conditions, and keep the cut of the one crossed most often."""
    table, condition = ThresholdTable.from_counts(
        feature_names,
        columns["feature"],
        columns["threshold"],
        columns["count"],
        kind=columns["kind"],
        labels=labels,
        columns=table_columns,
    )
    below, above = np.full(len(table), np.nan), np.full(len(table), np.nan)
    np.fmax.at(below, condition, columns["below"])
    np.fmin.at(above, condition, columns["above"])
    # The last assignment wins: the largest count, and among equal counts the smallest cut.
    order = np.lexsort((-columns["cut"], columns["count"]))
    cut = np.empty(len(table))
    cut[condition[order]] = columns["cut"][order]
    return replace(table, cut=cut, below=below, above=above), condition
