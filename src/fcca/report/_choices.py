"""Optimal choices of thresholds by number, with their proofs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fcca.classifier import selection_fit_to
from fcca.exceptions import InvalidInputError, UnfinishedSearchWarning
from fcca.metrics import inconsistency_rate
from fcca.report._report_input import Positions, ReportInput
from fcca.selection import NUMBERS_OF_THRESHOLDS, OptimalSelection, Selection
from fcca.thresholds import ThresholdTable
from fcca.utils import is_whole, proof_in_words

# Time for all choices together, as a share of the time for one tree. By default, a page takes a few seconds.
SHARE_OF_TIME = 0.2
ALL = "with all thresholds"


@dataclass(frozen=True)
class Proof:
    """Inconsistency of a choice of thresholds, with its proof.

    All rates are shares of the training rows.

    Attributes
    ----------
    inconsistency : float
    lower_bound : float
        Proven lower bound for all choices of the same size.
    is_optimal : bool
    frequency, greedy : float
        Inconsistency of the most frequent thresholds and of the greedy choice of the same size.
    words, claim : str
        The proof as a short and as a long sentence.
    """

    inconsistency: float
    lower_bound: float
    is_optimal: bool
    frequency: float
    greedy: float
    words: str
    claim: str


@dataclass(frozen=True)
class SliderStep:
    """A position of a slider.

    Attributes
    ----------
    value : float
        The granularity, or the number of thresholds.
    kept : ndarray of int
        Positions of the kept conditions among all conditions.
    proof : Proof or None
        Proof of an optimal choice; None for a choice by frequency.
    """

    value: float
    kept: Positions
    proof: Proof | None = None


@dataclass(frozen=True)
class Choices:
    """Optimal choices of several numbers of thresholds.

    Attributes
    ----------
    steps : tuple of SliderStep
        Ascending.
    fit_to : {"labels", "target"}
        The classes that the thresholds separate: the labels, or the predictions of the black box.
    among : str
        Description of the candidates.
    least : float
        The inconsistency of all conditions, a lower bound for every choice.
    """

    steps: tuple[SliderStep, ...]
    fit_to: str
    among: str
    least: float


def check_numbers(n_thresholds: Any, n_conditions: int) -> tuple[int, ...]:
    """Check the numbers of thresholds and return the possible ones.

    None gives the default numbers, False gives no numbers.
    """
    if n_thresholds is False:
        return ()
    given = NUMBERS_OF_THRESHOLDS if n_thresholds is None else n_thresholds
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    numbers = list(given)
    for number in numbers:
        if not is_whole(number, at_least=1):
            raise InvalidInputError(
                f"n_thresholds must be False or whole numbers of at least 1, such as range(1, 9), got {number!r}."
            )
    found = sorted({int(number) for number in numbers if number <= n_conditions})
    if numbers and not found and n_thresholds is not None:
        raise InvalidInputError(
            f"n_thresholds must be at most {n_conditions}, the number of thresholds found, got {min(numbers)}."
        )
    return tuple(found)


def best_choices(inputs: ReportInput, n_thresholds: Sequence[int], time_limit: float | None) -> Choices | None:
    """Choose thresholds optimally, for each of several numbers.

    The rules of the classifier's selection apply. A selection of the classifier is always included. Return None if there is
    nothing to choose.

    Parameters
    ----------
    inputs : ReportInput
    n_thresholds : sequence of int
    time_limit : float or None
        Seconds for all choices together.
    """
    conditions, training = inputs.conditions, inputs.training
    fitted: Selection | None = getattr(inputs.discretizer, "selection_", None)
    numbers = {*n_thresholds} if fitted is None else {*n_thresholds, fitted.n_thresholds}
    if len(conditions) == 0 or not numbers:
        return None
    new = OptimalSelection(fit_to=selection_fit_to(inputs.classifier.fit_to_))
    selection = new if fitted is None else clone(inputs.discretizer.selection)
    # The proof of the classifier's selection is already known.
    selection.set_params(n_thresholds=None, max_inconsistency=None, time_limit=time_limit if n_thresholds else 0, verbose=0)
    table = conditions if fitted is None else fitted.candidates
    y = training.y if selection.fit_to == "labels" else training.predictions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)  # the page shows the proof of every choice
        frontier = selection.frontier(table, training.table, y, k=sorted(numbers), sample_weight=training.weight)
    least = inconsistency_rate(conditions.binarize(training.table), y, training.weight)
    among = _among(inputs, table, selection)
    position = np.flatnonzero(np.isin(conditions.names(), table.names()))
    found = []
    for best, frequency, greedy in zip(frontier.selections, frontier.frequency, frontier.greedy, strict=True):
        chosen = fitted if fitted is not None and best.n_thresholds == fitted.n_thresholds else best
        kept = position[chosen.kept]
        found.append(SliderStep(len(kept), kept, _proof(chosen, frequency, greedy, among)))
    if fitted is None and not inputs.has_granularity and found[-1].value < len(conditions):
        found.append(SliderStep(len(conditions), position, Proof(least, least, True, least, least, "proven optimal", ALL)))
    return Choices(tuple(found), selection.fit_to, among, least)


def _among(inputs: ReportInput, table: ThresholdTable, selection: OptimalSelection) -> str:
    is_some = len(table) < len(inputs.conditions)
    kept_by = f" that Q = {inputs.discretizer.Q:g} keeps" if is_some and hasattr(inputs.discretizer, "Q") else ""
    rules = any(getattr(selection, name) is not None for name in ("max_features", "keep", "forbid", "per_feature"))
    thresholds = "threshold" if len(table) == 1 else "thresholds"
    return f"the {len(table):,} {thresholds}{kept_by}{' under the given rules' if rules else ''}"


def _proof(chosen: Selection, frequency: float, greedy: float, among: str) -> Proof:
    inconsistency, bound, is_optimal = float(chosen.inconsistency), float(chosen.lower_bound), bool(chosen.is_optimal)
    words = proof_in_words(inconsistency, bound, is_optimal)
    what = f"to be the smallest for any {chosen.n_thresholds:,} of {among}"
    claim = f"proven {what}" if is_optimal else f"not proven {what}{f': {words}' if bound > 0 else ''}"
    if chosen.n_thresholds == len(chosen.candidates):
        claim = ALL
    return Proof(inconsistency, bound, is_optimal, float(frequency), float(greedy), words, claim)
