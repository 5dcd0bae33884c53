"""Sentences about what a search has proven, and about the limits that stopped it."""

from __future__ import annotations

import math

from fcca.utils._decimals import plain

SIGNIFICANT = 3  # digits of a lower bound in a sentence
LEAST_SHARE = 1e-9  # a lower bound below this is a rounding error


def proof_in_words(objective: float, lower_bound: float, is_optimal: bool) -> str:
    """Describe how close a search result is proven to be to the optimum.

    The text is ``proven optimal``, or it compares the objective with its lower bound. An example of such a comparison is
    ``within 3.1 % of optimal``.

    Parameters
    ----------
    objective : float
        The value that the search minimized.
    lower_bound : float
        No result has a smaller objective than this. 0 if nothing is known.
    is_optimal : bool
        True if the result is proven optimal.
    """
    if is_optimal:
        return "proven optimal"
    if not lower_bound > 0:
        return "not proven: the search ended before it had a bound"
    ratio = objective / lower_bound
    if ratio <= 2:
        return f"within {plain(_rounded_up(1000 * (ratio - 1)) / 10)} % of optimal"
    return f"at most {plain(_rounded_up(10 * ratio) / 10)} times the optimum"


def share_proof_in_words(share: float, lower_bound: float, is_optimal: bool) -> str:
    """Describe what a search has proven about a share that it minimized.

    An example is the inconsistency, minimized over all choices of thresholds. The text is ``proven optimal``, or it gives
    the lower bound: ``not proven; no choice is below 0.7 %``. A share that equals its lower bound is proven optimal. A share
    of 0 is always proven optimal, because no share is below 0.

    Parameters
    ----------
    share : float
        The smallest share found, such as an inconsistency.
    lower_bound : float
        No choice has a share below this. 0 if nothing is known.
    is_optimal : bool
        True if the search has proven that no choice has a smaller share.
    """
    if is_optimal or share <= lower_bound:
        return "proven optimal"
    if not lower_bound > LEAST_SHARE:
        return "not proven: the search ended before it had a lower bound"
    # Rounded down: the sentence must not claim more than the bound.
    digits = SIGNIFICANT - 1 - math.floor(math.log10(100 * lower_bound))
    percent = math.floor(100 * lower_bound * 10.0**digits + 1e-9) / 10.0**digits
    return f"not proven; no choice is below {plain(percent)} %"


def limits_in_words(time_limit: float | None, max_nodes: int | None) -> str:
    """Describe the limits of a search, such as ``The time limit of 5 s``.

    The result is the subject of a sentence. It is empty if both limits are None.

    Parameters
    ----------
    time_limit : float or None
        In seconds.
    max_nodes : int or None
        Maximum number of branches.
    """
    limits = [] if time_limit is None else [f"time limit of {time_limit} s"]
    limits += [] if max_nodes is None else [f"limit of {max_nodes} branches"]
    return f"The {' or the '.join(limits)}" if limits else ""


def _rounded_up(x: float) -> int:
    """Round a number up to an integer of at least 1.

    A number that exceeds an integer by less than 1e-9 is rounded down, because this difference is a rounding error.
    """
    return max(1, math.ceil(x - 1e-9))
