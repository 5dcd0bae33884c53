"""Helpers for matplotlib axes: available space, spines, tick labels and legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcca.plots._plot_text import text_width
from fcca.plots._style import LIGHT, NARROW, POINTS, SMALL

IN_A_GRID = 0.8  # share of a grid cell that the axes fill; the rest is for labels

Entry = tuple[Any, str]  # entry of a legend: artist and label


def room_of(ax: Any) -> tuple[float, float]:
    """Return the width and height that axes can use, in points.

    For axes in a grid of subplots, the space for the labels around them is included.
    """
    box, figure = ax.get_window_extent(), getattr(ax.figure, "figure", None) or ax.figure  # ax.figure may be a subfigure
    share = 1.0 if ax.get_subplotspec() is None else IN_A_GRID
    most = figure.get_size_inches() * POINTS
    points = POINTS / figure.dpi / share
    return min(box.width * points, float(most[0])), min(box.height * points, float(most[1]))


def fitting(room: float, around: float, line: float = 1.25 * 8.0) -> int:
    """Return how many lines of text fit into a height; the result is at least 1.

    All sizes are in points.

    Parameters
    ----------
    room : float
        The whole height.
    around : float
        The part of the height that is reserved for other elements.
    line : float
        Height of a line of text.
    """
    return max(1, int((room - around) // line))


def is_narrow(ax: Any) -> bool:
    """Return True if axes are too narrow for several panels side by side."""
    return hasattr(ax, "get_subplotspec") and room_of(ax)[0] < NARROW


def plain_frame(ax: Any, grid: str | None = None, *, scale: bool = True) -> None:
    """Remove the top and right spines of axes, and draw grid lines.

    Parameters
    ----------
    ax : matplotlib Axes
    grid : {"x", "y"} or None
        The axis whose ticks get grid lines; None for no grid lines.
    scale : bool, default=True
        If False, the bottom spine and its ticks are removed too.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=2)
    if grid is not None:
        ax.grid(visible=True, axis=grid, color=LIGHT, linewidth=0.7)
        ax.set_axisbelow(True)
    if not scale:
        ax.set_xticks([])
        ax.spines["bottom"].set_visible(False)


def name_lines(ax: Any, names: Sequence[str]) -> None:
    """Label the rows of a chart on its vertical axis, from top to bottom."""
    ax.set_yticks(range(len(names)), names, fontsize=SMALL)
    ax.set_ylim(len(names) - 0.4, -0.6)


def draw_key(ax: Any, entries: Sequence[Entry], *, columns: int, title: str | None = None, lines: float = 0.0) -> None:
    """Draw a legend in the middle of empty axes, or below a chart.

    Parameters
    ----------
    ax : matplotlib Axes
    entries : sequence of (artist, str)
        Symbol and text of each entry.
    columns : int
        Maximum number of columns of the legend.
    title : str, optional
    lines : float, default=0.0
        0 if the axes are empty. Otherwise the number of lines of text between the axes and the legend.
    """
    from matplotlib.transforms import ScaledTranslation

    # matplotlib leaves labels that begin with an underscore out of legends.
    labels = [f"\u200a{label}" if label.startswith("_") else label for _, label in entries]
    columns = _fitting_columns([text_width(label, SMALL) + 4.5 * SMALL for label in labels], columns, room_of(ax)[0])
    n_lines = -(-len(labels) // columns)
    down = ScaledTranslation(0, -(4 + 1.35 * SMALL * lines) / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        [handle for handle, _ in entries],
        labels,
        loc="upper center" if lines else "center",
        bbox_to_anchor=(0.5, 0.0) if lines else (0.5, 0.5),
        bbox_transform=ax.transAxes + down if lines else ax.transAxes,
        ncols=max(1, -(-len(labels) // max(1, n_lines))),
        frameon=False,
        fontsize=SMALL,
        title=title,
        title_fontsize=SMALL,
    )


def _fitting_columns(widths: list[float], most: int, room: float) -> int:
    """Return the largest number of legend columns, up to ``most``, that fits into the width ``room``.

    ``widths`` are the widths of the legend entries. All widths are in points.
    """
    for columns in range(min(most, len(widths)), 1, -1):
        each = -(-len(widths) // columns)
        if sum(max(widths[at : at + each]) for at in range(0, len(widths), each)) <= room:
            return columns
    return 1
