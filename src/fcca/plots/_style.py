"""Colours, marks and sizes that all plots share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: Okabe and Ito's colours, which colour-blind people can tell apart, in an order that alternates dark and light.
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
NARROW = 400.0  # points below which panels stand below each other and secondary texts are left out
NAME_WIDTH = 150.0  # points that the name of a column gets beside a plot


class ClassStyle(NamedTuple):
    """Look of a class, a group or an answer: never by colour alone."""

    color: str
    marker: str
    hatch: str

    @property
    def fill(self) -> dict[str, Any]:
        """Options of matplotlib's bars, rectangles and patches."""
        return filled(self.color, self.hatch)


def filled(color: str, hatch: str) -> dict[str, Any]:
    """Options of a hatched area of matplotlib."""
    return {"facecolor": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def class_style(at: int) -> ClassStyle:
    """The look of one of several."""
    n = len(PALETTE)
    return ClassStyle(PALETTE[at % n], MARKERS[(at + at // n) % n], HATCHES[(at + at // n) % n])


def tint(color: str, share: float) -> tuple[float, float, float]:
    """A colour mixed with white."""
    from matplotlib.colors import to_rgb

    mixed = share * np.array(to_rgb(color)) + 1 - share
    return float(mixed[0]), float(mixed[1]), float(mixed[2])


def ink_on(color: Any) -> str:
    """Black or white, whichever can be read on a colour."""
    from matplotlib.colors import to_rgb

    linear = np.array(to_rgb(color)) ** 2.2
    return "white" if float(linear @ [0.2126, 0.7152, 0.0722]) < 0.2 else INK
