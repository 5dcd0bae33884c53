"""A tree as branches in words, for everything that shows one to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fcca._columns import Columns
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
    """The root; below a question that only present values pass, a column is not said to be missing again."""

    probability = nodes.probability

    def grow(node: int, said: str, shown: Columns | None) -> Branch:
        sides = []
        if nodes.feature[node] >= 0:
            for goes_right, child in ((False, int(nodes.left[node])), (True, int(nodes.right[node]))):
                text = nodes.test_in_words(node, goes_right, names, shown)
                present = goes_right != (node in nodes.asks_missing)
                sides.append(grow(child, text, _without_gaps(shown, int(nodes.feature[node])) if present else shown))
        share = probability[node]
        best = int(np.argmax(share))
        weight, rows = float(nodes.weight[node][best]), int(nodes.n_rows[node])
        return Branch(said, tuple(sides), classes[best], weight, float(share[best]), rows)

    return grow(0, "", columns)


def _without_gaps(columns: Columns | None, feature: int) -> Columns | None:
    if columns is None:
        return None
    return Columns(tuple(replace(column, missing=column.missing and j != feature) for j, column in enumerate(columns)))


def size_in_words(nodes: TreeStructure) -> str:
    """``depth 3, 5 leaves``."""
    return f"depth {nodes.depth}, {nodes.n_leaves} {'leaves' if nodes.n_leaves > 1 else 'leaf'}"


def rows_in_words(rows: int) -> str:
    """``1 row`` or ``1,200 rows``."""
    return f"{rows:,} row{'' if rows == 1 else 's'}"
