"""Cells: intervals between cuts, or groups of categories.

The black box treats all values in a cell alike. Each cell stores the smallest and the largest training value inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.cells._change_distances import Distances
from fcca.tables import Special, without_special

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

NUMBERS, NUMBERS_WITH_MISSING, CATEGORIES = 0, 1, 2
SPECIAL_VALUE = 2


@dataclass
class Cells:
    """The cuts of each feature, and the range of the training values in each cell.

    Most searches use only these ranges, not the training rows. So the rows can be read in chunks.

    Attributes
    ----------
    first_cut, cuts : ndarray
        ``cuts`` has the cuts of all features, one feature after the other. ``first_cut`` has the position of each feature's
        first cut in ``cuts``.
    smallest, largest : ndarray of shape (n_cells,)
        Smallest and largest training value in each cell; NaN for a cell without training values.
    code_cell : dict of int to ndarray
        For a column of categories, the cell of each category code. The last code stands for missing values. The cuts of such
        a column are 0.5, 1.5, …: they separate the numbers of the cells, not values of the column.
    code_count : dict of int to ndarray
        For a column of categories, the number of training rows with each code.
    has_missing : ndarray of shape (n_features,)
        True for numeric columns with a cell for missing values. This cell comes after a last cut at infinity.
    closed : ndarray of shape (n_cells,) or None
        True for closed cells: they contain no training value, and no change may end in them. The rules Integer and Grid are
        exceptions, and allow changes to end in a closed cell.
    distances : Distances or None
        How the distance between an old and a new value is measured. None until it is computed from the training rows.
    special : mapping of int to ndarray
        Special values of numeric columns, such as -9. Each has a cell that contains nothing else. No change ends in this
        cell. Special values are no training values: ``smallest`` and ``largest`` ignore them.
    whole : ndarray of shape (n_features,) or None
        True for columns in which changes end at whole numbers. See :meth:`with_whole_numbers`.
    """

    first_cut: NDArray[np.int64]
    cuts: Floats
    smallest: Floats
    largest: Floats
    code_cell: Mapping[int, Codes] = field(default_factory=dict)
    code_count: dict[int, Floats] = field(default_factory=dict)
    has_missing: NDArray[np.bool_] | None = None
    closed: NDArray[np.bool_] | None = None
    distances: Distances | None = field(default_factory=Distances)
    special: Special = field(default_factory=dict)
    whole: NDArray[np.bool_] | None = None

    @classmethod
    def from_cuts(
        cls,
        cuts_by_feature: Sequence[Floats],
        code_cell: Mapping[int, Codes] | None = None,
        special: Special | None = None,
    ) -> Cells:
        """Build cells without training values.

        Parameters
        ----------
        cuts_by_feature : sequence of ndarray
            The sorted, distinct cuts of each feature.
        code_cell : mapping of int to ndarray, optional
            For each column of categories, the cell of each category code.
        special : mapping of int to ndarray, optional
            Special values of numeric columns. The cuts must include those of :func:`special_cuts`.
        """
        cuts_by_feature = list(cuts_by_feature)
        for j, cell in (code_cell or {}).items():
            cuts_by_feature[j] = np.arange(cell.max(initial=0)) + 0.5
        first_cut = np.concatenate([[0], np.cumsum([len(cuts) for cuts in cuts_by_feature])]).astype(np.int64)
        cuts = np.concatenate([*cuts_by_feature, np.empty(0)]).astype(np.float64)
        empty = np.full(len(cuts) + len(cuts_by_feature), np.nan)
        counts = {j: np.zeros(len(cell)) for j, cell in (code_cell or {}).items()}
        return cls(first_cut, cuts, empty, empty.copy(), code_cell or {}, counts, special=special or {})

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.first_cut) - 1

    @property
    def first_cell(self) -> NDArray[np.int64]:
        """Position of each feature's first cell.

        A feature has one more cell than it has cuts.
        """
        return self.first_cut + np.arange(self.n_features + 1)

    def cuts_of(self, j: int) -> Floats:
        """Return the cuts of one feature."""
        return self.cuts[self.first_cut[j] : self.first_cut[j + 1]]

    def n_cells(self) -> NDArray[np.int64]:
        """Return the number of cells of each feature."""
        return np.diff(self.first_cut) + 1

    def as_core(self) -> _core.Cells:
        """Return the cells as an object of the C++ core."""
        m = self.n_features
        kinds = first_code = code_cell = None
        if self.code_cell or self.has_missing is not None:
            kinds = np.full(m, NUMBERS, dtype=np.uint8)
            if self.has_missing is not None:
                kinds[self.has_missing] = NUMBERS_WITH_MISSING
            kinds[list(self.code_cell)] = CATEGORIES
            nothing = np.empty(0, dtype=np.int32)
            by_feature = [self.code_cell.get(j, nothing) for j in range(m)]
            first_code = np.concatenate([[0], np.cumsum([len(codes) for codes in by_feature])]).astype(np.int64)
            code_cell = np.concatenate([*by_feature, nothing]).astype(np.int32)
        closed = None if self.closed is None else self.closed.astype(np.uint8)
        if self.special:
            closed = np.zeros(len(self.smallest), dtype=np.uint8) if closed is None else closed
            closed[self.special_cells] = SPECIAL_VALUE
        box = (self.box_low, self.box_high)
        return _core.Cells(
            self.first_cut,
            self.cuts,
            self.smallest,
            self.largest,
            *box,
            closed,
            kinds,
            first_code,
            code_cell,
            **(self.distances or Distances()).as_core(),
        )

    def observe(self, X: Floats) -> Cells:
        """Widen the range of each cell so that it contains the values of these rows.

        In columns of categories, the last code represents missing values, and NaN is not allowed. Special values are
        ignored. Return self.
        """
        _core.widen_cells(without_special(X, self.special), self.as_core(), self.smallest, self.largest)
        for ends in (self.smallest, self.largest):
            ends += 0.0  # turns -0.0 into 0.0: otherwise the sign would depend on the order of the rows
        for j, count in self.code_count.items():
            count += np.bincount(X[:, j].astype(np.intp), minlength=len(count))
        return self

    def with_whole_numbers(self, columns: NDArray[np.bool_]) -> Cells:
        """Copy the cells so that changes within the training range end at whole numbers in some columns.

        In these columns, all training values are whole numbers. A change into a cell without training values would end in
        the middle of the cell. In the copy, it ends at a whole number of the cell, as if the training rows had all of them.
        A cell without a whole number is closed. Cells outside the range of the training values stay as they are.

        Parameters
        ----------
        columns : ndarray of bool, shape (n_features,)
            Mask of the columns. Columns of categories are ignored.
        """
        smallest, largest = self.smallest.copy(), self.largest.copy()
        closed = np.zeros(len(smallest), dtype=np.bool_) if self.closed is None else self.closed.copy()
        is_empty = np.isnan(smallest) & ~closed
        is_empty[self.special_cells] = False
        low, high = self.box_low, self.box_high
        for j in set(np.flatnonzero(columns).tolist()).difference(self.code_cell):
            cells, cuts = slice(self.first_cell[j], self.first_cell[j + 1]), self.cuts_of(j)
            first = np.floor(np.append(-np.inf, cuts)) + 1
            last = np.floor(np.append(cuts, np.inf))
            inside = is_empty[cells] & (first > low[j]) & (last < high[j])
            filled = inside & (first <= last)
            smallest[cells][filled], largest[cells][filled] = first[filled], last[filled]
            closed[cells] |= inside & ~filled
        kept = closed if closed.any() else self.closed
        return replace(self, smallest=smallest, largest=largest, closed=kept, whole=columns)

    def __add__(self, other: Cells) -> Cells:
        """Merge the ranges and counts of the same cells, computed from two chunks of a table."""
        return replace(
            self,
            smallest=np.fmin(self.smallest, other.smallest),
            largest=np.fmax(self.largest, other.largest),
            code_count={j: count + other.code_count[j] for j, count in self.code_count.items()},
        )

    def of(self, X: Floats) -> Codes:
        """Find the cell that contains each value of ``X``, and return its number.

        The cells of each feature are numbered from 0.
        """
        found = np.empty(X.shape, dtype=np.int32)
        _core.find_cells(X, self.as_core(), found)
        return found

    @property
    def special_cells(self) -> NDArray[np.int64]:
        """Positions of the cells of all special values."""
        cells = [self.first_cell[j] + np.searchsorted(self.cuts_of(j), values) for j, values in self.special.items()]
        return np.concatenate([np.empty(0, dtype=np.int64), *cells]).astype(np.int64)

    @property
    def box_low(self) -> Floats:
        """Smallest training value of each feature; NaN for columns of categories."""
        low: Floats = np.fmin.reduceat(self.smallest, self.first_cell[:-1])
        return low

    @property
    def box_high(self) -> Floats:
        """Largest training value of each feature; NaN for columns of categories."""
        high: Floats = np.fmax.reduceat(self.largest, self.first_cell[:-1])
        return high

    @property
    def zero_one(self) -> NDArray[np.bool_]:
        """Mask of the columns whose training values are known to be 0 and 1, besides special values."""
        is_one_value = np.isnan(self.smallest) | ((self.smallest == self.largest) & np.isin(self.smallest, (0, 1)))
        found: NDArray[np.bool_] = (self.box_low == 0) & (self.box_high == 1)
        found[np.searchsorted(self.first_cell, np.flatnonzero(~is_one_value), side="right") - 1] = False
        found[[j for j, values in self.special.items() if ((values > 0) & (values < 1)).any()]] = False
        return found

    def with_missing_cells(self, columns: NDArray[np.bool_]) -> Cells:
        """Add a cell for missing values to some features.

        The mask ``columns`` marks these features.
        """
        if not columns.any():
            return self
        at = np.flatnonzero(columns)
        return replace(
            self,
            first_cut=self.first_cut + np.concatenate([[0], np.cumsum(columns)]),
            cuts=np.insert(self.cuts, self.first_cut[at + 1], np.inf),
            smallest=np.insert(self.smallest, self.first_cell[at + 1], np.nan),
            largest=np.insert(self.largest, self.first_cell[at + 1], np.nan),
            closed=None if self.closed is None else np.insert(self.closed, self.first_cell[at + 1], False),
            has_missing=columns,
        )

    def within(self, coarser: Cells) -> Cells:
        """Close each cell without training values if the coarser cell around it has some.

        No change may end in a closed cell. ``coarser`` has some of the cuts of these cells, and therefore larger cells.
        """
        closed = np.isnan(self.smallest)
        for j in range(self.n_features):
            mine = slice(self.first_cell[j], self.first_cell[j + 1])
            ends = np.append(self.cuts_of(j), np.inf)
            around = coarser.first_cell[j] + np.searchsorted(coarser.cuts_of(j), ends)
            closed[mine] &= ~np.isnan(coarser.smallest[around])
        return replace(self, closed=closed)

    def index_of(self, feature: NDArray[np.int32], cut: Floats) -> NDArray[np.int64]:
        """Return the position of each given cut in ``self.cuts``.

        ``feature`` holds the feature of each cut, and ``cut`` its value.
        """
        owner = np.repeat(np.arange(self.n_features), np.diff(self.first_cut))
        both = np.lexsort((np.concatenate([self.cuts, cut]), np.concatenate([owner, feature])))
        rank = np.cumsum(both < len(self.cuts)) - 1
        position = np.empty(len(both), dtype=np.int64)
        position[both] = rank
        return position[len(self.cuts) :]

    def last_crossed(self, feature: Codes, origin: Floats, landing: Floats, cut: Floats) -> Floats:
        """Find the cut that each change crosses last.

        The result is NaN for a change of a numeric column that crosses no cut.

        Parameters
        ----------
        feature : ndarray of shape (n_changes,)
            The column of each change.
        origin, landing : ndarray of shape (n_changes,)
            The value before and after each change.
        cut : ndarray of shape (n_changes,)
            The result to return for a change of a category, and for a change of a missing value. It is ignored for all
            other changes.
        """
        cuts = cut.copy()
        for j in np.unique(feature):
            if j in self.code_cell:
                continue
            mine = np.flatnonzero((feature == j) & ~np.isnan(origin))
            own = self.cuts_of(j)
            before, after = np.searchsorted(own, origin[mine]), np.searchsorted(own, landing[mine])
            padded = np.concatenate([own, [np.nan]])
            cuts[mine] = np.where(after > before, padded[after - 1], np.where(after < before, padded[after], np.nan))
        return cuts

    def values_around(self) -> tuple[Floats, Floats]:
        """Find the training values that are closest to each cut.

        Returns
        -------
        below, above : ndarray of shape (n_cuts,)
            The largest training value below, and the smallest above each cut. NaN if there is no such value. Special
            values count as training values here, so that a rounded threshold stays on the same side of them.
        """
        smallest, largest = self.smallest.copy(), self.largest.copy()
        smallest[self.special_cells] = largest[self.special_cells] = np.concatenate([np.empty(0), *self.special.values()])
        below, above = np.full(len(self.cuts), np.nan), np.full(len(self.cuts), np.nan)
        for j in range(self.n_features):
            cuts = slice(self.first_cut[j], self.first_cut[j + 1])
            cells = slice(self.first_cell[j], self.first_cell[j + 1])
            if cuts.start == cuts.stop:
                continue
            below[cuts] = np.fmax.accumulate(largest[cells])[:-1]
            above[cuts] = np.fmin.accumulate(smallest[cells][::-1])[::-1][1:]
        return below, above


def special_cuts(values: Floats) -> Floats:
    """Return the cuts that give each special value a cell of its own."""
    return np.union1d(values, np.nextafter(values, -np.inf))
