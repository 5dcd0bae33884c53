"""Curves of the quality and size of the tree over the granularity Q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fcca.classifier import GRANULARITIES, FCCAClassifier, choose_granularity
from fcca.exceptions import InvalidInputError
from fcca.plots._axes import draw_key, is_narrow, plain_frame, room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import check_frame
from fcca.plots._style import INK, NORMAL, SMALL, class_style

WIDTH, HEIGHT = 9.0, 5.2  # inches
TIGHT = 580.0  # points; below this width, titles are short
NEEDED = ("lambda0", "Q", "thresholds", "accuracy", "fidelity", "compression", "inconsistency")
PANELS = (
    ("accuracy", "rows that the tree gets right\n(accuracy, held-out rows)", "accuracy"),
    ("fidelity", "tree and black box agree\n(fidelity, held-out rows)", "fidelity"),
    ("thresholds", "thresholds kept", "thresholds kept"),
    ("compression", "rows that duplicate another row\n(compression)", None),
    ("inconsistency", "smallest share of rows that any\ntree gets wrong (inconsistency)", None),
    ("leaves", "leaves of the tree", "leaves"),
)  # column, title, and short title for narrow plots; panels without a short title are left out there


@dataclass(eq=False, repr=False)
class GranularityDisplay(Display):
    """Curves of the quality and size of the tree over the granularity ``Q``.

    The panels show accuracy, fidelity, thresholds kept, compression, inconsistency and leaves, with one curve for each cost
    ``lambda0`` per changed column. It is recommended to use :meth:`from_path` or :meth:`from_estimator`.

    Parameters
    ----------
    path : DataFrame
        The result of ``FCCAClassifier.granularity_path``.
    chosen : dict, optional
        ``lambda0`` and ``Q`` of the point to mark, as returned by ``choose_granularity``.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (2, 3)
        The panels. In narrow axes, the shape is (2, 2), without compression and inconsistency.
    ax_ : matplotlib Axes
        The first panel.
    figure_ : matplotlib Figure
    """

    path: pd.DataFrame
    _: KW_ONLY
    chosen: dict[str, float] | None = None

    @classmethod
    def from_path(cls, path: pd.DataFrame, *, choose: str | None = "one_standard_error", ax: Any = None) -> Self:
        """Draw the result of a cross-validation over granularities.

        Parameters
        ----------
        path : DataFrame
            The result of ``FCCAClassifier.granularity_path``.
        choose : {"one_standard_error", "best", "tradeoff"} or None
            The rule by which ``choose_granularity`` chooses the point to mark. None marks no point.
        ax : matplotlib Axes, optional

        Returns
        -------
        GranularityDisplay
        """
        _check(path)
        chosen = None if choose is None else choose_granularity(path, choose)
        return cls(path, chosen=chosen).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: FCCAClassifier,
        X: Any,
        y: ArrayLike,
        *,
        Q: Sequence[float] = GRANULARITIES,
        lambda0: Sequence[float] | None = None,
        cv: Any = 5,
        sample_weight: ArrayLike | None = None,
        choose: str | None = "one_standard_error",
        ax: Any = None,
    ) -> Self:
        """Cross-validate a classifier for several granularities, and draw the result.

        Parameters
        ----------
        estimator : FCCAClassifier
            Fitted or unfitted. It is not changed.
        X, y, sample_weight : as in ``FCCAClassifier.fit``
        Q, lambda0, cv : as in ``FCCAClassifier.granularity_path``
        choose : {"one_standard_error", "best", "tradeoff"} or None
            The rule by which ``choose_granularity`` chooses the point to mark. None marks no point.
        ax : matplotlib Axes, optional

        Returns
        -------
        GranularityDisplay
        """
        if not isinstance(estimator, FCCAClassifier):
            raise InvalidInputError(f"Expected an FCCAClassifier, got {type(estimator).__name__}.")
        path = estimator.granularity_path(X, y, Q=Q, lambda0=lambda0, cv=cv, sample_weight=sample_weight)
        return cls.from_path(path, choose=choose, ax=ax)

    def _draw(self, ax: Any) -> None:
        _check(self.path)
        chosen = self._chosen_line()
        small = is_narrow(ax)
        axes, key = self._begin_panels(ax, 2, 2 if small else 3, WIDTH, HEIGHT)
        tight = ax is not None and room_of(ax)[0] < TIGHT
        drawn = [
            (column, short if small else title.partition("\n")[0] if tight else title)
            for column, title, short in PANELS
            if short or not small
        ]
        from matplotlib.ticker import MaxNLocator

        costs = sorted(self.path["lambda0"].unique())
        handles: list[Any] = []
        for at_panel, (panel, (column, title)) in enumerate(zip(axes.ravel(), drawn, strict=True)):
            lines = [self._curve(panel, column, at, cost) for at, cost in enumerate(costs)]
            handles = handles or lines
            if chosen is not None and column in chosen:
                panel.plot(chosen["Q"], chosen[column], "o", mfc="none", mec=INK, markersize=12, markeredgewidth=1.3)
            panel.set_title(title, fontsize=SMALL if tight else NORMAL)
            plain_frame(panel, grid="y")
            if not tight:
                panel.set_xlabel("Q (higher: fewer thresholds)", fontsize=SMALL)
            elif at_panel >= axes.shape[1]:
                panel.set_xlabel("Q", fontsize=SMALL)
            panel.set_xticks(*_ticks(self.path["Q"], 0.25 if tight else 0.085), fontsize=SMALL)
            panel.margins(x=0.06, y=0.1)
            counts = column in ("thresholds", "leaves")
            panel.yaxis.set_major_locator(MaxNLocator(3 if small else 5, integer=counts, steps=[1, 2, 5, 10]))
            if counts:
                panel.set_ylim(0, 1.12 * float(np.nanmax([*self.path.get(column, ()), 1.0])))
            else:
                _at_least(panel, 0.02)
        self._legend(key, handles, costs)

    def _curve(self, ax: Any, column: str, at: int, cost: float) -> Any:
        line = self.path[self.path["lambda0"] == cost].sort_values("Q")
        style = class_style(at)
        if column not in line:
            return None
        error = line["accuracy_se"].to_numpy() if column == "accuracy" and "accuracy_se" in line else np.zeros(len(line))
        return ax.errorbar(
            line["Q"],
            line[column],
            np.nan_to_num(error) if np.nan_to_num(error).any() else None,
            color=style.color,
            marker=style.marker,
            markersize=4.5,
            linewidth=1.4,
            capsize=2.5,
            elinewidth=0.9,
        )

    def _chosen_line(self) -> pd.DataFrame | None:
        if self.chosen is None:
            return None
        line = self.path[(self.path["lambda0"] == self.chosen["lambda0"]) & (self.path["Q"] == self.chosen["Q"])]
        if len(line) == 0:
            raise InvalidInputError(f"The path has no row with {self.chosen}. Pass lambda0 and Q of one of its rows.")
        return line

    def _legend(self, ax: Any, handles: list[Any], costs: list[float]) -> None:
        from matplotlib.lines import Line2D

        entries = [] if len(costs) == 1 else list(zip(handles, [f"λ0 = {cost:g}" for cost in costs], strict=True))
        if self.chosen is not None:
            circle = Line2D([], [], marker="o", mfc="none", mec=INK, markersize=10, linestyle="", markeredgewidth=1.3)
            entries.append((circle, f"chosen: Q = {self.chosen['Q']:g}, λ0 = {self.chosen['lambda0']:g}"))
        if entries:
            draw_key(ax, entries, columns=5)


def _check(path: Any) -> None:
    check_frame("path", path, NEEDED, "granularity_path")
    if "fold" in path:
        raise InvalidInputError("path has one row per fold. Use the means: granularity_path(…, per_fold=False).")


def _ticks(Q: pd.Series[Any], apart: float) -> tuple[list[float], list[str]]:
    """Return the ticks of the horizontal axis and their labels, one per granularity.

    A tick gets no label if it is too close to the next label. ``apart`` is the minimum distance between two labels, as a
    fraction of the axis.
    """
    levels = sorted(Q.unique().tolist())
    width = max(levels[-1] - levels[0], 1e-9)
    labels: list[str] = []
    last = np.inf
    for level in reversed(levels):
        clear = last - level > apart * width
        labels.append(f"{level:g}" if clear else "")
        last = level if clear else last
    return levels, labels[::-1]


def _at_least(ax: Any, span: float) -> None:
    """Widen the vertical axis to at least ``span``, so that small differences look small."""
    low, high = ax.get_ylim()
    lack = max(span - (high - low), 0.0) / 2
    ax.set_ylim(low - lack, high + lack)
