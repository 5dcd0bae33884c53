"""Plots show the values of their estimators."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, GTREDiscretizer
from fcca.classifier import choose_granularity
from fcca.constraints import Immutable
from fcca.plots import (
    CounterfactualImportanceDisplay,
    CounterfactualMovesDisplay,
    DecisionRegionsDisplay,
    GranularityDisplay,
    GroupMetricsDisplay,
    MarginEffectDisplay,
    RecourseDisplay,
    ThresholdHeatmapDisplay,
    TreeDisplay,
)
from fcca.plots._plot_text import number
from fcca.plots._style import class_style
from fcca.plots._tree_layout import SWATCH
from fcca.utils import proof_in_words
from plots import estimators as made


def words(ax):
    return [text.get_text() for text in ax.findobj(lambda artist: hasattr(artist, "get_text"))]


# --- heat map -------------------------------------------------------------------------------------------------------------


def test_a_threshold_stands_at_its_share_of_the_column_s_range():
    X, _ = made.cancer()
    display = ThresholdHeatmapDisplay.from_estimator(made.numbers())
    table = made.numbers().discretizer_.all_thresholds_
    kept = set(made.numbers().discretizer_.thresholds_.names())
    drawn = {}
    for lines in display.ax_.findobj(LineCollection):
        for (x, low), (_, high) in lines.get_segments():
            drawn[round((low + high) / 2), round(x, 9)] = high - low
    assert len(drawn) == len(table)
    for name, j, threshold in zip(table.names(), table.feature, table.threshold, strict=True):
        column = X.iloc[:, j]
        share = (threshold - column.min()) / (column.max() - column.min())
        height = drawn[display.features_.index(j), round(share, 9)]
        assert height == pytest.approx(0.8 if name in kept else 0.4)


def test_the_most_crossed_columns_come_first_and_the_rest_is_counted():
    display = ThresholdHeatmapDisplay.from_estimator(made.many_columns(), max_features=7)
    table = made.many_columns().all_thresholds_
    total = np.bincount(table.feature, weights=table.count, minlength=166)
    assert [total[j] for j in display.features_] == sorted(total, reverse=True)[:7]
    used = len(np.unique(table.feature))
    assert f"the 7 columns crossed most often, of {used} columns with a threshold" in display.ax_.get_xlabel()
    assert f"{166 - used} columns without a threshold" in display.ax_.get_xlabel()


def test_ends_of_a_range_are_the_column_s_own_values_and_the_colours_can_be_told_from_white():
    X, _ = made.cancer()
    display = ThresholdHeatmapDisplay.from_estimator(made.numbers())
    shown = words(display.ax_)
    for j in display.features_:
        assert {number(float(X.iloc[:, j].min())), number(float(X.iloc[:, j].max()))} <= set(shown)
    key = next(ax for ax in display.figure_.axes if ax is not display.ax_)
    assert key.get_ylabel() == "times crossed (log scale)"
    colors = np.concatenate([lines.get_colors()[:, :3] for lines in display.ax_.findobj(LineCollection)])
    luminance = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    assert (1.05 / (luminance + 0.05)).min() > 2.5


def test_small_axes_show_as_many_columns_as_fit_and_no_ends():
    from matplotlib.figure import Figure

    display = ThresholdHeatmapDisplay.from_estimator(made.many_columns(), ax=Figure(figsize=(4, 3)).subplots())
    assert 8 <= len(display.features_) <= 16
    assert "full height: kept" in display.ax_.get_xlabel() or made.many_columns().Q == 0
    assert not [text for text in display.ax_.texts if text.get_text()]


def test_kept_only_draws_only_what_is_kept():
    display = ThresholdHeatmapDisplay.from_estimator(made.numbers(), kept_only=True)
    assert display.thresholds == made.numbers().discretizer_.thresholds_


def test_categories_and_missing_values_have_boxes():
    display = ThresholdHeatmapDisplay.from_estimator(made.mixed())
    shown = words(display.ax_)
    assert {"car", "tv", "boat"} <= set(shown)
    assert "is\nmissing" in shown


def test_columns_of_other_discretizers_have_their_range_from_the_data():
    X, _ = made.cancer()
    given = ThresholdHeatmapDisplay.from_estimator(made.guessed().discretizer_, X=X.iloc[:, :4])
    own = ThresholdHeatmapDisplay.from_estimator(made.guessed())
    np.testing.assert_array_equal(given.low, X.iloc[:, :4].min())
    np.testing.assert_array_equal(own.high, given.high)


# --- importance -----------------------------------------------------------------------------------------------------------


def test_bars_are_the_shares_of_counterfactuals_that_move_a_column():
    discretizer = made.numbers().discretizer_
    display = CounterfactualImportanceDisplay.from_estimator(made.numbers(), max_features=4)
    frame = discretizer.counterfactuals_.to_frame()
    share = (frame["feature"].value_counts() / len(discretizer.counterfactuals_)).head(4)
    assert [bar.get_width() for bar in display.ax_.patches] == pytest.approx(share.tolist())
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == share.index.tolist()
    first = display.importance.iloc[0]
    of_first = discretizer.all_thresholds_.to_frame().query("feature == @first.feature")
    assert first["thresholds"] == len(of_first)
    assert first["crossings"] == of_first["count"].sum()


def test_weight_two_is_the_same_as_the_row_twice():
    X, y = made.cancer()
    X, y = X.iloc[:60, 20:24], y.iloc[:60]
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    box = made.numbers().discretizer_.estimator_.steps[-1][1]
    weighted = FCCADiscretizer(box).fit(X, y, sample_weight=weight)
    repeated = np.repeat(np.arange(60), weight.astype(int))
    twice = FCCADiscretizer(box).fit(X.iloc[repeated], y.iloc[repeated])
    one = CounterfactualImportanceDisplay.from_estimator(weighted, sample_weight=weight)
    other = CounterfactualImportanceDisplay.from_estimator(twice)
    assert one.n_counterfactuals == other.n_counterfactuals
    np.testing.assert_allclose(one.importance["moved"], other.importance["moved"])


# --- tree -----------------------------------------------------------------------------------------------------------------


def test_the_tree_says_its_conditions_rows_shares_and_certificate():
    classifier = made.numbers()
    display = TreeDisplay.from_estimator(classifier, class_names={0: "malignant", 1: "benign"})
    tree, shown = classifier.structure_, words(display.ax_)
    for node in range(len(tree.feature)):
        assert f"{tree.n_rows[node]:,} rows" in shown
        if tree.feature[node] < 0:
            best = tree.probability[node].argmax()
            assert any(text.startswith(f"{['malignant', 'benign'][best]}: ") for text in shown)
        else:
            assert display.conditions_[node] == tree.test_in_words(node, True, classifier.feature_names_in_)
    found, title = classifier.tree_, " ".join(display.ax_.get_title().split())
    error = 1 - found.score(classifier.discretizer_.transform(made.cancer()[0]), made.cancer()[1])
    assert "Proven on the training rows: no tree on these thresholds with depth at most 3 is better; " in title
    said, price, value = (f"{100 * share:.4g} %" for share in (error, found.regularization_, found.objective_))
    assert title.endswith(f"; cost {value} = {said} (error) + {found.n_leaves_} leaves × {price}")
    widths = [patch.get_width() for patch in display.ax_.findobj(Rectangle) if patch.get_fill() and patch.get_zorder() == 4]
    shares = tree.share[tree.share > 0]
    assert np.array(widths) / 140 == pytest.approx(shares)


def test_the_path_of_a_row_is_highlighted():
    tree, rows = made.deep()
    for row in (rows.iloc[3], rows.iloc[[3]], rows.iloc[3].to_numpy(), rows.iloc[3].tolist()):
        display = TreeDisplay.from_estimator(tree, row=row)
        assert display.leaf == tree.apply(rows.iloc[[3]])[0]
        thick = [line for line in display.ax_.get_lines() if line.get_linewidth() > 2]
        assert len(thick) == len(tree.tree_.path_to(display.leaf))
    assert not [line for line in TreeDisplay.from_estimator(tree).ax_.get_lines() if line.get_linewidth() > 2]


def test_a_tree_that_is_not_proven_says_how_close_it_is():
    tree = made.deep()[0]
    unproven = type(tree)(max_depth=5)
    unproven.__dict__.update(tree.__dict__ | {"is_optimal_": False, "objective_": 0.2, "lower_bound_": 0.1875})
    title = " ".join(TreeDisplay.from_estimator(unproven).ax_.get_title().split())
    assert proof_in_words(0.2, 0.1875, is_optimal=False) in title.lower()
    assert "Proven" not in title
    assert title.endswith("no tree below 18.75 %")


def test_long_names_are_cut_but_their_number_stays():
    display = TreeDisplay.from_estimator(made.hostile())
    tree = made.hostile().structure_
    shown = " ".join(words(display.ax_))
    for node in np.flatnonzero(tree.feature >= 0):
        assert str(tree.threshold[node]).removesuffix(".0") in shown


def test_classes_of_the_same_name_keep_their_colours_in_the_key():
    display = TreeDisplay.from_estimator(made.numbers(), class_names=["same", "same"])
    swatches = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle) and patch.get_width() == SWATCH]
    assert [to_hex(swatch.get_facecolor()) for swatch in swatches] == [class_style(at).color.lower() for at in (0, 1)]


def test_a_tree_gets_narrower_boxes_where_that_makes_its_letters_larger_and_warns_where_they_stay_too_small():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    display = TreeDisplay.from_estimator(made.numbers(), ax=figure.subplots())
    figure.draw_without_rendering()
    texts = [text for text in display.ax_.texts if text.get_text()]
    assert min(text.get_fontsize() for text in texts) > 6
    with pytest.warns(UserWarning, match=r"needs about 16 × 18 inches\. Omit ax"):
        TreeDisplay.from_estimator(made.deep()[0], ax=figure.subplots())


def test_texts_of_a_tree_grow_and_shrink_with_their_axes():
    from matplotlib.figure import Figure

    sizes = []
    for width in (10, 20):
        figure = Figure(figsize=(width, width))
        display = TreeDisplay.from_estimator(made.numbers(), ax=figure.add_axes([0, 0, 1, 0.9]))
        figure.draw_without_rendering()
        sizes.append(next(text for text in display.ax_.texts if text.get_text() == "yes").get_fontsize())
    assert sizes[1] == pytest.approx(2 * sizes[0])


# --- moves ----------------------------------------------------------------------------------------------------------------


def test_arrows_go_from_the_old_to_the_new_value_and_cuts_are_marked():
    found = made.forest_explanations()
    X, _ = made.cancer()
    display = CounterfactualMovesDisplay.from_explanations(found, row=12, class_names=["malignant", "benign"])
    frame = found.to_frame().query("row == 12 and feature.notna()")
    arrows = [text for text in display.ax_.texts if isinstance(text, Annotation)]
    assert len(arrows) == len(frame) > 0
    shown = words(display.ax_)
    for arrow, (_, move) in zip(arrows, frame.iterrows(), strict=True):
        column = X[move["feature"]]
        width = column.max() - column.min()
        assert arrow.xyann[0] == pytest.approx((move["from"] - column.min()) / width)
        assert arrow.xy[0] == pytest.approx((move["to"] - column.min()) / width)
        assert f"cut {number(move['cut'])}" in shown
    for sentence in found.sentences({0: "malignant", 1: "benign"})[3:]:
        numbers = [word.rstrip(";.") for word in sentence.split(" if ")[1].split() if word[0].isdigit()]
        assert numbers
        assert set(numbers) <= set(shown)


def test_a_training_row_shows_the_counterfactual_that_it_was_counted_by():
    found = made.mixed().discretizer_.counterfactuals_
    is_category = found.columns.is_category[found.moves.feature]
    row = int(found.rows[found.moves.point[is_category][0]])
    frame = found.to_frame().query("row == @row")
    display = CounterfactualMovesDisplay.from_estimator(made.mixed(), row)
    shown = words(display.ax_)
    change = frame[frame["feature"] == "purpose"].iloc[0]
    assert f'"{change["to"]}"' in shown
    assert display.ax_.get_title().startswith(f"Row {row}: the black box predicts “")


def test_a_row_without_a_change_says_so():
    X, _ = made.cancer()
    black_box = made.numbers().discretizer_.estimator_
    none = CounterfactualExplainer(black_box, X, constraints=[Immutable(*X.columns)]).explain(X.iloc[[5]])
    display = CounterfactualMovesDisplay.from_explanations(none)
    assert "no change within the rules" in display.ax_.texts[0].get_text()


# --- granularity ----------------------------------------------------------------------------------------------------------


def test_curves_are_the_path_and_the_circle_is_the_choice():
    path = made.path()
    display = GranularityDisplay.from_path(path)
    chosen = choose_granularity(path)
    here = path[(path["Q"] == chosen["Q"]) & (path["lambda0"] == chosen["lambda0"])].iloc[0]
    columns = ("accuracy", "fidelity", "thresholds", "compression", "inconsistency", "leaves")
    for ax, column in zip(display.axes_.ravel(), columns, strict=True):
        curves = [line for line in ax.get_lines() if len(line.get_xdata()) == 4 and line.get_marker() in "o^"]
        for line, (_, part) in zip(curves, path.groupby("lambda0"), strict=True):
            np.testing.assert_array_equal(line.get_ydata(), part[column])
        circle = next(line for line in ax.get_lines() if line.get_markersize() == 12)
        assert (circle.get_xdata()[0], circle.get_ydata()[0]) == (chosen["Q"], here[column])


def test_from_estimator_computes_the_path():
    X, y = made.cancer()
    display = GranularityDisplay.from_estimator(FCCAClassifier(), X, y, Q=(0.0, 0.9), cv=2, choose="best")
    pd.testing.assert_frame_equal(display.path, FCCAClassifier().granularity_path(X, y, Q=(0.0, 0.9), cv=2))


# --- regions --------------------------------------------------------------------------------------------------------------


def regions_at(display, table):
    """Return the drawn predictions of black box and tree at some points."""
    at = []
    for axis, column in zip(display.axes, table.T, strict=True):
        cell = np.searchsorted(axis.edges[: len(axis.edges) - (axis.missing_at is not None)], column, side="left") - 1
        at.append(np.where(np.isnan(column), len(axis.values) - 1, cell))
    return display.black_box[at[1], at[0]], display.tree[at[1], at[0]]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_regions_are_exact_even_on_the_cuts(order):
    classifier = made.iris()
    display = DecisionRegionsDisplay.from_estimator(classifier, features=order)
    rng = np.random.default_rng(0)
    inner = [axis.edges[1:-1] for axis in display.axes]
    points = np.column_stack([rng.uniform(axis.edges[0], axis.edges[-1], 500) for axis in display.axes])
    cuts = np.column_stack([rng.choice(np.concatenate([e, np.nextafter(e, np.inf)]), 500) for e in inner])
    points = np.concatenate([points, cuts])
    given = pd.DataFrame(points[:, list(order)], columns=classifier.feature_names_in_)
    black_box, tree = regions_at(display, points)
    np.testing.assert_array_equal(black_box, classifier.discretizer_.predict_target(given))
    np.testing.assert_array_equal(tree, classifier.predict(given))


def test_regions_of_categories_and_missing_values_are_exact_too():
    X, _ = made.loans()
    classifier = made.two_mixed()
    display = DecisionRegionsDisplay.from_estimator(classifier)
    table = classifier.discretizer_.encode(X.iloc[:, :2])
    black_box, tree = regions_at(display, table)
    names = np.array(display.class_names)
    np.testing.assert_array_equal(names[black_box], classifier.discretizer_.predict_target(X.iloc[:, :2]))
    np.testing.assert_array_equal(names[tree], classifier.predict(X.iloc[:, :2]))


def test_arrows_are_counterfactuals_and_lines_are_thresholds_kept():
    classifier = made.iris()
    display = DecisionRegionsDisplay.from_estimator(classifier, n_arrows=9)
    assert len(display.arrows) == 9
    black_box, _ = regions_at(display, display.arrows[:, 0])
    landed, _ = regions_at(display, display.arrows[:, 1])
    assert (black_box != landed).all()
    kept = classifier.discretizer_.thresholds_
    np.testing.assert_array_equal(np.concatenate(display.lines), kept.threshold)


def test_regions_of_a_linear_black_box_are_close_and_those_of_its_tree_exact():
    classifier = made.linear()
    display = DecisionRegionsDisplay.from_estimator(classifier)
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.uniform(axis.edges[0], axis.edges[-1], 2000) for axis in display.axes])
    given = pd.DataFrame(points, columns=classifier.feature_names_in_)
    black_box, tree = regions_at(display, points)
    np.testing.assert_array_equal(tree, classifier.predict(given))
    assert (black_box == classifier.discretizer_.predict_target(given)).mean() > 0.99


def test_regions_need_no_counterfactuals():
    X, y = made.cancer()
    classifier = FCCAClassifier(GTREDiscretizer(), fit_to="target").fit(X[["worst radius", "worst texture"]], y)
    display = DecisionRegionsDisplay.from_estimator(classifier)
    assert len(display.arrows) == 0
    assert display.class_names == ["0", "1"]


def test_arrows_start_at_their_rows_where_some_rows_have_no_weight():
    X, y = made.cancer()
    X = X[["worst radius", "worst texture"]]
    weight = (np.arange(len(X)) > 3).astype(float)
    classifier = FCCAClassifier().fit(X, y, sample_weight=weight)
    arrows = DecisionRegionsDisplay.from_estimator(classifier, n_arrows=1000).arrows
    found = classifier.discretizer_.counterfactuals_
    proven = found.take(np.flatnonzero(found.is_status("optimal")))
    assert arrows[:, 0].tolist() == X.to_numpy()[proven.rows].tolist()
    assert arrows[:, 1].tolist() == proven.apply(X.to_numpy()).tolist()


# --- groups and margins ---------------------------------------------------------------------------------------------------


def test_bars_of_groups_are_their_rates():
    found = made.distilled()
    display = GroupMetricsDisplay.from_distillation(found)
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert heights == pytest.approx(display.rates.to_numpy().T.ravel())
    assert display.rates.loc["tree", "man"] == found.metrics.loc[("tree", "man"), "selection_rate"]
    n_men = int((made.loans()[0]["sex"] == "man").sum())
    assert display.ax_.get_legend().get_texts()[0].get_text() == f"man ({n_men} rows)"
    assert GroupMetricsDisplay.from_distillation(found, rate="tpr").ax_.get_ylabel() == "true positive rate"


def test_recourse_shows_costs_with_the_rows_behind_them():
    found = made.recourse()
    display = RecourseDisplay.from_recourse(found)
    assert [bar.get_width() for bar in display.axes_[0].patches] == pytest.approx(found.groups["mean_cost"].tolist())
    assert [bar.get_width() for bar in display.axes_[1].patches] == found.groups["infeasible_share"].tolist()
    assert f"({found.groups['optimal'].iloc[0]} rows)" in " ".join(words(display.axes_[0]))


def test_margins_show_what_was_measured():
    found = made.effect()
    display = MarginEffectDisplay.from_effect(found)
    np.testing.assert_array_equal(display.axes_[1].get_lines()[0].get_ydata(), found["mean_cost"])
    assert [line.get_ydata().tolist() for line in display.axes_[0].get_lines()] == [
        found[name].tolist() for name in ("holds_resampled", "holds_reseeded", "holds_noisy")
    ]
    assert display.ax_.get_xticklabels()[1].get_text() == "10%\n5 of 5"
    unseeded = MarginEffectDisplay.from_effect(found.assign(holds_reseeded=np.nan))
    assert len(unseeded.axes_[0].get_lines()) == 2
