"""Check the trees in a binary CatBoost file.

The file has a header of eight bytes, followed by a table in the FlatBuffers format.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = 8  # bytes: "CBM1" and the size of the table
TREES = 1  # position of the trees in the table of the model
# Positions in the table of the trees.
DIMENSION, SIZES, STARTS, LEAF_VALUES, STEPS, LEAF_OFFSETS = 0, 2, 3, 8, 10, 11
INTEGER, FLOAT, PAIR = np.dtype("<i4"), np.dtype("<f8"), np.dtype(("<u2", (2,)))


def check_steps(content: bytes) -> None:
    """Check that nodes of asymmetric trees refer to existing nodes and values.

    A step is the distance from a node to its child. CatBoost does not check the steps. If they are wrong, it reads outside
    of its arrays, and may or may not crash.

    Parameters
    ----------
    content : bytes
        The whole file.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    try:
        trees = _Table(content[HEADER:], None).table(TREES)
        steps = trees.vector(STEPS, PAIR).astype(np.int64)
        sizes, starts, offsets = (trees.vector(field, INTEGER).astype(np.int64) for field in (SIZES, STARTS, LEAF_OFFSETS))
        n_values, dimension = len(trees.vector(LEAF_VALUES, FLOAT)), trees.number(DIMENSION)
    except (struct.error, ValueError, IndexError) as error:
        raise ValueError("its table of trees is damaged") from error
    if not len(steps):
        return  # all nodes of a level share one split
    # Every node belongs to one tree, and the trees follow each other.
    if sizes.min() < 1 or len(sizes) != len(starts) or not np.array_equal(starts, np.cumsum(sizes) - sizes):
        raise ValueError("its trees overlap")
    if sizes.sum() != len(steps) or len(offsets) != len(steps):
        raise ValueError("the sizes of its trees do not add up to the number of its nodes")
    end = np.repeat(starts + sizes, sizes)
    if np.any(np.arange(len(steps)) + steps.max(axis=1) >= end):
        raise ValueError("a node of a tree refers to a node outside of the tree")
    of_leaves = offsets[np.any(steps == 0, axis=1)]
    if np.any((of_leaves < 0) | (of_leaves + dimension > n_values)):
        raise ValueError("a leaf has no value")


class _Table:
    """A FlatBuffers table.

    Each field of a table has an index, counted from 0.

    Parameters
    ----------
    content : bytes
        The whole FlatBuffers content.
    at : int or None
        Position of the first byte of the table; None for the root table.
    """

    def __init__(self, content: bytes, at: int | None) -> None:
        self._content = content
        self._at = self._reference(0) if at is None else at

    def table(self, field: int) -> _Table:
        """Return the table in the field with the index ``field``."""
        return _Table(self._content, self._reference(self._place(field)))

    def number(self, field: int) -> int:
        """Return the integer in the field with the index ``field``."""
        return int(self._read("<i", self._place(field)))

    def vector(self, field: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the vector in the field with the index ``field``; empty if the table lacks the field."""
        place = self._place(field)
        if place == self._at:
            return np.empty(0, dtype)
        start = self._reference(place)
        return np.frombuffer(self._content, dtype, self._read("<I", start), start + 4)

    def _place(self, field: int) -> int:
        """Return the position of a field's first byte.

        If the table lacks the field, return the position of the table.
        """
        fields = self._at - self._read("<i", self._at)
        known = (self._read("<H", fields) - 4) // 2
        return self._at + (self._read("<H", fields + 4 + 2 * field) if field < known else 0)

    def _reference(self, at: int) -> int:
        return at + self._read("<I", at)

    def _read(self, kind: str, at: int) -> int:
        if at < 0:
            raise ValueError("it refers to a negative position")
        found: int = struct.unpack_from(kind, self._content, at)[0]
        return found
