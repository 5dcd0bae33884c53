"""Bars that show how much the columns have drifted between old and new rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.plots._axes import Entry, draw_key, fitting, is_narrow, name_lines, plain_frame, room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import check_result
from fcca.plots._plot_text import one_line, percent, several, some_lines
from fcca.plots._style import BLUE, GREY, HATCHES, INK, NAME_WIDTH, ORANGE, SMALL, TITLE, VERMILION, class_style, filled
from fcca.stability import SHIFTED, STABLE, BinShares, Drift
from fcca.utils import whole_number

WIDTH, LINE = 9.5, 0.27  # inches
AROUND = 95.0  # points above and below the bars
READINGS = {
    "stable": ("stable", BLUE, HATCHES[0]),
    "look": ("to check", ORANGE, HATCHES[1]),
    "shifted": ("shifted", VERMILION, "xx"),
}  # label, colour and hatch
LIMITS = (STABLE, SHIFTED)


@dataclass(eq=False, repr=False)
class DriftDisplay(Display):
    """Bars of the population stability index of each column.

    A second panel shows the shares of old and new rows in the bins of one column. It is recommended to use
    :meth:`from_drift`.

    Parameters
    ----------
    drift : Drift
    column : str, optional
        The column whose bins are shown. None shows the column with the largest drift.
    max_columns : int, default=20
        Maximum number of columns to show, those with the largest drift.
    max_bins : int, default=12
        Maximum number of bins to show, those that contribute most to the index.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (2,)
        The panel with the columns, and the panel with the bins of one column. In narrow axes, the shape is (1,), without the
        bins.
    ax_ : matplotlib Axes
        The first panel.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from fcca import ThresholdTable
    >>> from fcca.plots import DriftDisplay
    >>> from fcca.stability import drift
    >>> table = ThresholdTable.from_list([("income", 2.0), ("income", 3.5)], ["income", "age"])
    >>> old, new = np.random.default_rng(0).normal([3, 40], [1, 9], (2, 500, 2))
    >>> display = DriftDisplay.from_drift(drift(table, old, new + [1, 0]))
    >>> len(display.axes_[1].patches)  # three bins, before and after
    6
    """

    drift: Drift
    _: KW_ONLY
    column: str | None = None
    max_columns: int = 20
    max_bins: int = 12

    @classmethod
    def from_drift(
        cls, drift: Drift, *, column: str | None = None, max_columns: int = 20, max_bins: int = 12, ax: Any = None
    ) -> Self:
        """Draw the drift of the columns.

        Parameters
        ----------
        drift : Drift
            The result of :func:`fcca.stability.drift`.
        column : str, optional
            The column whose bins are shown, or ``"leaves of the tree"``. None shows the column with the largest drift.
        max_columns, max_bins : int
            Maximum number of columns and of bins to show, those with the largest drift.
        ax : matplotlib Axes, optional

        Returns
        -------
        DriftDisplay
        """
        check_result(drift, Drift, "fcca.stability.drift")
        return cls(drift, column=column, max_columns=max_columns, max_bins=max_bins).plot(ax)

    def _draw(self, ax: Any) -> None:
        most = whole_number("max_columns", self.max_columns)
        n_bins = whole_number("max_bins", self.max_bins)
        looked_at = self._looked_at()
        n_columns = len(self.drift.columns)
        columns, leaves = self.drift.parts[:n_columns], self.drift.parts[n_columns:]
        small = is_narrow(ax)
        n = max(3, min(most, n_columns) + len(leaves), int(1.4 * min(n_bins, len(looked_at.bins))))
        axes, key = self._begin_panels(ax, 1, 1 if small else 2, WIDTH, 1.7 + LINE * n)
        wide, high = room_of(axes[0])
        n_shown = max(1, min(most, fitting(high, AROUND / 2) - len(leaves)))
        entries = self._columns(axes[0], [*columns[:n_shown], *leaves], n_columns - n_shown, wide, small)
        if not small:
            entries += self._bins(axes[1], looked_at, min(n_bins, fitting(high, AROUND / 2, 14.0)), wide)
        draw_key(key, entries, columns=4 if ax is None else 2)

    def _looked_at(self) -> BinShares:
        for one in self.drift.parts:
            if self.column is None or one.name == self.column:
                return one
        names = ", ".join(repr(one.name) for one in self.drift.parts[:10])
        raise InvalidInputError(f"column must be one of the compared columns, got {self.column!r}. These are {names}.")

    def _columns(self, ax: Any, lines: list[BinShares], left_out: int, wide: float, small: bool) -> list[Entry]:
        from matplotlib.patches import Patch

        places = np.arange(len(lines))
        psi = np.array([one.psi for one in lines])
        for place, one in enumerate(lines):
            ax.barh(place, one.psi, height=0.7, **filled(*READINGS[one.reading][1:]))
        chance = np.array([one.by_chance for one in lines])
        (mark,) = ax.plot(chance, places, "|", color=INK, markersize=11, markeredgewidth=1.8)
        lines_at = [ax.axvline(limit, color=GREY, linestyle="--", linewidth=0.9, zorder=0) for limit in LIMITS]
        top = max(0.3, float(psi.max()), float(chance.max()))
        for place, value, border in zip(places.tolist(), psi.tolist(), chance.tolist(), strict=True):
            ax.annotate(
                f"{value:.2f}", (max(value, border), place), (5, 0), "data", "offset points", va="center", fontsize=SMALL
            )
        ax.set_xlim(0, 1.22 * top)
        # The labels of the limits would overlap if one column has a very large drift.
        together = (LIMITS[1] - LIMITS[0]) / top * 0.5 * wide < 3 * SMALL
        ax.set_xticks(LIMITS[1:] if together else LIMITS, [f"{limit:g}" for limit in (LIMITS[1:] if together else LIMITS)])
        width = min(NAME_WIDTH, 0.32 * wide)
        name_lines(ax, [one_line(one.name, width) for one in lines])
        plain_frame(ax)
        more = f"; {several(left_out, 'column')} with less drift left out" if left_out > 0 else ""
        label = some_lines(f"population stability index{more}", 0.55 * wide if small else 0.9 * wide, SMALL, 2)
        ax.set_xlabel(label, fontsize=SMALL)
        ax.set_title("drift of the columns", fontsize=SMALL if small else TITLE)
        there = {one.reading for one in lines}
        entries: list[Entry] = [
            (Patch(**filled(*look)), words) for reading, (words, *look) in READINGS.items() if reading in there
        ]
        usual = [] if small else [(lines_at[0], f"{LIMITS[0]:g} and {LIMITS[1]:g}, the usual limits")]
        return [*entries, (mark, "no drift" if small else "95 % quantile without drift"), *usual]

    def _bins(self, ax: Any, one: BinShares, n: int, wide: float) -> list[Entry]:
        kept = np.sort(np.argsort(-one.contribution, kind="stable")[:n])
        places = np.arange(len(kept))
        entries = []
        for side, shares, words in ((-0.2, one.reference_share[kept], "before"), (0.2, one.new_share[kept], "now")):
            bars = ax.barh(places + side, shares, height=0.38, **class_style(2 if side < 0 else 3).fill)
            ax.bar_label(bars, [percent(share) for share in shares], padding=3, fontsize=SMALL)
            entries.append((bars, words))
        ax.set_xlim(0, 1.25 * max(float(one.reference_share[kept].max()), float(one.new_share[kept].max())))
        name_lines(ax, [one_line(one.bins[at], min(NAME_WIDTH, 0.45 * wide)) for at in kept])
        plain_frame(ax, scale=False)
        left_out = len(one.bins) - len(kept)
        more = f"; {several(left_out, 'bin')} with smaller differences left out" if left_out else ""
        wide *= 0.55  # the rest is for the names of the bins
        ax.set_xlabel(some_lines(f"share of the rows{more}", wide, SMALL, 3), fontsize=SMALL)
        ax.set_title(one_line(one.name, wide, TITLE), fontsize=TITLE)
        return entries
