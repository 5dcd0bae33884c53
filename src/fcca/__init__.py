"""Exact counterfactuals of fitted classifiers, and the few thresholds their decisions hang on."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

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

# Imported when first asked for, so that `fcca --help` and Ctrl-C at the start need not wait for scikit-learn.
_HOMES = {
    "CounterfactualExplainer": "counterfactuals",
    "FCCAClassifier": "classifier",
    "FCCADiscretizer": "discretizers",
    "GTREDiscretizer": "discretizers",
    "MidpointDiscretizer": "discretizers",
    "OptimalTreeClassifier": "trees",
    "ThresholdTable": "thresholds",
    "read_model": "models",
}
# So that `import fcca` is enough for fcca.report.write(…).
_ROOMS = (
    "constraints",
    "counterfactuals",
    "datasets",
    "exceptions",
    "export",
    "fairness",
    "metrics",
    "models",
    "plots",
    "report",
    "robustness",
    "selection",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"fcca.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'fcca' has no attribute {name!r}")
    return getattr(import_module(f"fcca.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
