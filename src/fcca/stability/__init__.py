"""Stability of thresholds over bootstrap samples, and drift of new rows.

:func:`bootstrap` fits a discretizer on samples of its rows. It measures how often each threshold is found again, and how
far it moves. :func:`drift` compares new rows with old ones, bin by bin, by the population stability index.

A threshold that every sample finds can be wrong, and a column that drifts can be harmless. Both results are reasons to
look, not proofs.
"""

from fcca.stability._bootstrap import bootstrap
from fcca.stability._bootstrap_result import Stability
from fcca.stability._population_drift import SHIFTED as SHIFTED, STABLE as STABLE, BinShares, Drift, drift

__all__ = ["BinShares", "Drift", "Stability", "bootstrap", "drift"]
