"""Sentences about counterfactuals, and that they are true."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcca import CounterfactualExplainer
from fcca.counterfactuals import Move, grouped
from fcca.counterfactuals._counterfactual_sentences import move_in_words, sentence
from fcca.exceptions import InvalidInputError


def move(feature, origin, landing, cut=math.nan, edge=None):
    edge = (math.inf if landing > origin else -math.inf) if edge is None else edge
    return Move(feature, float(origin), float(landing), float(cut), float(edge))


def say(status="optimal", target="approved", moves=(), *, cost=1.0, bound=1.0, **options):
    return sentence(status, target, list(moves), subject="Row 5", cost=cost, bound=bound, **options)


def test_an_answer_reads_like_a_sentence():
    income, loans = move("income", 2100, 2340, cut=2337.5), move("open loans", 4, 2, cut=2.5)
    assert say(moves=[income, loans]) == (
        "Row 5 would be approved if income rose from 2,100 to 2,340 and open loans fell from 4 to 2."
    )
    age = move("age", 17, 18, cut=17.5)
    assert say(moves=[age, income, loans]) == (
        "Row 5 would be approved if age rose from 17 to 18; income rose from 2,100 to 2,340; "
        "and open loans fell from 4 to 2."
    )
    assert say(moves=[age], number=2) == "Row 5 would also be approved if age rose from 17 to 18."
    assert say(target="1", moves=[age]) == "Row 5 would be class 1 if age rose from 17 to 18."


@pytest.mark.parametrize(
    ("moved", "text"),
    [
        (move("x", 0.21, 0.3141592, cut=0.2513), "x rose from 0.21 to 0.3"),
        (move("x", 1203, 869.3, cut=880.75), "x fell from 1,203 to 870"),
        (move("x", 1203, 869.3, cut=869.35), "x fell from 1,203 to 869.3"),
        (move("x", 2, 1_234_567, cut=10), "x rose from 2 to 1,234,567"),
        (move("x", -3, -12_000, cut=-5), "x fell from -3 to -12,000"),
        (move("x", 0.1 + 0.2, 1.5, cut=1.25), "x rose from 0.3 to 1.5"),
        (move("x", 1.00000001, 0.5, cut=1.0), "x fell from 1.001 to 0.5"),
        (move("x", 1e-9, 3e-9, cut=2e-9), "x rose from 1e-09 to 3e-09"),
        (move("x", 0, 1e18, cut=10), "x rose from 0 to 1e+18"),
        (move("x", 1, 2.3456789), "x rose from 1 to 2.35"),
        (move("x", 5, 2.3456789), "x fell from 5 to 2.34"),
        (move("x", 5, 2.3456789, edge=2.3456789), "x fell from 5 to 2.3456789"),
    ],
)
def test_numbers_have_as_few_digits_as_they_need(moved, text):
    assert move_in_words(moved) == text


def test_thousands_are_set_apart():
    assert [grouped(x) for x in (0.0, 1234.5, -1234567.25, 0.0001, 100.0, 1e16)] == [
        *("0", "1,234.5", "-1,234,567.25", "0.0001", "100", "1e+16")
    ]


def test_a_comma_stands_inside_numbers_only():
    moves = [
        move("year", 2019, 414, cut=500),
        move("income", 2100, 2340, cut=2337.5),
        move("debt", 12_000, 1_500, cut=9_000),
    ]
    for n in (1, 2, 3):
        text = say(moves=moves[:n])
        assert re.findall(r",(?!\d{3}\b)", text) == []
        assert len(re.split(r"; and |; | and ", text)) == n


def test_names_stay_on_their_line_and_are_no_values():
    assert move_in_words(move("net\nincome\x1b[31m", 1, 2, cut=1.5)) == "net\\nincome\\x1b[31m rose from 1 to 2"
    assert move_in_words(move("3", 1, 2, cut=1.5)) == "column 3 rose from 1 to 2"
    assert move_in_words(move("x3", 1, 2, cut=1.5)) == "x3 rose from 1 to 2"


def test_unproven_counterfactuals_state_their_gap():
    moves = [move("x", 1, 2, cut=1.5)]
    assert say("feasible", moves=moves, cost=1.12, bound=1.0) == (
        "Row 5 would be approved if x rose from 1 to 2 (within 12 % of the cheapest)."
    )
    assert say("feasible", moves=moves, cost=1.111, bound=1.0).endswith("(within 12 % of the cheapest).")
    assert say("feasible", moves=moves, cost=3.0, bound=1.0).endswith("(at most 3 times the cost of the cheapest).")
    assert say("feasible", moves=moves, cost=3.0, bound=0.0).endswith("(not proven to be the cheapest).")
    assert say("unverified", moves=moves).endswith("(not confirmed by the classifier itself).")
    assert say("unknown", bound=0.0) == ("Row 5: time ran out before a change that leads to approved was found.")
    assert say("unknown", None, bound=0.25, number=2) == (
        "Row 5: time ran out before another change that leads to another class was found; no such change "
        "costs less than 0.25."
    )


def test_sentences_without_a_counterfactual():
    assert say("infeasible") == "Row 5: no change within the range of the data leads to approved."
    assert say("infeasible", None) == "Row 5: no change within the range of the data leads to another class."
    assert "no change within the rules and the range of the data leads to" in say("infeasible", ruled=True)
    assert say("infeasible", number=2) == (
        "Row 5: no change of another set of features within the range of the data leads to approved."
    )
    assert say(cost=0, bound=0) == "Row 5 is already approved: nothing has to change."
    assert say(cost=0, probability=0.8) == (
        "Row 5 is already approved with a probability of at least 0.8: nothing has to change."
    )


def test_class_names_are_used_in_sentences():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = GradientBoostingClassifier(max_depth=1, n_estimators=10, random_state=0).fit(X, y)
    found = CounterfactualExplainer(model, X).explain(X.iloc[[0, 19]])
    begins = [text.partition(" if ")[0] for text in found.sentences()]
    assert begins == ["Row 0 would be class 1", "Row 19 would be class 0"]
    begins = [text.partition(" if ")[0] for text in found.sentences({1: "benign"}, subject="The patient")]
    assert begins == ["The patient would be benign", "The patient would be class 0"]
    with pytest.raises(InvalidInputError, match="unknown class '1'"):
        found.sentences({"1": "benign"})


MODELS = {
    "stumps": GradientBoostingClassifier(max_depth=1, random_state=0),
    "forest": RandomForestClassifier(n_estimators=20, max_depth=3, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=10, max_depth=2, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_sentence_is_true_of_the_numbers_in_it(name):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = MODELS[name].fit(X, y)
    rows = X.iloc[::19]
    found = CounterfactualExplainer(model, X).explain(rows)
    assert found.is_status("optimal").all()
    told = rows.copy()
    for i, text in enumerate(found.sentences()):
        moves = re.findall(r"(?:if|; and|;|and) ([a-z ]+?) (rose|fell) from ([\d.,]+?\d) to ([\d.,]*\d)", text)
        assert len(moves) == (found.moves.point == i).sum()
        for feature, verb, origin, landing in moves:
            origin, landing = (float(number.replace(",", "")) for number in (origin, landing))
            assert (landing > origin) == (verb == "rose")
            told.loc[told.index[i], feature] = landing
    np.testing.assert_array_equal(model.predict(told), found.target)
