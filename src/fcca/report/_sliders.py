"""The sliders of the page, which select thresholds by frequency or by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fcca.exceptions import InvalidInputError
from fcca.report._choices import SHARE_OF_TIME, Choices, SliderStep, best_choices
from fcca.report._levels import Level, Levels, classifier_kept
from fcca.report._report_input import ReportInput
from fcca.selection import most_frequent
from fcca.utils import is_number

Progress = Callable[[int, int], None]

GRANULARITIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Slider:
    """A slider of the page, which selects thresholds.

    Attributes
    ----------
    key : {"q", "k"}
        ``"q"`` for the granularity Q, which selects thresholds by frequency. ``"k"`` for the number of thresholds.
    steps : tuple of SliderStep
        The value and the thresholds of each position, in ascending order of the value.
    levels : tuple of Level
        The tree and its quality for each position.
    start : int
        Initial position.
    choices : Choices or None
        The best thresholds for each number; None for a ``"q"`` slider.
    """

    key: str
    steps: tuple[SliderStep, ...]
    levels: tuple[Level, ...]
    start: int
    choices: Choices | None = None


def check_granularities(Q: Any) -> tuple[float, ...]:
    """Check the granularities for the slider, and return them sorted and without duplicates.

    None stands for the default granularities. A single number stands for a list with one entry.
    """
    if Q is None:
        return GRANULARITIES
    given = [Q] if np.ndim(Q) == 0 else list(Q)
    for level in given:
        if not is_number(level, at_least=0, at_most=1):
            raise InvalidInputError(f"Q must contain numbers between 0 and 1, got {level!r}.")
    return tuple(sorted({round(float(level), 9) for level in given}))  # 0.1 + 0.2 and 0.3 are the same level


def make_sliders(
    inputs: ReportInput,
    Q: Sequence[float],
    n_thresholds: Sequence[int],
    time_limit: float | None,
    progress: Progress | None = None,
) -> tuple[list[Slider], int, list[str]]:
    """Fit the trees for all slider positions.

    Parameters
    ----------
    inputs : ReportInput
    Q : sequence of float
        Granularities of the ``"q"`` slider.
    n_thresholds : sequence of int
        Numbers of the ``"k"`` slider.
    time_limit : float or None
        Seconds for each tree.
    progress : callable, optional
        Called as ``progress(n_done, n_positions)`` after each slider position.

    Returns
    -------
    sliders : list of Slider
    first : int
        Index of the slider that is active when the page opens. This slider starts at the thresholds of the classifier.
    notes : list of str
        Sentences on positions that were left out.
    """
    choices = best_choices(inputs, n_thresholds, None if time_limit is None else SHARE_OF_TIME * time_limit)
    chosen = [] if choices is None else list(choices.steps)
    by_frequency = [] if chosen and not inputs.has_granularity else _by_frequency(inputs, Q)
    n_steps, done = len(by_frequency) + len(chosen), 0
    levels, sliders, notes = Levels(inputs, time_limit), [], []
    for key, steps, start in (("q", by_frequency, _granularity(inputs)), ("k", chosen, len(classifier_kept(inputs)))):
        found = []
        for step in steps:
            try:
                found.append((step, levels.on(step.kept)))
            except InvalidInputError as error:  # too many thresholds for the tree search
                notes.append(f"The slider leaves out {'Q' if key == 'q' else key} = {step.value:g}: {error}")
            done += 1
            if progress is not None:
                progress(done, n_steps)
        if found:
            nearest = min(range(len(found)), key=lambda at: abs(found[at][0].value - start))
            there, grown = zip(*found, strict=True)
            sliders.append(Slider(key, there, grown, nearest, choices if key == "k" else None))
    was_chosen = getattr(inputs.discretizer, "selection_", None) is not None
    return sliders, len(sliders) - 1 if was_chosen else 0, notes


def _granularity(inputs: ReportInput) -> float:
    return float(getattr(inputs.discretizer, "Q", 0.0))


def _by_frequency(inputs: ReportInput, Q: Sequence[float]) -> list[SliderStep]:
    """Return the positions of the granularity slider, with the thresholds kept at each.

    The granularity of the classifier is always included.
    """
    fitted = _granularity(inputs)
    others = [level for level in Q if abs(level - fitted) > 1e-9] if inputs.has_granularity else []
    kept_at = inputs.discretizer.kept_at if inputs.has_granularity else partial(most_frequent, inputs.conditions)
    return [SliderStep(level, np.flatnonzero(kept_at(level))) for level in sorted([fitted, *others])]
