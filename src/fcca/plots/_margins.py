"""What a margin costs, and how long the answers hold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError
from fcca.plots._style import INK, SMALL, TITLE, class_style, draw_key, is_narrow, panels, plain_frame, shown

CURVES = {
    "holds_resampled": "fitted again on other samples",
    "holds_reseeded": "fitted again with other seeds",
    "holds_noisy": "values missed by a little",
}


class MarginEffectDisplay:
    """How often counterfactuals still hold, and what they cost, over the margin.

    It is recommended to use :meth:`from_effect`.

    Parameters
    ----------
    effect : DataFrame
        What :func:`fcca.robustness.margin_effect` returns.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (2,)
        How often they hold, and what they cost.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
    """

    ax_: Any
    axes_: NDArray[Any]
    figure_: Any

    def __init__(self, effect: pd.DataFrame) -> None:
        self.effect = effect

    @classmethod
    def from_effect(cls, effect: pd.DataFrame, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        effect : DataFrame
            What :func:`fcca.robustness.margin_effect` returns.
        ax : matplotlib Axes, optional

        Returns
        -------
        MarginEffectDisplay
        """
        return cls(effect).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Its place is divided between the two panels. None makes a new figure.

        Returns
        -------
        self
        """
        needed = ["margin", "solved", "asked", "mean_cost", *CURVES]
        lacking = [name for name in needed if name not in getattr(self.effect, "columns", ())]
        if lacking or len(self.effect) == 0:
            what = f"it lacks {', '.join(lacking)}" if lacking else "it has no line"
            raise InvalidInputError(f"effect must be what margin_effect returns; {what}.")
        effect = self.effect
        small = is_narrow(ax)
        figure, grid, key = panels(ax, *((2, 1) if small else (1, 2)), 8.5, 3.8)
        from matplotlib.ticker import MaxNLocator

        holds, costs = pair = grid.ravel()
        size = SMALL if small else TITLE
        places = np.arange(len(effect))
        handles, labels = [], []
        for at, (name, words) in enumerate(CURVES.items()):
            if effect[name].notna().any():
                style = class_style(at)
                (line,) = holds.plot(places, effect[name], color=style.color, marker=style.marker, markersize=5)
                handles.append(line)
                labels.append(words)
        holds.set_ylim(-0.02, 1.04)
        holds.set_title("share of answers that still hold", fontsize=size)
        costs.plot(places, effect["mean_cost"], color=INK, marker="s", markersize=5)
        costs.set_ylim(0, 1.12 * float(np.nanmax([*effect["mean_cost"], 1e-9])))
        costs.set_title("mean cost of the changes", fontsize=size)
        names = [
            shown(margin) if small else f"{shown(margin)}\n{solved:,} of {asked:,}"
            for margin, solved, asked in effect[["margin", "solved", "asked"]].to_numpy()
        ]
        for panel in pair:
            panel.set_xticks(places, names, fontsize=SMALL)
            if not small:
                panel.set_xlabel("margin, and rows with an answer", fontsize=SMALL)
            panel.margins(x=0.12)
            plain_frame(panel, grid="y")
        if handles:
            draw_key(key, handles, labels, columns=3)
        if small:
            holds.set_xticklabels([])
            holds.set_yticks([0, 1])
            costs.set_xlabel("margin", fontsize=SMALL)
            costs.yaxis.set_major_locator(MaxNLocator(2))
        self.axes_, self.ax_, self.figure_ = pair, holds, figure
        return self
