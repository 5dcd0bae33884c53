"""Scorecard: points for the bins of a logistic regression, without the black box and the training rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.scorecard._answers import ScorecardAnswersMixin
from fcca.scorecard._columns import ScorecardColumn
from fcca.tables import Columns, check_columns, column_names
from fcca.utils import plain

Floats = NDArray[np.float64]
Label = str | int | float | bool


@dataclass(frozen=True, eq=False)
class Scorecard(ScorecardAnswersMixin):
    """A stand-alone scorecard: points for the bins of some columns.

    It accepts rows in raw units, and contains no black box and no training rows. :attr:`fcca.FCCAScorecard.scorecard_` is
    one, and :func:`fcca.export.scorecard_from_json` reads one from a file.

    Attributes
    ----------
    columns : Columns
        All columns of the table, with their categories.
    classes : tuple
        The two classes.
    used : tuple of ScorecardColumn
        The bins of the columns with points.
    intercept : float
        Log-odds of the second class for a row with the coefficient 0 in all columns.
    favourable : str, int, float or bool
        The class that high scores stand for.
    pdo, base_score, base_odds : float
        The odds of the favourable class are ``base_odds`` at a score of ``base_score``, and double every ``pdo`` points.
    round_points : bool
        Whether points are rounded to whole numbers.
    """

    columns: Columns
    classes: tuple[Label, Label]
    used: tuple[ScorecardColumn, ...]
    intercept: float
    favourable: Label
    pdo: float
    base_score: float
    base_odds: float
    round_points: bool

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # without cached values

    # --- points --------------------------------------------------------------------------------------------------------

    @property
    def factor(self) -> float:
        """Points per unit of the log-odds of the second class; negative if high scores stand for the first class."""
        sign = 1.0 if self.favourable == self.classes[1] else -1.0
        return sign * self.pdo / float(np.log(2.0))

    @property
    def offset(self) -> float:
        """Score at log-odds of 0: before rounding, every score is ``offset + factor * log-odds``."""
        return self.base_score - abs(self.factor) * float(np.log(self.base_odds))

    @cached_property
    def base_points(self) -> float:
        """Points of every row, before the points of its bins are added."""
        return float(self._rounded(np.array(self.offset + self.factor * self.intercept)))

    @cached_property
    def points(self) -> tuple[Floats, ...]:
        """Points of the bins of each used column."""
        return tuple(self._rounded(self.factor * column.coefficient) for column in self.used)

    def _rounded(self, points: Floats) -> Floats:
        return (np.round(points) if self.round_points else points) + 0.0  # no -0

    # --- rows ----------------------------------------------------------------------------------------------------------

    @property
    def features_used(self) -> list[str]:
        """Names of the columns with points."""
        return [self.columns.names[column.feature] for column in self.used]

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes as an array, of dtype object if their types differ."""
        return np.array(self.classes, dtype=None if type(self.classes[0]) is type(self.classes[1]) else object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the table."""
        return len(self.columns)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the columns. Accessing it raises an AttributeError if the columns have no names."""
        if not self.columns.named:
            raise AttributeError("the scorecard was fitted without column names")
        return np.array(self.columns.names, dtype=object)

    @property
    def _card(self) -> Scorecard:
        return self

    def _places(self, X: Any) -> NDArray[np.intp]:
        names = column_names(X)
        if names is not None and self.columns.named:
            known = list(self.columns.names)
            check_columns(names, len(names), known, len(known), knower="the scorecard was made for")
        return self.places(self.tested_columns.encode(X, handle_unknown="warn"))

    @property
    def tested_columns(self) -> Columns:
        """The columns, of which those without points may hold any value."""
        return self.columns.for_prediction(column.feature for column in self.used)

    def places(self, encoded: Floats) -> NDArray[np.intp]:
        """Return the position of each row's bin in each used column, for encoded rows."""
        found = np.empty((len(encoded), len(self.used)), dtype=np.intp)
        for k, column in enumerate(self.used):
            found[:, k] = column.place(encoded[:, column.feature])
        return found

    # --- table ---------------------------------------------------------------------------------------------------------

    def bins(self, k: int) -> list[str]:
        """Return the names of the bins of a used column; ``k`` is its position in ``used``."""
        column = self.used[k]
        return column.bins(self.columns[column.feature])

    @property
    def total(self) -> Floats:
        """Training weight of each class."""
        found: Floats = self.used[0].weight.sum(axis=0) if self.used else np.zeros(2)
        return found

    @cached_property
    def table(self) -> pd.DataFrame:
        """The bins with training rows, as :attr:`fcca.FCCAScorecard.table_`."""
        parts = [self._lines(k) for k in range(len(self.used))]
        names = ("column", "bin", "count", "share", "event_rate", "WoE", "IV", "coefficient", "points")
        return pd.DataFrame([line for part in parts for line in part], columns=list(names))

    def _lines(self, k: int) -> list[tuple[Any, ...]]:
        column, name = self.used[k], self.features_used[k]
        count = column.weight.sum(axis=1)
        woe, value = column.woe(self.total), column.information_value(self.total)
        points = self.points[k]
        return [
            (
                name,
                text,
                count[at],
                count[at] / count.sum(),
                column.weight[at, 1] / count[at],
                woe[at],
                value[at],
                column.coefficient[at],
                int(points[at]) if self.round_points else points[at],
            )
            for at, text in enumerate(self.bins(k))
            if count[at] > 0
        ]

    def __str__(self) -> str:
        lines = [f"{plain(self.base_points)} points for every row"]
        for name, bins in self.table.groupby("column", sort=False):
            width = int(bins["bin"].str.len().max())
            lines += [
                str(name),
                *(f"    {text:<{width}}  {n:+.6g}" for text, n in zip(bins["bin"], bins["points"], strict=True)),
            ]
        return "\n".join(lines)
