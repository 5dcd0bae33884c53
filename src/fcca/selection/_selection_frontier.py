"""Frontier: the smallest inconsistency by number of conditions."""

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
    """Best set of each size, and the inconsistency of two simpler choices.

    Attributes
    ----------
    selections : tuple of Selection
        One per number of conditions, ascending.
    frequency : tuple of float
        Inconsistency of the same number of most frequent conditions. In a tie, the first conditions are taken. ``keep``,
        ``forbid`` and the limits are ignored, here and in ``greedy``.
    greedy : tuple of float
        Inconsistency of the same number of conditions in greedy order. Each step takes the condition that lowers the
        inconsistency most. Ties go to the most frequent condition, then to the first.

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
        """The numbers of conditions."""
        return tuple(selection.n_thresholds for selection in self.selections)

    def at(self, k: int) -> Selection:
        """Get the best k conditions.

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
        """Make a frame with one line per number of conditions.

        Returns
        -------
        DataFrame
            ``n_thresholds``, ``inconsistency``, ``lower_bound`` and ``gap``. ``optimal``: whether the selection is proven
            optimal. ``frequency`` and ``greedy``: inconsistency of the simpler choices. ``features``: number of columns
            with a condition. ``thresholds``: names of the conditions.
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
