"""Rows in chunks give what rows at once give, to the last digit: one black box after the other."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from mixed_tables import loans
from streaming.same import assert_same, at_once, cut_up, frame, in_chunks, numbers, single_rows, ways_to_cut

MODELS = {
    "stumps": GradientBoostingClassifier(max_depth=1, n_estimators=15, random_state=0),
    "boosted trees": GradientBoostingClassifier(max_depth=3, n_estimators=5, random_state=0),
    "random forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "extra trees": ExtraTreesClassifier(5, max_depth=3, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=5, max_depth=2, min_samples_leaf=5, random_state=0),
    "logistic regression": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "support vectors": make_pipeline(StandardScaler(), LinearSVC()),
}


def _check(X, y, model, weight=None, ways=None, **parameters):
    whole = at_once(X, y, model, weight, **parameters)
    for _, chunks in ways or ways_to_cut(X, y, weight):
        assert_same(in_chunks(chunks, model, **parameters), whole, X)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_tables_of_numbers(name, classes):
    X, y = numbers(60, classes=classes)
    _check(X, y, MODELS[name].fit(X, y))


@pytest.mark.verify
@pytest.mark.parametrize("decimals", [0, 1, 6])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_larger_tables_of_numbers(name, classes, decimals):
    X, y = numbers(600, n_features=8, classes=classes, decimals=decimals)
    model = MODELS[name].fit(X, y)
    _check(X, y, model)
    _check(X[:120], y[:120], model, ways=[("single rows", single_rows(X[:120], y[:120]))])


@pytest.mark.parametrize("name", ["stumps", "boosted trees", "scaled"])
def test_chunks_of_one_row(name):
    X, y = numbers(40)
    model = MODELS[name].fit(X, y)
    _check(X, y, model, ways=[("single rows", single_rows(X, y))])


@pytest.mark.parametrize("n_outputs", [2, 3])
def test_scores_of_a_linear_model_do_not_depend_on_other_rows(n_outputs):
    """A product of matrices may differ in the last digit with the number of rows; here that decides which rows count."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30))
    y = np.digitize(X[:, :5].sum(axis=1), [0.0] if n_outputs == 2 else [-1.0, 1.0])
    model = LogisticRegression().fit(X, y)
    engine = CounterfactualEngine(model, CounterfactualProblem())
    confidence = engine.model.confidence(engine.scores(X))
    for chunk in (1, 7, 64):
        parts = [engine.model.confidence(engine.scores(X[at : at + chunk])) for at in range(0, 200, chunk)]
        assert np.array_equal(np.concatenate(parts), confidence)


# --- categories and gaps ------------------------------------------------------------------------------------------------


def _loans(n=70, seed=0, classes=2):
    X, y = loans(n, seed, classes)
    X["purpose"] = X["purpose"].astype("category")
    return X, y


@pytest.mark.parametrize(("depth", "classes"), [(1, 2), (2, 2), (1, 3)])
def test_categories_and_missing_values(depth, classes):
    X, y = _loans(60, classes=classes)
    model = HistGradientBoostingClassifier(
        max_iter=5, max_depth=depth, min_samples_leaf=5, categorical_features="from_dtype", random_state=0
    ).fit(X, y)
    _check(X, y, model)


def test_a_missing_value_and_a_category_in_one_chunk_only():
    X, y = _loans()
    model = HistGradientBoostingClassifier(
        max_iter=8, max_depth=1, min_samples_leaf=5, categorical_features="from_dtype", random_state=0
    ).fit(X, y)
    order = np.lexsort((X["purpose"].cat.codes, X["income"].isna()))  # gaps last, and each purpose by itself
    X, y = X.iloc[order], y[order]
    n_full = int(X["income"].notna().sum())
    assert 0 < n_full < len(X)
    _check(X, y, model, ways=[("gaps last", cut_up(X, y, None, [n_full])), ("in two", cut_up(X, y, None, [20]))])


def test_results_do_not_depend_on_missing_values_of_other_rows():
    """Scores of rows with and without missing values are summed in two ways, which differ in the last digit."""
    X, y = _loans(200)
    X = X[["income", "age"]].astype(float)
    model = HistGradientBoostingClassifier(max_iter=25, max_depth=1, min_samples_leaf=5, random_state=0).fit(X, y)
    engine = CounterfactualEngine(model, CounterfactualProblem())
    table = X.to_numpy()
    whole = engine.scores(table)
    assert np.array_equal(np.concatenate([engine.scores(table[at : at + 1]) for at in range(200)]), whole)
    assert np.allclose(whole, engine.model.scores(table), rtol=1e-12)


def test_linear_models_with_categories_and_missing_values():
    X, y = loans(60)
    X["purpose"], X["grade"] = X["purpose"].fillna("none"), X["grade"].astype(str)
    numeric = make_pipeline(SimpleImputer(), StandardScaler())
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["purpose", "grade"]), remainder=numeric), LogisticRegression()
    ).fit(X, y)
    _check(X, y, model)


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    X, y = _loans()
    labels = (y == "good").astype(int)
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=2, enable_categorical=True, n_jobs=1).fit(X, labels)
    _check(X, labels, model)


def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = _loans()
    _check(
        X,
        y == "good",
        lightgbm.LGBMClassifier(n_estimators=5, max_depth=2, min_child_samples=4, verbose=-1).fit(X, y == "good"),
    )


def test_an_explainable_boosting_machine():
    glassbox = pytest.importorskip("interpret.glassbox")
    X, y = numbers(90, n_features=3)
    model = glassbox.ExplainableBoostingClassifier(interactions=0, outer_bags=1, max_rounds=30, n_jobs=1).fit(X, y)
    _check(X, y, model, ways=[("thirds", cut_up(X, y, None, [30, 60]))])


# --- labels of categories that the black box has not kept -----------------------------------------------------------------


def _catboost(X, y, **parameters):
    catboost = pytest.importorskip("catboost")
    return catboost.CatBoostClassifier(
        iterations=6, depth=2, verbose=0, cat_features=["purpose", "grade"], one_hot_max_size=10, random_seed=0,
        allow_writing_files=False, **parameters,
    ).fit(X, y)  # fmt: skip


def _texts(n=70, classes=2):
    X, y = loans(n, classes=classes)
    X["purpose"], X["grade"] = X["purpose"].fillna("none"), X["grade"].astype(str)
    return X, y


@pytest.mark.parametrize("classes", [2, 3])
def test_catboost_where_the_first_chunk_lacks_labels(classes):
    X, y = _texts(classes=classes)
    model = _catboost(X, y)
    order = np.argsort(X["purpose"].to_numpy(), kind="stable")
    X, y = X.iloc[order], y[order]
    assert len(set(X["purpose"][:10])) == 1
    _check(X, y, model)


def test_labels_of_rows_of_weight_0_are_not_labels():
    X, y = _texts()
    _check(X, y, _catboost(X, y), weight=np.where(X["purpose"] == "boat", 0, 2))


def test_lightgbm_with_numbers_for_categories_where_the_first_chunk_lacks_some():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = loans(140)
    table = np.column_stack([X["income"], X["purpose"].astype("category").cat.codes % 4, X["age"]]).astype(float)
    labels = (y == "good").astype(int)
    model = lightgbm.LGBMClassifier(
        n_estimators=6, max_depth=2, verbose=-1, min_child_samples=5, min_data_per_group=1, cat_smooth=0
    ).fit(table, labels, categorical_feature=[1])
    order = np.argsort(table[:, 1], kind="stable")
    _check(table[order], labels[order], model)


def test_polars_and_pandas_and_arrays():
    pl = pytest.importorskip("polars")
    X, y = numbers(90)
    named = frame(X)
    model = MODELS["stumps"].fit(named, y)
    whole = at_once(named, y, model)
    for table in (pl.from_pandas(named), named.astype({"column 1": "Float64"}), named.astype({"column 2": object})):
        assert_same(in_chunks(cut_up(table, y, None, [30, 30, 61]), model), whole, named)
    mixed = [(named[:30], y[:30]), (pl.from_pandas(named[30:60]), y[30:60].tolist()), (X[60:], y[60:])]
    assert_same(in_chunks(mixed, model), whole, named)
