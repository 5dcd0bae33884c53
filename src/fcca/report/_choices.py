"""For every number of thresholds, those chosen to have the least inconsistency, and what is proven of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fcca.exceptions import InvalidInputError, UnfinishedSearchWarning
from fcca.metrics import inconsistency_rate
from fcca.report._material import Material, Positions
from fcca.selection import NUMBERS_OF_THRESHOLDS, OptimalSelection, Selection
from fcca.thresholds import ThresholdTable
from fcca.utils import is_whole, proof_in_words

# What all choices together get of the seconds for one tree: a page that is made by default stays one of a few seconds.
SHARE_OF_TIME = 0.2
ALL = "with all that there are"


@dataclass(frozen=True)
class Proof:
    """Inconsistency of a choice of thresholds, with its proof; shares of the training rows.

    Attributes
    ----------
    inconsistency : float
    lower_bound : float
        Proven: no other choice of as many is below.
    is_optimal : bool
    frequency, greedy : float
        What as many of the most frequent ones have, and as many that are chosen one after the other.
    words, claim : str
        What is proven, in short and in full.
    """

    inconsistency: float
    lower_bound: float
    is_optimal: bool
    frequency: float
    greedy: float
    words: str
    claim: str


@dataclass(frozen=True)
class Step:
    """A step of a slider.

    Attributes
    ----------
    value : float
        The granularity, or the number of thresholds.
    kept : ndarray of int
        Positions among all conditions.
    proof : Proof or None
        Where they were chosen to have the least inconsistency, what is known of that.
    """

    value: float
    kept: Positions
    proof: Proof | None = None


@dataclass(frozen=True)
class Choices:
    """The best choices of some numbers of thresholds.

    Attributes
    ----------
    steps : tuple of Step
        Ascending.
    fit_to : {"labels", "target"}
        What the thresholds have to tell apart: the rows' labels, or the black box's answers.
    among : str
        Description of the set that they were chosen from.
    least : float
        The inconsistency of all conditions: no choice has less.
    """

    steps: tuple[Step, ...]
    fit_to: str
    among: str
    least: float


def check_numbers(n_thresholds: Any, n_conditions: int) -> tuple[int, ...]:
    """The numbers of thresholds asked for that there are, without repetition; the default ones for None, none for False."""
    if n_thresholds is False:
        return ()
    given = NUMBERS_OF_THRESHOLDS if n_thresholds is None else n_thresholds
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    numbers = list(given)
    for number in numbers:
        if not is_whole(number, at_least=1):
            raise InvalidInputError(
                f"n_thresholds must be False, or hold whole numbers of at least 1, such as range(1, 9); got {number!r}."
            )
    found = sorted({int(number) for number in numbers if number <= n_conditions})
    if numbers and not found and n_thresholds is not None:
        raise InvalidInputError(
            f"n_thresholds asks for at least {min(numbers)} of {n_conditions} thresholds. Expected a number that there is."
        )
    return tuple(found)


def best_choices(material: Material, n_thresholds: Sequence[int], time_limit: float | None) -> Choices | None:
    """Choose so many thresholds, under the rules of the classifier's own choice where it has one.

    The classifier's own thresholds are always among them, unless granularity chose them. None where nothing is to be chosen.

    Parameters
    ----------
    material : Material
    n_thresholds : sequence of int
    time_limit : float or None
        Seconds for all of them together.
    """
    conditions, training = material.conditions, material.training
    own: Selection | None = getattr(material.discretizer, "selection_", None)
    numbers = {*n_thresholds} if own is None else {*n_thresholds, own.n_thresholds}
    if len(conditions) == 0 or not numbers:
        return None
    selection = OptimalSelection(fit_to=material.classifier.fit_to) if own is None else clone(material.discretizer.selection)
    # What is proven of the own choice is known already.
    selection.set_params(n_thresholds=None, max_inconsistency=None, time_limit=time_limit if n_thresholds else 0, verbose=0)
    table = conditions if own is None else own.candidates
    y = training.y if selection.fit_to == "labels" else training.answers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfinishedSearchWarning)  # every choice says what is proven of it
        frontier = selection.frontier(table, training.table, y, k=sorted(numbers), sample_weight=training.weight)
    least = inconsistency_rate(conditions.binarize(training.table), y, training.weight)
    among = _among(material, table, selection)
    position = np.flatnonzero(np.isin(conditions.names(), table.names()))
    found = []
    for best, frequency, greedy in zip(frontier.selections, frontier.frequency, frontier.greedy, strict=True):
        chosen = own if own is not None and best.n_thresholds == own.n_thresholds else best
        kept = position[chosen.kept]
        found.append(Step(len(kept), kept, _proof(chosen, frequency, greedy, among)))
    if own is None and not material.has_granularity and found[-1].value < len(conditions):
        found.append(Step(len(conditions), position, Proof(least, least, True, least, least, "proven optimal", ALL)))
    return Choices(tuple(found), selection.fit_to, among, least)


def _among(material: Material, table: ThresholdTable, selection: OptimalSelection) -> str:
    is_some = len(table) < len(material.conditions)
    kept_by = f" that Q = {material.discretizer.Q:g} keeps" if is_some and hasattr(material.discretizer, "Q") else ""
    rules = any(getattr(selection, name) is not None for name in ("max_features", "keep", "forbid", "per_feature"))
    return f"the {len(table):,}{kept_by}{' under the given rules' if rules else ''}"


def _proof(chosen: Selection, frequency: float, greedy: float, among: str) -> Proof:
    inconsistency, bound, is_optimal = float(chosen.inconsistency), float(chosen.lower_bound), bool(chosen.is_optimal)
    words = proof_in_words(inconsistency, bound, is_optimal)
    what = f"the least of any {chosen.n_thresholds:,} of {among}"
    claim = f"proven {what}" if is_optimal else f"not proven {what}{f': {words}' if bound > 0 else ''}"
    if chosen.n_thresholds == len(chosen.candidates):
        claim = ALL
    return Proof(inconsistency, bound, is_optimal, float(frequency), float(greedy), words, claim)
