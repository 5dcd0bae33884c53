"""A fitted tree as a diagram."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from fcca.classifier import FCCAClassifier
from fcca.exceptions import InvalidInputError
from fcca.plots._display import Display
from fcca.plots._sources import one_row
from fcca.plots._style import (
    GREY,
    INK,
    NARROW,
    NORMAL,
    POINTS,
    SMALL,
    TITLE,
    class_style,
    names_of_classes,
    percent,
    room_of,
    several,
    shortened,
    shown,
    text_width,
    wrapped,
)
from fcca.tables import Columns
from fcca.trees import OptimalTreeClassifier, TreeStructure
from fcca.utils import proof_in_words

PAD, LINE, BAR, BETWEEN = 5.0, 12.0, 9.0, 12.0  # points
SWATCH = 10.0
LEAST_TITLE = 400.0  # points that a title may be wide, however small the tree
SPREAD = 1.08  # by which small letters may be wider than they are, as they begin at whole pixels
GOOD_SCALE = 0.8  # from which on nothing is left out to make letters larger
LEAST_SIZE = 4.5  # points of letters that can just be read


class Shape(NamedTuple):
    """How a tree is laid out."""

    box: float  # points: how wide a box is
    gap: float  # the space to the next column
    most_lines: int  # of a condition
    rows: bool = True  # whether the boxes say how many rows they have

    @property
    def text(self) -> float:
        """How wide a line in a box may be."""
        return self.box - 2 * PAD


#: The first is that of a figure of its own; the others are for axes that are too small for it.
SHAPES = (Shape(150, 44, 3), Shape(124, 44, 3), Shape(104, 42, 4), Shape(86, 40, 5), Shape(86, 40, 4, rows=False))


@dataclass(eq=False, repr=False)
class TreeDisplay(Display):
    """A tree from left to right: conditions, rows and class shares at every node, the class at the leaves.

    In axes that are given, the tree is scaled to fit, with narrower boxes where that makes its letters larger. A new figure
    has the natural size of the tree. It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    structure : TreeStructure
    feature_names, class_names : list of str
    columns : Columns, optional
        Categories and gaps; None where all columns are plain numbers.
    certificate : str, default=""
        What is proven about the tree.
    leaf : int, optional
        The leaf whose path is lit.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    conditions_ : dict of int to str
        The whole condition of every inner node; in the boxes long names are cut.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAClassifier
    >>> from fcca.plots import TreeDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X, y)
    >>> display = TreeDisplay.from_estimator(classifier, class_names=["malignant", "benign"], row=X.iloc[[5]])
    """

    structure: TreeStructure
    feature_names: Sequence[str]
    class_names: Sequence[str]
    _: KW_ONLY
    columns: Columns | None = None
    certificate: str = ""
    leaf: int | None = None
    conditions_: dict[int, str] = field(init=False)
    _shape: Shape = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Mapping[Any, str] | Sequence[str] | None = None,
        row: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the tree of a fitted estimator.

        Parameters
        ----------
        estimator : FCCAClassifier or OptimalTreeClassifier
            Fitted.
        feature_names : sequence of str, optional
            What to call the columns instead of their own names.
        class_names : mapping or sequence, optional
            What to call the classes: ``{0: "malignant", 1: "benign"}``, or a list in the order of ``classes_``.
        row : data frame, Series or array, optional
            One row, whose path is lit.
        ax : matplotlib Axes, optional

        Returns
        -------
        TreeDisplay
        """
        if not isinstance(estimator, (FCCAClassifier, OptimalTreeClassifier)):
            raise InvalidInputError(
                f"Expected a fitted FCCAClassifier or OptimalTreeClassifier, got {type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        names = [str(name) for name in _check_feature_names_in(estimator)]
        if feature_names is not None:
            if isinstance(feature_names, str) or len(feature_names) != len(names):
                raise InvalidInputError(f"feature_names must be {len(names)} names, one per column, got {feature_names!r}.")
            names = [str(name) for name in feature_names]
        leaf = None if row is None else int(estimator.apply(one_row(estimator, row))[0])
        if isinstance(estimator, FCCAClassifier):
            structure, columns, tree = estimator.structure_, estimator.discretizer_.thresholds_.columns, estimator.tree_
        else:
            structure, columns, tree = estimator.tree_, None, estimator
        classes = names_of_classes(estimator.classes_, class_names)
        return cls(structure, names, classes, columns=columns, certificate=_certificate(tree), leaf=leaf).plot(ax)

    def _draw(self, ax: Any) -> None:
        tree = self.structure
        if self.leaf is not None and not (0 <= self.leaf < len(tree.feature) and tree.feature[self.leaf] < 0):
            raise InvalidInputError(f"leaf must be the number of a leaf of the tree, got {self.leaf!r}.")
        given = ax is not None
        if given:
            self._begin(ax, 0, 0)
            room = room_of(ax)
            room = room[0], room[1] - 3 * LINE
            self._shape = max(SHAPES, key=lambda shape: round(min(GOOD_SCALE, self._scale(shape, room)), 3))
            self._warn_where_too_small(room)
        else:
            self._shape = SHAPES[0]
        texts, height, x, y = self._layout()
        wide, top, keys, key_height = self._size(x, y, height)
        words = self._title(0.9 * room_of(ax)[0] if given else max(wide, LEAST_TITLE))
        if not given:
            wide = max(wide, *(1.05 * text_width(line, TITLE) for line in words))
            lines = 0.2 + 0.17 * len(words)
            ax = self._begin(None, wide / POINTS + 0.3, (top + key_height) / POINTS + lines)
        ax.set_axis_off()
        ax.set_xlim(-4, wide + 4)
        ax.set_ylim(top + key_height + 2, -4)  # from the top down
        ax.set_aspect("equal", anchor="N")

        lit = set() if self.leaf is None else {self.leaf, *(node for node, _ in tree.path_to(self.leaf))}
        for node in range(len(tree.feature)):
            if tree.feature[node] >= 0:
                for child, holds in ((int(tree.left[node]), False), (int(tree.right[node]), True)):
                    self._branch(ax, node, child, holds, x, y, node in lit and child in lit)
            self._node(ax, node, texts[node], x[node], y[node], height[node], node in lit)
        for left, down, name in keys:
            self._swatch(ax, left, top + down, self._key_names.index(name), name)
        ax.set_title("\n".join(words), fontsize=SMALL if given and room_of(ax)[0] < NARROW else TITLE)

    # --- how large it is -----------------------------------------------------------------------------------------------

    def _layout(self) -> tuple[list[list[str]], list[float], list[float], list[float]]:
        """Texts, heights and places of all boxes in the shape at hand."""
        texts = [self._texts(node) for node in range(len(self.structure.feature))]
        height = [2 * PAD + LINE * len(lines) + BAR for lines in texts]
        return texts, height, *self._places(height)

    def _size(self, x: list[float], y: list[float], height: list[float]) -> tuple[float, float, list[Any], float]:
        """Width and height of the tree, and the places of the key under it with the key's height."""
        keys, key_height = self._key_places(max(x) + self._shape.box)
        wide = max(
            max(x) + self._shape.box, *(left + SWATCH + 4 + SPREAD * text_width(name, NORMAL) for left, _, name in keys)
        )
        return wide, max(at + tall / 2 for at, tall in zip(y, height, strict=True)), keys, key_height

    def _scale(self, shape: Shape, room: tuple[float, float]) -> float:
        """By how much a tree of this shape has to be scaled to fill so many points."""
        self._shape = shape
        _, height, x, y = self._layout()
        wide, top, _, key_height = self._size(x, y, height)
        return min(room[0] / (wide + 8), room[1] / (top + key_height + 6))

    def _warn_where_too_small(self, room: tuple[float, float]) -> None:
        shape = self._shape
        if self._scale(shape, room) * NORMAL >= LEAST_SIZE:
            return
        self._shape = SHAPES[0]
        _, height, x, y = self._layout()
        wide, top, _, key_height = self._size(x, y, height)
        self._shape = shape
        warnings.warn(
            f"The tree is too large to be read here: it needs about {wide / POINTS:.0f} × {(top + key_height) / POINTS:.0f} "
            "inches. Leave ax out, and it makes a figure of that size.",
            UserWarning,
            stacklevel=4,
        )

    def _title(self, wide: float) -> list[str]:
        tree = self.structure
        title = f"Tree of {several(tree.n_leaves, 'leaf').replace('leafs', 'leaves')}, depth {tree.depth}"
        return [title, *wrapped(self.certificate, wide, TITLE, 3)] if self.certificate else [title]

    # --- what is written, and where -----------------------------------------------------------------------------------

    @property
    def _key_names(self) -> list[str]:
        return [shortened(name, 2 * self._shape.box, NORMAL) for name in self.class_names]

    def _texts(self, node: int) -> list[str]:
        tree = self.structure
        if node == 0:
            self.conditions_ = {}
        n_rows, weight = int(tree.n_rows[node]), float(tree.weight[node].sum())
        rows = several(n_rows, "row")
        if not np.isclose(weight, n_rows):
            rows += f", weight {weight:,.4g}"
        if tree.feature[node] < 0:
            best = int(tree.probability[node].argmax())
            share = f": {percent(tree.probability[node, best])}"
            room = 0.88 * (self._shape.text - text_width(share, NORMAL))  # bold is wider
            name = shortened(self.class_names[best], room, NORMAL)
            return [f"{name.rstrip()}{share}", *([rows] if self._shape.rows else [])]
        self.conditions_[node] = tree.test_in_words(node, True, list(self.feature_names), self.columns)
        # The name is cut before the rest, so that the number stays.
        cut = [shortened(name, 1.5 * self._shape.text, NORMAL) for name in self.feature_names]
        condition = tree.test_in_words(node, True, cut, self.columns)
        lines = wrapped(condition, self._shape.text * 0.96, NORMAL, self._shape.most_lines)
        return [*lines, *([rows] if self._shape.rows else [])]

    def _places(self, height: list[float]) -> tuple[list[float], list[float]]:
        """Left edge and middle of every box: leaves below each other, a node in the middle of its children."""
        tree = self.structure
        x = (tree.depths() * (self._shape.box + self._shape.gap)).tolist()
        y = [0.0] * len(height)
        slot = max((height[node] for node in np.flatnonzero(tree.feature < 0)), default=0.0) + BETWEEN
        n_leaves = 0
        for node in range(len(height)):  # depth first, so leaves come in order
            if tree.feature[node] < 0:
                y[node] = slot * (n_leaves + 0.5)
                n_leaves += 1
        for node in reversed(range(len(height))):
            if tree.feature[node] >= 0:
                y[node] = (y[tree.left[node]] + y[tree.right[node]]) / 2
        first = min(at - tall / 2 for at, tall in zip(y, height, strict=True))
        return x, [at - first for at in y]

    def _key_places(self, wide: float) -> tuple[list[tuple[float, float, str]], float]:
        """Where the classes' names stand under the tree, and how high all of them are."""
        left, line, places = 0.0, 0, []
        for name in self._key_names:
            room = SWATCH + 4 + text_width(name, NORMAL) + 16
            if left > 0 and left + room > wide:
                left, line = 0.0, line + 1
            places.append((left, 20.0 + 15.0 * line, name))
            left += room
        return places, 20.0 + 15.0 * line + 10.0

    # --- how it is drawn ----------------------------------------------------------------------------------------------

    def _node(self, ax: Any, node: int, lines: list[str], left: float, middle: float, tall: float, lit: bool) -> None:
        from matplotlib.patches import FancyBboxPatch

        tree = self.structure
        top = middle - tall / 2
        ax.add_patch(
            FancyBboxPatch(
                (left, top),
                self._shape.box,
                tall,
                boxstyle="round,pad=0,rounding_size=3",
                facecolor="white",
                edgecolor=INK if lit else "#999999",
                linewidth=2.4 if lit else 0.8,
                zorder=3,
            )
        )
        is_leaf = tree.feature[node] < 0
        for at, text in enumerate(lines):
            last = self._shape.rows and at == len(lines) - 1
            self._text(
                ax,
                left + PAD,
                top + PAD + LINE * (at + 0.5),
                text,
                size=SMALL if last else NORMAL,
                color=GREY if last else INK,
                weight="bold" if is_leaf and at == 0 else "normal",
            )
        self._bar(ax, left + PAD, top + tall - PAD - BAR + 1, node)

    def _bar(self, ax: Any, left: float, top: float, node: int) -> None:
        """The classes' shares, one after the other."""
        from matplotlib.patches import Rectangle

        start = left
        for at, share in enumerate(self.structure.probability[node].tolist()):
            if share > 0:
                ax.add_patch(Rectangle((start, top), share * self._shape.text, BAR - 1, zorder=4, **class_style(at).fill))
            start += share * self._shape.text
        ax.add_patch(Rectangle((left, top), self._shape.text, BAR - 1, fill=False, edgecolor=GREY, linewidth=0.5, zorder=5))

    def _branch(self, ax: Any, node: int, child: int, holds: bool, x: list[float], y: list[float], lit: bool) -> None:
        start, end = x[node] + self._shape.box, x[child]
        bend = start + 10
        ax.plot(
            [start, bend, bend, end],
            [y[node], y[node], y[child], y[child]],
            color=INK if lit else "#999999",
            linewidth=2.4 if lit else 1.0,
            solid_capstyle="butt",
            zorder=2 if lit else 1,
        )
        column = None if self.columns is None else self.columns[int(self.structure.feature[node])]
        gaps = column is not None and column.missing and node not in self.structure.asks_missing
        self._text(ax, (bend + end) / 2 + 1, y[child] - 6, "yes" if holds else "no", size=SMALL, color=INK, align="center")
        if gaps and not holds:
            self._text(ax, (bend + end) / 2 + 1, y[child] + 7, "missing", size=6.5, color=GREY, align="center")

    def _swatch(self, ax: Any, left: float, middle: float, at: int, name: str) -> None:
        from matplotlib.patches import Rectangle

        ax.add_patch(Rectangle((left, middle - SWATCH / 2), SWATCH, SWATCH, **class_style(at).fill))
        self._text(ax, left + SWATCH + 4, middle, name, size=NORMAL, color=INK)

    @staticmethod
    def _text(
        ax: Any,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        color: str,
        weight: str = "normal",
        align: str = "left",
    ) -> None:
        from fcca.plots._scaled import ScaledText

        label = ScaledText(x, y, shown(text), points=size, color=color, fontweight=weight, ha=align, va="center_baseline")
        label.set_zorder(6)
        label.set_clip_on(False)
        ax.add_artist(label)


def _certificate(tree: OptimalTreeClassifier) -> str:
    """What is proven of the tree, and of which number."""
    error = tree.objective_ - tree.regularization_ * tree.n_leaves_
    price = f", plus {100 * tree.regularization_:.2f} % for each leaf: {100 * tree.objective_:.2f} %"
    sum_of = f"wrong on {100 * error:.2f} % of the training rows{price if tree.regularization_ > 0 else ''}"
    if tree.is_optimal_:
        return f"Proven: no tree of depth at most {tree.max_depth} is better here; {sum_of}"
    proof = proof_in_words(tree.objective_, tree.lower_bound_, tree.is_optimal_)
    return f"{proof[0].upper()}{proof[1:]}: {sum_of}, no tree below {100 * tree.lower_bound_:.2f} %"
