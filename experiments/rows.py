"""Access to the tidy rows: means over folds by data set, and cells of heat maps with thresholds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
import pandas as pd

from experiments.study import PAPER_DATASETS

TENTHS = 10
#: Columns that identify a discretization. The rows of all its classifiers repeat its rates and thresholds.
TABLE = ["dataset", "fold", "method", "Q", "lambda0"]
ROUNDING = 1e-9  # tolerance when granularities and rates are compared
Cells = dict[tuple[int, int], float]


class NotMeasuredError(Exception):
    """Raised if the rows needed for a figure or a claim are missing."""


@dataclass(frozen=True, eq=False)
class Results:
    """The tidy rows of a study."""

    rows: pd.DataFrame
    other_targets: pd.DataFrame | None = None  # the additional rows of experiments.other_targets

    @cached_property
    def datasets(self) -> list[str]:
        """Data sets in the results: first those of the paper, in its order, then the others."""
        found = list(dict.fromkeys(self.rows["dataset"]))
        return [name for name in PAPER_DATASETS if name in found] + [name for name in found if name not in PAPER_DATASETS]

    @cached_property
    def notes(self) -> dict[str, str]:
        """Notes on how data sets differ from the paper's. Data sets without a note are left out."""
        notes = self.rows.groupby("dataset")["note"].first()
        return {name: notes[name] for name in self.datasets if notes[name]}

    @cached_property
    def granularities(self) -> list[float]:
        """Values of Q in the FCCA rows, in ascending order."""
        fcca = self.rows[self.rows["method"] == "fcca"]
        return sorted(fcca["Q"].dropna().unique().tolist())

    def select(
        self,
        method: str | None = None,
        Q: float | None = None,
        classifier: str | None = None,
        dataset: str | None = None,
        lambda0: float | None = None,
    ) -> pd.DataFrame:
        """Return the rows with the given values; None means any value."""
        rows = self.rows
        for column, wanted in (("method", method), ("classifier", classifier), ("dataset", dataset)):
            if wanted is not None:
                rows = rows[rows[column] == wanted]
        for column, number in (("Q", Q), ("lambda0", lambda0)):
            if number is not None:
                rows = rows[(rows[column] - number).abs() < ROUNDING]
        return rows

    def folds(
        self,
        column: str,
        method: str,
        Q: float | None = None,
        classifier: str | None = None,
        lambda0: float | None = None,
    ) -> pd.DataFrame:
        """Return the values of a column, with one row per data set and one column per fold.

        ``classifier`` is None for columns that describe the discretization.

        Raises
        ------
        NotMeasuredError
            If there are no such rows.
        """
        rows = self.select(method, Q, classifier, lambda0=lambda0)
        if rows.empty:
            at = "" if Q is None else f" at Q = {Q:g}"
            of = "" if classifier is None else f" with {classifier}"
            raise NotMeasuredError(f"no rows of {method}{at}{of}")
        values = rows.pivot_table(index="dataset", columns="fold", values=column, aggfunc="first", dropna=False)
        return values.reindex([name for name in self.datasets if name in values.index])

    def mean(
        self,
        column: str,
        method: str,
        Q: float | None = None,
        classifier: str | None = None,
        lambda0: float | None = None,
    ) -> pd.Series:
        """Compute the mean of a column over the folds, by data set."""
        return self.folds(column, method, Q, classifier, lambda0).mean(axis=1)

    def heat_maps(self, method: str, dataset: str) -> list[Cells]:
        """Return one heat map per fold: the cells with a threshold.

        A cell is a feature and a tenth of its range. Its value is the largest Q that still keeps a threshold in it.

        Raises
        ------
        NotMeasuredError
            If the rows list no thresholds of this method.
        """
        rows = self.select(method, dataset=dataset)
        rows = rows[rows["threshold feature"].notna()]
        if rows.empty:
            raise NotMeasuredError(f"no thresholds of {method} for {dataset}")
        return [_cells(row) for _, row in rows.sort_values("fold").iterrows()]


def _cells(row: pd.Series) -> Cells:
    cells: Cells = {}
    for feature, value, survives in zip(
        row["threshold feature"], row["threshold value"], row["threshold survives"], strict=True
    ):
        cell = int(feature), int(np.clip(np.floor(TENTHS * value), 0, TENTHS - 1))
        cells[cell] = max(cells.get(cell, 0.0), float(survives))
    return cells


def in_half_of_the_folds(folds: list[Cells]) -> Cells:
    """Return the cells with a threshold in at least half of the folds.

    The value of a cell is the largest Q that keeps a threshold there in at least half of the folds.
    """
    found: dict[tuple[int, int], list[float]] = {}
    for cells in folds:
        for cell, survives in cells.items():
            found.setdefault(cell, []).append(survives)
    half = ceil(len(folds) / 2)
    return {cell: sorted(values)[-half] for cell, values in found.items() if len(values) >= half}


def shared_cells(a: Iterable[Cells], b: Iterable[Cells]) -> float:
    """Compute the number of cells in both heat maps, divided by the cells in at least one; mean over folds."""
    shares = [len(x.keys() & y.keys()) / max(len(x.keys() | y.keys()), 1) for x, y in zip(a, b, strict=True)]
    return float(np.mean(shares))


def standard_error(values: pd.Series) -> float:
    """Compute the standard error of the mean; NaN for a single value."""
    present = values.dropna()
    return float(present.std(ddof=1) / np.sqrt(len(present))) if len(present) > 1 else float("nan")
