"""Plots of fitted estimators, as scikit-learn's Displays: ``X.from_estimator(…)`` computes and draws.

Each Display keeps its data, so that ``.plot(ax=…)`` draws it again elsewhere. ``ax_`` and ``figure_`` hold the last drawing.
Displays need matplotlib, which is imported when something is drawn: ``pip install "fcca[plots]"``.
"""

# Every plot, a line each. The import makes it public: ``__all__`` and the API page list it from here.
from fcca.plots._drift import DriftDisplay as DriftDisplay
from fcca.plots._frontier import FrontierDisplay as FrontierDisplay
from fcca.plots._granularity import GranularityDisplay as GranularityDisplay
from fcca.plots._groups import GroupMetricsDisplay as GroupMetricsDisplay, RecourseDisplay as RecourseDisplay
from fcca.plots._heatmap import ThresholdHeatmapDisplay as ThresholdHeatmapDisplay
from fcca.plots._importance import CounterfactualImportanceDisplay as CounterfactualImportanceDisplay
from fcca.plots._margins import MarginEffectDisplay as MarginEffectDisplay
from fcca.plots._moves import CounterfactualMovesDisplay as CounterfactualMovesDisplay
from fcca.plots._regions import DecisionRegionsDisplay as DecisionRegionsDisplay
from fcca.plots._stability import StabilityDisplay as StabilityDisplay
from fcca.plots._tree import TreeDisplay as TreeDisplay

__all__ = [name for name in dir() if name.endswith("Display")]
