"""Stability: how often bootstrap samples find the same thresholds again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fcca.stability._agreement import agreement, interval, mean_jaccard
from fcca.thresholds import ThresholdTable
from fcca.utils import bar, html_table, number, paragraph

Floats = NDArray[np.float64]

LEVEL = 0.95
FAR = 0.9
LINES_IN_HTML = 30
# Shares are sums of weights, so a difference in the last digits does not count.
SLACK = 1e-12


@dataclass(frozen=True, repr=False)
class Stability:
    """How often bootstrap samples find the thresholds of the full fit again.

    The full fit is the fit on all rows. In the arrays below, there is one row per sample that could be fitted, and one
    column per threshold of the full fit.

    Attributes
    ----------
    thresholds : ThresholdTable
        Thresholds of the full fit.
    tables : tuple of ThresholdTable
        Thresholds of each sample that could be fitted.
    failures : mapping of int to str
        The error message of each sample that could not be fitted, by the number of the sample. These samples are left out of
        all shares.
    n_samples : int
        Number of samples, including failures.
    tolerance : float
        Largest share of the training rows between two numeric thresholds that count as nearly equal.
    same : ndarray of bool, shape (n_tables, n_thresholds)
        Whether the sample has the same condition. Two numeric thresholds are the same if no training row lies between them.
    rows_between : ndarray of shape (n_tables, n_thresholds)
        Share of the training rows between a numeric threshold and the nearest threshold of the sample on the same column.
        NaN if the sample has none on this column, and for conditions on categories or missing values.
    distance : ndarray of shape (n_tables, n_thresholds)
        Difference between the values of these two thresholds, in the units of the column.
    """

    thresholds: ThresholdTable
    tables: tuple[ThresholdTable, ...]
    failures: Mapping[int, str]
    n_samples: int
    tolerance: float
    same: NDArray[np.bool_]
    rows_between: Floats
    distance: Floats

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Mask of shape (n_tables, n_columns): whether the sample has a condition on the column."""
        n = len(self.thresholds.feature_names)
        return np.array([np.bincount(table.feature, minlength=n) > 0 for table in self.tables]).reshape(-1, n)

    @property
    def near(self) -> NDArray[np.bool_]:
        """Mask of shape (n_tables, n_thresholds): whether the sample has a nearly equal condition."""
        with np.errstate(invalid="ignore"):
            return self.same | (self.rows_between <= self.tolerance + SLACK)

    @property
    def chosen(self) -> Floats:
        """For each threshold, the share of samples with a nearly equal condition."""
        return np.asarray(self.near.mean(axis=0))

    @property
    def exact(self) -> Floats:
        """For each threshold, the share of samples with the same condition."""
        return np.asarray(self.same.mean(axis=0))

    @property
    def column(self) -> Floats:
        """For each threshold, the share of samples with any condition on the same column."""
        return np.asarray(self.used.mean(axis=0)[self.thresholds.feature])

    @property
    def stability(self) -> float:
        """How much the samples agree on which columns have a threshold.

        1 is full agreement, and about 0 is agreement by chance. It is NaN if every sample uses all columns or no column.

        The measure is computed over all columns of the table. It was proposed by Nogueira, Sechidis and Brown, On the
        stability of feature selection algorithms, Journal of Machine Learning Research 18 (174), 2018.
        """
        return agreement(self.used)[0]

    @property
    def stability_interval(self) -> tuple[float, float]:
        """Approximate 95 % confidence interval of ``stability``, by Nogueira, Sechidis and Brown.

        It accounts for the limited number of bootstrap samples, but not for the random choice of the training rows.
        """
        return interval(*agreement(self.used), LEVEL)

    @property
    def jaccard(self) -> float:
        """Mean Jaccard index of the sets of columns that two samples use, over all pairs of samples."""
        return mean_jaccard(self.used)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per threshold of the full fit.

        Returns
        -------
        DataFrame
            Columns ``condition``, ``feature`` and ``kind``. ``chosen``, ``exact`` and ``column``: shares of the samples, as
            in the attributes. ``moved_median``, ``moved_90``: median and 90 % quantile of the distance to the nearest
            threshold of a sample, in the units of the column. Samples without a threshold on the column are left out.
            ``rows_median``, ``rows_90``: the same for the share of the training rows in between.
        """
        table = self.thresholds
        return pd.DataFrame(
            {
                "condition": table.names(),
                "feature": [table.feature_names[j] for j in table.feature],
                "kind": table.kind.tolist(),
                "chosen": self.chosen,
                "exact": self.exact,
                "column": self.column,
                "moved_median": _quantile(self.distance, 0.5),
                "moved_90": _quantile(self.distance, FAR),
                "rows_median": _quantile(self.rows_between, 0.5),
                "rows_90": _quantile(self.rows_between, FAR),
            }
        )

    def columns_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per column that the full fit or a sample uses.

        Returns
        -------
        DataFrame
            ``column``: its name. ``conditions``: number of conditions on it in the full fit. ``share``: share of the samples
            with a condition on it. ``mean_conditions``: mean number of conditions on it in these samples.
        """
        names = self.thresholds.feature_names
        n = len(names)
        full = np.bincount(self.thresholds.feature, minlength=n)
        total = np.sum([np.bincount(table.feature, minlength=n) for table in self.tables], axis=0)
        times = self.used.sum(axis=0)
        frame = pd.DataFrame(
            {
                "column": list(names),
                "conditions": full,
                "share": times / len(self.tables),
                "mean_conditions": np.divide(total, times, out=np.full(n, np.nan), where=times > 0),
            }
        )
        order = np.lexsort((-full, -times))
        lines = order[((full > 0) | (times > 0))[order]]
        return frame.take(lines).reset_index(drop=True)

    def sentences(self) -> list[str]:
        """Return the main results as sentences: which thresholds and columns are found again, and how often."""
        chosen = self.chosen
        least, most = f"{chosen.min():.0%}", f"{chosen.max():.0%}"
        shares = least if least == most else f"{least} to {most}"
        texts = [
            f"{len(chosen):,} threshold{'s' if len(chosen) > 1 else ''}, found again in {shares} of {len(self.tables):,} "
            f"bootstrap samples (at most {self.tolerance:.1%} of the rows between the two thresholds)."
        ]
        others = self.columns_frame().query("conditions == 0")
        if len(others):
            name, share = others["column"].iloc[0], others["share"].iloc[0]
            texts.append(
                f"{len(others):,} column{'s' if len(others) > 1 else ''} without a threshold in the fit on all rows "
                f"{'have' if len(others) > 1 else 'has'} one in some samples, most often {name} ({share:.0%})."
            )
        value, (low, high) = self.stability, self.stability_interval
        if not np.isnan(value):
            texts.append(
                f"Agreement on the columns: {value:.2f} ({low:.2f} to {high:.2f}), where 1 means the same columns in all "
                "samples and 0 means agreement by chance."
            )
        if self.failures:
            first = min(self.failures)
            texts.append(
                f"{len(self.failures):,} of {self.n_samples:,} samples could not be fitted and do not count. Sample "
                f"{first}: {self.failures[first]}"
            )
        return texts

    def __repr__(self) -> str:
        return "\n".join(["Stability of thresholds", *(f"  {text}" for text in self.sentences())])

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        shown = ["condition", "chosen", "exact", "column", "moved_median", "rows_90"]
        lines = [
            (
                condition,
                f"{chosen:.0%}",
                bar(chosen),
                f"{exact:.0%}",
                f"{column:.0%}",
                "–" if np.isnan(moved) else f"{moved:.4g}",
                number(rows),
            )
            for condition, chosen, exact, column, moved, rows in frame[shown].head(LINES_IN_HTML).to_numpy().tolist()
        ]
        head = ("condition", "found again", "", "exactly", "on its column", "median distance", "rows between, 90 %")
        more = paragraph(f"… {len(frame) - len(lines):,} more") if len(frame) > len(lines) else ""
        texts = "".join(paragraph(text) for text in self.sentences())
        return html_table(head, lines, numbers=(1, 3, 4, 5, 6)) + more + texts


def _quantile(values: Floats, q: float) -> Floats:
    """Compute the q-quantile of each column of an array, ignoring NaN.

    The result is NaN for a column with NaN only.
    """
    return np.array([np.quantile(known, q) if len(known := one[~np.isnan(one)]) else np.nan for one in values.T])
