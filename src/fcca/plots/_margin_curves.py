"""Curves of the robustness and the cost of counterfactuals over the margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fcca.plots._axes import draw_key, is_narrow, plain_frame
from fcca.plots._display import Display
from fcca.plots._plot_data import check_frame
from fcca.plots._plot_text import shown
from fcca.plots._style import INK, SMALL, TITLE, class_style

CURVES = {
    "holds_resampled": "black box refitted on other samples",
    "holds_reseeded": "black box refitted with other seeds",
    "holds_noisy": "small errors in the values",
}


@dataclass(eq=False, repr=False)
class MarginEffectDisplay(Display):
    """Curves of the robustness and the cost of counterfactuals against the margin.

    It is recommended to use :meth:`from_effect`.

    Parameters
    ----------
    effect : DataFrame
        The result of :func:`fcca.robustness.margin_effect`.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (2,)
        The panel with the share of counterfactuals that stay valid, and the panel with their mean cost.
    ax_ : matplotlib Axes
        The first panel.
    figure_ : matplotlib Figure
    """

    effect: pd.DataFrame

    @classmethod
    def from_effect(cls, effect: pd.DataFrame, *, ax: Any = None) -> Self:
        """Draw how the margin affects the robustness and the cost of counterfactuals.

        Parameters
        ----------
        effect : DataFrame
            The result of :func:`fcca.robustness.margin_effect`.
        ax : matplotlib Axes, optional

        Returns
        -------
        MarginEffectDisplay
        """
        return cls(effect).plot(ax)

    def _draw(self, ax: Any) -> None:
        needed = ["margin", "solved", "asked", "mean_cost", *CURVES]
        effect = self.effect
        check_frame("effect", effect, needed, "margin_effect")
        small = is_narrow(ax)
        pair, key = self._begin_panels(ax, *((2, 1) if small else (1, 2)), 8.5, 3.8)
        from matplotlib.ticker import MaxNLocator

        holds, costs = pair
        size = SMALL if small else TITLE
        places = np.arange(len(effect))
        entries = []
        for at, (name, words) in enumerate(CURVES.items()):
            if effect[name].notna().any():
                style = class_style(at)
                (line,) = holds.plot(places, effect[name], color=style.color, marker=style.marker, markersize=5)
                entries.append((line, words))
        holds.set_ylim(-0.02, 1.04)
        holds.set_title("counterfactuals that stay valid", fontsize=size)
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
                panel.set_xlabel("margin, and rows with a counterfactual", fontsize=SMALL)
            panel.margins(x=0.12)
            plain_frame(panel, grid="y")
        if entries:
            draw_key(key, entries, columns=3)
        if small:
            holds.set_xticklabels([])
            holds.set_yticks([0, 1])
            costs.set_xlabel("margin", fontsize=SMALL)
            costs.yaxis.set_major_locator(MaxNLocator(2))
