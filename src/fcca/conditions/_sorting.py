"""Sort conditions, and find equal ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcca.conditions._phrases import KINDS, Codes


def has_number(kind: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return a mask of the conditions with a number: cuts and special values."""
    found: NDArray[np.bool_] = (kind == "cut") | (kind == "special")
    return found


def sorted_conditions(
    feature: NDArray[np.int32], kind: NDArray[np.str_], threshold: NDArray[np.float64], codes: Sequence[Codes | None]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Sort conditions; return their order and a mask.

    In the sorted order, the mask is False for a condition that repeats the one before it.
    """
    keys: list[NDArray[Any]] = [feature, threshold]
    if (kind != "cut").any():
        rank = np.select([kind == name for name in KINDS], range(len(KINDS)))
        sets = {side: float(at) for at, side in enumerate(sorted({side for side in codes if side is not None}))}
        within = np.array([0.0 if side is None else sets[side] for side in codes])
        within[has_number(kind)] = threshold[has_number(kind)]
        keys = [feature, rank, within]
    order = np.lexsort(keys[::-1])
    first = np.zeros(len(order), dtype=bool)
    first[:1] = True
    for key in keys:
        first[1:] |= np.diff(key[order]) != 0
    return order, first
