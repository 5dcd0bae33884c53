"""CounterfactualExplainer: the cheapest changes, one or several, to a class or a probability."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fcca import CounterfactualExplainer
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from fcca.exceptions import InvalidInputError, UnsupportedModelError, UnverifiedCounterfactualWarning
from oracles.all_changes import all_changes
from real_data import imported


@pytest.fixture(scope="module")
def data():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def stumps(data):
    return GradientBoostingClassifier(max_depth=1, random_state=0).fit(*data)


@pytest.fixture(scope="module")
def explainer(stumps, data):
    return CounterfactualExplainer(stumps, data[0])


# --- one answer ---------------------------------------------------------------------------------------------------------


def test_results_equal_those_of_the_engine(stumps, data, explainer):
    X = data[0].iloc[:50]
    engine = CounterfactualEngine(stumps, CounterfactualProblem())
    engine.observe(data[0].to_numpy())
    own = engine.class_index(stumps.predict(X))
    expected = engine.solve(X.to_numpy(), np.arange(50), own, feature_names=X.columns)
    found = explainer.explain(X)
    np.testing.assert_array_equal(found.cost, expected.cost)
    np.testing.assert_array_equal(found.x, expected.apply(X.to_numpy()))
    assert set(found.status) == {"optimal"}
    np.testing.assert_array_equal(stumps.predict(pd.DataFrame(found.x, columns=X.columns)), found.target)
    np.testing.assert_array_equal(found.predicted, stumps.predict(X))


def test_one_row_may_come_in_any_form(explainer, data):
    X = data[0]
    forms = [X.iloc[[17]], X.iloc[17], X.to_numpy()[17], X.to_numpy()[[17]], X.iloc[17].tolist()]
    answers = [explainer.explain(form) for form in forms]
    for found in answers:
        np.testing.assert_array_equal(found.x, answers[0].x)
    assert answers[0].to_frame()["row"].tolist()[0] == 17
    assert answers[1].to_frame()["row"].tolist()[0] == 17
    assert answers[2].to_frame()["row"].tolist()[0] == 0


def test_frames_of_polars_are_taken(explainer, data):
    polars = imported("polars")
    X = data[0].iloc[:3]
    found = explainer.explain(polars.DataFrame(X.to_dict("list")))
    np.testing.assert_array_equal(found.x, explainer.explain(X).x)


def test_the_number_of_threads_does_not_matter(stumps, data):
    X = data[0]
    one, two = (CounterfactualExplainer(stumps, X, n_jobs=n_jobs).explain(X.iloc[:40], n=3) for n_jobs in (1, 2))
    columns = ["row", "answer", "target", "status", "cost", "bound", "feature", "from", "to", "cut"]
    pd.testing.assert_frame_equal(one.to_frame()[columns], two.to_frame()[columns])


def test_the_frames_hold_what_was_found(explainer, data):
    X = data[0].iloc[[3, 8]].set_axis(["anna", "bert"])
    found = explainer.explain(X, n=2)
    frame = found.to_frame()
    assert list(frame.columns) == [
        *("row", "answer", "target", "status", "cost", "bound", "seconds", "feature", "from", "to", "cut")
    ]
    for _, move in frame.iterrows():
        assert X.loc[move["row"], move["feature"]] == move["from"]
        low, high = sorted([move["from"], move["to"]])
        assert low <= move["cut"] <= high
    changed = found.changed()
    assert changed.index.tolist() == [("anna", 1), ("anna", 2), ("bert", 1), ("bert", 2)]
    assert set(changed.columns.get_level_values("feature")) == set(frame["feature"])
    for i, (row, _) in enumerate(changed.index):
        for name in set(frame["feature"]):
            assert changed.iloc[i][(name, "original")] == X.loc[row, name]
            assert changed.iloc[i][(name, "changed")] == found.x[i, X.columns.get_loc(name)]
    assert found.changed(all_features=True).shape == (4, 2 * X.shape[1])


def test_probabilities_before_and_after_are_the_classifiers_own(explainer, stumps, data):
    X = data[0].iloc[:20]
    found = explainer.explain(X)
    at = np.arange(20)
    np.testing.assert_array_equal(found.probability_before, stumps.predict_proba(X)[at, found.target])
    changed = pd.DataFrame(found.x, columns=X.columns)
    np.testing.assert_array_equal(found.probability_after, stumps.predict_proba(changed)[at, found.target])
    assert (found.probability_after > 0.5).all()


def test_it_prints_itself(explainer, data):
    found = explainer.explain(data[0].iloc[:6], n=2)
    text = repr(found)
    assert text.startswith("Explanations of 6 rows: 12 optimal\n  Row 0 would be class 1 if ")
    assert "  Row 0 would also be class 1 if " in text
    assert text.endswith("… 2 more")
    html = found._repr_html_()
    assert html.count("<tr>") == 13
    assert "optimal" in html


def test_html_escapes_names_of_columns(data):
    X, y = data[0].to_numpy()[:, [27]], np.where(data[1] == 1, "<b>", "&")
    X = pd.DataFrame(X, columns=["<script>alert(1)</script>"])
    model = DecisionTreeClassifier(max_depth=1).fit(X, y)
    html = CounterfactualExplainer(model, X).explain(X.iloc[:2])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;" in html


# --- targets ------------------------------------------------------------------------------------------------------------


def test_a_row_that_is_there_already_need_not_change(explainer, data, stumps):
    X = data[0].iloc[:30]
    found = explainer.explain(X, target=1)
    there = stumps.predict(X) == 1
    assert (found.cost[there] == 0).all()
    assert (found.cost[~there] > 0).all()
    assert set(found.status) == {"optimal"}
    np.testing.assert_array_equal(found.x[there], X.to_numpy()[there])
    row = int(np.flatnonzero(there)[0])
    assert found.sentences({1: "benign"})[row] == f"Row {row} is already benign: nothing has to change."
    assert len(explainer.explain(X.iloc[[row]], target=1, n=3)) == 1


def test_each_row_may_have_its_own_target(data):
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    model = GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0).fit(X, y)
    explainer = CounterfactualExplainer(model, X)
    rows, targets = X[[0, 0, 60, 60]], ["versicolor", "virginica", "setosa", "virginica"]
    found = explainer.explain(rows, target=targets)
    assert found.target.tolist() == targets
    assert model.predict(found.x).tolist() == targets
    cheapest = explainer.explain(rows)
    np.testing.assert_allclose(cheapest.cost[0], found.cost[:2].min(), rtol=1e-9)
    np.testing.assert_allclose(cheapest.cost[2], found.cost[2:].min(), rtol=1e-9)


@pytest.mark.parametrize("target", ["versicolor", 7, [0, 1, 0], [[0]], np.nan, [0, "x"], {}])
def test_an_unknown_target_is_refused(explainer, data, target):
    with pytest.raises(InvalidInputError, match=r"class|label"):
        explainer.explain(data[0].iloc[:2], target=target)


# --- probabilities ------------------------------------------------------------------------------------------------------

PROBABLE = {
    "boosting": lambda: GradientBoostingClassifier(max_depth=1, n_estimators=30, random_state=0),
    "exponential loss": lambda: GradientBoostingClassifier(max_depth=1, n_estimators=20, loss="exponential", random_state=0),
    "forest": lambda: RandomForestClassifier(n_estimators=10, max_depth=2, random_state=0),
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "scaled boosting": lambda: make_pipeline(MinMaxScaler(), GradientBoostingClassifier(max_depth=1, random_state=0)),
}


@pytest.fixture(scope="module")
def few_columns(data):
    X, y = data
    return X[["worst area", "worst texture", "worst concave points"]], y


@pytest.mark.parametrize("name", PROBABLE)
@pytest.mark.parametrize("probability", [0.6, 0.9])
def test_the_target_probability_is_reached(few_columns, name, probability):
    X, y = few_columns
    model = PROBABLE[name]().fit(X, y)
    rows = X.iloc[::40]
    found = CounterfactualExplainer(model, X).explain(rows, target_probability=probability)
    assert set(found.status) <= {"optimal", "infeasible"}
    assert (found.status == "optimal").sum() >= len(rows) / 2
    reached = found.is_status("optimal")
    assert (found.probability_after[reached] >= probability - 1e-6).all()
    plain = CounterfactualExplainer(model, X).explain(rows)
    assert (found.cost >= plain.cost - 1e-9).all()
    again = CounterfactualExplainer(model, X).explain(rows, target=1, target_probability=probability)
    sure = model.predict_proba(rows)[:, 1] >= probability
    assert (again.cost[sure] == 0).all()
    assert (again.cost[~sure] > 0).all()


@pytest.mark.parametrize("name", ["boosting", "forest", "scaled boosting"])
def test_nothing_cheaper_has_the_probability(few_columns, name):
    X, y = few_columns
    model = clone(PROBABLE[name]())
    model.set_params(**{key: 4 for key in model.get_params() if key.endswith("n_estimators")}).fit(X.to_numpy(), y)
    X = X.to_numpy()
    problem = CounterfactualProblem()
    explainer = CounterfactualExplainer(model, X)
    for row in X[::80]:
        for probability in (0.55, 0.7, 0.85):
            for target in (0, 1):
                found = explainer.explain(row, target=target, target_probability=probability)
                points, _, costs = all_changes(model, X, row, problem)
                reached = (model.predict_proba(points)[:, target] >= probability - 1e-9) & (model.predict(points) == target)
                np.testing.assert_allclose(found.cost[0], costs[reached].min(initial=np.inf), rtol=1e-9)


def test_without_probabilities_it_is_the_logistic_of_the_decision_function(few_columns):
    X, y = few_columns
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    found = CounterfactualExplainer(model, X).explain(X.iloc[::40], target_probability=0.8)
    assert set(found.status) == {"optimal"}
    score = model.decision_function(pd.DataFrame(found.x, columns=X.columns))
    np.testing.assert_allclose(expit(np.where(found.target == 1, score, -score)), 0.8, atol=1e-6)
    assert np.isnan(found.probability_after).all()


def test_a_probability_that_no_score_has_is_infeasible(few_columns):
    X, y = few_columns
    model = CalibratedClassifierCV(
        FrozenEstimator(GradientBoostingClassifier(max_depth=1, n_estimators=5, random_state=0).fit(X, y)), method="sigmoid"
    ).fit(X, y)
    highest = model.predict_proba(X)[:, 1].max()
    found = CounterfactualExplainer(model, X).explain(X.iloc[:3], target=1, target_probability=(1 + highest) / 2)
    assert set(found.status) == {"infeasible"}
    assert np.isnan(found.x).all()
    assert "leads to benign with a probability of at least" in found.sentences({1: "benign"})[0]


def test_a_missed_probability_is_unverified(few_columns, monkeypatch):
    X, y = few_columns
    model = PROBABLE["boosting"]().fit(X, y)
    explainer = CounterfactualExplainer(model, X)
    monkeypatch.setattr(type(model), "predict_proba", lambda self, X: np.full((len(X), 2), 0.5))
    with pytest.warns(UnverifiedCounterfactualWarning, match="2 of 2"):
        found = explainer.explain(X.iloc[:2], target_probability=0.9)
    assert set(found.status) == {"unverified"}
    assert "not confirmed" in found.sentences()[0]


@pytest.mark.parametrize("probability", [0, 1, 1.5, -0.1, np.nan, "high", True])
def test_invalid_probabilities_are_refused(explainer, data, probability):
    with pytest.raises(InvalidInputError, match="target_probability"):
        explainer.explain(data[0].iloc[:2], target_probability=probability)


def test_probabilities_are_for_two_classes_and_for_functions_of_the_score(few_columns):
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=3).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="two classes, but the classifier has 3"):
        CounterfactualExplainer(model, X).explain(X[:2], target_probability=0.9)
    X, y = few_columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of scikit-learn, on probability=True
        model = SVC(kernel="linear", probability=True, random_state=0).fit(X, y)
    with pytest.raises(UnsupportedModelError):
        CounterfactualExplainer(model, X).explain(X.iloc[:2], target_probability=0.9)


def test_a_decision_threshold_changes_the_counterfactual(few_columns):
    X, y = few_columns
    model = PROBABLE["boosting"]().fit(X, y)
    found = CounterfactualExplainer(model, X, decision_threshold=0.2).explain(X.iloc[::20])
    second = model.predict_proba(X.iloc[::20])[:, 1] >= 0.2
    np.testing.assert_array_equal(found.predicted, second.astype(int))
    answered = found.is_status("optimal")
    after = model.predict_proba(pd.DataFrame(found.x[answered], columns=X.columns))[:, 1] >= 0.2
    np.testing.assert_array_equal(after, ~second[answered])
    for threshold in (0, 1, 2, "x", np.nan):
        with pytest.raises(InvalidInputError, match="threshold"):
            CounterfactualExplainer(model, X, decision_threshold=threshold)


# --- time ---------------------------------------------------------------------------------------------------------------


def test_without_time_nothing_is_claimed(stumps, data):
    X = data[0]
    found = CounterfactualExplainer(stumps, X, time_limit=0).explain(X.iloc[:20], target=0, n=3)
    there = found.cost == 0
    assert set(found.status[~there]) <= {"unknown", "feasible"}
    assert set(found.status[there]) == {"optimal"}
    assert (found.bound <= found.cost).all()
    sentences = [text for text, status in zip(found.sentences(), found.status, strict=True) if status == "unknown"]
    assert all("time ran out before a" in text for text in sentences)
    assert "unknown" in repr(found)
    assert len(found.to_frame()) >= 20


def test_a_limit_per_search_ends_only_what_takes_longer(data):
    X, y = data
    model = RandomForestClassifier(n_estimators=60, max_depth=5, random_state=0).fit(X, y)
    found = CounterfactualExplainer(model, X, time_limit_per_row=1e-3).explain(X.iloc[:10], n=2)
    assert set(found.status) <= {"optimal", "feasible", "unknown"}
    assert (found.bound <= found.cost).all()
    answered = found.is_status("feasible", "optimal")
    changed = pd.DataFrame(found.x[answered], columns=X.columns)
    np.testing.assert_array_equal(model.predict(changed), found.target[answered])


def test_a_timeout_keeps_results_and_marks_them_unproven(stumps, data, monkeypatch):
    X = data[0].iloc[:4]
    explainer = CounterfactualExplainer(stumps, data[0])
    exact = explainer.explain(X, n=3)
    solve = explainer.engine.solve
    calls = []

    def late(*args, **options):
        calls.append(1)
        return solve(*args, **(options | {"time_limit": 0} if len(calls) > 1 else options))

    monkeypatch.setattr(explainer.engine, "solve", late)
    found = explainer.explain(X, n=3)
    first = found.answer == 1
    assert set(found.status[first]) == {"optimal"}
    assert set(found.status[~first]) <= {"unknown", "feasible"}
    for i in np.flatnonzero(~first):
        same = (exact.rows == found.rows[i]) & (exact.answer == found.answer[i])
        assert found.bound[i] <= exact.cost[same][0] + 1e-9
    assert (found.bound[~first] > 0).all()  # no further answer is cheaper than the first


# --- what cannot be used ------------------------------------------------------------------------------------------------


def test_an_unfitted_model_is_refused(data):
    for model in (GradientBoostingClassifier(max_depth=1), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(NotFittedError, match="not fitted"):
            CounterfactualExplainer(model, data[0])


@pytest.mark.parametrize("model", ["model", None, 3, KNeighborsClassifier(), GradientBoostingClassifier])
def test_an_unsupported_classifier_is_refused(data, model):
    with pytest.raises(UnsupportedModelError):
        CounterfactualExplainer(model, data[0])


def test_other_columns_than_those_of_the_fit_are_refused(stumps, data):
    X = data[0]
    first, second = X.columns[:2]
    for other, message in (
        (X.iloc[:, 1:], f"lacks '{first}'"),
        (X.assign(surplus=1.0), "also has 'surplus'"),
        (X.rename(columns={first: "radius"}), f"lacks '{first}' and also has 'radius'"),
        (X[[second, first, *X.columns[2:]]], "another order: column 0"),
        (X.to_numpy()[:, 1:], "X has 29 column"),
    ):
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            CounterfactualExplainer(stumps, other)
        explainer = CounterfactualExplainer(stumps, X)
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            explainer.explain(other.iloc[:2] if isinstance(other, pd.DataFrame) else other[:2])
    with pytest.raises(InvalidInputError, match="another order"):
        CounterfactualExplainer(stumps, X).explain(X.iloc[0][::-1])


def test_a_model_without_names_takes_the_names_of_the_data(data):
    X, y = data
    model = GradientBoostingClassifier(max_depth=1, n_estimators=5, random_state=0).fit(X.to_numpy(), y)
    assert CounterfactualExplainer(model, X).explain(X.iloc[0]).to_frame()["feature"][0] in X.columns
    assert CounterfactualExplainer(model, X.to_numpy()).explain(X.iloc[0].to_numpy()).feature_names[0] == "x0"


@pytest.mark.parametrize(
    "options",
    [
        {"lambda0": -1},
        {"lambda1": "x"},
        {"lambda2": np.nan},
        {"margin": 0},
        {"margin": None},
        {"n_jobs": 0},
        {"n_jobs": 1.5},
        {"time_limit": -1},
        {"time_limit_per_row": "long"},
    ],
)
def test_bad_parameters_are_named(stumps, data, options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        CounterfactualExplainer(stumps, data[0], **options)


# --- boosters -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_themselves_are_explained(few_columns, library):
    X, y = few_columns
    module = imported(library)
    if library == "xgboost":
        settings = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
        booster = module.train(settings, module.DMatrix(X, label=y), num_boost_round=10)
    else:
        settings = {"objective": "binary", "max_depth": 2, "num_threads": 1, "verbosity": -1}
        booster = module.train(settings, module.Dataset(X, label=y), num_boost_round=10)
    found = CounterfactualExplainer(booster, X).explain(X.iloc[:10], target_probability=0.7, n=2)
    assert set(found.status) <= {"optimal", "infeasible"}
    answered = found.is_status("optimal")
    assert (found.probability_after[answered] >= 0.7 - 1e-6).all()
