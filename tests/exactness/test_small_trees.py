"""The counterfactuals of small trees are the cheapest changes into their leaves."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from fcca import CounterfactualExplainer, FCCAClassifier, FCCADiscretizer, OptimalTreeClassifier, read_model
from fcca.counterfactuals import CounterfactualProblem
from fcca.exceptions import UnsupportedModelError
from fcca.export import Certificate, DistilledTree, from_json, to_json
from fcca.tables import Column, Columns
from fcca.trees import TreeStructure
from oracles import tree_leaves

N_TREES, N_ROWS = 220, 8
PROBLEM = CounterfactualProblem(0.1, 1.0, 0.3, 1e-4, "range", 0.4)
COSTS = {"lambda0": 0.1, "lambda1": 1.0, "lambda2": 0.3, "category_distance": 0.4}
COLUMNS = Columns(
    (
        Column("income"),
        Column("age", missing=True),
        Column("score"),
        Column("purpose", ("boat", "car", "house", "tv"), missing=True),
        Column("region", (1, 2, 3)),
    )
)
SPECIAL = {2: np.array([-9.0, -8.0])}
PROOF = Certificate(False, 0.5, 0.2, 0.6, 0.01, "error", None, None, 1, 0.0)


def random_table(rng, n=40):
    X = np.round(rng.normal(0, 3, size=(n, 5)), 2)
    X[rng.random(n) < 0.2, 1] = np.nan
    special = rng.random(n) < 0.3
    X[special, 2] = rng.choice(SPECIAL[2], special.sum())
    X[:, 3], X[:, 4] = rng.integers(0, 4, n), rng.integers(0, 3, n)
    X[rng.random(n) < 0.2, 3] = np.nan
    return X


def random_tree(rng, X, *, depth=4):
    """A tree with conditions of all kinds, on random columns."""
    feature, threshold, left, right, weight = [], [], [], [], []
    sets, missing, special = {}, set(), set()
    n_classes = int(rng.integers(2, 5))

    def grow(level):
        node = len(feature)
        for entries, entry in ((feature, -1), (threshold, np.nan), (left, -1), (right, -1)):
            entries.append(entry)
        weight.append(rng.integers(0, 20, n_classes) + rng.random(n_classes))
        if level == depth or rng.random() < 0.1 * level:
            return node
        j = feature[node] = int(rng.integers(5))
        if COLUMNS[j].missing and rng.random() < 0.3:
            missing.add(node)
        elif (known := COLUMNS[j].categories) is not None:
            sets[node] = tuple(sorted(rng.permutation(len(known))[: rng.integers(1, len(known))].tolist()))
        elif j == 2 and rng.random() < 0.5:
            special.add(node)
            threshold[node] = float(rng.choice(SPECIAL[2]))
        else:
            threshold[node] = float(rng.choice(X[~np.isnan(X[:, j]), j])) + rng.choice([0.0, 0.004])
        left[node], right[node] = grow(level + 1), grow(level + 1)
        return node

    grow(0)
    nodes = TreeStructure(
        np.array(feature, dtype=np.int32),
        np.array(threshold),
        np.array(left, dtype=np.int32),
        np.array(right, dtype=np.int32),
        np.array(weight, dtype=np.float64),
        np.ones(len(feature), dtype=np.int64),
        sets,
        frozenset(missing),
        None,
        frozenset(special),
    )
    return DistilledTree(nodes, COLUMNS, tuple("abcd"[:n_classes]), PROOF, True, "0.1.0")


def checked(explainer, nodes, X, rows, table, *, special=None, target=None):
    """Explain rows, and compare every cost with the least cost over the leaves; returns the number of infeasible rows."""
    is_category = explainer.columns.is_category
    found = explainer.explain(table, target=None if target is None else explainer.classes[target])
    assert not found.is_status("unverified", "feasible", "unknown").any()
    cost = np.where(found.is_status("infeasible"), np.inf, found.cost)
    expected = [
        0.0
        if target is not None and found.own_code[i] == target
        else tree_leaves.least_cost(nodes, is_category, X, row, PROBLEM, special=special, target=target)
        for i, row in enumerate(rows)
    ]
    np.testing.assert_allclose(cost, expected, rtol=1e-9)
    return int(np.isinf(expected).sum())


def test_the_cost_of_random_trees_is_that_of_all_leaves():
    infeasible = changed = 0
    for seed in range(N_TREES):
        rng = np.random.default_rng(seed)
        X = random_table(rng)
        tree = random_tree(rng, X)
        special = {"score": set(SPECIAL[2])}
        explainer = CounterfactualExplainer(tree, COLUMNS.decode(X), special_values=special, **COSTS)
        rows = X[rng.choice(len(X), N_ROWS, replace=False)]
        target = None if seed % 2 else int(rng.integers(len(tree.classes)))
        infeasible += checked(explainer, tree.structure, X, rows, COLUMNS.decode(rows), special=SPECIAL, target=target)
        changed += N_ROWS
    assert 0 < infeasible < changed / 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_cost_of_optimal_trees_is_that_of_all_leaves(n_classes):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(0, 2, size=(60, 3)), 1)
        y = np.digitize(X[:, 0] + X[:, 1] * (X[:, 2] > 0), [0, 1.5][: n_classes - 1])
        tree = OptimalTreeClassifier(max_depth=3, regularization=0.0).fit(X, y)
        checked(CounterfactualExplainer(tree, X, **COSTS), tree.tree_, X, X[:10], X[:10])


def test_the_classifier_and_its_document_are_explained_alike():
    rng = np.random.default_rng(0)
    X = random_table(rng, 200)
    y = np.where((X[:, 2] == -9) | (X[:, 3] == 1) | (X[:, 0] > 2), "yes", "no")
    table = COLUMNS.decode(X)
    special = {"score": {-9, -8}}
    discretizer = FCCADiscretizer(GradientBoostingClassifier(n_estimators=20, random_state=0), special_values=special)
    classifier = FCCAClassifier(discretizer, OptimalTreeClassifier(regularization=0.0)).fit(table, y)
    nodes = classifier.structure_
    assert nodes.asks_special
    assert nodes.categories
    explainer = CounterfactualExplainer(classifier, table, **COSTS)  # the classifier knows its special values
    checked(explainer, nodes, X, X[:40], table[:40], special=SPECIAL)
    tree = from_json(to_json(classifier))
    again = CounterfactualExplainer(tree, table, special_values=special, **COSTS)
    assert again.explain(table[:40]).sentences() == explainer.explain(table[:40]).sentences()
    assert read_model(tree).special[2].tolist() == [-9.0]  # the document lists tested values only


def test_the_model_of_a_tree_predicts_as_the_tree():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = random_table(rng, 100)
        tree = random_tree(rng, X)
        model = read_model(tree)
        near = rng.choice(
            np.append(tree.structure.threshold[tree.structure.threshold == tree.structure.threshold], 0.0), 100
        )
        X[:, 0] = np.nextafter(near, rng.choice([-np.inf, np.inf], 100))
        np.testing.assert_array_equal(
            model.probabilities(model.scores(X)).argmax(axis=1), tree.heaviest[tree.structure.leaf_of(X)]
        )


def test_a_tree_with_too_many_nested_special_values_is_refused():
    n = 40
    inner = np.arange(2 * n + 1) % 2 == 0
    inner[-1] = False
    feature = np.where(inner, 2, -1).astype(np.int32)
    left = np.where(inner, np.arange(2 * n + 1) + 2, -1).astype(np.int32)
    right = np.where(inner, np.arange(2 * n + 1) + 1, -1).astype(np.int32)
    threshold = np.where(inner, -np.arange(2 * n + 1.0), np.nan)
    nodes = TreeStructure(
        feature, threshold, left, right, np.ones((2 * n + 1, 2)), np.ones(2 * n + 1, dtype=np.int64),
        asks_special=frozenset(np.flatnonzero(inner).tolist()),
    )  # fmt: skip
    tree = DistilledTree(nodes, COLUMNS, ("a", "b"), PROOF, True, "0.1.0")
    with pytest.raises(UnsupportedModelError, match="too many special values"):
        read_model(tree)
    assert read_model(replace(tree, structure=replace(nodes, asks_special=frozenset()))).n_features == 5
