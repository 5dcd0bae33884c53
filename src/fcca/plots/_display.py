"""Base class of all plots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fcca.exceptions import InvalidInputError


class Display(ABC):
    """Base class of all plots.

    To add a plot, write a dataclass of the data to draw, in a separate file. Its class methods ``from_…`` compute the data
    and return ``cls(…).plot(ax)``. Its method :meth:`_draw` calls :meth:`_begin` or :meth:`_begin_panels` and then draws.
    """

    ax_: Any
    axes_: NDArray[Any]
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on. A plot with several panels divides their area. None creates a new figure.

        Returns
        -------
        self
        """
        require_matplotlib()
        self._draw(ax)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw the plot on the given axes, or in a new figure if ``ax`` is None."""

    def _begin(self, ax: Any, width: float, height: float) -> Any:
        """Return the given axes, or the axes of a new figure if ``ax`` is None.

        ``width`` and ``height`` are the size of a new figure in inches.
        """
        self.figure_, self.ax_ = _figure_and_axes(ax, width, height)
        return self.ax_

    def _begin_panels(self, ax: Any, lines: int, columns: int, width: float, height: float) -> tuple[NDArray[Any], Any]:
        """Return a grid of panels, and empty axes below them for a legend.

        The grid replaces the given axes, or fills a new figure if ``ax`` is None. A single row or column of panels is
        returned as a 1D array.

        Parameters
        ----------
        ax : matplotlib Axes or None
        lines, columns : int
            Number of panels down and across.
        width, height : float
            Size of a new figure in inches.
        """
        self.figure_, outer = _figure_and_axes(ax, width, height)
        outer.set_axis_off()
        place = outer.get_subplotspec()
        ratios = [1.0] * lines + [0.1]
        if place is None:
            box = outer.get_position()
            edges = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
            grid = self.figure_.add_gridspec(lines + 1, columns, **edges, wspace=0.35, hspace=0.5, height_ratios=ratios)
        else:
            grid = place.subgridspec(lines + 1, columns, height_ratios=ratios)
        inner = [[self.figure_.add_subplot(grid[i, j]) for j in range(columns)] for i in range(lines)]
        key = self.figure_.add_subplot(grid[-1, :])
        key.set_axis_off()
        self.axes_ = np.array(inner) if min(lines, columns) > 1 else np.ravel(inner)
        self.ax_ = self.axes_.flat[0]
        return self.axes_, key


def require_matplotlib() -> None:
    """Raise an ImportError with an installation hint if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError('Plotting requires matplotlib, which is not installed: pip install "fcca[plots]"') from error


def _figure_and_axes(ax: Any, width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.axes import Axes

    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(figsize=(width, height), layout="constrained")
    if not isinstance(ax, Axes):
        raise InvalidInputError(f"ax must be a matplotlib Axes or None, got {type(ax).__name__}.")
    figure: Any = ax.figure
    alone = len(figure.axes) == 1 and ax.get_subplotspec() is not None and hasattr(figure, "set_layout_engine")
    if alone and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")  # otherwise names next to the axes are cut off
    return figure, ax
