"""Plots of frontiers, stability and drift show the values of their results."""

import numpy as np
import pytest

from fcca.plots import DriftDisplay, FrontierDisplay, StabilityDisplay
from fcca.plots._frontier_curve import _runs
from fcca.plots._plot_text import number
from plots import estimators as made


def words(ax):
    return [text.get_text() for text in ax.findobj(lambda artist: hasattr(artist, "get_text"))]


def curve(ax, marker):
    return next(line for line in ax.get_lines() if line.get_marker() == marker and len(line.get_xdata()))


def test_the_curves_of_a_frontier_show_its_rates_on_an_axis_from_0():
    found = made.frontier()
    display = FrontierDisplay.from_frontier(found)
    frame = found.to_frame()
    for marker, name in (("o", "inconsistency"), ("^", "greedy"), ("s", "frequency")):
        line = curve(display.ax_, marker)
        assert line.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
        np.testing.assert_array_equal(line.get_ydata(), frame[name])
    assert display.ax_.get_ylim()[0] == 0
    assert display.ax_.get_title() == "Best selection of each size, all proven optimal"
    assert not display.ax_.collections  # no band where all is proven


def test_unproven_points_are_hollow_and_have_a_band_down_to_their_bound():
    found = made.unproven_frontier()
    display = FrontierDisplay.from_frontier(found)
    proven, hollow = [line for line in display.ax_.get_lines() if line.get_marker() == "o"]
    assert proven.get_xdata().tolist() == [1, 2, 6]
    assert hollow.get_xdata().tolist() == [3, 4, 5]
    assert hollow.get_markerfacecolor() == "white"
    vertices = display.ax_.collections[0].get_paths()[0].vertices
    frame = found.to_frame()
    low = [min(y for x, y in vertices if x == k) for k in frame["n_thresholds"]]
    assert low == pytest.approx(np.where(frame["optimal"], frame["inconsistency"], frame["lower_bound"]))
    assert display.ax_.get_title().endswith("proven optimal for 1, 2 and 6")
    labels = [text.get_text() for ax in display.figure_.axes if ax.get_legend() for text in ax.get_legend().get_texts()]
    assert (
        "one after the other (greedy), without the rules" in labels
    )  # it is better than the optimum that follows the rules
    assert "crossed most often" in labels


def test_proven_sizes_are_listed_in_runs():
    assert _runs([1, 2, 3, 5, 8, 9], [1, 2, 3, 4, 5, 8, 9]) == "1 to 3 and 5 to 9"
    assert _runs([2], [1, 2, 3]) == "2"
    assert _runs([1, 3], [1, 2, 3]) == "1 and 3"


def test_the_title_says_if_no_point_is_proven():
    frame = made.frontier().to_frame().assign(optimal=False)
    assert "none proven optimal" in FrontierDisplay(frame).plot().ax_.get_title()


def test_bars_of_stability_are_shares_of_samples_and_diamonds_medians():
    found = made.stability()
    display = StabilityDisplay.from_stability(found)
    frame = found.to_frame().sort_values(["chosen", "exact", "column"], ascending=False, kind="stable")
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths == pytest.approx([*frame["chosen"], *frame["exact"]])
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == frame["condition"].tolist()
    np.testing.assert_array_equal(curve(display.ax_, "|").get_xdata(), frame["column"])
    moves = display.axes_[1]
    np.testing.assert_array_equal(curve(moves, "D").get_xdata(), frame["rows_median"])
    assert [path.vertices[1][0] for path in moves.collections[0].get_paths()] == pytest.approx(frame["rows_90"].tolist())
    shown = words(moves)
    for moved in frame["moved_median"]:
        assert (f"± {number(moved)}" if moved else "0") in shown


def test_stability_says_what_was_not_fitted_and_what_is_left_out():
    display = StabilityDisplay.from_stability(made.mixed_stability(), max_thresholds=4)
    left = len(made.mixed_stability().thresholds) - 4
    assert (
        display.ax_.get_xlabel().replace("\n", " ") == f"share of 6 samples; 1 sample not fitted; {left} thresholds left out"
    )
    assert words(display.axes_[1]).count("–") == 3  # sets and missing values do not move


def test_a_long_name_is_cut_but_its_threshold_stays():
    from matplotlib.figure import Figure

    display = StabilityDisplay.from_stability(made.hostile_stability(), ax=Figure(figsize=(6, 4)).subplots())
    frame = made.hostile_stability().to_frame().set_index("condition")
    frame = frame.sort_values(["chosen", "exact", "column"], ascending=False, kind="stable")
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels
    for label, condition in zip(labels, frame.index, strict=False):
        assert label.endswith(condition.rpartition(" > ")[2])


def test_drift_bars_show_the_indices_and_marks_show_chance():
    found = made.drifted()
    display = DriftDisplay.from_drift(found)
    lines = [*sorted(found.columns, key=lambda one: -one.psi), found.leaves]
    assert [bar.get_width() for bar in display.ax_.patches] == pytest.approx([one.psi for one in lines])
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [one.name for one in lines]
    assert curve(display.ax_, "|").get_xdata() == pytest.approx([one.by_chance for one in lines])
    most = lines[0]
    widths = [bar.get_width() for bar in display.axes_[1].patches]
    assert widths == pytest.approx([*most.reference_share, *most.new_share])
    assert display.axes_[1].get_title() == most.name


def test_the_bins_that_drifted_most_are_shown_in_their_order():
    found = made.many_drifted()
    display = DriftDisplay.from_drift(found, max_columns=4, max_bins=2)
    most = max(found.columns, key=lambda one: one.psi)
    kept = sorted(np.argsort(-most.contribution)[:2])
    assert [label.get_text() for label in display.axes_[1].get_yticklabels()] == [most.bins[at] for at in kept]
    assert f"{len(most.bins) - 2} bins with smaller differences left out" in display.axes_[1].get_xlabel().replace("\n", " ")
    assert f"{len(found.columns) - 4} columns with less drift left out" in display.ax_.get_xlabel().replace("\n", " ")


def test_the_reading_of_a_bar_is_not_by_colour_alone():
    display = DriftDisplay.from_drift(made.many_drifted(), max_columns=85)
    looks = {(bar.get_facecolor(), bar.get_hatch() or "") for bar in display.ax_.patches}
    assert len(looks) == len({color for color, _ in looks}) == len({hatch for _, hatch in looks}) == 3
