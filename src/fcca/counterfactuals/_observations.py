"""Statistics of training rows, which can be added and sent to other processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcca.counterfactuals._examples import Examples

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """Statistics of training rows that the engine collects with ``observe``.

    The sum ``a + b`` of two objects describes the rows of both. The order does not matter.

    Attributes
    ----------
    smallest, largest : ndarray of shape (n_cells,)
        Range of the values in each cell; NaN for an empty cell.
    code_count : dict of int to ndarray
        For each column of categories, the number of rows per category code.
    codes : dict of int to ndarray
        For each column of categories of a linear model, the codes that occur.
    example_numbers : ndarray of shape (n_examples,)
        Hash numbers by which the example rows are chosen (see ``Examples``).
    example_rows : ndarray of shape (n_examples, n_features)
        A sample of the training rows, which the tree search uses to find first solutions.
    """

    smallest: Floats
    largest: Floats
    code_count: Mapping[int, Floats]
    codes: Mapping[int, Floats]
    example_numbers: NDArray[np.uint64]
    example_rows: Floats

    def __add__(self, other: Observations) -> Observations:
        examples = Examples(self.example_rows.shape[1])
        for part in (self, other):
            examples.take(part.example_numbers, part.example_rows)
        return Observations(
            np.fmin(self.smallest, other.smallest),
            np.fmax(self.largest, other.largest),
            {j: count + other.code_count[j] for j, count in self.code_count.items()},
            {j: np.union1d(codes, other.codes[j]) for j, codes in self.codes.items()},
            examples.numbers,
            examples.rows,
        )
