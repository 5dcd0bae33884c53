"""The best choice of k thresholds for several numbers k, and what is proven about each."""

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
from fcca.utils import is_whole, share_proof_in_words

# Time for all choices together, as a share of the time for one tree. By default, a page takes a few seconds.
SHARE_OF_TIME = 0.2
ALL = "with all thresholds"


@dataclass(frozen=True)
class Proof:
    """Inconsistency of k chosen thresholds, and what is proven about it.

    All numbers are shares of the training rows. Inconsistency is defined in :func:`fcca.metrics.inconsistency_rate`.

    Attributes
    ----------
    inconsistency : float
        Inconsistency of the chosen thresholds.
    lower_bound : float
        No choice of k thresholds has a smaller inconsistency than this.
    is_optimal : bool
        Whether it is proven that no choice of k thresholds has a smaller inconsistency.
    frequency, greedy : float
        For comparison: the inconsistency of the k most frequent thresholds, and of k thresholds chosen greedily.
    words, claim : str
        What is proven, as a few words for a table and as a part of a sentence.
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
    """One position of a slider on the page, and the conditions that it keeps.

    Attributes
    ----------
    value : float
        The granularity Q, or the number k of thresholds.
    kept : ndarray of int
        Positions of the kept conditions in ``ReportInput.conditions``.
    proof : Proof or None
        What is proven about the best k conditions. None for the granularity slider.
    """

    value: float
    kept: Positions
    proof: Proof | None = None


@dataclass(frozen=True)
class Choices:
    """The best choice of k thresholds for several numbers k.

    Attributes
    ----------
    steps : tuple of SliderStep
        One per number k, from small to large k.
    fit_to : {"labels", "target"}
        The classes that the thresholds should separate: the labels, or the predictions of the black box.
    among : str
        Description of the thresholds to choose from, such as ``the 55 thresholds``.
    least : float
        The inconsistency of all conditions together. No choice has a smaller inconsistency.
    """

    steps: tuple[SliderStep, ...]
    fit_to: str
    among: str
    least: float


def check_numbers(n_thresholds: Any, n_conditions: int) -> tuple[int, ...]:
    """Check ``n_thresholds``, and return the sorted numbers up to ``n_conditions``.

    Parameters
    ----------
    n_thresholds : int, iterable of int, None or False
        Numbers of thresholds to choose. None stands for the numbers 1 to 16. False stands for an empty list.
    n_conditions : int
        Number of thresholds found.
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
    """Find the k thresholds with the smallest inconsistency, for each k in ``n_thresholds``.

    If the classifier itself was fitted with an OptimalSelection, its rules such as ``keep`` and ``forbid`` apply here too.
    Its number of thresholds is then always among the numbers k. Return None if there are no conditions or no numbers.

    Parameters
    ----------
    inputs : ReportInput
    n_thresholds : sequence of int
        The numbers k.
    time_limit : float or None
        Seconds for the searches of all numbers together; None for no limit.
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
    inconsistency, bound = float(chosen.inconsistency), float(chosen.lower_bound)
    # The search may have left ties open. They do not matter here, because the claim is on the inconsistency alone.
    is_optimal = bool(chosen.is_optimal) or inconsistency <= bound
    words = share_proof_in_words(inconsistency, bound, is_optimal)
    what = f"to be the smallest for any {chosen.n_thresholds:,} of {among}"
    shown_bound = words.removeprefix("not proven") if "; " in words else ""
    claim = f"proven {what}" if is_optimal else f"not proven {what}{shown_bound}"
    if chosen.n_thresholds == len(chosen.candidates):
        claim = ALL
    return Proof(inconsistency, bound, is_optimal, float(frequency), float(greedy), words, claim)
