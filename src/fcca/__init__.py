"""Exact counterfactuals of fitted classifiers, the thresholds that they cross, and small trees on these thresholds."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from fcca.utils import lazy_names

if TYPE_CHECKING:
    from fcca.classifier import FCCAClassifier as FCCAClassifier
    from fcca.counterfactuals import CounterfactualExplainer as CounterfactualExplainer
    from fcca.discretizers import (
        FCCADiscretizer as FCCADiscretizer,
        GTREDiscretizer as GTREDiscretizer,
        MidpointDiscretizer as MidpointDiscretizer,
    )
    from fcca.models import read_model as read_model
    from fcca.scorecard import FCCAScorecard as FCCAScorecard
    from fcca.thresholds import ThresholdTable as ThresholdTable
    from fcca.trees import OptimalTreeClassifier as OptimalTreeClassifier

_ROOM_OF_NAME = {
    "CounterfactualExplainer": "counterfactuals",
    "FCCAClassifier": "classifier",
    "FCCADiscretizer": "discretizers",
    "FCCAScorecard": "scorecard",
    "GTREDiscretizer": "discretizers",
    "MidpointDiscretizer": "discretizers",
    "OptimalTreeClassifier": "trees",
    "ThresholdTable": "thresholds",
    "read_model": "models",
}
__all__ = list(_ROOM_OF_NAME)
__version__ = version("fcca")

# Subpackages that `import fcca` makes available as fcca.report, fcca.stability, …
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
    "scorecard",
    "selection",
    "stability",
    "streaming",
    "thresholds",
    "trees",
)

# Imported when first used, so that `fcca --help` and Ctrl-C at the start need not wait for scikit-learn.
__getattr__, __dir__ = lazy_names("fcca", _ROOM_OF_NAME | {room: room for room in _ROOMS}, {"dask": "dask"})
