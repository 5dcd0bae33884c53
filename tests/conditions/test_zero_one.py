"""A column of zeros and ones is asked as ``x = 1``, in every text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from fcca import (
    FCCAClassifier,
    FCCADiscretizer,
    GTREDiscretizer,
    MidpointDiscretizer,
    OptimalTreeClassifier,
    ThresholdTable,
    report,
)
from fcca.exceptions import InvalidInputError
from fcca.export import from_json, to_json, to_markdown, to_text

N = 300


def smokers(missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows whose label depends on a column of zeros and ones and on a number."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"smoker": rng.integers(0, 2, N).astype(float), "age": rng.integers(20, 80, N).astype(float)})
    if missing:
        X.loc[rng.random(N) < 0.1, "smoker"] = np.nan
    return X, np.where((X["smoker"] == 1) & (X["age"] > 50), "ill", "well")


@pytest.mark.parametrize("discretizer", [FCCADiscretizer(), GTREDiscretizer(), MidpointDiscretizer()], ids=type)
def test_every_discretizer_names_the_condition(discretizer):
    X, y = smokers()
    names = discretizer.fit(X, y).get_feature_names_out().tolist()
    assert "smoker = 1" in names
    assert not [name for name in names if name.startswith("smoker >")]


@pytest.mark.parametrize("missing", [False, True])
def test_all_texts_of_the_tree_agree(missing):
    X, y = smokers(missing)
    classifier = FCCAClassifier().fit(X, y)
    page = report.page(classifier)
    for text in (to_text(classifier), to_markdown(classifier), page):
        assert "smoker = 1" in text
        assert ("smoker = 0 or missing" if missing else "smoker = 0") in text
        assert "smoker >" not in text
    loaded = from_json(to_json(classifier))
    assert to_text(loaded) == to_text(classifier)
    assert to_json(loaded) == to_json(classifier)


@pytest.mark.parametrize("values", [(0, 2), (1, 2), (0, 1, 0.5), (0, 1, 2), (-1, 1)])
def test_other_columns_keep_their_cuts(values):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.choice(np.array(values, dtype=float), N)})
    found = FCCADiscretizer().fit(X, X["x"] > np.mean(values))
    assert all(name.startswith("x > ") for name in found.get_feature_names_out())


@pytest.mark.parametrize("discretizer", [FCCADiscretizer, MidpointDiscretizer])
def test_counts_with_a_cut_at_one_half_are_not_called_one(discretizer):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"children": rng.integers(0, 6, N).astype(float)})
    estimator = {} if discretizer is MidpointDiscretizer else {"estimator": HistGradientBoostingClassifier(max_iter=5)}
    found = discretizer(**estimator, round_thresholds=False).fit(X, X["children"] > 0)
    assert "children > 0.5" in found.get_feature_names_out()


def test_the_shares_of_a_linear_model_keep_their_cuts():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"share": np.append(rng.random(N), [0.0, 1.0]), "flag": np.append(rng.integers(0, 2, N), [0, 1])})
    y = X["share"] + X["flag"] > 0.7
    table = FCCADiscretizer(LogisticRegression(C=100.0)).fit(X, y).thresholds_
    assert "flag = 1" in table.names()
    assert any(name.startswith("share > ") for name in table.names())
    assert (table.below <= table.threshold).all()
    assert (table.threshold < table.above).all()


@pytest.mark.parametrize("values", [(0.0, 1.0), (-9.0, 0.0, 1.0)])
def test_special_values_keep_the_name(values):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": rng.choice(values, N), "x": rng.random(N)})
    classifier = FCCAClassifier(FCCADiscretizer(special_values={-9})).fit(X, (X["flag"] == 1) & (X["x"] > 0.3))
    assert "flag = 1" in classifier.discretizer_.get_feature_names_out()
    assert ("flag = 0 or is -9" if -9 in values else "flag = 0 ") in to_text(classifier)


def test_a_special_value_between_zero_and_one_keeps_the_cut():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": rng.choice([0.0, 0.25, 1.0], N), "x": rng.random(N)})
    found = FCCADiscretizer(special_values={0.25}).fit(X, (X["flag"] == 1) & (X["x"] > 0.3))
    assert not [name for name in found.get_feature_names_out() if name.startswith("flag = ")]


@pytest.mark.parametrize("columns", [["smoker", "age"], ["smoker", "owner"]])
@pytest.mark.parametrize("criterion", ["error", "gini"])
def test_the_optimal_tree_names_the_condition(columns, criterion):
    X, y = smokers()
    X = X.assign(owner=(X["age"] > 50).astype(int), children=X["age"] // 20)[columns]
    rules = " ".join(OptimalTreeClassifier(max_depth=2, criterion=criterion).fit(X, y).rules())
    assert "smoker = 1" in rules
    assert "smoker = 0" in rules
    assert ("age > 50" if "age" in columns else "owner = 1") in rules
    assert "smoker >" not in rules
    counts = pd.DataFrame({"children": np.arange(N) % 3})
    assert "children > 0.5" in " ".join(OptimalTreeClassifier(max_depth=2).fit(counts, counts["children"] > 0).rules())


def test_a_forged_mark_is_refused():
    X, y = smokers()
    text = FCCADiscretizer().fit(X, y).thresholds_.to_json()
    assert '"zero_one": true' in text
    with pytest.raises(InvalidInputError, match="zeros and ones"):
        ThresholdTable.from_json(text.replace('"threshold": 0.5', '"threshold": 0.25'))


def test_unrounded_thresholds_keep_the_value_of_the_black_box():
    X, y = smokers()
    names = FCCADiscretizer(round_thresholds=False).fit(X, y).get_feature_names_out()
    assert any(name.startswith("smoker > 0.50000") for name in names)


def test_the_name_survives_a_file(tmp_path):
    X, y = smokers()
    table = FCCADiscretizer().fit(X, y).thresholds_
    assert ThresholdTable.from_json(table.to_json()).names() == table.names()
    assert (table.binarize(X)[:, table.names().index("smoker = 1")] == X["smoker"]).all()


def test_a_selection_of_conditions_equals_its_file():
    X, y = smokers()
    table = FCCADiscretizer().fit(X, y).thresholds_
    for keep in (table.feature == 0, table.feature == 1):
        kept = table.select(keep)
        assert ThresholdTable.from_json(kept.to_json()) == kept


def test_a_sum_with_conditions_on_other_columns_keeps_the_name():
    X, y = smokers()
    table = FCCADiscretizer().fit(X, y).thresholds_
    on_age = ThresholdTable.from_list([("age", 30)], list(X))
    assert "smoker = 1" in (table + on_age).names()
    assert "smoker = 1" in (on_age + table).names()


def test_a_sum_with_a_cut_of_another_kind_names_the_cut():
    X, y = smokers()
    table = FCCADiscretizer().fit(X, y).thresholds_
    counted = ThresholdTable.from_list([("smoker", 1.5)], list(X))
    assert {"smoker > 0.5", "smoker > 1.5"} <= set((table + counted).names())
