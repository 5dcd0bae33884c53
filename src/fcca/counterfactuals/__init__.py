"""Exact counterfactuals: the problem, the engine that solves it and what it returns."""

from fcca.counterfactuals._tables import AdditiveTables, EnsembleTables
from fcca.counterfactuals._cells import Cells
from fcca.counterfactuals._engine import CounterfactualEngine
from fcca.counterfactuals._problem import CounterfactualProblem
from fcca.counterfactuals._result import STATUSES, Counterfactuals, Moves

__all__ = [
    "STATUSES",
    "AdditiveTables",
    "Cells",
    "CounterfactualEngine",
    "CounterfactualProblem",
    "Counterfactuals",
    "EnsembleTables",
    "Moves",
]
