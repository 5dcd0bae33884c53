"""Bars of the points of a scorecard, with the event rate of each bin."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.plots._axes import fitting, is_narrow, name_lines, plain_frame, room_of
from fcca.plots._display import Display
from fcca.plots._plot_text import one_line, percent, several, some_lines
from fcca.plots._style import BLUE, HATCHES, NAME_WIDTH, ORANGE, SMALL, TITLE, VERMILION, filled
from fcca.scorecard import FCCAScorecard, Scorecard, as_scorecard
from fcca.utils import whole_number

WIDTH, LINE = 9.5, 0.25  # inches
AROUND = 95.0  # points above and below the bars
PANELS = {"event_rate": "event rate", "WoE": "weight of evidence"}


@dataclass(eq=False, repr=False)
class ScorecardDisplay(Display):
    """Bars of the points of each bin, and of its event rate or weight of evidence.

    It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    scorecard : Scorecard
    beside : {"event_rate", "WoE"}, default="event_rate"
        What the second panel shows.
    max_bins : int, default=40
        Maximum number of bins to show. Columns with the largest range of points come first.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (2,)
        The panel with the points, and the panel beside it. In narrow axes, the shape is (1,), with the points only.
    ax_ : matplotlib Axes
        The first panel.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCAScorecard
    >>> from fcca.plots import ScorecardDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> scorecard = FCCAScorecard(n_thresholds=3).fit(X, y)
    >>> display = ScorecardDisplay.from_estimator(scorecard)
    >>> len(display.axes_[0].patches) == scorecard.n_bins_
    True
    """

    scorecard: Scorecard
    _: KW_ONLY
    beside: str = "event_rate"
    max_bins: int = 40

    @classmethod
    def from_estimator(
        cls, scorecard: FCCAScorecard | Scorecard, *, beside: str = "event_rate", max_bins: int = 40, ax: Any = None
    ) -> Self:
        """Draw the points of a fitted scorecard.

        Parameters
        ----------
        scorecard : FCCAScorecard or Scorecard
        beside : {"event_rate", "WoE"}, default="event_rate"
            What the second panel shows: the share of the second class, or the weight of evidence.
        max_bins : int, default=40
            Maximum number of bins to show.
        ax : matplotlib Axes, optional

        Returns
        -------
        ScorecardDisplay
        """
        return cls(as_scorecard(scorecard), beside=beside, max_bins=max_bins).plot(ax)

    def _draw(self, ax: Any) -> None:
        most = whole_number("max_bins", self.max_bins)
        if self.beside not in PANELS:
            raise InvalidInputError(f"beside must be 'event_rate' or 'WoE', got {self.beside!r}.")
        table = self.scorecard.table
        small = is_narrow(ax)
        axes, _ = self._begin_panels(ax, 1, 1 if small else 2, WIDTH, 1.7 + LINE * max(3, min(most, len(table))))
        wide, high = room_of(axes[0])
        spread = table.groupby("column")["points"].transform(lambda points: points.max() - points.min())
        first = np.lexsort(
            (np.arange(len(table)), table["column"].map({n: k for k, n in enumerate(table["column"].unique())}), -spread)
        )
        shown = table.iloc[first[: max(1, min(most, fitting(high, AROUND / 2)))]]
        left_out = len(table) - len(shown)
        names = [f"{column}: {text}" for column, text in zip(shown["column"], shown["bin"], strict=True)]
        self._bars(axes[0], shown["points"].to_numpy(dtype=float), "{:+.0f}", wide, small)
        name_lines(axes[0], [one_line(name, min(1.6 * NAME_WIDTH, 0.42 * wide)) for name in names])
        more = f"; {several(left_out, 'bin')} left out" if left_out else ""
        base = f"points, added to {self.scorecard.base_points:,.0f}{more}"
        axes[0].set_xlabel(some_lines(base, 0.5 * wide, SMALL, 2), fontsize=SMALL)
        axes[0].set_title("points", fontsize=SMALL if small else TITLE)
        if not small:
            self._bars(axes[1], shown[self.beside].to_numpy(dtype=float), None, wide, small)
            axes[1].set_yticks([])
            axes[1].set_ylim(axes[0].get_ylim())
            axes[1].set_title(PANELS[self.beside], fontsize=TITLE)

    def _bars(self, ax: Any, values: Any, form: str | None, wide: float, small: bool) -> None:
        colours = (VERMILION, BLUE) if form or self.beside == "WoE" else (ORANGE, ORANGE)
        for place, value in enumerate(values.tolist()):
            ax.barh(place, value, height=0.7, **filled(colours[int(value >= 0)], HATCHES[0]))
            text = form.format(value) if form else percent(value) if self.beside == "event_rate" else f"{value:.2f}"
            side = 1 if value >= 0 else -1
            ax.annotate(
                text,
                (value, place),
                (5 * side, 0),
                "data",
                "offset points",
                va="center",
                ha="left" if side > 0 else "right",
                fontsize=SMALL,
            )
        low, high = min(0.0, float(values.min(initial=0.0))), max(0.0, float(values.max(initial=0.0)))
        room = (0.35 if small else 0.2) * ((high - low) or 1.0)
        ax.set_xlim(low - room * (low < 0), high + room)
        ax.axvline(0, color="#222222", linewidth=0.8)
        plain_frame(ax)
