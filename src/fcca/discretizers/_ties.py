"""Find further counterfactuals of a row that have the same cost as the first one.

A change of a category costs the same in every column. So several changes of a row are often equally cheap, and the search
returns only the first one found. If the others were not counted, important columns could be left without a threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.cells import Cells
from fcca.constraints import Limits, limits_for
from fcca.counterfactuals import Counterfactuals

Points = NDArray[np.int64]

#: Costs that differ by less than this share are equal. The searches prove optimality with the same tolerance.
TOLERANCE = 1e-9


class TiedCounterfactuals(NamedTuple):
    """Further counterfactuals of rows, with the same cost as the first one but other columns."""

    point: Points  # for each further counterfactual, the position of the first counterfactual of its row
    found: tuple[Counterfactuals, ...]
    n_searches: int
    n_unfinished: int  # searches that ran out of time


NO_TIES = TiedCounterfactuals(np.empty(0, dtype=np.int64), (), 0, 0)


def discrete_columns(cells: Cells) -> NDArray[np.bool_]:
    """Return a mask of the columns in which every cell holds a single training value.

    These are columns of categories, and numeric columns with few values, such as 0 and 1.

    Parameters
    ----------
    cells : Cells
        Cells that have observed the training rows.
    """
    is_single = ~(cells.smallest < cells.largest)  # True for empty cells, whose values are NaN
    discrete: NDArray[np.bool_] = np.logical_and.reduceat(is_single, cells.first_cell[:-1])
    discrete[list(cells.code_cell)] = True
    return discrete


def find_ties(
    found: Counterfactuals,
    discrete: NDArray[np.bool_],
    limits: Limits | None,
    solve: Callable[[Points, Limits], Counterfactuals],
) -> TiedCounterfactuals:
    """Find further counterfactuals with the same cost as those in ``found``.

    A row is searched again only if its counterfactual changes discrete columns alone, because changes of continuous columns
    have equal costs only by chance. The columns that the counterfactuals of a row already change are frozen. The search is
    repeated until the cheapest change costs more.

    Parameters
    ----------
    found : Counterfactuals
    discrete : ndarray of shape (n_features,)
        Mask of the discrete columns, see :func:`discrete_columns`.
    limits : Limits or None
        The rules compiled for the rows of ``found``; None if there are no rules.
    solve : callable
        ``solve(positions, limits)`` returns the counterfactuals of the rows at these positions in ``found``. They obey the
        compiled rules ``limits``.

    Returns
    -------
    TiedCounterfactuals
    """
    is_open = found.is_status("optimal")
    is_open[found.moves.point[~discrete[found.moves.feature]]] = False
    which = np.flatnonzero(is_open)
    frozen = np.zeros((len(found), len(discrete)), dtype=np.bool_)
    frozen[found.moves.point, found.moves.feature] = True
    points, parts, n_searches, n_unfinished = [], [], 0, 0
    while len(which):
        mine = limits_for(limits, which, frozen[which])
        assert mine is not None
        latest = solve(which, mine)
        n_searches += len(which)
        n_unfinished += int(latest.is_status("feasible", "unknown").sum())
        is_tied = latest.is_status("optimal") & (latest.cost <= found.cost[which] * (1 + TOLERANCE))
        tied = latest.take(np.flatnonzero(is_tied))
        which = which[is_tied]
        frozen[which[tied.moves.point], tied.moves.feature] = True
        points.append(which)
        parts.append(tied)
    if not parts:
        return NO_TIES
    return TiedCounterfactuals(np.concatenate(points), tuple(parts), n_searches, n_unfinished)
