"""Decision trees that are proven to be optimal on the training rows."""

from fcca.trees._answers import TreeAnswersMixin as TreeAnswersMixin
from fcca.trees._criteria import (
    CRITERIA as CRITERIA,
    CRITERION_NAMES as CRITERION_NAMES,
    default_leaf_price as default_leaf_price,
    leaf_cost as leaf_cost,
    smoothed_probability as smoothed_probability,
)
from fcca.trees._optimal import OptimalTreeClassifier
from fcca.trees._reasons import (
    LeafReasons,
    Reason,
    ReasonsMixin as ReasonsMixin,
)
from fcca.trees._sentences import (
    amount_in_words as amount_in_words,
    compared_trees as compared_trees,
    objective_in_words as objective_in_words,
)
from fcca.trees._structure import TreeStructure

__all__ = ["LeafReasons", "OptimalTreeClassifier", "Reason", "TreeStructure"]
