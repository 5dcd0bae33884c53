"""Explanations of tables with categories and missing values: labels everywhere, and sentences about them."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from fcca import CounterfactualExplainer
from fcca.constraints import Fillable, Immutable
from fcca.counterfactuals import Move
from fcca.counterfactuals._counterfactual_sentences import move_in_words
from fcca.models import prepared
from fcca.tables import Columns
from mixed_tables import loans

NAN = float("nan")


@pytest.fixture(scope="module")
def data():
    return loans()


@pytest.fixture(scope="module", params=["one column per category", "categories as such"])
def estimator(request, data):
    X, y = data
    own = GradientBoostingClassifier(max_depth=2, n_estimators=10, random_state=0)
    if request.param == "categories as such":
        own = HistGradientBoostingClassifier(max_iter=10, max_depth=3, random_state=0)
    return prepared(own, Columns.of_table(X)).fit(X, y)


@pytest.fixture(scope="module")
def found(estimator, data):
    return CounterfactualExplainer(estimator, data[0]).explain(data[0].iloc[:60])


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (Move("purpose", 1, 3, NAN, NAN, labels=('"car"', '"tv"')), 'purpose changed from "car" to "tv"'),
        (Move("purpose", NAN, 3, NAN, NAN, labels=(None, '"tv"')), 'the missing purpose became "tv"'),
        (Move("income", NAN, 3.5, NAN, 9.0), "the missing income became 3.5"),
        (Move("income", NAN, 2345.25, NAN, 9.0), "the missing income became 2,345.25"),
        (Move("7", NAN, 1.0, NAN, 9.0), "the missing column 7 became 1"),
        (Move("income", 1.0, 3.6789, 3.1, 9.0), "income rose from 1 to 3.6"),
        (Move("income", 1.0, 3.6789, 3.1, 9.0, exact=True), "income rose from 1 to 3.6789"),
        (Move("income", 3.6789, 1.2345, 3.1, 0.0, exact=True), "income fell from 3.6789 to 1.2345"),
    ],
)
def test_moves_in_words(move, words):
    assert move_in_words(move) == words


def test_values_are_shown_by_their_labels(found, data):
    X, _ = data
    frame = found.to_frame()
    purposes = set(X["purpose"].dropna())
    moved = frame[frame["feature"] == "purpose"]
    assert len(moved)
    assert set(moved["to"]) <= purposes
    assert set(moved["from"]) <= purposes
    assert moved["cut"].isna().all()
    for line in moved.itertuples():
        assert line[frame.columns.get_loc("from") + 1] == X["purpose"].iloc[line.row]
    incomes = frame[frame["feature"] == "income"]
    assert all(isinstance(value, float) for value in incomes["to"])


def test_changed_rows_are_frames_that_flip_the_classifier(found, estimator, data):
    X, _ = data
    answered = np.flatnonzero(found.is_status("optimal"))
    assert len(answered) > 30
    assert list(found.x.columns) == list(X.columns)
    np.testing.assert_array_equal(estimator.predict(found.x.iloc[answered]), found.target[answered])
    np.testing.assert_array_equal(estimator.predict(found.original), found.predicted)
    pd.testing.assert_frame_equal(
        found.original.astype(object).where(found.original.notna(), None),
        X.iloc[found.rows].reset_index(drop=True).astype({"age": float}).astype(object).where(lambda x: x.notna(), None),
    )
    pd.testing.assert_frame_equal(found.apply(X.iloc[:60]).iloc[answered], found.x.iloc[answered])
    np.testing.assert_array_equal(found.points[answered], found.changed_table(found.table)[answered])


def test_changed_shows_labels_side_by_side(found):
    frame = found.changed()
    for line in found.to_frame().dropna(subset=["feature"]).itertuples():
        original, changed = frame.loc[(line.row, line.answer)][line.feature]
        assert (original, changed) == (line[-3], line[-2])


def test_sentences_name_labels(found):
    texts = found.sentences()
    frame = found.to_frame()
    assert any("purpose changed from" in text for text in texts)
    for at, text in enumerate(texts):
        mine = frame[frame["row"] == found.rows[at]]
        for line in mine[mine["feature"] == "purpose"].itertuples():
            assert f'purpose changed from "{line[-3]}" to "{line[-2]}"' in text
    assert "purpose changed from" in repr(found) or len(found) > 10
    assert "&quot;" in found._repr_html_()


def test_missing_values_are_filled_in_where_rules_allow_it(estimator, data):
    X, _ = data
    gaps = X[X["income"].isna()].iloc[:40]
    explainer = CounterfactualExplainer(estimator, X)
    others = Immutable("purpose", "age", "grade")
    never = explainer.explain(gaps, constraints=[others])
    assert set(never.status) == {"infeasible"}
    found = explainer.explain(gaps, constraints=[others, Fillable("income")])
    answered = np.flatnonzero(found.is_status("optimal"))
    assert len(answered)
    assert found.moves.origin.size == len(answered)
    assert np.isnan(found.moves.origin).all()
    for at in answered:
        assert re.search(r"if the missing income became [\d.,]+\.$", found.sentences()[at])
        assert found.x["income"].iloc[at] == float(found.sentences()[at].rsplit(" ", 1)[1][:-1].replace(",", ""))
    np.testing.assert_array_equal(estimator.predict(found.x.iloc[answered]), found.target[answered])


def test_further_answers_change_other_sets_of_features(estimator, data):
    found = CounterfactualExplainer(estimator, data[0]).explain(data[0].iloc[:15], n=3)
    frame = found.to_frame().dropna(subset=["feature"])
    for _, mine in frame.groupby("row"):
        sets = [set(answer["feature"]) for _, answer in mine.groupby("answer")]
        assert not any(sets[i] <= sets[k] for k in range(len(sets)) for i in range(k))
    answered = np.flatnonzero(found.is_status("optimal"))
    np.testing.assert_array_equal(estimator.predict(found.x.iloc[answered]), found.target[answered])


def test_categories_have_no_range(estimator, data):
    X, _ = data
    found = CounterfactualExplainer(estimator, X).explain(X.iloc[[0]].assign(income=99.0))
    assert found.outside_range["feature"].tolist() == ["income"]
    assert "income (99 is above" in found.notes[0]


def test_broken_rules_are_noted(found):
    broken = pd.DataFrame({"row": [0, 3], "rule": ["age >= 18", "age >= 18"], "why": ["age is 17", "age is 16"]})
    noted = replace(found, broken_rules=broken)
    assert len(noted.notes) == len(found.notes) + 1
    assert "2 rows break rules before any change: row 0 age >= 18 (age is 17)" in noted.notes[-1]
