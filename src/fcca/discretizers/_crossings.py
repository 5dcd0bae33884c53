"""Find the conditions that counterfactuals cross.

A missing value is called deciding if filling in this value alone flips the prediction. It gives a condition ``is missing``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Cells
from fcca.constraints import Limits, limits_for
from fcca.counterfactuals import CounterfactualEngine, Counterfactuals, joined
from fcca.discretizers._ties import NO_TIES, TiedCounterfactuals
from fcca.tables import Columns, is_special
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]
Points = NDArray[np.int64]


class DecidingValues(NamedTuple):
    """Missing values, each of which alone flips the prediction when filled in."""

    point: Points  # position among the counterfactuals
    feature: NDArray[np.int32]
    n_searches: int
    n_unfinished: int  # searches that ran out of time


class Crossings(NamedTuple):
    """One entry for each pair of a counterfactual and a condition that it crosses."""

    point: Points  # position among the counterfactuals
    feature: NDArray[np.int32]
    threshold: Floats
    kind: NDArray[np.str_] | None  # None: all cuts
    labels: list[tuple[Any, ...] | None] | None

    def table(self, names: list[str], weight: Floats, columns: Columns | None) -> tuple[ThresholdTable, NDArray[np.int64]]:
        """Sum the weights of the crossings by condition.

        Also returns, for each crossing, the position of its condition in the table.
        """
        threshold = self.threshold + 0.0  # turns -0.0 into 0.0; otherwise the order of the rows would decide the sign
        return ThresholdTable.from_counts(
            names, self.feature, threshold, weight, kind=self.kind, labels=self.labels, columns=columns
        )


def crossings(
    engine: CounterfactualEngine,
    found: Counterfactuals,
    columns: Columns | None,
    deciding: DecidingValues,
    ties: TiedCounterfactuals = NO_TIES,
) -> Crossings:
    """Find the conditions that proven counterfactuals cross.

    A changed number crosses a cut, and a changed category enters a set of categories. A deciding missing value crosses
    ``is missing``. A replaced special value crosses a condition such as ``is -9``.

    Parameters
    ----------
    engine : CounterfactualEngine
    found : Counterfactuals
    columns : Columns or None
        Categories and missing values; None if all columns are plain numbers.
    deciding : DecidingValues
    ties : TiedCounterfactuals, optional
        Equally cheap counterfactuals. Their crossings get the position of the first counterfactual of the row.
    """
    first = np.concatenate([np.arange(len(found)), ties.point])
    found = joined([found, *ties.found]) if ties.found else found
    moves = found.moves
    counted = found.is_proven[moves.point]
    if engine.has_cuts:  # a move inside a cell, which only a rule requires, crosses nothing
        is_cut = ~np.isnan(moves.cut)
    else:  # landings on the edge of the data divide nothing
        low, high = engine.cells.box_low[moves.feature], engine.cells.box_high[moves.feature]
        is_cut = (moves.landing > low) & (moves.landing < high)
    n_deciding = len(deciding.point)
    left = is_special(engine.special, moves.feature, moves.origin)
    if not left.any() and (columns is None or not (columns.has_categories or n_deciding)):
        kept = np.flatnonzero(counted & is_cut & ~np.isnan(moves.origin))
        return Crossings(first[moves.point[kept]], moves.feature[kept], moves.cut[kept], None, None)
    is_category = left & False if columns is None else columns.is_category[moves.feature]
    kept = np.flatnonzero(counted & (is_cut | is_category | left) & ~np.isnan(moves.origin))
    point, feature, is_category, left = first[moves.point[kept]], moves.feature[kept], is_category[kept], left[kept]
    kind = np.where(left, "special", np.where(is_category, "set", "cut")).astype("U7")
    labels = _crossed_sets(engine, columns, feature, moves.origin[kept], moves.landing[kept], is_category)
    number = np.where(left, moves.origin[kept], moves.cut[kept])
    return Crossings(
        np.concatenate([point, deciding.point]),
        np.concatenate([feature, deciding.feature]),
        np.concatenate([number, np.full(n_deciding, np.nan)]),
        np.concatenate([kind, np.full(n_deciding, "missing")]),
        labels + [None] * n_deciding,
    )


def _crossed_sets(
    engine: CounterfactualEngine,
    columns: Columns | None,
    feature: NDArray[np.int32],
    origin: Floats,
    landing: Floats,
    is_category: NDArray[np.bool_],
) -> list[tuple[Any, ...] | None]:
    """Return, for each change, the labels of the set of categories that it enters.

    The entry of a change of a number is None.
    """
    known: dict[tuple[int, int, int], tuple[Any, ...]] = {}
    labels: list[tuple[Any, ...] | None] = [None] * len(feature)
    for at in np.flatnonzero(is_category).tolist():
        move = (int(feature[at]), int(origin[at]), int(landing[at]))
        if move not in known:
            assert columns is not None
            categories = columns[move[0]].categories or ()
            # A linear model distinguishes all categories: as with numbers, the landing itself is the condition.
            entered = engine.forest.crossed_set(*move) if engine.has_cuts else frozenset({move[2]})
            known[move] = tuple(categories[code] for code in sorted(entered))
        labels[at] = known[move]
    return labels


def find_deciding_values(
    X: Floats,
    found: Counterfactuals,
    limits: Limits | None,
    solve: Callable[[Points, Limits], Counterfactuals],
) -> DecidingValues:
    """Find the missing values that alone flip the prediction when filled in.

    There is one search per missing value. It may fill in this value and change nothing else.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    found : Counterfactuals
        Counterfactuals of rows of X. Only the missing values of these rows are examined.
    limits : Limits or None
        The rules compiled for the rows of ``found``; None without rules.
    solve : callable
        ``solve(positions, limits)`` returns the counterfactuals of the rows at these positions in ``found``. The changes
        obey the compiled rules ``limits``.

    Returns
    -------
    DecidingValues
    """
    points, features = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    if not np.isnan(X.min()):
        return DecidingValues(points[0], features[0], 0, 0)
    missing = np.isnan(X[found.rows])
    n_features = X.shape[1]
    n_unfinished = 0
    for j in np.flatnonzero(missing.any(axis=0)).tolist():
        asked = np.flatnonzero(missing[:, j])
        only = np.arange(n_features) == j
        others_frozen = np.broadcast_to(~only, (len(asked), n_features)).copy()
        mine = limits_for(limits, asked, others_frozen)
        assert mine is not None
        filled = solve(asked, replace(mine, fillable=only))
        turned = np.zeros(len(asked), dtype=bool)
        turned[filled.moves.point] = True
        turned &= filled.is_proven
        n_unfinished += int(filled.is_status("feasible", "unknown").sum())
        points.append(asked[turned])
        features.append(np.full(int(turned.sum()), j, dtype=np.int32))
    return DecidingValues(np.concatenate(points), np.concatenate(features), int(missing.sum()), n_unfinished)


def values_around(cells: Cells, own: Floats, table: ThresholdTable) -> ThresholdTable:
    """Set ``cut``, ``below`` and ``above`` of a threshold table.

    Parameters
    ----------
    cells : Cells
        Cells with statistics of the training rows. Every threshold of the table is a cut between two cells.
    own : ndarray of shape (n_cuts,)
        For each cut between cells, the number that the classifier stores for it.
    table : ThresholdTable
    """
    is_cut = table.kind == "cut"
    below, above = cells.values_around()
    at = cells.index_of(table.feature[is_cut], table.threshold[is_cut])
    columns = [np.full(len(table), np.nan) for _ in range(3)]
    for column, values in zip(columns, (own, below, above), strict=True):
        column[is_cut] = values[at]
    return table.with_neighbours(*columns)


def observed_cells(X: Floats, feature: NDArray[np.int32], threshold: Floats) -> Cells:
    """Build the cells between thresholds, with the range of X in each cell."""
    return Cells.from_cuts([threshold[feature == j] for j in range(X.shape[1])]).observe(X)


def zero_one_columns(X: Floats) -> NDArray[np.bool_]:
    """Return a mask of the columns whose values are 0 and 1, besides missing values."""
    found: NDArray[np.bool_] = (X == 0).any(axis=0) & (X == 1).any(axis=0) & ((X == 0) | (X == 1) | np.isnan(X)).all(axis=0)
    return found
