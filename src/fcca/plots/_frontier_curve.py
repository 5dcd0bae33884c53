"""Curve of the smallest inconsistency for each number of thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fcca.plots._axes import Entry, draw_key, is_narrow, plain_frame, room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import check_frame, check_result
from fcca.plots._plot_text import some_lines
from fcca.plots._style import NARROW, SMALL, TITLE, class_style, tint
from fcca.selection import Frontier

WIDTH, HEIGHT = 7.0, 4.2  # inches
NEEDED = ("n_thresholds", "inconsistency", "lower_bound", "optimal", "frequency", "greedy")
PROVEN, FOUND, BAND = "proven optimal", "best found, not proven", "range of the optimum"
OTHERS = (("greedy", "one after the other (greedy)", "--"), ("frequency", "crossed most often", ":"))
SHORT = {
    PROVEN: "proven",
    FOUND: "best found",
    BAND: "optimum",
    "one after the other (greedy)": "greedy",
    "crossed most often": "most frequent",
}  # for narrow plots
SLACK = 1e-12


@dataclass(eq=False, repr=False)
class FrontierDisplay(Display):
    """Curve of the smallest inconsistency for each number of thresholds.

    The inconsistency is the share of rows that even the best classifier on the chosen thresholds gets wrong. Two simpler
    ways to choose thresholds are drawn for comparison: the most frequent thresholds, and a greedy choice. Filled points are
    proven optimal. For hollow points, the optimum lies in the band below the point. It is recommended to use
    :meth:`from_frontier`.

    Parameters
    ----------
    frontier : DataFrame
        The result of ``Frontier.to_frame``.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fcca import MidpointDiscretizer
    >>> from fcca.plots import FrontierDisplay
    >>> from fcca.selection import OptimalSelection
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> table = MidpointDiscretizer(max_thresholds=3).fit(X).thresholds_
    >>> display = FrontierDisplay.from_frontier(OptimalSelection().frontier(table, X, y, k=range(1, 5)))
    >>> display.ax_.get_xlabel()
    'thresholds kept'
    """

    frontier: pd.DataFrame

    @classmethod
    def from_frontier(cls, frontier: Frontier, *, ax: Any = None) -> Self:
        """Draw the result of :meth:`fcca.selection.OptimalSelection.frontier`.

        Parameters
        ----------
        frontier : Frontier
        ax : matplotlib Axes, optional

        Returns
        -------
        FrontierDisplay
        """
        check_result(frontier, Frontier, "OptimalSelection.frontier")
        return cls(frontier.to_frame()).plot(ax)

    def _draw(self, ax: Any) -> None:
        check_frame("frontier", self.frontier, NEEDED, "Frontier.to_frame")
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        small = is_narrow(ax)
        _, key = self._begin_panels(ax, 1, 1, WIDTH, HEIGHT)
        panel = self.ax_
        wide, _ = room_of(panel)
        entries = [*self._optimal(panel, small), *self._others(panel, small)]
        k = self.frontier["n_thresholds"].to_numpy()
        most = float(self.frontier[["inconsistency", "greedy", "frequency"]].to_numpy().max())
        panel.set_ylim(0, 1.08 * most if most > 0 else 0.01)
        panel.set_xlim(k.min() - 0.5, k.max() + 0.5)
        panel.xaxis.set_major_locator(MaxNLocator(6 if small else 16, integer=True))
        panel.yaxis.set_major_locator(MaxNLocator(4 if small else 6))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))
        panel.set_xlabel("thresholds kept", fontsize=SMALL)
        panel.set_ylabel(
            "inconsistency" if small else "inconsistency: smallest share\nof rows classified wrongly", fontsize=SMALL
        )
        size = SMALL if wide < NARROW else TITLE
        panel.set_title(some_lines(self._title(k), 0.85 * wide, size, 2), fontsize=size)
        plain_frame(panel, grid="y")
        draw_key(key, entries, columns=2)

    def _title(self, k: Any) -> str:
        proven = self.frontier["optimal"].to_numpy(dtype=bool)
        if proven.all():
            return "Best selection of each size, all proven optimal"
        if not proven.any():
            return "Best selection found of each size, none proven optimal"
        return f"Best selection of each size, proven optimal for {_runs(k[proven].tolist(), k.tolist())}"

    def _optimal(self, ax: Any, small: bool) -> list[Entry]:
        frame, style = self.frontier, class_style(0)
        k, found = frame["n_thresholds"].to_numpy(), frame["inconsistency"].to_numpy()
        bound, proven = frame["lower_bound"].to_numpy(), frame["optimal"].to_numpy(dtype=bool)
        drawn = []
        ax.plot(k, found, color=style.color, linewidth=1.6, zorder=3)
        for at, label in ((proven, PROVEN), (~proven, FOUND)):
            if at.any():
                face = style.color if at is proven else "white"
                (points,) = ax.plot(k[at], found[at], style.marker, color=style.color, mfc=face, markersize=6, zorder=4)
                drawn.append((points, SHORT[label] if small else label))
        if not proven.all():
            # Proven points have no band, but the band has to reach them.
            low = np.where(proven, found, bound)
            band = ax.fill_between(k, low, found, color=tint(style.color, 0.25), linewidth=0, zorder=1)
            ax.vlines(k[~proven], low[~proven], found[~proven], color=style.color, linewidth=0.8, zorder=2)
            drawn.append((band, SHORT[BAND] if small else BAND))
        return drawn

    def _others(self, ax: Any, small: bool) -> list[Entry]:
        drawn = []
        for at, (name, label, dashes) in enumerate(OTHERS, start=1):
            style = class_style(at)
            values = self.frontier[name].to_numpy()
            # A selection that ignores the rules may be better than the best one that follows them.
            free = bool((values < self.frontier["lower_bound"].to_numpy() - SLACK).any())
            (line,) = ax.plot(
                self.frontier["n_thresholds"],
                values,
                color=style.color,
                marker=style.marker,
                linestyle=dashes,
                markersize=4,
                linewidth=1.3,
                zorder=2.5,
            )
            drawn.append((line, f"{SHORT[label] if small else label}{', without the rules' if free else ''}"))
        return drawn


def _runs(some: list[int], among: list[int]) -> str:
    """List the numbers in ``some`` as text, such as ``1 to 4 and 6``.

    Three or more numbers that are neighbours in ``among`` are written as a range.
    """
    runs: list[list[int]] = []
    for at, k in enumerate(among):
        if k in some:
            joins = at > 0 and runs and runs[-1][-1] == among[at - 1]
            runs = [*runs[:-1], [*runs[-1], k]] if joins else [*runs, [k]]
    texts = [text for run in runs for text in (map(str, run) if len(run) < 3 else [f"{run[0]} to {run[-1]}"])]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
