"""Trees that a library keeps one by one, joined into the one set of arrays of the neutral model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray


def flat(lists: Iterable[Sequence[Any]], dtype: Any) -> NDArray[Any]:
    """All lists one after the other, converted at once: many small conversions are what reading would take longest for."""
    return np.array(list(chain.from_iterable(lists)), dtype=dtype)


def first_nodes(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each tree begins when trees of these sizes stand one after the other."""
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def shifted(children: NDArray[np.integer], roots: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Children numbered within their trees, numbered over all trees; negative ones, which mark leaves, as -1."""
    return np.where(children < 0, -1, children + np.repeat(roots, sizes)).astype(np.int32)


def referenced(
    roots: NDArray[np.int64], left: NDArray[np.int32], right: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Which nodes are roots or children, and the three arrays numbered over these alone: pruning leaves others behind."""
    kept = np.zeros(len(left), dtype=np.bool_)
    kept[roots] = True
    inner = left >= 0
    kept[left[inner]] = True
    kept[right[inner]] = True
    number = np.cumsum(kept) - 1
    renumbered = [np.where(side < 0, -1, number[side])[kept].astype(np.int32) for side in (left, right)]
    return kept, number[roots].astype(np.int64), renumbered[0], renumbered[1]
