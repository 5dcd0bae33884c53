"""Readers: one per family of classifiers, into the neutral model that the searches understand."""

from fcca.models._files import load_model
from fcca.models._model import LinearModel, Model, TreeEnsemble
from fcca.models._native import as_classifier
from fcca.models._preparation import prepared
from fcca.models._registry import check_supported, read_model, supported_models, weight_parameters
from fcca.models._thresholds import DecidedAt, decide_at, with_decision_threshold
from fcca.models._wrappers import as_fitted_on

__all__ = [
    "DecidedAt",
    "LinearModel",
    "Model",
    "TreeEnsemble",
    "as_classifier",
    "as_fitted_on",
    "check_supported",
    "decide_at",
    "load_model",
    "prepared",
    "read_model",
    "supported_models",
    "weight_parameters",
    "with_decision_threshold",
]
