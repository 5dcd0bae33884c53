"""Plots of fitted estimators, as scikit-learn's Displays: ``X.from_estimator(…)`` computes and draws.

Each Display keeps what it has drawn, so that ``.plot(ax=…)`` draws it again elsewhere; ``ax_`` and ``figure_`` are where.
They need matplotlib, which is imported when something is drawn: ``pip install "fcca[plots]"``.
"""

from fcca.plots._drift import DriftDisplay
from fcca.plots._frontier import FrontierDisplay
from fcca.plots._granularity import GranularityDisplay
from fcca.plots._groups import GroupMetricsDisplay, RecourseDisplay
from fcca.plots._heatmap import ThresholdHeatmapDisplay
from fcca.plots._importance import CounterfactualImportanceDisplay
from fcca.plots._margins import MarginEffectDisplay
from fcca.plots._moves import CounterfactualMovesDisplay
from fcca.plots._regions import DecisionRegionsDisplay
from fcca.plots._stability import StabilityDisplay
from fcca.plots._tree import TreeDisplay

__all__ = [
    "CounterfactualImportanceDisplay",
    "CounterfactualMovesDisplay",
    "DecisionRegionsDisplay",
    "DriftDisplay",
    "FrontierDisplay",
    "GranularityDisplay",
    "GroupMetricsDisplay",
    "MarginEffectDisplay",
    "RecourseDisplay",
    "StabilityDisplay",
    "ThresholdHeatmapDisplay",
    "TreeDisplay",
]
