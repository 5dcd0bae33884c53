"""Diagram of a fitted tree."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from fcca.classifier import FCCAClassifier
from fcca.exceptions import InvalidInputError
from fcca.plots._axes import room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import one_row
from fcca.plots._plot_text import names_of_classes, several, shown, text_width, wrapped
from fcca.plots._style import GREY, INK, NARROW, NORMAL, POINTS, SMALL, TITLE, class_style
from fcca.plots._tree_layout import BAR, LINE, PAD, SWATCH, Shape, TreeLayout, laid_out
from fcca.tables import Columns
from fcca.trees import OptimalTreeClassifier, TreeStructure, amount_in_words, compared_trees, objective_in_words
from fcca.utils import plain, proof_in_words

LEAST_TITLE = 400.0  # points: width of the title above a small tree
GOOD_SCALE = 0.8  # at this scale and above, nothing is left out to enlarge the text
LEAST_SIZE = 4.5  # points: smallest readable text
EDGE = "#999999"  # of boxes and branches that are not highlighted

#: The first shape is for new figures. The others are for given axes that are too small for it.
SHAPES = (Shape(150, 44, 3), Shape(124, 44, 3), Shape(104, 42, 4), Shape(86, 40, 5), Shape(86, 40, 4, rows=False))


@dataclass(eq=False, repr=False)
class TreeDisplay(Display):
    """Diagram of a decision tree, with the root on the left.

    Each node shows its condition, its number of training rows and the shares of the classes. A leaf shows the predicted
    class. A new figure is as large as the tree needs. In given axes, the tree is scaled to fit. Its boxes are made narrower
    if this allows a larger text. It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    structure : TreeStructure
        The nodes of the tree.
    feature_names, class_names : list of str
        Names to show for the columns and the classes.
    columns : Columns, optional
        Descriptions of the columns; None if all columns are numeric without missing values.
    certificate : str, default=""
        Sentence on what is proven about the tree, shown in the title.
    leaf : int, optional
        Position of the leaf whose path is highlighted.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    conditions_ : dict of int to str
        The full condition of each inner node. In the boxes, long names are shortened.

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
    _layout: TreeLayout = field(init=False)

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
            Names to show instead of the column names.
        class_names : mapping or sequence, optional
            Names to show for the classes: ``{0: "malignant", 1: "benign"}``, or a list in the order of ``classes_``.
        row : data frame, Series or array, optional
            A single row. Its path through the tree is highlighted.
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
                raise InvalidInputError(
                    f"feature_names must be a list of {len(names)} names, one per column, got {feature_names!r}."
                )
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
        inner = np.flatnonzero(tree.feature >= 0).tolist()
        self.conditions_ = {node: tree.test_in_words(node, True, list(self.feature_names), self.columns) for node in inner}
        ax = self._begin_tree() if ax is None else self._begin_tree_on(ax)
        lit = set() if self.leaf is None else {self.leaf, *(node for node, _ in tree.path_to(self.leaf))}
        for node in range(len(tree.feature)):
            if tree.feature[node] >= 0:
                for child, holds in ((int(tree.left[node]), False), (int(tree.right[node]), True)):
                    self._branch(ax, node, child, holds, node in lit and child in lit)
            self._node(ax, node, node in lit)
        for at, key in enumerate(self._layout.keys):
            self._swatch(ax, key.left, self._layout.bottom + key.below, at, key.name)

    def _begin_tree(self) -> Any:
        """Lay out the tree, and return the axes of a new figure of its size."""
        layout = self._layout = self._laid_out(SHAPES[0])
        words = self._title(max(layout.width, LEAST_TITLE))
        width = max(layout.width, *(1.05 * text_width(line, TITLE) for line in words))
        ax = self._begin(None, width / POINTS + 0.3, layout.height / POINTS + (0.2 + 0.17 * len(words)))
        self._scale_axes(ax, width)
        ax.set_title("\n".join(words), fontsize=TITLE)
        return ax

    def _begin_tree_on(self, ax: Any) -> Any:
        """Lay out the tree in given axes, with text as large as possible."""
        self._begin(ax, 0, 0)
        width, height = room_of(ax)
        room = width, height - 3 * LINE
        layouts = [self._laid_out(shape) for shape in SHAPES]
        self._layout = max(layouts, key=lambda layout: round(min(GOOD_SCALE, layout.scale(*room)), 3))
        if self._layout.scale(*room) * NORMAL < LEAST_SIZE:
            natural = layouts[0].width / POINTS, layouts[0].height / POINTS
            warnings.warn(
                f"The tree is too large for these axes: it needs about {natural[0]:.0f} × {natural[1]:.0f} inches. "
                "Omit ax to draw it in a new figure of that size.",
                UserWarning,
                stacklevel=4,
            )
        self._scale_axes(ax, self._layout.width)
        ax.set_title("\n".join(self._title(0.9 * width)), fontsize=SMALL if width < NARROW else TITLE)
        return ax

    def _laid_out(self, shape: Shape) -> TreeLayout:
        return laid_out(self.structure, self.feature_names, self.class_names, self.columns, shape)

    def _scale_axes(self, ax: Any, width: float) -> None:
        ax.set_axis_off()
        ax.set_xlim(-4, width + 4)
        ax.set_ylim(self._layout.height + 2, -4)  # from the top down
        ax.set_aspect("equal", anchor="N")

    def _title(self, width: float) -> list[str]:
        tree = self.structure
        title = f"Tree of {several(tree.n_leaves, 'leaf').replace('leafs', 'leaves')}, depth {tree.depth}"
        return [title, *wrapped(self.certificate, width, TITLE, 3)] if self.certificate else [title]

    def _node(self, ax: Any, node: int, lit: bool) -> None:
        from matplotlib.patches import FancyBboxPatch

        box, shape = self._layout.boxes[node], self._layout.shape
        ax.add_patch(
            FancyBboxPatch(
                (box.left, box.top),
                shape.box,
                box.height,
                boxstyle="round,pad=0,rounding_size=3",
                facecolor="white",
                edgecolor=INK if lit else EDGE,
                linewidth=2.4 if lit else 0.8,
                zorder=3,
            )
        )
        is_leaf = self.structure.feature[node] < 0
        for at, text in enumerate(box.lines):
            counts = shape.rows and at == len(box.lines) - 1
            size, color = (SMALL, GREY) if counts else (NORMAL, INK)
            weight = "bold" if is_leaf and at == 0 else "normal"
            self._text(ax, box.left + PAD, box.top + PAD + LINE * (at + 0.5), text, size=size, color=color, weight=weight)
        self._bar(ax, box.left + PAD, box.top + box.height - PAD - BAR + 1, node)

    def _bar(self, ax: Any, left: float, top: float, node: int) -> None:
        """Draw the class shares of a node as one bar with a part for each class."""
        from matplotlib.patches import Rectangle

        start, width = left, self._layout.shape.text
        for at, share in enumerate(self.structure.share[node].tolist()):
            if share > 0:
                ax.add_patch(Rectangle((start, top), share * width, BAR - 1, zorder=4, **class_style(at).fill))
            start += share * width
        ax.add_patch(Rectangle((left, top), width, BAR - 1, fill=False, edgecolor=GREY, linewidth=0.5, zorder=5))

    def _branch(self, ax: Any, node: int, child: int, holds: bool, lit: bool) -> None:
        box, next_box = self._layout.boxes[node], self._layout.boxes[child]
        start, end, y = box.left + self._layout.shape.box, next_box.left, next_box.middle
        bend = start + 10
        ax.plot(
            [start, bend, bend, end],
            [box.middle, box.middle, y, y],
            color=INK if lit else EDGE,
            linewidth=2.4 if lit else 1.0,
            solid_capstyle="butt",
            zorder=2 if lit else 1,
        )
        middle = (bend + end) / 2 + 1
        self._text(ax, middle, y - 6, "yes" if holds else "no", size=SMALL, color=INK, align="center")
        tree = self.structure
        column = None if self.columns is None else self.columns[int(tree.feature[node])]
        may_miss = column is not None and column.missing and node not in tree.asks_missing
        also = [plain(value) for value in tree.special_values_on([*tree.path_to(node), (node, holds)], node)]
        also += ["missing"] if may_miss and not holds else []
        if also:
            self._text(ax, middle, y + 7, ", ".join(also), size=6.5, color=GREY, align="center")

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
    """Return a sentence on what is proven about the tree, with its objective."""
    objective = objective_in_words(tree)
    if tree.is_optimal_:
        return f"Proven on the training rows: no {compared_trees(tree)} is better; {objective}"
    proof = proof_in_words(tree.objective_, tree.lower_bound_, tree.is_optimal_)
    return f"{proof[0].upper()}{proof[1:]}: {objective}, no tree below {amount_in_words(tree.criterion, tree.lower_bound_)}"
