"""The search with special values finds the cheapest change, and no change ends at a special value."""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from fcca import CounterfactualExplainer
from fcca.constraints import Bounds, Immutable, Integer
from fcca.counterfactuals import CounterfactualEngine, CounterfactualProblem
from oracles import contract

N_SEEDS, N_ROWS = 60, 12
PROBLEM = CounterfactualProblem(0.1, 1.0, 0.3, 1e-4, "range", 0.4)
MODELS = {
    "stumps": lambda seed: GradientBoostingClassifier(max_depth=1, n_estimators=6, random_state=seed),
    "boosting": lambda seed: GradientBoostingClassifier(max_depth=2, n_estimators=3, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(n_estimators=3, max_depth=3, random_state=seed),
    "tree": lambda seed: DecisionTreeClassifier(max_depth=3, random_state=seed),
}


def random_case(seed, model):
    """A small table whose first two columns have special values below, and in the third inside, the other values."""
    random = np.random.default_rng(seed)
    X = np.round(random.normal(4, 3, size=(40, 3)), 0)
    special = {0: np.array([-99.0, -98.0]), 2: np.array([3.0])}
    for j, values in special.items():
        hit = random.random(len(X)) < 0.3
        X[hit, j] = random.choice(values, hit.sum())
    noise = random.normal(0, 1, len(X))
    y = ((X[:, 0] < -50) ^ (X[:, 1] > 4) ^ (X[:, 2] == 3) ^ (noise > 1.2)).astype(int)
    y[:2] = 0, 1
    return X, MODELS[model](seed).fit(X, y), special


def rows_around_cuts(X, classifier, seed):
    """Training rows, with some values on a cut or one float beside it."""
    random = np.random.default_rng(seed)
    rows = X[random.choice(len(X), N_ROWS, replace=False)].copy()
    for row in rows[: N_ROWS // 2]:
        j = int(random.integers(3))
        if len(cuts := contract.cuts_by_feature(classifier)[j]):
            cut = random.choice(cuts)
            row[j] = random.choice([cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf)])
    return rows


def options(j, x0, cuts, ordinary, codes, rule):
    """All values that column ``j`` can take, each with its cost; the present one first."""
    found = [(x0, 0.0)]
    edges = sorted({-np.inf, np.inf, *cuts, *codes, *np.nextafter(codes, -np.inf)})
    width = ordinary.max() - ordinary.min() or 1.0
    for low, high in itertools.pairwise(edges):
        if low < x0 <= high or high in codes:
            continue
        if x0 in codes:  # replaced near the median
            seen, near = ordinary[(ordinary > low) & (ordinary <= high)], np.median(ordinary)
            to = None if len(seen) == 0 else float(np.clip(near, seen.min(), seen.max()))
            if to is None:
                to = contract.landing_in(low, high, float(np.median(ordinary)), ordinary)
        else:
            to = contract.landing_in(low, high, x0, ordinary)
        if to is not None and rule(j, x0, to):
            assert to not in codes
            distance = PROBLEM.category_distance if x0 in codes else abs(to - x0) / width
            found.append((to, contract.price(distance, PROBLEM)))
    return found


def least_cost(classifier, X, special, x0, rule=lambda j, x0, to: True):
    """Least cost of all combinations of values that flip the real classifier."""
    cuts = contract.cuts_by_feature(classifier)
    none = np.empty(0)
    offered = []
    for j in range(X.shape[1]):
        codes = special.get(j, none)
        ordinary = X[~np.isin(X[:, j], codes), j]
        offered.append(options(j, x0[j], cuts[j], ordinary, codes, rule))
    combinations = list(itertools.product(*offered))
    points = np.array([[value for value, _ in combination] for combination in combinations])
    costs = np.array([sum(cost for _, cost in combination) for combination in combinations])
    target = 1 - int(classifier.predict(x0[None])[0])
    reached = (contract.leads(contract.scores_of(classifier, points), target) >= PROBLEM.margin - 1e-12).all(axis=1)
    return float(costs[reached].min(initial=np.inf))


def solved(classifier, X, special, rows, method="search"):
    engine = CounterfactualEngine(classifier, PROBLEM, special=special, method=method)
    engine.observe(X)
    own = engine.class_index(engine.predict(rows))
    return engine.solve(rows, np.arange(len(rows)), own, feature_names=["a", "b", "c"])


@pytest.mark.parametrize("model", list(MODELS))
def test_the_cost_is_that_of_brute_force(model):
    n_left = 0
    for seed in range(N_SEEDS):
        X, classifier, special = random_case(seed, model)
        rows = rows_around_cuts(X, classifier, seed)
        found = solved(classifier, X, special, rows)
        expected = [least_cost(classifier, X, special, row) for row in rows]
        cost = np.where(found.is_status("infeasible"), np.inf, found.cost)
        np.testing.assert_allclose(cost, expected, rtol=1e-9, err_msg=f"seed {seed}")
        assert not found.is_status("unverified").any()
        for j, codes in special.items():
            mine = found.moves.feature == j
            assert not np.isin(found.moves.landing[mine], codes).any()
            n_left += int(np.isin(found.moves.origin[mine], codes).sum())
    assert n_left > 10  # special values are replaced in some of the cases


@pytest.mark.parametrize("model", ["stumps", "forest"])
def test_the_mixed_integer_program_agrees(model):
    for seed in range(4):
        X, classifier, special = random_case(seed, model)
        rows = rows_around_cuts(X, classifier, seed)[:6]
        found, proven = (solved(classifier, X, special, rows, method) for method in ("search", "milp"))
        np.testing.assert_array_equal(found.is_status("infeasible"), proven.is_status("infeasible"))
        flipped = ~found.is_status("infeasible")
        np.testing.assert_allclose(found.cost[flipped], proven.cost[flipped], rtol=1e-6)


@pytest.mark.parametrize("model", ["stumps", "boosting"])
def test_rules_never_lead_to_a_special_value(model):
    rules = [[Integer("x2")], [Bounds("x2", low=3)], [Bounds("x0", high=5)], [Immutable("x0"), Integer("x2")]]
    for seed, rule in itertools.product(range(10), rules):
        X, classifier, special = random_case(seed, model)
        by_name = {f"x{j}": set(values) for j, values in special.items()}
        explainer = CounterfactualExplainer(classifier, X, special_values=by_name, constraints=rule)
        found = explainer.explain(rows_around_cuts(X, classifier, seed))
        assert not found.is_status("unverified").any()
        for j, codes in special.items():
            assert not np.isin(found.moves.landing[found.moves.feature == j], codes).any()
