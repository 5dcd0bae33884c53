"""Exact counterfactuals of fitted classifiers, and the few thresholds their decisions hang on."""

from importlib.metadata import version

from fcca.discretizers import FCCADiscretizer
from fcca.models import read_model
from fcca.thresholds import ThresholdTable

__all__ = ["FCCADiscretizer", "ThresholdTable", "read_model"]
__version__ = version("fcca")
