"""Issue warnings that point at the line of the user's code."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fcca.discretizers._presets import most_thresholds
from fcca.exceptions import (
    ConstantFeatureWarning,
    SampledRowsWarning,
    SpecialValuesWarning,
    UnfinishedSearchWarning,
    UnverifiedCounterfactualWarning,
)
from fcca.selection import most_frequent
from fcca.tables import likely_in_words, likely_special_values
from fcca.thresholds import ThresholdTable

if TYPE_CHECKING:
    from fcca.discretizers._row_sample import RowSample
    from fcca.discretizers._search_results import CrossingCounts
    from fcca.discretizers._threshold_search import ThresholdSearch

Floats = NDArray[np.float64]

PACKAGES = ("fcca", "sklearn")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the calling line outside fcca and scikit-learn.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_constant_features(names: Sequence[str]) -> None:
    """Warn about columns that have only one value.

    Parameters
    ----------
    names : sequence of str
        Names of these columns. If there are none, no warning is issued.
    """
    if names:
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        warn_caller(f"{len(names)} column(s) have only one value and were left out: {shown}", ConstantFeatureWarning)


def warn_likely_special_values(X: Floats, search: ThresholdSearch) -> None:
    """Warn about values of encoded rows that look like special values, unless some are given."""
    engine = search.engine
    if getattr(search.parameters, "special_values", None) is not None or not engine.has_cuts:
        return
    if likely := likely_special_values(X, engine.is_number):
        warn_caller(likely_in_words(likely, search.names), SpecialValuesWarning)


def warn_uncounted(counts: CrossingCounts, *, constraints: bool) -> None:
    """Warn about counterfactuals that are not counted: unverified or not proven.

    Parameters
    ----------
    counts : CrossingCounts
    constraints : bool
        Whether the counterfactuals must obey constraints.
    """
    statuses, n = counts.statuses, counts.n_counterfactuals
    if unverified := statuses.get("unverified", 0):
        broken = ", or break a rule" if constraints else ""
        warn_caller(
            f"{unverified} of {n} counterfactuals do not flip the prediction of the classifier{broken}. "
            "They have the status 'unverified' and are left out of all counts.",
            UnverifiedCounterfactualWarning,
        )
    if unfinished := statuses.get("feasible", 0) + statuses.get("unknown", 0) + counts.n_more_unfinished:
        warn_caller(
            f"{unfinished} of {n + counts.n_more_searches} searches were stopped by a time limit before they proved a "
            "result. They are left out of all counts. To include them, raise the time limit.",
            UnfinishedSearchWarning,
        )


def warn_sampled(sample: RowSample, table: ThresholdTable, parameters: Any) -> None:
    """Warn that only some rows were searched, unless ``max_rows`` asked for this number.

    Parameters
    ----------
    sample : RowSample
        The rows that were searched.
    table : ThresholdTable
        The thresholds found.
    parameters : namespace
        Parameters of an ``FCCADiscretizer``.
    """
    if sample.reason != "max_rows":
        kept = most_frequent(table, parameters.Q, most_thresholds(parameters.preset, parameters.max_thresholds))
        warn_caller(sample.in_words(table, kept), SampledRowsWarning)
