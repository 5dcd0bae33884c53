"""Stability of thresholds over bootstrap samples, and drift of new rows.

:func:`bootstrap` fits a discretizer on bootstrap samples of the training rows. It measures how often each threshold is found
again, and how much its value differs between samples. :func:`drift` compares new rows with old rows by the population
stability index. This index compares the shares of old and new rows in each bin between two thresholds.

A threshold that every sample finds can still be wrong, and a column that drifts can be harmless. Both results are reasons to
look closer, not proofs.
"""

from fcca.stability._bootstrap import bootstrap
from fcca.stability._bootstrap_result import Stability
from fcca.stability._population_drift import SHIFTED as SHIFTED, STABLE as STABLE, BinShares, Drift, drift

__all__ = ["BinShares", "Drift", "Stability", "bootstrap", "drift"]
