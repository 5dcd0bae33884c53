"""A sample of training rows, which the tree search uses to find first solutions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_EXAMPLES = 256
ROWS_AT_A_TIME = 65_536


class Examples:
    """A sample of at most 256 training rows in different cells.

    Each row gets a number: a hash of the cells that contain its values. The sample consists of the rows with the smallest
    numbers. So the sample does not depend on the order of the rows, on the chunks or on the units of the columns.
    """

    def __init__(self, n_features: int) -> None:
        # With odd multipliers, rows that differ in one cell have different numbers.
        self._multipliers = np.random.default_rng(0).integers(0, 2**63, n_features, dtype=np.uint64) * np.uint64(
            2
        ) + np.uint64(1)
        self.numbers = np.empty(0, dtype=np.uint64)
        self.rows = np.empty((0, n_features))

    def observe(self, rows: NDArray[np.float64], cells: NDArray[np.int32]) -> None:
        """Add training rows to the sample, given the cells of their values."""
        for begin in range(0, len(cells), ROWS_AT_A_TIME):
            chunk = slice(begin, begin + ROWS_AT_A_TIME)
            number = (cells[chunk].astype(np.uint64) * self._multipliers).sum(axis=1, dtype=np.uint64)
            number ^= number >> np.uint64(31)
            number *= np.uint64(0x9E3779B97F4A7C15)  # spreads neighbouring numbers
            self.take(number, rows[chunk])

    def take(self, numbers: NDArray[np.uint64], rows: NDArray[np.float64]) -> None:
        """Add rows with known hash numbers to the sample."""
        smallest, first = np.unique(np.concatenate([self.numbers, numbers]), return_index=True)
        kept = first[:MOST_EXAMPLES]
        is_old = kept < len(self.numbers)
        chosen = np.empty((len(kept), rows.shape[1]))
        chosen[is_old] = self.rows[kept[is_old]]
        chosen[~is_old] = rows[kept[~is_old] - len(self.numbers)]
        self.numbers, self.rows = smallest[:MOST_EXAMPLES], chosen
