"""Heat map of where the thresholds lie, and how often they are crossed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fcca.conditions import label_in_words
from fcca.exceptions import InvalidInputError
from fcca.plots._axes import fitting, name_lines, room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import fitted_discretizer, in_share_of_range, ranges
from fcca.plots._plot_text import number, one_line, several, shortened, shown, some_lines, text_width
from fcca.plots._style import GREY, INK, LIGHT, NAME_WIDTH, NARROW, SMALL, TITLE, ink_on
from fcca.thresholds import ThresholdTable
from fcca.utils import whole_number

Floats = NDArray[np.float64]

WIDTH, LINE = 8.0, 0.24  # inches
KEY_POINTS, TITLES = 60.0, 75.0  # points for the colour bar, and for the labels above and below the ranges
MISSING_APART, MISSING_WIDE = 0.04, 0.07  # distance and width of the box for missing values, as shares of the range
TICK_WIDTH = 46.0  # points for a tick label
LIGHTEST = 0.3  # start of the used part of a colour map; lighter colours look white
MAP_COLORS = 256
FULL, HALF = 0.4, 0.2  # half the height of a kept threshold and of any other
STRIP = 0.2  # height of the colour strip of a category that is not kept
LABEL_SIZE = 6.5


@dataclass(eq=False, repr=False)
class ThresholdHeatmapDisplay(Display):
    """Heat map of thresholds, coloured by how often counterfactuals cross them.

    Each column of the table has a row in the chart, from its smallest to its largest value. A mark shows where a threshold
    lies. A column of categories has one box per category. Its colour shows how often counterfactuals cross conditions on
    sets that contain this category. A condition on missing values has a box to the right of the range. It is recommended to
    use :meth:`from_estimator`.

    Parameters
    ----------
    thresholds : ThresholdTable
        All conditions to draw.
    low, high : ndarray of shape (n_features,)
        Smallest and largest value of each column.
    kept : ndarray of bool, shape (n_conditions,), optional
        Mask of the conditions that the discretizer keeps. All other conditions are drawn at half height. None draws all
        conditions at full height.
    max_features : int, default=40
        Maximum number of columns to draw, those whose conditions are crossed most often.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    features_ : list of int
        Positions of the drawn columns, from top to bottom.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCADiscretizer
    >>> from fcca.plots import ThresholdHeatmapDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = ThresholdHeatmapDisplay.from_estimator(FCCADiscretizer(Q=0.7).fit(X, y))
    """

    thresholds: ThresholdTable
    low: Floats
    high: Floats
    _: KW_ONLY
    kept: NDArray[np.bool_] | None = None
    max_features: int = 40
    features_: list[int] = field(init=False)
    _cmap: str = field(init=False)
    _points: float = field(init=False)
    _missing: tuple[float, float] = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, X: Any = None, kept_only: bool = False, max_features: int = 40, ax: Any = None
    ) -> Self:
        """Draw the thresholds of a fitted estimator.

        Parameters
        ----------
        estimator : FCCAClassifier or discretizer
            Fitted.
        X : data frame or array, optional
            The training rows, from which the ranges of the columns are computed. Not needed for an FCCADiscretizer, which
            stores the ranges.
        kept_only : bool, default=False
            If True, draw only the thresholds that the discretizer keeps, not all thresholds found.
        max_features : int, default=40
            Maximum number of columns to draw, those whose conditions are crossed most often.
        ax : matplotlib Axes, optional

        Returns
        -------
        ThresholdHeatmapDisplay
        """
        discretizer = fitted_discretizer(estimator)
        table: ThresholdTable = discretizer.thresholds_
        kept = np.ones(len(table), dtype=bool)
        if not kept_only and hasattr(discretizer, "all_thresholds_"):
            names = set(table.names())
            table = discretizer.all_thresholds_
            kept = np.array([name in names for name in table.names()], dtype=bool)
        low, high = ranges(estimator, X)
        return cls(table, low, high, kept=kept, max_features=max_features).plot(ax)

    def plot(self, ax: Any = None, *, cmap: str = "cividis_r") -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on. None creates a new figure.
        cmap : str, default="cividis_r"
            Name of a matplotlib colour map. Its lightest part is not used.

        Returns
        -------
        self
        """
        self._cmap = cmap
        return super().plot(ax)

    def _draw(self, ax: Any) -> None:
        most = whole_number("max_features", self.max_features)
        table = self.thresholds
        if len(table) == 0:
            raise InvalidInputError("The estimator has no thresholds to draw.")
        total = np.bincount(table.feature, weights=table.count, minlength=len(table.feature_names))
        used = np.unique(table.feature)
        order = used[np.argsort(-total[used], kind="stable")]
        ax = self._begin(ax, WIDTH, 1.5 + LINE * max(3, min(most, len(order))))
        wide, tall = room_of(ax)
        features = self.features_ = order[: min(most, fitting(tall, TITLES))].tolist()
        name_width = min(NAME_WIDTH, 0.3 * wide)
        longest = max(text_width(shortened(table.feature_names[j], name_width), SMALL) for j in features)
        ends = self._ends(features) if wide >= NARROW else {}
        end_width = max([text_width(text, LABEL_SIZE) for pair in ends.values() for text in pair], default=0.0)
        self._points = max(0.25 * wide, wide - longest - KEY_POINTS - 2 * end_width)  # width of a range
        beside = (end_width + 8) / self._points if ends else 0.0
        # Far enough from the range that the labels "largest value" and "is missing" do not overlap.
        left = 1 + max(beside + MISSING_APART, TICK_WIDTH / self._points - MISSING_WIDE / 2)
        self._missing = (left, left + MISSING_WIDE)

        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, LogNorm, Normalize

        drawn = np.isin(table.feature, features)
        lowest, highest = float(table.count[drawn].min()), float(table.count[drawn].max())
        norm: Any = Normalize(0, highest or 1.0) if lowest <= 0 else LogNorm(min(lowest, highest / 1.001), highest)
        colors = ScalarMappable(norm, ListedColormap(colormaps[self._cmap](np.linspace(LIGHTEST, 1.0, MAP_COLORS))))
        has_missing = bool((table.kind[drawn] == "missing").any())
        for line, j in enumerate(features):
            self._draw_column(ax, line, j, colors)
            for at, text, side in zip((-0.012, 1.012), ends.get(j, ()), ("right", "left"), strict=False):
                ax.text(at, line, text, ha=side, va="center_baseline", fontsize=LABEL_SIZE, color=GREY)
        name_lines(ax, [one_line(table.feature_names[j], name_width) for j in features])
        ax.set_xlim(-0.01 - beside, self._missing[1] + 0.01 if has_missing else 1.01 + beside)
        places, words = [0.0, 0.25, 0.5, 0.75, 1.0], ["smallest\nvalue", "", "middle", "", "largest\nvalue"]
        if has_missing:
            places.append(sum(self._missing) / 2)
            words[-1:] = ["largest \nvalue ", "is\nmissing"]
            words[2] = words[2] if wide >= NARROW else ""
        ax.set_xticks(places, words, fontsize=SMALL)
        ax.tick_params(length=2)
        ax.spines[["top", "right", "left"]].set_visible(False)
        if wide >= NARROW:
            ax.set_xlabel(self._label(features, len(used)), fontsize=SMALL)
        else:
            ax.set_xlabel(some_lines(self._short_label(), 0.6 * wide, SMALL, 2), fontsize=SMALL)
        ax.set_title(some_lines("Thresholds in each column's range", 0.7 * wide, TITLE, 2), fontsize=TITLE)
        if highest > lowest:
            key = self.figure_.colorbar(
                colors, ax=ax, shrink=min(1.0, 1.9 / (LINE * len(features) + 0.4)), aspect=14, pad=0.02
            )
            _label_key(key, lowest, highest)

    def _draw_column(self, ax: Any, line: int, j: int, colors: Any) -> None:
        table = self.thresholds
        mine = np.flatnonzero(table.feature == j)
        mine = mine[np.argsort(table.count[mine], kind="stable")]  # draw those crossed most often last, on top
        kept = np.ones(len(table), dtype=bool) if self.kept is None else self.kept
        cuts = mine[np.isin(table.kind[mine], ("cut", "special"))]  # a special value is drawn at its number
        column = None if table.columns is None else table.columns[j]
        if column is not None and column.categories is not None:
            self._draw_categories(ax, line, j, mine[table.kind[mine] == "set"], colors)
        else:
            ax.plot([0, 1], [line, line], color=LIGHT, linewidth=1, zorder=1)
        reach = np.where(kept[cuts], FULL, HALF)
        places = in_share_of_range(table.threshold[cuts], self.low[j], self.high[j])
        if len(cuts):
            for thick, color in ((3.4, INK), (2.2, colors.to_rgba(table.count[cuts]))):  # edge first, then colour
                ax.vlines(places, line - reach, line + reach, colors=color, linewidth=thick, zorder=2)
        for at in mine[table.kind[mine] == "missing"].tolist():
            reach_of = FULL if kept[at] else HALF
            self._box(ax, *self._missing, line, reach_of, colors.to_rgba(table.count[at]))

    def _draw_categories(self, ax: Any, line: int, j: int, sets: NDArray[np.intp], colors: Any) -> None:
        table = self.thresholds
        assert table.columns is not None
        categories = table.columns[j].categories or ()
        weight, kept = np.zeros(len(categories)), np.zeros(len(categories), dtype=bool)
        for at in sets.tolist():
            codes = list(table.codes[at] or ())
            weight[codes] += table.count[at]
            kept[codes] |= self.kept is None or bool(self.kept[at])
        width = 1 / len(categories)
        for code, label in enumerate(categories):
            left, color = code * width, colors.to_rgba(weight[code])
            filled = bool(kept[code])
            self._box(ax, left, left + width, line, FULL, color if filled else "white")
            if weight[code] > 0 and not filled:
                self._box(ax, left, left + width, line + FULL - STRIP / 2, STRIP / 2, color)
            room = 0.9 * width * self._points - 4
            text = shortened(label_in_words(label).strip('"'), room, LABEL_SIZE)
            if len(text) > 1 or len(str(label)) == 1:
                ax.text(
                    left + width / 2,
                    line - (STRIP / 2 if weight[code] > 0 and not filled else 0),
                    shown(text),
                    ha="center",
                    va="center_baseline",
                    fontsize=LABEL_SIZE,
                    color=ink_on(color) if filled else INK,
                    zorder=4,
                )

    @staticmethod
    def _box(ax: Any, left: float, right: float, line: float, reach: float, color: Any) -> None:
        from matplotlib.patches import Rectangle

        ax.add_patch(
            Rectangle(
                (left, line - reach), right - left, 2 * reach, facecolor=color, edgecolor=GREY, linewidth=0.5, zorder=3
            )
        )

    def _ends(self, features: list[int]) -> dict[int, tuple[str, str]]:
        """Return the smallest and largest value of each numeric column as texts.

        The texts are drawn at both ends of the column's row. ``features`` are the positions of the drawn columns.
        """
        columns = self.thresholds.columns
        return {
            j: (number(float(self.low[j])), number(float(self.high[j])))
            for j in features
            if np.isfinite([self.low[j], self.high[j]]).all() and (columns is None or columns[j].categories is None)
        }

    def _short_label(self) -> str:
        """Return how many conditions are kept, as the text below a narrow chart."""
        if self.kept is None or self.kept.all():
            return ""
        return f"full height: kept ({self.kept.sum():,} of {len(self.kept):,})"

    def _label(self, features: list[int], n_used: int) -> str:
        n = len(self.thresholds.feature_names)
        texts = []
        if self.kept is not None and not self.kept.all():
            texts.append(f"full height: kept ({self.kept.sum():,} of {len(self.kept):,}), half: found but not kept")
        columns = self.thresholds.columns
        if columns is not None and columns.is_category[features].any():
            texts.append("one box per category, coloured by how often sets with this category are crossed")
        counts = np.unique(self.thresholds.count[np.isin(self.thresholds.feature, features)])
        if len(counts) == 1 and counts[0] > 1:
            texts.append(f"each crossed {number(float(counts[0]))} times")
        if n_used > len(features):
            texts.append(f"the {len(features)} columns crossed most often, of {several(n_used, 'column')} with a threshold")
        if n > n_used:
            texts.append(f"{several(n - n_used, 'column')} without a threshold")
        return "\n".join(texts)


def _label_key(key: Any, lowest: float, highest: float) -> None:
    """Label the colour bar ``key`` with the smallest count, the largest count and one in between."""
    places = [lowest, highest]
    if lowest > 0 and highest >= 3 * lowest:
        middle = float(np.sqrt(lowest * highest))
        places.insert(1, float(f"{middle:.1g}"))
    key.set_ticks(places, labels=[number(place) for place in places], fontsize=SMALL)
    key.minorticks_off()
    key.outline.set_visible(False)
    key.set_label("times crossed" if lowest <= 0 else "times crossed (log scale)", fontsize=SMALL)
