"""Several counterfactuals per row, none with all features of an earlier one, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from exactness.instances import boosted, hostile_column, labels_for
from fcca import CounterfactualExplainer
from fcca.counterfactuals import CounterfactualProblem
from fcca.exceptions import InvalidInputError
from oracles import contract, support_enumeration
from oracles.all_changes import all_changes, cheapest_beside

MARGIN = 1e-4


def sets_of_features(found):
    return [set(found.moves.feature[found.moves.point == i].tolist()) for i in range(len(found))]


def small_models(n_models, seed=0):
    """Few features and cuts: boosting of stumps and deeper trees, forests; two and three classes."""
    rng = np.random.default_rng(seed)
    for i in range(n_models):
        n, m = int(rng.integers(20, 60)), int(rng.integers(2, 6))
        X = np.ascontiguousarray(np.column_stack([hostile_column(rng, n) for _ in range(m)]))
        y = labels_for(rng, X, 3 if i % 4 == 3 else 2)
        if i % 3 == 0:
            model = RandomForestClassifier(n_estimators=4, max_depth=2, random_state=i)
        else:
            model = boosted(rng, int(rng.integers(2, 6)), depth=i % 3)
        costs = [(0.1, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.01, 0.3, 2.0)][i % 4]
        yield model.fit(X, y), X, X[rng.integers(n, size=3)], CounterfactualProblem(*costs, margin=MARGIN)


def check_against_enumeration(n_models, seed, n):
    n_answers = 0
    for model, X, rows, problem in small_models(n_models, seed):
        explainer = CounterfactualExplainer(
            model, X, lambda0=problem.lambda0, lambda1=problem.lambda1, lambda2=problem.lambda2, margin=MARGIN
        )
        found = explainer.explain(rows, n=n)
        moved_sets = sets_of_features(found)
        for row, x0 in enumerate(rows):
            points, moved, costs = all_changes(model, X, x0, problem)
            scores, answers = contract.scores_of(model, points), model.predict(points)
            reached = np.zeros(len(points), dtype=bool)
            for target in contract.other_classes(model, x0):
                wins = (contract.leads(scores, target) >= MARGIN).all(axis=1)
                reached |= wins & (answers == model.classes_[target])
            earlier = []
            mine = np.flatnonzero(found.rows == row)
            assert found.answer[mine].tolist() == list(range(1, len(mine) + 1))
            for i in mine:
                expected = cheapest_beside(moved, costs, reached, earlier)
                np.testing.assert_allclose(found.cost[i], expected, rtol=1e-9, atol=1e-12)
                if np.isinf(expected):
                    assert found.status[i] == "infeasible"
                    assert i == mine[-1]
                    continue
                assert found.status[i] == "optimal"
                assert not any(features <= moved_sets[i] for features in earlier)
                earlier.append(moved_sets[i])
                n_answers += 1
            assert len(mine) == n or found.status[mine[-1]] == "infeasible"
    return n_answers


def test_several_answers_are_the_cheapest_that_contain_no_earlier_one():
    assert check_against_enumeration(24, seed=0, n=4) > 100


@pytest.mark.verify
def test_several_answers_are_the_cheapest_full_size():
    assert check_against_enumeration(400, seed=1, n=8) > 1000


def test_several_answers_of_linear_models_are_the_cheapest():
    rng = np.random.default_rng(0)
    for lambdas in ((0.1, 1.0, 0.0), (0.1, 1.0, 0.5)):
        X = rng.normal(size=(60, 6))
        model = LogisticRegression().fit(X, labels_for(rng, X))
        problem = CounterfactualProblem(*lambdas, margin=MARGIN)
        lambda0, lambda1, lambda2 = lambdas
        explainer = CounterfactualExplainer(model, X, lambda0=lambda0, lambda1=lambda1, lambda2=lambda2)
        found = explainer.explain(X[:10], n=4)
        moved = sets_of_features(found)
        for row in range(10):
            features, gain, room, needed = support_enumeration.movable(model, X, X[row], problem)
            supports = (np.arange(2 ** len(gain))[:, None] >> np.arange(len(gain)) & 1).astype(float)
            costs = support_enumeration.convex_costs(supports, gain, room, needed, problem) + lambda0 * supports.sum(axis=1)
            allowed = np.ones(len(supports), dtype=bool)
            for i in np.flatnonzero(found.rows == row):
                np.testing.assert_allclose(found.cost[i], costs[allowed].min(initial=np.inf), rtol=1e-6)
                given = np.isin(features, sorted(moved[i]))
                allowed &= ~supports.astype(bool)[:, given].all(axis=1)


def test_a_row_with_fewer_counterfactuals_ends_with_a_status():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    model = DecisionTreeClassifier().fit(X, [0, 1, 0, 1])
    found = CounterfactualExplainer(model, X).explain(X[:1], n=5)
    assert found.status.tolist() == ["optimal", "infeasible"]
    assert found.answer.tolist() == [1, 2]
    assert found.sentences()[1] == (
        "Row 0: no change of another set of features within the range of the data leads to class 1."
    )
    assert np.isnan(found.x[1]).all()
    assert len(found.to_frame()) == 2


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", None])
def test_an_invalid_n_is_refused(n):
    X, y = load_breast_cancer(return_X_y=True)
    explainer = CounterfactualExplainer(DecisionTreeClassifier(max_depth=1).fit(X, y), X)
    with pytest.raises(InvalidInputError, match="n must be"):
        explainer.explain(X[:2], n=n)
