"""Numbers that people can read."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def shortest_decimal(near: float, at_least: float, below: float) -> float:
    """The decimal with the fewest significant digits in ``[at_least, below)``; of several, the one closest to ``near``.

    ``near`` itself must lie in the interval.
    """
    if not (math.isfinite(near) and at_least <= near < below):
        return near
    exact = Decimal(near)
    if exact == 0:
        return 0.0
    for digits in range(1, 17):
        unit = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        candidates = {float(exact.quantize(unit, rounding)) for rounding in (ROUND_FLOOR, ROUND_CEILING)}
        inside = [c for c in candidates if at_least <= c < below]
        if inside:
            return min(inside, key=lambda c: (abs(c - near), c)) + 0.0  # no negative zero
    return near


def plain(x: float) -> str:
    """The shortest text that reads back as the same number, without a needless ``.0``."""
    text = repr(float(x))
    return text[:-2] if text.endswith(".0") else text
