"""The proof behind a search's result, in words."""

from __future__ import annotations

import math

from fcca.utils._decimals import plain


def proof_in_words(objective: float, lower_bound: float, is_optimal: bool) -> str:
    """``proven optimal``, or the gap rounded up: ``within 3.1 % of optimal``."""
    if is_optimal:
        return "proven optimal"
    if not lower_bound > 0:
        return "not proven: the search ended before it had a bound"
    ratio = objective / lower_bound
    if ratio <= 2:
        return f"within {plain(_rounded_up(1000 * (ratio - 1)) / 10)} % of optimal"
    return f"at most {plain(_rounded_up(10 * ratio) / 10)} times the optimum"


def limits_in_words(time_limit: float | None, max_nodes: int | None) -> str:
    """The limits of a search: ``The time limit of 2 s or the limit of 9 branches``; empty without one."""
    limits = [] if time_limit is None else [f"time limit of {time_limit} s"]
    limits += [] if max_nodes is None else [f"limit of {max_nodes} branches"]
    return f"The {' or the '.join(limits)}" if limits else ""


def _rounded_up(x: float) -> int:
    """The next whole number, at least 1; what rounding has added to one does not count."""
    return max(1, math.ceil(x - 1e-9))
