"""Decision regions of a black box and its tree, for two columns."""

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
from fcca.plots._plot_data import fitted_classifier
from fcca.plots._plot_text import names_of_classes, one_line
from fcca.plots._style import GREY, INK, NORMAL, SMALL, TITLE, class_style, tint
from fcca.thresholds import ThresholdTable
from fcca.utils import whole_number

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 9.0, 4.9  # inches
MESH = 400  # cells along an axis for classifiers without cuts
MOST_CELLS = 2_000_000
MARGIN = 0.03  # of the range, around the data
MISSING_BAND = 0.08  # of the range, for missing values
TINT = 0.38


@dataclass(frozen=True)
class RegionAxis:
    """One column as an axis of the plot, divided into cells.

    All values in a cell between two cuts have the same prediction.

    Attributes
    ----------
    name : str
        Name of the column.
    edges : ndarray of shape (n_cells + 1,)
        Positions of the borders of the cells on the axis.
    values : ndarray of shape (n_cells,)
        A value of the column in each cell: a code for a category, NaN for missing values.
    categories : tuple or None
        The categories in the order of their codes; None for a numeric column.
    missing_at : float or None
        Position on the axis at which missing values are drawn; None if there are none.
    """

    name: str
    edges: Floats
    values: Floats
    categories: tuple[Any, ...] | None
    missing_at: float | None

    @classmethod
    def of(cls, name: str, column: Floats, cuts: Floats, fine: bool, categories: Any, missing: bool) -> RegionAxis:
        """Build an axis with one cell between each pair of neighbouring cuts.

        Parameters
        ----------
        name : str
            Name of the column.
        column : ndarray of shape (n_rows,)
            Encoded values of the column.
        cuts : ndarray
        fine : bool
            If True, also divide the axis by a fine mesh.
        categories : tuple or None
            The categories in the order of their codes; None for a numeric column.
        missing : bool
            Whether to add a cell for missing values.
        """
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
        missing_at = None
        if missing:
            band = MISSING_BAND * (high - low)
            edges = np.concatenate([edges, [high + band]])
            values, missing_at = np.concatenate([values, [np.nan]]), high + band / 2
        return cls(name, edges, values, categories, missing_at)

    def places(self, column: Floats) -> Floats:
        """Return the positions on the axis at which the values of a column are drawn."""
        return column if self.missing_at is None else np.where(np.isnan(column), self.missing_at, column)


@dataclass(eq=False, repr=False)
class DecisionRegionsDisplay(Display):
    """Decision regions of a black box and its tree, for a classifier with two columns.

    The thresholds, some rows and some counterfactuals are drawn on the regions.

    The regions are exact: ``predict`` is called for every cell between the cuts. Linear black boxes have no cuts, so
    ``predict`` is called for the cells of a fine mesh instead. It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    axes : pair of RegionAxis
        The horizontal and the vertical axis.
    black_box, tree : ndarray of int, shape (n_vertical_cells, n_horizontal_cells)
        Predicted class of each cell, as a position in ``class_names``.
    class_names : list of str
        Names to show for the classes.
    points : ndarray of shape (n_points, 2)
        Rows to draw, as positions on both axes.
    labels : ndarray of int, shape (n_points,)
        Label of each drawn row, as a position in ``class_names``.
    arrows : ndarray of shape (n_arrows, 2, 2)
        Start and end of each drawn counterfactual.
    lines : pair of ndarrays
        Kept thresholds of the horizontal and of the vertical column.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (2,)
        The panel of the black box and the panel of the tree.
    ax_ : matplotlib Axes
        The first panel.
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

    axes: tuple[RegionAxis, RegionAxis]
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
        """Compute and draw the regions of a fitted classifier with two columns.

        Parameters
        ----------
        estimator : FCCAClassifier
            Fitted on two columns.
        X, y : optional
            The training rows. None uses the rows that the classifier has in memory.
        features : pair of int or str, default=(0, 1)
            Columns of the horizontal and the vertical axis, by position or name.
        class_names : mapping or sequence, optional
            Names to show for the classes.
        n_arrows : int, default=12
            Maximum number of counterfactuals to draw.
        max_points : int, default=300
            Maximum number of rows to draw.
        ax : matplotlib Axes, optional

        Returns
        -------
        DecisionRegionsDisplay
        """
        classifier = fitted_classifier(estimator)
        if classifier.n_features_in_ != 2:
            raise InvalidInputError(
                "Decision regions require a classifier fitted on exactly two columns, but this one was fitted on "
                f"{classifier.n_features_in_}. Fit a classifier on two columns."
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
        predictions = discretizer.predict_target(given), classifier.predict(given)
        labels = np.asarray(rows.y)
        known = np.unique(np.concatenate([*predictions, labels, classifier.classes_]))
        shown_rows = _spread(len(table), max_points)
        found = getattr(discretizer, "counterfactuals_", None)
        cuts = kept.kind == "cut"
        return cls(
            axes,
            np.searchsorted(known, predictions[0]).reshape(shape),
            np.searchsorted(known, predictions[1]).reshape(shape),
            names_of_classes(known, class_names),
            points=np.column_stack([axes[i].places(table[shown_rows, order[i]]) for i in (0, 1)]),
            labels=np.searchsorted(known, labels[shown_rows]),
            arrows=np.empty((0, 2, 2)) if found is None else _arrows(found, n_arrows, axes, order, table, rows.rows),
            lines=(kept.threshold[cuts & (kept.feature == order[0])], kept.threshold[cuts & (kept.feature == order[1])]),
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        small = is_narrow(ax)
        pair, key = self._begin_panels(ax, 1, 2, WIDTH, HEIGHT)
        titles = ("black box", "tree") if small else ("Predictions of the black box", "Predictions of the tree")
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
        title = None if small else "areas: predicted class; marks: rows, by label"
        draw_key(ax, entries, columns=5, title=title)


def _order(features: Any, names: Sequence[str]) -> tuple[int, int]:
    given = [features] if isinstance(features, (str, int)) else list(features)
    places = []
    for one in given:
        if isinstance(one, str) and one not in names:
            raise InvalidInputError(f"There is no column {one!r}. The columns are {list(names)}.")
        places.append(list(names).index(one) if isinstance(one, str) else one)
    if sorted(places) != [0, 1]:
        raise InvalidInputError(f"features must be (0, 1), (1, 0) or the two column names {list(names)}, got {features!r}.")
    return int(places[0]), int(places[1])


def _axes(classifier: FCCAClassifier, X: Any, table: Floats, order: tuple[int, int]) -> tuple[RegionAxis, RegionAxis]:
    """Return both axes, with cells between the cuts of the black box and the tree.

    If the black box has no cuts, or there are too many cells, the cells form a fine mesh instead.
    """
    kept: ThresholdTable = classifier.discretizer_.thresholds_
    engine = CounterfactualExplainer(classifier.discretizer_.estimator_, X).engine
    cuts = [kept.threshold[(kept.feature == j) & (kept.kind == "cut")] for j in (0, 1)]
    known = [np.concatenate([engine.cells.cuts_of(j), cuts[j]]) for j in (0, 1)]
    fine = not engine.has_cuts or (len(known[0]) + 1) * (len(known[1]) + 1) > MOST_CELLS
    if not fine:
        cuts = known
    columns = kept.columns

    def axis(j: int) -> RegionAxis:
        column = None if columns is None else columns[j]
        return RegionAxis.of(
            kept.feature_names[j],
            table[:, j],
            cuts[j],
            fine,
            None if column is None else column.categories,
            column is not None and column.missing,
        )

    return axis(order[0]), axis(order[1])


def _as_given(classifier: FCCAClassifier, table: Floats) -> Any:
    """Convert a table of numbers and category codes to the input format of the classifier."""
    columns = classifier.discretizer_.thresholds_.columns
    if columns is not None and columns.has_categories:
        return columns.decode(table)
    names = getattr(classifier, "feature_names_in_", None)
    return table if names is None else pd.DataFrame(table, columns=list(names))


def _arrows(
    found: Counterfactuals,
    n: int,
    axes: tuple[RegionAxis, RegionAxis],
    order: tuple[int, int],
    table: Floats,
    rows: NDArray[np.int64],
) -> Floats:
    """Return the start and end of at most ``n`` proven counterfactuals, as positions on both axes.

    If there are more than ``n``, they are chosen at regular intervals. Row ``i`` of ``table`` is row ``rows[i]`` of the
    table that was passed to ``fit``.
    """
    proven = np.flatnonzero(found.is_proven)
    some = found.take(proven[_spread(len(proven), n)])
    here = replace(some, rows=np.searchsorted(rows, some.rows))
    ends = (table[here.rows], here.changed_table(table))
    return np.stack([np.column_stack([axes[i].places(end[:, order[i]]) for i in (0, 1)]) for end in ends], axis=1)


def _spread(n: int, most: int) -> NDArray[np.intp]:
    """Return at most ``most`` of the positions from 0 to ``n - 1``, evenly spread."""
    return np.unique(np.linspace(0, n - 1, most).astype(np.intp)) if n > most > 0 else np.arange(n if most else 0)


def _runs(inside: NDArray[np.bool_], x: Floats, y: Floats) -> list[Any]:
    """Return rectangles that cover the cells marked in ``inside``.

    Neighbouring marked cells in a row of cells are joined into one rectangle. ``x`` and ``y`` are the edges of the cells.
    """
    boxes = []
    for line in range(len(inside)):
        change = np.flatnonzero(np.diff(np.concatenate([[False], inside[line], [False]])))
        for begin, end in change.reshape(-1, 2).tolist():
            left, right, low, high = x[begin], x[end], y[line], y[line + 1]
            boxes.append([(left, low), (right, low), (right, high), (left, high)])
    return boxes


def _borders(regions: NDArray[np.intp], x: Floats, y: Floats) -> list[Any]:
    """Return the line segments between neighbouring cells of different classes.

    ``regions`` has the class of each cell. ``x`` and ``y`` are the edges of the cells.
    """
    upright = np.argwhere(regions[:, 1:] != regions[:, :-1]).tolist()
    level = np.argwhere(regions[1:] != regions[:-1]).tolist()
    return [[(x[j + 1], y[i]), (x[j + 1], y[i + 1])] for i, j in upright] + [
        [(x[j], y[i + 1]), (x[j + 1], y[i + 1])] for i, j in level
    ]


def _ticks(axis: Any, column: RegionAxis, small: bool) -> None:
    places: list[float]
    if column.categories is not None:
        room = 60.0 if not small else 70.0 / max(1, len(column.categories)) if axis.axis_name == "x" else 40.0
        texts = [one_line(label_in_words(label).strip('"'), room) for label in column.categories]
        places = [float(at) for at in range(len(texts))]
    elif column.missing_at is not None:
        low, high = column.edges[[0, -2]]
        room = MISSING_BAND * (high - low)  # between the last number and the word "missing"
        places = [float(tick) for tick in axis.get_majorticklocs() if low <= tick <= high - room]
        texts = [f"{tick:g}" for tick in places]
    else:
        return
    if column.missing_at is not None:
        places, texts = [*places, column.missing_at], [*texts, "missing"]
    axis.set_ticks(places, texts, fontsize=SMALL)
