"""Which conditions of a threshold table to keep."""

from fcca.selection._frequency import most_frequent
from fcca.selection._frontier import Frontier
from fcca.selection._optimal import NUMBERS_OF_THRESHOLDS as NUMBERS_OF_THRESHOLDS
from fcca.selection._optimal import OptimalSelection
from fcca.selection._result import Selection

__all__ = ["Frontier", "OptimalSelection", "Selection", "most_frequent"]
