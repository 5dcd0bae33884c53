"""Decimal numbers with few digits, which are easy to read."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

WIDE_GAP = 0.1  # relative to the larger neighbour


def shortest_decimal(near: float, at_least: float, below: float) -> float:
    """Return the number with the fewest digits in the interval ``[at_least, below)``.

    Significant digits are counted, and 0 has one digit. Ties are broken by the fewest characters, then by the distance to
    ``near``.

    Parameters
    ----------
    near : float
        The number to round. It is returned unchanged if it is not finite or not in the interval.
    at_least, below : float
        The ends of the interval. The first belongs to it, the second does not.
    """
    if not (math.isfinite(near) and at_least <= near < below):
        return near
    exact = Decimal(near)
    if exact == 0:
        return 0.0
    for digits in range(1, 17):
        unit = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        candidates = {float(exact.quantize(unit, rounding)) + 0.0 for rounding in (ROUND_FLOOR, ROUND_CEILING)} | {0.0}
        inside = [c for c in candidates if at_least <= c < below]
        if inside:
            return min(inside, key=lambda c: (len(plain(abs(c))), abs(c - near), c))
    return near


def decimal_in_gap(near: float, below: float, above: float) -> float:
    """Return a short decimal that separates two neighbouring values of a column, ``below <= result < above``.

    It is the number with the fewest digits in the gap. In a wide gap, it is in the middle half, so that new values near one
    of the two neighbours are on its side. A gap is wide if it is more than a tenth of the larger neighbour. The gap between
    whole numbers k and k + 1 is not wide, because new values are whole numbers as well.

    Parameters
    ----------
    near : float
        The number to round. It breaks ties.
    below, above : float
        The neighbouring values. One of them may be infinite or NaN; then ``near`` is returned.
    """
    if not below <= near < above or not math.isfinite(above - below):
        return near
    gap = above - below
    if gap <= WIDE_GAP * max(abs(below), abs(above)) or (gap == 1 and below.is_integer()):
        return shortest_decimal(near, below, above)
    low, high = below + gap / 4, above - gap / 4
    return shortest_decimal(min(max(near, low), math.nextafter(high, low)), low, high)


def plain(x: float) -> str:
    """Format a number with the fewest digits that identify it; 2.0 becomes ``2``."""
    text = repr(float(x))
    return text[:-2] if text.endswith(".0") else text
