"""Decision regions of a black box and of its tree, for tables of two columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.classifier import FCCAClassifier
from fcca.conditions import label_in_words
from fcca.counterfactuals import CounterfactualExplainer, Counterfactuals
from fcca.exceptions import InvalidInputError
from fcca.plots._axes import Entry, draw_key, is_narrow, plain_frame
from fcca.plots._display import Display
from fcca.plots._sources import fitted_classifier
from fcca.plots._style import GREY, INK, NORMAL, SMALL, TITLE, class_style, tint
from fcca.plots._text import names_of_classes, one_line
from fcca.thresholds import ThresholdTable
from fcca.utils import whole_number

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 9.0, 4.9  # inches
MESH = 400  # cells along an axis where the classifier has no cuts
MOST_CELLS = 2_000_000
MARGIN = 0.03  # of the range, around the data
GAP_BAND = 0.08  # of the range, for missing values
TINT = 0.38


@dataclass(frozen=True)
class Axis:
    """One column as an axis: the cells between its edges, and a value inside each.

    Attributes
    ----------
    name : str
    edges : ndarray of shape (n_cells + 1,)
    values : ndarray of shape (n_cells,)
        What stands for each cell; codes for categories, NaN for missing values.
    categories : tuple or None
    gap : float or None
        Where missing values are drawn.
    """

    name: str
    edges: Floats
    values: Floats
    categories: tuple[Any, ...] | None
    gap: float | None

    @classmethod
    def of(cls, name: str, column: Floats, cuts: Floats, fine: bool, categories: Any, missing: bool) -> Axis:
        """Cells between the cuts, and between those of a fine mesh too where the cuts are not all there is to know."""
        if categories is not None:
            low, high = -0.5, len(categories) - 0.5
            values = np.arange(len(categories), dtype=np.float64)
            edges: Floats = np.append(values, len(categories)) - 0.5
        else:
            low, high = float(np.nanmin(column)), float(np.nanmax(column))
            around = MARGIN * (high - low) or 0.5
            low, high = low - around, high + around
            inside = np.concatenate([cuts, np.linspace(low, high, MESH + 1)[1:-1] if fine else []])
            edges = np.concatenate([[low], np.unique(inside[(inside > low) & (inside < high)]), [high]])
            values = edges[1:]  # a value on a cut belongs to the cell below it
        gap = None
        if missing:
            band = GAP_BAND * (high - low)
            edges = np.concatenate([edges, [high + band]])
            values, gap = np.concatenate([values, [np.nan]]), high + band / 2
        return cls(name, edges, values, categories, gap)

    def places(self, column: Floats) -> Floats:
        """Positions of values on the axis."""
        return column if self.gap is None else np.where(np.isnan(column), self.gap, column)


@dataclass(eq=False, repr=False)
class DecisionRegionsDisplay(Display):
    """Decision regions of the black box and of the tree side by side, with the thresholds and some counterfactuals.

    For classifiers of exactly two columns. Regions are exact: the answer is taken in every cell between the cuts. Linear
    models have none; their regions, but not their trees', are drawn on a fine mesh. It is recommended to use
    :meth:`from_estimator`.

    Parameters
    ----------
    axes : pair of Axis
        Horizontal and vertical.
    black_box, tree : ndarray of int of shape (n_vertical_cells, n_horizontal_cells)
        Position in ``class_names`` of what is answered in each cell.
    class_names : list of str
    points : ndarray of shape (n_points, 2)
        Rows to draw, categories as codes.
    labels : ndarray of int of shape (n_points,)
        Their classes.
    arrows : ndarray of shape (n_arrows, 2, 2)
        From where to where counterfactuals go.
    lines : pair of ndarrays
        Thresholds kept, of the horizontal and of the vertical column.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (2,)
        The black box's and the tree's.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fcca import FCCAClassifier
    >>> from fcca.plots import DecisionRegionsDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> classifier = FCCAClassifier().fit(X.iloc[:, 2:], y)
    >>> display = DecisionRegionsDisplay.from_estimator(classifier, class_names=["setosa", "versicolor", "virginica"])
    """

    axes: tuple[Axis, Axis]
    black_box: NDArray[np.intp]
    tree: NDArray[np.intp]
    class_names: Sequence[str]
    _: KW_ONLY
    points: Floats
    labels: NDArray[np.intp]
    arrows: Floats
    lines: tuple[Floats, Floats]

    @classmethod
    def from_estimator(
        cls,
        estimator: FCCAClassifier,
        X: Any = None,
        y: Any = None,
        *,
        features: Sequence[int | str] = (0, 1),
        class_names: Mapping[Any, str] | Sequence[str] | None = None,
        n_arrows: int = 12,
        max_points: int = 300,
        ax: Any = None,
    ) -> Self:
        """Compute the regions of a fitted classifier of two columns, and draw them.

        Parameters
        ----------
        estimator : FCCAClassifier
            Fitted on two columns.
        X, y : optional
            The rows that it was fitted on; None takes those that it has in memory.
        features : pair of int or str, default=(0, 1)
            Which column is the horizontal axis, and which the vertical one.
        class_names : mapping or sequence, optional
            What to call the classes.
        n_arrows : int, default=12
            How many counterfactuals to draw at most.
        max_points : int, default=300
            How many rows to draw at most.
        ax : matplotlib Axes, optional

        Returns
        -------
        DecisionRegionsDisplay
        """
        classifier = fitted_classifier(estimator)
        if classifier.n_features_in_ != 2:
            raise InvalidInputError(
                f"Decision regions can be drawn for classifiers of exactly two columns; this one was fitted on "
                f"{classifier.n_features_in_}. Fit one on two of them."
            )
        n_arrows, max_points = whole_number("n_arrows", n_arrows, 0), whole_number("max_points", max_points, 0)
        rows = classifier.training_data(X, y)
        discretizer = classifier.discretizer_
        kept: ThresholdTable = discretizer.thresholds_
        order = _order(features, kept.feature_names)
        table = discretizer.encode(rows.X)
        axes = _axes(classifier, rows.X, table, order)
        grid = np.empty((len(axes[1].values), len(axes[0].values), 2))
        grid[:, :, order[0]], grid[:, :, order[1]] = axes[0].values[None, :], axes[1].values[:, None]
        given = _as_given(classifier, grid.reshape(-1, 2))
        shape = grid.shape[:2]
        answers = discretizer.predict_target(given), classifier.predict(given)
        labels = np.asarray(rows.y)
        known = np.unique(np.concatenate([*answers, labels, classifier.classes_]))
        shown_rows = _spread(len(table), max_points)
        found = getattr(discretizer, "counterfactuals_", None)
        cuts = kept.kind == "cut"
        return cls(
            axes,
            np.searchsorted(known, answers[0]).reshape(shape),
            np.searchsorted(known, answers[1]).reshape(shape),
            names_of_classes(known, class_names),
            points=np.column_stack([axes[i].places(table[shown_rows, order[i]]) for i in (0, 1)]),
            labels=np.searchsorted(known, labels[shown_rows]),
            arrows=np.empty((0, 2, 2)) if found is None else _arrows(found, n_arrows, axes, order, table, rows.rows),
            lines=(kept.threshold[cuts & (kept.feature == order[0])], kept.threshold[cuts & (kept.feature == order[1])]),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        small = is_narrow(ax)
        pair, key = self._begin_panels(ax, 1, 2, WIDTH, HEIGHT)
        titles = ("black box", "tree") if small else ("What the black box answers", "What the tree answers")
        for panel, regions, title in zip(pair, (self.black_box, self.tree), titles, strict=True):
            self._regions(panel, regions)
            self._points(panel)
            self._thresholds(panel)
            self._frame(panel, title, small)
        for (x0, y0), (x1, y1) in self.arrows.tolist():
            pair[0].annotate(
                "",
                (x1, y1),
                (x0, y0),
                arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0},
                zorder=6,
            )
        pair[1].set_ylabel("")
        if small:
            pair[1].set_yticklabels([])
        self._legend(key, small)

    def _regions(self, ax: Any, regions: NDArray[np.intp]) -> None:
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.colors import ListedColormap

        x, y = self.axes[0].edges, self.axes[1].edges
        n = len(self.class_names)
        colors = ListedColormap([tint(class_style(at).color, TINT) for at in range(n)])
        ax.pcolormesh(x, y, regions, cmap=colors, vmin=-0.5, vmax=n - 0.5, rasterized=regions.size > 10_000, zorder=1)
        for at in np.unique(regions).tolist():
            hatch = class_style(at).hatch
            if hatch:
                boxes = PolyCollection(
                    _runs(regions == at, x, y), facecolor="none", edgecolor=tint(GREY, 0.45), hatch=hatch[:2], linewidth=0
                )
                boxes.set_zorder(1.5)
                ax.add_collection(boxes, autolim=False)
        ax.add_collection(LineCollection(_borders(regions, x, y), colors=GREY, linewidths=0.7, zorder=2), autolim=False)

    def _points(self, ax: Any) -> None:
        for at in np.unique(self.labels).tolist():
            style, here = class_style(at), self.labels == at
            ax.scatter(
                *self.points[here].T,
                s=16,
                marker=style.marker,
                color=style.color,
                edgecolor="white",
                linewidth=0.5,
                zorder=4,
            )

    def _thresholds(self, ax: Any) -> None:
        dashes: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (4, 3)), "zorder": 3}
        for threshold in self.lines[0].tolist():
            ax.axvline(threshold, **dashes)
        for threshold in self.lines[1].tolist():
            ax.axhline(threshold, **dashes)

    def _frame(self, ax: Any, title: str, small: bool) -> None:
        plain_frame(ax)
        ax.set_xlim(self.axes[0].edges[[0, -1]])
        ax.set_ylim(self.axes[1].edges[[0, -1]])
        ax.set_title(title, fontsize=TITLE)
        size, room = (SMALL, 85.0) if small else (NORMAL, 200.0)
        ax.set_xlabel(one_line(self.axes[0].name, room, size), fontsize=size)
        ax.set_ylabel(one_line(self.axes[1].name, room, size), fontsize=size)
        if small:
            ax.locator_params(nbins=3)
        _ticks(ax.xaxis, self.axes[0], small)
        _ticks(ax.yaxis, self.axes[1], small)

    def _legend(self, ax: Any, small: bool) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        entries: list[Entry] = []
        for at, name in enumerate(self.class_names):
            style = class_style(at)
            patch = Patch(facecolor=tint(style.color, TINT), edgecolor=tint(GREY, 0.45), hatch=style.hatch, linewidth=0)
            mark = Line2D([], [], marker=style.marker, color=style.color, mec="white", mew=0.5, ls="")
            entries.append(((patch, mark), one_line(name, 120.0)))
        if len(self.lines[0]) + len(self.lines[1]):
            entries.append((Line2D([], [], color=INK, linewidth=1, linestyle=(0, (4, 3))), "threshold kept"))
        if len(self.arrows):
            entries.append((Line2D([], [], color=INK, linewidth=1.1, marker=">", markersize=5), "counterfactual"))
        title = None if small else "areas: what is answered; marks: rows, by their label"
        draw_key(ax, entries, columns=5, title=title)


def _order(features: Any, names: Sequence[str]) -> tuple[int, int]:
    given = [features] if isinstance(features, (str, int)) else list(features)
    places = []
    for one in given:
        if isinstance(one, str) and one not in names:
            raise InvalidInputError(f"There is no column {one!r}. The columns are {list(names)}.")
        places.append(list(names).index(one) if isinstance(one, str) else one)
    if sorted(places) != [0, 1]:
        raise InvalidInputError(
            f"features must be the two columns, (0, 1) or (1, 0) or their names {list(names)}; got {features!r}."
        )
    return int(places[0]), int(places[1])


def _axes(classifier: FCCAClassifier, X: Any, table: Floats, order: tuple[int, int]) -> tuple[Axis, Axis]:
    """Both columns, with the cuts of the black box and of the tree; a mesh where there are none, or far too many."""
    kept: ThresholdTable = classifier.discretizer_.thresholds_
    engine = CounterfactualExplainer(classifier.discretizer_.estimator_, X).engine
    cuts = [kept.threshold[(kept.feature == j) & (kept.kind == "cut")] for j in (0, 1)]
    known = [np.concatenate([engine.cells.cuts_of(j), cuts[j]]) for j in (0, 1)]
    fine = not engine.has_cuts or (len(known[0]) + 1) * (len(known[1]) + 1) > MOST_CELLS
    if not fine:
        cuts = known
    columns = kept.columns

    def axis(j: int) -> Axis:
        column = None if columns is None else columns[j]
        return Axis.of(
            kept.feature_names[j],
            table[:, j],
            cuts[j],
            fine,
            None if column is None else column.categories,
            column is not None and column.missing,
        )

    return axis(order[0]), axis(order[1])


def _as_given(classifier: FCCAClassifier, table: Floats) -> Any:
    """A table of codes as the classifier takes it."""
    columns = classifier.discretizer_.thresholds_.columns
    if columns is not None and columns.has_categories:
        return columns.decode(table)
    names = getattr(classifier, "feature_names_in_", None)
    return table if names is None else pd.DataFrame(table, columns=list(names))


def _arrows(
    found: Counterfactuals, n: int, axes: tuple[Axis, Axis], order: tuple[int, int], table: Floats, rows: NDArray[np.int64]
) -> Floats:
    """Some of the proven counterfactuals, spread evenly over the rows; ``rows`` says which rows the table's are."""
    proven = np.flatnonzero(found.is_status("optimal"))
    some = found.take(proven[_spread(len(proven), n)])
    here = replace(some, rows=np.searchsorted(rows, some.rows))
    ends = (table[here.rows], here.changed_table(table))
    return np.stack([np.column_stack([axes[i].places(end[:, order[i]]) for i in (0, 1)]) for end in ends], axis=1)


def _spread(n: int, most: int) -> NDArray[np.intp]:
    """At most so many positions, evenly spread."""
    return np.unique(np.linspace(0, n - 1, most).astype(np.intp)) if n > most > 0 else np.arange(n if most else 0)


def _runs(inside: NDArray[np.bool_], x: Floats, y: Floats) -> list[Any]:
    """Rectangles that cover the cells, as long as they go along a line."""
    boxes = []
    for line in range(len(inside)):
        change = np.flatnonzero(np.diff(np.concatenate([[False], inside[line], [False]])))
        for begin, end in change.reshape(-1, 2).tolist():
            left, right, low, high = x[begin], x[end], y[line], y[line + 1]
            boxes.append([(left, low), (right, low), (right, high), (left, high)])
    return boxes


def _borders(regions: NDArray[np.intp], x: Floats, y: Floats) -> list[Any]:
    """The lines between cells that are answered otherwise."""
    upright = np.argwhere(regions[:, 1:] != regions[:, :-1]).tolist()
    level = np.argwhere(regions[1:] != regions[:-1]).tolist()
    return [[(x[j + 1], y[i]), (x[j + 1], y[i + 1])] for i, j in upright] + [
        [(x[j], y[i + 1]), (x[j + 1], y[i + 1])] for i, j in level
    ]


def _ticks(axis: Any, column: Axis, small: bool) -> None:
    places: list[float]
    if column.categories is not None:
        room = 60.0 if not small else 70.0 / max(1, len(column.categories)) if axis.axis_name == "x" else 40.0
        texts = [one_line(label_in_words(label).strip('"'), room) for label in column.categories]
        places = [float(at) for at in range(len(texts))]
    elif column.gap is not None:
        low, high = column.edges[[0, -2]]
        room = GAP_BAND * (high - low)  # between the last number and the word
        places = [float(tick) for tick in axis.get_majorticklocs() if low <= tick <= high - room]
        texts = [f"{tick:g}" for tick in places]
    else:
        return
    if column.gap is not None:
        places, texts = [*places, column.gap], [*texts, "missing"]
    axis.set_ticks(places, texts, fontsize=SMALL)
