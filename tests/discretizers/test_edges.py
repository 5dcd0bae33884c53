"""Rare things that people nevertheless do: each ends in the right answer or in words that say what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier

from fcca import CounterfactualExplainer, FCCADiscretizer, OptimalTreeClassifier, ThresholdTable, read_model
from fcca.cli._column_types import as_known
from fcca.constraints import Fillable
from fcca.discretizers import Rows
from fcca.exceptions import InvalidInputError
from fcca.models import decide_at
from fcca.report._report_input import model_name
from fcca.selection import OptimalSelection, _selection_problem
from fcca.streaming import ParquetTable, distill
from fcca.tables import Columns
from real_data import imported


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3, 1, 2], "y": ["no", None, "yes"]}).to_parquet(path)
    return path


@pytest.mark.parametrize(
    ("label", "options", "said"),
    [
        ("y", {"rows_at_a_time": 0}, "rows_at_a_time must be a whole number of at least 1, got 0"),
        ("y", {"columns": "a"}, "columns must be a list of names, got the string 'a'"),
        ("z", {}, r"rows\.parquet has no column 'z'\. Its columns are \['a', 'b', 'y'\]"),
        ("y", {"columns": ["a", "c"]}, "has no column 'c'"),
        ("y", {"columns": ["a", "y"]}, "'y' is given twice"),
        ("y", {"sample_weight": "y"}, "'y' is given twice"),
        ("y", {"columns": []}, "has no feature columns, only the label column 'y'"),
    ],
)
def test_parquet_files_are_asked_only_for_what_they_have(parquet, label, options, said):
    with pytest.raises(InvalidInputError, match=said):
        ParquetTable(parquet, label, **options)


def test_parquet_rows_without_a_label_are_named(parquet):
    with pytest.raises(InvalidInputError, match=r"The label column 'y' has a missing value in row 1, counted from 0"):
        list(ParquetTable(parquet, "y"))


def test_a_parquet_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInputError, match=r"There is no file .*gone\.parquet"):
        ParquetTable(tmp_path / "gone.parquet", "y")


def conditions(**changed):
    columns = {
        "feature_names": ("a", "b"),
        "feature": np.array([0, 1]),
        "threshold": np.array([1.0, 2.0]),
        "cut": np.array([1.0, 2.0]),
        "below": np.array([0.0, 1.0]),
        "above": np.array([2.0, 3.0]),
        "count": np.array([1.0, 1.0]),
    }
    return ThresholdTable(**(columns | changed))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"threshold": np.array([1.0, np.nan])}, "Thresholds must be finite numbers"),
        ({"threshold": np.array([np.inf, 2.0])}, "Thresholds must be finite numbers"),
        ({"feature": np.array([0, 0]), "threshold": np.array([1.0, 1.0])}, "A condition occurs twice"),
        ({"feature": np.array([1, 0])}, "Conditions must be sorted"),
        ({"kind": np.array(["cut"])}, "Every condition must have a kind"),
    ],
)
def test_tables_of_conditions_that_contradict_themselves(changed, said):
    assert len(conditions()) == 2
    with pytest.raises(InvalidInputError, match=said):
        conditions(**changed)


def test_a_table_is_no_other_thing():
    assert conditions() != "a > 1"
    assert conditions() == conditions()
    with pytest.raises(TypeError, match="unsupported operand"):
        conditions() + "a > 1"


def test_more_conditions_than_a_search_takes(monkeypatch):
    monkeypatch.setattr(_selection_problem, "MOST_CONDITIONS", 3)
    X = np.array([[1.0, 2.0], [2.0, 3.0], [1.0, 3.0], [2.0, 2.0]])
    with pytest.raises(InvalidInputError, match="The table has 2 conditions, but the search accepts at most about 3"):
        OptimalSelection(n_thresholds=1).select(conditions(), X, [0, 1, 0, 1])


def test_a_quantile_that_is_none_and_a_price_that_is_none():
    X, y = load_iris(return_X_y=True)
    discretizer = FCCADiscretizer().fit(X[:100], y[:100])
    for Q in (1.5, -0.1, "0.5"):
        with pytest.raises(InvalidInputError, match="Q must be between 0 and 1"):
            discretizer.set_granularity(Q)
    with pytest.raises(ValueError, match="regularization"):  # by scikit-learn or, where it lets it pass, by the tree
        OptimalTreeClassifier(regularization=float("inf")).fit((X > 3).astype(int), y)


def test_a_linear_classifier_with_sparse_coefficients_answers_as_the_dense_one():
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)
    dense = SGDClassifier(loss="log_loss", penalty="l1", random_state=0).fit(X, y)
    expected = CounterfactualExplainer(dense, X).explain(X[:5])
    sparse = SGDClassifier(loss="log_loss", penalty="l1", random_state=0).fit(X, y).sparsify()
    assert not isinstance(sparse.coef_, np.ndarray)
    np.testing.assert_array_equal(read_model(sparse).coef, dense.coef_)
    found = CounterfactualExplainer(sparse, X).explain(X[:5])
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.cost, expected.cost)


@pytest.mark.parametrize("objective", ["multi:softmax", "binary:logitraw"])
def test_boosters_whose_own_answers_are_no_probabilities(objective):
    xgboost = imported("xgboost")
    X, y = load_iris(return_X_y=True)
    if objective == "binary:logitraw":
        X, y = X[50:], y[50:] - 1
    settings = {"objective": objective, "max_depth": 2, "seed": 0} | ({"num_class": 3} if "multi" in objective else {})
    booster = xgboost.train(settings, xgboost.DMatrix(X, y), 5)
    found = CounterfactualExplainer(booster, X).explain(X[:20])
    assert (found.status == "optimal").all()
    margins = booster.predict(xgboost.DMatrix(found.x), output_margin=True)
    answers = margins.argmax(axis=1) if margins.ndim > 1 else (margins > 0).astype(int)
    np.testing.assert_array_equal(answers, found.target)
    chance = softmax(margins, axis=1) if margins.ndim > 1 else np.column_stack([expit(-margins), expit(margins)])
    np.testing.assert_allclose(found.probability_after, chance[np.arange(20), answers], rtol=1e-5)


def test_a_probability_of_a_model_with_a_score_for_each_of_two_classes():
    catboost = imported("catboost")
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:] - 1
    model = catboost.CatBoostClassifier(
        iterations=8, depth=2, loss_function="MultiClass", random_seed=0, verbose=False, allow_writing_files=False
    ).fit(X, y)
    found = CounterfactualExplainer(model, X).explain(X[:20], target_probability=0.55)
    solved = found.status == "optimal"
    assert solved.any()
    chance = model.predict_proba(found.x[solved])[np.arange(solved.sum()), found.target[solved].astype(int)]
    assert (chance >= 0.55).all()


def test_labels_of_a_mixed_table_have_to_be_given():
    X = pd.DataFrame({"kind": ["a", "b", "a"], "size": [1.0, 2.0, 3.0]})
    with pytest.raises(InvalidInputError, match="FCCADiscretizer requires y to be passed, but the target y is None"):
        FCCADiscretizer().fit(X, None)


def test_rows_of_different_lengths_are_no_table():
    with pytest.raises(ValueError, match=r"inhomogeneous|setting an array element"):
        FCCADiscretizer().fit([[1.0, 2.0], [3.0]], [0, 1])


def test_cells_of_several_types_keep_the_labels_that_the_model_knows():
    known = Columns.of_table(pd.DataFrame({"code": pd.Series(["1", "2", "x"], dtype=object), "n": [1.0, 2.0, 3.0]}))
    new = pd.DataFrame({"code": pd.Series([1, None, "x"], dtype=object), "n": pd.Series([True, "2.5", None], dtype=object)})
    found = as_known(new, known)
    assert found["code"].tolist()[0] == "1"
    assert pd.isna(found["code"].iloc[1])
    assert found["code"].iloc[2] == "x"
    assert found["n"].tolist()[:2] == [1.0, 2.5]
    assert np.isnan(found["n"].iloc[2])


def test_held_out_rows_keep_their_weights_out_of_the_tree():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    rng = np.random.default_rng(0)
    weight, held_out = rng.integers(0, 3, len(y)).astype(float), rng.random(len(y)) < 0.3
    model = GradientBoostingClassifier(n_estimators=10, max_depth=1, random_state=0).fit(X, y)

    def found(weight_of_held_out):
        given = np.where(held_out, weight_of_held_out, weight)
        chunks = [Rows(X[at], y[at], given[at], held_out[at]) for at in np.array_split(np.arange(len(y)), 3)]
        return distill(chunks, FCCADiscretizer(FrozenEstimator(model)))

    expected = FCCADiscretizer(FrozenEstimator(model)).fit(X[~held_out], y[~held_out], weight[~held_out])
    for streamed in (found(weight), found(50 * weight)):
        assert streamed.discretizer_.all_thresholds_ == expected.all_thresholds_


def test_a_move_out_of_a_gap_is_drawn_where_it_lands():
    imported("matplotlib").use("Agg")
    from fcca.plots import CounterfactualMovesDisplay

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    y = (X["a"] > 0).to_numpy().astype(int)
    X.loc[:20, "a"] = np.nan
    y[:21] = 0
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y)
    explained = CounterfactualExplainer(model, X).explain(X.iloc[:1], constraints=[Fillable("a")])
    display = CounterfactualMovesDisplay.from_explanations(explained).plot()
    assert any(text.get_text().startswith("missing → ") for text in display.ax_.texts)


def test_a_black_box_that_decides_elsewhere_says_so():
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X[50:], y[50:])
    assert model_name(decide_at(model, 0.25)) == "GradientBoostingClassifier, decision threshold 0.25"
