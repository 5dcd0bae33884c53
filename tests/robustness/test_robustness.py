"""What a margin costs and buys."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import real_data
from fcca import CounterfactualExplainer, read_model
from fcca.constraints import Immutable
from fcca.exceptions import InvalidInputError
from fcca.models import decide_at, prepared
from fcca.robustness import margin_effect, share_margin
from fcca.tables import Columns
from mixed_tables import loans


def numbers(n=300, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    score = X["a"] + 0.5 * X["b"] + rng.normal(0, 0.3, n)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))


# --- shares of the score --------------------------------------------------------------------------------------------------


def test_a_share_is_of_the_votes_for_forests_however_they_are_scored():
    X, y = numbers()
    forest = RandomForestClassifier(n_estimators=20, max_depth=4, random_state=0).fit(X, y)
    assert share_margin(forest, X, "10%") == pytest.approx(0.1)
    cautious = decide_at(forest, 0.5)
    assert read_model(cautious).n_outputs == 1
    assert share_margin(cautious, X, 0.1) == pytest.approx(0.05)
    for classifier in (forest, cautious):  # a lead of a tenth is 55 to 45
        explainer = CounterfactualExplainer(classifier, X, margin=share_margin(classifier, X, "10%"))
        found = explainer.explain(X[:40])
        reached = found.probability_after[found.is_status("optimal")]
        assert len(reached) > 20
        assert (reached >= 0.55 - 1e-9).all()


@pytest.mark.parametrize(
    "classifier",
    [GradientBoostingClassifier(n_estimators=20, random_state=0), LogisticRegression()],
    ids=["boosting", "linear"],
)
def test_a_share_is_of_the_spread_of_training_scores_for_others(classifier):
    X, y = numbers()
    classifier.fit(X, y)
    scores = classifier.decision_function(X)
    expected = 0.1 * (np.percentile(scores, 95) - np.percentile(scores, 5))
    explainer = CounterfactualExplainer(classifier, X)
    for given in (classifier, explainer):
        assert share_margin(given, X, " 10 %") == pytest.approx(expected)


def test_of_many_classes_it_is_the_lead_over_the_best_other_one():
    X, y = numbers(classes=3)
    classifier = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y)
    scores = classifier.decision_function(X)
    spreads = []
    for k in range(3):
        others = [j for j in range(3) if j != k]
        spreads.append(np.subtract(*np.percentile(scores[:, k] - scores[:, others].max(axis=1), [95, 5])))
    assert share_margin(classifier, X, 0.2) == pytest.approx(0.2 * np.mean(spreads))


@pytest.mark.parametrize("share", ["10", "ten%", "0%", "101%", 0, -0.1, 1.5, True, None, float("nan")])
def test_invalid_shares_are_refused(share):
    X, y = numbers(50)
    with pytest.raises(InvalidInputError, match="A share must be above 0 and at most 1"):
        share_margin(LogisticRegression().fit(X, y), X, share)


def test_scores_without_spread_are_refused():
    X, y = numbers(50)
    classifier = LogisticRegression().fit(X, y)
    with pytest.raises(InvalidInputError, match="The 5th and 95th percentiles of the scores of X are equal"):
        share_margin(classifier, X.iloc[[0] * 10], "10%")


# --- the effect -----------------------------------------------------------------------------------------------------------


def test_a_larger_margin_costs_more_and_lasts_longer():
    X, y = numbers()
    forest = RandomForestClassifier(n_estimators=20, max_depth=4, random_state=0).fit(X, y)
    found = margin_effect(forest, X, X[:60], y=y, margins=[1e-4, "10%", "30%"], n_refits=4)
    assert found["margin"].tolist() == [1e-4, "10%", "30%"]
    assert found["score"].tolist() == pytest.approx([1e-4, 0.1, 0.3])
    assert (found["solved"] + found["infeasible"] + found["unknown"] == found["asked"]).all()
    assert (found["asked"] == 60).all()
    assert found["mean_cost"].is_monotonic_increasing
    for name in ("holds_resampled", "holds_reseeded", "holds_noisy"):
        assert found[name].iloc[-1] > found[name].iloc[0] + 0.05
        assert found[name].between(0, 1).all()
    again = margin_effect(forest, X, X[:60], y=y, margins=[1e-4, "10%", "30%"], n_refits=4)
    pd.testing.assert_frame_equal(found, again)


def test_noise_by_hand():
    X = pd.DataFrame({"income": np.arange(11.0), "other": np.zeros(11)})
    classifier = DecisionTreeClassifier(random_state=0).fit(X, X["income"] > 5.5)
    # A change lands on 6; missed by up to 1, a quarter of the draws fall below 5.5. A stump's lead is all or nothing.
    found = margin_effect(classifier, X, X[:5], target=True, n_refits=0, noise=0.1, n_noises=2000, margins=[1e-4, "100%"])
    assert found["holds_noisy"].tolist() == pytest.approx([0.75, 0.75], abs=0.02)
    assert found["holds_resampled"].isna().all()
    exact = margin_effect(classifier, X, X[:5], target=True, n_refits=0, noise=0, margins=[1e-4])
    assert exact["holds_noisy"].tolist() == [1.0]
    assert exact["mean_cost"][0] == pytest.approx(np.mean([0.1 + (6 - i) / 10 for i in range(5)]))
    none = margin_effect(classifier, X, X[:5], target=True, n_refits=0, n_noises=0, margins=[1e-4])
    assert none["holds_noisy"].isna().all()


def test_noise_leaves_categories_alone():
    X = pd.DataFrame({"purpose": ["car", "tv"] * 10, "age": np.arange(20.0)})
    classifier = prepared(DecisionTreeClassifier(random_state=0), Columns.of_table(X)).fit(X, X["purpose"] == "car")
    found = margin_effect(classifier, X, X, target=True, n_refits=0, noise=1.0, margins=[1e-4])
    assert found[["asked", "solved", "holds_noisy"]].iloc[0].tolist() == [10, 10, 1.0]


def test_a_model_that_refits_to_the_same_holds_for_all():
    X = pd.DataFrame({"income": np.repeat(np.arange(10.0), 30), "other": np.tile(np.arange(3.0), 100)})
    y = X["income"] > 4.5
    classifier = DecisionTreeClassifier(random_state=0).fit(X, y)
    found = margin_effect(classifier, X, X[:40], y=y, n_refits=3, margins=[1e-4])
    assert found["holds_resampled"].tolist() == [1.0]
    assert found["holds_reseeded"].tolist() == [1.0]


def test_a_classifier_without_a_seed_is_not_reseeded():
    X, y = numbers()
    classifier = make_pipeline(StandardScaler(), RidgeClassifierCV()).fit(X, y)
    found = margin_effect(classifier, X, X[:10], y=y, n_refits=2, margins=[1e-4, "20%"])
    assert found["holds_reseeded"].isna().all()
    assert found["holds_resampled"].notna().all()


@pytest.mark.parametrize(
    "classifier",
    [
        RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0),
        HistGradientBoostingClassifier(max_iter=5, max_depth=2, random_state=0),
    ],
    ids=["forest", "histogram"],
)
def test_tables_with_categories_and_missing_values_refit_without_losing_a_category(classifier):
    X, y = loans(120)
    X.loc[3, "purpose"] = "rare"  # a sample has it with a chance of 63 %
    classifier = prepared(classifier, Columns.of_table(X)).fit(X, y)
    found = margin_effect(
        classifier, X, X[:40], y=y, target="good", n_refits=3, margins=[1e-4, "10%"], constraints=[Immutable("age")]
    )
    assert found["solved"].min() > 0
    assert found["holds_resampled"].between(0, 1).all()
    assert (found["asked"] == (classifier.predict(X[:40]) != "good").sum()).all()


def test_rules_that_forbid_everything_leave_nothing_to_measure():
    X, y = numbers(60)
    classifier = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    found = margin_effect(classifier, X, X[:5], y=y, n_refits=1, margins=[1e-4], constraints=[Immutable(*X.columns)])
    assert found[["solved", "infeasible"]].iloc[0].tolist() == [0, 5]
    assert found[["mean_cost", "median_cost", "holds_resampled", "holds_noisy"]].isna().all(axis=None)


def test_frozen_classifiers_and_decision_thresholds_are_refitted_as_they_are():
    X, y = numbers()
    forest = RandomForestClassifier(n_estimators=10, max_depth=3, random_state=0).fit(X, y)
    found = margin_effect(FrozenEstimator(forest), X, X[:20], y=y, n_refits=2, margins=["10%"], decision_threshold=0.7)
    assert found["score"].tolist() == [0.05]
    assert found["holds_resampled"].between(0.3, 1).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": None}, "y is required"),
        ({"y": [0, 1]}, r"X and y must have the same number of rows \(60 and 2\)"),
        ({"margins": []}, "at least one margin"),
        ({"margins": "10%"}, "margins must be a list"),
        ({"margins": ["many"]}, "A share must be"),
        ({"margins": [-1.0]}, "margin must be a number above 0"),
        ({"margin": 0.1}, "no parameter 'margin'. Pass a list of margins as 'margins' instead"),
        ({"n_refits": -1}, "n_refits must be"),
        ({"n_noises": 1.5}, "n_noises must be"),
        ({"noise": 2}, "noise must be a share"),
        ({"target": 0, "rows": "answered 0"}, "already predicted as 0"),
        ({"target": 7}, "not a class"),
    ],
)
def test_invalid_input_is_refused(changes, message):
    X, y = numbers(60)
    classifier = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    arguments = {"y": y, "rows": X[:5]} | changes
    rows = arguments.pop("rows")
    if isinstance(rows, str):
        rows = X[classifier.predict(X) == 0]
    with pytest.raises(InvalidInputError, match=message):
        margin_effect(classifier, X, rows, **arguments)


def test_a_frozen_inner_classifier_cannot_be_refitted():
    X, y = numbers(60)
    pipeline = make_pipeline(FrozenEstimator(StandardScaler().fit(X)), LogisticRegression()).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"cannot be refitted.*n_refits=0"):
        margin_effect(pipeline, X, X[:5], y=y)
    assert len(margin_effect(pipeline, X, X[:5], n_refits=0, margins=[1e-4])) == 1


def test_margins_make_changes_last_on_compas():
    table = pd.read_csv(real_data.data_file("compas"))
    X, y = table.drop(columns="label"), table["label"]
    forest = RandomForestClassifier(n_estimators=20, max_depth=5, random_state=0)
    forest = prepared(forest, Columns.of_table(X)).fit(X, y)
    found = margin_effect(forest, X, X[:100], y=y, target=0, margins=[1e-4, "10%"], n_refits=3, n_jobs=2)
    assert (found["solved"] == found["asked"]).all()
    assert found["holds_resampled"][1] > found["holds_resampled"][0] + 0.1
    assert found["mean_cost"][1] > found["mean_cost"][0]
