"""Colours, markers and sizes of all plots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: Okabe and Ito's colours for colour-blind readers, ordered to alternate dark and light.
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#882255",
    "#BBBBBB",
    "#444444",
    "#F0E442",
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "||||", "oooo", "----", "++++", "////....")
BLUE, ORANGE, GREEN, VERMILION = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[4]
INK, GREY, LIGHT = "#222222", "#666666", "#DDDDDD"

SMALL, NORMAL, TITLE = 8.0, 9.0, 10.0  # points
POINTS = 72.0  # per inch
NARROW = 400.0  # points; below this width, panels are stacked and secondary labels are left out
NAME_WIDTH = 150.0  # points for a column name next to a plot


class ClassStyle(NamedTuple):
    """How a class or a group is drawn: its colour, its marker and its hatch."""

    color: str
    marker: str
    hatch: str

    @property
    def fill(self) -> dict[str, Any]:
        """Keyword arguments that give matplotlib's bars, rectangles and patches this style."""
        return filled(self.color, self.hatch)


def filled(color: str, hatch: str) -> dict[str, Any]:
    """Return keyword arguments for a hatched area in matplotlib."""
    return {"facecolor": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def class_style(at: int) -> ClassStyle:
    """Return the style of the class or group at the position ``at``."""
    n = len(PALETTE)
    return ClassStyle(PALETTE[at % n], MARKERS[(at + at // n) % n], HATCHES[(at + at // n) % n])


def tint(color: str, share: float) -> tuple[float, float, float]:
    """Mix a colour with white. ``share`` is the share of the colour."""
    from matplotlib.colors import to_rgb

    mixed = share * np.array(to_rgb(color)) + 1 - share
    return float(mixed[0]), float(mixed[1]), float(mixed[2])


def ink_on(color: Any) -> str:
    """Return the text colour, dark or white, that is easier to read on a background colour."""
    from matplotlib.colors import to_rgb

    linear = np.array(to_rgb(color)) ** 2.2
    return "white" if float(linear @ [0.2126, 0.7152, 0.0722]) < 0.2 else INK
