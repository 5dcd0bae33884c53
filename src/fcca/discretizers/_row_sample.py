"""The random sample of rows, and the precision of its shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fcca.discretizers._share_intervals import count_intervals
from fcca.thresholds import ThresholdTable

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Probability that any interval of any sample of a fit does not hold the true share.
ERROR = 0.05
FIRST_LOOK = 250
#: Thresholds whose share differs from the selection's cut by no more than this need not be on the right side of it: an
#: absolute part, and a part relative to the cut. With an absolute part of 0.002, two of three tables are searched
#: completely (``python benchmarks/row_samples.py --part orders --tolerance .02 .002``).
TOLERANCE, RELATIVE_TOLERANCE = 0.02, 0.2

Reason = Literal["settled", "max_rows", "interrupted"]
REASONS = get_args(Reason)


@dataclass(frozen=True)
class RowSample:
    """The rows that were searched for counterfactuals, if not all, and the precision of the shares.

    The share of a threshold is the share of rows whose counterfactual crosses it. With a probability of at least 95 %, the
    intervals of all conditions hold the shares that a search of all rows would give.

    Attributes
    ----------
    size : int
        Size of the sample (see ``sampled``). The rows of each class are drawn in a fixed random order.
    n_searched, n_rows : int
        Number of rows that were searched, and of those that would be searched without a limit.
    reason : {"settled", "max_rows", "interrupted"}
        Why no more rows were searched: the selection was settled, the limit ``max_rows`` was reached, or Ctrl-C was pressed.
    level : float
        Probability that an interval of any condition does not hold the true share.
    n_conditions : int
        Number of all conditions that a counterfactual can cross.
    sampled, sizes : ndarray of int
        Weight of the rows in the sample and in the table, one entry per class, in units of ``unit``.
    unit : float
        The greatest common divisor of all weights; 1 without weights.
    n_unfinished : int
        Searches that a time limit stopped. Their rows may cross any condition, so upper limits include them.
    """

    size: int
    n_searched: int
    n_rows: int
    reason: Reason
    level: float
    n_conditions: int
    sampled: Longs
    sizes: Longs
    unit: float
    n_unfinished: int = 0

    def shares(self, count: Floats) -> tuple[Floats, Floats, Floats]:
        """Compute the share of each condition in the sample, and its confidence interval.

        Parameters
        ----------
        count : ndarray of shape (n_conditions,)
            Sampled weight of the rows that cross each condition.

        Returns
        -------
        share, low, high : ndarray of shape (n_conditions,)
        """
        found = np.rint(count / self.unit).astype(np.int64)
        alone = self.level / self.n_conditions
        low, high = count_intervals(found, self.sampled, self.sizes, alone, self.n_unfinished)
        return found / self.sampled.sum(), low / self.sizes.sum(), high / self.sizes.sum()

    def with_shares(self, table: ThresholdTable) -> ThresholdTable:
        """Copy a threshold table, with the shares of its conditions and their intervals."""
        return table.with_shares(*self.shares(table.count))

    def left_out(self, table: ThresholdTable, kept: Bools) -> float:
        """Return the largest upper limit of the share of a condition that is not kept, whether it was found or not."""
        _, _, high = self.shares(np.concatenate([table.count[~kept], [0.0]]))
        return float(high.max())

    def in_words(self, table: ThresholdTable, kept: Bools) -> str:
        """Say how many rows were searched, and which thresholds may be missing.

        Parameters
        ----------
        table : ThresholdTable
            All conditions found.
        kept : ndarray of bool
            Mask of the conditions that the selection keeps.
        """
        rows = f"{self.n_searched:,} of {self.n_rows:,} rows"
        if self.reason == "interrupted":
            searched = f"Stopped after {rows}; the table so far has {len(table):,} thresholds."
        elif self.reason == "settled":
            searched = (
                f"Counterfactuals were searched for a random sample of {rows}, enough to choose the thresholds. To search "
                "all rows, use max_rows='all' (--max-rows all on the command line)."
            )
        else:
            searched = f"Counterfactuals were searched for a random sample of {rows}, as max_rows asks for."
        most = 100 * self.left_out(table, kept)
        shown = f"{most:.0f}" if most >= 10 else f"{most:.2g}"
        return f"{searched} With a probability of 95 %, no threshold is left out that more than {shown} % of the rows cross."

    def is_settled(self, table: ThresholdTable, kept: Bools) -> bool:
        """Return True if further rows cannot change which conditions are kept by more than the tolerance.

        The cut of the selection is the smallest share of a kept condition. With the tolerance, every kept condition must
        reach it, and no other condition may exceed it, whether it was found or not.

        Parameters
        ----------
        table : ThresholdTable
            The conditions that the sample crosses.
        kept : ndarray of bool
            Mask of the conditions that the selection keeps.
        """
        share, low, _ = self.shares(table.count)
        if not kept.any():
            return False
        cut = float(share[kept].min())
        tolerance = max(TOLERANCE, RELATIVE_TOLERANCE * cut)
        return bool(low[kept].min() >= cut - tolerance) and self.left_out(table, kept) <= cut + tolerance


def looks_up_to(size: int, n_units: int) -> list[int]:
    """Return the sizes of samples, up to ``size``, at which ``max_rows="auto"`` may stop: 250, 500, 1,000, ….

    A sample of more than half of all rows is not among them, because then the other rows are searched, too.

    Parameters
    ----------
    size : int
    n_units : int
        Size of the sample of all rows.
    """
    looks: list[int] = []
    while (look := FIRST_LOOK << len(looks)) <= min(size, n_units // 2):
        looks.append(look)
    return looks


def level_of(size: int, n_units: int, reason: Reason, *, has_looks: bool) -> float:
    """Return the level of the intervals of a sample.

    With ``max_rows="auto"``, look ``k`` has the level ``ERROR / 2**(k + 1)``, so all looks have the level ``ERROR``.

    Parameters
    ----------
    size, n_units : int
        Size of the sample, and of the sample of all rows.
    reason : {"settled", "max_rows", "interrupted"}
        Why the search ended. If it was interrupted after a look, its intervals have the level of the next look.
    has_looks : bool
        True with ``max_rows="auto"``. Otherwise the shares are looked at only once.
    """
    earlier = len(looks_up_to(size, n_units)) - (reason == "settled")
    return ERROR / 2 ** (earlier + 1) if has_looks else ERROR
