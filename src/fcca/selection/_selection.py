"""Selection: the chosen conditions, their inconsistency, and what is proven about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca.thresholds import ThresholdTable
from fcca.utils import html_table, paragraph, printable, share_proof_in_words

CONDITIONS_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Conditions chosen from a table, and what is proven about their inconsistency.

    A set of conditions is admissible if ``keep``, ``forbid``, ``per_feature`` and ``max_features`` allow it.

    Attributes
    ----------
    candidates : ThresholdTable
        The conditions that could be chosen.
    kept : ndarray of bool, shape (n_candidates,)
        Mask of the chosen conditions.
    inconsistency : float
        Rows that agree on all chosen conditions form a group. The inconsistency is the share of the rows whose label differs
        from the most frequent label in their group (:func:`fcca.metrics.inconsistency_rate`).
    lower_bound : float
        No admissible set with the same number of conditions has an inconsistency below this bound.
    is_optimal : bool
        True if the search proved that no admissible set with the same number of conditions is better. A better set has a
        smaller inconsistency, or the same inconsistency and larger counts. With ``max_inconsistency``, the search also
        proved that no smaller set suffices.
    n_nodes : int
        Number of branches that the search has visited.
    n_thresholds_bound : int
        With ``max_inconsistency``, a proven lower bound on the number of conditions that are required. Otherwise, the
        number of chosen conditions.

    See Also
    --------
    OptimalSelection : Computes a selection.
    """

    candidates: ThresholdTable
    kept: NDArray[np.bool_]
    inconsistency: float
    lower_bound: float
    is_optimal: bool
    n_nodes: int
    n_thresholds_bound: int

    def __post_init__(self) -> None:
        kept = np.array(self.kept, dtype=np.bool_)
        kept.flags.writeable = False
        object.__setattr__(self, "kept", kept)

    @property
    def thresholds(self) -> ThresholdTable:
        """The chosen conditions."""
        return self.candidates.select(self.kept)

    @property
    def n_thresholds(self) -> int:
        """Number of chosen conditions."""
        return int(self.kept.sum())

    @property
    def gap(self) -> float:
        """Gap between inconsistency and lower bound: ``(inconsistency - lower_bound) / inconsistency``."""
        return (self.inconsistency - self.lower_bound) / self.inconsistency if self.inconsistency > 0 else 0.0

    @property
    def proof(self) -> str:
        """Text of the proof: ``proven optimal`` or ``not proven; no choice is below 0.7 %``.

        No admissible set with the same number of conditions has an inconsistency below the bound in this text.
        """
        if self.n_thresholds_bound < self.n_thresholds:
            return f"not proven to be the fewest: at least {self.n_thresholds_bound} are needed"
        if not self.is_optimal and self.lower_bound == self.inconsistency:
            return "proven optimal, except for ties"
        return share_proof_in_words(self.inconsistency, self.lower_bound, self.is_optimal)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        plain = ("inconsistency", "lower_bound", "is_optimal", "n_nodes", "n_thresholds_bound", "candidates")
        return np.array_equal(self.kept, other.kept) and all(getattr(self, name) == getattr(other, name) for name in plain)

    def _title(self) -> str:
        many = "condition" if len(self.candidates) == 1 else "conditions"
        return (
            f"{self.n_thresholds:,} of {len(self.candidates):,} {many}, inconsistency "
            f"{100 * self.inconsistency:.4g} % ({self.proof})"
        )

    def __repr__(self) -> str:
        names = [printable(name) for name in self.thresholds.names()]
        more = [f"  … {len(names) - CONDITIONS_SHOWN:,} more"] if len(names) > CONDITIONS_SHOWN else []
        return "\n".join([f"Selection of {self._title()}", *(f"  {name}" for name in names[:CONDITIONS_SHOWN]), *more])

    def _repr_html_(self) -> str:
        table = self.thresholds
        names = table.names()
        lines = [(name, f"{count:,.6g}") for name, count in zip(names, table.count.tolist(), strict=True)]
        more = paragraph(f"… {len(names) - CONDITIONS_SHOWN:,} more") if len(names) > CONDITIONS_SHOWN else ""
        shown = html_table(("condition", "crossed"), lines[:CONDITIONS_SHOWN], numbers=(1,))
        return paragraph(self._title()) + shown + more
