"""What every command that searches can be told, and the checks of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fcca.exceptions import InvalidInputError

MOST_JOBS = 1024


def check(option: str, value: Any, fits: bool, expected: str) -> None:
    """Refuse a value that does not fit."""
    if not fits:
        raise InvalidInputError(f"{option} is {value}. Expected {expected}.")


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Costs, margin, threshold, threads and times; checked when made."""

    lambda0: float
    lambda1: float
    lambda2: float
    margin: float
    decision_threshold: float | None
    jobs: int
    time_limit: float | None
    time_limit_per_row: float | None

    def __post_init__(self) -> None:
        for name in ("lambda0", "lambda1", "lambda2"):
            value = getattr(self, name)
            check(f"--{name}", value, 0 <= value <= 1e100, "a number of at least 0 and at most 1e100")
        check("--margin", self.margin, 0 < self.margin <= 1e100, "a number above 0 and up to 1e100, such as 0.0001")
        if self.decision_threshold is not None:
            fits = 0 < self.decision_threshold < 1
            check("--decision-threshold", self.decision_threshold, fits, "a probability between 0 and 1, such as 0.3")
        fits = self.jobs != 0 and abs(self.jobs) <= MOST_JOBS
        check("--jobs", self.jobs, fits, "a number of threads, or -1 for all cores")
        for option, limit in (("--time-limit", self.time_limit), ("--time-limit-per-row", self.time_limit_per_row)):
            if limit is not None:
                check(option, limit, limit >= 0, "a number of seconds")
