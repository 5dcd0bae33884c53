"""Convert classifiers of many libraries to one common form, the model.

The searches for counterfactuals use only models.
"""

from fcca.models._labels import (
    CodedColumn as CodedColumn,
    OpenColumn as OpenColumn,
    column_of as column_of,
    labelled as labelled,
)
from fcca.models._links import Link as Link, NoProbability as NoProbability, Share as Share
from fcca.models._model import LinearModel, Model, TreeBlock as TreeBlock, TreeEnsemble
from fcca.models._native import ADAPTERS as ADAPTERS, as_classifier
from fcca.models._nodes import Nodes as Nodes
from fcca.models._precision import largest_passing as largest_passing
from fcca.models._registry import (
    FROZEN as FROZEN,
    check_supported as check_supported,
    is_linear as is_linear,
    public_names as public_names,
    read_model,
    supported_models,
    unwrapped as unwrapped,
    weight_parameters as weight_parameters,
)
from fcca.models.files import load_model
from fcca.models.pipelines._preparation import prepared as prepared
from fcca.models.pipelines._table_coder import TableCoder as TableCoder
from fcca.models.pipelines._wrappers import as_fitted_on as as_fitted_on
from fcca.models.readers._calibration import Calibrated as Calibrated
from fcca.models.readers._decision_threshold import DecidedAt, decide_at, with_decision_threshold as with_decision_threshold
from fcca.models.readers._lightgbm import LightGBMBooster as LightGBMBooster
from fcca.models.readers._sklearn_trees import join_trees as join_trees

__all__ = [
    "DecidedAt",
    "LinearModel",
    "Model",
    "TreeEnsemble",
    "as_classifier",
    "decide_at",
    "load_model",
    "read_model",
    "supported_models",
]
