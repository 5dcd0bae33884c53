"""Exact counterfactuals: the problem, the engine that solves it and what it returns."""

from fcca.counterfactuals._cells import Cells
from fcca.counterfactuals._engine import CounterfactualEngine
from fcca.counterfactuals._explainer import CounterfactualExplainer
from fcca.counterfactuals._explanations import Explanations
from fcca.counterfactuals._margins import DEFAULT_MARGIN, as_share, margin_of_share
from fcca.counterfactuals._observations import Observations
from fcca.counterfactuals._problem import CounterfactualProblem
from fcca.counterfactuals._result import STATUSES, Counterfactuals, Moves
from fcca.counterfactuals._tables import AdditiveTables, EnsembleTables

__all__ = [
    "DEFAULT_MARGIN",
    "STATUSES",
    "AdditiveTables",
    "Cells",
    "CounterfactualEngine",
    "CounterfactualExplainer",
    "CounterfactualProblem",
    "Counterfactuals",
    "EnsembleTables",
    "Explanations",
    "Moves",
    "Observations",
    "as_share",
    "margin_of_share",
]
