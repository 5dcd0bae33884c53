"""Points: exact log-odds, monotone trends, bins, and reasons."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from fcca import FCCAScorecard, MidpointDiscretizer
from fcca.exceptions import InvalidInputError
from fcca.scorecard._columns import ScorecardColumn
from fcca.scorecard._logistic import Coefficients
from fcca.scorecard._terms import Terms
from fcca.tables import Columns
from fcca.thresholds import ThresholdTable
from scorecard.cards import fitted, hard_rows, random_table

pytestmark = pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")


@pytest.mark.parametrize("favourable", ["no", "yes"])
@pytest.mark.parametrize("seed", range(3))
def test_points_without_rounding_are_the_log_odds(seed, favourable):
    card, _, _ = fitted(seed, round_points=False, pdo=40, base_score=500, base_odds=20, favourable=favourable)
    rows = hard_rows(card, seed)
    log_odds = card.decision_function(rows) * (1 if favourable == "yes" else -1)
    expected = 500 + 40 / np.log(2) * (log_odds - np.log(20))
    np.testing.assert_allclose(card.score_points(rows), expected, rtol=1e-13)
    np.testing.assert_allclose(card.base_points_ + card.contributions(rows).sum(axis=1), expected, rtol=1e-13)
    np.testing.assert_array_equal(card.predict_proba(rows)[:, 1], expit(card.decision_function(rows)))
    assert (card.predict(rows) == np.where(card.decision_function(rows) > 0, "yes", "no")).all()


def test_rounded_points_are_whole_and_add_up():
    card, _, _ = fitted(0)
    rows = hard_rows(card, 0)
    points = card.contributions(rows)
    assert (points % 1 == 0).all().all()
    assert (card.score_points(rows) == card.base_points_ + points.sum(axis=1)).all()
    exact, _, _ = fitted(0, round_points=False)
    assert np.abs(card.score_points(rows) - exact.score_points(rows)).max() <= 0.5 * (1 + points.shape[1])


@pytest.mark.parametrize("trend", ["rising", "falling", "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_points_are_monotone_between_all_neighbouring_bins(seed, trend):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(300, 4)).round(2), columns=list("abcd"))
    y = (np.sin(2 * X["a"]) + np.cos(3 * X["b"]) + rng.normal(0, 0.7, 300) > 0).astype(int)  # no trend at all
    card = FCCAScorecard(MidpointDiscretizer(max_thresholds=20), monotonic=trend, round_points=bool(seed % 2)).fit(X, y)
    for column, points in zip(card.scorecard_.used, card.scorecard_.points, strict=True):
        found = card.trends_["abcd"[column.feature]]
        assert trend in (found, "auto")
        steps = np.diff(points[: column.n_ordinary])
        assert (steps >= 0).all() if found == "rising" else (steps <= 0).all()


def test_points_without_a_trend_may_rise_and_fall():
    card, _, _ = fitted(0)
    income = card.scorecard_.points[card.scorecard_.features_used.index("income")]
    assert {-1, 1} <= set(np.sign(np.diff(income)).tolist())


def test_a_trend_applies_to_the_named_columns_only():
    card, _, _ = fitted.__wrapped__(1, monotonic={"age": "falling", "income": None})
    assert card.trends_ == {"age": "falling"}


def test_bins_hold_every_training_row_once():
    card, X, y = fitted(4)
    for name, bins in card.table_.groupby("column"):
        assert bins["count"].sum() == len(X), name
        assert bins["share"].sum() == pytest.approx(1)
        assert (bins["count"] * bins["event_rate"]).sum() == pytest.approx((y == "yes").sum())
    names = card.table_["bin"].tolist()
    assert {"missing", "is -9", "is -8"} <= set(names)


def test_weight_of_evidence_and_information_value():
    card, X, y = fitted(5)
    mine = card.table_[(card.table_["column"] == "income") & (card.table_["bin"] == "is -9")].iloc[0]
    held, event = (X["income"] == -9).to_numpy(), y == "yes"
    good, bad = (held & ~event).sum() / (~event).sum(), max((held & event).sum(), 0.5) / event.sum()
    assert mine["count"] == held.sum()
    assert mine["WoE"] == pytest.approx(np.log(max(good, 0.5 / (~event).sum()) / bad))
    assert mine["IV"] == pytest.approx((good - (held & event).sum() / event.sum()) * mine["WoE"])


def test_the_sign_of_the_evidence_is_right_in_bins_without_a_row_of_a_class():
    rng = np.random.default_rng(0)
    for _ in range(500):
        weight = rng.integers(0, 30, (8, 2)) * (rng.random((8, 2)) < 0.6)
        weight[0], weight[1:, 1] = (50, 3), weight[1:, 1] // rng.integers(1, 20)
        column = ScorecardColumn(0, tuple(range(6)), (), (), np.zeros(8), weight.astype(float))
        total = weight.sum(axis=0).astype(float)
        more = weight[:, 0] * total[1] - weight[:, 1] * total[0]  # of the first class than in the whole table
        np.testing.assert_array_equal(np.sign(column.woe(total).round(12)), np.sign(more))
        assert (column.information_value(total) >= 0).all()


def test_the_mean_prediction_is_the_event_rate():
    for weights in (None, np.random.default_rng(0).integers(0, 4, 400).astype(float)):
        X, y = random_table(6)
        card = FCCAScorecard().fit(X, y, sample_weight=weights)
        mean = np.average(card.predict_proba(X)[:, 1], weights=weights)
        assert mean == pytest.approx(np.average(y == "yes", weights=weights), abs=1e-5)


def test_reasons_name_the_columns_that_lost_most_points():
    card, X, _ = fitted(7)
    points, reasons = card.contributions(X), card.reasons(X, n=2)
    best = {name: bins["points"].max() for name, bins in card.table_.groupby("column")}
    for row, mine in reasons.groupby("row"):
        lost = pd.Series(best) - points.loc[row]
        assert mine["drop"].tolist() == sorted(lost[lost > 0], reverse=True)[:2]
        assert all(lost[name] == value for name, value in zip(mine["feature"], mine["drop"], strict=True))
        assert mine["number"].tolist() == list(range(1, len(mine) + 1))
    of_tree = ["row", "number", "feature", "condition", "drop"]
    assert [name for name in reasons if name != "points"] == of_tree
    against_mean = card.reasons(X, against="mean")
    assert (against_mean["drop"] == -against_mean["points"]).all()
    with pytest.raises(InvalidInputError, match="against must be 'best' or 'mean', got 'worst'"):
        card.reasons(X, against="worst")


def test_a_table_without_information_gives_only_base_points():
    X, y = pd.DataFrame({"a": [0.0, 0.0, 1.0, 1.0] * 10}), np.array([0, 1, 0, 1] * 10)
    card = FCCAScorecard(MidpointDiscretizer()).fit(X, y)
    assert len(card.table_) == 0
    assert card.predict_proba(X)[:, 1] == pytest.approx(0.5)
    assert (card.score_points(X) == card.base_points_).all()
    assert len(card.reasons(X)) == 0


def test_a_declared_category_without_training_rows_has_no_points():
    rng = np.random.default_rng(0)
    kind = pd.Categorical(rng.choice(list("ab"), 300), categories=list("abc"))
    X, y = pd.DataFrame({"kind": kind}), np.where((kind == "a") ^ (rng.random(300) < 0.2), 1, 0)
    columns = Columns.of_table(X)
    table = ThresholdTable.from_counts(
        ["kind"], [0, 0], [np.nan, np.nan], [1.0, 1.0], kind=["set", "set"], labels=[["a"], ["c"]], columns=columns
    )[0]
    terms = Terms.of(table, columns.encode(X), np.ones(300), {})
    slopes = np.array([2.0, 1.0])
    (column,) = terms.columns(Coefficients(0.0, slopes), y.astype(float))
    assert column.groups == ((0,), (1,), (2,))
    a, b, c = (sum(slope for slope, codes in zip(slopes, table.codes, strict=True) if code in codes) for code in range(3))
    mean = np.where(kind == "a", a, b).mean()
    assert c != mean
    np.testing.assert_allclose(column.coefficient, [a - mean, b - mean, 0, 0, 0])
