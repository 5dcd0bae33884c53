"""Compute the positions and the text of the boxes in a tree diagram.

All sizes and positions are in points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fcca.plots._plot_text import percent, several, shortened, text_width, wrapped
from fcca.plots._style import NORMAL
from fcca.tables import Columns
from fcca.trees import TreeStructure

PAD, LINE, BAR, BETWEEN = 5.0, 12.0, 9.0, 12.0  # points
SWATCH = 10.0
SPREAD = 1.08  # small letters are drawn wider than measured, because they begin at whole pixels


class Shape(NamedTuple):
    """The size of the boxes in a tree diagram, and what they show.

    Attributes
    ----------
    box : float
        Width of a box.
    gap : float
        Space between a box and its children.
    most_lines : int
        Maximum number of lines for a condition.
    rows : bool
        Whether to show the number of training rows.
    """

    box: float  # width in points
    gap: float  # space to the next column of boxes
    most_lines: int  # of a condition
    rows: bool = True  # True shows the number of rows

    @property
    def text(self) -> float:
        """Width of a line of text in a box."""
        return self.box - 2 * PAD


class Box(NamedTuple):
    """The box of one node.

    Attributes
    ----------
    lines : list of str
        Its text.
    left, middle : float
        Positions of the left edge and of the vertical middle.
    height : float
    """

    lines: list[str]
    left: float
    middle: float
    height: float

    @property
    def top(self) -> float:
        """Vertical position of the upper edge."""
        return self.middle - self.height / 2


class Key(NamedTuple):
    """An entry of the legend below the tree: the name of a class and its position."""

    name: str
    left: float
    below: float  # points below the tree


class TreeLayout(NamedTuple):
    """The boxes of all nodes of a tree, and the legend below it."""

    shape: Shape
    boxes: list[Box]
    keys: list[Key]
    width: float
    bottom: float  # of the tree
    height: float  # with the legend

    def scale(self, width: float, height: float) -> float:
        """Return the factor by which the tree must be scaled to fill an area."""
        return min(width / (self.width + 8), height / (self.height + 6))


def laid_out(
    tree: TreeStructure, feature_names: Sequence[str], class_names: Sequence[str], columns: Columns | None, shape: Shape
) -> TreeLayout:
    """Compute the positions and texts of all boxes of a tree, with the root on the left.

    Parameters
    ----------
    tree : TreeStructure
    feature_names, class_names : sequence of str
    columns : Columns or None
        Descriptions of the columns; None if all columns are numeric without missing values.
    shape : Shape
    """
    # Shorten the column name first, so that the threshold stays complete.
    names = [shortened(name, 1.5 * shape.text, NORMAL) for name in feature_names]
    texts = [_lines(tree, node, names, class_names, columns, shape) for node in range(len(tree.feature))]
    heights = [2 * PAD + LINE * len(lines) + BAR for lines in texts]
    left = (tree.depths() * (shape.box + shape.gap)).tolist()
    boxes = [Box(*parts) for parts in zip(texts, left, _middles(tree, heights), heights, strict=True)]
    right, bottom = max(left) + shape.box, max(box.middle + box.height / 2 for box in boxes)
    keys = _keys([shortened(name, 2 * shape.box, NORMAL) for name in class_names], right)
    width = max(right, *(key.left + SWATCH + 4 + SPREAD * text_width(key.name, NORMAL) for key in keys))
    return TreeLayout(shape, boxes, keys, width, bottom, bottom + (keys[-1].below + 10.0))


def _lines(
    tree: TreeStructure, node: int, names: list[str], class_names: Sequence[str], columns: Columns | None, shape: Shape
) -> list[str]:
    if tree.feature[node] < 0:
        best = int(tree.share[node].argmax())
        share = f": {percent(tree.share[node, best])}"
        room = 0.88 * (shape.text - text_width(share, NORMAL))  # bold is wider
        lines = [f"{shortened(class_names[best], room, NORMAL).rstrip()}{share}"]
    else:
        lines = wrapped(tree.test_in_words(node, True, names, columns), shape.text * 0.96, NORMAL, shape.most_lines)
    return [*lines, _rows(tree, node)] if shape.rows else lines


def _rows(tree: TreeStructure, node: int) -> str:
    n_rows, weight = int(tree.n_rows[node]), float(tree.weight[node].sum())
    return several(n_rows, "row") + ("" if np.isclose(weight, n_rows) else f", weight {weight:,.4g}")


def _middles(tree: TreeStructure, heights: list[float]) -> list[float]:
    """Return the vertical middle of the box of each node.

    The leaves are placed one below the other. Each parent is centred between its two children.
    """
    leaves = np.flatnonzero(tree.feature < 0).tolist()  # nodes are numbered depth first, so leaves are in order
    slot = max(heights[leaf] for leaf in leaves) + BETWEEN
    y = [0.0] * len(heights)
    for at, leaf in enumerate(leaves):
        y[leaf] = slot * (at + 0.5)
    for node in reversed(range(len(heights))):
        if tree.feature[node] >= 0:
            y[node] = (y[tree.left[node]] + y[tree.right[node]]) / 2
    first = min(at - tall / 2 for at, tall in zip(y, heights, strict=True))
    return [at - first for at in y]


def _keys(names: list[str], width: float) -> list[Key]:
    left, line, keys = 0.0, 0, []
    for name in names:
        room = SWATCH + 4 + text_width(name, NORMAL) + 16
        if left > 0 and left + room > width:
            left, line = 0.0, line + 1
        keys.append(Key(name, left, 20.0 + 15.0 * line))
        left += room
    return keys
