"""A tree as nested branches for display, with the conditions as text."""

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
        The condition that leads from the parent to this node, such as ``RM > 6.94``. Empty for the root.
    branches : tuple of Branch
        The two children: first the one where the condition of this node does not hold. Empty for a leaf.
    answer : label
        The predicted class: the class with the largest training weight in the node.
    weight : float
        The training weight of the predicted class in the node.
    share : float
        The share of the predicted class in the training weight of the node.
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
    """Convert a tree to nested branches, and return the root.

    Parameters
    ----------
    nodes : TreeStructure
    names : sequence of str
        Names of the columns.
    classes : sequence
        The class labels.
    columns : Columns or None
        Descriptions of the columns, with the labels of categories for the texts. None if all columns are numeric.
    """
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
