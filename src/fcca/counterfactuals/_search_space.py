"""The search space: cells and compiled trees for certain missing values and rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca import _core
from fcca.cells import Cells, TrainingValues
from fcca.constraints import Limits
from fcca.counterfactuals._forest import Forest
from fcca.counterfactuals._search_tables import AdditiveTables, EnsembleTables

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_CANDIDATES = 255

NO_LIMITS = Limits()


class OneHotGroup(NamedTuple):
    """A one-hot group, which the search treats as one column of categories.

    Each code stands for one pattern of values in the group's columns. The first codes are the one-hot patterns, one per
    column. A row with another pattern, or with frozen columns, has an additional code that no change can lead to.
    """

    columns: tuple[int, ...]
    patterns: Floats  # values of the columns, by code; moves may enter the first codes only
    frozen: Bools  # mask of the frozen columns, by code

    @classmethod
    def of(cls, columns: Sequence[int], rows: Floats, frozen: Bools | None) -> OneHotGroup:
        """Build the group, with codes for all patterns in ``rows``.

        Parameters
        ----------
        columns : sequence of int
            Columns of the group.
        rows : ndarray of shape (n_rows, n_features)
        frozen : ndarray of bool, shape (n_rows, n_features), or None
            The entries of ``rows`` that may not change.
        """
        n = len(columns)
        switched = np.hstack([np.eye(n), np.zeros((n, n))])
        found = np.unique(_held(columns, rows, frozen), axis=0)
        others = [line for line in found if not (switched == line).all(axis=1).any()]
        codes = np.vstack([switched, *others])
        return cls(tuple(columns), codes[:, :n], codes[:, n:] > 0)

    def codes(self, rows: Floats, frozen: Bools | None) -> Floats:
        """Find the code of each row's pattern of values.

        A row with an unknown pattern gets the code after the last one.
        """
        held = _held(self.columns, rows, frozen)[:, None, :]
        known = np.hstack([self.patterns, self.frozen])[None]
        matches = ((held == known) | (np.isnan(held) & np.isnan(known))).all(axis=2)
        return np.where(matches.any(axis=1), matches.argmax(axis=1), len(self.patterns)).astype(np.float64)

    def factors(self) -> Floats:
        """Compute the cost factor of the change from each code to each one-hot pattern.

        The factor is infinite if the change would alter a frozen column or a missing value. Otherwise it is 1.
        """
        changes = self.patterns[:, None, :] != np.eye(len(self.columns))[None]
        fixed = self.frozen | np.isnan(self.patterns)  # missing values stay missing
        barred: Bools = (changes & fixed[:, None, :]).any(axis=2)
        return np.where(barred, np.inf, 1.0)


def _held(columns: Sequence[int], rows: Floats, frozen: Bools | None) -> Floats:
    """Return an array with the values of ``columns``, followed by their frozen mask."""
    held = rows[:, list(columns)]
    return np.hstack([held, np.zeros_like(held) if frozen is None else frozen[:, list(columns)]])


def ungrouped(
    groups: tuple[OneHotGroup, ...],
    rows: Floats,
    point: NDArray[np.int64],
    feature: NDArray[np.int32],
    landing: Floats,
    cut: Floats,
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats]:
    """Convert changes of one-hot groups into changes of their columns.

    The arrays ``point``, ``feature``, ``landing`` and ``cut`` have one entry per change, before and after the conversion.
    """
    first = np.array([group.columns[0] for group in groups])
    of_group = np.isin(feature, first)
    moves = [(point[~of_group], feature[~of_group], landing[~of_group], cut[~of_group])]
    for group in groups:
        mine = np.flatnonzero(feature == group.columns[0])
        entered = group.patterns[landing[mine].astype(np.intp)]
        before = rows[point[mine]][:, list(group.columns)]
        move, column = np.nonzero(entered != before)
        nowhere = np.full(len(move), np.nan)
        moves.append((point[mine][move], np.array(group.columns, dtype=np.int32)[column], entered[move, column], nowhere))
    point, feature, landing, cut = (np.concatenate(column) for column in zip(*moves, strict=True))
    order = np.lexsort((feature, point))
    return point[order], feature[order], landing[order], cut[order]


def candidate_cuts(values: Floats, model_cuts: Floats) -> Floats:
    """Choose additional cuts for a feature that occurs in a rule between features.

    Such a rule may force a feature to change even if the model ignores the feature. The additional cuts separate the
    training values that the feature can change to. If there are more than 255 distinct values, quantiles are used. The
    largest value of each cell is not used as a cut, because the cell above such a cut would be empty.
    """
    distinct = np.unique(values[~np.isnan(values)])
    chosen = distinct
    if len(distinct) > MOST_CANDIDATES:
        shares = np.linspace(0, 1, MOST_CANDIDATES + 2)[1:-1]
        chosen = np.unique(np.quantile(distinct, shares, method="inverted_cdf"))
    following = distinct[np.minimum(np.searchsorted(distinct, chosen, side="right"), len(distinct) - 1)]
    same_cell = np.searchsorted(model_cuts, chosen) == np.searchsorted(model_cuts, following)
    cuts: Floats = chosen[(following > chosen) & same_cell]
    return cuts


def _grouped(X: Floats, groups: tuple[OneHotGroup, ...], frozen: Bools | None = None) -> Floats:
    """Replace each one-hot group by its code.

    The code is stored in the first column of the group. The other columns become 0.
    """
    if not groups:
        return X
    X = X.copy()
    for group in groups:
        codes = group.codes(X, frozen)
        X[:, list(group.columns)] = 0.0
        X[:, group.columns[0]] = codes
    return X


@dataclass(frozen=True)
class SearchSpace:
    """The cells and compiled trees that the C++ core searches, and the one-hot groups."""

    cells: Cells
    tables: AdditiveTables | EnsembleTables
    groups: tuple[OneHotGroup, ...] = ()

    def rows(self, X: Floats, frozen: Bools | None = None) -> Floats:
        """Replace the one-hot groups in rows by their codes, as the search expects.

        ``frozen`` is a mask of the entries of X that may not change.
        """
        return _grouped(X, self.groups, frozen)

    @classmethod
    def build(
        cls,
        forest: Forest,
        cells: Cells,
        observed: TrainingValues,
        has_missing: Bools,
        groups: tuple[OneHotGroup, ...],
        rule_cuts: dict[int, Floats],
        additive: bool,
        finer: bool,
    ) -> SearchSpace:
        """Compile trees and cells for a search.

        Parameters
        ----------
        forest : Forest
            Trees of the model, followed by the trees of an isolation forest if plausibility is required.
        cells : Cells
            Cells between the cuts of the model, with statistics of the training rows.
        observed : TrainingValues
            Values of the training rows.
        has_missing : ndarray of shape (n_features,)
            Mask of the numeric columns in which at least one row to change has a missing value.
        groups : tuple of OneHotGroup
        rule_cuts : dict of int to ndarray
            Additional cuts, by feature, for rules between columns.
        additive : bool
            Whether trees may be summed into step functions if every tree tests one feature.
        finer : bool
            Whether the trees have cuts that the model does not have, as with plausibility.
        """
        for group in groups:
            forest = forest.grouped(group.columns, group.patterns)
        if finer or groups or rule_cuts:
            parts = replace(forest.cells(rule_cuts, cells.special)[0], distances=cells.distances)
            for X in observed.rows():
                parts.observe(_grouped(X, groups))
            cells = parts.within(cells) if finer else parts
        cells = cells.with_missing_cells(has_missing)
        tables = AdditiveTables.from_trees(forest, cells) if additive else None
        return cls(cells, tables or EnsembleTables.from_trees(forest, cells), groups)


def _entries(cells: Cells, limits: Limits, groups: tuple[OneHotGroup, ...]) -> dict[str, Any]:
    """Compute, for the C++ core, what changes between categories cost and where they end.

    For each column of categories, the arrays have one entry per category code and cell. ``entry_factor`` is the cost factor
    of a change from the code into the cell, and ``entry_code`` is the category where the change ends.
    """
    if not cells.code_cell:
        return {"first_entry": None, "entry_factor": None, "entry_code": None}
    by_column = {group.columns[0]: group for group in groups}
    first, factors, landings = [0], [np.empty(0)], [np.empty(0, dtype=np.int32)]
    for j in range(cells.n_features):
        if j not in cells.code_cell:
            first.append(first[-1])
            continue
        cell, count = cells.code_cell[j], cells.code_count[j]
        n_codes, n_cells = len(cell), int(cells.n_cells()[j])
        factor = np.ones((n_codes, n_codes))
        if j in limits.moves:
            factor[: n_codes - 1, : n_codes - 1] = limits.moves[j]
        # No move ends at a missing value, or at a category without training rows. A missing value moves only if it may be
        # filled in.
        seen = count > 0
        seen[-1] = False
        if j in by_column:
            n_columns = len(by_column[j].columns)
            factor[: n_codes - 1, :n_columns] = by_column[j].factors()
            seen[n_columns:] = False
        elif not limits.may_fill(j):
            factor[-1] = np.inf
        factor[:, ~seen] = np.inf
        preferred = np.lexsort((np.arange(n_codes), -count))
        best, landing = np.full((n_codes, n_cells), np.inf), np.zeros((n_codes, n_cells), dtype=np.int32)
        for k in range(n_cells):
            inside = preferred[cell[preferred] == k]
            chosen = factor[:, inside].argmin(axis=1)
            best[:, k], landing[:, k] = factor[np.arange(n_codes), inside[chosen]], inside[chosen]
        factors.append(best.ravel())
        landings.append(landing.ravel())
        first.append(first[-1] + best.size)
    return {
        "first_entry": np.array(first, dtype=np.int64),
        "entry_factor": np.concatenate(factors),
        "entry_code": np.concatenate(landings).astype(np.int32),
    }


def core_limits(
    space_cells: Cells, limits: Limits, groups: tuple[OneHotGroup, ...], fill_near: Floats | None
) -> _core.Limits:
    """Convert compiled rules to the arrays that the C++ core expects.

    ``fill_near`` has one entry per column: the median near which missing numbers are filled in and special values replaced.
    """

    def array(values: Any, dtype: Any) -> Any:
        return None if values is None else np.ascontiguousarray(values, dtype=dtype)

    frozen = limits.frozen
    if frozen is not None and groups:
        frozen = frozen.copy()
        for group in groups:
            frozen[:, group.columns[0]] = False  # the codes of the group handle its frozen columns
    linear, implications = limits.linear, limits.implications
    terms = [list(rule.coefficients.items()) for rule in linear]
    flat = [term for rule in terms for term in rule]
    low, high = limits.low, limits.high
    if low is None and high is not None:
        low = np.full_like(high, -np.inf)
    if high is None and low is not None:
        high = np.full_like(low, np.inf)
    return _core.Limits(
        low=array(low, np.float64),
        high=array(high, np.float64),
        frozen=array(frozen, np.uint8),
        step=array(limits.step, np.float64),
        origin=array(limits.origin, np.float64),
        weight=array(limits.weight, np.float64),
        fillable=array(limits.fillable, np.uint8),
        fill_near=fill_near,
        **_entries(space_cells, limits, groups),
        max_changes=limits.max_changes or 0,
        first_term=np.concatenate([[0], np.cumsum([len(rule) for rule in terms])]).astype(np.int64),
        term_feature=np.array([j for j, _ in flat], dtype=np.int32),
        term_coef=np.array([a for _, a in flat], dtype=np.float64),
        upper=np.array([rule.upper for rule in linear], dtype=np.float64),
        if_feature=np.array([rule.feature for rule in implications], dtype=np.int32),
        if_rises=np.array([rule.rises for rule in implications], dtype=np.uint8),
        then_feature=np.array([rule.then_feature for rule in implications], dtype=np.int32),
        then_rises=np.array([rule.then_rises for rule in implications], dtype=np.uint8),
    )
