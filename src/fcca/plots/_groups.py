"""Groups of people side by side: how they are answered, and how far they would have to move."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca._text import printable
from fcca.exceptions import InvalidInputError
from fcca.fairness import FairDistillation, GroupRecourse
from fcca.plots._style import (
    SMALL,
    TITLE,
    class_style,
    draw_key,
    figure_and_axes,
    is_narrow,
    number,
    panels,
    percent,
    plain_frame,
    room_of,
    shortened,
    shown,
    text_width,
    wrapped,
)

#: What the rates of group_metrics are in words.
RATES = {
    "base_rate": "truly favourable",
    "selection_rate": "answered favourably",
    "accuracy": "answered rightly",
    "tpr": "of the truly favourable, answered so",
    "fpr": "of the others, answered favourably",
    "precision": "of those answered so, truly favourable",
}


class GroupMetricsDisplay:
    """Bars of a rate, or of several, by group.

    It is recommended to use :meth:`from_distillation` or :meth:`from_metrics`.

    Parameters
    ----------
    rates : DataFrame
        One line per cluster of bars, one column per group.
    counts : sequence of int
        Rows of each group.
    sensitive : str
        What the groups differ in.
    ylabel, title : str

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Any
    figure_: Any

    def __init__(self, rates: pd.DataFrame, counts: Any, *, sensitive: str, ylabel: str, title: str) -> None:
        self.rates = rates
        self.counts = counts
        self.sensitive = sensitive
        self.ylabel = ylabel
        self.title = title

    @classmethod
    def from_distillation(cls, found: FairDistillation, *, rate: str = "selection_rate", ax: Any = None) -> Self:
        """Draw a rate by model and group.

        Parameters
        ----------
        found : FairDistillation
            What :func:`fcca.fairness.distill_without` returns.
        rate : str, default="selection_rate"
            A column of :func:`fcca.fairness.group_metrics`.
        ax : matplotlib Axes, optional

        Returns
        -------
        GroupMetricsDisplay
        """
        if not isinstance(found, FairDistillation):
            raise InvalidInputError(f"Expected what distill_without returns, got {type(found).__name__}.")
        words = _words_of(rate)
        models = list(found.models.index)
        rates = pd.DataFrame({model: found.metrics.xs(model)[rate] for model in models}).T
        counts = found.metrics.xs(models[0])["rows"].tolist()
        if rate == "selection_rate":
            words = f"answered {printable(found.favourable)}"
        title = f"Answers by {printable(found.sensitive)}, on {sum(counts):,} {found.judged_on}"
        return cls(rates, counts, sensitive=found.sensitive, ylabel=f"share {words}", title=title).plot(ax)

    @classmethod
    def from_metrics(
        cls, metrics: pd.DataFrame, *, rates: Any = ("selection_rate", "tpr", "fpr", "accuracy"), ax: Any = None
    ) -> Self:
        """Draw rates by group.

        Parameters
        ----------
        metrics : DataFrame
            What :func:`fcca.fairness.group_metrics` returns.
        rates : sequence of str
            Which of its columns.
        ax : matplotlib Axes, optional

        Returns
        -------
        GroupMetricsDisplay
        """
        lacking = [name for name in (*rates, "rows") if name not in getattr(metrics, "columns", ())]
        if lacking:
            raise InvalidInputError(f"metrics must be what group_metrics returns; it lacks {', '.join(map(repr, lacking))}.")
        shares = metrics[list(rates)].T
        shares.index = pd.Index([_words_of(name) for name in rates])
        name = str(metrics.index.name or "group")
        title = f"Answers by {printable(name)}, on {metrics['rows'].sum():,} rows"
        return cls(shares, metrics["rows"].tolist(), sensitive=name, ylabel="share of rows", title=title).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            None makes a new figure.

        Returns
        -------
        self
        """
        n_groups = len(self.rates.columns)
        width = max(6.0, 0.9 + 0.42 * n_groups * len(self.rates))
        figure, ax = figure_and_axes(ax, width, 4.2)
        wide = room_of(ax)[0]
        thick = 0.84 / n_groups
        size = _size(n_groups)
        bar_points = 0.85 * wide * thick / len(self.rates)
        small = bar_points < text_width("0.00", size)
        bars = []
        for at, group in enumerate(self.rates.columns):
            style = class_style(at)
            places = np.arange(len(self.rates)) + (at - (n_groups - 1) / 2) * thick
            values = self.rates[group].to_numpy(dtype=float, na_value=np.nan)
            drawn = ax.bar(
                places, values, 0.92 * thick, color=style.color, hatch=style.hatch, edgecolor="white", linewidth=0
            )
            bars.append(drawn)
            texts = ["none" if np.isnan(value) else f"{value:.2f}" for value in values]
            for place, value, text in zip(places, values, texts, strict=True):
                if not small:
                    ax.text(place, np.nan_to_num(value) + 0.012, text, ha="center", va="bottom", fontsize=size)
        room = (wide - 72) / len(self.rates)
        names = ["\n".join(map(shown, wrapped(name, 0.9 * room, SMALL, 3))) for name in self.rates.index]
        ax.set_xticks(range(len(self.rates)), names, fontsize=SMALL)
        plain_frame(ax, grid="y")
        ax.set_ylim(0, 1.1)
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.set_ylabel(shown(shortened(self.ylabel, min(240.0, 0.5 * room_of(ax)[1]))), fontsize=SMALL)
        ax.set_title("\n".join(map(shown, wrapped(self.title, 0.8 * wide, TITLE, 2))), fontsize=TITLE)
        labels = [
            f"{shown(shortened(group, 130.0))} ({count:,} rows)"
            for group, count in zip(self.rates.columns, self.counts, strict=True)
        ]
        lines = 1.4 + max(name.count("\n") for name in names)
        draw_key(ax, bars, labels, lines=lines, columns=3, title=shown(shortened(self.sensitive, 200.0)))
        self.ax_, self.figure_ = ax, figure
        return self


class RecourseDisplay:
    """By group, what the cheapest change to the favourable answer costs, and how many have none.

    It is recommended to use :meth:`from_recourse`.

    Parameters
    ----------
    recourse : GroupRecourse

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (2,)
        Mean costs, and shares without any way.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
    """

    ax_: Any
    axes_: NDArray[Any]
    figure_: Any

    def __init__(self, recourse: GroupRecourse) -> None:
        self.recourse = recourse

    @classmethod
    def from_recourse(cls, recourse: GroupRecourse, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        recourse : GroupRecourse
            What :func:`fcca.fairness.recourse_by_group` returns.
        ax : matplotlib Axes, optional

        Returns
        -------
        RecourseDisplay
        """
        if not isinstance(recourse, GroupRecourse):
            raise InvalidInputError(f"Expected what recourse_by_group returns, got {type(recourse).__name__}.")
        return cls(recourse).plot(ax)

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
        groups, answer = self.recourse.groups, printable(self.recourse.favourable)
        small = is_narrow(ax)
        figure, grid, _ = panels(ax, *((2, 1) if small else (1, 2)), 8.0, 1.5 + 0.42 * max(2, len(groups)))
        pair = grid.ravel()
        costs = groups["mean_cost"].to_numpy(dtype=float, na_value=np.nan)
        shares = groups["infeasible_share"].to_numpy(dtype=float, na_value=np.nan)
        cost_words = [
            f"{number(cost)}  ({count:,} rows)" if count else "no change found"
            for cost, count in zip(costs, groups["optimal"], strict=True)
        ]
        share_words = [
            f"{percent(share)}  ({none:,} of {asked:,})" if asked else "none asked"
            for share, none, asked in zip(shares, groups["infeasible"], groups["asked"], strict=True)
        ]
        panes = (
            (costs, cost_words, f"mean cost of a change to {answer}"),
            (shares, share_words, f"rows without any way to {answer}"),
        )
        for panel, (values, words, title) in zip(pair, panes, strict=True):
            known = np.nan_to_num(values)
            colors = [class_style(at).color for at in range(len(groups))]
            hatches = [class_style(at).hatch for at in range(len(groups))]
            bars = panel.barh(
                range(len(groups)), known, height=0.66, color=colors, hatch=hatches, edgecolor="white", linewidth=0
            )
            panel.bar_label(bars, words, padding=4, fontsize=SMALL)
            panel.set_xlim(0, 1.9 * (known.max() or 1.0))
            panel.set_ylim(len(groups) - 0.4, -0.6)
            panel.set_xticks([])
            plain_frame(panel)
            panel.spines["bottom"].set_visible(False)
            panel.set_title(shown(shortened(title, 200.0, TITLE)), fontsize=SMALL if small else TITLE)
        names = [shown(shortened(group, 70.0 if small else 110.0)) for group in groups.index]
        pair[0].set_yticks(range(len(groups)), names, fontsize=SMALL)
        pair[0].set_ylabel(shown(shortened(self.recourse.sensitive, 40.0 if small else 100.0)), fontsize=SMALL)
        pair[1].set_yticks(range(len(groups)), names if small else [""] * len(groups), fontsize=SMALL)
        pair[1].tick_params(axis="y", length=2 if small else 0)
        self.axes_, self.ax_, self.figure_ = pair, pair[0], figure
        return self


def _words_of(rate: Any) -> str:
    if rate not in RATES:
        raise InvalidInputError(f"rate must be one of {list(RATES)}, got {rate!r}.")
    return RATES[rate]


def _size(n_groups: int) -> float:
    return SMALL if n_groups <= 3 else 6.5
