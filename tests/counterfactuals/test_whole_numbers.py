"""Columns of whole numbers: changes end at whole numbers, and are the cheapest that do."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from fcca import CounterfactualExplainer
from fcca.constraints import Bounds, Immutable, MaxChanges

LAMBDA0 = 0.1


def tables(seed):
    """Few rows far apart, so that many cells have no training value."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 60, 40), rng.integers(-20, 20, 40) * 3, rng.integers(0, 2, 40)]).astype(float)
    y = (X[:, 0] + X[:, 1] + 20 * X[:, 2] + rng.normal(0, 8, 40) > 35).astype(int)
    return X, y


def cuts_of(forest, j):
    """The cuts of a column as values that a float32 comparison decides alike."""
    cuts = [tree.tree_.threshold[tree.tree_.feature == j] for tree in forest.estimators_]
    return np.unique(np.concatenate(cuts))


def landings(x, values, cuts):
    """Where the column may go: in each other cell the nearest training value, or else the nearest whole number."""
    every = np.arange(values.min(), values.max() + 1)
    found, own = [x], np.searchsorted(cuts, x)
    for cell in range(len(cuts) + 1):
        if cell != own:
            seen, whole = values[np.searchsorted(cuts, values) == cell], every[np.searchsorted(cuts, every) == cell]
            candidates = seen if len(seen) else whole
            found += [min(candidates, key=lambda value: abs(value - x))] if len(candidates) else []
    return np.array(found)


@pytest.mark.parametrize("family", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("seed", range(6))
def test_changes_end_at_whole_numbers_and_are_the_cheapest(family, seed):
    X, y = tables(seed)
    forest = family(4, max_depth=3, random_state=seed).fit(X, y)
    found = CounterfactualExplainer(forest, X, lambda0=LAMBDA0, margin=1e-9).explain(X)
    assert (found.moves.landing == np.floor(found.moves.landing)).all()
    width = np.ptp(X, axis=0)
    predicted = forest.predict(X)
    for i, row in enumerate(X):
        points = np.array(list(product(*(landings(row[j], X[:, j], cuts_of(forest, j)) for j in range(3)))))
        costs = LAMBDA0 * (points != row).sum(axis=1) + (np.abs(points - row) / width).sum(axis=1)
        other = forest.predict_proba(points)[:, 1 - predicted[i]]
        flips = other > 0.5 + 1e-9
        if flips.any():
            assert found.cost[i] == pytest.approx(costs[flips].min())
        else:
            assert found.status[i] == "infeasible"


def test_some_change_would_have_ended_between_whole_numbers():
    X, y = tables(0)
    forest = ExtraTreesClassifier(4, max_depth=3, random_state=0).fit(X, y)
    landing = CounterfactualExplainer(forest, X).explain(X, constraints=[MaxChanges(3)]).moves.landing
    assert (landing != np.floor(landing)).any()


def test_rules_keep_numbers_short():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.uniform(1000, 3000, 200), "age": rng.uniform(20, 70, 200)})
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, (X["income"] > 2000).astype(int))
    explainer, rows = CounterfactualExplainer(forest, X), X.iloc[:20]
    free = explainer.explain(rows)
    ruled = explainer.explain(rows, constraints=[Immutable("age")])
    same = [i for i in range(20) if set(free.moves.feature[free.moves.point == i]) == {0}]
    assert same
    assert [free.sentences()[i] for i in same] == [ruled.sentences()[i] for i in same]


def test_a_number_that_would_break_a_rule_is_printed_unrounded():
    X = pd.DataFrame({"income": [10.0, 11.0, 12.0, 20.123456, 21.0, 22.0]})
    forest = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    explainer = CounterfactualExplainer(forest, X)
    assert explainer.explain(X.iloc[:1]).sentences() == ["Row 0 would be class 1 if income rose from 10 to 20."]
    ruled = explainer.explain(X.iloc[:1], constraints=[Bounds("income", low=20.1)])
    assert ruled.sentences() == ["Row 0 would be class 1 if income rose from 10 to 20.123456."]
