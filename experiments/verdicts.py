"""Verdicts: whether the results support each sentence of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from experiments.rows import NotMeasuredError, Results

HOLDS, FAILS, SETTING, NOT_MEASURED = "holds", "does not hold", "the setting", "not measured"
WORDS = (HOLDS, FAILS, NOT_MEASURED, SETTING)


@dataclass(frozen=True)
class Verdict:
    """Whether a sentence holds, and the numbers that decide this.

    ``holds`` is None if the sentence only describes the experiment.
    """

    holds: bool | None
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A quoted sentence of the paper, or a clause of it.

    ``decide`` computes the verdict. ``figure`` is the name of the figure or table on the page that shows the numbers.
    """

    section: str
    sentence: str
    decide: Callable[[Results], Verdict]
    figure: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict as text."""

    claim: Claim
    word: str
    numbers: str


def judge(claims: Iterable[Claim], results: Results) -> list[Judged]:
    """Decide all claims. The verdict is "not measured" if the rows needed for a claim are missing."""
    judged = []
    for claim in claims:
        try:
            verdict = claim.decide(results)
        except NotMeasuredError as lack:
            judged.append(Judged(claim, NOT_MEASURED, str(lack)))
            continue
        word = SETTING if verdict.holds is None else HOLDS if verdict.holds else FAILS
        judged.append(Judged(claim, word, verdict.numbers))
    return judged


def as_frame(judged: Iterable[Judged]) -> pd.DataFrame:
    """Return the verdicts as a data frame."""
    return pd.DataFrame(
        [{"section": j.claim.section, "sentence": j.claim.sentence, "verdict": j.word, "numbers": j.numbers} for j in judged]
    )


def setting(numbers: str) -> Callable[[Results], Verdict]:
    """Return the verdict function for a sentence that describes the experiment and claims no result."""
    return lambda results: Verdict(None, numbers)


def listed(values: Mapping[Any, float] | pd.Series, form: str = ".3f") -> str:
    """Format names with their numbers, separated by commas."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def everywhere(holds: pd.Series, numbers: str) -> Verdict:
    """Decide a sentence about all data sets, and list the data sets for which it fails."""
    return Verdict(bool(holds.all()), f"{numbers} – {_where(holds)}")


def almost_everywhere(holds: pd.Series, exceptions: int, numbers: str) -> Verdict:
    """Decide a sentence about almost all data sets: it may fail for ``exceptions`` of them.

    With at most twice this number of data sets, the sentence counts as not measured.
    """
    if len(holds) <= 2 * exceptions:
        raise NotMeasuredError(f"'almost all' needs more than {2 * exceptions} data sets, but there are only {len(holds)}")
    return Verdict(int((~holds).sum()) <= exceptions, f"{numbers} – {_where(holds)}; exceptions allowed: {exceptions}")


def _where(holds: pd.Series) -> str:
    failing = [str(name) for name, true in holds.items() if not true]
    if not failing:
        return f"true for all {len(holds)} data sets" if len(holds) > 1 else f"true for {holds.index[0]}"
    return f"true for {len(holds) - len(failing)} of {len(holds)} data sets, not for {', '.join(failing)}"
