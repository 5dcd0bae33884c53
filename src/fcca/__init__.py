"""Exact counterfactuals of fitted classifiers, and the few thresholds behind their decisions."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from fcca.utils import lazy_names

if TYPE_CHECKING:
    from fcca.classifier import FCCAClassifier
    from fcca.counterfactuals import CounterfactualExplainer
    from fcca.discretizers import FCCADiscretizer, GTREDiscretizer, MidpointDiscretizer
    from fcca.models import read_model
    from fcca.thresholds import ThresholdTable
    from fcca.trees import OptimalTreeClassifier

__all__ = [
    "CounterfactualExplainer",
    "FCCAClassifier",
    "FCCADiscretizer",
    "GTREDiscretizer",
    "MidpointDiscretizer",
    "OptimalTreeClassifier",
    "ThresholdTable",
    "read_model",
]
__version__ = version("fcca")

# Rooms that `import fcca` makes available as fcca.report, fcca.stability, …
_ROOMS = (
    "certificates",
    "classifier",
    "constraints",
    "counterfactuals",
    "dask",
    "discretizers",
    "exceptions",
    "export",
    "fairness",
    "metrics",
    "models",
    "plots",
    "report",
    "robustness",
    "selection",
    "stability",
    "streaming",
    "thresholds",
    "trees",
)

# Imported when first used, so that `fcca --help` and Ctrl-C at the start need not wait for scikit-learn.
__getattr__, __dir__ = lazy_names(
    "fcca",
    {
        "CounterfactualExplainer": "counterfactuals",
        "FCCAClassifier": "classifier",
        "FCCADiscretizer": "discretizers",
        "GTREDiscretizer": "discretizers",
        "MidpointDiscretizer": "discretizers",
        "OptimalTreeClassifier": "trees",
        "ThresholdTable": "thresholds",
        "read_model": "models",
    }
    | {room: room for room in _ROOMS},
)
