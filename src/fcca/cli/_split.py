"""Choose the held-out rows, and the rows that the black box is fitted on.

The same rows are chosen whether the table is in memory or read in chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from fcca.cli._table_labels import check_split

RowNumbers = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Up to this number of rows, the split is stratified. Larger tables are split row by row, without labels in memory.
MOST_STRATIFIED = 1_000_000
BLOCK = 65_536  # rows per random generator
HOLD_OUT, SAMPLE = 0, 1  # keys of random generators


@dataclass(frozen=True)
class Split:
    """A random split of a table into training rows and held-out rows.

    Attributes
    ----------
    n_rows : int
    test_size : float
        Share of held-out rows.
    random_state : int
    drawn : ndarray or None
        Row numbers of the training rows of a stratified split, in random order. None if the table is split row by row, or
        if no rows are held out.
    """

    n_rows: int
    test_size: float
    random_state: int
    drawn: RowNumbers | None = None

    @classmethod
    def of(
        cls, labels: NDArray[np.generic] | None, counts: dict[Any, int], label: str, test_size: float, random_state: int
    ) -> Split:
        """Split a table, after a check that it has enough rows of each class.

        Parameters
        ----------
        labels : ndarray or None
            Labels of all rows. None for more than ``MOST_STRATIFIED`` rows.
        counts : dict
            Number of rows of each class.
        label : str
            Name of the label column, for messages.
        test_size : float
        random_state : int
        """
        n_rows = sum(counts.values())
        if test_size == 0:
            return cls(n_rows, 0.0, random_state)
        check_split(counts, label, test_size)
        drawn = None
        if n_rows <= MOST_STRATIFIED:
            drawn, _ = train_test_split(np.arange(n_rows), test_size=test_size, stratify=labels, random_state=random_state)
        return cls(n_rows, test_size, random_state, drawn)

    def held_out(self, begin: int, end: int) -> Bools:
        """Return a mask of the held-out rows among the rows ``begin`` to ``end - 1``."""
        if self.test_size == 0:
            return np.zeros(end - begin, dtype=bool)
        if self._is_held_out is not None:
            return self._is_held_out[begin:end]
        first, last = begin // BLOCK, -(-end // BLOCK)
        blocks = [_numbers(self.random_state, block) for block in range(first, last)]
        held_out: Bools = (
            np.concatenate([*blocks, np.empty(0)])[begin - first * BLOCK : end - first * BLOCK] < self.test_size
        )
        return held_out

    @cached_property
    def _is_held_out(self) -> Bools | None:
        if self.drawn is None:
            return None
        held_out = np.ones(self.n_rows, dtype=bool)
        held_out[self.drawn] = False
        return held_out

    @cached_property
    def n_training(self) -> int:
        """Number of training rows in the whole table."""
        return sum(int((~held_out).sum()) for _, held_out in self._blocks())

    def training_rows(self) -> RowNumbers:
        """Return the row numbers of all training rows."""
        if self.drawn is not None:
            return self.drawn
        return np.concatenate([begin + np.flatnonzero(~held_out) for begin, held_out in self._blocks()])

    def held_out_rows(self) -> RowNumbers:
        """Return the row numbers of all held-out rows."""
        return np.concatenate([begin + np.flatnonzero(held_out) for begin, held_out in self._blocks()])

    def sample(self, n: int | None) -> RowNumbers | None:
        """Draw ``n`` training rows at random, and return their row numbers in ascending order.

        If ``n`` is None, or if there are at most ``n`` training rows, return None, which stands for all of them.
        """
        if n is None or n >= self.n_training:
            return None
        random = np.random.default_rng(np.random.SeedSequence(self.random_state, spawn_key=(SAMPLE,)))
        chosen = np.sort(random.choice(self.n_training, n, replace=False, shuffle=False))
        rows, before = [], 0
        for begin, held_out in self._blocks():
            training = np.flatnonzero(~held_out)
            first, last = np.searchsorted(chosen, (before, before + len(training)))
            rows.append(begin + training[chosen[first:last] - before])
            before += len(training)
        return np.concatenate(rows)

    def _blocks(self) -> Iterator[tuple[int, Bools]]:
        for begin in range(0, self.n_rows, BLOCK):
            yield begin, self.held_out(begin, min(begin + BLOCK, self.n_rows))


@lru_cache(maxsize=2)
def _numbers(random_state: int, block: int) -> NDArray[np.float64]:
    """Return a random number from 0 to 1 for each row of a block.

    A block has ``BLOCK`` consecutive rows. A row is held out if its random number is below ``test_size``.
    """
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(HOLD_OUT, block))).random(BLOCK)
