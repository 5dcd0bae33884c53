"""A tree as branches in words, for everything that shows one to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcca.tables import Columns
from fcca.trees import TreeStructure


@dataclass(frozen=True)
class Branch:
    """A node and how one gets there.

    Attributes
    ----------
    said : str
        What holds of the rows that come here, such as ``RM > 6.94``; empty for the root.
    branches : tuple of Branch
        The two sides of the node's question, first the one on which it is answered no; empty for a leaf.
    answer : label
        The heaviest class.
    weight : float
        Its training weight here.
    share : float
        Its share of the training weight here.
    rows : int
        Training rows.
    """

    said: str
    branches: tuple[Branch, ...]
    answer: Any
    weight: float
    share: float
    rows: int


def branches_in_words(nodes: TreeStructure, names: Sequence[str], classes: Sequence[Any], columns: Columns | None) -> Branch:
    """The root."""
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
    """``depth 3, 5 leaves``."""
    return f"depth {nodes.depth}, {nodes.n_leaves} {'leaves' if nodes.n_leaves > 1 else 'leaf'}"


def rows_in_words(rows: int) -> str:
    """``1 row`` or ``1,200 rows``."""
    return f"{rows:,} row{'' if rows == 1 else 's'}"
