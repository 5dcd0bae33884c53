"""Find further counterfactuals of a row that have the same cost as the first one.

A change of a category costs the same in every column. So several changes of a row are often equally cheap, and the search
returns only the first one found. If the others were not counted, important columns could be left without a threshold.
Of equally cheap changes that share a column, only the first counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcca.constraints import Limits, limits_for
from fcca.counterfactuals import STATUSES, CounterfactualEngine, Counterfactuals
from fcca.tables import Special, is_special

Points = NDArray[np.int64]

#: Costs that differ by less than this share are equal. The searches prove optimality with the same tolerance.
TOLERANCE = 1e-9


class TiedCounterfactuals(NamedTuple):
    """Further counterfactuals of rows, with the same cost as the first one but other columns."""

    point: Points  # for each further counterfactual, the position of the first counterfactual of its row
    found: tuple[Counterfactuals, ...]  # one entry per round of searches
    n_searches: int
    n_unfinished: int  # searches that ran out of time


NO_TIES = TiedCounterfactuals(np.empty(0, dtype=np.int64), (), 0, 0)


def discrete_columns(engine: CounterfactualEngine) -> NDArray[np.bool_]:
    """Return a mask of the columns in which a change can have only a few different costs.

    These are columns of categories, and numeric columns in which every cell holds a single training value, such as 0 or 1.
    A change of a column without cuts crosses no threshold, so these columns count as discrete, too. If the distance costs
    nothing, all columns are discrete.

    Parameters
    ----------
    engine : CounterfactualEngine
        An engine that has observed the training rows.
    """
    cells, problem = engine.cells, engine.problem
    if problem.lambda1 == problem.lambda2 == 0:
        return np.ones(cells.n_features, dtype=np.bool_)
    discrete = ~np.array(engine.is_number)
    if engine.has_cuts:
        is_single = ~(cells.smallest < cells.largest)  # True for empty cells, whose values are NaN
        discrete |= np.logical_and.reduceat(is_single, cells.first_cell[:-1]) | (np.diff(cells.first_cut) == 0)
    return discrete


def find_ties(
    found: Counterfactuals,
    discrete: NDArray[np.bool_],
    special: Special,
    limits: Limits | None,
    solve: Callable[[Points, Limits], Counterfactuals],
) -> TiedCounterfactuals:
    """Find further counterfactuals with the same cost as those in ``found``.

    Only counterfactuals with the status "optimal" have ties. A row is searched again only if its counterfactual changes
    discrete columns or special values alone, because changes of other columns rarely have equal costs. The columns that the
    counterfactuals of a row already change are frozen. The search is repeated until the cheapest change costs more.

    Parameters
    ----------
    found : Counterfactuals
    discrete : ndarray of shape (n_features,)
        Mask of the discrete columns, see :func:`discrete_columns`.
    special : mapping of int to ndarray
        Special values, by column.
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
    is_discrete = discrete[found.moves.feature] | is_special(special, found.moves.feature, found.moves.origin)
    is_open[found.moves.point[~is_discrete]] = False
    which = np.flatnonzero(is_open)
    frozen = np.zeros((len(found), len(discrete)), dtype=np.bool_)
    frozen[found.moves.point, found.moves.feature] = True
    points, parts, n_searches, n_unfinished = [], [], 0, 0
    while len(which):
        mine = limits_for(limits, which, frozen[which])
        assert mine is not None
        latest = solve(which, mine)
        n_searches += len(which)
        limit = found.cost[which] * (1 + TOLERANCE)
        # No change costs less than the first one, so a change within the limit is optimal even if the search was stopped.
        is_tied = latest.is_status("optimal", "feasible") & (latest.cost <= limit)
        n_unfinished += int((latest.is_status("feasible", "unknown") & ~is_tied & (latest.bound <= limit)).sum())
        tied = latest.take(np.flatnonzero(is_tied))
        tied = replace(tied, status_code=np.full_like(tied.status_code, STATUSES.index("optimal")))
        which = which[is_tied]
        frozen[which[tied.moves.point], tied.moves.feature] = True
        points.append(which)
        parts.append(tied)
    if not parts:
        return NO_TIES
    return TiedCounterfactuals(np.concatenate(points), tuple(parts), n_searches, n_unfinished)
