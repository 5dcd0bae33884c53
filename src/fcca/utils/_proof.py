"""Sentences about the proof of a search result."""

from __future__ import annotations

import math

from fcca.utils._decimals import plain


def proof_in_words(objective: float, lower_bound: float, is_optimal: bool) -> str:
    """Describe a proof: ``proven optimal`` or ``within 3.1 % of optimal``."""
    if is_optimal:
        return "proven optimal"
    if not lower_bound > 0:
        return "not proven: the search ended before it had a bound"
    ratio = objective / lower_bound
    if ratio <= 2:
        return f"within {plain(_rounded_up(1000 * (ratio - 1)) / 10)} % of optimal"
    return f"at most {plain(_rounded_up(10 * ratio) / 10)} times the optimum"


def limits_in_words(time_limit: float | None, max_nodes: int | None) -> str:
    """Describe the limits of a search; empty if there are none."""
    limits = [] if time_limit is None else [f"time limit of {time_limit} s"]
    limits += [] if max_nodes is None else [f"limit of {max_nodes} branches"]
    return f"The {' or the '.join(limits)}" if limits else ""


def _rounded_up(x: float) -> int:
    """Round up to an integer of at least 1.

    Float errors below 1e-9 are ignored.
    """
    return max(1, math.ceil(x - 1e-9))
