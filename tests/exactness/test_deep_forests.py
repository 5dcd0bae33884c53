"""Forests of unlimited depth: what the search leaves out of them for a row is in no cheaper change of the row."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from exactness.checks import agree, assert_answers_hold, assert_lands_as_promised
from exactness.ensemble_instances import (
    COSTS,
    MARGINS,
    MOST_COMBINATIONS,
    EnsembleInstance,
    column,
    interacting_labels,
    n_combinations,
)
from exactness.instances import load, rows_around_cuts
from fcca import CounterfactualExplainer
from fcca.constraints import Limits, MaxChanges
from fcca.counterfactuals import CounterfactualProblem

FORESTS = {"RandomForest": RandomForestClassifier, "ExtraTrees": ExtraTreesClassifier}
SIZES = [pytest.param(40, id="quick"), pytest.param(400, id="full", marks=pytest.mark.verify)]


@cache
def small_deep_forests(n_models):
    """Forests of both kinds, with two or three classes, as many trees as can be enumerated."""
    rng, found = np.random.default_rng(0), []
    for i in range(n_models):
        name, n_classes = list(FORESTS)[i % 2], 2 + i // 2 % 2
        X = np.ascontiguousarray(np.column_stack([column(rng, 60) for _ in range(int(rng.integers(2, 4)))]))
        y = interacting_labels(rng, X, n_classes)
        for n_trees in (12, 8, 5, 3, 2, 1):
            estimator = FORESTS[name](n_trees, random_state=i).fit(X, y)
            if n_combinations(estimator) <= MOST_COMBINATIONS:
                break
        rows = rows_around_cuts(rng, estimator, X, 6)
        problem = CounterfactualProblem(*COSTS[i // 4 % len(COSTS)])
        margin = rng.choice(MARGINS, size=len(rows))
        found.append(EnsembleInstance(f"{name} {i}", name, estimator, X, rows, problem, margin, seed=i))
    return found


@cache
def default_forest(kind, data_set):
    """A forest with the default settings, and rows of its table."""
    X, y = load(data_set)
    rows = np.random.default_rng(1).choice(len(X), 6, replace=False)
    problem = CounterfactualProblem(0.1, 1.0, 0.0)
    return EnsembleInstance(kind, kind, FORESTS[kind](random_state=0).fit(X, y), X, X[rows], problem, np.full(6, 1e-4))


@pytest.mark.parametrize("n_models", SIZES)
def test_small_deep_forests_match_brute_force_with_real_predict(n_models):
    for instance in small_deep_forests(n_models):
        found = instance.solve()
        for cost, least in zip(found.cost, instance.least_costs, strict=True):
            assert agree(cost, least), (instance.name, instance.problem, cost, least)
        assert np.array_equal(found.is_status("infeasible"), np.isinf(instance.least_costs)), instance.name
        assert_answers_hold(instance, found)
        assert_lands_as_promised(instance, found)


@pytest.mark.parametrize("n_models", SIZES)
def test_a_rule_that_forbids_nothing_costs_nothing(n_models):
    # With rules between features, the search keeps all cells of the ensemble. Without such rules it merges them.
    for instance in small_deep_forests(n_models):
        kept = instance.solve(limits=Limits(max_changes=instance.X.shape[1]))
        merged = instance.solve()
        assert np.array_equal(kept.status, merged.status), instance.name
        np.testing.assert_allclose(kept.cost, merged.cost, rtol=1e-9, atol=0, err_msg=instance.name)


def forests_of_categories(n_models):
    """Deep forests behind a OneHotEncoder, whose trees test one category after the other; and all rows of their columns."""
    rng = np.random.default_rng(3)
    for i in range(n_models):
        n_levels = [int(n) for n in rng.integers(2, 6, 4)]
        X = np.column_stack([rng.integers(0, n, 80) for n in n_levels])
        y = interacting_labels(rng, X.astype(float), 2 + i % 2)
        kind = FORESTS[list(FORESTS)[i // 2 % 2]]
        encoder = OneHotEncoder(categories=[[f"v{k}" for k in range(n)] for n in n_levels])
        names = np.array([f"v{k}" for k in range(6)], dtype=object)
        frame = pd.DataFrame(names[X], columns=list("abcd"))
        model = make_pipeline(encoder, kind(1 + i % 7, random_state=i)).fit(frame, y)
        every = pd.DataFrame(names[np.array(list(product(*map(range, n_levels))))], columns=list("abcd"))
        yield model, frame, every


@pytest.mark.parametrize("n_models", SIZES)
def test_deep_forests_of_categories_match_enumeration(n_models):
    n_cases = n_without = 0
    for model, X, every in forests_of_categories(n_models):
        explainer, rows = CounterfactualExplainer(model, X, category_distance=0.7), X.iloc[:6]
        probability = np.sort(model.predict_proba(every), axis=1)
        is_clear = probability[:, -1] - probability[:, -2] > 1e-4  # the default margin
        predicted, own = model.predict(every), model.predict(rows)
        n_changes = (every.to_numpy() != rows.to_numpy()[:, None]).sum(axis=2)
        for most in (4, 2, 1):
            found = explainer.explain(rows, constraints=[] if most == 4 else [MaxChanges(most)])
            for i in range(len(rows)):
                flips = is_clear & (predicted != own[i]) & (n_changes[i] <= most)
                least = 0.8 * n_changes[i][flips].min() if flips.any() else np.inf  # 0.1 for each column, and its distance
                assert agree(found.cost[i], least), (most, found.cost[i], least)
                assert found.is_status("infeasible")[i] == (not flips.any())
                n_cases, n_without = n_cases + 1, n_without + (not flips.any())
    assert n_cases == 18 * n_models
    assert n_without >= n_models / 8


@pytest.mark.parametrize("kind", FORESTS)
def test_a_result_depends_on_its_row_alone(kind):
    # The search of a thread keeps its buffers from row to row.
    instance = default_forest(kind, "boston")
    together = instance.solve()
    assert together.is_status("optimal").all()
    assert_answers_hold(instance, together)
    for i in range(len(instance.X)):
        alone = EnsembleInstance(
            kind, kind, instance.estimator, instance.X_train, instance.X[[i]], instance.problem, instance.margin[[i]]
        ).solve()
        assert (alone.cost[0], alone.bound[0], alone.nodes[0]) == (together.cost[i], together.bound[i], together.nodes[i])
        mine = together.moves.point == i
        assert np.array_equal(alone.moves.feature, together.moves.feature[mine])
        assert np.array_equal(alone.moves.landing, together.moves.landing[mine])


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(random_state=0), ExtraTreesClassifier(12, random_state=0)])
def test_reducing_boxes_once_more_changes_no_cost(estimator):
    # With rules between features, boxes are not reduced once more.
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:60]
    explainer = CounterfactualExplainer(estimator.fit(X, y), X, time_limit_per_row=20)
    often, once = (explainer.explain(X[rows], constraints=rules) for rules in ([], [MaxChanges(X.shape[1])]))
    assert often.is_proven.all()
    assert once.is_proven.all()
    np.testing.assert_allclose(often.cost, once.cost, rtol=1e-9, atol=0)
