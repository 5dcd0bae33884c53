"""The nodes of many trees, one tree after the other, in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The nodes of trees.

    :class:`TreeEnsemble` describes the fields.
    """

    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: Floats
    native_threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    missing_left: NDArray[np.bool_] | None = None
    categories: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return the fields as keyword arguments of :class:`TreeEnsemble`."""
        return {each.name: getattr(self, each.name) for each in fields(Nodes)}

    def arranged(self, order: NDArray[np.intp]) -> Self:
        """Keep only the nodes in ``order``.

        The positions of roots and children are updated.

        Parameters
        ----------
        order : ndarray of int
            Positions of the nodes to keep, in their new order. It must contain all roots and their descendants.
        """
        number = np.full(len(self.feature), -1, dtype=np.int32)
        number[order] = np.arange(len(order))
        left, right = (np.where(side < 0, -1, number[side])[order].astype(np.int32) for side in (self.left, self.right))
        return replace(
            self,
            roots=number[self.roots].astype(np.int64),
            feature=self.feature[order],
            threshold=self.threshold[order],
            native_threshold=self.native_threshold[order],
            left=left,
            right=right,
            value=np.ascontiguousarray(self.value[order]),
            missing_left=None if self.missing_left is None else self.missing_left[order],
            categories={int(number[node]): codes for node, codes in self.categories.items() if number[node] >= 0},
        )


def joined(forests: Sequence[Nodes]) -> Nodes:
    """Concatenate the nodes of forests, and update the positions of roots and children.

    If one forest does not support missing values, the result does not support them.
    """
    sizes = np.array([len(nodes.feature) for nodes in forests])
    first = first_nodes(sizes)

    def chained(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(nodes, name) for nodes in forests])

    # If one forest does not support missing values, none gets any.
    takes_missing = all(nodes.missing_left is not None for nodes in forests)
    return Nodes(
        roots=chained("roots") + np.repeat(first, [len(nodes.roots) for nodes in forests]),
        feature=chained("feature"),
        threshold=chained("threshold"),
        native_threshold=chained("native_threshold"),
        left=shifted(chained("left"), first, sizes),
        right=shifted(chained("right"), first, sizes),
        value=chained("value"),
        missing_left=chained("missing_left") if takes_missing else None,
        categories={
            int(node + by): codes
            for nodes, by in zip(forests, first, strict=True)
            for node, codes in nodes.categories.items()
        },
    )


def first_nodes(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of the first node of each tree after concatenation.

    ``sizes`` has the node count of each tree.
    """
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def shifted(children: NDArray[np.integer], first: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Convert positions of children within their tree to positions among all nodes.

    ``children`` has the left or right children in all trees, one tree after the other. A leaf has a negative entry, which
    becomes -1. ``first`` has the position of each tree's first node, and ``sizes`` the node count of each tree.
    """
    return np.where(children < 0, -1, children + np.repeat(first, sizes)).astype(np.int32)
