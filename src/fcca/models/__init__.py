"""Readers: one per family of classifiers, into the neutral model that the searches understand."""

from fcca.models._model import LinearModel, Model, TreeEnsemble
from fcca.models._registry import check_supported, read_model, supported_models, weight_parameters
from fcca.models._wrappers import as_fitted_on

__all__ = [
    "LinearModel",
    "Model",
    "TreeEnsemble",
    "as_fitted_on",
    "check_supported",
    "read_model",
    "supported_models",
    "weight_parameters",
]
