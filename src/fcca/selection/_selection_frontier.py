"""Frontier: the smallest inconsistency that k conditions can have, for several numbers k."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from fcca.exceptions import InvalidInputError
from fcca.selection._selection import Selection
from fcca.utils import html_table, paragraph, printable

NAMES_SHOWN = 6


@dataclass(frozen=True, repr=False)
class Frontier:
    """The k conditions with the smallest inconsistency, for several numbers k.

    For comparison, the frontier also has the inconsistency of two simpler choices of k conditions. These choices ignore
    ``keep``, ``forbid``, ``per_feature`` and ``max_features``.

    Attributes
    ----------
    selections : tuple of Selection
        One per number k, from small to large k.
    frequency : tuple of float
        For each k, the inconsistency of the k conditions with the largest counts. Of conditions with equal counts, those
        that come first in the table are used.
    greedy : tuple of float
        For each k, the inconsistency of k conditions chosen greedily. Each step adds the condition that lowers the
        inconsistency most. Ties go to the condition with the largest count, then to the first in the table.

    See Also
    --------
    OptimalSelection.frontier : Computes a frontier.
    """

    selections: tuple[Selection, ...]
    frequency: tuple[float, ...]
    greedy: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.selections)

    def __iter__(self) -> Iterator[Selection]:
        return iter(self.selections)

    @property
    def n_thresholds(self) -> tuple[int, ...]:
        """The numbers k of conditions, one per selection."""
        return tuple(selection.n_thresholds for selection in self.selections)

    def at(self, k: int) -> Selection:
        """Return the selection of ``k`` conditions.

        Parameters
        ----------
        k : int
            One of ``n_thresholds``.
        """
        for selection in self.selections:
            if selection.n_thresholds == k:
                return selection
        numbers = ", ".join(map(str, self.n_thresholds))
        raise InvalidInputError(f"The frontier has no selection of {k!r} conditions. Expected one of {numbers}.")

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per number of conditions.

        Returns
        -------
        DataFrame
            Columns ``n_thresholds``, ``inconsistency``, ``lower_bound`` and ``gap``. ``optimal``: whether the selection is
            proven optimal. ``frequency`` and ``greedy``: inconsistency of the two simpler choices. ``features``: number of
            columns with a condition. ``thresholds``: names of the conditions.
        """
        return pd.DataFrame(
            {
                "n_thresholds": list(self.n_thresholds),
                "inconsistency": [one.inconsistency for one in self.selections],
                "lower_bound": [one.lower_bound for one in self.selections],
                "gap": [one.gap for one in self.selections],
                "optimal": [one.is_optimal for one in self.selections],
                "frequency": list(self.frequency),
                "greedy": list(self.greedy),
                "features": [len(one.thresholds.features_used) for one in self.selections],
                "thresholds": [one.thresholds.names() for one in self.selections],
            }
        )

    def _lines(self) -> list[tuple[str, ...]]:
        rates = zip(self.selections, self.frequency, self.greedy, strict=True)
        return [
            (f"{one.n_thresholds}", _percent(one.inconsistency), one.proof, _percent(frequency), _percent(greedy))
            for one, frequency, greedy in rates
        ]

    def __repr__(self) -> str:
        head = ("thresholds", "inconsistency", "proof", "most frequent", "greedy")
        lines = [head, *self._lines()]
        widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def _repr_html_(self) -> str:
        n = len(self.selections[0].candidates) if self.selections else 0
        head = ("thresholds", "inconsistency", "proof", "most frequent", "greedy", "conditions")
        lines = [(*line, _listed(one.thresholds.names())) for line, one in zip(self._lines(), self.selections, strict=True)]
        return paragraph(f"The best of {n:,} conditions") + html_table(head, lines, numbers=(0, 1, 3, 4))


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _listed(names: list[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown}, … ({len(names)} in all)"
