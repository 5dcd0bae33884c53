"""Write counterfactuals as sentences: ``Row 5 would be approved if income rose from 2,100 to 2,340.``"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from fcca.utils import plain, printable, shortest_decimal

# Without a cut, a number is rounded by at most this share of the move.
ROUNDED_BY = 0.01
DIGITS_AS_GIVEN = 6
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-5, 1e16
LIKE_A_NUMBER = re.compile(r"[-+]?\d[\d.,]*")


class Move(NamedTuple):
    """One changed feature of a counterfactual, as a sentence describes it.

    Attributes
    ----------
    feature : str
        Name of the feature.
    origin, landing : float
        Value before and after the change; NaN for a missing value.
    cut : float
        The cut of the classifier that the change crosses last; NaN for models without cuts.
    edge : float
        The largest training value if the feature rises, the smallest if it falls.
    exact : bool
        Whether to print the landing unrounded, because a rounded value might break a rule.
    labels : tuple of str, or None
        The category labels before and after the change, with None for a missing value. For numbers, ``labels`` is None.
    """

    feature: str
    origin: float
    landing: float
    cut: float
    edge: float
    exact: bool = False
    labels: tuple[str | None, str | None] | None = None


def grouped(x: float) -> str:
    """Format a number with commas between the thousands."""
    if x != 0 and not SMALLEST_PLAIN <= abs(x) < LARGEST_PLAIN:
        return plain(x)
    text = f"{Decimal(repr(float(x))):,f}"
    return text[:-2] if text.endswith(".0") else text


def _is_short(x: float) -> bool:
    """Return True for a whole number, or a number with at most six digits."""
    return x.is_integer() or len(Decimal(repr(x)).normalize().as_tuple().digits) <= DIGITS_AS_GIVEN


def shown_landing(move: Move) -> float:
    """Round the value after a change to the fewest digits that keep the prediction."""
    origin, landing, cut = move.origin, move.landing, move.cut
    if landing.is_integer() or move.exact or math.isnan(origin):
        return landing
    if math.isnan(cut):  # a slightly longer move gives the same prediction
        further = ROUNDED_BY * abs(landing - origin)
        if landing > origin:
            return shortest_decimal(landing, landing, math.nextafter(min(landing + further, move.edge), math.inf))
        return shortest_decimal(landing, max(landing - further, move.edge), math.nextafter(landing, math.inf))
    if landing > origin:  # all values between the cut and the landing are in the same cell
        return shortest_decimal(landing, math.nextafter(cut, math.inf), math.nextafter(landing, math.inf))
    return shortest_decimal(landing, landing, math.nextafter(cut, math.inf))


def shown_origin(move: Move) -> float:
    """Round the value before a change without moving it across the crossed cut."""
    origin, landing, cut = move.origin, move.landing, move.cut
    if _is_short(origin):
        return origin
    around = ROUNDED_BY * abs(landing - origin)
    low, high = origin - around, origin + around
    if landing > origin and not math.isnan(cut):
        high = min(high, math.nextafter(cut, math.inf))
    elif not math.isnan(cut):
        low = max(low, math.nextafter(cut, math.inf))
    return shortest_decimal(origin, low, high)


@lru_cache(maxsize=4096)  # thousands of sentences use the same few names
def feature_in_words(name: str) -> str:
    """Format a column name for a sentence, on one line.

    A name that looks like a number gets the word "column" in front.
    """
    return f"column {name}" if LIKE_A_NUMBER.fullmatch(name) else printable(name)


def class_in_words(name: str) -> str:
    """Format a class name for a sentence.

    A name that looks like a number gets the word "class" in front.
    """
    return f"class {name}" if LIKE_A_NUMBER.fullmatch(name) else name


def move_in_words(move: Move) -> str:
    """Describe the change of one feature in words.

    Examples: ``income rose from 2,100 to 2,340``, ``purpose changed from "car" to "tv"``,
    ``the missing income became 2,340``.
    """
    feature = feature_in_words(move.feature)
    before, after = move.labels or (None, grouped(shown_landing(move)))
    if math.isnan(move.origin):
        return f"the missing {feature} became {after}"
    if move.labels is not None:
        return f"{feature} changed from {before} to {after}"
    verb = "rose" if move.landing > move.origin else "fell"
    return f"{feature} {verb} from {grouped(shown_origin(move))} to {after}"


def chained(parts: Sequence[str]) -> str:
    """Join parts of a sentence with "and".

    More than two parts are separated by semicolons, because numbers contain commas.
    """
    return " and ".join(parts) if len(parts) <= 2 else f"{'; '.join(parts[:-1])}; and {parts[-1]}"


def _proof(cost: float, bound: float) -> str:
    """Describe in words how far the cost may be above the cheapest cost."""
    if not bound > 0:
        return "not proven to be the cheapest"
    ratio = cost / bound
    if ratio <= 2:
        return f"within {_rounded_up(100 * (ratio - 1))} % of the cheapest"
    return f"at most {plain(_rounded_up(10 * ratio) / 10)} times the cost of the cheapest"


def _percent_cheaper(cost: float, bound: float) -> str:
    """Return by how many percent of the cost the cheapest change may be cheaper, rounded up to one digit."""
    return plain(_rounded_up(1000 * (1 - bound / cost)) / 10) if 0 < cost < math.inf else "0"


def _rounded_up(x: float) -> int:
    """Round up to a whole number, with a tolerance of 1e-9 for rounding errors."""
    return math.ceil(x - 1e-9)


def sentence(
    status: str,
    target: str | None,
    moves: Sequence[Move],
    *,
    subject: str,
    cost: float,
    bound: float,
    number: int = 1,
    probability: float | None = None,
    ruled: bool = False,
) -> str:
    """Describe one counterfactual in a sentence.

    Parameters
    ----------
    status : str
        As in :class:`Counterfactuals`.
    target : str or None
        Name of the class to reach; None for any other class.
    moves : sequence of Move
        The changed features.
    subject : str
        First words of the sentence, such as "Row 5".
    cost, bound : float
        Cost of the counterfactual, and a proven lower bound of the cheapest cost.
    number : int, default=1
        Number of the counterfactual within its row: 1 for the cheapest, 2 for the next.
    probability : float, optional
        Required probability of the target.
    ruled : bool, default=False
        Whether rules restrict the change.
    """
    asked = "" if probability is None else f" with a probability of at least {plain(probability)}"
    reached = f"{'another class' if target is None else class_in_words(target)}{asked}"
    if status == "infeasible":
        within = "within the rules and the range of the data" if ruled else "within the range of the data"
        other = " of another set of features" if number > 1 else ""
        return f"{subject}: no change{other} {within} leads to {reached}."
    if status == "unknown":
        least = f"; no such change costs less than {bound:.3g}" if 0 < bound < math.inf else ""
        article = "another" if number > 1 else "a"
        return f"{subject}: time ran out before {article} change that leads to {reached} was found{least}."
    if not moves:
        return f"{subject} is already {'in ' if target is None else ''}{reached}: nothing has to change."
    doubt = {
        "unverified": " (not confirmed by the classifier itself)",
        "within_gap": f" (no change is over {_percent_cheaper(cost, bound)} % cheaper)",
        "feasible": f" ({_proof(cost, bound)})",
    }
    changes = chained([move_in_words(move) for move in moves])
    return f"{subject} would {'also ' if number > 1 else ''}be {reached} if {changes}{doubt.get(status, '')}."
