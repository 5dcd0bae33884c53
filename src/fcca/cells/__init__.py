"""Cells: the intervals between the cuts of a black box.

They know the range of the training values inside them.
"""

from fcca.cells._cells import Cells
from fcca.cells._change_distances import Distances
from fcca.cells._training_values import TrainingValues

__all__ = ["Cells", "Distances", "TrainingValues"]
