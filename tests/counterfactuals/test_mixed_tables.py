"""Discretizers and FCCAClassifier on tables with categories and missing values, from the raw table to the rules."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import export_text

from fcca import (
    FCCAClassifier,
    FCCADiscretizer,
    GTREDiscretizer,
    MidpointDiscretizer,
    OptimalTreeClassifier,
    read_model,
)
from fcca.conditions import smaller_side
from fcca.constraints import Immutable, Increasing
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from mixed_tables import holds, loans, rule_holds
from real_data import imported

ESTIMATORS = {
    "default": lambda: None,
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=10, max_depth=3, random_state=0),
    "forest": lambda: RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0),
    "own encoder": lambda: make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
            remainder="passthrough",
        ),
        HistGradientBoostingClassifier(max_iter=5, max_depth=2, random_state=0),
    ),
    "xgboost": lambda: imported("xgboost").XGBClassifier(n_estimators=5, max_depth=2, random_state=0),
    "lightgbm": lambda: imported("lightgbm").LGBMClassifier(n_estimators=5, num_leaves=4, verbose=-1, random_state=0),
}


@pytest.fixture(scope="module")
def data():
    return loans()


@pytest.fixture(scope="module")
def fitted(data):
    return FCCADiscretizer().fit(*data)


@pytest.fixture(scope="module")
def fitted_around(data):
    """The discretizer around a classifier, by its name; each is fitted once."""
    return cache(lambda name: FCCADiscretizer(ESTIMATORS[name]()).fit(data[0], numbered(name, data[1])))


@pytest.fixture(scope="module")
def classifier(data):
    return FCCAClassifier(tree=OptimalTreeClassifier(max_depth=3, regularization=0.01)).fit(*data)


def numbered(name, y):
    """Labels as numbers, which XGBoost wants."""
    return np.unique(y, return_inverse=True)[1] if name == "xgboost" else y


# --- conditions -----------------------------------------------------------------------------------------------------------


def test_conditions_are_of_all_kinds_and_transform_says_where_they_hold(fitted, data):
    X, _ = data
    B = fitted.transform(X)
    assert set(fitted.thresholds_.kind) == {"cut", "set", "missing"}
    assert "income is missing" in fitted.get_feature_names_out()
    for column, condition in zip(B.T, fitted.get_feature_names_out(), strict=True):
        np.testing.assert_array_equal(column, holds(condition, X))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_counts_are_those_of_the_moves(name, data):
    X, y = data[0], numbered(name, data[1])
    if name == "own encoder":
        X = X.assign(purpose=X["purpose"].fillna("none"))
    discretizer = FCCADiscretizer(ESTIMATORS[name](), round_thresholds=False, count_ties=False).fit(X, y)
    found = discretizer.counterfactuals_
    assert set(found.counts()) <= {"optimal", "infeasible"}
    frame = found.to_frame()
    frame = frame[frame["feature"].notna() & (frame["status"] == "optimal")]
    table = discretizer.all_thresholds_
    for at, condition in enumerate(table.names()):
        rows = discretizer.rows_crossing(condition)
        assert len(rows) == table.count[at] > 0
        column = table.feature_names[table.feature[at]]
        mine = frame[(frame["feature"] == column) & frame["row"].isin(rows)]
        if table.kind[at] == "missing":
            assert X[column].iloc[rows].isna().all()
            continue
        assert len(mine) == len(rows)
        if table.kind[at] == "set":  # every move goes from one side of the set to the other
            assert (mine["from"].isin(table.labels[at]) != mine["to"].isin(table.labels[at])).all()
    n_moves = len(frame) - int(frame["from"].isna().sum())
    assert table.count[table.kind != "missing"].sum() == n_moves


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_counterfactual_flips_the_classifiers_own_answer(name, data):
    X, y = data[0], numbered(name, data[1])
    if name == "own encoder":
        X = X.assign(purpose=X["purpose"].fillna("none"))
    discretizer = FCCADiscretizer(ESTIMATORS[name]()).fit(X, y)
    found = discretizer.counterfactuals_
    points = found.apply(X)
    assert list(points.columns) == list(X.columns)
    answered = np.flatnonzero(found.is_status("optimal"))
    changed = discretizer.predict_target(points)
    np.testing.assert_array_equal(changed[answered], found.target[answered])
    np.testing.assert_array_equal(discretizer.predict_target(X)[found.rows], np.asarray(y)[found.rows])


@pytest.mark.parametrize("name", ["default", "histogram", "forest"])
@pytest.mark.parametrize("column", ["income", "purpose"])
def test_is_missing_counts_the_rows_that_filling_in_flips(name, column, fitted_around, data):
    X, _ = data
    discretizer = fitted_around(name)
    rows = discretizer.counterfactuals_.rows
    gaps = rows[X[column].iloc[rows].isna().to_numpy()]
    values = X[column].dropna().unique()
    filled = X.iloc[np.tile(gaps, len(values))].assign(**{column: np.repeat(values, len(gaps))})
    turns = discretizer.predict_target(filled) != np.tile(discretizer.predict_target(X)[gaps], len(values))
    expected = gaps[turns.reshape(len(values), len(gaps)).any(axis=0)]
    condition = f"{column} is missing"
    assert (condition in discretizer.all_thresholds_.names()) == (len(expected) > 0)
    if len(expected):
        np.testing.assert_array_equal(discretizer.rows_crossing(condition), expected)


@pytest.mark.parametrize("name", ["default", "histogram", "forest"])
def test_a_set_is_the_smallest_of_the_classifiers_own_that_the_move_enters(name, fitted_around):
    discretizer = fitted_around(name)
    model = read_model(discretizer.estimator_)
    table, moves = discretizer.all_thresholds_, discretizer.counterfactuals_.moves
    for point, feature, origin, landing in zip(moves.point, moves.feature, moves.origin, moves.landing, strict=True):
        categories = table.columns[feature].categories
        if categories is None:
            continue
        tests = [set(codes.tolist()) for node, codes in model.categories.items() if model.feature[node] == feature]
        sides = tests + [set(range(len(categories))) - codes for codes in tests]
        entered = min((side for side in sides if landing in side and origin not in side), key=lambda s: (len(s), sorted(s)))
        codes = smaller_side(entered, len(categories))
        at = next(at for at in range(len(table)) if table.feature[at] == feature and table.codes[at] == codes)
        assert discretizer.counterfactuals_.rows[point] in discretizer.rows_crossing(table.names()[at])


def test_a_linear_models_condition_is_the_category_it_lands_on(data):
    X, y = data
    discretizer = FCCADiscretizer(LogisticRegression(C=10.0, max_iter=1000)).fit(X, y)
    frame = discretizer.counterfactuals_.to_frame()
    landed = frame[(frame["feature"] == "purpose") & (frame["status"] == "optimal")]
    assert len(landed)
    table = discretizer.all_thresholds_
    counts = {table.labels[at]: table.count[at] for at in range(len(table)) if table.feature[at] == 1 and table.labels[at]}
    assert counts == {(label,): n for label, n in landed["to"].value_counts().items()}
    for column, condition in zip(discretizer.transform(X).T, discretizer.thresholds_.names(), strict=True):
        np.testing.assert_array_equal(column, holds(condition, X))


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")
def test_missing_values_after_fit_are_allowed_if_the_classifier_supports_them(data):
    X, y = data[0][["age"]].assign(income=data[0]["income"].fillna(2.0)), data[1]
    gaps = X.assign(income=X["income"].where(X.index > 5))
    histogram = FCCADiscretizer(ESTIMATORS["histogram"]()).fit(X, y)
    income = histogram.thresholds_.feature == 1
    assert income.any()
    assert not histogram.transform(gaps)[:6, income].any()
    np.testing.assert_array_equal(histogram.transform(gaps)[6:], histogram.transform(X)[6:])
    boosted = FCCADiscretizer().fit(X, y)
    with pytest.warns(UnknownValuesWarning, match="6 missing values in column 'income'"):
        assert not boosted.transform(gaps)[:6, boosted.thresholds_.feature == 1].any()


def test_missing_values_without_effect_have_no_condition():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = (X["a"] > 0).astype(int)
    X.loc[rng.random(200) < 0.2, "b"] = np.nan
    discretizer = FCCADiscretizer().fit(X, y)
    assert discretizer.thresholds_.features_used == ["a"]
    assert set(discretizer.thresholds_.kind) == {"cut"}
    np.testing.assert_array_equal(discretizer.transform(X).max(axis=1), X["a"] > float(discretizer.thresholds_.threshold[0]))


# --- forms of the table ---------------------------------------------------------------------------------------------------


def test_the_same_table_in_another_form_gives_the_same(fitted, data):
    X, y = data
    text = X.assign(grade=X["grade"].astype(object))
    assert clone(fitted).fit(text, y).thresholds_.names() == fitted.thresholds_.names()
    strings = X.assign(purpose=X["purpose"].astype("string"))
    assert clone(fitted).fit(strings, y).thresholds_ == fitted.thresholds_
    nameless = clone(fitted).fit(text.to_numpy(dtype=object), y)
    assert nameless.thresholds_.renamed(list(X)).names() == fitted.thresholds_.names()
    np.testing.assert_array_equal(nameless.transform(text.to_numpy(dtype=object)), fitted.transform(X))
    np.testing.assert_array_equal(nameless.get_feature_names_out(list(X)), fitted.get_feature_names_out())


def test_polars_in_and_polars_out(fitted, data):
    polars = imported("polars")
    X, y = data
    table = polars.DataFrame({name: X[name].astype(object).where(X[name].notna(), None).tolist() for name in X})
    discretizer = clone(fitted).set_output(transform="polars").fit(table, y)
    frame = discretizer.transform(table)
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == fitted.thresholds_.names()
    np.testing.assert_array_equal(frame.to_numpy(), fitted.transform(X))


def test_pandas_out_is_named_for_the_conditions(fitted, data):
    frame = clone(fitted).set_output(transform="pandas").fit(*data).transform(data[0])
    assert list(frame.columns) == fitted.thresholds_.names()
    assert list(fitted.feature_names_in_) == list(data[0].columns)


def test_row_order_and_threads_change_nothing(fitted, data):
    X, y = data
    order = np.random.default_rng(3).permutation(len(X))
    shuffled = clone(fitted).set_params(n_jobs=2).fit(X.iloc[order], y[order])
    assert shuffled.thresholds_ == fitted.thresholds_


def test_pickle_keeps_the_answers(fitted, data):
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.thresholds_ == fitted.thresholds_
    np.testing.assert_array_equal(copy.transform(data[0]), fitted.transform(data[0]))


def test_weight_two_is_the_row_twice_and_weight_zero_leaves_out(data):
    X, y = data
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    strange = X.astype({"purpose": object})
    strange.loc[strange.index[weight == 0], "purpose"] = "spaceship"
    weighted = FCCADiscretizer().fit(strange, y, sample_weight=weight)
    repeated = FCCADiscretizer().fit(X.iloc[np.repeat(np.arange(len(X)), weight)], np.repeat(y, weight))
    assert weighted.thresholds_.names() == repeated.thresholds_.names()
    np.testing.assert_allclose(weighted.thresholds_.count, repeated.thresholds_.count)
    assert "spaceship" not in weighted.thresholds_.columns[1].categories
    classifier = FCCAClassifier().fit(strange, y, sample_weight=weight)
    assert classifier.rules() == FCCAClassifier().fit(strange[weight > 0], y[weight > 0], weight[weight > 0]).rules()


def test_a_frozen_classifier_is_taken_with_its_own_order_of_categories(data):
    X, y = data
    own = HistGradientBoostingClassifier(max_iter=10, max_depth=2, categorical_features="from_dtype", random_state=0)
    turned = X.assign(
        grade=X["grade"].cat.reorder_categories(["top", "low", "mid"]), purpose=X["purpose"].astype("category")
    )
    discretizer = FCCADiscretizer(FrozenEstimator(own.fit(turned, y))).fit(turned, y)
    for column, condition in zip(discretizer.transform(turned).T, discretizer.thresholds_.names(), strict=True):
        np.testing.assert_array_equal(column, holds(condition, turned))
    np.testing.assert_array_equal(discretizer.predict_target(turned), own.predict(turned))


# --- what is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("discretizer", [FCCADiscretizer(), GTREDiscretizer(), MidpointDiscretizer(), FCCAClassifier()])
def test_mistakes_are_named(discretizer, data):
    X, y = data
    with pytest.raises(InvalidInputError, match="All values of column 'income' in X are missing"):
        clone(discretizer).fit(X.assign(income=np.nan), y)
    with pytest.raises(InvalidInputError, match="All values of column 'purpose' in X are missing"):
        clone(discretizer).fit(X.assign(purpose=None), y)
    with pytest.raises(InvalidInputError, match="All values of column 1 in X are missing"):
        clone(discretizer).fit(np.column_stack([X["age"], np.full(len(X), np.nan)]), y)
    with pytest.raises(InvalidInputError, match="'age' holds numbers and strings, such as 'old'"):
        clone(discretizer).fit(X.assign(age=X["age"].astype(object).where(X.index > 0, "old")), y)
    with pytest.raises(InvalidInputError, match="infinite"):
        clone(discretizer).fit(X.assign(income=np.inf), y)
    fitted = clone(discretizer).fit(X, y)
    answer = fitted.transform if hasattr(fitted, "transform") else fitted.predict
    with pytest.warns(UnknownValuesWarning, match="unknown categories in column 'purpose'"):
        assert len(answer(X.assign(purpose="yacht"))) == len(X)
    with pytest.raises(ValueError, match="feature names"):
        answer(X[["purpose", "income", "age", "grade"]])


# --- rules ----------------------------------------------------------------------------------------------------------------


def test_immutable_columns_carry_no_condition(data):
    X, y = data
    discretizer = FCCADiscretizer(constraints=[Immutable("purpose", "income")]).fit(X, y)
    assert set(discretizer.all_thresholds_.features_used) <= {"age", "grade"}
    discretizer = FCCADiscretizer(constraints=[Increasing("income")]).fit(X, y)
    frame = discretizer.counterfactuals_.to_frame()
    income = frame[frame["feature"] == "income"]
    assert len(income)
    assert (income["to"] > income["from"]).all()


def test_rules_on_plain_numbers():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["age", "income"])
    y = (X.sum(axis=1) > 0).astype(int)
    free = FCCADiscretizer().fit(X, y)
    assert free.thresholds_.features_used == ["age", "income"]
    bound = clone(free).set_params(constraints=[Immutable("income")]).fit(X, y)
    assert bound.all_thresholds_.features_used == ["age"]
    with pytest.raises(InvalidInputError, match="wages"):
        clone(free).set_params(constraints=[Immutable("wages")]).fit(X, y)


# --- the classifier -------------------------------------------------------------------------------------------------------


def test_classifier_answers_raw_tables_as_the_tree_on_binary_rows_does(classifier, data):
    X, y = data
    B = classifier.discretizer_.transform(X)
    np.testing.assert_array_equal(classifier.predict(X), classifier.tree_.predict(B))
    np.testing.assert_array_equal(classifier.predict_proba(X), classifier.tree_.predict_proba(B))
    assert classifier.score(X, y) > 0.75
    assert classifier.tree_.is_optimal_
    assert pickle.loads(pickle.dumps(classifier)).rules() == classifier.rules()


def test_rules_hold_on_exactly_the_rows_that_they_answer(classifier, data):
    X, _ = data
    answered = np.zeros(len(X), dtype=int)
    for rule in classifier.rules():
        rows = rule_holds(rule, X)
        answered += rows
        assert set(classifier.predict(X)[rows]) <= {rule.split(" → ")[1].split(" (")[0]}
    assert np.all(answered == 1)
    assert len(classifier.rules()) == classifier.tree_.n_leaves_


def test_to_sklearn_is_the_same_tree_on_the_binary_columns(classifier, data):
    X, _ = data
    tree = classifier.to_sklearn()
    B = classifier.discretizer_.set_output(transform="pandas").transform(X)
    np.testing.assert_array_equal(tree.predict(B), classifier.predict(X))
    first = classifier.discretizer_.thresholds_.names()[classifier.tree_.tree_.feature[0]]
    assert first in export_text(tree, feature_names=list(B.columns))
    classifier.discretizer_.set_output(transform="default")


def test_to_sklearn_in_raw_units_sends_missing_numbers_as_the_tree_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0.3).astype(int)
    X[rng.random(300) < 0.2, 1] = np.nan
    X[:20, 0] = np.nan
    classifier = FCCAClassifier(tree=OptimalTreeClassifier(max_depth=2, regularization=0.02)).fit(X, y)
    if classifier.structure_.has_cuts_only:
        np.testing.assert_array_equal(classifier.to_sklearn().predict(X), classifier.predict(X))
    else:
        B = classifier.discretizer_.transform(X)
        np.testing.assert_array_equal(classifier.to_sklearn().predict(B), classifier.predict(X))


def test_cross_validation_and_the_granularity_path_take_such_tables(data):
    X, y = data
    assert cross_val_score(FCCAClassifier(), X, y, cv=3).min() > 0.6
    path = FCCAClassifier().granularity_path(X, y, Q=[0.0, 0.7], lambda0=[0.1, 1.0], cv=3)
    assert len(path) == 4
    assert path["accuracy"].min() > 0.6
    assert path["fidelity"].between(0, 1).all()


@pytest.mark.parametrize("name", ["default", "histogram", "forest", "lightgbm"])
def test_many_classes(name):
    X, y = loans(classes=4, seed=2)
    classifier = FCCAClassifier(FCCADiscretizer(ESTIMATORS[name]()), OptimalTreeClassifier(regularization=0.01)).fit(X, y)
    discretizer = classifier.discretizer_
    assert classifier.predict_proba(X).shape == (len(X), 4)
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1)
    # With more than two classes the default band has no lower end: all rows that are answered right are asked for.
    right = np.flatnonzero(discretizer.predict_target(X) == y)
    np.testing.assert_array_equal(discretizer.counterfactuals_.rows, right)
    for column, condition in zip(discretizer.transform(X).T, discretizer.thresholds_.names(), strict=True):
        np.testing.assert_array_equal(column, holds(condition, X))


# --- the other discretizers -----------------------------------------------------------------------------------------------


def test_midpoints_say_as_much_as_the_table_does(data):
    X, y = data
    discretizer = MidpointDiscretizer().fit(X, y)
    B = discretizer.transform(X)
    for column, condition in zip(B.T, discretizer.thresholds_.names(), strict=True):
        np.testing.assert_array_equal(column, holds(condition, X))
    distinct = X.astype({"grade": object}).drop_duplicates()
    assert len(np.unique(B, axis=0)) == len(distinct)
    names = discretizer.thresholds_.names()
    assert [name for name in names if name.startswith("purpose")] == [
        'purpose = "boat"',
        'purpose = "car"',
        'purpose = "home"',
        'purpose = "tv"',
        "purpose is missing",
    ]


def test_two_categories_are_one_condition():
    X = pd.DataFrame({"sex": ["f", "m", "f"], "smokes": pd.Categorical(["no", "yes", "no"], ["no", "yes", "ex"])})
    assert MidpointDiscretizer().fit(X).thresholds_.names() == ['sex = "m"', 'smokes = "yes"']
    gaps = X.assign(sex=["f", None, "f"])
    assert MidpointDiscretizer().fit(gaps).thresholds_.names() == ["sex is missing", 'smokes = "yes"']
    assert MidpointDiscretizer().fit(gaps).constant_features_ == []


def test_midpoints_keep_the_most_even_categories_and_numbers_at_boundaries(data):
    X, y = data
    few = MidpointDiscretizer(max_thresholds=2).fit(X, y).thresholds_
    assert max(np.bincount(few.feature[few.kind != "missing"])) == 2
    shares = X["purpose"].value_counts(normalize=True)
    assert {label for labels in few.labels[few.feature.tolist().index(1) :][:2] for label in labels} == set(shares.index[:2])
    boundary = MidpointDiscretizer(boundary_only=True).fit(X, y).thresholds_
    assert len(boundary) <= len(MidpointDiscretizer().fit(X, y).thresholds_)
    assert set(boundary.kind) == {"cut", "set", "missing"}


@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(n_estimators=3, max_depth=2, random_state=0)])
def test_gtre_takes_the_sets_that_its_reference_splits_by(estimator, data):
    X, y = data
    discretizer = GTREDiscretizer(estimator).fit(X, y)
    for column, condition in zip(discretizer.transform(X).T, discretizer.thresholds_.names(), strict=True):
        np.testing.assert_array_equal(column, holds(condition, X))
    everything = GTREDiscretizer(estimator, column_elimination=False).fit(X, y)
    assert set(everything.thresholds_.kind) >= {"set", "missing"}
    assert len(discretizer.thresholds_) <= len(everything.thresholds_)
    assert discretizer.score_path_[:-1].min() >= discretizer.reference_score_ - 1e-12
    boosted = GradientBoostingClassifier(max_depth=1, random_state=0).fit(everything.transform(X), y)
    assert discretizer.reference_score_ == pytest.approx(boosted.score(everything.transform(X), y), abs=0.05)


# --- rows that are only to be answered -----------------------------------------------------------------------------------


def gaps_in_one_column():
    """Income with missing values, or job, decides; city has no effect."""
    rng = np.random.default_rng(5)
    n = 400
    income = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(2))
    X = pd.DataFrame({"income": income, "age": rng.normal(size=n).round(2), "job": rng.choice(["clerk", "nurse"], n)})
    X["city"] = rng.choice(["Rome", "Oslo"], n)
    return X, np.where(np.isnan(income), X["job"] == "nurse", income > 0).astype(int)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_every_row_is_under_one_rule_and_that_says_what_predict_does(depth):
    X, y = gaps_in_one_column()
    classifier = FCCAClassifier(
        FCCADiscretizer(HistGradientBoostingClassifier(max_iter=20, random_state=0)),
        OptimalTreeClassifier(max_depth=depth, regularization=0.001),
    ).fit(X, y)
    rules = classifier.rules()
    under = np.array([rule_holds(rule, X) for rule in rules])
    assert (under.sum(axis=0) == 1).all()
    answers = np.array([int(rule.split("→")[1].split()[0]) for rule in rules])
    np.testing.assert_array_equal(answers[under.argmax(axis=0)], classifier.predict(X))
    assert not any("age" in part and "missing" in part for rule in rules for part in rule.split(" and "))  # it has no gaps


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning")
def test_new_rows_may_have_missing_values_and_anything_in_unused_columns():
    X, y = gaps_in_one_column()
    classifier = FCCAClassifier(FCCADiscretizer(HistGradientBoostingClassifier(max_iter=20, random_state=0))).fit(X, y)
    assert not any("city" in rule for rule in classifier.rules())
    new = X.head(20).assign(city="Atlantis")
    np.testing.assert_array_equal(classifier.predict(new), classifier.predict(X.head(20)))
    new["age"] = np.nan
    assert set(classifier.predict(new)) <= {0, 1}
    with pytest.warns(UnknownValuesWarning, match="20 unknown categories in column 'job'"):
        classifier.predict(X.head(20).assign(job="baker"))
