"""Rows with categories and missing values that training did not have are predicted, explained, reported and exported."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from export.onnx_runner import answers_of
from export.rules_reader import apply_rules
from export.trees import as_dictionaries
from fcca import (
    CounterfactualExplainer,
    FCCAClassifier,
    FCCADiscretizer,
    FCCAScorecard,
    MidpointDiscretizer,
    OptimalTreeClassifier,
    report,
)
from fcca.exceptions import InvalidInputError, UnknownValuesWarning
from fcca.export import (
    from_json,
    scorecard_from_json,
    scorecard_to_json,
    scorecard_to_python,
    scorecard_to_sql,
    to_json,
    to_onnx,
    to_python,
    to_rules,
    to_sql,
)
from mixed_tables import loans
from real_data import imported
from report.fitted import first_level
from report.test_page import read

MODELS = (
    None,
    RandomForestClassifier(8, max_depth=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=8, max_depth=2, min_samples_leaf=3, random_state=0),
    LogisticRegression(),
    GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0),
)
N_EXPLAINED = 6


def rare_table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table whose splits differ in rare categories and rare missing values."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(90, 160))
    towns = np.array([f"town {k}" for k in range(8)])
    X = pd.DataFrame(
        {
            "income": np.round(rng.gamma(3, 1, n), 2),
            "town": rng.choice(towns, n, p=[0.4, 0.3, 0.2, 0.04, 0.02, 0.02, 0.01, 0.01]).astype(object),
            "age": rng.integers(18, 80, n).astype(float),
            "job": rng.choice(["clerk", "smith", "cook", "none"], n, p=[0.5, 0.4, 0.05, 0.05]).astype(object),
            "code": pd.Categorical(rng.choice([3, 1, 2, 10], n, p=[0.5, 0.3, 0.19, 0.01])),
        }
    )
    score = 1.0 * (X["income"] > 2.5) + 1.2 * X["town"].isin(["town 0", "town 3"]) + (X["job"] == "clerk")
    y = np.where(score + rng.normal(0, 0.4, n) > 1.5, "good", "bad")
    for name, share in (("income", 0.02), ("town", 0.02), ("age", 0.01), ("job", rng.choice([0.0, 0.1]))):
        X.loc[rng.random(n) < share, name] = np.nan
    return X, y


def check_split(seed: int) -> bool:
    """Fit on a random split and use the other rows. Return True if these have values that training did not have."""
    X, y = rare_table(seed)
    train, test = train_test_split(np.arange(len(X)), test_size=0.5, stratify=y, random_state=seed)
    later, labels = X.iloc[test], y[test]
    model = MODELS[seed % len(MODELS)]
    discretizer = FCCADiscretizer(model, handle_unknown="ignore", max_thresholds=30)
    classifier = FCCAClassifier(discretizer, OptimalTreeClassifier(max_depth=3)).fit(X.iloc[train], y[train])
    predicted = classifier.predict(later)
    B = classifier.discretizer_.transform(later)
    assert (classifier.classes_[classifier.tree_.predict_proba(B).argmax(axis=1)] == predicted).all()
    black_box = classifier.discretizer_.predict_target(later)
    assert classifier.fidelity(later) == np.mean(predicted == black_box)
    check_exports(classifier, later, predicted)
    check_reported(classifier, later, labels)
    check_explained(classifier, X.iloc[train], later, black_box)
    check_scorecard(classifier, X.iloc[train], y[train], later)
    known = classifier.discretizer_.all_thresholds_.columns
    return bool(known.is_unknown(known.encode(later, handle_unknown="ignore")).any())


def check_reported(classifier, later: pd.DataFrame, labels: np.ndarray) -> None:
    """The page counts all rows, and has a note on those with values that training did not have."""
    data, _ = read(report.page(classifier, X_test=later, y_test=labels, Q=[0.0], n_thresholds=False, time_limit=1))
    held_out = first_level(data)["held_out"]
    assert (held_out["rows"], held_out["accuracy"]) == (len(later), np.mean(classifier.predict(later) == labels))
    known = classifier.discretizer_.all_thresholds_.columns
    n_odd = known.is_unknown(known.encode(later, handle_unknown="ignore")).any(axis=1).sum()
    assert any(note.startswith(f"{n_odd} held-out row") for note in data["notes"]) == (n_odd > 0)


def check_exports(classifier, rows: pd.DataFrame, predicted: np.ndarray) -> None:
    """All exports predict the same as the classifier."""
    assert (from_json(to_json(classifier)).predict(rows) == predicted).all()
    assert in_sql(to_sql(classifier, "later"), rows, "prediction") == predicted.tolist()
    assert [module_of(to_python(classifier))["predict"](row) for row in as_dictionaries(rows)] == predicted.tolist()
    rules, refused = apply_rules(to_rules(classifier), rows)
    assert not refused.any()
    assert [rule["class"] for rule in rules] == predicted.tolist()
    label, _, _ = answers_of(to_onnx(classifier), rows)
    assert label.tolist() == predicted.tolist()


def check_scorecard(classifier, X: pd.DataFrame, y: np.ndarray, rows: pd.DataFrame) -> None:
    """A scorecard of the same black box gives every row the same score in SQL, Python and JSON."""
    frozen = FrozenEstimator(classifier.discretizer_.estimator_)
    card = FCCAScorecard(FCCADiscretizer(frozen, handle_unknown="ignore", max_thresholds=30)).fit(X, y)
    scores = card.score_points(rows).tolist()
    assert card.base_points_ + card.contributions(rows).sum(axis=1).to_numpy() == pytest.approx(scores)
    assert in_sql(scorecard_to_sql(card, "later"), rows, "score") == scores
    assert [module_of(scorecard_to_python(card))["score"](row) for row in as_dictionaries(rows)] == scores
    assert scorecard_from_json(scorecard_to_json(card)).score_points(rows).tolist() == scores


def module_of(code: str) -> dict:
    module: dict = {}
    exec(compile(code, "exported.py", "exec"), module)
    return module


def in_sql(query: str, rows: pd.DataFrame, column: str) -> list:
    """Run a query on rows called ``later`` in DuckDB, and return one of its columns."""
    data = rows.assign(code=rows["code"].astype(float))
    connection = imported("duckdb").connect()
    imported("sqlglot")
    connection.register("later", data.reset_index(drop=True).assign(place=np.arange(len(data))))
    found = connection.execute(f"SELECT {column} FROM ({query}) ORDER BY place").fetchall()
    connection.close()
    return [value for (value,) in found]


def check_explained(classifier, training: pd.DataFrame, later: pd.DataFrame, black_box: np.ndarray) -> None:
    """Odd rows first: each has a proven counterfactual, and what it is explained as is predicted as the row is."""
    discretizer = classifier.discretizer_
    known = discretizer.all_thresholds_.columns
    odd = known.is_unknown(known.encode(later, handle_unknown="ignore")).any(axis=1)
    chosen = np.argsort(~odd, kind="stable")[:N_EXPLAINED]
    explainer = CounterfactualExplainer(discretizer.estimator_, training, handle_unknown="ignore")
    found = explainer.explain(later.iloc[chosen])
    assert (found.predicted == black_box[chosen]).all()
    assert set(found.status) <= {"optimal", "infeasible"}
    reached = found.status == "optimal"
    assert (discretizer.estimator_.predict(found.x[reached]) == found.target[reached]).all()
    assert (found.target[reached] != found.predicted[reached]).all()
    assert len(found.sentences()) == len(chosen)
    encoded = known.encode(later, handle_unknown="ignore")
    takes_missing = discretizer.stand_ins_.takes_missing
    replaced = (known.is_unknown(encoded) & ~(np.isnan(encoded) & takes_missing)).any(axis=1)
    assert set(found.replaced["row"]) == set(later.index[chosen[replaced[chosen]]])


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnknownValuesWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_splits", [pytest.param(10, id="small"), pytest.param(200, id="full", marks=pytest.mark.verify)])
def test_random_splits_raise_nothing_and_agree(n_splits):
    n_odd = sum(check_split(seed) for seed in range(n_splits))
    assert n_odd > 0.5 * n_splits


@pytest.fixture(scope="module")
def lender():
    X, y = loans()
    return FCCAClassifier(tree=OptimalTreeClassifier(max_depth=3)).fit(X, y)


def odd_rows() -> pd.DataFrame:
    return loans()[0].head(4).assign(purpose=["yacht", "car", "yacht", None], age=[30, np.nan, 40, 50])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "fidelity", "transform", "predict_target"])
def test_there_is_one_warning_with_counts(lender, method):
    ask = getattr(lender if hasattr(lender, method) else lender.discretizer_, method)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask(odd_rows())
    (only,) = [one for one in caught if issubclass(one.category, UnknownValuesWarning)]
    assert "2 unknown categories in column 'purpose'" in str(only.message)
    if method in ("fidelity", "predict_target"):
        assert "3 of 4 rows" in str(only.message)
        assert "1 missing value in column 'age'" in str(only.message)


def test_an_unknown_category_is_in_no_set_and_is_not_missing(lender):
    discretizer = lender.discretizer_
    rows = loans()[0].head(1).assign(purpose="yacht")
    with pytest.warns(UnknownValuesWarning):
        B = pd.DataFrame(discretizer.transform(rows), columns=discretizer.get_feature_names_out())
    assert len(B.filter(like="purpose").columns) > 0
    assert not B.filter(like="purpose").to_numpy().any()


def test_the_black_box_gets_the_most_frequent_category_and_the_median():
    X, y = loans()
    X = X.assign(income=X["income"].fillna(1.0))  # age and income have no missing values
    classifier = FCCAClassifier().fit(X, y)
    odd = X.head(50).assign(purpose="yacht", income=np.nan)
    same = X.head(50).assign(purpose=X["purpose"].mode()[0], income=X["income"].median())
    with pytest.warns(UnknownValuesWarning, match="50 of 50 rows"):
        predictions = classifier.discretizer_.predict_target(odd)
    assert predictions.tolist() == classifier.discretizer_.estimator_.predict(same).tolist()


def test_a_black_box_that_takes_missing_values_gets_them():
    X, y = loans()
    X = X[["income", "age"]].fillna(1.0)
    black_box = HistGradientBoostingClassifier(random_state=0, max_iter=20).fit(X, y)
    classifier = FCCAClassifier(FCCADiscretizer(FrozenEstimator(black_box), handle_unknown="ignore")).fit(X, y)
    odd = X.assign(income=np.nan)
    assert classifier.discretizer_.predict_target(odd).tolist() == black_box.predict(odd).tolist()


def test_a_frozen_black_box_whose_encoder_raises_is_never_given_an_unknown_category():
    X, y = loans()
    X = X[["purpose", "grade"]].fillna({"purpose": "tv"}).astype({"grade": object})
    black_box = make_pipeline(OneHotEncoder(sparse_output=False), RandomForestClassifier(10, random_state=0)).fit(X, y)
    odd = X.head(20).assign(purpose="yacht")
    with pytest.raises(ValueError, match="unknown categories"):
        black_box.predict(odd)
    classifier = FCCAClassifier(FCCADiscretizer(FrozenEstimator(black_box), handle_unknown="ignore")).fit(X, y)
    stand_ins = odd.assign(purpose=X["purpose"].mode()[0])
    assert classifier.fidelity(odd) == np.mean(classifier.predict(odd) == black_box.predict(stand_ins))
    found = CounterfactualExplainer(black_box, X, handle_unknown="ignore").explain(odd)
    assert found.replaced["value"].tolist() == ["yacht"] * 20
    assert found.replaced["used"].tolist() == [X["purpose"].mode()[0]] * 20
    assert "row 0 in purpose (yacht, explained as" in found.notes[0]


@pytest.mark.parametrize("plain", [True, False])
def test_an_error_can_be_asked_for(plain):
    X, y = loans()
    X = X[["age"]] if plain else X
    classifier = FCCAClassifier(FCCADiscretizer(handle_unknown="error")).fit(X, y)
    odd = X.head(3).assign(age=np.nan) if plain else X.head(3).assign(purpose="yacht")
    for ask in (classifier.predict, classifier.fidelity, classifier.discretizer_.transform):
        with pytest.raises(ValueError, match="NaN" if plain else "yacht"):
            ask(odd)
    explainer = CounterfactualExplainer(classifier.discretizer_.estimator_, X, handle_unknown="error")
    with pytest.raises(InvalidInputError, match="NaN" if plain else "yacht"):
        explainer.explain(odd)


def test_plain_numbers_may_be_missing_later():
    X, y = loans()
    X = X[["income", "age"]].fillna(1.0)
    classifier = FCCAClassifier().fit(X, y)
    odd = X.head(10).assign(income=np.nan)
    with pytest.warns(UnknownValuesWarning, match="10 of 10 rows .* 10 missing values in column 'income'"):
        predicted = classifier.predict(odd)
    assert predicted.tolist() == classifier.predict(odd.assign(income=-1e9)).tolist()  # above no threshold
    with pytest.warns(UnknownValuesWarning):
        found = CounterfactualExplainer(classifier.discretizer_.estimator_, X).explain(odd)
    assert set(found.status) == {"optimal"}


def test_every_discretizer_has_the_parameter():
    X, y = loans()
    found = MidpointDiscretizer(handle_unknown="error").fit(X, y)
    with pytest.raises(InvalidInputError, match="yacht"):
        found.transform(X.assign(purpose="yacht"))
    with pytest.raises(ValueError, match="handle_unknown"):
        MidpointDiscretizer(handle_unknown="no").fit(X, y)
    with pytest.raises(InvalidInputError, match="handle_unknown must be"):
        CounterfactualExplainer(RandomForestClassifier(3).fit(X[["age"]], y), X[["age"]], handle_unknown="no")


def test_columns_without_a_condition_may_hold_any_numbers():
    X, y = loans()
    X = X[["income", "age"]].fillna(1.0)
    found = MidpointDiscretizer().fit(X, y)
    found.thresholds_ = found.thresholds_.select(found.thresholds_.feature == 0)
    odd = X.head(10).assign(age=[np.nan, np.inf] * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (found.transform(odd) == found.transform(X.head(10))).all()


def test_small_trees_explain_unknown_categories_as_they_predict_them():
    for seed in range(8):
        X, y = rare_table(seed)
        classifier = FCCAClassifier(tree=OptimalTreeClassifier(max_depth=3)).fit(X, y)
        odd = X.head(30).assign(town="yonder", job="pilot", code=99)
        explainer = CounterfactualExplainer(classifier, X, handle_unknown="ignore")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownValuesWarning)
            assert explainer.predict(odd).tolist() == classifier.predict(odd).tolist()
