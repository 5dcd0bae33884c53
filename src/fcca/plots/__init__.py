"""Plots of fitted estimators, in the style of scikit-learn's Displays.

A class method such as ``TreeDisplay.from_estimator(…)`` computes the data of a plot and draws it. It returns a Display,
which keeps the data, so ``.plot(ax=…)`` can draw the plot again on other axes. ``ax_`` and ``figure_`` are the axes and the
figure of the last drawing. Plotting requires matplotlib, which is imported on the first drawing. It can be installed with
``pip install "fcca[plots]"``.
"""

# One line per plot. ``__all__`` and the API page are made from these imports.
from fcca.plots._drift_bars import DriftDisplay as DriftDisplay
from fcca.plots._frontier_curve import FrontierDisplay as FrontierDisplay
from fcca.plots._granularity import GranularityDisplay as GranularityDisplay
from fcca.plots._group_bars import GroupMetricsDisplay as GroupMetricsDisplay, RecourseDisplay as RecourseDisplay
from fcca.plots._heatmap import ThresholdHeatmapDisplay as ThresholdHeatmapDisplay
from fcca.plots._importance import CounterfactualImportanceDisplay as CounterfactualImportanceDisplay
from fcca.plots._margin_curves import MarginEffectDisplay as MarginEffectDisplay
from fcca.plots._moves import CounterfactualMovesDisplay as CounterfactualMovesDisplay
from fcca.plots._regions import DecisionRegionsDisplay as DecisionRegionsDisplay
from fcca.plots._scorecard_bars import ScorecardDisplay as ScorecardDisplay
from fcca.plots._stability import StabilityDisplay as StabilityDisplay
from fcca.plots._tree_diagram import TreeDisplay as TreeDisplay

__all__ = [name for name in dir() if name.endswith("Display")]
