"""What is proven about the best that a search found, in words."""

from __future__ import annotations

import math

from fcca._decimals import plain


def proof_in_words(objective: float, lower_bound: float, is_optimal: bool) -> str:
    """``proven optimal``, or by how much it may be worse than the best: ``within 3.1 % of optimal``, rounded up."""
    if is_optimal:
        return "proven optimal"
    if not lower_bound > 0:
        return "not proven: the search ended before it had a bound"
    ratio = objective / lower_bound
    if ratio <= 2:
        return f"within {plain(_rounded_up(1000 * (ratio - 1)) / 10)} % of optimal"
    return f"at most {plain(_rounded_up(10 * ratio) / 10)} times the optimum"


def _rounded_up(x: float) -> int:
    """The next whole number, at least 1; what rounding has added to one does not count."""
    return max(1, math.ceil(x - 1e-9))
