"""Cells: the intervals between the cuts of a black box.

Each cell stores the smallest and the largest training value inside it.
"""

from fcca.cells._cells import Cells, special_cuts
from fcca.cells._change_distances import Distances
from fcca.cells._training_values import TrainingValues

__all__ = ["Cells", "Distances", "TrainingValues", "special_cuts"]
