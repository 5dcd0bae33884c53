"""Rules of CounterfactualExplainer, and tables with categories and missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fcca import CounterfactualExplainer
from fcca.constraints import (
    Bounds,
    Cost,
    Fillable,
    Forbidden,
    Grid,
    Immutable,
    Implies,
    Increasing,
    Integer,
    Limits,
    MaxChanges,
    OneHot,
    Rule,
    holds,
)
from fcca.counterfactuals import _explainer
from fcca.exceptions import InvalidInputError, UnknownValuesWarning, UnverifiedCounterfactualWarning
from real_data import imported


def loans(n=300, seed=0):
    """Incomes with missing values, purposes, and granted loans."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n).astype(float),
            "income": np.round(rng.gamma(3, 12, n), 1),
            "rent": np.round(rng.gamma(2, 4, n), 1),
            "purpose": rng.choice(["car", "house", "tv"], n),
        }
    )
    worth = frame["income"] - 2 * frame["rent"] + 15 * (frame["purpose"] == "house") + frame["age"] / 5
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame, np.where(worth.fillna(0) > 35, "granted", "refused")


@pytest.fixture(scope="module")
def data():
    X, y = loans()
    return X.assign(purpose=X["purpose"].astype("category")), y


@pytest.fixture(scope="module")
def model(data):
    return HistGradientBoostingClassifier(
        max_iter=20, max_depth=2, categorical_features="from_dtype", early_stopping=False, random_state=0
    ).fit(*data)


@pytest.fixture(scope="module")
def explainer(model, data):
    return CounterfactualExplainer(model, data[0])


@pytest.fixture(scope="module")
def refused(model, data):
    return data[0][model.predict(data[0]) == "refused"].iloc[:25]


RULES = [
    Immutable("age"),
    Increasing("income"),
    Bounds("income", by=(None, 20)),
    Bounds("rent", -0.3, 0.3, relative=True),
    Forbidden("purpose", [("car", "tv")]),
    MaxChanges(2),
    Rule("rent <= income"),
    Fillable("income"),
    Cost("purpose", 3),
]


def judged(found, explainer, rules):
    answered = found.is_status("optimal")
    return holds(rules, explainer.columns, found.table[found.rows][answered], found.points[answered])


def test_answers_keep_the_rules_and_cost_no_less(model, explainer, refused):
    free, ruled = explainer.explain(refused), explainer.explain(refused, constraints=RULES)
    assert not judged(free, explainer, RULES).all()
    assert judged(ruled, explainer, RULES).all()
    assert ruled.is_status("optimal").sum() > 3
    assert set(ruled.status) <= {"optimal", "infeasible"}
    unfilled = ~np.isnan(ruled.table[:, 1])  # elsewhere a rule has opened a way
    assert (ruled.cost >= free.cost - 1e-9)[unfilled].all()
    changed = ruled.x[ruled.is_status("optimal")]
    np.testing.assert_array_equal(model.predict(changed), ruled.target[ruled.is_status("optimal")])


def test_a_rule_that_holds_anyway_changes_nothing(explainer, refused):
    free = explainer.explain(refused)
    for rule in RULES:
        found = explainer.explain(refused, constraints=[rule])
        assert judged(found, explainer, [rule]).all(), rule
        if isinstance(rule, Fillable | Cost):
            continue
        already = holds([rule], explainer.columns, free.table[free.rows], free.points) & free.is_status("optimal")
        assert already.any(), rule
        np.testing.assert_allclose(found.cost[already], free.cost[already], rtol=1e-9)


def test_a_rule_makes_no_answer_cheaper_however_many_values_there_are():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(700, 3)), columns=["a", "b", "c"])
    model = GradientBoostingClassifier(max_depth=2, n_estimators=15, random_state=0).fit(X, X["a"] * X["b"] + X["c"] > 0)
    explainer = CounterfactualExplainer(model, X)
    free = explainer.explain(X.iloc[:60])
    for rules in (
        [Rule("c <= b")],
        [Rule("a + b + c <= 1"), Implies("a falls", "b rises")],
        [Implies("c falls", "b falls")],
    ):
        found = explainer.explain(X.iloc[:60], constraints=rules)
        assert judged(found, explainer, rules).all()
        assert (found.cost >= free.cost * (1 - 1e-9)).all(), rules
        kept = holds(rules, explainer.columns, free.table, free.points)
        np.testing.assert_allclose(found.cost[kept], free.cost[kept], rtol=1e-9)
        assert 0 < kept.sum() < len(kept)


def test_rules_of_the_explainer_and_of_the_call_add_up(model, data, explainer, refused):
    both = explainer.explain(refused, constraints=RULES)
    half = CounterfactualExplainer(model, data[0], constraints=RULES[:4])
    assert half.constraints == tuple(RULES[:4])
    np.testing.assert_array_equal(half.explain(refused, constraints=RULES[4:]).cost, both.cost)
    np.testing.assert_array_equal(half.explain(refused).cost, explainer.explain(refused, constraints=RULES[:4]).cost)
    one = explainer.explain(refused, constraints=MaxChanges(1))
    assert np.bincount(one.moves.point).max() == 1


def test_several_answers_keep_the_rules(explainer, refused):
    found = explainer.explain(refused, n=3, constraints=RULES)
    assert judged(found, explainer, RULES).all()
    assert (found.answer == 2).sum() > 5


def test_a_probability_is_reached_within_the_rules(model, explainer, refused):
    found = explainer.explain(refused, target="granted", target_probability=0.8, constraints=[Immutable("age")])
    answered = found.is_status("optimal")
    assert answered.any()
    assert (found.probability_after[answered] >= 0.8 - 1e-6).all()
    assert judged(found, explainer, [Immutable("age")]).all()


def test_rules_that_the_given_rows_break_are_reported(explainer, data):
    X = data[0].set_axis([f"loan {i}" for i in range(len(data[0]))])
    rows = X[(X["rent"] > 8) & X["income"].notna()].iloc[:3]
    found = explainer.explain(rows, constraints=[Bounds("rent", high=8), Integer("age")])
    assert found.broken_rules["row"].tolist() == rows.index.tolist()
    assert found.broken_rules["rule"].tolist() == ["Bounds('rent', high=8)"] * 3
    assert found.broken_rules["why"][0] == f"rent is {rows['rent'].iloc[0]:g}, above 8"
    assert len(explainer.explain(rows).broken_rules) == 0


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([Immutable("agee")], "unknown column 'agee'. Did you mean 'age'?"),
        ([Forbidden("purpose", [("cars", "tv")])], "no category 'cars'. Did you mean 'car'?"),
        ([OneHot("age", "rent")], "values other than 0 and 1"),
        ([Bounds("rent", low=1e6)], "no value of 'rent' in the data, from 0.1 to 35.3, is within the bounds"),
        (["age"], "rules of fcca.constraints, got 'age'"),
        (3, "list of rules"),
    ],
)
def test_rules_that_cannot_hold_are_refused_before_any_search(model, data, explainer, rules, message):
    with pytest.raises(InvalidInputError, match=message):
        CounterfactualExplainer(model, data[0], constraints=rules)
    with pytest.raises(InvalidInputError, match=message):
        explainer.explain(data[0].iloc[:2], constraints=rules)


def test_an_answer_that_breaks_a_rule_would_be_unverified(explainer, refused, monkeypatch):
    monkeypatch.setattr(_explainer, "compile_rules", lambda *given, **named: Limits())
    with pytest.warns(UnverifiedCounterfactualWarning, match="or break a rule"):
        found = explainer.explain(refused, constraints=[Immutable("rent", "income", "age", "purpose")])
    assert set(found.status) <= {"unverified", "infeasible"}


def test_numbers_may_stand_for_columns_without_names():
    X, y = loans()
    X = X[["age", "rent"]].to_numpy()
    model = GradientBoostingClassifier(max_depth=1, n_estimators=20, random_state=0).fit(X, y)
    explainer = CounterfactualExplainer(model, X)
    found = explainer.explain(X[:20], constraints=[Immutable("x1")])
    assert set(found.moves.feature) == {0}
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = CounterfactualExplainer(model, frame).explain(frame.iloc[:20], constraints=[Immutable("b")])
    np.testing.assert_array_equal(named.cost, found.cost)


# --- tables -------------------------------------------------------------------------------------------------------------


def test_one_row_with_categories_and_missing_values_may_come_in_any_form(explainer, refused):
    polars = imported("polars")
    row = refused[refused["income"].isna()].iloc[[0]]
    forms = [
        row,
        row.iloc[0],
        row.astype({"purpose": object}),
        row.iloc[0].tolist(),
        row.to_numpy(dtype=object),
        polars.DataFrame(row.astype({"purpose": str}).to_dict("list")),
    ]
    for form in forms:
        found = explainer.explain(form, constraints=[Fillable("income")])
        assert np.isnan(found.table[0, 1])
        pd.testing.assert_frame_equal(found.x, explainer.explain(row, constraints=[Fillable("income")]).x)


def test_a_pipeline_is_explained_in_the_columns_that_it_is_given():
    X, y = loans()
    X = X.assign(income=X["income"].fillna(20.0))
    encoder = ColumnTransformer([("labels", OneHotEncoder(), ["purpose"])], remainder="passthrough")
    model = make_pipeline(encoder, GradientBoostingClassifier(n_estimators=20, random_state=0)).fit(X, y)
    explainer = CounterfactualExplainer(model, X)
    found = explainer.explain(X.iloc[:40], constraints=[Immutable("income", "rent", "age")])
    answered = found.is_status("optimal")
    assert answered.any()
    assert set(found.moves.feature) == {3}
    np.testing.assert_array_equal(model.predict(found.x[answered]), found.target[answered])
    assert set(found.x["purpose"][answered]) <= {"car", "house", "tv"}
    assert "purpose" in found.sentences()[np.flatnonzero(answered)[0]]


def test_unknown_categories_are_replaced_and_impossible_numbers_refused(explainer, data):
    with pytest.warns(UnknownValuesWarning, match="1 unknown category in column 'purpose'"):
        found = explainer.explain(data[0].iloc[:2].astype({"purpose": object}).assign(purpose=["boat", "car"]))
    assert found.replaced["value"].tolist() == ["boat"]
    with pytest.raises(InvalidInputError, match="infinite values: column 'age'"):
        explainer.explain(data[0].iloc[:1].assign(age=np.inf))
    with pytest.raises(InvalidInputError, match="units of distance away from the data"):
        explainer.explain(data[0].iloc[:1].assign(age=1e300))


def test_rules_for_one_column_hold_for_linear_models():
    X, y = loans()
    X = X[["age", "rent"]]
    explainer = CounterfactualExplainer(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X)
    free = explainer.explain(X.iloc[:40])
    for rules in ([Immutable("rent")], [Increasing("age", "rent")], [Bounds("rent", by=(-2, 2))], [Cost("rent", 9)]):
        found = explainer.explain(X.iloc[:40], constraints=rules)
        assert judged(found, explainer, rules).all()
        assert (found.cost >= free.cost - 1e-9).all()
        assert (found.cost > free.cost + 1e-6).any()


# --- one-hot groups, fine grids and trees of many categories -------------------------------------------------------------


def switches(n=200, seed=0, gaps=0):
    """One of three is 1, and a number beside them."""
    rng = np.random.default_rng(seed)
    hot = rng.integers(0, 3, n)
    X = pd.DataFrame(np.eye(3)[hot], columns=list("abc")).assign(x=rng.normal(size=n))
    X.loc[: gaps - 1, "a"] = np.nan
    return X, ((hot == 0) + X["x"] > 0.5).astype(int)


@pytest.mark.parametrize(
    "rule", [Rule("a + x <= 1"), Implies("b rises", "x rises"), Implies("x rises", "c falls")], ids=repr
)
def test_rules_between_columns_are_refused_on_columns_that_switch_together(rule):
    X, y = switches()
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="whose columns change together"):
        CounterfactualExplainer(model, X, constraints=[OneHot("a", "b", "c"), rule])


def test_a_group_with_a_missing_member_does_not_change():
    X, y = switches(gaps=20)
    model = HistGradientBoostingClassifier(max_iter=10, max_depth=3, random_state=0).fit(X, y)
    found = CounterfactualExplainer(model, X, constraints=[OneHot("a", "b", "c")]).explain(X.iloc[:40])
    assert set(found.status) <= {"optimal", "infeasible"}
    assert (found.status == "optimal").sum() > 20
    pd.testing.assert_frame_equal(
        pd.DataFrame(found.x, columns=X.columns)[["a", "b", "c"]].iloc[:20], X[["a", "b", "c"]].iloc[:20]
    )
    later = pd.DataFrame(found.x, columns=X.columns)[["a", "b", "c"]].iloc[20:]
    assert (later.sum(axis=1) == 1).all()


@pytest.mark.parametrize("step", [1e-12, 1e-300])
def test_a_grid_too_fine_to_matter_is_refused(step):
    X, y = switches()
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="is too small for the range of this column"):
        CounterfactualExplainer(model, X, constraints=[Grid("x", step=step)])


def test_deep_forests_of_many_categories_are_searched():
    # With one cut per run of categories, these trees would have over two million nodes.
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.integers(0, 20, 3000).astype(str) for j in range(12)})
    y = rng.integers(0, 2, 3000)
    forest = make_pipeline(OneHotEncoder(), RandomForestClassifier(10, random_state=0)).fit(X, y)
    found = CounterfactualExplainer(forest, X).explain(X.iloc[:8])
    assert found.is_status("optimal").all()
    changed = pd.DataFrame(found.x, columns=X.columns)
    assert np.array_equal(forest.predict(changed), found.target)
    assert (forest.predict(X.iloc[:8]) != found.target).all()
    # A change of one category is the cheapest possible one: some other category of some column flips the prediction.
    for i in range(8):
        others = [X.iloc[[i]].assign(**{c: str(v)}) for c in X.columns for v in range(20)]
        flips = (forest.predict(pd.concat(others)) == found.target[i]).any()
        assert flips == ((changed.iloc[i] != X.iloc[i].to_numpy()).sum() == 1)
