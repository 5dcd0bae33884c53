"""FCCAClassifier, and cross-validation to choose its granularity or its number of thresholds."""

from fcca.classifier._classifier import NODES_OF_CHOICE as NODES_OF_CHOICE, TREES as TREES, FCCAClassifier
from fcca.classifier._cross_validation import (
    GRANULARITIES as GRANULARITIES,
    NODES_OF_PATH as NODES_OF_PATH,
    choose_granularity,
    choose_n_thresholds,
)
from fcca.classifier._fit_tree import (
    fit_tree as fit_tree,
    resolve_fit_to as resolve_fit_to,
    selection_fit_to as selection_fit_to,
)
from fcca.tables import TrainingTable

__all__ = ["FCCAClassifier", "TrainingTable", "choose_granularity", "choose_n_thresholds"]
