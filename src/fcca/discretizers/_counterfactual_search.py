"""Find the counterfactuals of rows, and everything else that is counted for these rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fcca.constraints import Limits
from fcca.counterfactuals import Counterfactuals
from fcca.discretizers._crossings import Points, find_deciding_values
from fcca.discretizers._search_results import FoundCounterfactuals

if TYPE_CHECKING:
    from fcca.discretizers._threshold_search import ThresholdSearch

Floats = NDArray[np.float64]
Progress = Callable[[int], None]


def find_counterfactuals(
    search: ThresholdSearch, X: Floats, points: Points, own_class: NDArray[np.int32], progress: Progress | None = None
) -> FoundCounterfactuals:
    """Find the counterfactuals of the rows ``points``, deciding missing values, and ties.

    A missing value is deciding if filling in this value alone flips the prediction. Ties are further counterfactuals of
    a row with the same cost.

    Parameters
    ----------
    search : ThresholdSearch
        A search that holds the statistics of the training rows.
    X : ndarray of shape (n_rows, n_features)
    points : ndarray of int
    own_class : ndarray of shape (n_points,)
        The predicted classes of these rows, as positions in the classes of the model.
    progress : callable, optional
        Called with the number of rows that are finished.
    """
    engine, given = search.engine, search.parameters
    limits = search.limits(X[points]) if search.rules else None  # a copy of most rows
    began = perf_counter() - search.seconds

    def solve(which: Points, limits: Limits | None, progress: Progress | None = None) -> Counterfactuals:
        left = None if given.time_limit is None else max(0.0, given.time_limit - perf_counter() + began)
        found = engine.solve(
            X,
            points[which],
            own_class[which],
            feature_names=search.names,
            limits=limits,
            n_jobs=given.n_jobs,
            time_limit=left,
            time_limit_per_row=given.time_limit_per_row,
            progress=progress,
        )
        return search.checked(X, found, limits)

    found = replace(
        solve(np.arange(len(points)), limits, progress),
        columns=search.columns,
        own_code=own_class,
        box=(engine.cells.box_low, engine.cells.box_high),
        has_cuts=engine.has_cuts,
        rules=search.rules,
        special=engine.special,
    )
    deciding = find_deciding_values(X, found, limits, solve)
    ties = search.ties(found, limits, solve)
    search.seconds = perf_counter() - began
    return FoundCounterfactuals(found, deciding, ties)
