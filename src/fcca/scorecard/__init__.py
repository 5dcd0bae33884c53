"""FCCAScorecard: logistic regression on the bins between thresholds, with points for each bin."""

from fcca.scorecard._columns import ScorecardColumn
from fcca.scorecard._estimator import FCCAScorecard, as_scorecard as as_scorecard
from fcca.scorecard._points import Scorecard

__all__ = ["FCCAScorecard", "Scorecard", "ScorecardColumn"]
