"""Bars that show how often counterfactuals change each column."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fcca.exceptions import InvalidInputError
from fcca.plots._axes import fitting, name_lines, plain_frame, room_of
from fcca.plots._display import Display
from fcca.plots._plot_data import counterfactuals_of, fitted_discretizer
from fcca.plots._plot_text import one_line, percent, several, some_lines
from fcca.plots._style import BLUE, LIGHT, NAME_WIDTH, NARROW, SMALL, TITLE
from fcca.tables import check_weights
from fcca.utils import whole_number

WIDTH, LINE = 7.0, 0.26  # inches
AROUND = 60.0  # points above and below the bars


@dataclass(eq=False, repr=False)
class CounterfactualImportanceDisplay(Display):
    """Bars of how often counterfactuals change each column.

    It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    importance : DataFrame
        One row per column of the table, sorted by ``moved`` from large to small. ``feature``: name of the column. ``moved``:
        weight of the rows with a proven cheapest change of the column. ``share``: their share of all rows with a proven one.
        ``crossings``: how often its conditions are crossed. ``thresholds``: number of thresholds found on it. ``kept``:
        number of these thresholds that are kept.
    n_counterfactuals : float
        Weight of all proven counterfactuals.
    max_features : int, default=20
        Maximum number of columns to draw, those changed most often.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCADiscretizer
    >>> from fcca.plots import CounterfactualImportanceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = CounterfactualImportanceDisplay.from_estimator(FCCADiscretizer().fit(X, y), max_features=5)
    >>> len(display.ax_.patches)
    5
    """

    importance: pd.DataFrame
    n_counterfactuals: float
    _: KW_ONLY
    max_features: int = 20
    _color: str = field(init=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, sample_weight: ArrayLike | None = None, max_features: int = 20, ax: Any = None
    ) -> Self:
        """Count how often counterfactuals change each column, and draw the counts.

        Parameters
        ----------
        estimator : FCCAClassifier or FCCADiscretizer
            Fitted.
        sample_weight : array-like of shape (n_rows,), optional
            Weights that the estimator was fitted with. Without them, all counterfactuals have weight 1.
        max_features : int, default=20
            Maximum number of columns to draw, those changed most often.
        ax : matplotlib Axes, optional

        Returns
        -------
        CounterfactualImportanceDisplay
        """
        discretizer = fitted_discretizer(estimator)
        found = counterfactuals_of(discretizer)
        weight = np.ones(len(found))
        if sample_weight is not None:
            given = np.asarray(sample_weight, dtype=np.float64).ravel()
            weight = check_weights(given, len(given))
            if len(weight) <= found.rows.max():
                raise InvalidInputError(
                    f"sample_weight has {len(weight)} entries, but the estimator was fitted on more rows. Pass one weight "
                    "per training row."
                )
            weight = weight[found.rows]
        proven = found.is_proven
        n = len(found.feature_names)
        everything, kept = discretizer.all_thresholds_, discretizer.thresholds_
        counted = proven[found.moves.point]
        points, first = discretizer.crossing_points()
        condition = np.repeat(np.arange(len(everything)), np.diff(first))
        is_change = everything.kind[condition] != "missing"
        # Pairs of row and column: the changes of the counterfactuals, and those of equally cheap ones.
        changed = np.concatenate([found.moves.point[counted], points[is_change]]) * n
        changed += np.concatenate([found.moves.feature[counted], everything.feature[condition[is_change]]])
        row, column = np.divmod(np.unique(changed), n)
        moved = np.bincount(column, weights=weight[row], minlength=n)
        total = float(weight[proven].sum())
        frame = pd.DataFrame(
            {
                "feature": list(found.feature_names),
                "moved": moved,
                "share": moved / total if total else np.nan,
                "crossings": np.bincount(everything.feature, weights=everything.count, minlength=n),
                "thresholds": np.bincount(everything.feature, minlength=n),
                "kept": np.bincount(kept.feature, minlength=n),
            }
        )
        frame = frame.sort_values(["moved", "crossings"], ascending=False, kind="stable").reset_index(drop=True)
        frame = frame[(frame["moved"] > 0) | (frame["thresholds"] > 0)]
        return cls(frame, total, max_features=max_features).plot(ax)

    def plot(self, ax: Any = None, *, color: str = BLUE) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on. None creates a new figure.
        color : str
            Colour of the bars.

        Returns
        -------
        self
        """
        self._color = color
        return super().plot(ax)

    def _draw(self, ax: Any) -> None:
        most = whole_number("max_features", self.max_features)
        if len(self.importance) == 0:
            raise InvalidInputError("No counterfactual changes a column, so there is nothing to draw.")
        ax = self._begin(ax, WIDTH, 1.2 + LINE * max(3, min(most, len(self.importance))))
        wide, high = room_of(ax)
        frame = self.importance.head(min(most, fitting(high, AROUND)))
        name_width = min(NAME_WIDTH, 0.35 * wide)
        bars = ax.barh(range(len(frame)), frame["share"], height=0.72, color=self._color)
        words = [
            percent(share)
            if wide < NARROW
            else f"{percent(share)}   {several(thresholds, 'threshold')}{'' if kept == thresholds else f', {kept:,} kept'}"
            for share, thresholds, kept in zip(frame["share"], frame["thresholds"], frame["kept"], strict=True)
        ]
        ax.bar_label(bars, words, padding=4, fontsize=SMALL)
        name_lines(ax, [one_line(name, name_width) for name in frame["feature"]])
        ax.set_xlim(0, (1.3 if wide < NARROW else 1.6) * max(float(frame["share"].max()), 1e-9))
        plain_frame(ax, scale=False)
        ax.spines["left"].set_color(LIGHT)
        left_out = len(self.importance) - len(frame)
        more = f"; {several(left_out, 'column')} changed less often left out" if left_out else ""
        label = f"share of {self.n_counterfactuals:,.6g} rows with a cheapest change of the column{more}"
        ax.set_xlabel(some_lines(label, 0.9 * (wide - name_width), SMALL, 3), fontsize=SMALL)
        ax.set_title("Columns changed most often", fontsize=TITLE)
