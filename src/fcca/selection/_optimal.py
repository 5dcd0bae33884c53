"""OptimalSelection: choose a few conditions with the smallest inconsistency, with proof."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from fcca.exceptions import InvalidInputError, UnfinishedSearchWarning
from fcca.selection._admissible import Admissible, whole_numbers
from fcca.selection._measured_rows import Clock, MeasuredRows
from fcca.selection._selection import Selection
from fcca.selection._selection_frontier import Frontier
from fcca.thresholds import ThresholdTable
from fcca.utils import limits_in_words, progress_bar, progress_shown, step, whole_number

#: Default sizes of a frontier.
NUMBERS_OF_THRESHOLDS = range(1, 17)


class OptimalSelection(BaseEstimator):
    """Choose the conditions with the smallest inconsistency, with proof.

    The inconsistency of conditions is the smallest error rate of any classifier that uses only these conditions. It is
    measured on the given rows (:func:`fcca.metrics.inconsistency_rate`). The selection finds the k conditions with the
    smallest inconsistency, or the fewest conditions whose inconsistency is at most a given share. Among sets with the same
    inconsistency, it chooses the set whose conditions are crossed by the most counterfactuals.

    Parameters
    ----------
    n_thresholds : int, default=None
        Number of conditions to choose. If the other parameters do not allow that many, the largest possible number is
        chosen. :meth:`select` requires either ``n_thresholds`` or ``max_inconsistency``.
    max_inconsistency : float, default=None
        Choose the fewest conditions whose inconsistency is at most this share.
    max_features : int, default=None
        Maximum number of columns with a condition.
    keep : list, default=None
        Conditions that must be chosen: names such as ``"RM > 6.94"``, positions in the table, or tuples such as
        ``("RM", 6.94)``, as in :meth:`ThresholdTable.from_list`.
    forbid : list, default=None
        Conditions that must not be chosen. The name of a column stands for all conditions on this column.
    per_feature : int or dict, default=None
        Maximum number of conditions on each column. A dict such as ``{"age": 2}`` limits only the named columns.
    fit_to : {"labels", "target"}, default="labels"
        The classes that the conditions should separate if a discretizer uses this selection: the labels, or the predictions
        of the black box. :meth:`select` and :meth:`frontier` ignore this parameter and use the given y.
    time_limit : float, default=None
        Seconds for the whole call. After that, the best set found so far is returned with a lower bound and a warning.
    max_nodes : int, default=None
        Maximum number of branches of the search for each number of conditions. It works like ``time_limit``, but gives the
        same set on every machine. With 0, the result is the set from which the search starts, without a lower bound. The
        start is the greedy choice or the most frequent conditions, whichever is better, improved by exchanging conditions.
    verbose : int, default=None
        None shows a progress bar in a terminal or a notebook, if the work takes more than two seconds. 0 shows nothing. 1
        always shows the progress on standard error.

    See Also
    --------
    most_frequent : The selection of the paper, by how many counterfactuals cross a condition.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fcca import FCCADiscretizer
    >>> from fcca.selection import OptimalSelection
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> table = FCCADiscretizer().fit(X, y).thresholds_
    >>> best = OptimalSelection(n_thresholds=3).select(table, X, y)
    >>> best.n_thresholds, best.proof
    (3, 'proven optimal')

    The fewest conditions with an inconsistency of at most 5 %:

    >>> few = OptimalSelection(max_inconsistency=0.05).select(table, X, y)
    >>> few.inconsistency <= 0.05, few.n_thresholds <= best.n_thresholds
    (True, True)
    """

    def __init__(
        self,
        n_thresholds: int | None = None,
        *,
        max_inconsistency: float | None = None,
        max_features: int | None = None,
        keep: Iterable[Any] | None = None,
        forbid: Iterable[Any] | None = None,
        per_feature: int | dict[str, int] | None = None,
        fit_to: str = "labels",
        time_limit: float | None = None,
        max_nodes: int | None = None,
        verbose: int | None = None,
    ) -> None:
        self.n_thresholds = n_thresholds
        self.max_inconsistency = max_inconsistency
        self.max_features = max_features
        self.keep = keep
        self.forbid = forbid
        self.per_feature = per_feature
        self.fit_to = fit_to
        self.time_limit = time_limit
        self.max_nodes = max_nodes
        self.verbose = verbose

    def select(self, table: ThresholdTable, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Selection:
        """Choose the conditions of a table with the smallest inconsistency on the given rows.

        Parameters
        ----------
        table : ThresholdTable
            The conditions to choose from.
        X : array-like or data frame of shape (n_rows, n_features)
            Rows on which inconsistency is measured, with all columns that the conditions test.
        y : array-like of shape (n_rows,)
            The classes that the conditions should separate: labels, or the predictions of a classifier.
        sample_weight : array-like of shape (n_rows,), optional
            A row with weight 2 counts as two identical rows. A row with weight 0 is left out.

        Returns
        -------
        Selection
            The chosen conditions, their inconsistency, and what is proven about it.
        """
        self.check_parameters()
        clock = Clock.started(self.time_limit)
        admissible = self._admissible(table)
        n = self.n_thresholds
        if n is not None and n < admissible.n_kept:
            raise InvalidInputError(
                f"'keep' has {admissible.n_kept} conditions, but n_thresholds={n}. Raise n_thresholds or shorten 'keep'."
            )
        rows = MeasuredRows.of(table, X, y, sample_weight, self.max_nodes)
        with progress_shown(self.verbose), step("Best thresholds"):
            if n is not None:
                selection = rows.best(admissible, min(n, admissible.most), clock.left())
            else:
                selection = rows.fewest(admissible, self.max_inconsistency or 0.0, clock)
        if not selection.is_optimal:
            warnings.warn(
                f"{self._limits()} stopped the search. The {selection.n_thresholds} conditions found so far have an "
                f"inconsistency of {100 * selection.inconsistency:.4g} % ({selection.proof}).",
                UnfinishedSearchWarning,
                stacklevel=2,
            )
        return selection

    def frontier(
        self,
        table: ThresholdTable,
        X: Any,
        y: Any,
        k: Iterable[int] = NUMBERS_OF_THRESHOLDS,
        sample_weight: ArrayLike | None = None,
    ) -> Frontier:
        """Find the k conditions with the smallest inconsistency, for several numbers k.

        The parameters ``n_thresholds`` and ``max_inconsistency`` are ignored.

        Parameters
        ----------
        table, X, y, sample_weight : as in select
        k : iterable of int, default=range(1, 17)
            Numbers of conditions. A number that the other parameters do not allow is replaced by the largest number that
            they allow. Numbers below the number of conditions in ``keep`` are skipped.

        Returns
        -------
        Frontier
            One selection per number, from small to large.
        """
        self.check_parameters(for_frontier=True)
        clock = Clock.started(self.time_limit)
        asked = whole_numbers("k", k)
        admissible = self._admissible(table)
        numbers = sorted({min(n, admissible.most) for n in asked if n >= admissible.n_kept})
        if not numbers:
            raise InvalidInputError(
                f"All numbers in k are smaller than the number of conditions in 'keep' ({admissible.n_kept}). Give at least "
                "one larger number."
            )
        rows = MeasuredRows.of(table, X, y, sample_weight, self.max_nodes)
        selections = []
        with progress_shown(self.verbose), progress_bar("Best thresholds", len(numbers)) as progress:
            for done, n in enumerate(numbers):
                selections.append(rows.best(admissible, n, clock.left(shared_by=len(numbers) - done)))
                if progress is not None:
                    progress(done + 1)
        if unfinished := sum(not selection.is_optimal for selection in selections):
            warnings.warn(
                f"{self._limits()} stopped {unfinished} of {len(numbers)} searches before they had proven their result.",
                UnfinishedSearchWarning,
                stacklevel=2,
            )
        frequent = np.argsort(-table.count, kind="stable").tolist()
        greedy = rows.problem.greedy(numbers[-1])
        return Frontier(
            tuple(selections),
            tuple(rows.inconsistency(frequent[:n]) for n in numbers),
            tuple(rows.inconsistency(greedy[:n]) for n in numbers),
        )

    def check_parameters(self, *, for_frontier: bool = False) -> None:
        """Check the parameters, as far as this is possible without a table.

        Parameters
        ----------
        for_frontier : bool, default=False
            Whether to check for :meth:`frontier`, which needs neither ``n_thresholds`` nor ``max_inconsistency``.
        """
        if not for_frontier:
            self._check_what_is_asked()
        if self.max_features is not None:
            whole_number("max_features", self.max_features)
        if self.max_nodes is not None:
            whole_number("max_nodes", self.max_nodes, least=0)
        if self.fit_to not in ("labels", "target"):
            raise InvalidInputError(f"fit_to must be 'labels' or 'target', got {self.fit_to!r}.")
        if self.time_limit is not None and not _is_number(self.time_limit, 0, np.inf):
            raise InvalidInputError(f"time_limit must be a number of seconds, got {self.time_limit!r}.")

    def _limits(self) -> str:
        """Describe the limits that may have stopped a search, as the subject of a sentence."""
        return limits_in_words(self.time_limit, self.max_nodes) or "The memory limit"

    def _check_what_is_asked(self) -> None:
        if (self.n_thresholds is None) == (self.max_inconsistency is None):
            given = f"n_thresholds={self.n_thresholds!r} and max_inconsistency={self.max_inconsistency!r}"
            raise InvalidInputError(f"Exactly one of n_thresholds and max_inconsistency must be set, got {given}.")
        if self.n_thresholds is not None:
            whole_number("n_thresholds", self.n_thresholds)
        elif not _is_number(self.max_inconsistency, 0, 1):
            raise InvalidInputError(f"max_inconsistency must be a share from 0 to 1, got {self.max_inconsistency!r}.")

    def _admissible(self, table: ThresholdTable) -> Admissible:
        if not isinstance(table, ThresholdTable):
            raise InvalidInputError(
                f"table must be a ThresholdTable, such as thresholds_ of a fitted discretizer, got {type(table).__name__}."
            )
        return Admissible.of(
            table, keep=self.keep, forbid=self.forbid, per_feature=self.per_feature, max_features=self.max_features
        )


def _is_number(given: Any, least: float, most: float) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool) and bool(least <= float(given) <= most)
