"""The sliders: ways to choose thresholds, each with the levels at its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.report._choices import SHARE_OF_TIME, Choices, Step, best_choices
from fcca.report._levels import Level, Levels, own_kept
from fcca.report._material import Material
from fcca.selection import most_frequent
from fcca.utils import is_number

Progress = Callable[[int, int], None]

GRANULARITIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Axis:
    """A slider.

    Attributes
    ----------
    key : {"q", "k"}
        By frequency, or by number.
    steps, levels : tuple
        One of each per step, in order.
    start : int
        Where the slider stands at first.
    choices : Choices or None
        How the thresholds were chosen, where not by frequency.
    """

    key: str
    steps: tuple[Step, ...]
    levels: tuple[Level, ...]
    start: int
    choices: Choices | None = None


def check_granularities(Q: Any) -> tuple[float, ...]:
    """The granularities asked for, without repetition; the default ones for None."""
    if Q is None:
        return GRANULARITIES
    given = [Q] if np.ndim(Q) == 0 else list(Q)
    for level in given:
        if not is_number(level, at_least=0, at_most=1):
            raise InvalidInputError(f"Q must hold numbers between 0 and 1, got {level!r}.")
    return tuple(sorted({round(float(level), 9) for level in given}))  # 0.1 + 0.2 is not another level than 0.3


def grown_axes(
    material: Material,
    Q: Sequence[float],
    n_thresholds: Sequence[int],
    time_limit: float | None,
    progress: Progress | None = None,
) -> tuple[list[Axis], int, list[str]]:
    """Make the sliders; returns them, the position of the first one, and notes on missing levels.

    The classifier's own level is at the start of the slider that holds at first.
    """
    choices = best_choices(material, n_thresholds, None if time_limit is None else SHARE_OF_TIME * time_limit)
    chosen = [] if choices is None else list(choices.steps)
    by_frequency = [] if chosen and not material.has_granularity else _by_frequency(material, Q)
    n_steps, done = len(by_frequency) + len(chosen), 0
    levels, axes, notes = Levels(material, time_limit), [], []
    for key, steps, start in (("q", by_frequency, _granularity(material)), ("k", chosen, len(own_kept(material)))):
        found = []
        for step in steps:
            try:
                found.append((step, levels.on(step.kept)))
            except InvalidInputError as error:  # more thresholds than a tree can be searched on
                notes.append(f"There is no level {'Q' if key == 'q' else key} = {step.value:g}: {error}")
            done += 1
            if progress is not None:
                progress(done, n_steps)
        if found:
            nearest = min(range(len(found)), key=lambda at: abs(found[at][0].value - start))
            there, grown = zip(*found, strict=True)
            axes.append(Axis(key, there, grown, nearest, choices if key == "k" else None))
    was_chosen = getattr(material.discretizer, "selection_", None) is not None
    return axes, len(axes) - 1 if was_chosen else 0, notes


def _granularity(material: Material) -> float:
    return float(getattr(material.discretizer, "Q", 0.0))


def _by_frequency(material: Material, Q: Sequence[float]) -> list[Step]:
    """The classifier's own granularity is always there, and the only one of a discretizer that has none."""
    own = _granularity(material)
    others = [level for level in Q if abs(level - own) > 1e-9] if material.has_granularity else []
    kept_at = material.discretizer.kept_at if material.has_granularity else partial(most_frequent, material.conditions)
    return [Step(level, np.flatnonzero(kept_at(level))) for level in sorted([own, *others])]
