"""Sentences and crossed thresholds of a discretizer's counterfactuals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from fcca import CounterfactualExplainer, FCCADiscretizer
from fcca.constraints import Immutable
from fcca.exceptions import InvalidInputError
from mixed_tables import loans


def numbers(n=150, names=None):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4)).round(3) * [1, 10, 1000, 1]
    y = np.where(X[:, 0] + X[:, 1] / 10 + X[:, 2] / 1000 > 0.2, "yes", "no")
    return (X if names is None else pd.DataFrame(X, columns=names)), y


def three_classes():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[:, :6], y


stumps = GradientBoostingClassifier(max_depth=1, n_estimators=30, random_state=0)
forest = RandomForestClassifier(10, max_depth=3, random_state=0)
CASES = {
    "stumps": (numbers, stumps, {}),
    "names": (lambda: numbers(names=["0", "b\nc", "<d>", "e"]), stumps, {}),
    "linear": (numbers, LogisticRegression(), {"lambda0": 0.2, "lambda2": 0.5}),
    "margin": (numbers, stumps, {"margin": "10%"}),
    "too much": (numbers, stumps, {"margin": "60%"}),
    "rules": (numbers, stumps, {"constraints": [Immutable("x0")]}),
    "forest and rules": (numbers, forest, {"constraints": [Immutable("x0", "x1")]}),
    "three classes": (three_classes, forest, {}),
    "categories and gaps": (loans, None, {}),
    "categories, gaps and rules": (loans, None, {"constraints": [Immutable("age")]}),
    "categories, three classes": (lambda: loans(classes=3), stumps, {}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    make, model, options = CASES[request.param]
    X, y = make()
    discretizer = FCCADiscretizer(model, **options).fit(X, y)
    return X, discretizer, options


@pytest.mark.filterwarnings("ignore::fcca.exceptions.UnverifiedCounterfactualWarning")
def test_sentences_of_the_discretizer_equal_those_of_the_explainer(case):
    X, discretizer, options = case
    explainer = CounterfactualExplainer(discretizer.estimator_, X, **options)
    found = discretizer.counterfactuals_
    chosen = np.random.default_rng(0).choice(len(found), 40, replace=False)
    rows = found.rows[chosen]
    asked = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    subject = {"subject": "The row"}  # an array has no names of rows, and the explainer numbers its rows from 0
    assert found.take(chosen).sentences(**subject) == explainer.explain(asked).sentences(**subject)
    assert [found.sentences()[i] for i in chosen] == found.take(chosen).sentences()


@pytest.mark.parametrize(
    ("model", "options", "within"),
    [
        (stumps, {"margin": "60%"}, "within the range of the data"),
        (forest, {"constraints": [Immutable("x0", "x1")]}, "within the rules and the range of the data"),
    ],
)
def test_infeasible_sentences_of_two_classes(model, options, within):
    X, y = numbers()
    found = FCCADiscretizer(model, **options).fit(X, y).counterfactuals_
    nowhere = found.take(np.flatnonzero(found.is_status("infeasible")))
    assert len(nowhere)
    others = {"yes": "no", "no": "yes"}
    assert nowhere.sentences() == [f"Row {row}: no change {within} leads to {others[y[row]]}." for row in nowhere.rows]


def test_class_names_are_used():
    X, y = numbers()
    found = FCCADiscretizer(stumps).fit(X, y).counterfactuals_
    assert {text.split(" if ")[0].split()[-1] for text in found.sentences({"yes": "approved"})} == {"approved", "no"}
    with pytest.raises(InvalidInputError, match="unknown class 'maybe'"):
        found.sentences({"maybe": "perhaps"})


def test_the_thresholds_that_a_row_crosses_are_those_that_list_it(case):
    _, discretizer, _ = case
    crossed = {row: set(discretizer.crossed_by(row)) for row in discretizer.counterfactuals_.rows.tolist()}
    for name in discretizer.all_thresholds_.names():
        listed = set(discretizer.rows_crossing(name).tolist())
        assert {row for row, names in crossed.items() if name in names} == listed


def test_a_row_without_a_counterfactual_crosses_nothing_and_a_wrong_number_is_refused():
    X, y = numbers()
    fitted = clone(stumps).fit(X, y)
    y = fitted.predict(X)
    y[0] = "no" if y[0] == "yes" else "yes"
    discretizer = FCCADiscretizer(FrozenEstimator(fitted)).fit(X, y)
    assert discretizer.counterfactuals_.rows[0] == 1
    assert discretizer.crossed_by(0) == []
    assert discretizer.crossed_by(1)
    for wrong in (-1, 1.5, "RM"):
        with pytest.raises(InvalidInputError, match="row must be the number of a training row"):
            discretizer.crossed_by(wrong)


def test_printed_they_are_short_and_begin_with_a_summary(case):
    _, discretizer, _ = case
    found = discretizer.counterfactuals_
    lines = repr(found).splitlines()
    counts = ", ".join(f"{n} {status}" for status, n in found.counts().items())
    assert lines[0] == f"Counterfactuals of {len(found)} rows: {counts}"
    assert lines[1] == f"  {found.sentences()[0]}"
    assert lines[-1] == f"  … {len(found) - 10} more"
    assert len(lines) == 12
    assert repr(found.take(np.arange(0))) == "Counterfactuals of 0 rows: none"


def test_in_a_notebook_names_are_shown_as_text():
    X, y = numbers(names=["<script>alert(1)</script>", "b", "c", "d"])
    y = np.where(y == "yes", "<b>yes</b>", "no")
    found = FCCADiscretizer(stumps).fit(X, y).counterfactuals_
    html = found._repr_html_()
    assert "<script" not in html
    assert "<b>yes" not in html
    assert "&lt;b&gt;yes&lt;/b&gt; if" in html
    assert html.count("<tr>") == 11
    assert f"… {len(found) - 10} more" in html
