"""Bars that compare groups: by rates of their predictions, and by the costs of recourse."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fcca.exceptions import InvalidInputError
from fcca.fairness import FairDistillation, GroupRecourse
from fcca.plots._axes import draw_key, is_narrow, name_lines, plain_frame, room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import check_frame, check_result
from fcca.plots._plot_text import number, one_line, percent, some_lines, text_width
from fcca.plots._style import SMALL, TITLE, class_style
from fcca.utils import printable

#: Labels of the rates of group_metrics.
RATES = {
    "base_rate": "favourable labels",
    "selection_rate": "favourable predictions",
    "accuracy": "accuracy",
    "tpr": "true positive rate",
    "fpr": "false positive rate",
    "precision": "precision",
}


@dataclass(eq=False, repr=False)
class GroupMetricsDisplay(Display):
    """Bars of rates such as the share of favourable predictions, one bar per group.

    It is recommended to use :meth:`from_distillation` or :meth:`from_metrics`.

    Parameters
    ----------
    rates : DataFrame
        The rates. Each row is drawn as a cluster of bars, with one bar per column, that is, per group.
    counts : sequence of int
        Number of rows in each group.
    sensitive : str
        Name of the column that defines the groups.
    ylabel, title : str
        Label of the vertical axis, and title of the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    rates: pd.DataFrame
    counts: Any
    _: KW_ONLY
    sensitive: str
    ylabel: str
    title: str

    @classmethod
    def from_distillation(cls, found: FairDistillation, *, rate: str = "selection_rate", ax: Any = None) -> Self:
        """Draw one rate per group, for the black box and its two trees.

        One tree may use all columns, the other never uses the sensitive column.

        Parameters
        ----------
        found : FairDistillation
            The result of :func:`fcca.fairness.distill_without`.
        rate : str, default="selection_rate"
            Name of a rate in the result of :func:`fcca.fairness.group_metrics`.
        ax : matplotlib Axes, optional

        Returns
        -------
        GroupMetricsDisplay
        """
        check_result(found, FairDistillation, "distill_without")
        words = _words_of(rate)
        rates = found.rates(rate)
        counts = found.metrics.xs(rates.index[0])["rows"].tolist()
        if rate == "selection_rate":
            words = f"share of predictions {printable(found.favourable)}"
        title = f"Predictions by {printable(found.sensitive)}, on {sum(counts):,} {found.judged_on}"
        return cls(rates, counts, sensitive=found.sensitive, ylabel=words, title=title).plot(ax)

    @classmethod
    def from_metrics(
        cls, metrics: pd.DataFrame, *, rates: Any = ("selection_rate", "tpr", "fpr", "accuracy"), ax: Any = None
    ) -> Self:
        """Draw several rates for each group.

        Parameters
        ----------
        metrics : DataFrame
            The result of :func:`fcca.fairness.group_metrics`.
        rates : sequence of str
            Columns of ``metrics`` to draw.
        ax : matplotlib Axes, optional

        Returns
        -------
        GroupMetricsDisplay
        """
        check_frame("metrics", metrics, (*rates, "rows"), "group_metrics")
        shares = metrics[list(rates)].T
        shares.index = pd.Index([_words_of(name) for name in rates])
        name = str(metrics.index.name or "group")
        title = f"Predictions by {printable(name)}, on {metrics['rows'].sum():,} rows"
        return cls(shares, metrics["rows"].tolist(), sensitive=name, ylabel="share of rows", title=title).plot(ax)

    def _draw(self, ax: Any) -> None:
        n_groups = len(self.rates.columns)
        width = max(6.0, 0.9 + 0.42 * n_groups * len(self.rates))
        ax = self._begin(ax, width, 4.2)
        wide = room_of(ax)[0]
        thick = 0.84 / n_groups
        size = SMALL if n_groups <= 3 else 6.5
        has_room = 0.85 * wide * thick / len(self.rates) >= text_width("0.00", size)  # for a number above each bar
        bars = []
        for at, group in enumerate(self.rates.columns):
            places = np.arange(len(self.rates)) + (at - (n_groups - 1) / 2) * thick
            values = self.rates[group].to_numpy(dtype=float, na_value=np.nan)
            bars.append(ax.bar(places, values, 0.92 * thick, **class_style(at).fill))
            for place, value in zip(places, values, strict=True) if has_room else ():
                text = "none" if np.isnan(value) else f"{value:.2f}"
                ax.text(place, np.nan_to_num(value) + 0.012, text, ha="center", va="bottom", fontsize=size)
        room = (wide - 72) / len(self.rates)
        names = [some_lines(name, 0.9 * room, SMALL, 3) for name in self.rates.index]
        ax.set_xticks(range(len(self.rates)), names, fontsize=SMALL)
        plain_frame(ax, grid="y")
        ax.set_ylim(0, 1.1)
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.set_ylabel(one_line(self.ylabel, min(240.0, 0.5 * room_of(ax)[1])), fontsize=SMALL)
        ax.set_title(some_lines(self.title, 0.8 * wide, TITLE, 2), fontsize=TITLE)
        labels = [
            f"{one_line(group, 130.0)} ({count:,} rows)"
            for group, count in zip(self.rates.columns, self.counts, strict=True)
        ]
        lines = 1.4 + max(name.count("\n") for name in names)
        entries = list(zip(bars, labels, strict=True))
        draw_key(ax, entries, lines=lines, columns=3, title=one_line(self.sensitive, 200.0))


@dataclass(eq=False, repr=False)
class RecourseDisplay(Display):
    """Bars of the mean cost of a change to the favourable prediction, one bar per group.

    A second panel shows the share of rows for which no change leads to the favourable prediction. It is recommended to use
    :meth:`from_recourse`.

    Parameters
    ----------
    recourse : GroupRecourse

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (2,)
        The panel of the costs, and the panel of the rows without a change.
    ax_ : matplotlib Axes
        The first panel.
    figure_ : matplotlib Figure
    """

    recourse: GroupRecourse

    @classmethod
    def from_recourse(cls, recourse: GroupRecourse, *, ax: Any = None) -> Self:
        """Draw the costs of recourse for each group.

        Parameters
        ----------
        recourse : GroupRecourse
            The result of :func:`fcca.fairness.recourse_by_group`.
        ax : matplotlib Axes, optional

        Returns
        -------
        RecourseDisplay
        """
        check_result(recourse, GroupRecourse, "recourse_by_group")
        return cls(recourse).plot(ax)

    def _draw(self, ax: Any) -> None:
        groups, favourable = self.recourse.groups, printable(self.recourse.favourable)
        small = is_narrow(ax)
        pair, _ = self._begin_panels(ax, *((2, 1) if small else (1, 2)), 8.0, 1.5 + 0.42 * max(2, len(groups)))
        costs = groups["mean_cost"].to_numpy(dtype=float, na_value=np.nan)
        shares = groups["infeasible_share"].to_numpy(dtype=float, na_value=np.nan)
        cost_words = [
            f"{number(cost)}  ({count:,} rows)" if count else "no change found"
            for cost, count in zip(costs, groups["optimal"], strict=True)
        ]
        share_words = [
            f"{percent(share)}  ({none:,} of {asked:,})" if asked else "no rows"
            for share, none, asked in zip(shares, groups["infeasible"], groups["asked"], strict=True)
        ]
        panes = (
            (costs, cost_words, f"mean cost of a change to {favourable}"),
            (shares, share_words, f"rows without a change to {favourable}"),
        )
        for panel, (values, words, title) in zip(pair, panes, strict=True):
            known = np.nan_to_num(values)
            for at, value in enumerate(known.tolist()):
                bar = panel.barh(at, value, height=0.66, **class_style(at).fill)
                panel.bar_label(bar, [words[at]], padding=4, fontsize=SMALL)
            panel.set_xlim(0, 1.9 * (known.max() or 1.0))
            plain_frame(panel, scale=False)
            panel.set_title(one_line(title, 200.0, TITLE), fontsize=SMALL if small else TITLE)
        names = [one_line(group, 70.0 if small else 110.0) for group in groups.index]
        name_lines(pair[0], names)
        pair[0].set_ylabel(one_line(self.recourse.sensitive, 40.0 if small else 100.0), fontsize=SMALL)
        name_lines(pair[1], names if small else [""] * len(groups))
        pair[1].tick_params(axis="y", length=2 if small else 0)


def _words_of(rate: Any) -> str:
    if rate not in RATES:
        raise InvalidInputError(f"rate must be one of {list(RATES)}, got {rate!r}.")
    return RATES[rate]
