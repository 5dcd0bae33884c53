"""OptimalSelection.frontier."""

import numpy as np
import pandas as pd
import pytest

from fcca import ThresholdTable
from fcca.exceptions import InvalidInputError, UnfinishedSearchWarning
from fcca.metrics import inconsistency_rate
from fcca.selection import OptimalSelection

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 4)).round(2)
    y = ((X[:, 0] > 0.3) ^ (X[:, 1] > -0.2)).astype(int)
    X[:, 3] += y  # tells most on its own, and nothing beside the other two: greedy takes it first
    feature, threshold = np.repeat(np.arange(4), 4), np.tile([-1.0, -0.2, 0.3, 1.0], 4)
    table, _ = ThresholdTable.from_counts(NAMES, feature, threshold, rng.integers(1, 6, 16))
    return table, pd.DataFrame(X, columns=NAMES), y


@pytest.fixture(scope="module")
def frontier(problem):
    return OptimalSelection().frontier(*problem)


@pytest.mark.parametrize("limits", [{}, {"keep": ["d > 1"], "forbid": ["a"], "per_feature": 2}], ids=["free", "limits"])
def test_every_size_equals_the_result_of_select(problem, limits):
    frontier = OptimalSelection(**limits).frontier(*problem, k=[1, 2, 4])
    for k in (1, 2, 4):
        alone = OptimalSelection(k, **limits).select(*problem)
        assert frontier.at(k).thresholds == alone.thresholds
        assert frontier.at(k).inconsistency == alone.inconsistency
        assert frontier.at(k).is_optimal


def test_ascends_to_all_conditions(frontier, problem):
    assert frontier.n_thresholds == tuple(range(1, 17))
    assert len(frontier) == 16
    assert [one.n_thresholds for one in frontier] == list(range(1, 17))
    rates = [one.inconsistency for one in frontier]
    assert rates == sorted(rates, reverse=True)
    assert frontier.at(16).kept.all()


def test_numbers_are_sorted_distinct_and_limited(problem):
    assert OptimalSelection().frontier(*problem, k=[4, 2, 2, 30, 40]).n_thresholds == (2, 4, 16)
    assert OptimalSelection(per_feature=1).frontier(*problem, k=iter([3, 9])).n_thresholds == (3, 4)
    assert OptimalSelection(keep=[0, 1]).frontier(*problem, k=range(1, 4)).n_thresholds == (2, 3)


def test_simpler_choices_are_listed(frontier, problem):
    table, X, y = problem
    B = table.binarize(X)
    by_frequency = np.argsort(-table.count, kind="stable")
    chosen = []
    for k in range(1, 17):
        left = [at for at in range(16) if at not in chosen]
        chosen.append(min(left, key=lambda at: (inconsistency_rate(B[:, [*chosen, at]], y), -table.count[at], at)))
        assert frontier.frequency[k - 1] == pytest.approx(inconsistency_rate(B[:, by_frequency[:k]], y))
        assert frontier.greedy[k - 1] == pytest.approx(inconsistency_rate(B[:, chosen], y))
        assert frontier.at(k).inconsistency <= min(frontier.greedy[k - 1], frontier.frequency[k - 1])
    assert frontier.at(2).inconsistency == 0 < frontier.greedy[1]


def test_simpler_choices_ignore_limits(frontier, problem):
    limited = OptimalSelection(forbid=["a"], per_feature=1).frontier(*problem, k=[1, 2])
    assert limited.frequency == frontier.frequency[:2]
    assert limited.greedy == frontier.greedy[:2]


def test_weights_count(problem):
    table, X, y = problem
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    weighted = OptimalSelection().frontier(table, X, y, [1, 3], weight)
    written = OptimalSelection().frontier(table, X.iloc[again], y[again], [1, 3])
    assert [one.thresholds for one in weighted] == [one.thresholds for one in written]
    np.testing.assert_allclose(weighted.frequency, written.frequency)
    np.testing.assert_allclose(weighted.greedy, written.greedy)


def test_as_a_frame(frontier):
    frame = frontier.to_frame()
    assert list(frame.columns) == [
        *("n_thresholds", "inconsistency", "lower_bound", "gap", "optimal", "frequency", "greedy", "features", "thresholds")
    ]
    line = frame.iloc[2]
    assert line["n_thresholds"] == 3
    assert line["thresholds"] == frontier.at(3).thresholds.names()
    assert line["features"] == len(frontier.at(3).thresholds.features_used)
    assert frame["optimal"].all()
    assert (frame["gap"] == 0).all()


def test_is_shown_as_a_table(frontier):
    lines = repr(frontier).splitlines()
    assert len(lines) == 17
    assert lines[0].split()[:2] == ["thresholds", "inconsistency"]
    assert "proven optimal" in lines[1]
    html = frontier._repr_html_()
    assert html.count("<tr>") == 17
    assert "a &gt; 0.3" in html
    assert "(16 in all)" in html


def test_one_warning_for_all_unfinished_searches(problem):
    with pytest.warns(UnfinishedSearchWarning) as caught:
        frontier = OptimalSelection(time_limit=0).frontier(*problem, k=range(2, 9))
    assert len(caught) == 1
    unfinished = sum(not one.is_optimal for one in frontier)
    assert f"stopped {unfinished} of 7 searches" in str(caught[0].message)
    assert frontier.n_thresholds == tuple(range(2, 9))
    assert all(one.lower_bound <= one.inconsistency for one in frontier)


def test_time_is_shared(problem, monkeypatch):
    from fcca.selection._selection_problem import SelectionProblem

    limits, solve = [], SelectionProblem.solve

    def watched(self, n, **rest):
        limits.append(rest["time_limit"])
        return solve(self, n, **rest)

    monkeypatch.setattr(SelectionProblem, "solve", watched)
    OptimalSelection(time_limit=1000).frontier(*problem, k=[1, 2, 3, 4])
    assert limits[0] <= 250
    # What one does not need is left to those after it.
    assert all(limit == pytest.approx(1000 / n, rel=0.1) for limit, n in zip(limits, [4, 3, 2, 1], strict=True))


@pytest.mark.parametrize(
    ("k", "words"),
    [
        ([], "at least one number"),
        ([0, 1], "whole number of at least 1, got 0"),
        ([1.5], "whole number"),
        (3, "must be a list of numbers of conditions"),
        ("12", "must be a list of numbers of conditions"),
    ],
    ids=str,
)
def test_invalid_numbers_are_refused(problem, k, words):
    with pytest.raises(InvalidInputError, match=words):
        OptimalSelection().frontier(*problem, k=k)


def test_unknown_sizes_are_refused(frontier, problem):
    with pytest.raises(InvalidInputError, match="no selection of 17 conditions"):
        frontier.at(17)
    with pytest.raises(InvalidInputError, match="smaller than the number of conditions in 'keep'"):
        OptimalSelection(keep=[0, 1, 2]).frontier(*problem, k=[1, 2])
    with pytest.raises(InvalidInputError, match="fit_to"):
        OptimalSelection(fit_to="model").frontier(*problem)
