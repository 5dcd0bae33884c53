"""A sentence of the paper, and what the rows say to it."""

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
    """Whether a sentence holds here, and the numbers that decide it; ``holds`` is None where it says what was done."""

    holds: bool | None
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A sentence, or a clause of one, quoted; ``figure`` names the figure or table of the page that it bears on."""

    section: str
    sentence: str
    decide: Callable[[Results], Verdict]
    figure: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim and its verdict in words."""

    claim: Claim
    word: str
    numbers: str


def judge(claims: Iterable[Claim], results: Results) -> list[Judged]:
    """Decide all claims; what the rows lack is said to be not measured."""
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
    """Verdicts as a table."""
    return pd.DataFrame(
        [{"section": j.claim.section, "sentence": j.claim.sentence, "verdict": j.word, "numbers": j.numbers} for j in judged]
    )


def setting(numbers: str) -> Callable[[Results], Verdict]:
    """A sentence that says what was done, or what is meant; there is nothing to decide."""
    return lambda results: Verdict(None, numbers)


def listed(values: Mapping[Any, float] | pd.Series, form: str = ".3f") -> str:
    """Names with numbers."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def everywhere(holds: pd.Series, numbers: str) -> Verdict:
    """A sentence about all data sets: the ones where it fails are named."""
    return Verdict(bool(holds.all()), f"{numbers} – {_where(holds)}")


def almost_everywhere(holds: pd.Series, exceptions: int, numbers: str) -> Verdict:
    """A sentence about all data sets but a few; of few data sets it says nothing."""
    if len(holds) <= 2 * exceptions:
        raise NotMeasuredError(f"'almost all' needs more than {2 * exceptions} data sets, there are {len(holds)}")
    return Verdict(int((~holds).sum()) <= exceptions, f"{numbers} – {_where(holds)}; exceptions allowed: {exceptions}")


def _where(holds: pd.Series) -> str:
    failing = [str(name) for name, true in holds.items() if not true]
    if not failing:
        return f"so on all {len(holds)} data sets" if len(holds) > 1 else f"so on {holds.index[0]}"
    return f"so on {len(holds) - len(failing)} of {len(holds)}, not on {', '.join(failing)}"
