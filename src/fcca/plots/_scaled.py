"""Text whose size scales with its axes.

Unlike the other modules of this package, this one imports matplotlib at import time.
"""

from __future__ import annotations

from typing import Any

from matplotlib.text import Text


class ScaledText(Text):
    """Text whose font size is given in data units, for axes with equal aspect."""

    def __init__(self, x: float, y: float, text: str, *, points: float, **options: Any) -> None:
        super().__init__(x, y, text, **options)
        self.points = points

    def _fit(self) -> None:
        axes, figure = self.axes, self.figure
        if axes is None or figure is None:
            return
        (_, below), (_, above) = axes.transData.transform([(0, 0), (0, 1)])
        size = self.points * abs(above - below) * 72 / figure.dpi
        if size > 0 and abs(size - self.get_fontsize()) > 1e-6:
            self.set_fontsize(size)

    def draw(self, renderer: Any) -> None:
        """Draw the text at the current scale of the axes."""
        self._fit()
        super().draw(renderer)

    def get_window_extent(self, renderer: Any = None, dpi: float | None = None) -> Any:
        """Return the bounding box of the text at the current scale of the axes."""
        self._fit()
        return super().get_window_extent(renderer, dpi)
