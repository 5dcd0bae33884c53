"""Stability of thresholds over bootstrap samples, and drift of later rows over their bins.

:func:`bootstrap` fits a discretizer again on samples of its rows and says, per threshold, how often it comes back and how
far it moves. :func:`drift` compares rows that are new with those of old, bin by bin: the population stability index.

What comes back in every sample need not be right, and what drifts need not be wrong: both are reasons to look, not proofs.
"""

from fcca.stability._bootstrap import bootstrap
from fcca.stability._drift import SHIFTED as SHIFTED, STABLE as STABLE, BinShares, Drift, drift
from fcca.stability._result import Stability

__all__ = ["BinShares", "Drift", "Stability", "bootstrap", "drift"]
