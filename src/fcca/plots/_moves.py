"""Arrows that show how the counterfactuals of one row change its columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from fcca.counterfactuals import Counterfactuals, Explanations, Move, feature_in_words, grouped, shown_landing, shown_origin
from fcca.exceptions import InvalidInputError
from fcca.plots._axes import room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import check_result, counterfactuals_of, fitted_discretizer, in_share_of_range
from fcca.plots._plot_text import names_of_classes, number, one_line, shortened, shown, some_lines, text_width
from fcca.plots._style import GREY, INK, LIGHT, NAME_WIDTH, NARROW, NORMAL, SMALL, TITLE, class_style

WIDTH, LINE = 7.5, 0.5  # inches
AROUND, TIGHT = 50.0, 27.0  # points above and below the lines; lines below the second height have room for one text line
TARGET_WIDTH, LABEL_WIDTH, HEADER_WIDTH = 110.0, 110.0, 310.0  # points for the name of a class, of a category, a header
ROWS_SHOWN = 10
CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # background of numbers on the line of the range


class Arrow(NamedTuple):
    """A change of one column, drawn as an arrow, and the range of the column.

    Attributes
    ----------
    move : Move
        The column with its old and new value.
    low, high : float
        Smallest and largest training value of the column; NaN if unknown.
    """

    move: Move
    low: float
    high: float


class DrawnCounterfactual(NamedTuple):
    """A counterfactual with the title above it and one arrow per changed column."""

    title: str
    arrows: list[Arrow]


@dataclass(eq=False, repr=False)
class CounterfactualMovesDisplay(Display):
    """Arrows that show how the counterfactuals of one row change its columns.

    Each arrow leads from the old to the new value, on a line from the smallest to the largest value of the column. A mark
    shows the cut of the black box that the change crosses. It is recommended to use :meth:`from_explanations` or
    :meth:`from_estimator`.

    Parameters
    ----------
    answers : list of DrawnCounterfactual
        Title and arrows of each counterfactual.
    title : str
        Title of the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCADiscretizer
    >>> from fcca.plots import CounterfactualMovesDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> discretizer = FCCADiscretizer().fit(X, y)
    >>> display = CounterfactualMovesDisplay.from_estimator(discretizer, 5, class_names=["malignant", "benign"])
    """

    answers: Sequence[DrawnCounterfactual]
    title: str

    @classmethod
    def from_explanations(
        cls,
        found: Explanations,
        row: Any = None,
        *,
        class_names: Mapping[Any, str] | Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the counterfactuals of one row, one below the other.

        Parameters
        ----------
        found : Explanations
            The result of ``CounterfactualExplainer.explain``.
        row : label, optional
            The row to draw: its label in the index of the explained data frame, or its position in an array. Required if
            several rows were explained.
        class_names : mapping or sequence, optional
            Names to show for the classes.
        ax : matplotlib Axes, optional

        Returns
        -------
        CounterfactualMovesDisplay
        """
        check_result(found, Explanations, "CounterfactualExplainer.explain")
        labels = [label.item() if isinstance(label, np.generic) else label for label in found.labels[found.rows]]
        known = list(dict.fromkeys(labels))
        if row is None and len(known) > 1:
            raise InvalidInputError(f"{len(known)} rows were explained. Pass one of them as 'row': {_listed(known)}.")
        row = known[0] if row is None else row.item() if isinstance(row, np.generic) else row
        if row not in known:
            raise InvalidInputError(f"There is no row {row!r}. The rows are {_listed(known)}.")
        which = [at for at, label in enumerate(labels) if label == row]
        return cls._of(found, which, row, class_names).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        row: int,
        *,
        class_names: Mapping[Any, str] | Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the counterfactual of a training row.

        Parameters
        ----------
        estimator : FCCAClassifier or FCCADiscretizer
            Fitted.
        row : int
            Position of the row in the training data, counted from 0.
        class_names : mapping or sequence, optional
            Names to show for the classes.
        ax : matplotlib Axes, optional

        Returns
        -------
        CounterfactualMovesDisplay
        """
        found = counterfactuals_of(fitted_discretizer(estimator))
        if isinstance(row, bool) or not isinstance(row, (int, np.integer)):
            raise InvalidInputError(f"row must be the position of a training row, counted from 0, got {row!r}.")
        which = np.flatnonzero(found.rows == row)
        if len(which) == 0:
            raise InvalidInputError(
                f"Row {row} has no counterfactual. 'fit' computes counterfactuals for training rows that the black box "
                "predicts correctly, with a probability between p0 and p1. For other rows, use CounterfactualExplainer and "
                "from_explanations."
            )
        return cls._of(found, which.tolist(), int(row), class_names).plot(ax)

    @classmethod
    def _of(cls, found: Counterfactuals, which: list[int], row: Any, class_names: Any) -> Self:
        names = names_of_classes(found.classes, class_names)
        sentences = found.sentences(dict(zip(found.classes.tolist(), names, strict=True)))
        status, codes = found.status, found.class_code
        low, high = found.box or [np.full(len(found.feature_names), np.nan)] * 2
        answers = []
        for at in which:
            moves = np.flatnonzero(found.moves.point == at)
            features = found.moves.feature[moves]
            arrows = [
                Arrow(found.move_at(k), *ends)
                for k, *ends in zip(moves.tolist(), low[features].tolist(), high[features].tolist(), strict=True)
            ]
            target = shortened(names[codes[at]], TARGET_WIDTH, NORMAL) if codes[at] >= 0 else "another class"
            proof = {
                "optimal": "proven to be the cheapest",
                "within_gap": f"the cheapest costs at least {number(float(found.bound[at]))}",
                "feasible": f"the cheapest costs at least {number(float(found.bound[at]))}",
                "unverified": "not confirmed by the classifier",
            }.get(str(status[at]), "")
            title = f"Change to “{target}”: cost {number(float(found.cost[at]))}, {proof}" if arrows else sentences[at]
            answers.append(DrawnCounterfactual(title, arrows))
        prediction = "" if found.own_code is None else f": the black box predicts “{names[found.own_code[which[0]]]}”"
        return cls(answers, f"Row {row}{prediction}")

    def _draw(self, ax: Any) -> None:
        lines = sum(1 + len(answer.arrows) for answer in self.answers)
        ax = self._begin(ax, WIDTH, 0.8 + LINE * max(2, lines))
        place, high = room_of(ax)
        each = (high - AROUND) / max(1, lines)  # points that a line has
        tight, name_width = each < TIGHT, min(NAME_WIDTH, 0.3 * place)
        header, header_lines = (0.62 * place - 20, 1) if tight else (min(HEADER_WIDTH, 0.62 * place), 2)
        # Leave room for the longest number next to the range, at any width of the axes.
        wide = 0.85 * ax.get_window_extent().width * 72 / self.figure_.dpi
        wide = min(wide, place - name_width)
        numbers = [_ends(arrow.move) for answer in self.answers for arrow in answer.arrows if arrow.move.labels is None]
        longest = max([text_width(text, SMALL) for pair in numbers for text in pair] + [30.0]) + 12
        room = longest / max(wide - 2 * longest, 0.3 * wide)
        ax.set_xlim(-room, 1 + room)
        ax.set_ylim(lines - 0.4, -0.5)
        names, places, line = [], [], 0
        for at, answer in enumerate(self.answers):
            style = class_style(at)
            prefix = f"{at + 1}.  " if len(self.answers) > 1 else ""
            size = SMALL if tight else NORMAL
            whole = f"{prefix}{answer.title}"
            if text_width(whole, size) > 0.9 * header * header_lines:
                whole = whole.replace("proven to be the cheapest", "proven")
            title = some_lines(whole, header, size, header_lines)
            ax.text(-room, line, title, fontsize=size, fontweight="bold", va="center", color=INK)
            line += 1
            for arrow in answer.arrows:
                self._draw_move(ax, line, arrow, style.color, min(LABEL_WIDTH, 0.3 * (place - name_width)), tight)
                names.append(_name(arrow, name_width, tight))
                places.append(line)
                line += 1
        ax.set_yticks(places, names, fontsize=SMALL)
        ax.tick_params(axis="y", length=0)
        ends = ["smallest\nvalue", "", "largest\nvalue"]
        if place >= NARROW:
            ends = ["smallest value\nof the column", "", "largest value\nof the column"]
        ax.set_xticks([0, 0.5, 1], ends, fontsize=SMALL)
        ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
        if not places or all(arrow.move.labels is not None for answer in self.answers for arrow in answer.arrows):
            ax.set_xticks([])
        ax.set_title(some_lines(self.title, min(HEADER_WIDTH, 0.62 * place), TITLE, 2), fontsize=TITLE)

    @staticmethod
    def _draw_move(ax: Any, line: int, arrow: Arrow, color: str, label_width: float, tight: bool) -> None:
        move, (before, after) = arrow.move, _ends(arrow.move)
        if move.labels is not None:
            texts = one_line(before, label_width), one_line(after, label_width)
            ax.text(0.46, line, texts[0], fontsize=SMALL, ha="right", va="center", color=GREY)
            ax.text(0.54, line, texts[1], fontsize=SMALL, ha="left", va="center", color=INK)
            _arrow(ax, 0.475, 0.53, line, color)
            return
        start, end = (float(in_share_of_range(value, arrow.low, arrow.high)) for value in (move.origin, move.landing))
        ax.plot([0, 1], [line, line], color=LIGHT, linewidth=1, zorder=1)
        ax.plot([0, 0, np.nan, 1, 1], [line - 0.1, line + 0.1, np.nan, line - 0.1, line + 0.1], color=LIGHT, zorder=1)
        rises = math.isnan(move.origin) or end >= start
        if math.isnan(move.origin):
            ax.plot(end, line, "o", color=color, markersize=6, zorder=3)
            ax.text(end, line + 0.34, shown(f"missing → {after}"), fontsize=SMALL, ha="center", va="center", color=INK)
            return
        ax.plot(start, line, "o", mfc="white", mec=color, markersize=6, markeredgewidth=1.4, zorder=4)
        _arrow(ax, start, end, line, color)
        gap = 0.022
        sides = (("right", start - gap), ("left", end + gap)) if rises else (("left", start + gap), ("right", end - gap))
        for (side, at), text, ink in zip(sides, (before, after), (GREY, INK), strict=True):
            ax.text(at, line, shown(text), fontsize=SMALL, ha=side, va="center", color=ink, zorder=5, bbox=CLEAR)
        if not math.isnan(move.cut):
            at = float(in_share_of_range(move.cut, arrow.low, arrow.high))
            ax.plot([at, at], [line - 0.2, line + 0.2], color=INK, linewidth=1.2, linestyle=(0, (2, 1)), zorder=2)
            if not tight:
                ax.text(at, line - 0.33, f"cut {number(move.cut)}", fontsize=6.5, ha="center", va="center", color=GREY)


def _arrow(ax: Any, start: float, end: float, line: int, color: str) -> None:
    ax.annotate(
        "",
        (end, line),
        (start, line),
        arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2.0, "shrinkA": 3, "shrinkB": 0, "mutation_scale": 11},
        zorder=3,
    )


def _ends(move: Move) -> tuple[str, str]:
    """Return the old and the new value of a change as texts, as in ``Counterfactuals.sentences``."""
    if move.labels is not None:
        return move.labels[0] or "missing", move.labels[1] or "missing"
    before = "missing" if math.isnan(move.origin) else grouped(shown_origin(move))
    return before, grouped(shown_landing(move))


def _name(arrow: Arrow, width: float, tight: bool) -> str:
    """Return the text beside an arrow: the name of the column and its range.

    ``width`` is the width for the name in points. If ``tight`` is True, the range is left out.
    """
    name = one_line(feature_in_words(arrow.move.feature), width)
    if arrow.move.labels is not None or math.isnan(arrow.low) or tight:
        return name
    return f"{name}\n{number(arrow.low)} to {number(arrow.high)}"


def _listed(labels: list[Any]) -> str:
    shown_labels = ", ".join(repr(label) for label in labels[:ROWS_SHOWN])
    return f"{shown_labels}, … ({len(labels)} rows)" if len(labels) > ROWS_SHOWN else shown_labels
