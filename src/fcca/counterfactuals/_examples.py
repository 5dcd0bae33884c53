"""A few training rows for a search to begin from where its own start finds no answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_EXAMPLES = 256


class Examples:
    """A sample of the rows seen, chosen by the rows themselves: neither their order nor the chunks they come in matter."""

    def __init__(self) -> None:
        self._rows: Floats | None = None

    def observe(self, X: Floats) -> None:
        """Take in training rows."""
        rows = X if self._rows is None else np.concatenate([self._rows, X])
        priority = np.zeros(len(rows))
        for j in range(rows.shape[1]):  # one column after the other: a row's number must not depend on where it stands
            priority += np.fmod(rows[:, j], 1e6) * np.sqrt(j + 2.0)
        _, first = np.unique(np.modf(priority)[0], return_index=True)
        self._rows = rows[first[:MOST_EXAMPLES]]

    def rows(self, n_features: int) -> Floats:
        """The sample."""
        return np.empty((0, n_features)) if self._rows is None else np.ascontiguousarray(self._rows)
