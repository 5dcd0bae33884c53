"""Properties of every Display."""

import subprocess
import sys

import pytest

from fcca import plots
from fcca.exceptions import InvalidInputError
from plots import estimators as made
from plots.looks import drawn_texts, faults

CASES = {
    "heat map": lambda ax: plots.ThresholdHeatmapDisplay.from_estimator(made.numbers(), ax=ax),
    "heat map of what is kept": lambda ax: plots.ThresholdHeatmapDisplay.from_estimator(
        made.numbers(), kept_only=True, ax=ax
    ),
    "heat map with categories": lambda ax: plots.ThresholdHeatmapDisplay.from_estimator(made.mixed(), ax=ax),
    "heat map of hostile names": lambda ax: plots.ThresholdHeatmapDisplay.from_estimator(made.hostile(), ax=ax),
    "heat map of many columns": lambda ax: plots.ThresholdHeatmapDisplay.from_estimator(made.many_columns(), ax=ax),
    "heat map of one threshold": lambda ax: plots.ThresholdHeatmapDisplay.from_estimator(made.one_threshold(), ax=ax),
    "heat map without counts": lambda ax: plots.ThresholdHeatmapDisplay.from_estimator(made.guessed(), ax=ax),
    "granularity": lambda ax: plots.GranularityDisplay.from_path(made.path(), ax=ax),
    "granularity, none chosen": lambda ax: plots.GranularityDisplay.from_path(
        made.path().query("lambda0 == 1"), choose=None, ax=ax
    ),
    "tree": lambda ax: plots.TreeDisplay.from_estimator(made.numbers(), class_names=["malignant", "benign"], ax=ax),
    "tree with categories": lambda ax: plots.TreeDisplay.from_estimator(made.mixed(), row=made.loans()[0].iloc[[3]], ax=ax),
    "tree of hostile names": lambda ax: plots.TreeDisplay.from_estimator(made.hostile(), ax=ax),
    "tree of ten classes": lambda ax: plots.TreeDisplay.from_estimator(made.ten_classes(), ax=ax),
    "tree of depth 5": lambda ax: plots.TreeDisplay.from_estimator(made.deep()[0], row=made.deep()[1].iloc[3], ax=ax),
    "tree of a leaf": lambda ax: plots.TreeDisplay.from_estimator(made.leaf(), ax=ax),
    "moves": lambda ax: plots.CounterfactualMovesDisplay.from_explanations(made.forest_explanations(), row=12, ax=ax),
    "moves of a training row": lambda ax: plots.CounterfactualMovesDisplay.from_estimator(made.numbers(), 5, ax=ax),
    "moves of categories": lambda ax: plots.CounterfactualMovesDisplay.from_estimator(
        made.mixed(), int(made.mixed().discretizer_.counterfactuals_.rows[0]), ax=ax
    ),
    "moves of hostile names": lambda ax: plots.CounterfactualMovesDisplay.from_estimator(
        made.hostile(), int(made.hostile().discretizer_.counterfactuals_.rows[0]), ax=ax
    ),
    "importance": lambda ax: plots.CounterfactualImportanceDisplay.from_estimator(made.numbers(), ax=ax),
    "importance of hostile names": lambda ax: plots.CounterfactualImportanceDisplay.from_estimator(made.hostile(), ax=ax),
    "importance of many columns": lambda ax: plots.CounterfactualImportanceDisplay.from_estimator(
        made.many_columns(), ax=ax
    ),
    "regions": lambda ax: plots.DecisionRegionsDisplay.from_estimator(made.iris(), ax=ax),
    "regions of a linear model": lambda ax: plots.DecisionRegionsDisplay.from_estimator(made.linear(), ax=ax),
    "regions with categories": lambda ax: plots.DecisionRegionsDisplay.from_estimator(made.two_mixed(), ax=ax),
    "regions of hostile names": lambda ax: plots.DecisionRegionsDisplay.from_estimator(made.hostile_pair(), ax=ax),
    "groups of a distillation": lambda ax: plots.GroupMetricsDisplay.from_distillation(made.distilled(), ax=ax),
    "metrics of groups": lambda ax: plots.GroupMetricsDisplay.from_metrics(made.metrics(), ax=ax),
    "recourse": lambda ax: plots.RecourseDisplay.from_recourse(made.recourse(), ax=ax),
    "margins": lambda ax: plots.MarginEffectDisplay.from_effect(made.effect(), ax=ax),
    "frontier": lambda ax: plots.FrontierDisplay.from_frontier(made.frontier(), ax=ax),
    "frontier that is not all proven": lambda ax: plots.FrontierDisplay.from_frontier(made.unproven_frontier(), ax=ax),
    "stability": lambda ax: plots.StabilityDisplay.from_stability(made.stability(), ax=ax),
    "stability of categories": lambda ax: plots.StabilityDisplay.from_stability(made.mixed_stability(), ax=ax),
    "stability of hostile names": lambda ax: plots.StabilityDisplay.from_stability(made.hostile_stability(), ax=ax),
    "scorecard": lambda ax: plots.ScorecardDisplay.from_estimator(made.scorecard(), ax=ax),
    "scorecard with weights of evidence": lambda ax: plots.ScorecardDisplay.from_estimator(
        made.scorecard(), beside="WoE", ax=ax
    ),
    "scorecard of hostile names": lambda ax: plots.ScorecardDisplay.from_estimator(made.hostile_scorecard(), ax=ax),
    "drift": lambda ax: plots.DriftDisplay.from_drift(made.drifted(), ax=ax),
    "drift of the leaves": lambda ax: plots.DriftDisplay.from_drift(made.drifted(), column="leaves of the tree", ax=ax),
    "drift of many columns": lambda ax: plots.DriftDisplay.from_drift(made.many_drifted(), ax=ax),
    "drift of hostile names": lambda ax: plots.DriftDisplay.from_drift(made.hostile_drifted(), ax=ax),
    "no drift": lambda ax: plots.DriftDisplay.from_drift(made.undrifted(), ax=ax),
}


@pytest.fixture(params=CASES)
def draw(request):
    return CASES[request.param]


def test_every_display_is_drawn_here():
    drawn = " ".join(name for case in CASES.values() for name in case.__code__.co_names)
    assert [name for name in plots.__all__ if name not in drawn] == []


def test_a_new_figure_shows_every_text_whole_and_as_it_is(draw, monkeypatch):
    import matplotlib as mpl
    from matplotlib import pyplot

    before = dict(mpl.rcParams)
    display = draw(None)
    assert pyplot.get_fignums() == [display.figure_.number]
    assert faults(display.figure_) == []
    assert not any(mpl.cbook.is_math_text(text.get_text()) for text in drawn_texts(display.figure_)[0])
    assert dict(mpl.rcParams) == before
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "fcca\[plots\]"'):
        display.plot()


@pytest.mark.filterwarnings("ignore:The tree is too large for these axes")
def test_given_axes_are_drawn_on_and_pyplot_is_left_alone(draw):
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    figure = Figure(figsize=(19, 12), layout="constrained")
    left, right = figure.subplots(1, 2)
    display = draw(right)
    assert display.figure_ is figure
    assert display.ax_ in figure.axes
    assert faults(figure) == []
    edge = right.get_position().x0
    assert all(ax is left or ax.get_position().x0 >= edge - 0.01 for ax in figure.axes)
    other = Figure(figsize=(9, 7)).add_axes([0.1, 0.1, 0.8, 0.8])  # axes outside of any grid
    assert display.plot(other) is display
    assert display.figure_ is other.figure
    assert display.ax_ in other.figure.axes
    assert pyplot.get_fignums() == []


@pytest.mark.filterwarnings("ignore:The tree is too large for these axes")
@pytest.mark.parametrize("size", [(4, 3), (6, 4)])
def test_small_axes_drop_texts_rather_than_write_one_on_another(draw, size):
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    draw(figure.subplots())
    assert faults(figure) == []


def test_the_layout_of_a_figure_with_other_axes_is_left_alone():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4))
    left, right = figure.subplots(1, 2)
    plots.TreeDisplay.from_estimator(made.numbers(), ax=left)
    assert figure.get_layout_engine() is None
    assert right.get_position().x0 > 0.5


def test_axes_must_be_axes(draw):
    with pytest.raises(InvalidInputError, match="ax must be a matplotlib Axes or None, got str"):
        draw("here")


def test_importing_the_plots_does_not_import_matplotlib():
    code = "import sys, fcca.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
