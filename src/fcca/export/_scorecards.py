"""Accept fitted scorecards and stand-alone ones."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from fcca.exceptions import InvalidInputError
from fcca.scorecard import FCCAScorecard, Scorecard


def as_scorecard(given: Any) -> Scorecard:
    """Return the stand-alone scorecard of a fitted FCCAScorecard, or a Scorecard itself."""
    if isinstance(given, Scorecard):
        return given
    if not isinstance(given, FCCAScorecard):
        raise InvalidInputError(f"Expected a fitted FCCAScorecard or a Scorecard, got {type(given).__name__}.")
    check_is_fitted(given)
    card: Scorecard = given.scorecard_
    return card
