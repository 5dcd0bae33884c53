"""All equally cheap counterfactuals of a row are counted."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from fcca import FCCAClassifier, FCCADiscretizer
from fcca.certificates import certificate, verify
from fcca.constraints import Immutable
from fcca.counterfactuals import CounterfactualEngine
from fcca.streaming import distill

LABELS = ("a", "b", "c")
DISTANCE = 0.4


def categories(seed, n_rows=60, n_columns=4):
    """A table of categories, and labels that several columns can flip."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, random.integers(2, 4), (n_rows, n_columns))
    votes = (codes == codes[0]).sum(axis=1) + random.normal(0, 0.3, n_rows)
    X = pd.DataFrame({f"x{j}": np.array(LABELS)[codes[:, j]] for j in range(n_columns)})
    return X, np.where(votes > np.median(votes), "yes", "no")


def boosting(seed):
    return GradientBoostingClassifier(n_estimators=8, max_depth=2, learning_rate=0.5, random_state=seed)


def forest(seed):
    return RandomForestClassifier(n_estimators=7, max_depth=3, random_state=seed)


def cheapest_sets(discretizer, X):
    """For each row, the smallest sets of columns whose change flips the prediction, by trying all rows there are."""
    present = [sorted(X[name].unique()) for name in X]
    everything = pd.DataFrame(list(product(*present)), columns=X.columns)
    predicted = discretizer.predict_target(everything)
    own = discretizer.predict_target(X)
    found = []
    for row, label in zip(X.to_numpy(), own, strict=True):
        changed = (everything.to_numpy() != row)[predicted != label]
        n_changed = changed.sum(axis=1)
        cheapest = changed[n_changed == n_changed.min(initial=len(row) + 1)]
        found.append({tuple(np.flatnonzero(columns).tolist()) for columns in cheapest})
    return found


@pytest.mark.parametrize("black_box", [boosting, forest])
@pytest.mark.parametrize("seed", range(12))
def test_every_column_that_flips_a_row_alone_is_crossed(black_box, seed):
    X, y = categories(seed)
    discretizer = FCCADiscretizer(black_box(seed), category_distance=DISTANCE, p0=0.0).fit(X, y)
    column_of = discretizer.all_thresholds_.feature
    rows, conditions = discretizer.crossings()
    n_ties = 0
    for row, sets in enumerate(cheapest_sets(discretizer, X)):
        crossed = column_of[conditions[rows == row]].tolist()
        assert len(set(crossed)) == len(crossed)  # every column at most once
        if row not in discretizer.counterfactuals_.rows or not sets:
            assert not crossed
            continue
        columns = {j for one in sets for j in one}
        size = len(next(iter(sets)))
        assert len(crossed) % size == 0
        assert set(crossed) <= columns
        if size == 1:
            assert set(crossed) == columns
            n_ties += len(columns) > 1
        else:  # no further cheapest set is free of the crossed columns
            assert all(set(one) & set(crossed) for one in sets)
    assert n_ties > 0


def test_ties_are_optional_and_the_paper_has_none():
    X, y = categories(3)
    settings = {"category_distance": DISTANCE, "p0": 0.0}
    model = boosting(3)
    every = FCCADiscretizer(model, **settings).fit(X, y)
    first = FCCADiscretizer(model, count_ties=False, **settings).fit(X, y)
    paper = FCCADiscretizer(model, preset="paper", **settings).fit(X, y)
    assert first.all_thresholds_.count.sum() < every.all_thresholds_.count.sum()
    assert paper.all_thresholds_ == first.all_thresholds_
    assert len(every.counterfactuals_) == len(first.counterfactuals_)
    np.testing.assert_array_equal(every.counterfactuals_.cost, first.counterfactuals_.cost)


def test_zero_one_columns_have_ties_and_continuous_ones_are_not_searched_again(monkeypatch):
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (200, 5)).astype(float)
    y = (X[:, :3].sum(axis=1) >= 2).astype(int)
    every, first = (FCCADiscretizer(boosting(0), count_ties=ties).fit(X, y).all_thresholds_ for ties in (True, False))
    assert every.count.sum() > first.count.sum()
    continuous = FCCADiscretizer(boosting(0))
    calls = []
    solve = CounterfactualEngine.solve
    counted = lambda self, *given, **options: calls.append(0) or solve(self, *given, **options)  # noqa: E731
    monkeypatch.setattr(CounterfactualEngine, "solve", counted)
    continuous.fit(random.normal(size=(200, 3)), y)
    assert len(calls) == 1


def test_rules_hold_for_ties():
    X, y = categories(5)
    names = [str(name) for name in X.columns[:2]]
    found = FCCADiscretizer(boosting(5), constraints=[Immutable(*names)], p0=0.0).fit(X, y).all_thresholds_
    assert not set(found.feature.tolist()) & {0, 1}


def test_chunks_count_the_same_ties():
    X, y = categories(7, n_rows=90)
    whole = FCCAClassifier(FCCADiscretizer(boosting(7), category_distance=DISTANCE)).fit(X, y)
    chunks = [(X.iloc[at : at + 30], y[at : at + 30]) for at in range(0, 90, 30)]
    model = whole.discretizer_.estimator_
    streamed = distill(chunks, FCCADiscretizer(FrozenEstimator(model), category_distance=DISTANCE))
    assert streamed.discretizer_.all_thresholds_ == whole.discretizer_.all_thresholds_


def test_certificates_cover_ties():
    X, y = categories(3)
    classifier = FCCAClassifier(FCCADiscretizer(boosting(3), category_distance=DISTANCE, p0=0.0)).fit(X, y)
    document = json.loads(certificate(classifier))
    model = classifier.discretizer_.estimator_
    assert verify(json.dumps(document), X, y, model).accepted
    document["parameters"]["count_ties"] = False
    refused = verify(json.dumps(document), X, y, model)
    assert not refused.accepted
    assert "thresholds found" in {check.name for check in refused.checks if check.outcome == "failed"}
