"""Choose which conditions of a threshold table to keep: by frequency, or with the smallest inconsistency."""

from fcca.selection._admissible import (
    FORBIDDEN as FORBIDDEN,
    KEPT as KEPT,
    Admissible as Admissible,
    whole_numbers as whole_numbers,
)
from fcca.selection._frequency import most_frequent
from fcca.selection._optimal import NUMBERS_OF_THRESHOLDS as NUMBERS_OF_THRESHOLDS, OptimalSelection
from fcca.selection._selection import Selection
from fcca.selection._selection_frontier import Frontier

__all__ = ["Frontier", "OptimalSelection", "Selection", "most_frequent"]
