"""All equally cheap counterfactuals of a row are counted."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from fcca import FCCAClassifier, FCCADiscretizer
from fcca.certificates import certificate, verify
from fcca.constraints import Immutable, OneHot
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
    every, first = with_and_without(X, y, boosting(0))
    assert every > first
    continuous = FCCADiscretizer(boosting(0))
    calls = []
    solve = CounterfactualEngine.solve
    counted = lambda self, *given, **options: calls.append(0) or solve(self, *given, **options)  # noqa: E731
    monkeypatch.setattr(CounterfactualEngine, "solve", counted)
    continuous.fit(random.normal(size=(200, 3)), y)
    assert len(calls) == 1


def with_and_without(X, y, *given, **settings):
    """Sums of all counts with ties and without."""
    tables = (FCCADiscretizer(*given, count_ties=ties, **settings).fit(X, y).all_thresholds_ for ties in (True, False))
    return [table.count.sum() for table in tables]


def test_rules_hold_for_ties():
    X, y = categories(5)
    rule = Immutable(str(X.columns[0]))
    settings = {"constraints": [rule], "p0": 0.0, "category_distance": DISTANCE}
    every, first = with_and_without(X, y, boosting(5), **settings)
    assert every > first
    assert 0 not in FCCADiscretizer(boosting(5), **settings).fit(X, y).all_thresholds_.feature


def test_categories_of_linear_models_have_ties():
    X, y = categories(5, n_rows=200)
    every, first = with_and_without(X, y, LogisticRegression(), category_distance=DISTANCE)
    assert every > first


def test_one_hot_groups_have_ties():
    X, y = categories(2, n_rows=200)
    encoded = pd.get_dummies(X).astype(float)
    groups = [OneHot(*(name for name in encoded if name.startswith(str(column)))) for column in X]
    every, first = with_and_without(encoded, y, boosting(2), constraints=groups, p0=0.0)
    assert every > first


def test_every_change_ties_if_distance_costs_nothing():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4))
    y = (np.abs(X).sum(axis=1) > 3).astype(int)
    every, first = with_and_without(X, y, boosting(0), lambda1=0.0)
    assert every > first


def test_chunks_count_the_same_ties():
    X, y = categories(7, n_rows=90)
    whole = FCCAClassifier(FCCADiscretizer(boosting(7), category_distance=DISTANCE)).fit(X, y)
    chunks = [(X.iloc[at : at + 30], y[at : at + 30]) for at in range(0, 90, 30)]
    model = whole.discretizer_.estimator_
    streamed = distill(chunks, FCCADiscretizer(FrozenEstimator(model), category_distance=DISTANCE))
    assert np.subtract(*with_and_without(X, y, FrozenEstimator(model), category_distance=DISTANCE)) > 0
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


def test_a_time_limit_does_not_excuse_forged_counts():
    X, y = categories(3)
    discretizer = FCCADiscretizer(boosting(3), category_distance=DISTANCE, p0=0.0, time_limit=1000.0)
    classifier = FCCAClassifier(discretizer).fit(X, y)
    model = classifier.discretizer_.estimator_
    document = json.loads(certificate(classifier))
    assert verify(json.dumps(document), X, y, model).accepted
    counts = document["thresholds"]["found"]["conditions"]
    counts[0]["count"] += 20
    failed = {check.name for check in verify(json.dumps(document), X, y, model).checks if check.outcome == "failed"}
    assert "thresholds found" in failed
