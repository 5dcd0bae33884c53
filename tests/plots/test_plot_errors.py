"""Invalid input of plots raises clear errors; texts and styles of plots."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from fcca import FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier
from fcca.exceptions import InvalidInputError
from fcca.plots import (
    CounterfactualImportanceDisplay,
    CounterfactualMovesDisplay,
    DecisionRegionsDisplay,
    DriftDisplay,
    FrontierDisplay,
    GranularityDisplay,
    GroupMetricsDisplay,
    MarginEffectDisplay,
    RecourseDisplay,
    StabilityDisplay,
    ThresholdHeatmapDisplay,
    TreeDisplay,
)
from fcca.plots._plot_text import names_of_classes, number, percent, shortened, text_width, wrapped
from fcca.plots._style import class_style
from plots import estimators as made

HEAT, TREE = ThresholdHeatmapDisplay.from_estimator, TreeDisplay.from_estimator
MOVES, EXPLAINED = CounterfactualMovesDisplay.from_estimator, CounterfactualMovesDisplay.from_explanations
IMPORTANCE, REGIONS = CounterfactualImportanceDisplay.from_estimator, DecisionRegionsDisplay.from_estimator


@pytest.mark.parametrize(
    "draw",
    [
        lambda: HEAT(FCCADiscretizer()),
        lambda: HEAT(FCCAClassifier()),
        lambda: TREE(OptimalTreeClassifier()),
        lambda: TREE(FCCAClassifier()),
        lambda: MOVES(FCCAClassifier(), 0),
        lambda: IMPORTANCE(FCCADiscretizer()),
        lambda: REGIONS(FCCAClassifier()),
    ],
)
def test_unfitted_estimators_raise_errors(draw):
    with pytest.raises(NotFittedError):
        draw()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: HEAT(DecisionTreeClassifier()), "a fitted discretizer, got DecisionTreeClassifier"),
        (lambda: HEAT(FCCAClassifier), "got the class FCCAClassifier"),
        (lambda: HEAT(made.numbers(), max_features=0), "max_features must be a whole number of at least 1, got 0"),
        (lambda: HEAT(made.guessed().discretizer_), "Pass the training data as X"),
        (lambda: TREE(DecisionTreeClassifier()), "OptimalTreeClassifier, got DecisionTreeClassifier"),
        (lambda: TREE(made.numbers(), feature_names=["a"]), "feature_names must be a list of 30 names"),
        (lambda: TREE(made.numbers(), class_names=["a"]), r"one name for each of the 2 classes \[0, 1\]"),
        (lambda: TREE(made.numbers(), class_names={5: "a"}), "class_names has 5, which is not a class"),
        (lambda: TREE(made.numbers(), row=5), r"the values of a row, such as X.iloc\[\[5\]\]"),
        (lambda: TREE(made.numbers(), row=[1, 2]), "row must have 30 values, one per column, got 2"),
        (lambda: TREE(made.numbers(), row=made.cancer()[0]), "row must be a single row, got 200 rows"),
        (lambda: TreeDisplay(made.leaf().tree_, ["a"], ["b", "c"], leaf=7).plot(), "leaf must be the number of a leaf"),
        (lambda: MOVES(made.numbers(), 10**6), "Row 1000000 has no counterfactual"),
        (lambda: MOVES(made.numbers(), "5"), "row must be the position of a training row"),
        (lambda: MOVES(made.guessed(), 5), "GTREDiscretizer does not compute counterfactuals"),
        (lambda: EXPLAINED(made.forest_explanations()), "2 rows were explained. Pass one of them as 'row': 5, 12"),
        (lambda: EXPLAINED(made.forest_explanations(), row=6), "There is no row 6. The rows are 5, 12"),
        (lambda: EXPLAINED(made.numbers()), "result of CounterfactualExplainer.explain, got FCCAClassifier"),
        (lambda: IMPORTANCE(made.guessed()), "does not compute counterfactuals. Use an FCCADiscretizer"),
        (lambda: IMPORTANCE(made.numbers(), sample_weight=[1, 2]), "sample_weight has 2 entries, but .* more rows"),
        (lambda: REGIONS(made.numbers()), "exactly two columns, but this one was fitted on 30"),
        (lambda: REGIONS(made.iris(), features=(0, 2)), r"features must be \(0, 1\), \(1, 0\) or the two column names"),
        (lambda: REGIONS(made.iris(), features=0), r"features must be \(0, 1\), \(1, 0\) or the two column names"),
        (lambda: REGIONS(made.iris(), features=("petal length (cm)", "sepal")), "There is no column 'sepal'"),
        (lambda: REGIONS(made.iris(), n_arrows=-1), "n_arrows must be a whole number of at least 0"),
        (lambda: REGIONS(made.numbers().discretizer_), "Expected a fitted FCCAClassifier, got FCCADiscretizer"),
        (lambda: GranularityDisplay.from_path([1]), "the result of granularity_path, got list"),
        (lambda: GranularityDisplay.from_path(made.path().drop(columns="Q")), "it lacks Q"),
        (lambda: GranularityDisplay.from_path(made.path().assign(fold=0)), "one row per fold"),
        (lambda: GranularityDisplay.from_path(made.path().head(0)), "it has no rows"),
        (lambda: GranularityDisplay.from_path(made.path(), choose="first"), "rule must be"),
        (
            lambda: GranularityDisplay(made.path(), chosen={"lambda0": 0.1, "Q": 0.123}).plot(),
            "The path has no row with",
        ),
        (lambda: GranularityDisplay.from_estimator(3, None, None), "Expected an FCCAClassifier, got int"),
        (lambda: GroupMetricsDisplay.from_distillation(made.distilled(), rate="x"), "rate must be one of"),
        (lambda: GroupMetricsDisplay.from_distillation(made.metrics()), "the result of distill_without"),
        (lambda: GroupMetricsDisplay.from_metrics(pd.DataFrame({"tpr": [1]})), "it lacks selection_rate"),
        (lambda: RecourseDisplay.from_recourse(made.metrics()), "the result of recourse_by_group, got DataFrame"),
        (lambda: MarginEffectDisplay.from_effect(pd.DataFrame()), "it lacks margin"),
        (lambda: MarginEffectDisplay.from_effect(made.effect().head(0)), "it has no rows"),
        (lambda: FrontierDisplay.from_frontier(made.path()), "the result of OptimalSelection.frontier, got DataFrame"),
        (lambda: FrontierDisplay(made.frontier().to_frame().drop(columns="greedy")).plot(), "it lacks greedy"),
        (lambda: FrontierDisplay(made.frontier().to_frame().head(0)).plot(), "it has no rows"),
        (lambda: StabilityDisplay.from_stability(made.drifted()), "the result of fcca.stability.bootstrap, got Drift"),
        (
            lambda: StabilityDisplay.from_stability(made.stability(), max_thresholds=0),
            "max_thresholds must be a whole number",
        ),
        (lambda: DriftDisplay.from_drift(made.stability()), "the result of fcca.stability.drift, got Stability"),
        (lambda: DriftDisplay.from_drift(made.drifted(), max_bins=0), "max_bins must be a whole number of at least 1"),
        (lambda: DriftDisplay.from_drift(made.drifted(), max_columns=1.5), "max_columns must be a whole number"),
        (
            lambda: DriftDisplay.from_drift(made.drifted(), column="wealth"),
            "one of the compared columns, got 'wealth'. These are 'purpose', 'income', 'leaves of the tree'",
        ),
    ],
)
def test_invalid_input_raises_a_clear_error(draw, message):
    from matplotlib import pyplot

    with pytest.raises(InvalidInputError, match=message):
        draw()
    assert pyplot.get_fignums() == []


# --- texts and styles -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "short", "a" * 300, "some words and more " * 20, "x_y_z_" * 40, "…", "💥" * 50])
def test_texts_are_cut_and_wrapped_to_their_width(text):
    assert text_width(shortened(text, 100.0), 8.0) <= 100.0
    lines = wrapped(text, 100.0, 8.0, 3)
    assert 1 <= len(lines) <= 3
    assert all(text_width(line, 8.0) <= 100.0 + 1e-6 for line in lines)
    if text_width(text, 8.0) <= 100.0:
        assert shortened(text, 100.0) == text
        assert lines == [text]


def test_a_cut_text_keeps_its_beginning_and_its_end():
    cut = shortened("the beginning of it all and then a lot of words until the end", 120.0)
    assert cut.startswith("the begin")
    assert cut.endswith("end")
    assert "…" in cut


@pytest.mark.parametrize(
    ("x", "text"), [(0, "0"), (1234567, "1,234,567"), (0.14231, "0.1423"), (950.0, "950"), (1e-7, "1e-07"), (np.inf, "–")]
)
def test_numbers_are_short(x, text):
    assert number(x) == text


def test_a_share_never_rounds_to_0_or_100_percent():
    assert [percent(x) for x in (0, 0.001, 0.5, 0.999, 1)] == ["0 %", "< 1 %", "50 %", "> 99 %", "100 %"]


def test_ten_classes_look_different_without_colour_too():
    styles = [class_style(at) for at in range(10)]
    for part in zip(*styles, strict=True):
        assert len(set(part)) == 10


def test_classes_have_their_labels_as_default_names():
    assert names_of_classes(np.array([0, 1]), None) == ["0", "1"]
    assert names_of_classes(np.array(["a", "b"]), {"b": "bee"}) == ["a", "bee"]
