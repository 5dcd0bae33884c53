"""Bars that show how often bootstrap samples find the same thresholds again."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fcca.plots._axes import Entry, draw_key, fitting, is_narrow, name_lines, plain_frame, room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import check_result
from fcca.plots._plot_text import number, percent, several, shortened, shown, some_lines, text_width
from fcca.plots._style import BLUE, GREY, INK, NAME_WIDTH, ORANGE, SMALL, TITLE, tint
from fcca.stability import Stability
from fcca.utils import whole_number

WIDTH, LINE = 9.0, 0.28  # inches
TIGHT = 580.0  # points; below this width, labels are short
AROUND = 95.0  # points above and below the bars
MOVES_LABEL = "share of rows between the threshold and the nearest one of a sample; right: median in the column's units"
LOWEST = 0.005  # least upper end of the right panel's axis, as a share of the rows


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """Bars of how often bootstrap samples find each threshold again.

    A second panel shows how far each threshold is from the nearest threshold of a sample. It is recommended to use
    :meth:`from_stability`.

    Parameters
    ----------
    stability : Stability
    max_thresholds : int, default=20
        Maximum number of thresholds to draw, those found most often.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (2,)
        The panel that shows how often a threshold is found, and the panel that shows the distances. In narrow axes, the
        shape is (1,), without the second panel.
    ax_ : matplotlib Axes
        The first panel.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fcca import MidpointDiscretizer
    >>> from fcca.plots import StabilityDisplay
    >>> from fcca.stability import bootstrap
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = bootstrap(MidpointDiscretizer(max_thresholds=1), X, y, n_samples=10)
    >>> len(StabilityDisplay.from_stability(found).axes_)
    2
    """

    stability: Stability
    _: KW_ONLY
    max_thresholds: int = 20

    @classmethod
    def from_stability(cls, stability: Stability, *, max_thresholds: int = 20, ax: Any = None) -> Self:
        """Draw how often bootstrap samples find the thresholds again.

        Parameters
        ----------
        stability : Stability
            The result of :func:`fcca.stability.bootstrap`.
        max_thresholds : int, default=20
            Maximum number of thresholds to draw, those found most often.
        ax : matplotlib Axes, optional

        Returns
        -------
        StabilityDisplay
        """
        check_result(stability, Stability, "fcca.stability.bootstrap")
        return cls(stability, max_thresholds=max_thresholds).plot(ax)

    def _draw(self, ax: Any) -> None:
        most = whole_number("max_thresholds", self.max_thresholds)
        small = is_narrow(ax)
        everything = self.stability.to_frame()
        n = min(most, len(everything))
        axes, key = self._begin_panels(ax, 1, 1 if small else 2, WIDTH, 1.9 + LINE * max(3, n))
        tight = ax is not None and room_of(ax)[0] < TIGHT
        wide, high = room_of(axes[0])
        frame = everything.sort_values(["chosen", "exact", "column"], ascending=False, kind="stable")
        frame = frame.head(min(n, fitting(high, AROUND / 2)))
        entries = self._shares(axes[0], frame, tight)
        width = 0.35 * wide if small else min(NAME_WIDTH, 0.5 * wide)
        name_lines(axes[0], _names(frame, width))
        left_out = len(everything) - len(frame)
        label = f"share of {several(len(self.stability.tables), 'sample')}"
        label += f"; {several(len(self.stability.failures), 'sample')} not fitted" if self.stability.failures else ""
        label += f"; {several(left_out, 'threshold')} left out" if left_out else ""
        axes[0].set_xlabel(some_lines(label, 0.5 * wide if tight else 0.9 * wide, SMALL, 3), fontsize=SMALL)
        axes[0].set_title("found again", fontsize=SMALL if tight else TITLE)
        if not small:
            entries += self._moves(axes[1], frame, tight)
        for panel in axes:
            plain_frame(panel, grid="x")
        draw_key(key, entries, columns=2 if tight else 3)

    def _shares(self, ax: Any, frame: pd.DataFrame, tight: bool) -> list[Entry]:
        places = np.arange(len(frame))
        near = ax.barh(places, frame["chosen"], height=0.7, color=tint(BLUE, 0.45), edgecolor=BLUE, linewidth=0.6)
        exact = ax.barh(places, frame["exact"], height=0.7, color=BLUE)
        (column,) = ax.plot(frame["column"], places, "|", color=INK, markersize=11, markeredgewidth=1.8, clip_on=False)
        ax.set_xlim(0, 1.02)
        ax.set_xticks([0, 0.5, 1] if tight else [0, 0.25, 0.5, 0.75, 1])
        ax.xaxis.set_major_formatter(lambda share, _: percent(share))
        reach = "" if tight else f", at most {percent(self.stability.tolerance)} of the rows between"
        return [(exact, "exactly"), (near, f"nearly{reach}"), (column, "any threshold on its column")]

    def _moves(self, ax: Any, frame: pd.DataFrame, tight: bool) -> list[Entry]:
        from matplotlib.ticker import MaxNLocator

        is_cut = frame["rows_median"].notna().to_numpy()
        places, median, far = np.flatnonzero(is_cut), frame["rows_median"][is_cut], frame["rows_90"][is_cut]
        entries: list[Entry] = []
        top = max([LOWEST, 1.15 * self.stability.tolerance, *far])
        if len(places):
            line = ax.hlines(places, 0, far, color=ORANGE, linewidth=2.2)
            (points,) = ax.plot(median, places, "D", color=ORANGE, mec=INK, mew=0.6, markersize=5.5, clip_on=False, zorder=4)
            entries = [(points, "median distance"), (line, "90 % of the samples")]
        border = ax.axvline(self.stability.tolerance, color=GREY, linestyle="--", linewidth=1)
        entries.append((border, f"{percent(self.stability.tolerance)} of the rows"))
        for place, moved, cut in zip(range(len(frame)), frame["moved_median"], is_cut, strict=True):
            words = f"± {number(moved)}" if cut and moved else "0" if cut else "–"
            ax.annotate(words, (1, place), (6, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=SMALL)
        ax.set_xlim(0, 1.05 * top)
        ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
        name_lines(ax, [""] * len(frame))
        ax.tick_params(axis="y", length=0)
        label = "rows between, and median distance" if tight else MOVES_LABEL
        ax.set_xlabel(some_lines(label, 0.7 * room_of(ax)[0], SMALL, 3), fontsize=SMALL)
        ax.set_title("distance" if tight else "distance to the nearest", fontsize=SMALL if tight else TITLE)
        if tight:
            ax.xaxis.set_major_locator(MaxNLocator(3))
        return entries


def _names(frame: pd.DataFrame, width: float) -> list[str]:
    """Shorten the names of conditions to a width in points.

    The name of the column is shortened first, so that the threshold stays readable.
    """
    names = []
    for condition, feature in zip(frame["condition"], frame["feature"], strict=True):
        comparison = condition.removeprefix(feature)
        left = width - text_width(comparison, SMALL)
        names.append(shortened(feature, left) + comparison if left > 0.25 * width else shortened(condition, width))
    return [shown(name) for name in names]
