"""Colours, frames, legends and texts that all plots share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.utils import printable

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
IN_A_GRID = 0.8  # about what axes have of their place, the rest is for the texts around them
NARROW = 400.0  # points below which panels stand below each other and secondary texts are left out
NAME_WIDTH = 150.0  # points that the name of a column gets beside a plot
ELLIPSIS = "…"
BREAK_AFTER = frozenset("_-/,;.:")

Entry = tuple[Any, str]  # of a legend: what is drawn, and its label


# --- axes ----------------------------------------------------------------------------------------------------------------


def room_of(ax: Any) -> tuple[float, float]:
    """Width and height in points of the place of axes, with the texts around them where they stand in a grid."""
    box, figure = ax.get_window_extent(), getattr(ax.figure, "figure", None) or ax.figure  # that of a subfigure
    share = 1.0 if ax.get_subplotspec() is None else IN_A_GRID
    most = figure.get_size_inches() * POINTS
    points = POINTS / figure.dpi / share
    return min(box.width * points, float(most[0])), min(box.height * points, float(most[1]))


def fitting(room: float, around: float, line: float = 1.25 * 8.0) -> int:
    """How many lines of text fit into so many points, less what stands around them; at least one."""
    return max(1, int((room - around) // line))


def is_narrow(ax: Any) -> bool:
    """Whether panels have to stand below each other."""
    return hasattr(ax, "get_subplotspec") and room_of(ax)[0] < NARROW


def plain_frame(ax: Any, grid: str | None = None, *, scale: bool = True) -> None:
    """Draw no lines above and to the right, and light grid lines along one axis; without a scale, none below either."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=2)
    if grid is not None:
        ax.grid(visible=True, axis=grid, color=LIGHT, linewidth=0.7)
        ax.set_axisbelow(True)
    if not scale:
        ax.set_xticks([])
        ax.spines["bottom"].set_visible(False)


def name_lines(ax: Any, names: Sequence[str]) -> None:
    """Write names beside the lines 0, 1, 2, … of axes, from the top down."""
    ax.set_yticks(range(len(names)), names, fontsize=SMALL)
    ax.set_ylim(len(names) - 0.4, -0.6)


def draw_key(ax: Any, entries: Sequence[Entry], *, columns: int, title: str | None = None, lines: float = 0.0) -> None:
    """Draw a legend in the middle of empty axes; or, below others, under so many lines of text."""
    from matplotlib.transforms import ScaledTranslation

    # Labels that begin with an underscore would be left out of a legend.
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
    """In how many columns, filled one after the other, things of these widths fit beside each other."""
    for columns in range(min(most, len(widths)), 1, -1):
        each = -(-len(widths) // columns)
        if sum(max(widths[at : at + each]) for at in range(0, len(widths), each)) <= room:
            return columns
    return 1


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


# --- texts ----------------------------------------------------------------------------------------------------------------


def shown(text: object) -> str:
    """A text as matplotlib shows it literally: no formulas between dollar signs, no control characters."""
    return printable(text).replace("$", r"\$")


def number(x: float) -> str:
    """A number in four digits, or as many as stand before its point, with commas between thousands."""
    if x == 0 or not np.isfinite(x):
        return "0" if x == 0 else "–"
    if 1e-4 <= abs(x) < 1e7:
        digits = max(0, 3 - int(np.floor(np.log10(abs(x)))))
        text = f"{x:,.{digits}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{x:.4g}"


def percent(share: float) -> str:
    """Format a share in whole percents. Never rounds to 0 % or 100 %."""
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def several(n: float, what: str) -> str:
    """``1 row`` or ``2 rows``."""
    return f"{n:,.0f} {what}{'' if n == 1 else 's'}"


@lru_cache(maxsize=4096)
def _char_width(char: str) -> float:
    """Width of a character at a size of 1 point."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with warnings.catch_warnings():  # of characters that the font lacks
        warnings.simplefilter("ignore")
        # A space alone has no outline, so it is measured between two others.
        width, _, _ = text_to_path.get_text_width_height_descent(f"x{char}x", FontProperties(size=10), ismath=False)
        edges, _, _ = text_to_path.get_text_width_height_descent("xx", FontProperties(size=10), ismath=False)
    return float(width - edges) / 10


def text_width(text: str, size: float) -> float:
    """Width of a text in points."""
    return sum(map(_char_width, text)) * size


def shortened(text: object, width: float, size: float = SMALL) -> str:
    """The text, or its beginning and its end where it is wider than so many points."""
    whole = printable(text)
    if text_width(whole, size) <= width:
        return whole
    room = width - text_width(ELLIPSIS, size)
    head, tail = 0, len(whole)
    while head < tail:
        if text_width(whole[: head + 1] + whole[tail:], size) > room:
            break
        head += 1
        if text_width(whole[:head] + whole[tail - 1 :], size) > room:
            break
        if (tail - head) > 1 and head % 2 == 0:  # two from the front for each from the back
            tail -= 1
    return f"{whole[:head].rstrip()}{ELLIPSIS}{whole[tail:].lstrip()}"


def wrapped(text: object, width: float, size: float, most_lines: int) -> list[str]:
    """The text on lines of at most so many points, broken between words where it can be; the rest is cut off."""
    lines, line = [], ""
    for piece in _pieces(printable(text), width, size):
        if line and text_width((line + piece).rstrip(), size) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece.lstrip() if not line else piece
    lines = [*lines, line.rstrip()] if line.strip() or not lines else lines
    if len(lines) <= most_lines:
        return lines
    last = lines[most_lines - 1]
    while last and text_width(last + ELLIPSIS, size) > width:
        last = last[:-1]
    return [*lines[: most_lines - 1], f"{last.rstrip()}{ELLIPSIS}"]


def one_line(text: object, width: float, size: float = SMALL) -> str:
    """A text shortened to so many points, shown literally."""
    return shown(shortened(text, width, size))


def some_lines(text: object, width: float, size: float, most_lines: int) -> str:
    """A text broken into lines of at most so many points, shown literally."""
    return "\n".join(map(shown, wrapped(text, width, size, most_lines)))


def _pieces(text: str, width: float, size: float) -> list[str]:
    """What a line may be broken between: words, parts of long ones, letters where nothing else is left."""
    pieces, piece = [], ""
    for at, char in enumerate(text):
        piece += char
        ends = char == " " or (char in BREAK_AFTER and not text[at + 1 : at + 2].isdigit())
        if ends or text_width(piece, size) > width - 2 * size:
            pieces.append(piece)
            piece = ""
    return [*pieces, piece] if piece else pieces


def names_of_classes(classes: Iterable[Any], given: Mapping[Any, Any] | Sequence[Any] | None) -> list[str]:
    """Names of the classes: by a mapping from labels, by a list in their order, or their labels."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
    if given is None:
        return [printable(label) for label in labels]
    if isinstance(given, Mapping):
        unknown = [label for label in given if label not in labels]
        if unknown:
            raise InvalidInputError(f"class_names has {unknown[0]!r}, which is not a class. The classes are {labels}.")
        return [printable(given.get(label, label)) for label in labels]
    if isinstance(given, str) or len(given) != len(labels):
        raise InvalidInputError(
            f"class_names must be a name for each of the {len(labels)} classes {labels}, or a mapping from them; got "
            f"{given!r}."
        )
    return [printable(name) for name in given]


def checked_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)
