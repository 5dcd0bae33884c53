"""A tree as nested branches with their conditions as text, for display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcca.tables import Columns
from fcca.trees import TreeStructure


@dataclass(frozen=True)
class Branch:
    """A node of a tree and the condition that leads to it.

    Attributes
    ----------
    said : str
        The condition on the way from the parent, such as ``RM > 6.94``; empty for the root.
    branches : tuple of Branch
        The two children, first the one where the node's condition does not hold; empty for a leaf.
    answer : label
        The heaviest class.
    weight : float
        The training weight of that class in the node.
    share : float
        The share of that class in the node's training weight.
    rows : int
        Number of training rows in the node.
    """

    said: str
    branches: tuple[Branch, ...]
    answer: Any
    weight: float
    share: float
    rows: int


def branches_in_words(nodes: TreeStructure, names: Sequence[str], classes: Sequence[Any], columns: Columns | None) -> Branch:
    """Return the root of the tree with all branches below it."""
    shares = nodes.share
    branches = nodes.branches_in_words(names, columns)

    def grow(node: int, said: str) -> Branch:
        texts = branches[node]
        children = () if texts is None else ((nodes.left[node], texts[0]), (nodes.right[node], texts[1]))
        share = shares[node]
        best = int(np.argmax(share))
        weight, rows = float(nodes.weight[node][best]), int(nodes.n_rows[node])
        sides = tuple(grow(int(child), text) for child, text in children)
        return Branch(said, sides, classes[best], weight, float(share[best]), rows)

    return grow(0, "")


def size_in_words(nodes: TreeStructure) -> str:
    """Describe the size of a tree: ``depth 3, 5 leaves``."""
    return f"depth {nodes.depth}, {nodes.n_leaves} {'leaves' if nodes.n_leaves > 1 else 'leaf'}"


def rows_in_words(rows: int) -> str:
    """Describe a number of rows: ``1 row`` or ``1,200 rows``."""
    return f"{rows:,} row{'' if rows == 1 else 's'}"
