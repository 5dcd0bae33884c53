"""Which conditions of a threshold table to keep."""

from fcca.selection._frequency import most_frequent

__all__ = ["most_frequent"]
